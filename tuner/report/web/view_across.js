// SPDX-License-Identifier: MIT
// The results of one kernel over its problems, in the order of their sizes.
import {html, section, replace, table} from "./dom.js";
import {figure, percent, NONE} from "./format.js";
import {state, watch, showTuning} from "./state.js";
import {compareValues} from "./data.js";

/** Tunings of the kernel on the same device in the same regime that have a best. */
function family(tuning) {
  return state.report.tunings.filter(other => other.kernel === tuning.kernel && other.device.name === tuning.device.name &&
    other.regime === tuning.regime && other.objective === tuning.objective && other.best !== null);
}

/** [what differs, what all share as a text] of the names of some things. */
function split(things, names, valueOf) {
  const same = name => things.every(thing => valueOf(thing, name) === valueOf(things[0], name));
  return [names.filter(name => !same(name)), names.filter(same).map(name => `${name}=${valueOf(things[0], name)}`).join(", ")];
}

const problemValue = (tuning, name) => tuning.problem[name] ?? NONE;

function bestValue(tuning, name) {
  const p = tuning.parameters.findIndex(parameter => parameter.name === name);
  return p < 0 ? NONE : tuning.value(p, tuning.best);
}

/** A bar of the share of the roof, or else of the figure of merit against the greatest. */
function bar(tuning, all) {
  const merit = t => (t.merit === null ? null : t.metric(t.merit)[t.best]);
  const share = t => (t.bound(t.best) ? t.bound(t.best).us / t.time[t.best] : null);
  const value = all.every(t => share(t) !== null) ? share(tuning) : merit(tuning) / Math.max(...all.map(merit));
  const element = html("div", {class: "bar"});
  element.style.setProperty("--share", `${(100 * Math.max(0, Math.min(1, value || 0))).toFixed(1)}%`);
  return element;
}

function draw(body, tuning) {
  const all = family(tuning);
  replace(body);
  if (all.length < 2) {
    body.append(html("p", {class: "empty"}, "The report holds no other problem of this kernel on this device."));
    return;
  }
  const [problems, sameProblem] = split(all, [...new Set(all.flatMap(t => Object.keys(t.problem)))], problemValue);
  const names = [...new Set(all.flatMap(t => t.parameters.map(({name}) => name)))];
  const [parameters, sameParameters] = split(all, names, bestValue);
  const rows = [...all].sort((a, b) => problems.map(name => compareValues(problemValue(a, name), problemValue(b, name))).find(order => order !== 0) ?? 0)
    .map(t => [html("button", {type: "button", class: "link", onclick: () => showTuning(t)}, t === tuning ? "shown" : "show"),
      ...problems.map(name => problemValue(t, name)), t.costText(t.best), t.merit ? figure(t.metric(t.merit)[t.best] ?? NaN) : NONE, t.roofText(t.best),
      bar(t, all), ...parameters.map(name => bestValue(t, name))]);
  const share = all.every(t => t.bound(t.best)) ? "share of the roof" : `${tuning.merit ?? "share"}, of the greatest`;
  const said = [sameProblem, sameParameters].filter(text => text !== "").join("; ");
  if (said !== "") body.append(html("p", {class: "hint"}, `The same for all: ${said}`));
  body.append(html("div", {class: "scroll tall", tabindex: 0, role: "group", "aria-label": "Across problems"},
    table("The best of each problem, and the parameters in which these differ",
      ["", ...problems.map(name => `>${name}`), tuning.timed ? ">time" : `>${tuning.objectiveName}`, `>${tuning.merit ?? "metric"}`, ">of roof",
       share, ...parameters.map(name => `>${name}`)], rows, {class: "across"})));
  body.append(html("p", {class: "finding"}, spreadText(tuning, all)));
}

function spreadText(tuning, all) {
  if (!all.every(t => t.bound(t.best))) return `${all.length} problems.`;
  const shares = all.map(t => t.bound(t.best).us / t.time[t.best]).sort((a, b) => a - b);
  return `${all.length} problems, from ${percent(shares[0])} to ${percent(shares.at(-1))} of their roofs, half of them at ` +
    `${percent(shares[Math.floor(shares.length / 2)])} and more.`;
}

export function acrossView() {
  if (state.report.tunings.length < 2) return;
  const body = section("across", "Across problems", "What is best for each problem of the kernel on this device.");
  watch("tuning", tuning => draw(body, tuning));
}
