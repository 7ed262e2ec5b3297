// SPDX-License-Identifier: MIT
// Plots as SVG: a frame with axes, points that can be looked at with pointer and keyboard, a tip beside them.
import {svg, html, byId, replace, announce} from "./dom.js";
import {showRecord} from "./record.js";

const REACH = 16; // pixels from the pointer within which a point is meant

/** A plot of the host's width. xs and ys are made by the caller once it knows the size: see frame.area. */
export function frame(host, {height, title, margin = {}}) {
  const width = Math.max(280, Math.floor(host.clientWidth || 600));
  const sides = {top: 14, right: 14, bottom: 40, left: 58, ...margin};
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title, class: "plot"});
  host.append(root);
  return {root, width, height, title,
          area: {left: sides.left, right: width - sides.right, top: sides.top, bottom: height - sides.bottom}};
}

/** Grid, ticks and labels with units. */
export function axes(plot, x, y, xLabel, yLabel) {
  const {left, right, top, bottom} = plot.area;
  const group = svg("g", {class: "axes", "aria-hidden": "true"});
  for (const tick of x?.ticks ?? []) {
    const at = x(tick.value);
    group.append(svg("line", {x1: at, x2: at, y1: top, y2: bottom, class: "grid"}),
      svg("text", {x: at, y: bottom + 15, "text-anchor": "middle"}, tick.text));
  }
  for (const tick of y?.ticks ?? []) {
    const at = y(tick.value);
    group.append(svg("line", {x1: left, x2: right, y1: at, y2: at, class: "grid"}),
      svg("text", {x: left - 7, y: at + 3.5, "text-anchor": "end"}, tick.text));
  }
  group.append(svg("path", {d: `M${left} ${top}V${bottom}H${right}`, class: "frame"}));
  if (xLabel) group.append(svg("text", {x: (left + right) / 2, y: plot.height - 6, "text-anchor": "middle", class: "label"}, xLabel));
  if (yLabel) {
    const middle = (top + bottom) / 2;
    group.append(svg("text", {x: 12, y: middle, "text-anchor": "middle", class: "label", transform: `rotate(-90 12 ${middle})`}, yLabel));
  }
  plot.root.append(group);
  return group;
}

const round = value => Math.round(value * 10) / 10;

/** One path for all points of a kind, so that ten thousand cost no more than one element. */
const SHAPES = {
  dot: ({x, y}) => `M${round(x)} ${round(y)}h0`,
  down: ({x, y}) => `M${round(x - 3)} ${round(y - 2)}l3 5l3 -5z`,
  up: ({x, y}) => `M${round(x - 3)} ${round(y + 2)}l3 -5l3 5z`,
  cross: ({x, y}) => `M${round(x - 2.5)} ${round(y - 2.5)}l5 5m-5 0l5 -5`,
  dash: ({x, y}) => `M${round(x - 7)} ${round(y)}h14`,
};

export function marks(parent, points, shape, name) {
  parent.append(svg("path", {d: points.map(SHAPES[shape]).join(""), class: `mark ${shape} ${name}`}));
}

/** How a record is drawn, worst last. */
function kindOf(tuning, i) {
  if (tuning.isCensored(i)) return "censored";
  return tuning.outcome[i] === "duplicate" ? "duplicate" : "ok";
}

/** The points of a tuning: those that filters leave out faint and below. What was stopped early points to where it would
 * be: up, to longer times, or "down", to lower rates. */
export function drawPoints(parent, tuning, points, selected, bound = "up") {
  const shapes = {ok: "dot", duplicate: "dot", censored: bound};
  marks(parent, points.filter(({i}) => !selected[i]), "dot", "out");
  for (const kind of ["censored", "duplicate", "ok"]) {
    const own = points.filter(({i}) => selected[i] && kindOf(tuning, i) === kind);
    if (own.length > 0) marks(parent, own, shapes[kind], kind);
  }
}

