// SPDX-License-Identifier: MIT
// All that is known of one record, in a dialog.
import {html, byId, replace, commandLine} from "./dom.js";
import {bytes, date, duration, energy, figure, percent, spread, time} from "./format.js";
import {state} from "./state.js";

function rows(tuning, i) {
  const get = name => tuning.column(name)[i];
  const {host, card} = tuning.rows[i];
  const timed = tuning.time[i] !== null;
  const verified = get("verification");
  const bound = tuning.isCensored(i) ? "at least " : "";
  const launches = get("batch") > 1 ? `, each of ${get("batch")} launches` : "";
  const clock = get("clock") === null ? "" : `, at ${get("clock")} MHz`;
  const apart = get("ratio") === null || get("ratio") === 1 ? "" : `, which takes ${figure(get("ratio"), 4)} times as long as the first`;
  const error = `largest error ${figure(get("max_error"), 3)}, allowed ${figure(get("tolerance"), 3)}`;
  const list = [
    ["outcome", [tuning.outcome[i], ...tuning.remarks(i).filter(remark => remark !== tuning.outcome[i])].join(", ")],
    ["message", tuning.message(i)],
    ["rank", tuning.rank[i] === null ? "" : `${tuning.rank[i]} of ${tuning.ranks}`],
    ["time", timed ? `${bound}${time(get("time"))} ${spread(get("low"), get("time"), get("high"))}` : ""],
    ["95% interval", timed ? `${time(get("low"))} to ${time(get("high"))}` : ""],
    ["samples", timed ? `${get("samples")}${launches}${clock}` : ""],
    ["energy", get("joules") === null ? "" : `${energy(get("joules"))} a launch, at ${get("watts")} W`],
    ["of the roof", timed ? tuning.roofText(i) : ""],
    ...Object.keys(tuning.metrics).map(name => [name, figure(tuning.metric(name)[i] ?? NaN, 6)]),
    ["registers", get("registers")], ["shared memory", get("shared") === null ? "" : `${bytes(get("shared"))} a block`],
    ["spills", get("spills") === null ? "" : bytes(get("spills"))],
    ["occupancy", get("occupancy") === null ? "" : `${percent(get("occupancy"))}, theoretical`],
    ["compiler's warnings", get("warnings")],
    ["verified", verified === 0 ? "no" : verified === 3 ? "not recorded" : verified === 1 ? `against the default point: ${error}` : error],
    ["conditions", get("conditions")],
    ["cost", `compiled in ${figure(get("compile_ms"), 3)} ms, verified and measured in ${figure(get("run_ms"), 3)} ms`],
    ["measured by", card === undefined ? "" : `${card} of host ${host ?? ""}${apart}`],
    ["made", get("at") === null ? "" : `${date(tuning.started + get("at"), true)}, after ${duration(get("at"))}`],
  ];
  return list.filter(([, text]) => text !== "" && text !== null && text !== "–");
}

function definitions(pairs) {
  return html("dl", {class: "facts"}, pairs.map(([name, text]) => html("div", {}, html("dt", {}, name), html("dd", {}, text))));
}

export function showRecord(i) {
  const {tuning} = state;
  const dialog = byId("record");
  const point = tuning.parameters.map((parameter, p) => [parameter.name, tuning.value(p, i)]);
  const close = html("button", {type: "button", class: "close", onclick: () => dialog.close()}, "Close");
  replace(dialog,
    html("h2", {id: "record-title"}, `Record ${i + 1} of ${tuning.kernel}`),
    html("div", {class: "columns"}, html("div", {}, html("h3", {}, "Point"), definitions(point)),
      html("div", {}, html("h3", {}, "Result"), definitions(rows(tuning, i)))),
    html("h3", {}, "Run it again"), commandLine(tuning.command(i)), close);
  dialog.showModal();
}
