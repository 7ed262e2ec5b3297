// SPDX-License-Identifier: MIT
// Two parameters against each other, as a table whose cells are coloured.
import {html, section, replace, select} from "./dom.js";
import {quantile} from "./data.js";
import {figure, plural} from "./format.js";
import {state, watch, setFilter} from "./state.js";
import {byEffect} from "./view_effects.js";

const chosen = {x: null, y: null, statistic: "best"};

/** What a cell shows: {cost, bound}; bound: it is at least so much, since some or all were stopped early. null where no
 * record of it has a time. */
function statisticOf(tuning, cell) {
  if (cell.records.length === 0) return null;
  const sorted = cell.records.map(i => tuning.cost[i]).sort((a, b) => a - b);
  if (chosen.statistic === "median") return {cost: quantile(sorted, 0.5), bound: cell.censored > 0};
  const best = tuning.bestCost(cell.records);
  return best === null ? {cost: sorted[0], bound: true} : {cost: best, bound: false};
}

/** cells[y][x]: the records of that pair of values. */
function gather(tuning) {
  const {x, y} = chosen;
  const cells = tuning.parameters[y].values.map(() => tuning.parameters[x].values.map(() => ({records: [], failed: 0, censored: 0, all: 0})));
  for (let i = 0; i < tuning.count; i++) {
    const cell = cells[tuning.points[y][i]]?.[tuning.points[x][i]];
    if (!cell || !state.selected[i]) continue;
    cell.all++;
    if (tuning.isValid(i) || tuning.isCensored(i)) cell.records.push(i);
    if (tuning.isCensored(i)) cell.censored++;
    if (tuning.isFailure(i)) cell.failed++;
  }
  return cells;
}

function restrict(tuning, xIndex, yIndex) {
  const {x, y} = chosen;
  const pair = [[x, xIndex], [y, yIndex]].map(([p, index]) => `${tuning.parameters[p].name}=${tuning.parameters[p].values[index]}`);
  setFilter("cell", {label: pair.join(", "), test: i => tuning.points[x][i] === xIndex && tuning.points[y][i] === yIndex});
}

function drawCell(tuning, cell, shown, worst, xIndex, yIndex) {
  if (shown === null) {
    const why = cell.failed > 0 ? `${cell.failed} failed` : cell.all > 0 ? "no time" : "";
    return html("td", {class: "nothing"}, why);
  }
  const ratio = tuning.ratio(shown.cost);
  const heat = worst > 1 ? 1 - Math.log(ratio) / Math.log(worst) : 1;
  const bounded = shown.bound ? "≥ " : "";
  const points = `${plural(cell.records.length, "point")}${cell.censored > 0 ? `, ${cell.censored} of them stopped early` : ""}`;
  const button = html("button", {type: "button", title: `${points}: ${bounded}${figure(ratio, 3)} times the best; show only these`,
    onclick: () => restrict(tuning, xIndex, yIndex)}, bounded + tuning.costFigure(shown.cost));
  const td = html("td", {class: `heat${heat > 0.68 ? " hot" : ""}`}, button);
  td.style.setProperty("--heat", `${(heat * 100).toFixed(0)}%`);
  return td;
}

function draw(host, tuning) {
  replace(host);
  if (chosen.x === null || chosen.x === chosen.y) {
    host.append(html("p", {class: "empty"}, "Two different parameters with more than one value are needed."));
    return;
  }
  const cells = gather(tuning);
  const values = cells.map(row => row.map(cell => statisticOf(tuning, cell)));
  const worst = Math.max(1, ...values.flat().filter(shown => shown !== null).map(shown => tuning.ratio(shown.cost)));
  const [x, y] = [tuning.parameters[chosen.x], tuning.parameters[chosen.y]];
  const what = `${chosen.statistic === "best" ? "Best" : "Median"} ${tuning.timed ? "time" : tuning.objectiveName}`;
  host.append(html("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": "Heat map"}, html("table", {class: "heatmap"},
    html("caption", {}, `${what}; the stronger the colour, the better`),
    html("thead", {}, html("tr", {}, [`${y.name} \\ ${x.name}`, ...x.values].map(text => html("th", {scope: "col"}, text)))),
    html("tbody", {}, y.values.map((value, row) => html("tr", {}, html("th", {scope: "row"}, value),
      cells[row].map((cell, column) => drawCell(tuning, cell, values[row][column], worst, column, row))))))));
}

export function heatmapView() {
  const body = section("heatmap", "Heat map", "Two parameters against each other, all others left free. A cell shows only its records.",
    state.report.tunings.some(tuning => tuning.ladder.length > 0));
  const controls = html("div", {class: "controls"});
  const host = html("div");
  body.append(controls, host);
  const choose = name => value => {
    chosen[name] = name === "statistic" ? value : Number(value);
    draw(host, state.tuning);
  };
  watch("tuning", tuning => {
    const [first, second] = byEffect(tuning);
    chosen.x = second ? first.p : null;
    chosen.y = second ? second.p : null;
    const options = tuning.varying.map(p => [p, tuning.parameters[p].name]);
    replace(controls, select("across", options, chosen.x, choose("x")), select("down", options, chosen.y, choose("y")),
      select("cells show", [["best", "the best"], ["median", "the median"]], chosen.statistic, choose("statistic")));
  });
  watch("selection", tuning => draw(host, tuning));
}
