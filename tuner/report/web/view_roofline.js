// SPDX-License-Identifier: MIT
// Every point against what the device can do at best (Williams, Waterman and Patterson, "Roofline", 2009).
import {html, svg, section, replace, tableAlternative} from "./dom.js";
import {figure, time, NONE} from "./format.js";
import {state, watch} from "./state.js";
import {scale, extent} from "./scale.js";
import {frame, axes, drawPoints, marks, ring, inspect, describeRecord, pointLegend} from "./chart.js";

/** How the tuning says its work: both bytes and flops give an intensity; one alone an amount. */
function kindOfWork(tuning) {
  const has = name => tuning.metrics[name] !== undefined && tuning.metric(name).some(value => value > 0);
  if (has("bytes") && has("flops")) return "both";
  return has("bytes") ? "bytes" : has("flops") ? "flops" : null;
}

const KINDS = {
  both: {x: i => t => t.metric("flops")[i] / t.metric("bytes")[i], y: i => t => t.metric("flops")[i] / t.time[i] / 1e3,
         xLabel: "arithmetic intensity, FLOP/byte", yLabel: "GFLOP/s", xText: "FLOP/byte"},
  bytes: {x: i => t => t.metric("bytes")[i] / 1e6, y: i => t => t.metric("bytes")[i] / t.time[i] / 1e3,
          xLabel: "bytes moved by a launch, MB", yLabel: "GB/s", xText: "MB"},
  flops: {x: i => t => t.metric("flops")[i] / 1e6, y: i => t => t.metric("flops")[i] / t.time[i] / 1e3,
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
  const {roofs} = tuning;
  if (roofs === null) return [];
  const lines = {
    both: [["copy", `copy ${figure(roofs.copy_gb_per_s)} GB/s`, x => Math.min(x * roofs.copy_gb_per_s, roofs.fp32_gflops)],
           ["l2", `L2 ${figure(roofs.l2_gb_per_s)} GB/s`, x => Math.min(x * roofs.l2_gb_per_s, roofs.fp32_gflops)]],
    bytes: [["copy", `copy ${figure(roofs.copy_gb_per_s)} GB/s`, x => Math.min(roofs.copy_gb_per_s, x * 1e3 / roofs.launch_us)],
            ["l2", `L2 ${figure(roofs.l2_gb_per_s)} GB/s`, x => Math.min(roofs.l2_gb_per_s, x * 1e3 / roofs.launch_us)]],
    flops: [["copy", `FP32 ${figure(roofs.fp32_gflops / 1e3, 3)} TFLOP/s`, x => Math.min(roofs.fp32_gflops, x * 1e3 / roofs.launch_us)]],
  };
  return lines[kind].map(([name, text, at]) => ({name, text, at}));
}

function domains(tuning, kind, places, others) {
  const lines = roofLines(tuning, kind);
  const xs = [...places, ...others].map(({x}) => x);
  const ridge = kind === "both" && tuning.roofs ? tuning.roofs.fp32_gflops / tuning.roofs.copy_gb_per_s : null;
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
  }
}

