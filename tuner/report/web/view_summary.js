// SPDX-License-Identifier: MIT
// What was found, with what, and how far it can be trusted.
import {html, section, replace, table, commandLine} from "./dom.js";
import {date, duration, energy, figure, percent, plural, time, bytes, NONE} from "./format.js";
import {state, watch, showTuning} from "./state.js";

const TOP = 10;

const REGIMES = {
  unknown: "not recorded", cold: "cold: L2 flushed before each launch", warm: "warm: L2 left as the launch before left it",
  stream: "stream: launches back to back, what launching costs included",
  graph: "graph: a graph of one launch, replayed back to back", graph10: "graph10: a graph of ten launches, a tenth of it",
};

function warnings(tuning) {
  const list = [];
  const best = tuning.best;
  const kind = best === null ? null : tuning.column("verification")[best];
  if (tuning.simulated) list.push("Simulated: the times were taken from a recording, not measured by this tuning.");
  if (tuning.stale) list.push("Stale: the config is another now, or a later tuning had another template, plan, option or driver, or Hone measures otherwise now.");
  if (tuning.recorded && tuning.config === null && !tuning.kernel_tuner)
    list.push("Recorded: whether it is of the template and config as they are now was not looked at; --config names the config.");
  if (tuning.kernel_tuner) list.push("By Kernel Tuner: means of plain launches; neither the state of the L2 cache nor what was verified is recorded.");
  if (kind === 0 && !tuning.kernel_tuner)
    list.push(`Unverified: the config has no ${tuning.program ? "check" : "reference"}, so that nothing says that the results are right.`);
  if (kind === 1) list.push("Self-verified: the results were compared with those of the template at its default point, not with a reference.");
  if (best !== null && tuning.beyond(best) !== null)
    list.push(`Faster than the roof: the best cannot do what the metric ${tuning.beyond(best)} says in its time. Check that metric.`);
  if (best !== null && tuning.column("unstable")[best] === 1) list.push("Unstable: the interval of the best did not get narrow enough.");
  return list.map(text => html("p", {class: "banner", role: "note"}, text));
}

function key(name, big, small) {
  return html("div", {class: "figure-box"}, html("p", {class: "name"}, name), html("p", {class: "big"}, big), html("p", {class: "small"}, small));
}

function bestFigure(tuning) {
  const {best} = tuning;
  const better = `${tuning.lowerIsBetter ? "lower" : "higher"} is better`;
  const mean = tuning.kernel_tuner ? ", the time is a mean" : "";
  const how = tuning.timed ? `${tuning.spreadText(best)} (95% interval of the median${mean})` : better;
  return key(tuning.timed ? "best time" : `best ${tuning.objectiveName}`, tuning.costText(best), `${how}, ${tuning.regimeText}`);
}

function tiesFigure(tuning) {
  const ties = tuning.ties.length;
  if (!tuning.timed) {
    const why = `${tuning.spreadText(tuning.best)}; ties in ${tuning.objectiveName} are not known`;
    return key("time of the best", time(tuning.time[tuning.best]), why);
  }
  if (tuning.low[tuning.best] === tuning.high[tuning.best]) return key("tied with the best", "not known", "the best has no interval");
  return ties === 0 ? key("tied with the best", "none", "no interval overlaps that of the best")
    : key("tied with the best", String(ties), "their intervals overlap that of the best");
}

function figures(tuning) {
  const {best} = tuning;
  if (best === null) return html("p", {class: "banner"}, "No point is valid: see the outcomes.");
  const merit = tuning.merit && tuning.merit !== tuning.objectiveName ? tuning.merit : null;
  const bound = tuning.bound(best);
  const worst = tuning.ranked.reduce((found, i) => (tuning.compare(i, found) > 0 ? i : found));
  return html("div", {class: "figures"},
    bestFigure(tuning),
    merit ? key(merit, figure(tuning.metric(merit)[best] ?? NaN), "of the best, a metric of the config") : null,
    bound ? key("of the roof", percent(bound.us / tuning.time[best], 1), `${bound.name} roof: ${time(bound.us)} at least`) : null,
    key("against the slowest", `${figure(tuning.ratio(tuning.cost[worst]), 3)}×`, `slowest in full: ${tuning.costFigure(tuning.cost[worst])}`),
    tiesFigure(tuning),
    key("points", tuning.count.toLocaleString("en"), `${tuning.ranked.length.toLocaleString("en")} with a time in full`));
}

