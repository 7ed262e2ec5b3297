// SPDX-License-Identifier: MIT
// What became of the points, and what was said of those without a time.
import {html, section, replace} from "./dom.js";
import {percent, plural} from "./format.js";
import {state, watch, setFilter} from "./state.js";
import {showRecord} from "./record.js";

const SHOWN = 30; // messages of an outcome

function messagesOf(tuning, records) {
  const groups = new Map();
  for (const i of records) {
    const message = tuning.message(i) || "(no message)";
    if (!groups.has(message)) groups.set(message, []);
    groups.get(message).push(i);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}

function messageList(tuning, records) {
  const groups = messagesOf(tuning, records);
  return html("ul", {class: "messages"}, groups.slice(0, SHOWN).map(([message, own]) => html("li", {},
    html("span", {class: "quiet"}, `${plural(own.length, "point")}: `), html("code", {}, message), " ",
    html("button", {type: "button", class: "link", onclick: () => showRecord(own[0])}, "first"))),
    groups.length > SHOWN ? html("li", {class: "quiet"}, `and ${groups.length - SHOWN} more messages: in the records`) : null);
}

function row(tuning, name, records) {
  const share = records.length / tuning.count;
  const bar = html("div", {class: `bar ${["ok", "slower", "duplicate", "skipped", "compile_stopped"].includes(name) ? "" : "failed"}`});
  bar.style.setProperty("--share", `${(share * 100).toFixed(1)}%`);
  const restrict = () => setFilter("outcome", {label: `outcome ${name}`, test: i => tuning.outcome[i] === name});
  const only = html("button", {type: "button", class: "link", onclick: restrict}, "show only these");
  const said = records.some(i => tuning.message(i) !== "");
  return html("tr", {}, html("th", {scope: "row"}, name), html("td", {class: "figure"}, records.length.toLocaleString("en")),
    html("td", {class: "figure"}, percent(share, 1)), html("td", {class: "bar-cell"}, bar),
    html("td", {}, state.report.outcomes[name], " ", only,
      said ? html("details", {open: tuning.isFailure(records[0])}, html("summary", {}, "messages"), messageList(tuning, records)) : null));
}

function draw(body, tuning) {
  const names = Object.keys(state.report.outcomes).filter(name => tuning.outcome.includes(name));
  replace(body, html("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": "Outcomes"}, html("table", {class: "outcomes"},
    html("caption", {}, `Outcomes of ${plural(tuning.count, "point")}`),
    html("thead", {}, html("tr", {}, ["outcome", "points", "share", "", "meaning"].map((text, k) =>
      html("th", {scope: "col", class: k === 1 || k === 2 ? "figure" : null}, text)))),
    html("tbody", {}, names.map(name => row(tuning, name, tuning.records(i => tuning.outcome[i] === name)))))));
}

export function outcomesView() {
  const body = section("outcomes", "Outcomes", "What became of each point; docs/outcomes.md of Hone's manual says more.");
  watch("tuning", tuning => draw(body, tuning));
}
