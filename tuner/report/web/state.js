// SPDX-License-Identifier: MIT
// What is shown: one tuning, and of its records those that all filters let through. Views subscribe.

const watchers = {tuning: [], selection: []};

export const state = {
  report: null,
  tuning: null,
  filters: new Map(), // key -> {label, test(record), clear()}
  selected: [],       // a boolean a record
  selectedCount: 0,
};

export function watch(event, watcher) {
  watchers[event].push(watcher);
}

function tell(event) {
  for (const watcher of watchers[event]) watcher(state.tuning);
}

function select() {
  const tests = [...state.filters.values()].map(filter => filter.test);
  const {count} = state.tuning;
  state.selected = new Array(count);
  state.selectedCount = 0;
  for (let i = 0; i < count; i++) {
    state.selected[i] = tests.every(test => test(i));
    if (state.selected[i]) state.selectedCount++;
  }
}

export function showTuning(tuning) {
  state.tuning = tuning;
  state.filters.clear();
  select();
  tell("tuning");
  tell("selection");
}

/** Sets a filter, or with null takes it away. clear() undoes what the view shows of it. */
export function setFilter(key, filter) {
  if (filter === null && !state.filters.has(key)) return;
  if (filter === null) state.filters.delete(key);
  else state.filters.set(key, filter);
  select();
  tell("selection");
}

export function clearFilters() {
  const filters = [...state.filters.values()];
  state.filters.clear();
  for (const filter of filters) filter.clear?.();
  select();
  tell("selection");
}

/** Draws again what is selected. */
export function refresh() {
  tell("selection");
}

export function isFiltered() {
  return state.filters.size > 0;
}