function bestPoint(tuning) {
  if (tuning.best === null) return null;
  const rows = tuning.parameters.map((parameter, p) => [parameter.name, tuning.value(p, tuning.best),
    parameter.values.length === 1 ? "the only value" : parameter.values.filter(value => value !== tuning.value(p, tuning.best)).join(", ")]);
  const commands = tuning.kernel_tuner ? [] : [tuning.command(tuning.best), tuning.exportCommand];
  return html("div", {}, table("The best point", ["parameter", "best", "also tried"], rows, {class: "plain"}),
    html("p", {class: "commands"}, commands.map(commandLine)));
}

function deviceText({name, capability, sm_count: multiprocessors, mig_profile: profile}) {
  const known = capability > 0 ? `, compute capability ${Math.floor(capability / 10)}.${capability % 10}, ${multiprocessors} SMs` : "";
  return `${name}${known}${profile ? `, MIG ${profile}` : ""}`;
}

function protocolText(tuning) {
  const {protocol} = tuning.version;
  if (tuning.kernel_tuner) return "Kernel Tuner's";
  return protocol === state.report.protocol ? String(protocol) : `${protocol} (this Hone's is ${state.report.protocol})`;
}

function roofsText(roofs) {
  if (roofs === null) return "not known: hone device --measure";
  const parts = [`copy ${figure(roofs.copy_gb_per_s)} GB/s`, `L2 ${figure(roofs.l2_gb_per_s)} GB/s`,
    `FP32 ${figure(roofs.fp32_gflops / 1000, 3)} TFLOP/s`, ...Object.entries(roofs.tensor ?? {}).filter(([, roof]) => roof.gflops > 0)
      .map(([type, {gflops}]) => `${type.toUpperCase()} ${figure(gflops / 1000, 3)} TFLOP/s`), `launch ${figure(roofs.launch_us, 3)} µs`];
  return `${parts.join(", ")}; measured ${date(roofs.measured)} with driver ${roofs.driver}`;
}

function provenance(tuning) {
  const {version} = tuning;
  const took = tuning.ended > tuning.started ? ` and for ${duration(tuning.ended - tuning.started)}` : "";
  const hashes = [["template", version.template_hash], ["options", version.options_hash], ["plan", version.plan_hash]].filter(([, hash]) => hash);
  const facts = [
    ["device", deviceText(tuning.device)],
    ["driver, NVRTC", `${version.driver || "unknown"}, ${version.nvrtc || "unknown"}`],
    ["measured", `${date(tuning.started, true)}${took}`],
    ["regime", REGIMES[tuning.regime]],
    ["protocol", protocolText(tuning)],
    ["objective", tuning.objective],
    ["problem", tuning.problemText || "none"],
    ...(tuning.family ? [["rule of the family", tuning.family]] : []),
    ["config", tuning.config ?? "not known"],
    ["command", tuning.command_line || "not known"],
    ["from", tuning.source],
    ["roofs", roofsText(tuning.roofs)],
    ["hashes", hashes.map(([name, hash]) => `${name} ${hash.slice(0, 12)}`).join(", ") || "none"],
    ["arguments", tuning.signature?.replaceAll(",", ", ") || "not known"],
  ];
  return html("div", {}, html("h3", {}, "Where it comes from"),
    html("dl", {class: "facts"}, facts.map(([name, text]) => html("div", {}, html("dt", {}, name), html("dd", {}, text)))));
}

/** What the best pipeline is set against: its parts measured alone, and what they allow. */
function pipelineParts(tuning) {
  const {staging} = tuning;
  if (!staging) return null;
  const rows = [["by events, from the first copy to the last", tuning.costText(tuning.best)]];
  const add = (name, us) => { if (us > 0) rows.push([name, time(us)]); };
  add("by the host's clock", staging.host_us);
  if (staging.register_ms > 0) add("registering its host memory, once", staging.register_ms * 1000);
  if (staging.limit_us > 0) {
    const n = staging.streams > 1 ? staging.chunks : 1;
    add("kernels alone, tE", staging.kernels_us);
    add("upload alone", staging.upload_us);
    add("download alone", staging.download_us);
    add("one after another", staging.sequential_us);
    add(`estimate tE + tT/${n}`, staging.compute_bound_us);
    add(`estimate tT + tE/${n}`, staging.transfer_bound_us);
    rows.push([`limit with ${plural(staging.copy_engines, "copy engine")}`,
      `${time(staging.limit_us)}, ${percent(staging.limit_us / tuning.time[tuning.best], 1)} of it reached`]);
  }
  return table(`The best pipeline: ${plural(staging.chunks, "chunk")} in ${plural(staging.streams, "stream")}`,
    ["~what", ">time"], rows, {class: "plain"});
}

