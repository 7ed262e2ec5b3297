// SPDX-License-Identifier: MIT
// Tunings of one kernel side by side: other devices, dates or problems.
import {html, svg, section, replace, select, table, tableAlternative} from "./dom.js";
import {date, figure, percent, NONE} from "./format.js";
import {state, watch} from "./state.js";
import {scale, extent, costAxis} from "./scale.js";
import {frame, axes, marks, ring, inspect} from "./chart.js";

const COLUMNS = 8;

let other = null; // that the shown tuning is set against

/** Those with the same parameters and objective; the same problem first. */
function comparable(tuning) {
  const names = t => t.parameters.map(({name}) => name).sort().join(" ");
  const fits = t => t.kernel === tuning.kernel && names(t) === names(tuning) && t.objective === tuning.objective;
  return state.report.tunings.filter(t => t !== tuning && fits(t))
    .sort((a, b) => (b.problemText === tuning.problemText) - (a.problemText === tuning.problemText));
}

/** What two tunings differ in, which is how one is told from the other. */
function shortTitle(tuning, among) {
  const differing = parts => parts.filter(text => among.some(t => text(t) !== text(tuning)));
  const telling = differing([t => t.device.name, t => t.problemText, t => t.regimeText, t => `driver ${t.version.driver}`]);
  const rest = differing([t => date(t.started, true), t => t.source]);
  return (telling.length > 0 ? telling : [...rest, t => t.device.name].slice(0, 1)).map(text => text(tuning)).join(", ");
}

function sideBySide(tuning, list) {
  const all = [tuning, ...list].slice(0, COLUMNS);
  const best = t => t.best;
  const facts = [
    ["device", t => t.device.name], ["problem", t => t.problemText], ["regime", t => t.regime],
    ["driver, NVRTC", t => `${t.version.driver || "unknown"}, ${t.version.nvrtc || "unknown"}`], ["measured", t => date(t.started, true)],
    ["template", t => t.version.template_hash.slice(0, 8) || NONE],
    ["best", t => t.costText(best(t))], ["±95%", t => t.spreadText(best(t))],
    [tuning.merit ?? "metric", t => (t.merit ? t.rateText(t.merit, best(t)) : NONE)], ["of the roof", t => t.roofText(best(t))],
    ["points", t => String(t.count)], ["remarks", t => t.remarks(best(t)).filter(text => text !== "best").join(", ") || "verified"],
    ...tuning.parameters.map(({name}) => [name, t => t.value(t.parameters.findIndex(parameter => parameter.name === name), best(t))]),
  ];
  const alike = facts.filter(([name, text]) => tuning.parameters.some(parameter => parameter.name === name) &&
    all.every(t => t.best !== null && text(t) === text(all[0])));
  const headings = all.map((t, k) => `${k === 0 ? "shown: " : ""}${shortTitle(t, all)}`);
  const rows = facts.filter(fact => !alike.includes(fact)).map(([name, text]) => {
    const texts = all.map(t => (t.best === null && !["device", "problem"].includes(name) ? NONE : text(t)));
    const differs = texts.some(value => value !== texts[0]);
    return [html("strong", {}, name), ...texts.map(value => html("span", {class: differs ? "differs" : null}, value))];
  });
  const result = html("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": "Side by side"},
    table("Tunings side by side; what differs is marked", ["", ...headings], rows, {class: "side"}));
  const same = alike.map(([name, text]) => `${name}=${text(all[0])}`).join(", ");
  return [result, same === "" ? null : html("p", {class: "hint"}, `The same in all: ${same}`), list.length + 1 > COLUMNS ? html("p", {class: "hint"}, `${list.length + 1 - COLUMNS} more are left out here.`) : null];
}

/** The records of the other tuning by their point. */
function indexPoints(tuning, names) {
  const places = names.map(name => tuning.parameters.findIndex(parameter => parameter.name === name));
  const key = i => JSON.stringify(places.map(p => tuning.value(p, i)));
  return {key, map: new Map(tuning.records(i => tuning.isValid(i)).map(i => [key(i), i]))};
}

/** The part of pairs of points that both put into the same order: Kendall's tau a, of at most 400 points. */
function agreement(pairs, a, b) {
  const step = Math.max(1, Math.floor(pairs.length / 400));
  const few = pairs.filter((_, k) => k % step === 0);
  let same = 0;
  let all = 0;
  for (let k = 0; k < few.length; k++) {
    for (let m = 0; m < k; m++) {
      all++;
      if (a.compare(few[k].i, few[m].i) * b.compare(few[k].j, few[m].j) > 0) same++;
    }
  }
  return all > 0 ? same / all : NaN;
}

