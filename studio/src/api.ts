// SPDX-License-Identifier: MIT OR Apache-2.0
// The server's answers. Each request has the token, which came behind the # of the address.

export interface Program {
  name: string;
  title: string;
  summary: string;
}

export interface Place {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  /** Null in the program itself. */
  file: string | null;
}

export interface Problem {
  id: string;
  category: "error" | "warning" | "unsupported";
  text: string;
  help: string | null;
  place: Place;
}

export interface Candidate {
  name: string;
  role: string;
  text: string;
  comment: string;
}

export interface Declared {
  role: string;
  text: string;
  comment: string;
  place: Place;
}

export interface Written {
  name: string;
  text: string;
}

/** FCTs of the flows of a size class, in us; null if it has no flows. */
export interface Fct {
  mean: number | null;
  p99: number | null;
}

export interface Network {
  /** Hosts have tier 0, and switches the number of links to the nearest host. */
  nodes: { name: string; tier: number }[];
  /** Numbers of node and port at both ends. */
  lines: { from: [number, number]; to: [number, number]; rate_bps: number }[];
}

/** How the network stands, by line. All but `packets` count from the start of the run. */
export interface Picture {
  now_ns: number;
  finished: number;
  packets: number[];
  wire_bytes: number[];
  marked: number[];
  lost: number[];
}

/** A cell that was run again. The time line has a list of samples, each with a value per line. */
export interface Ready extends Network {
  flows: { start_ns: number[]; src: number[]; dst: number[] };
  end_ns: number;
  timeline: {
    time_ns: number[];
    finished: number[];
    packets: number[][];
    wire_bytes: number[][];
    marked: number[][];
    lost: number[][];
  };
}

export type Wanted = "mark" | "loss" | "departure";

export interface Step {
  kind: string;
  text: string;
  file: string | null;
  line: number | null;
  code: string | null;
}

/** What a program did with a packet. */
export interface Told {
  decision: { what: "mark" | "drop"; step: Step; conditions: Step[] } | null;
  events: Step[];
}

export interface Hop extends Told {
  node: string;
  ingress_port: number;
  arrived_ns: number;
  packet: { bytes: number };
  queue: { port: number; found: Depth; left: Depth } | null;
  left: { time_ns: number } | null;
  marked: boolean;
}

/** A packet at a port, from a time on. */
export interface AskedPacket {
  at: string;
  from_ns: number;
  what: Wanted;
}

/** What the twin for Tofino decides; `again` is what a scheme that assigns queues decides on the same packets. */
export interface Twin extends Told {
  program: string;
  decisions: { run: string; twin: string; again: string | null };
  packets: number;
  complete: boolean;
  registers: Record<string, number>;
}

/** What came of a packet test. Frames are hexadecimal digits. */
export interface Outcome {
  verdict: "passed" | "failed" | "unsupported";
  message: string;
  packets: (Told & { line: number; port: number; sent: [number, string][]; losses: string[] })[];
}

export interface Depth {
  packets: number;
  bytes: number;
}

export interface Packet {
  wanted: Wanted;
  at: string;
  time_ns: number;
  flow: number | null;
  by_client: boolean;
  hops: Hop[];
  end:
    | { kind: "delivered"; time_ns: number; node: string }
    | { kind: "lost"; time_ns: number; reason: string }
    | { kind: "under way" };
}

export interface Sender {
  cwnd_bytes: number;
  pipe_bytes: number;
  srtt_ns: number | null;
}

/** A flow at equal distances of its life. */
export interface Life {
  time_ns: number[];
  sender: (Sender | null)[];
  ports: Passed[];
}

/** A port that a flow's data passed. */
export interface Passed {
  at: string;
  packets: number;
  marked: number;
  lost: number;
  sojourn_ns: number | null;
  marks_ns: number[];
  losses_ns: number[];
  /** The packets that each packet found in its queue. */
  found: { time_ns: number[]; enq_qdepth: number[] };
}

/** A field of the form of a run: an option of the command line. */
export interface Field {
  name: string;
  value: string;
  says: string;
  panel: string | null;
  default: string | null;
  flag: boolean;
  first: boolean;
}

export interface Parameter {
  name: string;
  value: string;
  rule: string;
  doc: string;
}

export interface Settings {
  settings: Record<string, string>;
  params: Record<string, string>;
}

export interface Past {
  folder: string;
  written: string;
  schemes: string[];
  load: number | null;
  flows: number | null;
  seeds: number;
}

export interface Difference {
  scheme: string;
  metric: string;
  base: number | null;
  new: number | null;
  relative: number | null;
  ci95: [number, number] | null;
  verdict: string;
}

