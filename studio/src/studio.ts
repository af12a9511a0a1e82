// SPDX-License-Identifier: MIT OR Apache-2.0
// The page: open a scheme, change it, run it beside the original.
import * as api from "./api";
import { Editor } from "./editor";
import { Form } from "./form";
import { History } from "./history";
import { Lessons } from "./lessons";
import { Live, Look } from "./look";
import { pack, unpack } from "./state";
import { element } from "./words";

const POLL_MS = 80;

const chooser = element<HTMLSelectElement>("program");
const form = element<HTMLFormElement>("form");
const startButton = element<HTMLButtonElement>("start");
const cancelButton = element<HTMLButtonElement>("cancel");
const status = element("status");
const shownCommand = element("command");

/** What was typed, by scheme: opening another one loses nothing. */
const drafts = new Map<string, string>();
let editor: Editor | undefined;
let running: number | undefined;
let look: Look | undefined;
let settings: Form | undefined;
/** The text of the scheme that is open, as it is in the lab. */
let original = "";
/** Schemes that were opened so far. */
let opened = 0;
let compiles = false;
let rightSettings = false;

function say(text: string, wrong = false): void {
  status.textContent = text;
  status.classList.toggle("wrong", wrong);
}

/** Runs what a person asked for, and says what was refused. */
async function attempt(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
  }
}

function showProblems(problems: api.Problem[]): void {
  const errors = problems.filter((problem) => problem.category !== "warning").length;
  const warnings = problems.length - errors;
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
  element("problems").textContent =
    problems.length === 0 ? "It compiles." : `${count(errors, "error")}, ${count(warnings, "warning")}`;
  compiles = errors === 0;
  enable();
}

function enable(): void {
  startButton.disabled = !compiles || !rightSettings || running !== undefined;
  lessons.busy(running !== undefined);
}

async function open(name: string): Promise<void> {
  const number = ++opened;
  const { text, title, summary } = await api.program(name);
  // A person may have chosen another one meanwhile.
  if (number !== opened) return;
  if (editor !== undefined) {
    drafts.set(editor.written.name, editor.written.text);
    editor.close();
  }
  original = text;
  element("title").textContent = `${title}: ${summary}`;
  editor = new Editor(element("editor"), name, drafts.get(name) ?? text, showProblems);
  await settings?.choose(name);
}

/** Shows the line of a step, if it is one of the program that is open. */
function openStep({ file, line }: api.Step): void {
  const [folder, name] = file?.replace(/(-edited)?\.p4$/, "").split("/").slice(-2) ?? [];
  if (line === null || name === undefined) return;
  const isTwin = folder === "tna";
  if (!isTwin && name === editor?.written.name) editor.show(line);
  else say(`That line is in ${isTwin ? "tna/" : ""}${name}.p4, which is not open here.`);
}

/** Looks at the first seed of a scheme of a run. */
async function lookAt(folder: string, scheme: string, seed = 1): Promise<void> {
  look?.close();
  look = undefined;
  look = await Look.open(folder, scheme, seed, { attempt, say, open: openStep, written: () => editor!.written, saveTest });
}

const past = new History({ attempt, look: (folder, scheme) => attempt(() => lookAt(folder, scheme)) });

const CLASSES = ["overall", "short", "large"];

function showResult({ schemes, folder }: api.Result): void {
  const table = document.createElement("table");
  const row = (cells: string[], kind: "th" | "td") => {
    const made = table.insertRow();
    for (const cell of cells) made.append(Object.assign(document.createElement(kind), { textContent: cell }));
  };
  const names = Object.keys(schemes);
  row(["FCT in us", ...names], "th");
  for (const each of CLASSES) {
    for (const part of ["mean", "p99"] as const) {
      const values = names.map((name) => schemes[name]?.fct_us[each]?.[part] ?? null);
      const words = values.map((value) => (value === null ? "–" : Math.round(value).toLocaleString("en")));
      row([`${each} ${part}`, ...words], "td");
    }
  }
  const looks = table.insertRow();
  looks.insertCell();
  for (const name of names) {
    const button = Object.assign(document.createElement("button"), { textContent: "Look", title: `Look at ${name}` });
    button.addEventListener("click", () => attempt(() => lookAt(folder.split("/").at(-1)!, name, schemes[name]!.seeds[0]!.seed)));
    looks.insertCell().append(button);
  }
  element("result").replaceChildren(table);
}

