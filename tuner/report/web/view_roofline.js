// SPDX-License-Identifier: MIT
// Every point against what the device can do at best (Williams, Waterman and Patterson, "Roofline", 2009).
import {html, svg, section, replace, tableAlternative} from "./dom.js";
import {figure, time, NONE} from "./format.js";
import {state, watch} from "./state.js";
import {scale, extent} from "./scale.js";
import {countedBlock, levelsOf} from "./counted.js";
import {frame, axes, label, keepFree, drawPoints, marks, ring, inspect, describeRecord, pointLegend} from "./chart.js";

/** How the tuning says its work: both bytes and flops give an intensity; one alone an amount. */
function kindOfWork(tuning) {
  const has = name => tuning.metrics[name] !== undefined && tuning.metric(name).some(value => value > 0);
  const computes = has(tuning.computing.metric) && (tuning.roofs === null || tuning.computing.rate > 0);
  if (has("bytes") && computes) return "both";
  return has("bytes") ? "bytes" : computes ? "flops" : null;
}

const KINDS = {
  both: {x: i => t => t.computed(i) / t.metric("bytes")[i], y: i => t => t.computed(i) / t.time[i] / 1e3,
         xLabel: "arithmetic intensity, FLOP/byte", yLabel: "GFLOP/s", xText: "FLOP/byte"},
  bytes: {x: i => t => t.metric("bytes")[i] / 1e6, y: i => t => t.metric("bytes")[i] / t.time[i] / 1e3,
          xLabel: "bytes moved by a launch, MB", yLabel: "GB/s", xText: "MB"},
  flops: {x: i => t => t.computed(i) / 1e6, y: i => t => t.computed(i) / t.time[i] / 1e3,
          xLabel: "operations of a launch, MFLOP", yLabel: "GFLOP/s", xText: "MFLOP"},
};

function place(tuning, kind, i) {
  const x = KINDS[kind].x(i)(tuning);
  const y = KINDS[kind].y(i)(tuning);
  return x > 0 && y > 0 ? {i, x, y} : null;
}

function placesOf(tuning, kind) {
  const places = [];
  for (let i = 0; i < tuning.count; i++) {
    if (!tuning.isValid(i) && !tuning.isCensored(i)) continue;
    const found = place(tuning, kind, i);
    if (found) places.push(found);
  }
  return places;
}

/** Lines of roofs: {name, text, at(x)} in the plot's units. */
function roofLines(tuning, kind) {
  const {roofs, computing} = tuning;
  if (roofs === null) return [];
  const lines = {
    both: [["copy", `copy ${figure(roofs.copy_gb_per_s)} GB/s`, x => Math.min(x * roofs.copy_gb_per_s, computing.rate)],
           ["l2", `L2 ${figure(roofs.l2_gb_per_s)} GB/s`, x => Math.min(x * roofs.l2_gb_per_s, computing.rate)]],
    bytes: [["copy", `copy ${figure(roofs.copy_gb_per_s)} GB/s`, x => Math.min(roofs.copy_gb_per_s, x * 1e3 / roofs.launch_us)],
            ["l2", `L2 ${figure(roofs.l2_gb_per_s)} GB/s`, x => Math.min(roofs.l2_gb_per_s, x * 1e3 / roofs.launch_us)]],
    flops: [["copy", `${computing.name} ${figure(computing.rate / 1e3, 3)} TFLOP/s`, x => Math.min(computing.rate, x * 1e3 / roofs.launch_us)]],
  };
  return lines[kind].map(([name, text, at]) => ({name, text, at}));
}

function domains(tuning, kind, places, others) {
  const lines = roofLines(tuning, kind);
  const xs = [...places, ...others].map(({x}) => x);
  const ridge = kind === "both" && tuning.roofs ? tuning.computing.rate / tuning.roofs.copy_gb_per_s : null;
  const [low, high] = extent(ridge === null ? xs : [...xs, ridge / 4, ridge], "log", 0); // so that slopes can be seen
  const x = [low / 3, high * 3];
  const tops = lines.map(line => line.at(x[1]));
  return {x, y: extent([...places, ...others].map(({y}) => y).concat(tops), "log", 0.06), lines};
}