function transfer(from, to, pairs) {
  const pair = pairs.find(({i, j}) => (from === state.tuning ? i : j) === from.best);
  if (!pair || to.best === null) return null;
  const there = from === state.tuning ? pair.j : pair.i;
  return to.ratio(to.cost[there]);
}

function drawScatter(host, tuning, against) {
  const names = tuning.parameters.map(({name}) => name);
  const mine = indexPoints(tuning, names);
  const theirs = indexPoints(against, names);
  const pairs = [...mine.map].filter(([key]) => theirs.map.has(key)).map(([key, i]) => ({i, j: theirs.map.get(key)}));
  replace(host);
  if (pairs.length === 0) {
    host.append(html("p", {class: "empty"}, "They have no measured point in common."));
    return;
  }
  const all = [tuning, against];
  const [xDomain, yDomain] = [extent(pairs.map(({i}) => tuning.cost[i]), "log"), extent(pairs.map(({j}) => against.cost[j]), "log")];
  const [xCost, yCost] = [costAxis(tuning, xDomain), costAxis(against, yDomain)];
  const plot = frame(host, {height: 360, title: `${pairs.length} points that both have.`});
  const x = scale("log", xDomain, [plot.area.left, plot.area.right], {divide: xCost.divide});
  const y = scale("log", yDomain, [plot.area.bottom, plot.area.top], {divide: yCost.divide});
  axes(plot, x, y, `${shortTitle(tuning, all)}: ${xCost.label}`, `${shortTitle(against, all)}: ${yCost.label}`);
  const [low, high] = [Math.max(xDomain[0], yDomain[0]), Math.min(xDomain[1], yDomain[1])];
  if (low < high) plot.root.append(svg("path", {d: `M${x(low)} ${y(low)}L${x(high)} ${y(high)}`, class: "quartile"}));
  const points = pairs.map(({i, j}) => ({i, j, x: x(tuning.cost[i]), y: y(against.cost[j])}));
  marks(plot.root, points.filter(({i}) => !state.selected[i]), "dot", "out");
  marks(plot.root, points.filter(({i}) => state.selected[i]), "dot", "ok");
  for (const point of points) {
    const bests = [point.i === tuning.best && "shown", point.j === against.best && "other"].filter(name => name);
    if (bests.length > 0) ring(plot, point, `best of ${bests.length === 2 ? "both" : `the ${bests[0]}`}`, bests[0] === "other");
  }
  const byRecord = new Map(points.map(point => [point.i, point.j]));
  inspect(plot, points, i => [tuning.pointText(i), `shown: ${tuning.costText(i)}`, `other: ${against.costText(byRecord.get(i))}`]);
  const [there, back] = [transfer(tuning, against, pairs), transfer(against, tuning, pairs)];
  const alike = percent(agreement(pairs, tuning, against));
  host.append(html("p", {class: "finding"}, `${pairs.length} points in common; of their pairs ${alike} are in the same order in both. `,
    there ? `The best of the shown one takes ${figure(there, 4)} times the best there. ` : "",
    back ? `The other's best takes ${figure(back, 4)} times the best here.` : ""));
  const row = i => [tuning.costText(i), against.costText(byRecord.get(i)), tuning.pointText(i)];
  host.append(tableAlternative(() => ["The best of the shown tuning in both", [">shown", ">other", "~point"],
    tuning.ranked.filter(i => byRecord.has(i)).slice(0, 50).map(row)]));
}

export function compareView() {
  if (state.report.tunings.length < 2) return;
  const body = section("compare", "Comparison",
    "Other tunings of the same kernel: devices, dates, problems. Points on the dashed line take as long in both.");
  const top = html("div");
  const controls = html("div", {class: "controls"});
  const host = html("div");
  body.append(top, controls, host);
  watch("tuning", tuning => {
    const list = comparable(tuning);
    other = list[0] ?? null;
    const nothing = html("p", {class: "empty"}, "The report holds no other tuning of this kernel with the same parameters.");
    replace(top, list.length === 0 ? nothing : sideBySide(tuning, list));
    replace(controls, list.length === 0 ? null : select("the shown one against", list.map(t => [t.number, t.title]), other.number, number => {
      other = state.report.tunings[Number(number)];
      drawScatter(host, state.tuning, other);
    }));
    replace(host);
  });
  watch("selection", tuning => {
    if (other !== null) drawScatter(host, tuning, other);
  });
}