/** The text stands above the ring, or beside and below it, where that is more likely to be free. */
export function ring(parent, {x, y}, text, right, below = false) {
  const group = svg("g", {class: "best"}, svg("circle", {cx: x, cy: y, r: 6}));
  const flip = x > right - 150;
  const across = (flip ? 1 : -1) * (below ? -11 : 6);
  group.append(svg("text", {x: x + across, y: y + (below ? 17 : -11), "text-anchor": flip ? "end" : "start"}, text));
  parent.append(group);
}

function showTip(lines, x, y) {
  const tip = byId("tip");
  replace(tip, lines.map(line => html("div", {}, line)));
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${y + height + 24 > innerHeight ? y - height - 12 : y + 16}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

/** Shows describe(i), an array of lines, for the point under the pointer or under the arrow keys; a click or Enter
 * opens the record. points: {x, y, i} in pixels. */
export function inspect(plot, points, describe) {
  const {root} = plot;
  const order = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  const cursor = svg("circle", {r: 7, class: "cursor", visibility: "hidden"});
  let current = -1;
  root.append(cursor);
  root.setAttribute("tabindex", "0");
  root.setAttribute("role", "application");
  root.setAttribute("aria-roledescription", "plot");
  root.setAttribute("aria-label", `${plot.title} Arrow keys go through the points, Enter opens one.`);

  const place = (index, spoken) => {
    current = index;
    const point = order[index];
    cursor.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return hideTip();
    cursor.setAttribute("cx", point.x);
    cursor.setAttribute("cy", point.y);
    const box = root.getBoundingClientRect();
    const factor = box.width / plot.width;
    const lines = describe(point.i);
    showTip(lines, box.left + point.x * factor, box.top + point.y * factor);
    if (spoken) announce(lines.join("; "));
    return undefined;
  };
  const nearest = event => {
    const box = root.getBoundingClientRect();
    const factor = plot.width / box.width;
    const x = (event.clientX - box.left) * factor;
    const y = (event.clientY - box.top) * factor;
    let found = -1;
    let least = REACH * REACH;
    order.forEach((point, index) => {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance < least) [found, least] = [index, distance];
    });
    return found;
  };
  root.addEventListener("pointermove", event => place(nearest(event), false));
  root.addEventListener("pointerleave", () => place(-1, false));
  root.addEventListener("blur", () => place(-1, false));
  root.addEventListener("click", event => {
    const found = nearest(event);
    if (found >= 0) showRecord(order[found].i);
  });
  root.addEventListener("keydown", event => {
    const steps = {ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity};
    if (event.key === "Enter" && current >= 0) showRecord(order[current].i);
    if (event.key === "Escape") place(-1, false);
    if (!(event.key in steps) || order.length === 0) return;
    event.preventDefault();
    const wanted = current < 0 && event.key !== "End" ? 0 : current + steps[event.key];
    place(Math.max(0, Math.min(order.length - 1, wanted)), true);
  });
}

/** What a tip says of a record. */
export function describeRecord(tuning, i) {
  const timed = tuning.timed && tuning.time[i] !== null;
  const interval = timed ? `  95%: ${tuning.costFigure(tuning.low[i])} to ${tuning.costFigure(tuning.high[i])}` : "";
  return [`${tuning.costText(i)}${interval}`, tuning.pointText(i), tuning.remarks(i).join(", ")].filter(line => line !== "");
}

/** entries: [class of the mark, text]. */
export function legend(host, entries) {
  host.append(html("ul", {class: "legend"}, entries.map(([name, text]) =>
    html("li", {}, html("span", {class: `key ${name}`, "aria-hidden": "true"}), text))));
}

/** The legend of drawPoints, with the kinds that there are. */
export function pointLegend(host, tuning, more = []) {
  const kinds = new Set();
  for (let i = 0; i < tuning.count; i++) {
    if (tuning.isValid(i) || tuning.isCensored(i)) kinds.add(kindOf(tuning, i));
  }
  const texts = [["ok", "measured"], ["duplicate", "same machine code as another"], ["censored", "stopped early: at least so slow"]];
  legend(host, [...texts.filter(([kind]) => kinds.has(kind)), ...more]);
}
