// SPDX-License-Identifier: MIT
// What each parameter does by itself: a box for each of its values.
import {html, svg, section, replace, tableAlternative} from "./dom.js";
import {quantile} from "./data.js";
import {figure, percent, plural} from "./format.js";
import {state, watch} from "./state.js";
import {scale, extent, costAxis} from "./scale.js";
import {frame, axes, label, fit, textWidth, legend} from "./chart.js";

/** Fewer measured points for each parameter than this say little of any. */
const POINTS_A_PARAMETER = 10;

/** Lower bounds count as they are, but for the best: what was stopped early is not known to have reached anything. */
function summarise(tuning, records) {
  const sorted = records.map(i => tuning.cost[i]).sort((a, b) => a - b);
  const best = tuning.bestCost(records);
  return {n: sorted.length, low: sorted[0], q1: quantile(sorted, 0.25), median: quantile(sorted, 0.5), q3: quantile(sorted, 0.75),
          high: sorted.at(-1), best, censored: records.filter(i => tuning.isCensored(i)).length};
}

/** For a parameter, what its values reach: [{text, records, ...summary, failed}], of selected records. */
function effectOf(tuning, p) {
  const groups = tuning.parameters[p].values.map(text => ({text, records: [], failed: 0}));
  for (let i = 0; i < tuning.count; i++) {
    const group = groups[tuning.points[p][i]];
    if (!group || !state.selected[i]) continue;
    if (tuning.cost[i] > 0 && (tuning.isValid(i) || tuning.isCensored(i))) group.records.push(i);
    else if (tuning.isFailure(i)) group.failed++;
  }
  return groups.map(group => ({...group, ...summarise(tuning, group.records)}));
}

/** The part of the variance of the logarithm of the cost that the parameter explains by itself: eta squared of a
 * one-way analysis of variance. */
function explained(tuning, groups) {
  const logs = groups.map(group => group.records.map(i => Math.log(tuning.cost[i])));
  const all = logs.flat();
  const mean = list => list.reduce((sum, x) => sum + x, 0) / list.length;
  if (all.length < 2) return 0;
  const centre = mean(all);
  const total = all.reduce((sum, x) => sum + (x - centre) ** 2, 0);
  const between = logs.filter(list => list.length > 0).reduce((sum, list) => sum + list.length * (mean(list) - centre) ** 2, 0);
  return total > 0 ? between / total : 0;
}

/** Varying parameters, those that explain most first. */
export function byEffect(tuning) {
  return tuning.varying.map(p => {
    const groups = effectOf(tuning, p);
    return {p, groups, share: explained(tuning, groups)};
  }).sort((a, b) => b.share - a.share);
}

function describe(tuning, group) {
  const least = group.censored > 0 ? "at least " : "";
  const best = group.best === null ? "none measured in full" : `best ${tuning.costFigure(group.best)}`;
  return `${group.text}: ${plural(group.n, "point")}, median ${least}${tuning.costFigure(group.median)}, ${best}`;
}

function drawBox(root, x, y, width, group, tuning) {
  const half = Math.min(16, width * 0.3);
  const whiskers = `M${x} ${y(group.high)}V${y(group.q3)}M${x} ${y(group.q1)}V${y(group.low)}`;
  const quartiles = `M${x - half} ${y(group.q3)}H${x + half}V${y(group.q1)}H${x - half}z`;
  root.append(svg("path", {class: `box${group.censored > 0 ? " censored" : ""}`, d: whiskers + quartiles}),
    svg("path", {class: "middle", d: `M${x - half} ${y(group.median)}H${x + half}`}),
    group.best === null ? "" : svg("circle", {class: "reached", cx: x, cy: y(group.best), r: 2.6}));
  root.append(svg("title", {}, describe(tuning, group)));
}

