// SPDX-License-Identifier: MIT OR Apache-2.0
// The network as a drawing: nodes in tiers, lines coloured by load, queues as bars at the ports that they wait at.
import type { Network } from "./api";

const SVG = "http://www.w3.org/2000/svg";
/** Width for each node of the largest tier, within bounds. */
const NODE_WIDTH = 64;
const [NARROWEST, WIDEST] = [440, 1400];
const TIER_HEIGHT = 130;
const MARGIN = 40;
/** Half the distance between the two directions of a link. */
const APART = 3;
/** Where along its line a queue is drawn, and the length of a full bar. */
const QUEUE_AT = 0.2;
const QUEUE_LENGTH = 46;

/** How lines stand: the part of their rate that is used, and packets that wait, by line. */
export interface Standing {
  load: number[];
  packets: number[];
  /** Packets marked and lost since the last picture. */
  marked: number[];
  lost: number[];
}

interface Drawn {
  path: SVGLineElement;
  queue: SVGLineElement;
  flash: SVGCircleElement;
}

function make<Name extends keyof SVGElementTagNameMap>(name: Name, attributes: Record<string, string | number> = {}) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

export class Drawing {
  private readonly svg: SVGSVGElement;
  private readonly places: { x: number; y: number }[];
  private readonly lines: Drawn[];
  private readonly nodes: SVGGElement[];
  private chosen: number | undefined;

  /** `choose` gets the line of a switch port that a person picks. */
  constructor(
    parent: HTMLElement,
    private readonly network: Network,
    private readonly choose: (line: number) => void,
  ) {
    const tiers = Math.max(...network.nodes.map(({ tier }) => tier)) + 1;
    const height = MARGIN * 2 + (tiers - 1) * TIER_HEIGHT;
    const inTier = network.nodes.map(({ tier }) => tier);
    const sizes = inTier.map((tier) => inTier.filter((each) => each === tier).length);
    const width = Math.min(WIDEST, Math.max(NARROWEST, NODE_WIDTH * Math.max(...sizes)));
    this.svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Network" });
    const seen = new Map<number, number>();
    this.places = network.nodes.map(({ tier }, node) => {
      const number = seen.get(tier) ?? 0;
      seen.set(tier, number + 1);
      return { x: ((number + 0.5) / sizes[node]!) * width, y: height - MARGIN - tier * TIER_HEIGHT };
    });
    this.lines = network.lines.map((_, number) => this.line(number));
    this.nodes = network.nodes.map((_, number) => this.node(number));
    for (const { path, queue, flash } of this.lines) this.svg.append(path, queue, flash);
    this.svg.append(...this.nodes);
    this.place();
    parent.replaceChildren(this.svg);
  }

  /** The name of the port that a line leaves. */
  static portName(network: Network, line: number): string {
    const [node, port] = network.lines[line]!.from;
    return `${network.nodes[node]!.name}:${port}`;
  }

  pick(line: number): void {
    if (this.chosen !== undefined) this.lines[this.chosen]!.path.classList.remove("chosen");
    this.chosen = line;
    this.lines[line]!.path.classList.add("chosen");
  }

  show({ load, packets, marked, lost }: Standing, fullPackets: number): void {
    this.lines.forEach(({ path, queue, flash }, number) => {
      const used = Math.min(1, load[number] ?? 0);
      path.style.setProperty("--load", `${Math.round(used * 100)}%`);
      const waiting = packets[number] ?? 0;
      const length = waiting === 0 ? 0 : Math.max(2, QUEUE_LENGTH * Math.min(1, waiting / fullPackets));
      queue.style.strokeDasharray = `${length} ${WIDEST * 2}`;
      flash.setAttribute("class", (lost[number] ?? 0) > 0 ? "flash lost" : (marked[number] ?? 0) > 0 ? "flash marked" : "flash");
      path.querySelector("title")!.textContent =
        `${this.title(number)}: ${Math.round(used * 100)} % used, ${waiting.toLocaleString("en")} packets wait`;
    });
  }

  private isSwitch(node: number): boolean {
    return this.network.nodes[node]!.tier > 0;
  }

  private title(number: number): string {
    const { from, to } = this.network.lines[number]!;
    return `${Drawing.portName(this.network, number)} to ${this.network.nodes[to[0]]!.name}${this.isSwitch(from[0]) ? "" : " (host)"}`;
  }

  private line(number: number): Drawn {
    const { from } = this.network.lines[number]!;
    const path = make("line", { class: "line" });
    path.append(make("title"));
    if (this.isSwitch(from[0])) {
      path.setAttribute("tabindex", "0");
      path.setAttribute("role", "button");
      path.setAttribute("aria-label", this.title(number));
      path.addEventListener("click", () => this.choose(number));
      path.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.choose(number);
      });
    }
    const queue = make("line", { class: "queue" });
    queue.style.strokeDasharray = `0 ${WIDEST * 2}`;
    return { path, queue, flash: make("circle", { class: "flash", r: 6 }) };
  }

  private node(number: number): SVGGElement {
    const { name } = this.network.nodes[number]!;
    const group = make("g", { class: this.isSwitch(number) ? "node switch" : "node host" });
    const shape = this.isSwitch(number)
      ? make("rect", { x: -20, y: -12, width: 40, height: 24, rx: 4 })
      : make("circle", { r: 8 });
    const many = this.network.nodes.length > 60 && !this.isSwitch(number);
    const label = make("text", { y: this.isSwitch(number) ? 5 : 24, "text-anchor": "middle" });
    label.textContent = many ? "" : name;
    group.append(shape, label);
    group.addEventListener("pointerdown", (down) => this.drag(number, group, down));
    return group;
  }

  private drag(number: number, group: SVGGElement, down: PointerEvent): void {
    group.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM()!.inverse());
      this.places[number] = { x: at.x, y: at.y };
      this.place();
    };
    group.addEventListener("pointermove", move);
    group.addEventListener("pointerup", () => group.removeEventListener("pointermove", move), { once: true });
  }

  private place(): void {
    this.nodes.forEach((group, number) => {
      const { x, y } = this.places[number]!;
      group.setAttribute("transform", `translate(${x} ${y})`);
    });
    this.lines.forEach(({ path, queue, flash }, number) => {
      const { from, to } = this.network.lines[number]!;
      const [a, b] = [this.places[from[0]]!, this.places[to[0]]!];
      const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
      const aside = { x: (-(b.y - a.y) / length) * APART, y: ((b.x - a.x) / length) * APART };
      const along = (part: number) => ({ x: a.x + (b.x - a.x) * part + aside.x, y: a.y + (b.y - a.y) * part + aside.y });
      const ends = (element: SVGLineElement, begin: { x: number; y: number }, end: { x: number; y: number }) => {
        element.setAttribute("x1", String(begin.x));
        element.setAttribute("y1", String(begin.y));
        element.setAttribute("x2", String(end.x));
        element.setAttribute("y2", String(end.y));
      };
      ends(path, along(0), along(1));
      ends(queue, along(QUEUE_AT), along(1));
      const { x, y } = along(QUEUE_AT);
      flash.setAttribute("cx", String(x));
      flash.setAttribute("cy", String(y));
    });
  }
}
