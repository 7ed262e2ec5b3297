// SPDX-License-Identifier: MIT
// Any column against any other, coloured by a third.
import {html, svg, section, replace, select, tableAlternative} from "./dom.js";
import {bytes, figure, percent} from "./format.js";
import {state, watch} from "./state.js";
import {scale, extent, costAxis} from "./scale.js";
import {frame, axes, label, fit, marks, inspect, describeRecord, legend} from "./chart.js";

const SHADES = 6; // of a colour that goes by figures
const HUES = 8;   // of a colour that goes by values

const chosen = {x: null, y: null, colour: null};

/** What can be an axis or a colour: {key, name, at(i), text(value), values}; values: those of a parameter, whose at() is an
 * index into them. */
function columnsOf(tuning) {
  const known = i => tuning.isValid(i) || tuning.isCensored(i);
  const cost = costAxis(tuning, extent(tuning.cost.filter((_, i) => known(i)), "log"));
  const get = name => i => tuning.column(name)[i];
  const share = i => (tuning.time[i] === null || !tuning.bound(i) ? null : tuning.bound(i).us / tuning.time[i]);
  const columns = [
    {key: "cost", name: cost.unit ? `${cost.name}, ${cost.unit}` : cost.name, at: i => (known(i) ? tuning.cost[i] : null), log: true,
     divide: cost.divide, text: value => tuning.costFigure(value)},
    ...tuning.varying.map(p => ({key: `parameter ${p}`, name: tuning.parameters[p].name, at: i => tuning.points[p][i],
      values: tuning.parameters[p].values, text: index => tuning.parameters[p].values[index]})),
    ...tuning.rates.map(name => ({key: `rate ${name}`, name, at: i => (tuning.isCensored(i) ? null : tuning.metric(name)[i]), text: figure})),
    {key: "roof", name: "share of the roof", at: share, text: value => percent(value, 1)},
    {key: "registers", name: "registers", at: get("registers"), text: figure},
    {key: "shared", name: "shared memory, bytes", at: get("shared"), text: bytes},
    {key: "spills", name: "spills, bytes", at: get("spills"), text: bytes},
    {key: "occupancy", name: "occupancy", at: get("occupancy"), text: value => percent(value)},
    {key: "compile", name: "compile time, ms", at: get("compile_ms"), text: figure},
    {key: "order", name: "evaluation", at: i => i + 1, text: String},
  ];
  return columns.filter(column => column.values || differs(tuning, column));
}

function differs(tuning, column) {
  let first = null;
  for (let i = 0; i < tuning.count; i++) {
    const value = column.at(i);
    if (value === null || !Number.isFinite(value)) continue;
    if (first !== null && value !== first) return true;
    first = value;
  }
  return false;
}

/** The scale of a column: values of a parameter lie at whole numbers, with a label each. */
function scaleOf(column, figures, range) {
  if (!column.values) {
    const kind = column.log ? "log" : "linear";
    return scale(kind, extent(figures, kind), range, {divide: column.divide ?? 1});
  }
  const at = scale("linear", [-0.5, column.values.length - 0.5], range);
  const room = Math.abs(range[1] - range[0]) / column.values.length - 6;
  at.ticks = column.values.map((text, value) => ({value, text: fit(text, Math.max(room, 46))}));
  return at;
}

/** Points of one value would cover each other: they are spread by their number, the same each time. */
function spread(column, i) {
  return column.values ? ((i * 0.6180339887 + (column.key.length * 0.37)) % 1 - 0.5) * 0.5 : 0;
}