function drawPanel(host, tuning, {p, groups, share}, domain) {
  const panel = html("div", {class: "panel"});
  const {name} = tuning.parameters[p];
  const cost = costAxis(tuning, domain);
  host.append(panel);
  panel.append(html("h3", {}, name, html("span", {class: "quiet"}, ` explains ${percent(share)}`)));
  const plot = frame(panel, {height: 200, margin: {left: 60, bottom: 44, top: 8, right: 6},
    title: `${name}: ${groups.filter(group => group.n > 0).map(group => describe(tuning, group)).join("; ")}.`});
  const y = scale("log", domain, [plot.area.bottom, plot.area.top], {divide: cost.divide, count: 5});
  axes(plot, null, y, "", `${cost.name}${cost.unit ? `, ${cost.unit}` : ""}`);
  const width = (plot.area.right - plot.area.left) / groups.length;
  const room = Math.max(34, width - 4);
  const counted = Math.max(...groups.map(group => textWidth(String(group.n)))) + 4 < width;
  groups.forEach((group, k) => {
    const x = plot.area.left + width * (k + 0.5);
    const item = svg("g", {});
    if (group.n > 0) drawBox(item, x, y, width, group, tuning);
    label(plot, item, fit(group.text, room), [{x, y: plot.area.bottom + 14}], {name: "tick"});
    if (counted) label(plot, item, String(group.n), [{x, y: plot.area.bottom + 27}], {name: "quiet"});
    plot.root.append(item);
  });
  if (counted) label(plot, plot.root, "points", [{x: plot.area.left - 8, y: plot.area.bottom + 27, anchor: "end"}], {name: "quiet"});
}

function rowsOf(tuning, effects) {
  return effects.flatMap(({p, groups, share}) => groups.map(group => [tuning.parameters[p].name, group.text, percent(share), String(group.n),
    String(group.censored), String(group.failed), ...[group.best ?? NaN, group.q1, group.median, group.q3].map(cost => tuning.costFigure(cost)),
    group.best !== null ? `${figure(tuning.ratio(group.best), 3)}×` : "–"]));
}

/** Why shares may not be those of the whole space: a search draws near the best more often than elsewhere, or there is little to go by. */
function caveat(tuning, shown) {
  const full = [...shown].filter(i => tuning.isValid(i)).length;
  const all = tuning.varying.reduce((product, p) => product * tuning.parameters[p].values.length, 1);
  if (full < shown.size) {
    return `Hints only: a search chose these ${plural(shown.size, "point")}, more of them near the best than elsewhere, and ` +
      `measured ${full} of them in full; the others count as the lower bounds at which they were stopped.`;
  }
  return full < POINTS_A_PARAMETER * tuning.varying.length && full < all / 2
    ? `Hints only: ${plural(full, "point")} of ${plural(tuning.varying.length, "parameter")} tell little.` : null;
}

function draw(body, tuning) {
  const effects = byEffect(tuning);
  replace(body);
  if (effects.length === 0) {
    body.append(html("p", {class: "empty"}, "No parameter has more than one value."));
    return;
  }
  const shown = effects.flatMap(({groups}) => groups.flatMap(group => group.records));
  const domain = extent(shown.map(i => tuning.cost[i]), "log");
  const doubt = caveat(tuning, new Set(shown));
  if (doubt !== null) body.append(html("p", {class: "banner", role: "note"}, doubt));
  const grid = html("div", {class: "panels"});
  body.append(grid);
  for (const effect of effects) drawPanel(grid, tuning, effect, domain);
  const censored = shown.some(i => tuning.isCensored(i));
  legend(body, [["box", "quartiles and median; whiskers to the ends"], ["reached", "best with this value"],
    ...(censored ? [["box censored", "some were stopped early: the box lies at least so high"]] : [])]);
  body.append(tableAlternative(() => ["What each value reaches", ["parameter", "value", ">explains", ">points", ">lower bounds", ">failed",
    ">best", ">first quartile", ">median", ">third quartile", ">best, of the best of all"], rowsOf(tuning, effects)]));
}

export function effectsView() {
  const body = section("effects", "Parameter effects",
    "“Explains” is the share of the variance of the logarithm that a parameter explains by itself (η²), without what it does " +
    "together with others.");
  watch("selection", tuning => draw(body, tuning));
}
