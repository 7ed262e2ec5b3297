// SPDX-License-Identifier: MIT
// All records as a table: sorted by its headings, filtered by a line of text, with commands to copy.
import {html, section, replace, copyButton, announce} from "./dom.js";
import {bytes, percent, time, NONE} from "./format.js";
import {state, watch, setFilter} from "./state.js";
import {parseQuery} from "./query.js";
import {showRecord} from "./record.js";

const PAGE = 50;

const view = {sort: "rank", ascending: true, page: 0, columns: [], order: []};

/** key: what a column is sorted by, null comes last, and what is equal by rank; text: what it shows. */
function columnsOf(tuning) {
  const get = name => i => tuning.column(name)[i];
  const columns = [
    {name: "rank", figure: true, key: i => tuning.rank[i], text: i => tuning.rank[i] ?? NONE},
    {name: "outcome", key: i => tuning.outcome[i], text: i => tuning.outcome[i]},
    {name: tuning.timed ? "time" : tuning.objectiveName, figure: true, key: i => tuning.cost[i], text: i => tuning.costText(i)},
  ];
  if (!tuning.timed) columns.push({name: "time", figure: true, key: i => tuning.time[i], text: i => time(tuning.time[i] ?? NaN)});
  const measured = i => tuning.time[i] !== null && !tuning.isCensored(i);
  columns.push({name: "±95%", figure: true, text: i => tuning.spreadText(i),
    key: i => (measured(i) ? (tuning.high[i] - tuning.low[i]) / tuning.time[i] : null)});
  for (const name of tuning.rates) {
    columns.push({name, figure: true, key: i => (tuning.isCensored(i) ? null : tuning.metric(name)[i]), text: i => tuning.rateText(name, i)});
  }
  const share = i => (tuning.time[i] === null || !tuning.bound(i) ? null : tuning.bound(i).us / tuning.time[i]);
  columns.push({name: "of roof", figure: true, key: share, text: i => tuning.roofText(i)});
  columns.push({name: "registers", figure: true, key: get("registers"), text: i => get("registers")(i) ?? NONE},
    {name: "shared", figure: true, key: get("shared"), text: i => bytes(get("shared")(i) ?? NaN)},
    {name: "spills", figure: true, key: get("spills"), text: i => bytes(get("spills")(i) ?? NaN)},
    {name: "occupancy", figure: true, key: get("occupancy"), text: i => percent(get("occupancy")(i) ?? NaN)});
  for (const p of tuning.varying) {
    columns.push({name: tuning.parameters[p].name, parameter: true, key: i => tuning.points[p][i], text: i => tuning.value(p, i)});
  }
  columns.push({name: "GPU", key: i => tuning.cardText(i) || null, text: i => tuning.cardText(i)});
  columns.push({name: "remarks", key: i => tuning.remarks(i).join(", ") || null, text: i => tuning.remarks(i).join(", ")},
    {name: "message", key: i => tuning.message(i) || null, text: i => tuning.message(i), long: true});
  return columns.filter(column => column.name === "rank" || column.name === "outcome" || tuning.records(i => column.key(i) !== null).length > 0);
}

function order(tuning) {
  const column = view.columns.find(({name}) => name === view.sort) ?? view.columns[0];
  const sign = view.ascending ? 1 : -1;
  const selected = [...tuning.ranked, ...tuning.records(i => !tuning.isValid(i))].filter(i => state.selected[i]);
  const keyed = selected.map(i => [column.key(i), i]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return (a < b ? -1 : a > b ? 1 : 0) * sign;
  });
  view.order = keyed.map(([, i]) => i);
}

function heading(column, sortBy) {
  const [way, arrow] = column.name !== view.sort ? [null, ""] : view.ascending ? ["ascending", " ▲"] : ["descending", " ▼"];
  return html("th", {scope: "col", class: column.figure ? "figure" : null, "aria-sort": way},
    html("button", {type: "button", onclick: () => sortBy(column.name)}, column.name, html("span", {"aria-hidden": "true"}, arrow)));
}