function drawRoofs(plot, x, y, lines) {
  const [low, high] = x.domain;
  for (const line of lines) {
    const steps = Array.from({length: 121}, (_, k) => low * (high / low) ** (k / 120));
    const shown = steps.filter(step => line.at(step) >= y.domain[0]);
    const path = shown.map((step, k) => `${k === 0 ? "M" : "L"}${x(step).toFixed(1)} ${y(line.at(step)).toFixed(1)}`).join("");
    plot.root.append(svg("path", {d: path, class: `roof ${line.name}`}));
    shown.slice(1).forEach((step, k) => keepFree(plot, [x(shown[k]), y(line.at(shown[k]))], [x(step), y(line.at(step))], 1));
  }
}

/** Labels stand beside points, not on them: a stretch of a column where there are any is kept free. */
function keepPoints(plot, pixels) {
  const cells = new Set(pixels.map(found => `${Math.round(found.x / 6)} ${Math.round(found.y / 6)}`));
  for (const cell of cells) {
    const [across, down] = cell.split(" ").map(at => at * 6);
    keepFree(plot, [across, down], [across, down], 3);
  }
}

/** A roof's name stands beside its line: along the slope for bandwidths, from where it starts. */
function nameRoofs(plot, x, y, lines, kind, tuning) {
  const angle = kind === "both" ? -Math.atan2(y(1) - y(10), x(10) - x(1)) * 180 / Math.PI : 0;
  const [low, high] = x.domain;
  const group = svg("g", {});
  for (const line of lines) {
    const start = Math.max(low * 1.15, y.domain[0] / line.at(1) * 1.25);
    const along = [1, 1.6, 2.5, 4, 6, 10].map(factor => start * factor).flatMap(at =>
      [-6, 13].map(off => ({x: x(at), y: y(line.at(at)) + off, anchor: "start", angle})));
    const flat = [-6, 13].map(off => ({x: plot.area.right - 4, y: y(line.at(high)) + off, anchor: "end"}));
    label(plot, group, line.text, kind === "both" ? along : flat, {name: `roof-name ${line.name}`});
  }
  if (kind === "both") {
    const {name, rate} = tuning.computing;
    const top = y(rate);
    label(plot, group, `${name} ${figure(rate / 1e3, 3)} TFLOP/s`,
      [-6, 13].map(off => ({x: plot.area.right - 4, y: top + off, anchor: "end"})), {name: "roof-name copy"});
  }
  plot.root.append(group);
}

/** The best of the kernel's other problems on the same device. */
function bestOfOthers(tuning, kind) {
  return state.report.tunings.filter(other => other !== tuning && other.best !== null && other.kernel === tuning.kernel &&
    other.device.name === tuning.device.name && kindOfWork(other) === kind)
    .map(other => ({...place(other, kind, other.best), name: differences(tuning, other)})).filter(found => found.x > 0);
}

/** "K=32": what the problem has otherwise. */
function differences(tuning, other) {
  return Object.entries(other.problem).filter(([name, value]) => tuning.problem[name] !== value).map(pair => pair.join("=")).join(", ");
}

/** The best of other problems, each with its name where that has room. */
function drawOthers(plot, others, x, y) {
  const points = others.map(other => ({x: x(other.x), y: y(other.y), text: other.name}));
  const group = svg("g", {});
  marks(plot.root, points, "dash", "other");
  for (const {x: across, y: down, text} of points) {
    label(plot, group, text, [{x: across + 11, y: down + 4, anchor: "start"}, {x: across, y: down + 14}, {x: across, y: down - 6},
      {x: across - 11, y: down + 4, anchor: "end"}], {name: "halo"});
  }
  plot.root.append(group);
}

/** The best by what the GPU counted at each level, where the metrics say what was asked for: the same rate of operations, at another
 * intensity; or another amount of bytes. */
function placesOfLevels(tuning, kind) {
  if (kind === "flops") return [];
  const {best} = tuning;
  return levelsOf(tuning).map(level => ({name: `${level.name}, counted`,
    x: kind === "both" ? tuning.metric("flops")[best] / level.bytes : level.bytes / 1e6,
    y: kind === "both" ? KINDS.both.y(best)(tuning) : level.gbPerS})).filter(found => found.x > 0 && found.y > 0);
}

const BEYOND = " Beyond 100%: it beats what the roof was measured with, its data was still in a cache, or it does less than the " +
  "metrics say.";
