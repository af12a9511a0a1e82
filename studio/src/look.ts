// SPDX-License-Identifier: MIT OR Apache-2.0
// A run that is over, or one that goes on: the network at a time, a queue over time, one packet, one flow.
import type uPlot from "uplot";

import * as api from "./api";
import { chart, point } from "./chart";
import { showLife } from "./life";
import { Drawing, type Standing } from "./network";
import { type Page as PacketPage, showPacket } from "./packet";
import { element, ms } from "./words";

const POLL_MS = 80;
/** Samples a second while the time line is played. */
const FRAMES = 30;

/** What the page around a look does for it. */
export interface Page extends PacketPage {
  say(text: string, wrong?: boolean): void;
}

const area = element("look");
const drawn = element("network");
const slider = element<HTMLInputElement>("time");
const clock = element<HTMLOutputElement>("clock");
const play = element<HTMLButtonElement>("play");
const port = element("port");
const curves = element("curves");
const asks = element("asks");
const answer = element("packet");
const life = element("life");

/** The network while a run goes on: each picture against the one before it. */
export class Live {
  private drawing: Drawing | undefined;
  private network: api.Network | undefined;
  private before: api.Picture | undefined;

  show(network: api.Network, picture: api.Picture): void {
    if (this.drawing === undefined) {
      this.network = network;
      area.hidden = false;
      area.classList.add("live");
      this.drawing = new Drawing(drawn, network, () => {});
    }
    if (this.before !== undefined && this.before.now_ns < picture.now_ns) {
      this.drawing.show(standing(this.network!, this.before, picture), fullOf([picture]));
      clock.textContent = ms(picture.now_ns);
    }
    this.before = picture;
  }

  end(): void {
    area.classList.remove("live");
    area.hidden = true;
  }
}

function standing(network: api.Network, before: api.Picture, now: api.Picture): Standing {
  const passed_s = (now.now_ns - before.now_ns) / 1e9;
  const since = (column: "wire_bytes" | "marked" | "lost") =>
    now[column].map((value, line) => value - (before[column][line] ?? 0));
  return {
    load: since("wire_bytes").map((bytes, line) => (bytes * 8) / passed_s / network.lines[line]!.rate_bps),
    packets: now.packets,
    marked: since("marked"),
    lost: since("lost"),
  };
}

/** The packets that fill a bar. */
function fullOf(pictures: { packets: number[] }[]): number {
  return Math.max(20, ...pictures.map(({ packets }) => Math.max(...packets)));
}

/** A cell of a run that is over. */
export class Look {
  private at = 0;
  private line = 0;
  private readonly drawing: Drawing;
  private readonly full: number;
  private plot: uPlot | undefined;
  private playing: number | undefined;
  private closed = false;

  private constructor(
    private readonly ready: api.Ready,
    private readonly page: Page,
  ) {
    const { timeline } = ready;
    this.full = fullOf(timeline.packets.map((packets) => ({ packets })));
    this.drawing = new Drawing(drawn, ready, (line) => this.choose(line));
    slider.max = String(timeline.time_ns.length - 1);
    slider.oninput = () => this.go(Number(slider.value));
    play.onclick = () => this.toggle();
    for (const what of ["mark", "loss", "departure"] as const) {
      element<HTMLButtonElement>(`ask-${what}`).onclick = () => page.attempt(() => this.ask(what));
    }
    answer.replaceChildren();
    life.hidden = true;
    asks.hidden = false;
    this.choose(this.busiest());
    this.go(Math.floor(timeline.time_ns.length / 2));
  }

