// SPDX-License-Identifier: MIT
// Parallel coordinates: an axis a parameter, a line a record. A brush on an axis lets through what it covers.
import {html, svg, section, replace, select, tableAlternative} from "./dom.js";
import {bytes, figure, percent} from "./format.js";
import {state, watch, setFilter} from "./state.js";
import {scale, extent, costAxis} from "./scale.js";
import {frame, label, fit, textWidth, legend} from "./chart.js";

const HEIGHT = 340;
const SHADES = 6;         // of lines, by the rank of their cost
const LINES_A_PATH = 150; // a path of thousands of crossing lines takes a browser long
const STEPS = 40;         // of a handle on an axis without values of its own
const NARROWEST = 44;     // pixels from axis to axis; what has no room for that is scrolled

const brushes = new Map(); // name of the axis -> [low, high] in the axis' own steps
let extra = "cost";

/** An axis of a parameter: its values lie at the whole numbers. Better is up on that of the cost. */
function parameterAxis(tuning, p) {
  const {name, values} = tuning.parameters[p];
  return {name, count: values.length, text: step => values[step] ?? "", ticks: values.map((text, step) => ({text, step})),
          at: i => tuning.points[p][i]};
}

/** An axis of figures, cut into steps for brushing. */
function figureAxis(name, figures, format, kind, upward, divide = 1) {
  const domain = extent(figures, kind, 0);
  if (!(domain[1] > domain[0])) return null;
  const toStep = scale(kind, domain, upward ? [0, STEPS] : [STEPS, 0], {divide});
  return {name, count: STEPS + 1, continuous: true, text: step => format(toStep.invert(step)),
          ticks: toStep.ticks.map(tick => ({step: toStep(tick.value), text: format(tick.value)})),
          at: i => (figures[i] === null ? null : toStep(figures[i]))};
}

function axesOf(tuning) {
  const list = tuning.varying.map(p => parameterAxis(tuning, p));
  const resources = [["registers", x => figure(Math.round(x))], ["shared", bytes], ["occupancy", x => percent(x)]];
  if (extra === "all") {
    for (const [name, format] of resources) list.push(figureAxis(name, tuning.column(name), format, "linear", true));
  }
  const costs = tuning.cost.map((cost, i) => (tuning.isValid(i) || tuning.isCensored(i) ? cost : null));
  const {divide, unit, name} = costAxis(tuning, extent(costs, "log"));
  list.push(figureAxis(unit ? `${name}, ${unit}` : name, costs, cost => figure(cost / divide, 3), "log", !tuning.lowerIsBetter, divide));
  return list.filter(axis => axis !== null);
}

/** Where on an axis a record is, in pixels. Records of one value are spread by their rank, so that lines fan out. */
function position(axis, i, tuning, toY) {
  const step = axis.at(i);
  if (step === null) return null;
  if (axis.continuous) return toY(axis, step);
  const share = (tuning.rank[i] ?? tuning.ranked.length) / (tuning.ranked.length + 1);
  return toY(axis, step + (0.5 - share) * 0.5);
}

function linePath(axes, xs, i, tuning, toY) {
  let path = "";
  for (const [k, axis] of axes.entries()) {
    const y = position(axis, i, tuning, toY);
    if (y === null) return "";
    path += `${k === 0 ? "M" : "L"}${xs[k].toFixed(1)} ${y.toFixed(1)}`;
  }
  return path;
}

function drawLines(group, records, name, context) {
  for (let start = 0; start < records.length; start += LINES_A_PATH) {
    const d = records.slice(start, start + LINES_A_PATH).map(i => linePath(context.axes, context.xs, i, context.tuning, context.toY)).join("");
    if (d !== "") group.append(svg("path", {d, class: name}));
  }
}

function redrawLines(context) {
  const {tuning, lines} = context;
  replace(lines);
  const drawn = tuning.records(i => tuning.isValid(i) || tuning.isCensored(i));
  const selected = drawn.filter(i => state.selected[i]).sort((a, b) => tuning.compare(b, a));
  drawLines(lines, drawn.filter(i => !state.selected[i]), "line out", context);
  const shade = i => Math.min(SHADES - 1, Math.floor(SHADES * ((tuning.rank[i] ?? tuning.ranked.length) - 1) / Math.max(1, tuning.ranked.length)));
  for (let k = SHADES - 1; k >= 0; k--) drawLines(lines, selected.filter(i => shade(i) === k), `line shade${k}`, context);
  if (tuning.best !== null && state.selected[tuning.best]) drawLines(lines, [tuning.best], "line winner", context);
}

