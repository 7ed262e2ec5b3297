// SPDX-License-Identifier: MIT
// What the GPU counted of the best point's launch, and what that says.
import {html, table} from "./dom.js";
import {bytes, figure, percent} from "./format.js";

/** What crossed each level of memory: {name, bytes, gbPerS, roof}; a roof of 0 is not known. */
export function levelsOf(tuning) {
  const {counted, roofs} = tuning;
  if (!counted) return [];
  const of = {DRAM: roofs?.copy_gb_per_s ?? 0, L2: roofs?.l2_gb_per_s ?? 0, L1: 0};
  return Object.entries(counted.levels).filter(([, amount]) => amount > 0).map(([name, amount]) =>
    ({name, bytes: amount, gbPerS: amount / tuning.time[tuning.best] / 1e3, roof: of[name]}));
}

/** A table, a sentence and a list; null where nothing was counted. */
export function countedBlock(tuning) {
  const {counted} = tuning;
  if (!counted) return null;
  const rows = levelsOf(tuning).map(level => [level.name, bytes(level.bytes), figure(level.gbPerS),
    level.roof > 0 ? percent(level.gbPerS / level.roof, 1) : "not known"]);
  const busy = Object.entries(counted.busy).filter(([, share]) => share >= 0.05).sort((a, b) => b[1] - a[1]);
  const effective = counted.effective_gb_per_s > 0 ? `effective ${figure(counted.effective_gb_per_s)} GB/s, ` : "";
  return html("div", {id: "counted"},
    html("p", {class: "finding"}, "The GPU's counters say that the best is bound by ", html("strong", {}, counted.bound), ": ",
      `${effective}actual ${figure(counted.dram_gb_per_s)} GB/s. `,
      busy.length > 0 ? `Busy: ${busy.map(([name, share]) => `${name} ${percent(share)}`).join(", ")}.` : ""),
    table("What crossed each level of memory in a launch of the best", ["~level", ">bytes", ">GB/s", ">of roof"], rows, {class: "plain"}),
    counted.findings.length === 0 ? null : html("ol", {}, counted.findings.slice(0, 5).map(finding =>
      html("li", {}, `${finding.text}: `, finding.remedy, html("span", {class: "quiet"}, ` (counted: ${finding.counted})`)))));
}