  /** Runs a cell again, and shows it. */
  static async open(folder: string, scheme: string, seed: number, page: Page): Promise<Look> {
    await api.openLook(folder, scheme, seed);
    for (;;) {
      const state = await api.lookState();
      if (state.error !== "") throw new api.Refused(state.error);
      if (state.ready) break;
      page.say(`Running it again: ${ms(state.now_ns)}, ${state.finished} flows ...`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const ready = await api.lookReady();
    page.say("");
    area.hidden = false;
    return new Look(ready, page);
  }

  close(): void {
    this.closed = true;
    this.stop();
    this.plot?.destroy();
    area.hidden = true;
  }

  private get time_ns(): number {
    return this.ready.timeline.time_ns[this.at] ?? 0;
  }

  /** The line with most marks, or else the one with the longest queue. */
  private busiest(): number {
    const { marked, packets } = this.ready.timeline;
    const most = (values: number[]) => values.indexOf(Math.max(...values));
    const marks = marked.at(-1)!;
    if (Math.max(...marks) > 0) return most(marks);
    return most(marks.map((_, line) => packets.reduce((sum, sample) => sum + sample[line]!, 0)));
  }

  private picture(at: number): api.Picture {
    const { time_ns, finished, packets, wire_bytes, marked, lost } = this.ready.timeline;
    return {
      now_ns: time_ns[at]!,
      finished: finished[at]!,
      packets: packets[at]!,
      wire_bytes: wire_bytes[at]!,
      marked: marked[at]!,
      lost: lost[at]!,
    };
  }

  private go(at: number): void {
    this.at = Math.min(Math.max(0, at), this.ready.timeline.time_ns.length - 1);
    slider.value = String(this.at);
    clock.textContent = `${ms(this.time_ns)} of ${ms(this.ready.end_ns)}`;
    const now = this.picture(this.at);
    const before = this.at > 0 ? this.picture(this.at - 1) : { ...now, now_ns: -1 };
    this.drawing.show(standing(this.ready, before, now), this.full);
    if (this.plot !== undefined) point(this.plot, this.time_ns / 1e6);
  }

  private toggle(): void {
    if (this.playing !== undefined) {
      this.stop();
      return;
    }
    play.textContent = "Pause";
    const last = this.ready.timeline.time_ns.length - 1;
    if (this.at === last) this.go(0);
    this.playing = window.setInterval(() => {
      this.go(this.at + 1);
      if (this.at === last) this.stop();
    }, 1000 / FRAMES);
  }

  private stop(): void {
    window.clearInterval(this.playing);
    this.playing = undefined;
    play.textContent = "Play";
  }

  private choose(line: number): void {
    this.line = line;
    this.drawing.pick(line);
    port.textContent = Drawing.portName(this.ready, line);
    const { time_ns, packets, marked } = this.ready.timeline;
    const times = time_ns.map((ns) => ns / 1e6);
    const since = (number: number) => marked[number]![line]! - (number > 0 ? marked[number - 1]![line]! : 0);
    this.plot?.destroy();
    this.plot = chart(
      curves,
      times,
      [
        { label: "packets in the queue", colour: "--accent", values: packets.map((each) => each[line]!), scale: "packets" },
        { label: "marks", colour: "--mark", values: times.map((_, number) => since(number)), scale: "marks" },
      ],
      (at) => {
        const next = times.findIndex((each) => each >= at);
        this.go(next < 0 ? times.length - 1 : next);
      },
    );
    point(this.plot, this.time_ns / 1e6);
  }

  private async ask(what: api.Wanted): Promise<void> {
    this.stop();
    const began = performance.now();
    const asked = { at: Drawing.portName(this.ready, this.line), from_ns: this.time_ns, what };
    const packet = await api.packet(asked);
    if (this.closed) return;
    showPacket(answer, packet, asked, this.page, (flow) => this.page.attempt(() => this.follow(flow, packet.time_ns)));
    answer.dataset.took = String(Math.round(performance.now() - began));
    answer.scrollIntoView({ block: "nearest" });
  }

  private async follow(flow: number, seen_ns: number): Promise<void> {
    const begin = this.ready.flows.start_ns[flow] ?? 0;
    const lived = await api.life(flow, Math.min(this.ready.end_ns, seen_ns + 4 * (seen_ns - begin) + 1_000_000));
    if (this.closed) return;
    const [src, dst] = [this.ready.flows.src[flow]!, this.ready.flows.dst[flow]!];
    const names = this.ready.nodes;
    showLife(`Flow ${flow}, ${names[src]!.name} to ${names[dst]!.name}`, lived);
  }
}