function applyBrush(axis, range, context) {
  const full = range === null || (range[0] <= 0 && range[1] >= axis.count - 1);
  if (full) brushes.delete(axis.name);
  else brushes.set(axis.name, range);
  const [low, high] = full ? [] : range;
  setFilter(`axis ${axis.name}`, full ? null : {
    label: low === high ? `${axis.name}=${axis.text(low)}` : `${axis.name} from ${axis.text(low)} to ${axis.text(high)}`,
    test: i => axis.at(i) !== null && axis.at(i) >= low - 0.01 && axis.at(i) <= high + 0.01,
    clear: () => {
      brushes.delete(axis.name);
      context.updates.get(axis.name)();
    },
  });
  context.updates.get(axis.name)();
}

/** One end of a brush, moved with the arrow keys. end: 0 the lower, 1 the upper. */
function handle(axis, end, context) {
  const element = svg("path", {class: "handle", role: "slider", tabindex: 0, "aria-orientation": "vertical",
    "aria-label": `${axis.name}, ${end === 0 ? "lowest" : "highest"} shown`, "aria-valuemin": 0, "aria-valuemax": axis.count - 1});
  element.addEventListener("keydown", event => {
    const moves = {ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5, Home: -Infinity, End: Infinity};
    if (event.key === "Escape") applyBrush(axis, null, context);
    if (!(event.key in moves)) return;
    event.preventDefault();
    const range = [...(brushes.get(axis.name) ?? [0, axis.count - 1])];
    const [least, most] = end === 0 ? [0, range[1]] : [range[0], axis.count - 1];
    range[end] = Math.max(least, Math.min(most, range[end] + moves[event.key]));
    applyBrush(axis, range, context);
  });
  return element;
}

/** On an axis a drag covers what lies between its ends, and a click takes one value, or lets it go; on a handle a drag
 * moves that end of the brush. */
