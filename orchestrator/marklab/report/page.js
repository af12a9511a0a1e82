// SPDX-License-Identifier: MIT OR Apache-2.0
"use strict";
// Draws the charts of the page as the switches choose. All data is in the page; nothing is loaded from elsewhere.
(() => {
  const MARKERS_ON_ALL = 15;
  const MARKERS_ON_LONG = 8;
  const PATTERNS = ["", "/", "x", "."]; // `hatch-N` of the style sheet
  const TICKS_AT_ALL = 12;
  const ROOM_FOR_WHISKERS = 0.6;
  const LETTER = 9;
  const EXPORTED = { width: 900, height: 560 };

  // Choices: by `/key` for all charts, by `chart/key` for a single chart.
  const chosen = new Map();
  const hidden = new Set();
  const charts = new Map();
  let styles = {};
  let baseline = null;
  let plotly = null;
  let drawing = false;

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 700px)");
  const touched = matchMedia("(pointer: coarse)");

  const choiceOf = (control) => `${control.dataset.chart}/${control.dataset.key}`;

  async function unpack(id) {
    const text = atob(document.getElementById(id).textContent);
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  // As a separate file, which browsers parse off the main thread, unlike the text of an element.
  function run(code) {
    const script = document.createElement("script");
    script.src = URL.createObjectURL(code);
    return new Promise((resolve, reject) => {
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error("the browser refuses to run the script that draws them")));
      document.head.append(script);
    });
  }

  function say(text) {
    for (const waiting of document.querySelectorAll(".waiting")) waiting.textContent = text;
  }

  // The series that a chart shows.

  function modeOf(chart) {
    const mode = chosen.get("/mode") ?? "absolute";
    return mode in chart.axes ? mode : Object.keys(chart.axes)[0];
  }

  function inView(chart) {
    const mode = modeOf(chart);
    const matches = (wanted, scope) => Object.entries(wanted).every(([key, value]) => chosen.get(`${scope}/${key}`) === value);
    return chart.series.filter((series) =>
      (series.mode === null || series.mode === mode) && matches(series.at, "") && matches(series.pick, chart.name));
  }

  // A choice with a single value has no control, so it is made here.
  function chooseOnly(chart) {
    for (const series of chart.series) {
      for (const [key, value] of Object.entries(series.pick)) {
        if (!chosen.has(`${chart.name}/${key}`)) chosen.set(`${chart.name}/${key}`, value);
      }
    }
  }

  // Figures for Plotly.

  function colourOf(scheme, theme) {
    return scheme === baseline ? theme.baseline : styles[scheme].colour;
  }

  const nameOf = (series) => (series.part ? `${series.scheme}: ${series.part}` : series.scheme);

  function partsOf(chart, scheme) {
    return [...new Set(chart.series.filter((series) => series.scheme === scheme).map((series) => series.part))];
  }

  function traceOf(chart, series, theme) {
    const colour = colourOf(series.scheme, theme);
    const style = styles[series.scheme];
    const trace = { name: nameOf(series), x: series.x, y: series.y, meta: series.scheme };
    // Whiskers of stacked bars would hide the bars.
    if (series.low.length && !series.part) {
      trace.error_y = {
        type: "data", symmetric: false, thickness: 1.2, width: 3, color: chart.kind === "lines" ? `${colour}99` : theme.ink,
        array: series.high.map((bound, at) => (bound === null ? null : bound - series.y[at])),
        arrayminus: series.low.map((bound, at) => (bound === null ? null : series.y[at] - bound)),
      };
    }
    if (chart.kind === "bars" || chart.kind === "stacks") {
      trace.type = "bar";
      const shape = PATTERNS[partsOf(chart, series.scheme).indexOf(series.part) % PATTERNS.length];
      trace.marker = {
        color: colour, line: { color: theme.ground, width: 1 },
        pattern: { shape, fillmode: "overlay", fgcolor: theme.ground, fgopacity: 0.6, solidity: 0.25, size: 10 },
      };
      return trace;
    }
    trace.type = "scatter";
    trace.mode = "lines+markers";
    trace.line = chart.kind === "steps"
      ? { color: colour, width: 1.3, shape: "hvh" }
      : { color: colour, width: 2, dash: style.dash };
    trace.marker = { symbol: style.marker, size: 8, color: colour };
    if (series.x.length > MARKERS_ON_ALL) trace.marker.maxdisplayed = MARKERS_ON_LONG;
    return trace;
  }

  function axisOf(axis, side, theme) {
    const drawn = {
      title: { text: axis.title, standoff: 12, font: { size: 13 } }, automargin: side, gridcolor: theme.line, linecolor: theme.dim,
      zerolinecolor: theme.line, type: axis.log ? "log" : "-", tickformat: axis.unit === "bytes" ? "~s" : ",~r",
    };
    if (axis.log) drawn.dtick = 1;
    return drawn;
  }

  // With few seeds whiskers are long. Whiskers beyond this range are cut, so that differences between schemes remain visible.
  // No value is below zero, but a confidence interval can be. A chart whose values are all zero needs a scale, too.
  function rangeOf(shown, from) {
    const values = shown.flatMap((series) => series.y).filter((value) => value !== null);
    const low = Math.min(from, ...values);
    const high = Math.max(from, ...values);
    const room = ROOM_FOR_WHISKERS * (high - low);
    return high > low ? { clipmin: Math.max(0, low - room), clipmax: high + room } : { include: [from, from + 1] };
  }

  function wordy(shown, width) {
    const words = new Set(shown.flatMap((series) => series.x));
    return [...words].join("  ").length * LETTER > width - 100;
  }

  function layoutOf(chart, shown, theme) {
    const mode = modeOf(chart);
    const [x, y] = chart.axes[mode].map((axis, at) => axisOf(axis, ["bottom", "left"][at], theme));
    const categories = shown.some((series) => typeof series.x[0] === "string");
    if (categories) {
      Object.assign(x, { type: "category", tickformat: "", showgrid: false });
    } else if (!chart.axes[mode][0].log) {
      const places = [...new Set(shown.flatMap((series) => series.x))].sort((a, b) => a - b);
      if (places.length <= TICKS_AT_ALL) Object.assign(x, { tickmode: "array", tickvals: places });
    }
    if (categories) x.tickangle = wordy(shown, chart.plot.clientWidth) ? -35 : 0;
    const ratio = mode === "normalised";
    if (!chart.axes[mode][1].log) {
      y.autorangeoptions = rangeOf(shown, ratio && chart.one === "y" ? 1 : 0);
      if (!ratio) y.rangemode = "tozero";
    }
    const layout = {
      xaxis: x, yaxis: y, barmode: chart.kind === "stacks" ? "stack" : "group", bargap: 0.35,
      paper_bgcolor: theme.ground, plot_bgcolor: theme.ground,
      font: { family: "system-ui, sans-serif", size: narrow.matches ? 12 : 13, color: theme.ink },
      margin: { l: 50, r: 14, t: 16, b: 40 }, hovermode: "closest",
      hoverlabel: { namelength: -1 }, dragmode: touched.matches ? false : "zoom",
      showlegend: false,
      shapes: [], annotations: [],
    };
    if (ratio && baseline !== null) {
      const along = chart.one === "y" ? { xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1 } : { yref: "paper", y0: 0, y1: 1, x0: 1, x1: 1 };
      layout.shapes.push({ type: "line", layer: "below", line: { color: theme.ink, width: 1.5, dash: styles[baseline].dash }, ...along });
    }
    if (!shown.length) {
      layout.annotations.push({ text: "There is no data for this choice.", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 });
    }
    return layout;
  }

  function themeOf(isDark) {
    return isDark
      ? { ground: "#14171a", ink: "#e9ecef", dim: "#a2abb5", line: "#3a4148", baseline: "#c4c9cf" }
      : { ground: "#ffffff", ink: "#000000", dim: "#5b636d", line: "#e1e5ea", baseline: "#3c4247" };
  }

  function figureOf(chart, theme) {
    const shown = inView(chart).filter((series) => !hidden.has(series.scheme));
    return { data: shown.map((series) => traceOf(chart, series, theme)), layout: layoutOf(chart, shown, theme) };
  }

  function draw(chart) {
    const first = !chart.drawn;
    if (first) chart.plot.replaceChildren();
    const { data, layout } = figureOf(chart, themeOf(dark.matches));
    plotly.react(chart.plot, data, layout, { displayModeBar: false, responsive: true });
    chart.drawn = true;
    performance.mark(`drawn ${chart.name}`);
    markStale(chart, false);
    nameSeries(chart);
  }

  // A legend outside the plot instead of Plotly's: it wraps, takes no space from the plot, and has buttons.
  function nameSeries(chart) {
    const shown = inView(chart);
    const several = new Set(shown.map((series) => series.scheme)).size > 1;
    const named = shown.filter((series) => (series.part ? series.y.some(Boolean) : several && series.x[0] !== series.scheme));
    const buttons = named.map((series) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.scheme = series.scheme;
      button.setAttribute("aria-pressed", String(!hidden.has(series.scheme)));
      button.append(chart.kind === "lines" || chart.kind === "steps" ? lineSwatch(series) : boxSwatch(chart, series));
      button.append(nameOf(series));
      return button;
    });
    chart.plot.parentElement.querySelector(".legend").replaceChildren(...buttons);
  }

  // A copy of the swatch at the switches.
  function lineSwatch(series) {
    const chip = [...document.querySelectorAll(".chip")].find((each) => each.dataset.scheme === series.scheme);
    return chip.querySelector("svg").cloneNode(true);
  }

  function boxSwatch(chart, series) {
    const box = document.createElement("span");
    box.className = `box hatch-${partsOf(chart, series.scheme).indexOf(series.part) % PATTERNS.length}`;
    box.style.setProperty("--colour", colourOf(series.scheme, themeOf(dark.matches)));
    return box;
  }

  // A chart out of view keeps its old choices until it comes into view. `data-stale` shows this to tests.
  function markStale(chart, stale) {
    chart.stale = stale;
    chart.plot.parentElement.dataset.stale = String(stale);
  }

  // One chart at a time, so that each appears as soon as it is drawn.
  async function drawVisible() {
    if (plotly === null || drawing) return;
    drawing = true;
    try {
      for (let next = nextToDraw(); next; next = nextToDraw()) {
        draw(next);
        await new Promise((resolve) => setTimeout(resolve));
      }
    } finally {
      drawing = false;
    }
  }

  const nextToDraw = () => [...charts.values()].find((chart) => chart.visible && chart.stale);

  function redraw(which) {
    for (const chart of which) markStale(chart, true);
    drawVisible();
  }

  // Switches.

  function choose(control, value) {
    const choice = choiceOf(control);
    chosen.set(choice, value);
    for (const button of document.querySelectorAll("button[data-key]")) {
      if (choiceOf(button) === choice) button.setAttribute("aria-pressed", String(button.dataset.value === value));
    }
    redraw(control.dataset.chart ? [charts.get(control.dataset.chart)] : charts.values());
  }

  function toggle(scheme) {
    if (!hidden.delete(scheme)) hidden.add(scheme);
    for (const chip of document.querySelectorAll("[data-scheme]")) {
      if (chip.dataset.scheme === scheme) chip.setAttribute("aria-pressed", String(!hidden.has(scheme)));
    }
    redraw(charts.values());
  }

  // Files.

  function csvOf(chart) {
    const settings = [...new Set(chart.series.flatMap((series) => Object.keys(series.at)))];
    const picks = [...new Set(chart.series.flatMap((series) => Object.keys(series.pick)))];
    const rows = [["scheme", "part", "mode", ...settings, ...picks, "x", "y", "low", "high", "x is", "y is"]];
    for (const series of chart.series) {
      const [x, y] = chart.axes[series.mode ?? "absolute"] ?? Object.values(chart.axes)[0];
      const where = [...settings.map((key) => series.at[key]), ...picks.map((key) => series.pick[key])];
      series.x.forEach((value, at) => {
        rows.push([series.scheme, series.part, series.mode, ...where, value, series.y[at], series.low[at], series.high[at], x.title, y.title]);
      });
    }
    const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    return rows.map((row) => row.map((cell) => quoted(String(cell ?? ""))).join(",")).join("\n") + "\n";
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  function take(form, chart) {
    if (form === "csv") return save(`${chart.name}.csv`, csvOf(chart));
    // For white paper, with the title and the choices that the page shows around the chart.
    const { data, layout } = figureOf(chart, themeOf(false));
    const choices = [modeOf(chart), ...Object.entries(inView(chart)[0]?.at ?? {}).map((each) => each.join(" ")), ...Object.values(inView(chart)[0]?.pick ?? {})];
    layout.title = { text: chart.title, subtitle: { text: choices.join(", ") }, x: 0.02 };
    layout.margin.t = 70;
    layout.showlegend = data.some((trace) => trace.name !== trace.x[0]);
    layout.legend = { orientation: "h", x: 0, y: 0, yanchor: "bottom", yref: "container", traceorder: "normal" };
    return plotly.downloadImage({ data, layout }, { format: form, filename: chart.name, ...EXPORTED });
  }

  // Start.

  function listen() {
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button === null) return;
      if (button.dataset.scheme) toggle(button.dataset.scheme);
      else if (button.dataset.take) take(button.dataset.take, charts.get(button.dataset.chart));
      else if (button.dataset.key) choose(button, button.dataset.value);
    });
    document.addEventListener("change", (event) => {
      if (event.target.dataset.key) choose(event.target, event.target.value);
    });
    for (const control of document.querySelectorAll("button[data-key][aria-pressed=true]")) chosen.set(choiceOf(control), control.dataset.value);
    for (const control of document.querySelectorAll("select[data-key]")) chosen.set(choiceOf(control), control.value);
    for (const query of [dark, narrow]) query.addEventListener("change", () => redraw(charts.values()));
  }

  function watch() {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) charts.get(entry.target.parentElement.id).visible = entry.isIntersecting;
      drawVisible();
    }, { rootMargin: "600px" });
    for (const chart of charts.values()) seen.observe(chart.plot);
  }

  async function start() {
    listen();
    if (!("DecompressionStream" in window)) {
      say("This browser cannot decompress the data of the charts. Chrome 80, Firefox 113, Safari 16.4 and later versions can.");
      return;
    }
    const running = unpack("plotly").then((code) => code.blob()).then((code) => run(new Blob([code], { type: "text/javascript" })));
    const data = await (await unpack("data")).json();
    ({ styles, baseline } = data);
    for (const chart of data.charts) {
      charts.set(chart.name, { ...chart, plot: document.querySelector(`#${chart.name} .plot`), stale: true });
      chooseOnly(chart);
    }
    await running;
    performance.mark("plotly ready");
    plotly = window.Plotly;
    watch();
  }

  start().catch((error) => {
    say(`The charts cannot be drawn: ${error.message}`);
    throw error;
  });
})();
