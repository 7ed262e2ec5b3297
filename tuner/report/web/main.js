// SPDX-License-Identifier: MIT
// Puts the page together.
import {html, byId, replace, announce} from "./dom.js";
import {date, plural} from "./format.js";
import {loadTunings, unpack} from "./data.js";
import {state, watch, showTuning, setFilter, clearFilters, isFiltered, refresh} from "./state.js";
import {summaryView, overviewView} from "./view_summary.js";
import {rooflineView} from "./view_roofline.js";
import {convergenceView} from "./view_convergence.js";
import {distributionView} from "./view_distribution.js";
import {effectsView} from "./view_effects.js";
import {heatmapView} from "./view_heatmap.js";
import {parallelView} from "./view_parallel.js";
import {scatterView} from "./view_scatter.js";
import {acrossView} from "./view_across.js";
import {ladderView} from "./view_ladder.js";
import {outcomesView} from "./view_outcomes.js";
import {compareView} from "./view_compare.js";
import {recordsView} from "./view_records.js";

/** The filters in force, each with a button that takes it away. */
function showFilters(tuning) {
  const bar = byId("selection");
  bar.hidden = !isFiltered();
  const text = `${state.selectedCount.toLocaleString("en")} of ${plural(tuning.count, "record")} selected`;
  if (isFiltered()) announce(text);
  replace(bar, html("span", {id: "selected"}, text), [...state.filters].map(([key, filter]) =>
    html("button", {type: "button", class: "chip", "aria-label": `Take away the filter ${filter.label}`, onclick: () => {
      setFilter(key, null);
      filter.clear?.();
    }}, filter.label, " ×")),
    html("button", {type: "button", id: "clear", onclick: clearFilters}, "clear all"));
}

function chooseTheme() {
  byId("theme").addEventListener("change", event => {
    if (event.target.value === "") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = event.target.value;
  });
}

function chooseTuning() {
  const list = byId("tuning");
  replace(list, state.report.tunings.map(tuning => html("option", {value: tuning.number}, tuning.title)));
  list.addEventListener("change", () => showTuning(state.report.tunings[Number(list.value)]));
  watch("tuning", tuning => { list.value = String(tuning.number); });
}

/** Plots are as wide as the page: drawn again when that changes. */
function followWidth() {
  let width = innerWidth;
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (innerWidth !== width) refresh();
      width = innerWidth;
    }, 150);
  });
}

async function start() {
  state.report = loadTunings(await unpack(byId("data").textContent));
  chooseTheme();
  chooseTuning();
  watch("selection", showFilters);
  for (const view of [overviewView, summaryView, rooflineView, convergenceView, distributionView, effectsView, heatmapView, ladderView,
    parallelView, scatterView, outcomesView, acrossView, compareView, recordsView]) view();
  replace(byId("footer"), `Written by Hone ${state.report.hone} on ${date(state.report.generated, true)}. `,
    "Times are medians with 95% intervals by order statistics; “≥” marks lower bounds of variants that were stopped early.");
  showTuning(state.report.tunings[0]);
  followWidth();
  document.body.dataset.drawn = "";
}

start().catch(error => {
  replace(byId("main"), html("p", {class: "banner"}, `This page cannot be drawn here: ${error.message}. It needs a browser of 2023 or later.`));
  throw error;
});
