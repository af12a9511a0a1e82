// SPDX-License-Identifier: MIT OR Apache-2.0
// The life of a flow: its sender over time, and the queues that its data found on the way.
import type { Life, Passed, Sender } from "./api";
import { chart, type Curve } from "./chart";
import { child, element, us } from "./words";

const COLOURS = ["--accent", "--good", "--faint", "--text"];

export function showLife(title: string, lived: Life): void {
  element("life").hidden = false;
  element("life-title").textContent = title;
  const value = (of: (sender: Sender) => number | null) =>
    lived.sender.map((sender) => (sender === null ? null : of(sender)));
  chart(element("life-curves"), lived.time_ns.map((ns) => ns / 1e6), [
    { label: "cwnd in kB", colour: "--accent", values: value(({ cwnd_bytes }) => cwnd_bytes / 1e3), scale: "kB" },
    { label: "under way in kB", colour: "--faint", values: value(({ pipe_bytes }) => pipe_bytes / 1e3), scale: "kB" },
    {
      label: "smoothed RTT in us",
      colour: "--mark",
      values: value(({ srtt_ns }) => (srtt_ns === null ? null : srtt_ns / 1e3)),
      scale: "us",
    },
  ]);
  showQueues(lived.ports);
}

/** The queues that the flow's packets found, with its marks and losses at the times when they happened. */
function showQueues(ports: Passed[]): void {
  const times = [
    ...new Set(ports.flatMap(({ found, marks_ns, losses_ns }) => [...found.time_ns, ...marks_ns, ...losses_ns])),
  ].sort((a, b) => a - b);
  const at = new Map(times.map((ns, number) => [ns, number]));
  const curve = (label: string, colour: string, points: Iterable<[number, number]>, only_points = false): Curve => {
    const values = new Array<number | null>(times.length).fill(null);
    for (const [ns, value] of points) values[at.get(ns)!] = value;
    return { label, colour, values, scale: "packets", only_points };
  };
  const found = ports.map(({ at: port, found: { time_ns, enq_qdepth } }, number) =>
    curve(`found at ${port}`, COLOURS[number % COLOURS.length]!, time_ns.map((ns, each) => [ns, enq_qdepth[each]!])),
  );
  /** What was found at a time, or just before it: of many packets the curve has only some. */
  const level = ({ found: { time_ns, enq_qdepth } }: Passed, ns: number) => {
    const next = time_ns.findIndex((each) => each > ns);
    return enq_qdepth[next < 0 ? time_ns.length - 1 : Math.max(0, next - 1)] ?? 0;
  };
  const points = (of: (port: Passed) => number[]) =>
    ports.flatMap((port) => of(port).map((ns): [number, number] => [ns, level(port, ns)]));
  const marks = curve("marked", "--mark", points(({ marks_ns }) => marks_ns), true);
  const losses = curve("lost", "--wrong", points(({ losses_ns }) => losses_ns), true);
  chart(element("passed-curves"), times.map((ns) => ns / 1e6), [...found, marks, losses]);

  const table = element<HTMLTableElement>("passed");
  table.replaceChildren();
  const head = table.insertRow();
  for (const word of ["Port", "Packets", "Marked", "Lost", "Mean wait"]) child(head, "th", word);
  for (const port of ports) {
    const row = table.insertRow();
    const wait = port.sojourn_ns === null ? "–" : us(Math.round(port.sojourn_ns));
    const counts = [port.packets, port.marked, port.lost].map((count) => count.toLocaleString("en"));
    for (const text of [port.at, ...counts, wait]) child(row, "td", text);
  }
}
