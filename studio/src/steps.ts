// SPDX-License-Identifier: MIT OR Apache-2.0
// What a program did with a packet: the decision with its conditions, and each step with its line of P4.
import type { Step, Told } from "./api";
import { child } from "./words";

/** Gets a step whose line of the program a person wants to see. */
export type Open = (step: Step) => void;

export function showDecision(parent: HTMLElement, { decision }: Told, open: Open): void {
  if (decision === null) return;
  const list = child(parent, "ul");
  list.className = "decision";
  const item = (word: string, step: Step) => {
    const line = child(list, "li", `${word} `);
    line.append(place(step, open));
    child(line, "code", step.code ?? "");
  };
  item(decision.what === "mark" ? "Marked by" : "Dropped by", decision.step);
  for (const step of decision.conditions) item("since", step);
}

export function showSteps(parent: HTMLElement, { events }: Told, open: Open): void {
  if (events.length === 0) return;
  const details = child(parent, "details");
  child(details, "summary", `${events.length} steps`);
  const table = child(details, "table");
  table.className = "steps";
  for (const step of events) {
    const row = table.insertRow();
    if (step.kind === "block") {
      row.className = "block";
      const cell = row.insertCell();
      cell.colSpan = 2;
      cell.textContent = step.text;
      continue;
    }
    row.insertCell().append(place(step, open));
    row.insertCell().textContent = step.text;
  }
}

function place(step: Step, open: Open): HTMLElement | string {
  if (step.file === null || step.line === null) return "";
  const button = document.createElement("button");
  button.className = "plain place";
  button.textContent = `${step.file.split("/").at(-1)}:${step.line}`;
  button.title = step.code ?? "";
  button.addEventListener("click", () => open(step));
  return button;
}