/** The class of a record's mark, and the classes with what they stand for. */
function colouring(column, points) {
  if (column === null) return {of: () => "ok", entries: [["ok", "measured, or stopped early at so much"]]};
  if (column.values) {
    const name = index => `hue${Math.min(index, HUES - 1)}`;
    const texts = column.values.slice(0, HUES - 1).map((text, index) => [name(index), `${column.name}=${text}`]);
    if (column.values.length === HUES) texts.push([name(HUES - 1), `${column.name}=${column.values[HUES - 1]}`]);
    if (column.values.length > HUES) texts.push([name(HUES - 1), `${column.name}: ${column.values.length - HUES + 1} more`]);
    return {of: i => name(column.at(i)), entries: texts};
  }
  const sorted = points.map(({i}) => column.at(i)).filter(value => value !== null).sort((a, b) => a - b);
  const edges = Array.from({length: SHADES - 1}, (_, k) => sorted[Math.floor((k + 1) * sorted.length / SHADES)]);
  const shade = value => (value === null ? "out" : `ramp${edges.filter(edge => value >= edge).length}`);
  const used = [...new Set(sorted.map(shade))];
  return {of: i => shade(column.at(i)),
          entries: used.map(name => {
            const own = sorted.filter(value => shade(value) === name);
            return [name, `${column.name} ${column.text(own[0])}${own[0] === own.at(-1) ? "" : ` to ${column.text(own.at(-1))}`}`];
          })};
}

function draw(host, tuning) {
  replace(host);
  const columns = columnsOf(tuning);
  const find = key => columns.find(column => column.key === key) ?? null;
  const [x, y, colour] = [find(chosen.x), find(chosen.y), find(chosen.colour)];
  const usable = i => x && y && [x, y].every(column => Number.isFinite(column.at(i) ?? NaN));
  const shown = tuning.records(i => usable(i) && (tuning.isValid(i) || tuning.isCensored(i)));
  if (shown.length === 0) {
    host.append(html("p", {class: "empty"}, "No record has both."));
    return;
  }
  const plot = frame(host, {height: 400, margin: {left: 92}, title: `${y.name} against ${x.name} of ${shown.length} points.`});
  const xs = scaleOf(x, shown.map(x.at), [plot.area.left, plot.area.right]);
  const ys = scaleOf(y, shown.map(y.at), [plot.area.bottom, plot.area.top]);
  axes(plot, xs, ys, x.name, y.name);
  const points = shown.map(i => ({i, x: xs(x.at(i) + spread(x, i)), y: ys(y.at(i) + spread(y, i))}));
  const {of, entries} = colouring(colour, points);
  marks(plot.root, points.filter(({i}) => !state.selected[i]), "dot", "out");
  const order = [...entries].reverse();
  for (const [name] of order) marks(plot.root, points.filter(({i}) => state.selected[i] && of(i) === name), "dot", name);
  const best = points.find(({i}) => i === tuning.best);
  if (best) {
    const group = svg("g", {class: "best"}, svg("circle", {cx: best.x, cy: best.y, r: 6}));
    label(plot, group, "best", [[8, -9, "start"], [-8, -9, "end"], [8, 17, "start"], [-8, 17, "end"]].map(([across, down, anchor]) =>
      ({x: best.x + across, y: best.y + down, anchor})), {size: 12, weight: 600});
    plot.root.append(group);
  }
  const said = i => [x, y, colour].filter(column => column).map(column => {
    const value = column.at(i);
    return `${column.name} ${value === null ? "–" : column.text(value)}`;
  });
  inspect(plot, points, i => [said(i).join(", "), ...describeRecord(tuning, i)]);
  legend(host, entries);
  host.append(tableAlternative(() => ["The best points in these columns", [">#", ...[x, y, colour].filter(column => column).map(column => column.name), "~point"],
    tuning.ranked.filter(usable).slice(0, 50).map(i => [String(tuning.rank[i]), ...[x, y, colour].filter(column => column).map(column =>
      (column.at(i) === null ? "–" : column.text(column.at(i)))), tuning.pointText(i)])]));
}

export function scatterView() {
  const body = section("scatter", "Scatter", "Any column against any other, coloured by a third. Points of one value are spread beside it.");
  const controls = html("div", {class: "controls"});
  const host = html("div");
  body.append(controls, host);
  const choose = name => key => {
    chosen[name] = key;
    draw(host, state.tuning);
  };
  watch("tuning", tuning => {
    const options = columnsOf(tuning).map(({key, name}) => [key, name]);
    const has = key => options.some(([own]) => own === key);
    Object.assign(chosen, {x: has("registers") ? "registers" : "order", y: "cost", colour: has("occupancy") ? "occupancy" : ""});
    replace(controls, select("across", options, chosen.x, choose("x")), select("up", options, chosen.y, choose("y")),
      select("colour", [["", "none"], ...options], chosen.colour, choose("colour")));
  });
  watch("selection", tuning => draw(host, tuning));
}
