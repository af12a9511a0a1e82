// SPDX-License-Identifier: MIT OR Apache-2.0
// A packet as a packet test (STF): it can be edited, sent again through the program of the editor, and saved.
import * as api from "./api";
import type { Page } from "./packet";
import { showDecision, showSteps } from "./steps";
import { child } from "./words";

const ROWS = 12;

export function showTest(parent: HTMLElement, text: string, page: Page): void {
  parent.replaceChildren();
  const label = child(parent, "label", "The packet as a test: entries and registers that it met, what the queue told it, its bytes");
  const lines = child(label, "textarea");
  lines.className = "test";
  lines.rows = ROWS;
  lines.wrap = "off";
  lines.spellcheck = false;
  lines.value = text;
  const row = child(parent, "div");
  row.className = "row";
  const send = child(row, "button", "Send");
  send.type = "button";
  const save = child(row, "button", "Save test");
  save.type = "button";
  const outcome = child(parent, "div");
  outcome.setAttribute("aria-live", "polite");
  send.addEventListener("click", async () => {
    send.disabled = true;
    await page.attempt(async () => showOutcome(outcome, await api.send(page.written(), lines.value), page));
    send.disabled = false;
  });
  save.addEventListener("click", () => page.saveTest(lines.value));
  lines.focus();
}

function showOutcome(parent: HTMLElement, { verdict, message, packets }: api.Outcome, page: Page): void {
  parent.replaceChildren();
  const head = child(parent, "p", verdict === "passed" ? "As expected." : `${verdict}: ${message}`);
  head.className = verdict === "passed" ? "right" : "wrong";
  for (const packet of packets) {
    const left = packet.sent.map(([port, frame]) => `${frame.length / 2} bytes left by port ${port}`);
    child(parent, "p", `Line ${packet.line}: ${[...left, ...packet.losses].join(", ") || "nothing left the switch"}`);
    showDecision(parent, packet, page.open);
    showSteps(parent, packet, page.open);
  }
}
