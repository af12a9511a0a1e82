// SPDX-License-Identifier: MIT OR Apache-2.0
// One packet: its way, what each switch did with it, and why; what the twin for Tofino decides, and the packet once more.
import * as api from "./api";
import { showTest } from "./again";
import { type Open, showDecision, showSteps } from "./steps";
import { child, ms, us } from "./words";

/** What the page around a packet does for it. */
export interface Page {
  attempt(action: () => Promise<void>): Promise<void>;
  open: Open;
  /** The program as it stands in the editor. */
  written(): api.Written;
  saveTest(text: string): void;
}

/** Shows a packet. `follow` gets the flow whose life a person wants to see. */
export function showPacket(
  parent: HTMLElement,
  packet: api.Packet,
  asked: api.AskedPacket,
  page: Page,
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
  for (const hop of packet.hops) showHop(parent, hop, asked, page);
  const { end } = packet;
  if (end.kind === "delivered") child(parent, "p", `${end.node}: delivered at ${ms(end.time_ns)}`);
  if (end.kind === "lost") child(parent, "p", `Lost at ${ms(end.time_ns)}: ${end.reason}`).className = "wrong";
}

function showHop(parent: HTMLElement, hop: api.Hop, asked: api.AskedPacket, page: Page): void {
  const part = child(parent, "div");
  part.className = "hop";
  const came = `came by port ${hop.ingress_port} at ${ms(hop.arrived_ns)}, ${hop.packet.bytes} bytes`;
  child(part, "h4", `${hop.node}: ${came}`);
  if (hop.queue !== null) {
    const { found, left, port } = hop.queue;
    const waited = hop.left === null ? "" : `, waited ${us(hop.left.time_ns - hop.arrived_ns)}, left ${left.packets} behind`;
    child(part, "p", `Port ${port}: found ${found.packets} packets (${found.bytes.toLocaleString("en")} bytes)${waited}`);
  }
  showDecision(part, hop, page.open);
  showSteps(part, hop, page.open);
  const asks = child(part, "div");
  asks.className = "row";
  const answers = child(part, "div");
  const button = (text: string, title: string, action: () => Promise<void>) => {
    const made = child(asks, "button", text);
    made.type = "button";
    made.title = title;
    made.addEventListener("click", async () => {
      made.disabled = true;
      await page.attempt(action);
      made.disabled = false;
    });
  };
  button("Send again", "As a packet test, which can be edited", async () => {
    showTest(answers, await api.packetTest(asked, hop.node), page);
  });
  const { left, queue } = hop;
  if (left === null || queue === null) return;
  button("Tofino", "What the twin for Tofino decides on this packet", async () => {
    showTwin(answers, await api.twin(`${hop.node}:${queue.port}`, left.time_ns), page.open);
  });
}

function showTwin(parent: HTMLElement, twin: api.Twin, open: Open): void {
  parent.replaceChildren();
  const { run, twin: decided, again } = twin.decisions;
  child(parent, "h4", `The twin for Tofino, ${twin.program}: ${decided}`);
  const packets = `${twin.complete ? "all" : "the last"} ${twin.packets.toLocaleString("en")} packets of this port`;
  const assigned = again === null ? "" : ` The scheme assigns queues; on the same packets again it decides: ${again}.`;
  child(parent, "p", `It got ${packets} up to this one. The run: ${run}.${assigned}`);
  showDecision(parent, twin, open);
  const details = child(parent, "details");
  child(details, "summary", "Its registers after the packet");
  const table = child(details, "table");
  table.className = "steps";
  for (const [name, value] of Object.entries(twin.registers)) {
    const row = table.insertRow();
    row.insertCell().textContent = name;
    row.insertCell().textContent = value.toLocaleString("en");
  }
  showSteps(parent, twin, open);
}
