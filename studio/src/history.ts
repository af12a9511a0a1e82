// SPDX-License-Identifier: MIT OR Apache-2.0
// The runs in the folder of results, and two of them side by side.
import * as api from "./api";
import { child, element } from "./words";

/** What the page around it does. */
export interface Page {
  attempt(action: () => Promise<void>): Promise<void>;
  look(folder: string, scheme: string): void;
}

const VERDICTS = new Set(["better", "worse", "changed"]);

export class History {
  constructor(private readonly page: Page) {
    element("compare").addEventListener("click", () => page.attempt(() => this.compare()));
  }

  async refresh(): Promise<void> {
    const runs = await api.pastRuns();
    const table = element<HTMLTableElement>("runs");
    table.replaceChildren();
    const head = table.insertRow();
    for (const text of ["base", "new", "run", "schemes", "load", "flows", "seeds"]) child(head, "th", text);
    runs.forEach((run, number) => {
      const row = table.insertRow();
      for (const side of ["base", "new"]) {
        const radio = child(row.insertCell(), "input");
        radio.type = "radio";
        radio.name = side;
        radio.value = run.folder;
        radio.setAttribute("aria-label", `${side}: ${run.folder}`);
        radio.checked = number === (side === "base" ? 1 : 0);
      }
      const name = row.insertCell();
      name.textContent = run.folder;
      name.title = run.written;
      const schemes = row.insertCell();
      for (const scheme of run.schemes) {
        const button = child(schemes, "button", scheme);
        button.className = "plain";
        button.title = `Look at ${scheme} of this run`;
        button.addEventListener("click", () => this.page.look(run.folder, scheme));
        schemes.append(" ");
      }
      for (const value of [run.load, run.flows, run.seeds]) row.insertCell().textContent = value === null ? "–" : String(value);
    });
    element<HTMLButtonElement>("compare").disabled = runs.length < 2;
    element("history").hidden = runs.length === 0;
  }

  private chosen(side: string): string {
    return document.querySelector<HTMLInputElement>(`#runs input[name=${side}]:checked`)?.value ?? "";
  }

  private async compare(): Promise<void> {
    const { differences, notes } = await api.compare(this.chosen("base"), this.chosen("new"));
    const parent = element("compared");
    parent.replaceChildren();
    const table = child(parent, "table");
    const head = table.insertRow();
    for (const text of ["scheme", "metric", "base", "new", "change", "verdict"]) child(head, "th", text);
    let last = "";
    for (const { scheme, metric, base, new: now, relative, ci95, verdict } of differences) {
      const row = table.insertRow();
      const name = scheme === last ? "" : scheme;
      last = scheme;
      const percent = (part: number) => `${part > 0 ? "+" : ""}${(100 * part).toFixed(1)} %`;
      const half = ci95 === null ? "" : ` ±${(50 * (ci95[1] - ci95[0])).toFixed(1)}`;
      const change = relative === null ? "–" : `${percent(relative)}${half}`;
      for (const text of [name, metric, number(base), number(now), change, verdict]) row.insertCell().textContent = text;
      if (VERDICTS.has(verdict)) row.className = verdict;
    }
    for (const note of notes) child(parent, "p", `Note: ${note}.`);
    child(parent, "pre", `python orchestrator.py compare ${this.chosen("base")} ${this.chosen("new")}`);
  }
}

function number(value: number | null): string {
  return value === null ? "–" : value.toLocaleString("en", { maximumSignificantDigits: 5 });
}