const NO_ROOFS = "No roofs are known of this device, so that there is nothing to set the points against: run hone device --measure on it, " +
  "or give hone report --roofs. Without roofs all points of a problem stand in one column.";
const NO_WORK = "The config names no metric bytes or flops, so that no roof can be set against the times.";
const BUS = "What a pipeline moves crosses the bus, for which no roof is measured: the summary sets the best against its parts.";

function verdict(tuning) {
  const {best} = tuning;
  const bound = best === null ? null : tuning.bound(best);
  if (bound === null) return null;
  const share = bound.us / tuning.time[best];
  const what = {launch: "the launch of a kernel", copy: "memory bandwidth", L2: "bandwidth of the L2 cache", FP32: "FP32 arithmetic"}[bound.name] ??
    `${bound.name} on tensor cores`;
  return html("p", {class: "finding"}, `The best takes ${time(tuning.time[best])}; by ${what} it would need ${time(bound.us)} at least: `,
    html("strong", {}, `${(share * 100).toFixed(1)}% of the ${bound.name} roof`), ".",
    tuning.counted ? "" : " That is inferred from the metrics; with --counters the GPU tells.",
    tuning.beyond(best) !== null ? ` Faster than the roof: check the metric ${tuning.beyond(best)}.` : share > 1 ? BEYOND : "");
}

function draw(body, tuning) {
  const kind = kindOfWork(tuning);
  const missing = [[tuning.staging !== null, BUS], [kind === null, NO_WORK], [tuning.roofs === null, NO_ROOFS]].find(([holds]) => holds);
  replace(body);
  if (missing) {
    body.append(html("p", {class: "empty"}, missing[1]), countedBlock(tuning) ?? "");
    return;
  }
  const places = placesOf(tuning, kind);
  const others = [...bestOfOthers(tuning, kind), ...placesOfLevels(tuning, kind)];
  const {x: xDomain, y: yDomain, lines} = domains(tuning, kind, places, others);
  const title = `Roofline: ${places.length} points of ${tuning.kernel}, ${KINDS[kind].yLabel} against ${KINDS[kind].xLabel}.`;
  const plot = frame(body, {height: 340, title, margin: {left: 66}});
  const x = scale("log", xDomain, [plot.area.left, plot.area.right]);
  const y = scale("log", yDomain, [plot.area.bottom, plot.area.top]);
  axes(plot, x, y, KINDS[kind].xLabel, KINDS[kind].yLabel);
  drawRoofs(plot, x, y, lines);
  const toPixels = found => ({i: found.i, x: x(found.x), y: y(found.y)});
  const pixels = places.map(toPixels);
  const best = pixels.find(({i}) => i === tuning.best);
  drawPoints(plot.root, tuning, pixels, state.selected, "down");
  keepPoints(plot, pixels);
  for (const other of others) keepFree(plot, [x(other.x) - 7, y(other.y)], [x(other.x) + 7, y(other.y)], 1);
  if (best) ring(plot, best, `best ${tuning.costText(tuning.best)}`, true);
  nameRoofs(plot, x, y, lines, kind, tuning);
  drawOthers(plot, others, x, y); 
  inspect(plot, pixels, i => [...describeRecord(tuning, i), `${figure(place(tuning, kind, i).y)} ${KINDS[kind].yLabel}, ${tuning.roofText(i)}`]);
  pointLegend(body, tuning, others.length > 0 ? [["other dash", tuning.counted ? "the best of other problems; the best by counted bytes" : "the best of other problems"]] : []);
  body.append(verdict(tuning) ?? "", countedBlock(tuning) ?? "");
  body.append(tableAlternative(() => ["The best points and their place under the roofs",
    [">#", tuning.timed ? ">time" : `>${tuning.objectiveName}`, `>${KINDS[kind].yLabel}`, `>${KINDS[kind].xText}`, ">of roof", "~point"],
    tuning.ranked.slice(0, 50).map(i => [String(tuning.rank[i]), tuning.costText(i), figure(place(tuning, kind, i)?.y ?? NaN),
      figure(place(tuning, kind, i)?.x ?? NaN), tuning.roofText(i) ?? NONE, tuning.pointText(i)])]));
}

export function rooflineView() {
  const body = section("roofline", "Roofline", "Each point is a variant; roofs are what was measured on the device. Up is better.", true);
  watch("selection", tuning => draw(body, tuning));
}