function dragging(axis, target, context, end = null) {
  let from = null;
  let moved = false;
  const step = event => {
    const box = context.plot.root.getBoundingClientRect();
    const y = (event.clientY - box.top) * context.plot.height / box.height;
    return Math.max(0, Math.min(axis.count - 1, context.toStep(axis, y)));
  };
  const range = event => [Math.round(Math.min(from, step(event))), Math.round(Math.max(from, step(event)))];
  target.addEventListener("pointerdown", event => {
    const covered = brushes.get(axis.name) ?? [0, axis.count - 1];
    from = end === null ? step(event) : covered[1 - end];
    moved = false;
    target.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  target.addEventListener("pointermove", event => {
    if (from === null) return;
    moved ||= end !== null || Math.abs(step(event) - from) > 0.3;
    if (moved) applyBrush(axis, range(event), context);
  });
  target.addEventListener("pointerup", event => {
    if (from !== null && !moved && end === null) {
      const [value] = range(event);
      const [low, high] = brushes.get(axis.name) ?? [];
      applyBrush(axis, axis.continuous || (low === value && high === value) ? null : [value, value], context);
    }
    from = null;
  });
}

function drawAxis(axis, x, context) {
  const {plot, toY} = context;
  const {top, bottom} = plot.area;
  const group = svg("g", {class: "parallel-axis"}, svg("line", {x1: x, x2: x, y1: top, y2: bottom, class: "frame"}));
  label(plot, group, axis.name, [context.slanted ? {x: x + 3, y: top - 12, anchor: "start", angle: -40} : {x, y: top - 12}], {name: "label"});
  const brush = svg("rect", {x: x - 8, width: 16, class: "brush", rx: 2});
  const area = svg("rect", {x: x - 16, y: top - 8, width: 32, height: bottom - top + 16, class: "grab"});
  const handles = [handle(axis, 0, context), handle(axis, 1, context)];
  group.append(brush, area);
  for (const tick of axis.ticks) {
    const text = fit(tick.text, context.room);
    const element = label(plot, group, text, [{x: x + 6, y: toY(axis, tick.step) + 3.5, anchor: "start"}], {name: "tick halo"});
    if (text !== tick.text) element?.append(svg("title", {}, tick.text));
  }
  group.append(...handles);
  context.updates.set(axis.name, () => {
    const range = brushes.get(axis.name) ?? [0, axis.count - 1];
    const room = axis.continuous ? 0 : 0.45;
    const [low, high] = [toY(axis, range[0] - room), toY(axis, range[1] + room)];
    brush.setAttribute("y", Math.min(low, high));
    brush.setAttribute("height", Math.abs(low - high));
    brush.setAttribute("visibility", brushes.has(axis.name) ? "visible" : "hidden");
    handles.forEach((element, end) => {
      const y = end === 0 ? low : high;
      const towards = end === 0 ? 6 : -6;
      element.setAttribute("d", `M${x - 6} ${y}h12l-6 ${towards}z`);
      element.setAttribute("aria-valuenow", range[end]);
      element.setAttribute("aria-valuetext", axis.text(range[end]));
    });
  });
  dragging(axis, area, context);
  handles.forEach((element, end) => dragging(axis, element, context, end));
  plot.root.append(group);
  context.updates.get(axis.name)();
}

function build(body, tuning) {
  replace(body);
  const axes = axesOf(tuning);
  const margin = {left: 40, right: 60, top: 34, bottom: 18};
  const between = Math.max(NARROWEST, (body.clientWidth - margin.left - margin.right) / Math.max(1, axes.length - 1));
  const names = axes.map(axis => textWidth(axis.name));
  const slanted = axes.some((_, k) => k > 0 && (names[k - 1] + names[k]) / 2 + 6 > between);
  const beyond = names.map((name, k) => name * 0.77 + 8 - NARROWEST * (axes.length - 1 - k)); // the last axis
  if (slanted) Object.assign(margin, {top: 30 + Math.max(...names) * 0.65, right: Math.max(60, ...beyond)});
  const host = html("div", {class: "scroll wide", tabindex: 0, role: "group", "aria-label": "Axes"});
  body.append(host);
  const plot = frame(host, {height: HEIGHT - 34 + margin.top, margin, least: margin.left + margin.right + NARROWEST * (axes.length - 1),
    title: `Parallel coordinates of ${tuning.count} points over ${axes.map(axis => axis.name).join(", ")}.`});
  plot.root.setAttribute("role", "group");
  const {left, right, top, bottom} = plot.area;
  const xs = axes.map((_, k) => (axes.length === 1 ? left : left + (right - left) * k / (axes.length - 1)));
  const steps = axis => (axis.continuous ? [0, axis.count - 1] : [-0.5, axis.count - 0.5]);
  const toY = (axis, step) => bottom + (top - bottom) * (step - steps(axis)[0]) / (steps(axis)[1] - steps(axis)[0]);
  const toStep = (axis, y) => steps(axis)[0] + (steps(axis)[1] - steps(axis)[0]) * (bottom - y) / (bottom - top);
  const context = {tuning, axes, xs, plot, toY, toStep, slanted, room: (axes.length > 1 ? xs[1] - xs[0] : right) - 12, width: body.clientWidth, updates: new Map(), lines: svg("g", {"aria-hidden": "true"})};
  plot.root.append(context.lines);
  axes.forEach((axis, k) => drawAxis(axis, xs[k], context));
  legend(body, [["winner", "the best"], ["shade0", "fastest sixth"], ["shade3", "in between"], ["shade5", "slowest sixth"]]);
  body.append(tableAlternative(() => ["The best points", [">#", ...axes.map(axis => axis.name)],
    tuning.ranked.slice(0, 50).map(i => [String(tuning.rank[i]), ...axes.map(axis => (axis.at(i) === null ? "–" : axis.text(axis.at(i))))])]));
  return context;
}

export function parallelView() {
  const body = section("parallel", "Parallel coordinates",
    "Drag along an axis to let through only what the brush covers, or click a value; the triangles are moved with the arrow keys. " +
    "Filters of several axes add up and hold for the whole page.");
  let context = null;
  const host = html("div");
  const rebuild = () => {
    context = build(host, state.tuning);
    redrawLines(context);
  };
  const choices = [["cost", "parameters and cost"], ["all", "with registers, shared memory, occupancy"]];
  body.append(html("div", {class: "controls"}, select("axes", choices, extra, chosen => {
    extra = chosen;
    rebuild();
  })), host);
  watch("tuning", () => {
    brushes.clear();
    context = null;
  });
  watch("selection", () => (context === null || context.width !== host.clientWidth ? rebuild() : redrawLines(context)));
}