/** A roof's name stands where its line starts: at the slope for bandwidths. */
function nameRoofs(plot, x, y, lines, kind, tuning) {
  const angle = kind === "both" ? -Math.atan2(y(1) - y(10), x(10) - x(1)) * 180 / Math.PI : 0;
  for (const line of lines) {
    const [low, high] = x.domain;
    const flat = kind !== "both";
    const start = flat ? high : Math.max(low * 1.15, y.domain[0] / line.at(1) * 1.25);
    const left = x(start);
    const top = y(line.at(start)) - 6;
    plot.root.append(svg("text", {x: left, y: top, class: `roof-name ${line.name}`, "text-anchor": flat ? "end" : "start",
      transform: flat ? null : `rotate(${angle.toFixed(1)} ${left.toFixed(1)} ${top.toFixed(1)})`}, line.text));
  }
  if (kind === "both" && tuning.roofs) {
    const top = tuning.roofs.fp32_gflops;
    plot.root.append(svg("text", {x: plot.area.right - 4, y: y(top) - 6, "text-anchor": "end", class: "roof-name copy"},
      `FP32 ${figure(top / 1e3, 3)} TFLOP/s`));
  }
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

/** A name that would cover another, or that of the best, is left out. */
function drawOthers(plot, others, best, x, y) {
  const points = others.map(other => ({x: x(other.x), y: y(other.y), text: other.name, half: other.name.length * 3.2}));
  const taken = best ? [{x: best.x, y: best.y, half: 110}] : [];
  marks(plot.root, points, "dash", "other");
  for (const point of points) {
    if (taken.some(other => Math.abs(other.y - point.y) < 22 && Math.abs(other.x - point.x) < other.half + point.half)) continue;
    taken.push(point);
    plot.root.append(svg("text", {x: point.x, y: point.y - 6, "text-anchor": "middle", class: "halo"}, point.text));
  }
}

const BEYOND = " Beyond 100%: it beats what the roof was measured with, its data was still in a cache, or it does less than the " +
  "metrics say.";
const NO_ROOFS = "No roofs are known of this device: run hone device --measure on it, or give --roofs.";

function verdict(tuning) {
  const {best} = tuning;
  const bound = best === null ? null : tuning.bound(best);
  if (bound === null) return null;
  const share = bound.us / tuning.time[best];
  const what = {launch: "the launch of a kernel", copy: "memory bandwidth", L2: "bandwidth of the L2 cache", FP32: "FP32 arithmetic"}[bound.name];
  return html("p", {class: "finding"}, `The best takes ${time(tuning.time[best])}; by ${what} it would need ${time(bound.us)} at least: `,
    html("strong", {}, `${(share * 100).toFixed(1)}% of the ${bound.name} roof`), ".",
    tuning.beyond(best) !== null ? ` Faster than the roof: check the metric ${tuning.beyond(best)}.` : share > 1 ? BEYOND : "");
}

function draw(body, tuning) {
  const kind = kindOfWork(tuning);
  replace(body);
  if (kind === null) {
    body.append(html("p", {class: "empty"}, "The config names no metric bytes or flops, so that no roof can be set against the times."));
    return;
  }
  const places = placesOf(tuning, kind);
  const others = bestOfOthers(tuning, kind);
  const {x: xDomain, y: yDomain, lines} = domains(tuning, kind, places, others);
  const title = `Roofline: ${places.length} points of ${tuning.kernel}, ${KINDS[kind].yLabel} against ${KINDS[kind].xLabel}.`;
  const plot = frame(body, {height: 340, title, margin: {left: 66}});
  const x = scale("log", xDomain, [plot.area.left, plot.area.right]);
  const y = scale("log", yDomain, [plot.area.bottom, plot.area.top]);
  axes(plot, x, y, KINDS[kind].xLabel, KINDS[kind].yLabel);
  drawRoofs(plot, x, y, lines);
  nameRoofs(plot, x, y, lines, kind, tuning);
  const toPixels = found => ({i: found.i, x: x(found.x), y: y(found.y)});
  const pixels = places.map(toPixels);
  const best = pixels.find(({i}) => i === tuning.best);
  drawOthers(plot, others, best, x, y);
  drawPoints(plot.root, tuning, pixels, state.selected, "down");
  if (best) ring(plot.root, best, `best ${tuning.costText(tuning.best)}`, plot.area.right, true);
  inspect(plot, pixels, i => [...describeRecord(tuning, i), `${figure(place(tuning, kind, i).y)} ${KINDS[kind].yLabel}, ${tuning.roofText(i)}`]);
  pointLegend(body, tuning, others.length > 0 ? [["other dash", "the best of other problems"]] : []);
  body.append(verdict(tuning) ?? html("p", {class: "empty"}, NO_ROOFS));
  body.append(tableAlternative(() => ["The best points and their place under the roofs",
    [">#", tuning.timed ? ">time" : `>${tuning.objectiveName}`, `>${KINDS[kind].yLabel}`, `>${KINDS[kind].xText}`, ">of roof", "~point"],
    tuning.ranked.slice(0, 50).map((i, k) => [String(k + 1), tuning.costText(i), figure(place(tuning, kind, i)?.y ?? NaN),
      figure(place(tuning, kind, i)?.x ?? NaN), tuning.roofText(i) ?? NONE, tuning.pointText(i)])]));
}

export function rooflineView() {
  const body = section("roofline", "Roofline", "Each point is a variant; roofs are what was measured on the device. Up is better.", true);
  watch("selection", tuning => draw(body, tuning));
}