/** Makes a run of a lesson: of its scheme as it is in the lab, whatever a person has typed, which stays. */
async function runPlanned(planned: api.PlannedRun): Promise<api.Run> {
  chooser.value = planned.scheme;
  if (editor?.written.name !== planned.scheme) await open(planned.scheme);
  await settings?.fill(planned);
  const { text } = await api.program(planned.scheme);
  const { settings: given, params } = planned;
  const { number } = await api.start({ name: planned.scheme, text, settings: given, params });
  const own = editor !== undefined && editor.written.text !== text;
  say(own ? "Running the scheme as it is in the lab. Your program is still in the editor ..." : "Running ...");
  return follow(number);
}

const lessons = new Lessons({ attempt, run: runPlanned });

/** Shows a run until it has ended. */
async function follow(number: number): Promise<api.Run> {
  running = number;
  enable();
  cancelButton.hidden = false;
  look?.close();
  look = undefined;
  const live = new Live();
  let network: api.Network | null = null;
  try {
    let run = await api.run(number);
    shownCommand.textContent = run.command;
    shownCommand.hidden = false;
    while (run.state === "running") {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      run = await api.run(number);
      if (run.picture === null) continue;
      network ??= await api.network(number);
      if (network !== null) live.show(network, run.picture);
    }
    if (run.state === "done" && run.result !== null) {
      say("Done.");
      showResult(run.result);
      await past.refresh();
      await lessons.ran(run.result.folder.split("/").at(-1)!);
    } else {
      say(run.state === "cancelled" ? "Cancelled." : run.error, run.state === "failed");
    }
    return run;
  } finally {
    live.end();
    running = undefined;
    enable();
    cancelButton.hidden = true;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    if (editor === undefined) return;
    say("Running ...");
    const { number: started } = await api.start({ ...editor.written, ...settings!.settings });
    await follow(started);
  });
});

cancelButton.addEventListener("click", () =>
  attempt(async () => {
    if (running !== undefined) await api.cancel(running);
  }),
);

const dialog = element<HTMLDialogElement>("dialog");

/** Shows a dialog with one line of text, and does something with it. */
function askFor(title: string, hint: string, text: string, done: (text: string) => Promise<void>): void {
  const line = element<HTMLInputElement>("line");
  element("dialog-title").textContent = title;
  element("dialog-hint").textContent = hint;
  line.value = text;
  dialog.returnValue = "";
  dialog.showModal();
  line.select();
  dialog.onclose = () => {
    if (dialog.returnValue === "done") void attempt(() => done(line.value.trim()));
  };
}

async function shareLink(): Promise<void> {
  if (editor === undefined || settings === undefined) return;
  const { name, text } = editor.written;
  const packed = await pack({ scheme: name, text: text === original ? null : text, lesson: lessons.id, ...settings.settings });
  const hint =
    "It has the program, the settings and the open lesson, and nothing else; who opens it runs nothing. Elsewhere: python orchestrator.py studio LINK";
  askFor("Link", hint, `${location.origin}/#state=${packed}`, async (link) => {
    await navigator.clipboard.writeText(link);
    say("The link is copied.");
  });
}

function saveAs(): void {
  const open = editor;
  if (open === undefined) return;
  const hint = "The program and the description of its scheme are written into the folder where the studio was started.";
  askFor("Save as", hint, `my-${open.written.name}`, async (as) => {
    const { path, command } = await api.save(open.written, as);
    say(`Saved as ${path}. ${command}`);
  });
}

function saveTest(test: string): void {
  const open = editor;
  if (open === undefined) return;
  askFor("Save test", "The test is written into the folder where the studio was started.", `${open.written.name}-packet`, async (as) => {
    const { path, command } = await api.saveTest(open.written, test, as);
    say(`Saved as ${path}. ${command}`);
  });
}

element("share").addEventListener("click", () => attempt(shareLink));
element("save").addEventListener("click", saveAs);

/** Opens what a link brought. It runs nothing. */
async function openBrought(packed: string): Promise<void> {
  const state = await unpack(packed);
  await lessons.open(state.lesson);
  if (state.text !== null) drafts.set(state.scheme, state.text);
  chooser.value = state.scheme;
  await open(state.scheme);
  await settings?.fill(state);
  say("This is what the link has. Nothing was run.");
}

chooser.addEventListener("change", () => attempt(() => open(chooser.value)));

attempt(async () => {
  const [known, fields] = await Promise.all([api.programs(), api.settings(), lessons.load()]);
  settings = new Form(fields, (right) => {
    rightSettings = right;
    enable();
  });
  chooser.replaceChildren(...known.map(({ name }) => new Option(name, name)));
  chooser.value = known.some(({ name }) => name === "ecn-sharp") ? "ecn-sharp" : chooser.value;
  if (api.brought === null) await open(chooser.value);
  else await openBrought(api.brought);
  await past.refresh();
});
