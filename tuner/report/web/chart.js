// SPDX-License-Identifier: MIT
// Plots as SVG: a frame with axes, points that can be looked at with pointer and keyboard, a tip beside them.
import {svg, html, byId, replace, announce} from "./dom.js";
import {showRecord} from "./record.js";

const REACH = 16; // pixels from the pointer within which a point is meant

/** A plot of the host's width, or of the least that it can do with. xs and ys are made by the caller once it knows the size: see frame.area. */
export function frame(host, {height, title, margin = {}, least = 280}) {
  const width = Math.max(least, Math.floor(host.clientWidth || 600));
  const sides = {top: 14, right: 14, bottom: 40, left: 58, ...margin};
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title, class: "plot"});
  host.append(root);
  return {root, width, height, title,
          area: {left: sides.left, right: width - sides.right, top: sides.top, bottom: height - sides.bottom}, labels: []};
}

const ruler = document.createElement("canvas").getContext("2d");

/** How many pixels a text takes. */
export function textWidth(text, size = 11, weight = 400) {
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** As much of the text as has room, with "…" where that is not all. */
export function fit(text, room, size = 11) {
  if (textWidth(text, size) <= room) return text;
  let length = text.length - 1;
  while (length > 1 && textWidth(`${text.slice(0, length)}…`, size) > room) length--;
  return `${text.slice(0, length)}…`;
}

/** The corners of a text: of a height of its size, turned about its anchor. */
function corners({x, y, text, anchor = "middle", angle = 0, size = 11, weight = 400}) {
  const width = textWidth(text, size, weight) + 2;
  const left = anchor === "end" ? -width : anchor === "middle" ? -width / 2 : 0;
  const [cos, sin] = [Math.cos(angle * Math.PI / 180), Math.sin(angle * Math.PI / 180)];
  return [[left, -size * 0.85], [left + width, -size * 0.85], [left + width, size * 0.2], [left, size * 0.2]]
    .map(([across, down]) => [x + across * cos - down * sin, y + across * sin + down * cos]);
}

/** Two turned rectangles are apart where a side of either has all of the other beyond it. */
function apart(a, b) {
  return a.some(([x, y], k) => {
    const [x2, y2] = a[(k + 1) % 4];
    const side = ([px, py]) => (x2 - x) * (py - y) - (y2 - y) * (px - x);
    return b.every(corner => side(corner) <= 0);
  });
}

/** Writes a label where it covers no other and leaves the plot nowhere: at the first of some places {x, y, anchor, angle} that
 * is free. Where none is it is left out, but for one that must be there. */
export function label(plot, parent, text, places, {name = null, size = 11, weight = 400, must = false} = {}) {
  const inside = corner => corner[0] >= 0 && corner[0] <= plot.width && corner[1] >= 0 && corner[1] <= plot.height;
  const free = place => {
    const own = corners({...place, text, size, weight});
    return own.every(inside) && plot.labels.every(other => apart(own, other) || apart(other, own));
  };
  const place = places.find(free) ?? (must ? places[0] : null);
  if (place === null) return null;
  plot.labels.push(corners({...place, text, size, weight}));
  const {x, y, anchor = "middle", angle = 0} = place;
  const element = svg("text", {x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, class: name,
    transform: angle === 0 ? null : `rotate(${angle.toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)})`}, text);
  parent.append(element);
  return element;
}

/** No label is written over the line between two points, drawn so thick. */
export function keepFree(plot, [x1, y1], [x2, y2], half) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [across, down] = [(x2 - x1) / length * half, (y2 - y1) / length * half];
  plot.labels.push([[x1 - across + down, y1 - down - across], [x2 + across + down, y2 + down - across],
    [x2 + across - down, y2 + down + across], [x1 - across - down, y1 - down + across]]);
}

/** Grid, ticks and labels with units. */
export function axes(plot, x, y, xLabel, yLabel) {
  const {left, right, top, bottom} = plot.area;
  const group = svg("g", {class: "axes", "aria-hidden": "true"});
  for (const tick of x?.ticks ?? []) {
    const at = x(tick.value);
    group.append(svg("line", {x1: at, x2: at, y1: top, y2: bottom, class: "grid"}));
    label(plot, group, tick.text, [{x: at, y: bottom + 15}]);
  }
  for (const tick of y?.ticks ?? []) {
    const at = y(tick.value);
    group.append(svg("line", {x1: left, x2: right, y1: at, y2: at, class: "grid"}));
    label(plot, group, tick.text, [{x: left - 7, y: at + 3.5, anchor: "end"}]);
  }
  group.append(svg("path", {d: `M${left} ${top}V${bottom}H${right}`, class: "frame"}));
  if (xLabel) {
    const text = fit(xLabel, plot.width - 8);
    label(plot, group, text, [{x: middle(text, (left + right) / 2, plot.width), y: plot.height - 6}], {name: "label"});
  }
  if (yLabel) {
    const text = fit(yLabel, plot.height - 8);
    label(plot, group, text, [{x: 12, y: middle(text, (top + bottom) / 2, plot.height), angle: -90}], {name: "label"});
  }
  plot.root.append(group);
  return group;
}

/** The middle of an axis, or as near to it as a long text allows. */
function middle(text, wanted, length) {
  const half = textWidth(text) / 2 + 3;
  return Math.max(half, Math.min(length - half, wanted));
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
export function ring(plot, {x, y}, text, below = false) {
  keepFree(plot, [x, y], [x, y], 6);
  const group = svg("g", {class: "best"}, svg("circle", {cx: x, cy: y, r: 6}));
  const above = [{x: x - 6, y: y - 11, anchor: "start"}, {x: x + 6, y: y - 11, anchor: "end"}];
  const under = [{x: x + 11, y: y + 17, anchor: "start"}, {x: x - 11, y: y + 17, anchor: "end"}];
  const beside = [{x: x + 11, y: y + 4, anchor: "start"}, {x: x - 11, y: y + 4, anchor: "end"}];
  label(plot, group, text, below ? [...under, ...above, ...beside] : [...above, ...under, ...beside], {size: 12, weight: 600});
  plot.root.append(group);
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
