// SPDX-License-Identifier: MIT
// How the times of all points are distributed, and how far those of the best can be told apart.
import {html, svg, section, replace, tableAlternative} from "./dom.js";
import {quantile} from "./data.js";
import {figure, percent, plural} from "./format.js";
import {state, watch} from "./state.js";
import {scale, extent, costAxis} from "./scale.js";
import {frame, axes, label, marks, inspect, describeRecord, legend} from "./chart.js";

const BINS = 40;

function count(records, tuning, edges) {
  const bins = new Array(edges.length - 1).fill(0);
  const [low, high] = [Math.log(edges[0]), Math.log(edges.at(-1))];
  for (const i of records) {
    const bin = Math.floor((Math.log(tuning.cost[i]) - low) / (high - low) * bins.length);
    bins[Math.max(0, Math.min(bins.length - 1, bin))]++;
  }
  return bins;
}

function drawHistogram(body, tuning) {
  const all = tuning.records(i => (tuning.isValid(i) || tuning.isCensored(i)) && tuning.cost[i] > 0);
  const selected = all.filter(i => state.selected[i]);
  const domain = extent(all.map(i => tuning.cost[i]), "log", 0.02);
  const cost = costAxis(tuning, domain);
  const edges = Array.from({length: BINS + 1}, (_, k) => domain[0] * (domain[1] / domain[0]) ** (k / BINS));
  const groups = [["out", count(all, tuning, edges)], ["censored", count(selected, tuning, edges)],
    ["ok", count(selected.filter(i => !tuning.isCensored(i)), tuning, edges)]];
  const title = `Distribution of ${cost.name} over ${all.length} points.`;
  const plot = frame(body, {height: 250, title});
  const x = scale("log", domain, [plot.area.left, plot.area.right], {divide: cost.divide});
  const y = scale("linear", [0, Math.max(...groups[0][1], 1) * 1.06], [plot.area.bottom, plot.area.top], {count: 5});
  y.ticks = y.ticks.filter(tick => Number.isInteger(tick.value));
  axes(plot, x, y, cost.label, "points");
  for (const [name, bins] of groups) {
    const bar = (n, k) => {
      const [left, right] = [x(edges[k]) + 0.5, x(edges[k + 1]) - 0.5].map(at => at.toFixed(1));
      return `M${left} ${plot.area.bottom}V${y(n).toFixed(1)}H${right}V${plot.area.bottom}z`;
    };
    plot.root.append(svg("path", {d: bins.map((n, k) => (n === 0 ? "" : bar(n, k))).join(""), class: `bars ${name}`}));
  }
  const sorted = selected.map(i => tuning.cost[i]).sort((a, b) => a - b);
  for (const [part, name] of [[0.25, "quarter"], [0.5, "half"], [0.75, "three quarters"]]) {
    const at = x(quantile(sorted, part));
    if (!Number.isFinite(at)) continue;
    plot.root.append(svg("line", {x1: at, x2: at, y1: plot.area.top, y2: plot.area.bottom, class: "quartile"}, svg("title", {}, name)));
  }
  const parts = [0, 0.25, 0.5, 0.75, 1].map(part => quantile(sorted, part));
  const near = factor => selected.filter(i => tuning.isValid(i) && tuning.ratio(tuning.cost[i]) <= factor).length;
  if (tuning.best !== null) {
    body.append(html("p", {class: "finding"}, `${plural(near(1.05), "point")} within 5% of the best (${percent(near(1.05) / all.length, 1)}), `,
      `${near(1.2)} within 20%. Quartiles (dashed): ${parts.slice(1, 4).map(part => tuning.costFigure(part)).join(", ")}`,
      selected.some(i => tuning.isCensored(i)) ? ", at least: lower bounds count as they are." : "."));
  }
  const kinds = [["ok", "points"]];
  if (all.some(i => tuning.isCensored(i))) kinds.push(["censored", "stopped early: at least so much"]);
  if (selected.length < all.length) kinds.push(["out", "left out by filters"]);
  legend(body, kinds);
  const [, [, points], [, full]] = groups;
  body.append(tableAlternative(() => ["Points by their cost", [`>from, ${cost.unit || cost.name}`, ">to", ">points", ">lower bounds"],
    full.map((n, k) => [figure(edges[k] / cost.divide), figure(edges[k + 1] / cost.divide), String(points[k]), String(points[k] - n)])
      .filter(row => row[2] !== "0")]));
}

/** Median, interval and samples of the best, a line each. */
function drawIntervals(body, tuning) {
  if (!tuning.timed || tuning.samples.length === 0) {
    const why = tuning.timed ? "No samples were kept." : `Intervals are those of times; the objective is ${tuning.objectiveName}.`;
    body.append(html("p", {class: "empty"}, why));
    return;
  }
  const values = tuning.samples.flatMap(({record, us}) => [...us, tuning.low[record], tuning.high[record]]);
  const domain = extent(values, "linear");
  const cost = costAxis(tuning, domain);
  const step = 18;
  const plot = frame(body, {height: 54 + step * tuning.samples.length, margin: {left: 34},
    title: `The best ${tuning.samples.length}: median, 95% interval and samples.`});
  const x = scale("linear", domain, [plot.area.left, plot.area.right], {divide: cost.divide});
  axes(plot, x, null, `${cost.label}: median, 95% interval, samples`, "");
  const best = tuning.best;
  if (best !== null) {
    plot.root.append(svg("rect", {x: x(tuning.low[best]), width: Math.max(1, x(tuning.high[best]) - x(tuning.low[best])), y: plot.area.top,
      height: plot.area.bottom - plot.area.top, class: "best-band"}));
  }
  const points = [];
  tuning.samples.forEach(({record, us}, k) => {
    const y = plot.area.top + step * (k + 0.5);
    const [low, high] = [x(tuning.low[record]), x(tuning.high[record])];
    const kind = record === best ? "winner" : tuning.isTied(record) ? "tied" : "";
    marks(plot.root, us.map(sample => ({x: x(sample), y})), "dot", "sample");
    label(plot, plot.root, String(tuning.rank[record] ?? ""), [{x: plot.area.left - 7, y: y + 3.5, anchor: "end"}], {name: "tick"});
    plot.root.append(svg("path", {d: `M${low} ${y}H${high}m0 -4v8M${low} ${y - 4}v8`, class: `interval ${kind}`}),
      svg("circle", {cx: x(tuning.time[record]), cy: y, r: 3, class: `median ${record === best ? "winner" : ""}`}));
    points.push({i: record, x: x(tuning.time[record]), y});
  });
  inspect(plot, points, i => describeRecord(tuning, i));
  legend(body, [["interval", "95% interval of the median"], ["sample", "sample"], ["band", "interval of the best: what overlaps it is tied"]]);
}

export function distributionView() {
  const body = section("distribution", "Distribution", null);
  const left = html("div");
  const right = html("div");
  body.append(html("div", {class: "columns"}, html("div", {}, html("h3", {}, "All points"), left),
    html("div", {}, html("h3", {}, "The best, by rank"), right)));
  watch("selection", tuning => {
    replace(left);
    drawHistogram(left, tuning);
  });
  watch("tuning", tuning => {
    replace(right);
    drawIntervals(right, tuning);
  });
}
