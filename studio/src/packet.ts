// SPDX-License-Identifier: MIT OR Apache-2.0
// One packet: its way, what each switch did with it, and why.
import type { Hop, Packet, Step } from "./api";
import { child, ms, us } from "./words";

/** Shows a packet. `open` gets a step whose line of the program a person wants to see, `follow` a flow. */
export function showPacket(
  parent: HTMLElement,
  packet: Packet,
  open: (step: Step) => void,
  follow: (flow: number) => void,
): void {
  parent.replaceChildren();
  const what = { mark: "marked", loss: "lost", departure: "left" }[packet.wanted];
  const kind = packet.by_client ? "Data" : "An acknowledgement";
  const title = child(parent, "h3", `${kind} of ${packet.flow === null ? "a probe" : "flow "}`);
  if (packet.flow !== null) {
    const { flow } = packet;
    const link = child(title, "button", String(flow));
    link.className = "plain";
    link.title = "The life of this flow";
    link.addEventListener("click", () => follow(flow));
  }
  title.append(`, ${what} at ${packet.at} at ${ms(packet.time_ns)}`);
  for (const hop of packet.hops) showHop(parent, hop, open);
  const { end } = packet;
  if (end.kind === "delivered") child(parent, "p", `${end.node}: delivered at ${ms(end.time_ns)}`);
  if (end.kind === "lost") child(parent, "p", `Lost at ${ms(end.time_ns)}: ${end.reason}`).className = "wrong";
}

function showHop(parent: HTMLElement, hop: Hop, open: (step: Step) => void): void {
  const part = child(parent, "div");
  part.className = "hop";
  const came = `came by port ${hop.ingress_port} at ${ms(hop.arrived_ns)}, ${hop.packet.bytes} bytes`;
  child(part, "h4", `${hop.node}: ${came}`);
  if (hop.queue !== null) {
    const { found, left, port } = hop.queue;
    const waited = hop.left === null ? "" : `, waited ${us(hop.left.time_ns - hop.arrived_ns)}, left ${left.packets} behind`;
    child(part, "p", `Port ${port}: found ${found.packets} packets (${found.bytes.toLocaleString("en")} bytes)${waited}`);
  }
  if (hop.decision !== null) {
    const list = child(part, "ul");
    list.className = "decision";
    const item = (word: string, step: Step) => {
      const line = child(list, "li", `${word} `);
      line.append(place(step, open), code(step.code ?? ""));
    };
    item(hop.decision.what === "mark" ? "Marked by" : "Dropped by", hop.decision.step);
    for (const step of hop.decision.conditions) item("since", step);
  }
  const details = child(part, "details");
  child(details, "summary", `${hop.events.length} steps`);
  const table = child(details, "table");
  table.className = "steps";
  for (const step of hop.events) {
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

function place(step: Step, open: (step: Step) => void): HTMLElement | string {
  if (step.file === null || step.line === null) return "";
  const button = document.createElement("button");
  button.className = "plain place";
  button.textContent = `${step.file.split("/").at(-1)}:${step.line}`;
  button.title = step.code ?? "";
  button.addEventListener("click", () => open(step));
  return button;
}

function code(text: string): HTMLElement {
  const made = document.createElement("code");
  made.textContent = text;
  return made;
}
