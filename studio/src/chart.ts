// SPDX-License-Identifier: MIT OR Apache-2.0
// Curves over the time of a run.
import uPlot from "uplot";

const HEIGHT = 170;
const NARROWEST = 240;

export interface Curve {
  label: string;
  /** A custom property of the page: `--accent`. */
  colour: string;
  values: (number | null)[];
  /** Curves of one scale share an axis. */
  scale: string;
  /** Points, and no line between them. */
  only_points?: boolean;
}

/** A chart of curves; `pick` gets the time in ms that a person points at. */
export function chart(parent: HTMLElement, ms: number[], curves: Curve[], pick?: (ms: number) => void): uPlot {
  const text = resolved("--faint");
  const grid = { stroke: resolved("--line"), width: 1 };
  const scales = [...new Set(curves.map(({ scale }) => scale))];
  parent.replaceChildren();
  const made = new uPlot(
    {
      width: Math.max(NARROWEST, parent.clientWidth),
      height: HEIGHT,
      scales: { x: { time: false } },
      legend: { live: true },
      axes: [
        { stroke: text, grid, label: "ms", labelSize: 18, size: 34 },
        ...scales.map((scale, number) => ({
          scale,
          stroke: text,
          size: 54,
          side: number === 0 ? (3 as const) : (1 as const),
          grid: number === 0 ? grid : { show: false },
        })),
      ],
      hooks: { destroy: [() => resized.disconnect()] },
      series: [
        { label: "ms" },
        ...curves.map(({ label, colour, scale, only_points }) => ({
          label,
          stroke: resolved(colour),
          width: only_points ? 0 : 1.5,
          scale,
          spanGaps: true,
          ...(only_points ? { points: { show: true, size: 6, fill: resolved(colour) } } : {}),
        })),
      ],
    },
    [ms, ...curves.map(({ values }) => values)] as uPlot.AlignedData,
    parent,
  );
  const resized = new ResizeObserver(() => made.setSize({ width: Math.max(NARROWEST, parent.clientWidth), height: HEIGHT }));
  resized.observe(parent);
  if (pick !== undefined) {
    made.over.addEventListener("click", () => {
      const at = made.cursor.left === undefined ? NaN : made.posToVal(made.cursor.left, "x");
      if (Number.isFinite(at)) pick(at);
    });
  }
  return made;
}

/** Shows the values at a time in ms. */
export function point(plot: uPlot, ms: number): void {
  // A new chart is laid out after the script that made it.
  queueMicrotask(() => plot.setCursor({ left: plot.valToPos(ms, "x"), top: 0 }));
}

/** The colour that a custom property has now: a canvas knows no properties, and no `light-dark`. */
function resolved(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