function recordRow(tuning, i) {
  const cells = view.columns.map(column => {
    const text = String(column.text(i));
    return html("td", {class: column.figure ? "figure" : column.long ? "long" : null, title: column.long ? text : null}, text);
  });
  const all = html("button", {type: "button", class: "link", "aria-label": `All of record ${i + 1}`, onclick: () => showRecord(i)}, "all");
  const copy = copyButton(() => tuning.command(i), `Copy the command of record ${i + 1}`);
  return html("tr", {class: i === tuning.best ? "winner" : tuning.isFailure(i) ? "failed" : null}, cells,
    html("td", {class: "actions"}, all, " ", copy));
}

function drawTable(host, status, tuning, sortBy) {
  const pages = Math.max(1, Math.ceil(view.order.length / PAGE));
  view.page = Math.min(view.page, pages - 1);
  const shown = view.order.slice(view.page * PAGE, (view.page + 1) * PAGE);
  const focused = document.activeElement?.closest?.("#records th")?.textContent.replace(/ [▲▼]$/, "");
  replace(host, html("table", {class: "records"}, html("caption", {}, `Records of ${tuning.kernel}`),
    html("thead", {}, html("tr", {}, view.columns.map(column => heading(column, sortBy)), html("th", {scope: "col"}, "command"))),
    html("tbody", {}, shown.map(i => recordRow(tuning, i)))));
  if (focused) [...host.querySelectorAll("th")].find(th => th.textContent.replace(/ [▲▼]$/, "") === focused)?.querySelector("button")?.focus();
  const first = shown.length === 0 ? 0 : view.page * PAGE + 1;
  const turn = by => () => {
    view.page += by;
    drawTable(host, status, tuning, sortBy);
  };
  const range = `${first} to ${view.page * PAGE + shown.length} of ${view.order.length.toLocaleString("en")} records`;
  replace(status, html("span", {id: "records-count"}, range),
    html("button", {type: "button", disabled: view.page === 0, onclick: turn(-1)}, "previous"),
    html("button", {type: "button", disabled: view.page >= pages - 1, onclick: turn(1)}, "next"));
}

export function recordsView() {
  const body = section("records", "Records", null);
  const problems = html("span", {class: "problems", id: "query-problems", role: "status"});
  const input = html("input", {type: "search", id: "query", size: 44, spellcheck: "false", autocomplete: "off",
    "aria-describedby": "query-problems"});
  const host = html("div", {class: "scroll tall", tabindex: 0, role: "group", "aria-label": "Records"});
  const status = html("div", {class: "controls pager"});
  body.append(html("div", {class: "controls"}, html("label", {for: "query"}, "filter "), input, problems),
    html("p", {class: "hint"}, "Words are looked for in point, outcome, remarks and message; NAME=VALUE and <, <=, >, >=, != compare a ",
      "parameter, a metric, time (in µs), registers, shared, spills (in bytes) or occupancy (0 to 1)."),
    status, host);
  const update = tuning => {
    order(tuning);
    drawTable(host, status, tuning, name => {
      view.ascending = name === view.sort ? !view.ascending : true;
      view.sort = name;
      view.page = 0;
      update(tuning);
      announce(`Sorted by ${name}, ${view.ascending ? "ascending" : "descending"}`);
    });
  };
  const ask = () => {
    const {test, problems: found} = parseQuery(state.tuning, input.value);
    problems.textContent = found.join("; ");
    setFilter("query", test ? {label: `“${input.value.trim()}”`, test, clear: () => { input.value = ""; }} : null);
  };
  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 150);
  });
  watch("tuning", tuning => {
    Object.assign(view, {sort: "rank", ascending: true, page: 0, columns: columnsOf(tuning)});
    input.value = "";
    problems.textContent = "";
  });
  watch("selection", tuning => {
    view.page = 0;
    update(tuning);
  });
}
