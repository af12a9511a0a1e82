// SPDX-License-Identifier: MIT OR Apache-2.0
// A lesson beside the program: texts, runs to make, and a question that these runs answer.
import * as api from "./api";
import { child, element } from "./words";

/** What the page around it does. */
export interface Page {
  attempt(action: () => Promise<void>): Promise<void>;
  /** Makes a run; returns what became of it. */
  run(planned: api.PlannedRun): Promise<api.Run>;
}

const NONE = "";

const chooser = element<HTMLSelectElement>("lessons");
const area = element("lesson");

/** The parts of a lesson that change while it is open. */
interface Drawn {
  buttons: Map<string, HTMLButtonElement>;
  states: Map<string, HTMLElement>;
  table: HTMLTableElement;
  verdict: HTMLElement;
}

export class Lessons {
  private known: api.Lesson[] = [];
  private drawn: Drawn | undefined;
  private choice: number | null = null;
  private latest: string | null = null;
  private asked = 0;

  constructor(private readonly page: Page) {
    chooser.addEventListener("change", () => page.attempt(() => this.show()));
  }

  async load(): Promise<void> {
    this.known = await api.lessons();
    chooser.replaceChildren(new Option("none", NONE), ...this.known.map(({ id, title }) => new Option(title, id)));
  }

  /** Buttons wait while something runs. */
  busy(running: boolean): void {
    for (const button of this.drawn?.buttons.values() ?? []) button.disabled = running;
  }

  /** A run has ended, of a lesson or another one. */
  async ran(folder: string): Promise<void> {
    this.latest = folder;
    await this.refresh();
  }

  /** The lesson that is open; empty if none is. */
  get id(): string {
    return chooser.value;
  }

  /** Opens a lesson. One that this studio does not have is none. */
  async open(id: string): Promise<void> {
    chooser.value = this.known.some((each) => each.id === id) ? id : NONE;
    await this.show();
  }

  private get lesson(): api.Lesson | undefined {
    return this.known.find(({ id }) => id === chooser.value);
  }

  private async show(): Promise<void> {
    this.choice = null;
    this.drawn = undefined;
    const { lesson } = this;
    area.hidden = lesson === undefined;
    area.replaceChildren();
    area.scrollTop = 0;
    if (lesson === undefined) return;
    const title = child(area, "h2", lesson.title);
    title.id = "lesson-title";
    const close = child(area, "button", "Close");
    close.className = "plain close";
    close.addEventListener("click", () => {
      void this.page.attempt(() => this.open(NONE));
      chooser.focus();
    });
    for (const text of lesson.text) write(child(area, "p"), text);
    const [buttons, states] = [new Map<string, HTMLButtonElement>(), new Map<string, HTMLElement>()];
    const steps = child(area, "ol");
    for (const { text, run } of lesson.steps) {
      const step = child(steps, "li");
      for (const each of text) write(child(step, "p"), each);
      if (run === null) continue;
      const row = child(step, "div");
      row.className = "row";
      const button = child(row, "button", `Run: ${run.label}`);
      button.type = "button";
      button.addEventListener("click", () => this.page.attempt(() => this.make(run)));
      buttons.set(run.id, button);
      states.set(run.id, child(row, "span"));
    }
    this.drawn = { buttons, states, ...this.ask(lesson) };
    await this.refresh();
  }

  /** The figures, and the question with its choices. */
  private ask({ question }: api.Lesson): { table: HTMLTableElement; verdict: HTMLElement } {
    const around = child(area, "div");
    around.className = "wide";
    const table = child(around, "table");
    table.id = "figures";
    const form = child(area, "form");
    const choices = child(form, "fieldset");
    const legend = child(choices, "legend");
    for (const text of question.text) write(legend, text);
    question.choices.forEach((text, number) => {
      const label = child(choices, "label");
      const radio = child(label, "input");
      radio.type = "radio";
      radio.name = "choice";
      radio.required = true;
      radio.value = String(number);
      write(child(label, "span"), text);
    });
    const row = child(form, "div");
    row.className = "row";
    child(row, "button", "Check with the runs");
    const verdict = child(area, "div");
    verdict.id = "verdict";
    verdict.setAttribute("role", "status");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.choice = Number(new FormData(form).get("choice"));
      void this.page.attempt(() => this.refresh());
    });
    form.addEventListener("input", () => {
      this.choice = null;
      verdict.replaceChildren();
    });
    return { table, verdict };
  }

  private async make(run: api.PlannedRun): Promise<void> {
    const state = this.drawn?.states.get(run.id);
    const say = (text: string, wrong = false) => {
      if (state === undefined) return;
      state.textContent = text;
      state.className = wrong ? "wrong" : "";
    };
    say("running ...");
    try {
      const made = await this.page.run(run);
      if (made.state !== "done") say(made.state === "cancelled" ? "cancelled" : made.error, made.state === "failed");
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), true);
      throw error;
    }
  }

  /** Shows what was measured so far. An answer to an older question is not shown. */
  private async refresh(): Promise<void> {
    const { lesson, drawn } = this;
    if (lesson === undefined || drawn === undefined) return;
    const number = ++this.asked;
    const answer = await api.answer(lesson.id, this.choice, this.latest);
    if (number !== this.asked || drawn !== this.drawn) return;
    for (const id of answer.made) {
      const state = drawn.states.get(id)!;
      state.textContent = "done";
      state.className = "right";
    }
    drawn.table.replaceChildren();
    if (answer.heads.length > 0) {
      const head = drawn.table.insertRow();
      for (const text of ["", ...answer.heads]) child(head, "th", text).scope = "col";
      for (const [label, ...values] of answer.rows) {
        const row = drawn.table.insertRow();
        child(row, "th", label).scope = "row";
        for (const value of values) row.insertCell().textContent = value;
      }
    }
    this.judge(answer);
  }

  private judge({ missing, verdict }: api.Answer): void {
    const parent = this.drawn!.verdict;
    parent.replaceChildren();
    if (this.choice === null) return;
    if (verdict === null) {
      child(parent, "p", `Not measured yet. Run first: ${missing.join("; ")}.`);
      return;
    }
    const said = child(parent, "p", verdict.agrees ? "Your runs agree." : "Your runs disagree.");
    said.className = verdict.agrees ? "right" : "wrong";
    const list = child(parent, "ul");
    for (const { holds, text } of verdict.claims) {
      child(list, "li", `${holds ? "holds" : "does not hold"}: ${text}`).className = holds ? "right" : "wrong";
    }
    if (verdict.because !== null) write(child(parent, "p"), verdict.because);
    parent.scrollIntoView({ block: "nearest" });
  }
}

/** Puts a text into an element, with `code` and *emphasis*. */
function write(parent: HTMLElement, text: string): void {
  for (const part of text.split(/(`[^`]+`|\*[^*]+\*)/)) {
    if (part.startsWith("`")) child(parent, "code", part.slice(1, -1));
    else if (part.startsWith("*")) child(parent, "em", part.slice(1, -1));
    else parent.append(part);
  }
}