/** Whose energy was measured, the fastest first, and whom no other is both as fast and as frugal as. */
function energyTable(tuning) {
  const joules = tuning.column("joules");
  const weighed = tuning.ranked.filter(i => joules[i] !== null);
  if (weighed.length === 0) return null;
  const byTime = [...weighed].sort((a, b) => tuning.time[a] - tuning.time[b]);
  const least = byTime.map((i, place) => Math.min(...byTime.slice(0, place).map(other => joules[other]), Infinity));
  const rows = byTime.map((i, place) => [String(tuning.rank[i]), time(tuning.time[i]), energy(joules[i]), `${tuning.column("watts")[i]} W`,
    joules[i] < least[place] ? "on the front" : ""]);
  return html("div", {id: "energy"}, table("Time and energy of a launch", [">#", ">time", ">energy", ">power", "~"], rows, {class: "plain"}));
}

function topTable(tuning) {
  const merit = tuning.merit !== tuning.objectiveName ? tuning.merit : null;
  const best = tuning.ranked.filter(i => tuning.outcome[i] === "ok").slice(0, TOP);
  const [differing, shared] = tuning.split(best);
  const rows = best.map(i => [String(tuning.rank[i]), tuning.costText(i),
    ...(tuning.timed ? [] : [time(tuning.time[i])]), tuning.spreadText(i), ...(merit ? [tuning.rateText(merit, i)] : []), tuning.roofText(i),
    String(tuning.column("registers")[i] ?? NONE), bytes(tuning.column("shared")[i] ?? NaN),
    percent(tuning.column("occupancy")[i] ?? NaN), ...differing.map(p => tuning.value(p, i)), tuning.remarks(i).join(", ")]);
  return html("div", {class: "scroll", id: "top", tabindex: 0, role: "group", "aria-label": "The best points"},
    tuning.ranked.some(i => tuning.compare(i, tuning.best) < 0)
      ? html("p", {class: "hint"}, "Finalists stand first, with the times of their race, which decides; times of the search may be shorter.") : null,
    best.length > 1 && shared !== "" ? html("p", {class: "hint"}, `In all of them: ${shared}`) : null,
    table(`The best ${rows.length}`, [">#", ...(tuning.timed ? [] : [`>${tuning.objectiveName}`]), ">time", ">±95%",
      ...(merit ? [`>${merit}`] : []), ">of roof", ">registers", ">shared", ">occupancy", ...differing.map(p => `>${tuning.parameters[p].name}`), "remarks"], rows));
}

export function summaryView() {
  const body = section("summary", "Summary");
  watch("tuning", tuning => {
    document.title = `${tuning.kernel} – Hone report`;
    replace(body, warnings(tuning), figures(tuning),
      html("div", {class: "columns best-point"}, bestPoint(tuning), provenance(tuning),
        html("div", {class: "wide-part"}, pipelineParts(tuning), topTable(tuning), energyTable(tuning))));
  });
}

/** All tunings of the report, of which one is shown. */
export function overviewView() {
  if (state.report.tunings.length < 2) return;
  const body = section("tunings", "Tunings", "All that this report holds; a name shows that tuning in the sections below. L2 is cold where it was flushed before each launch, warm " +
    "where it was left as the launch before left it.");
  const open = tuning => html("button", {type: "button", class: "link", onclick: () => {
    showTuning(tuning);
    document.getElementById("summary").focus();
  }}, tuning.kernel);
  const rows = state.report.tunings.map(tuning => {
    const {best} = tuning;
    return [open(tuning), tuning.problemText, tuning.device.name, tuning.regime,
      best === null ? NONE : tuning.costText(best), best === null ? NONE : tuning.spreadText(best),
      best === null || !tuning.merit ? NONE : `${figure(tuning.metric(tuning.merit)[best] ?? NaN)} ${tuning.merit}`,
      best === null ? NONE : tuning.roofText(best), String(tuning.count), date(tuning.started),
      best === null ? "no valid point" : tuning.remarks(best).filter(remark => remark !== "best").join(", ") || "verified"];
  });
  body.append(html("div", {class: "scroll tall", tabindex: 0, role: "group", "aria-label": "All tunings"},
    table("All tunings", ["kernel", "~problem", "device", "L2", ">best", ">±95%", ">merit", ">of roof", ">points", "date", "~remarks"], rows)));
  watch("tuning", shown => {
    body.querySelectorAll("tbody tr").forEach((row, r) => row.classList.toggle("shown", r === shown.number));
  });
}