export interface Result {
  folder: string;
  schemes: Record<string, { fct_us: Record<string, Fct>; seeds: { seed: number }[] }>;
}

/** A run of a lesson. */
export interface PlannedRun extends Settings {
  id: string;
  label: string;
  scheme: string;
}

/** Texts are lists of paragraphs. */
export interface Lesson {
  id: string;
  title: string;
  text: string[];
  steps: { text: string[]; run: PlannedRun | null }[];
  question: { text: string[]; choices: string[] };
}

/** What the runs of a lesson have measured: a table, and whether a choice agrees with it. */
export interface Answer {
  made: string[];
  missing: string[];
  heads: string[];
  rows: string[][];
  verdict: { agrees: boolean; claims: { holds: boolean; text: string }[]; because: string | null } | null;
}

export interface Run {
  command: string;
  state: "running" | "done" | "failed" | "cancelled";
  result: Result | null;
  error: string;
  picture: Picture | null;
}

/** What the server refused, with the remedy. */
export class Refused extends Error {}

const KEPT = "marklab-token";

const behind = new URLSearchParams(location.hash.slice(1));

/** The state that a link brought, packed. */
export const brought = behind.get("state");

/** The token, which is taken out of the address so that nobody copies it with a link. */
function token(): string {
  const given = behind.get("token");
  if (given !== null) {
    sessionStorage.setItem(KEPT, given);
    history.replaceState(null, "", location.pathname);
  }
  return given ?? sessionStorage.getItem(KEPT) ?? "";
}

const AUTHORIZATION = `Bearer ${token()}`;

async function ask<Answer>(path: string, method: string, question?: unknown): Promise<Answer> {
  const body = question === undefined ? null : JSON.stringify(question);
  let response: Response;
  try {
    response = await fetch(`api/${path}`, { method, headers: { authorization: AUTHORIZATION }, body });
  } catch {
    throw new Refused("the server does not answer: start `studio` again, and open the address that it prints");
  }
  if (response.status === 400) {
    const { error, remedy } = await response.json();
    throw new Refused(remedy ? `${error}\n${remedy}` : error);
  }
  if (!response.ok) {
    throw new Refused(await response.text());
  }
  return response.json();
}

export const programs = () => ask<Program[]>("programs", "GET");
export const program = (name: string) => ask<Program & { text: string }>(`programs/${name}`, "GET");
export const problems = (written: Written) => ask<Problem[]>("problems", "POST", written);
export const candidates = (written: Written, offset: number) =>
  ask<Candidate[]>("candidates", "POST", { ...written, offset });
export const hover = (written: Written, line: number, column: number) =>
  ask<Declared | null>("hover", "POST", { ...written, line, column });
export const start = (run: Written & Settings) => ask<{ number: number }>("runs", "POST", run);
export const save = (written: Written, as: string) => ask<{ path: string; command: string }>("save", "POST", { ...written, as });
export const settings = () => ask<Field[]>("settings", "GET");
export const check = (name: string, given: Settings) =>
  ask<{ parameters: Parameter[] }>("settings", "POST", { name, ...given });
export const pastRuns = () => ask<Past[]>("history", "GET");
export const compare = (base: string, now: string) =>
  ask<{ differences: Difference[]; notes: string[] }>("compare", "POST", { base, new: now });
export const lessons = () => ask<Lesson[]>("lessons", "GET");
export const answer = (lesson: string, choice: number | null, latest: string | null) =>
  ask<Answer>("lessons", "POST", { lesson, choice, latest });
export const run = (number: number) => ask<Run>(`runs/${number}`, "GET");
export const cancel = (number: number) => ask<Run>(`runs/${number}`, "DELETE");
export const network = (number: number) => ask<Network | null>(`runs/${number}/network`, "GET");
export const openLook = (folder: string, scheme: string, seed: number) =>
  ask<object>("look", "POST", { folder, scheme, seed });
export const lookState = () => ask<{ ready: boolean; error: string; now_ns: number; finished: number }>("look", "GET");
export const lookReady = () => ask<Ready>("look/ready", "GET");
export const packet = (asked: AskedPacket) => ask<Packet>("look/packet", "POST", asked);
export const life = (flow: number, until_ns: number) =>
  ask<Life>("look/life", "POST", { flow, until_ns: Math.round(until_ns) });
export const twin = (at: string, left_ns: number) => ask<Twin>("look/twin", "POST", { at, left_ns });
export const packetTest = (asked: AskedPacket, node: string) => ask<string>("look/test", "POST", { ...asked, node });
export const send = (written: Written, test: string) => ask<Outcome>("test", "POST", { ...written, test });
export const saveTest = (written: Written, test: string, as: string) =>
  ask<{ path: string; command: string }>("test/save", "POST", { ...written, test, as });
