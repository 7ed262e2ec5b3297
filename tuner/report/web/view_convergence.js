// SPDX-License-Identifier: MIT
// How the search came to its best.
import {html, svg, section, replace, select, tableAlternative} from "./dom.js";
import {duration} from "./format.js";
import {state, watch} from "./state.js";
import {scale, extent, costAxis} from "./scale.js";
import {frame, axes, drawPoints, marks, ring, inspect, describeRecord, pointLegend} from "./chart.js";

let over = "evaluations";

/** Records at which the best so far changed; times of a final race are left to the race. */
function improvements(tuning) {
  const list = [];
  let best = null;
  for (let i = 0; i < tuning.count; i++) {
    if (!tuning.isValid(i) || (best !== null && !tuning.better(tuning.cost[i], best))) continue;
    best = tuning.cost[i];
    list.push(i);
  }
  return list;
}

function draw(body, tuning) {
  replace(body);
  const seconds = over === "seconds" && tuning.ended > tuning.started;
  const place = i => (seconds ? Math.max(0, tuning.column("at")[i] ?? 0) : i + 1);
  const shown = tuning.records(i => tuning.isValid(i) || tuning.isCensored(i));
  const steps = improvements(tuning);
  const yDomain = extent(shown.map(i => tuning.cost[i]), "log");
  const cost = costAxis(tuning, yDomain);
  const title = `Convergence: ${steps.length} improvements in ${tuning.count} evaluations of ${tuning.kernel}.`;
  const plot = frame(body, {height: 340, title});
  const last = seconds ? Math.max(...tuning.column("at").map(at => at ?? 0), 1e-3) : tuning.count;
  const x = scale("linear", [0, last], [plot.area.left, plot.area.right]);
  const y = scale("log", yDomain, [plot.area.bottom - 10, plot.area.top], {divide: cost.divide});
  axes(plot, x, y, seconds ? "time since the first record, s" : "evaluations, in the order of their records", cost.label);
  const points = shown.map(i => ({i, x: x(place(i)), y: y(tuning.cost[i])}));
  const failures = tuning.records(i => tuning.isFailure(i)).map(i => ({i, x: x(place(i)), y: plot.area.bottom - 4}));
  drawPoints(plot.root, tuning, points, state.selected, tuning.lowerIsBetter ? "up" : "down");
  marks(plot.root, failures, "cross", "failure");
  const path = steps.map((i, k) => {
    const [across, down] = [x(place(i)).toFixed(1), y(tuning.cost[i]).toFixed(1)];
    return k === 0 ? `M${across} ${down}` : `H${across}V${down}`;
  }).join("");
  if (path !== "") plot.root.append(svg("path", {d: `${path}H${x(last)}`, class: "so-far"}));
  const best = points.find(({i}) => i === tuning.best);
  if (best) ring(plot, best, `best ${tuning.costText(tuning.best)}`);
  inspect(plot, [...points, ...failures], i =>
    [`evaluation ${i + 1}: ${tuning.outcome[i]}`, ...describeRecord(tuning, i), tuning.message(i)].filter(line => line !== ""));
  pointLegend(body, tuning, [["so-far", "best so far"], ...(failures.length > 0 ? [["failure", "no valid result"]] : [])]);
  if (tuning.hasRace) body.append(html("p", {class: "hint"}, "Finalists stand where their final race was, with its times."));
  body.append(tableAlternative(() => ["When the best so far changed",
    [">evaluation", ">after", tuning.timed ? ">time" : `>${tuning.objectiveName}`, "~point"],
    steps.map(i => [String(i + 1), duration(tuning.column("at")[i] ?? NaN), tuning.costText(i), tuning.pointText(i)])]));
}

export function convergenceView() {
  const body = section("convergence", "Convergence", null, true);
  const controls = html("div", {class: "controls"}, select("over", [["evaluations", "evaluations"], ["seconds", "seconds"]], over, chosen => {
    over = chosen;
    draw(plot, state.tuning);
  }));
  const plot = html("div");
  body.append(controls, plot);
  watch("selection", tuning => draw(plot, tuning));
}
