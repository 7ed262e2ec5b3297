// SPDX-License-Identifier: MIT
// The steps of the config's ladder and what each gains.
import {html, section, replace} from "./dom.js";
import {figure, plural, NONE} from "./format.js";
import {state, watch} from "./state.js";

function stepText(step, shared) {
  return Object.entries(step.set).filter(([name]) => !shared.has(name)).map(([name, value]) => `${name}=${value}`).join(", ") || "default";
}

/** What all steps set alike says nothing. */
function sharedNames(ladder) {
  if (ladder.length < 2) return new Set();
  return new Set(Object.keys(ladder[0].set).filter(name => ladder.every(step => step.set[name] === ladder[0].set[name])));
}

/** The best by what it changes against the last step that was measured. */
function bestText(tuning) {
  const last = tuning.ladder.map(step => step.record).filter(i => i !== null).at(-1);
  const changes = tuning.varying.filter(p => last === undefined || tuning.points[p][last] !== tuning.points[p][tuning.best]);
  if (last === tuning.best) return "best: the last step";
  return `best: ${changes.map(p => `${tuning.parameters[p].name}=${tuning.value(p, tuning.best)}`).join(", ")}, else as the last step`;
}

function bar(tuning, i, worst) {
  const cost = tuning.cost[i];
  const share = cost / worst;
  const element = html("div", {class: `bar${i === tuning.best ? " winner" : ""}${tuning.isCensored(i) ? " censored" : ""}`});
  element.style.setProperty("--share", `${(share * 100).toFixed(1)}%`);
  return html("td", {class: "bar-cell"}, element);
}

function row(tuning, name, i, first, worst) {
  if (tuning.cost[i] === null) {
    const why = `${tuning.outcome[i]}: ${tuning.message(i)}`;
    return html("tr", {}, html("th", {scope: "row"}, name), html("td", {colspan: 5, class: "quiet"}, why));
  }
  const gain = first === null ? NaN : tuning.lowerIsBetter ? first / tuning.cost[i] : tuning.cost[i] / first;
  return html("tr", {}, html("th", {scope: "row"}, name), bar(tuning, i, worst), html("td", {class: "figure"}, tuning.costText(i)),
    html("td", {class: "figure"}, tuning.spreadText(i)),
    html("td", {class: "figure"}, tuning.merit ? tuning.rateText(tuning.merit, i) : NONE),
    html("td", {class: "figure"}, Number.isNaN(gain) ? NONE : `${figure(gain, 3)}×`));
}

function draw(body, tuning) {
  replace(body);
  if (tuning.ladder.length === 0) {
    body.append(html("p", {class: "empty"}, "No ladder is known of this kernel: hone report --config names the config that has it."));
    return;
  }
  const known = tuning.ladder.map((step, k) => [step, k]).filter(([step]) => step.record !== null);
  if (known.length === 0) {
    const names = new Set(tuning.parameters.map(({name}) => name));
    const others = [...new Set(tuning.ladder.flatMap(({set}) => Object.keys(set)))].filter(name => !names.has(name));
    const why = others.length > 0 ? `the config has parameters that this tuning does not: ${others.join(", ")}` : "they are not in this space, or were not measured";
    body.append(html("p", {class: "empty"}, `None of the ${plural(tuning.ladder.length, "step")} of the ladder is known here: ${why}.`));
    return;
  }
  const shared = sharedNames(tuning.ladder);
  const measured = tuning.ladder.map(step => step.record).filter(i => i !== null && tuning.cost[i] !== null);
  const first = measured.length > 0 ? tuning.cost[measured[0]] : null;
  const worst = Math.max(...measured.map(i => tuning.cost[i]), tuning.best === null ? 0 : tuning.cost[tuning.best]);
  const rows = known.map(([step, k]) => row(tuning, `${k + 1}. ${stepText(step, shared)}`, step.record, first, worst));
  if (tuning.best !== null) rows.push(row(tuning, bestText(tuning), tuning.best, first, worst));
  const heading = (text, figures) => html("th", {scope: "col", class: figures ? "figure" : null}, text);
  const left = tuning.ladder.length - known.length;
  body.append(html("div", {class: "scroll tall", tabindex: 0, role: "group", "aria-label": "Ladder"}, html("table", {class: "ladder"},
    html("caption", {}, `Steps of the ladder; bars are ${tuning.timed ? "times" : tuning.objectiveName}, `,
      `${tuning.lowerIsBetter ? "shorter" : "longer"} is better`),
    html("thead", {}, html("tr", {}, heading("step"), heading(""), heading(tuning.timed ? "time" : tuning.objectiveName, true),
      heading("±95%", true), heading(tuning.merit ?? "metric", true), heading("gain", true))),
    html("tbody", {}, rows))));
  if (left > 0) body.append(html("p", {class: "hint"}, `${plural(left, "step")} of ${tuning.ladder.length} left out: not in this space, or not measured.`));
}

export function ladderView() {
  if (state.report.tunings.every(tuning => tuning.ladder.length === 0)) return;
  const body = section("ladder", "Ladder", "Points that the config always measures in full, to show what each step gains.", true);
  watch("tuning", tuning => draw(body, tuning));
}
