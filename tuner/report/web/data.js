// SPDX-License-Identifier: MIT
// The data of the page: tunings with their records, of which columns are made.
import {energy, figure, time, date, spread, NONE} from "./format.js";

/** Of tensor cores, in the order in which metrics are looked for. */
const TENSOR_TYPES = ["fp8", "bf16", "fp16", "tf32"];

const VERIFICATIONS = ["unverified", "self-verified", "verified", "not recorded"];

const number = value => (typeof value === "boolean" ? Number(value) : typeof value === "number" ? value : null);
const tenths = value => Math.round((value ?? 0) * 10) / 10;
const hasTime = record => ["ok", "slower", "duplicate"].includes(record.outcome) && (number(record.timing?.median_us) ?? 0) > 0;
const timed = name => record => (hasTime(record) ? number(record.timing[name]) : null);
const compared = name => record => (["verified", "self-verified"].includes(record.verdict?.kind) ? number(record.verdict[name]) : null);
const weighed = name => record => ((record.energy?.windows ?? 0) > 0 ? number(record.energy[name]) : null);
const used = (name, other) => ({resources}) => (resources === undefined ? null : resources[name] + (resources[other] ?? 0));

/** The figure that a column has of a record; null where it has none. */
const COLUMNS = {
  time: timed("median_us"),
  low: timed("low_us"),
  high: timed("high_us"),
  final: ({final}) => Number(final),
  unstable: record => Number(hasTime(record) && record.timing.unstable),
  samples: timed("samples"),
  batch: timed("batch"),
  clock: record => (hasTime(record) && record.timing.clock_mhz > 0 ? Math.round(record.timing.clock_mhz) : null),
  joules: weighed("joules"),
  watts: record => (weighed("power_w")(record) === null ? null : tenths(record.energy.power_w)),
  ratio: ({ratio}) => (ratio > 0 ? ratio : null), // how much longer its card takes than the first
  verification: ({verdict}) => VERIFICATIONS.indexOf(verdict?.kind ?? "unverified"),
  max_error: compared("max_error"),
  tolerance: compared("tolerance"),
  registers: used("registers"),
  shared: used("shared_bytes", "dynamic_shared_bytes"),
  spills: used("spill_store_bytes", "spill_load_bytes"),
  occupancy: used("occupancy"),
  compile_ms: ({costs}) => tenths(costs?.compile_ms),
  run_ms: ({costs}) => tenths((costs?.verify_ms ?? 0) + (costs?.measure_ms ?? 0)),
  conditions: ({conditions}) => conditions,
  warnings: ({resources}) => resources?.warnings?.join(", ") || null,
  at: ({at}) => at,
};

/** One tuning. Records are numbered in the order in which they were made. */
class Tuning {
  constructor(raw, number) {
    Object.assign(this, raw);
    this.number = number;
    this.cache = new Map();
    this.takeParameters();
    this.takeMetrics();
    this.takeOriginals();
    [this.objectiveName, this.direction] = this.objective.split(" ");
    this.timed = this.objectiveName === "time";
    this.lowerIsBetter = this.direction !== "maximize";
    this.rates = Object.keys(this.metrics).filter(name =>
      !["bytes", "flops", ...TENSOR_TYPES.map(type => `flops_${type}`), this.objectiveName].includes(name));
    this.merit ??= this.rates.at(-1) ?? null; // where no config says which it is
    this.outcome = this.rows.map(({outcome}) => outcome);
    this.time = this.column("time");
    this.low = this.column("low");
    this.high = this.column("high");
    this.cost = this.takeCosts();
    if (this.cost[this.best] === null) this.best = null; // none was weighed yet
    this.varying = this.parameters.map((_, p) => p).filter(p => this.parameters[p].values.length > 1);
    this.samples = this.rows.flatMap(({timing}, record) => (timing?.samples_us ? [{record, us: timing.samples_us}] : []));
    this.rankRecords();
    this.hasRace = this.column("final").some(final => final === 1);
  }

  /** The values of each parameter, sorted, and of each record which of them it has. */
  takeParameters() {
    this.parameters = this.parameters.map(name => ({
      name, values: [...new Set(this.rows.map(({point}) => point[name]).filter(value => value !== undefined))].sort(compareValues)}));
    this.points = this.parameters.map(({name, values}) => {
      const places = new Map(values.map((value, place) => [value, place]));
      return this.rows.map(({point}) => places.get(point[name]) ?? null);
    });
  }

  takeMetrics() {
    this.metrics = {};
    for (const {metrics} of this.rows)
      for (const name of Object.keys(metrics ?? {})) this.metrics[name] ??= this.rows.map(record => number(record.metrics?.[name]));
  }

  /** What the objective is of each record: of energy those alone have it that were weighed. */
  takeCosts() {
    const joules = this.column("joules");
    const measured = {time: this.time, energy: joules, energy_delay: joules.map((own, i) => (own === null ? null : own * this.time[i] * 1e-6))};
    return this.metrics[this.objectiveName] ?? measured[this.objectiveName] ?? this.rows.map(() => null);
  }

  /** Of which record one is a duplicate. */
  takeOriginals() {
    const places = new Map(this.rows.map(({point}, place) => [Object.entries(point).map(pair => pair.join("=")).join(","), place]));
    this.original = this.rows.map(({original}) => places.get(original) ?? null);
  }

  /** The valid ones by their cost, those of the final race first, as it decides, and the best first where others cost as much. A duplicate has the
   * place of what it is a duplicate of, so that ranks count different variants. */
  rankRecords() {
    const {original} = this;
    const own = i => (this.outcome[i] === "duplicate" && original[i] !== null && this.isValid(original[i]) ? original[i] : i);
    const raced = this.column("final");
    const order = (a, b) => (a === b ? 0 : raced[b] - raced[a] || this.compare(a, b) || (b === this.best) - (a === this.best) || a - b);
    this.ranked = this.records(i => this.isValid(i)).sort((a, b) => order(own(a), own(b)) || (a !== own(a)) - (b !== own(b)) || a - b);
    this.rank = new Array(this.count).fill(null);
    this.ranks = 0;
    for (const i of this.ranked) this.rank[i] = own(i) === i ? ++this.ranks : this.rank[own(i)];
    this.samples.sort((a, b) => this.rank[a.record] - this.rank[b.record]);
  }

  /** A column of figures; null where a record has none. */
  column(name) {
    if (!this.cache.has(name)) this.cache.set(name, this.rows.map(COLUMNS[name]));
    return this.cache.get(name);
  }

  metric(name) {
    return this.metrics[name] ?? this.rows.map(() => null);
  }

  records(test) {
    const found = [];
    for (let i = 0; i < this.count; i++) if (test(i)) found.push(i);
    return found;
  }

  /** A time that was measured in full; a duplicate has its original's. */
  isValid(i) {
    return (this.outcome[i] === "ok" || this.outcome[i] === "duplicate") && this.cost[i] !== null;
  }

  /** Stopped early: its time is a lower bound. */
  isCensored(i) {
    return this.outcome[i] === "slower" && this.cost[i] !== null;
  }

  isFailure(i) {
    return !["ok", "duplicate", "slower", "skipped", "compile_stopped"].includes(this.outcome[i]);
  }

  /** Below 0 where a is better. */
  compare(a, b) {
    return this.lowerIsBetter ? this.cost[a] - this.cost[b] : this.cost[b] - this.cost[a];
  }

  /** The best of those that were measured in full; null where there is none. */
  bestCost(records) {
    const best = records.filter(i => this.isValid(i)).reduce((found, i) => (found === null || this.compare(i, found) < 0 ? i : found), null);
    return best === null ? null : this.cost[best];
  }

  better(x, y) {
    return this.lowerIsBetter ? x < y : x > y;
  }

  /** How many times worse a cost is than the best: 1 and more. */
  ratio(cost) {
    const best = this.cost[this.best];
    return this.lowerIsBetter ? cost / best : best / cost;
  }

  /** Its interval overlaps that of the best: nothing that was measured tells them apart. */
  isTied(i) {
    return this.timed && this.best !== null && i !== this.best && this.outcome[i] === "ok" &&
      this.low[i] <= this.high[this.best] && this.low[this.best] <= this.high[i];
  }

  get ties() {
    return this.records(i => this.isTied(i)).sort((a, b) => this.compare(a, b));
  }

  value(p, i) {
    const index = this.points[p][i];
    return index === null ? NONE : this.parameters[p].values[index];
  }

  /** "TILE=32, PAD=1": the parameters that vary. */
  pointText(i, separator = " ") {
    return this.varying.map(p => `${this.parameters[p].name}=${this.value(p, i)}`).join(separator) || "the only point";
  }

  costText(i) {
    const cost = this.cost[i];
    if (cost === null) return NONE;
    const bound = this.lowerIsBetter ? "≥ " : "≤ ";
    return (this.isCensored(i) ? bound : "") + this.costFigure(cost);
  }

  costFigure(cost) {
    return this.timed ? time(cost) : this.objectiveName === "energy" ? energy(cost) : figure(cost);
  }

  get problemText() {
    return Object.entries(this.problem).map(([name, value]) => `${name}=${value}`).join(", ");
  }

  get regimeText() {
    const texts = {unknown: "L2 state not recorded", stream: "back to back in a stream", graph: "replayed as a graph", graph10: "in graphs of ten"};
    return texts[this.regime] ?? `${this.regime} L2`;
  }

  get title() {
    const parts = [this.kernel, this.problemText, this.device.name, this.regimeText];
    if (this.started > 0) parts.push(date(this.started));
    if (this.simulated) parts.push("simulated");
    return parts.filter(part => part !== "").join(" · ");
  }

  /** A metric of a time that was measured in full: one of a lower bound says nothing. */
  rateText(name, i) {
    return this.isCensored(i) ? NONE : figure(this.metric(name)[i] ?? NaN);
  }

  spreadText(i) {
    return !this.isCensored(i) && this.time[i] !== null ? spread(this.low[i], this.time[i], this.high[i]) : NONE;
  }

  message(i) {
    const original = this.original[i];
    if (this.outcome[i] === "duplicate" && original !== null) return `same machine code and launch as ${this.pointText(original)}`;
    return this.rows[i].message ?? "";
  }

  /** Who measured it, of several GPUs; "" where that is not told. */
  cardText(i) {
    const {host, card} = this.rows[i];
    return card === undefined ? "" : `${host ?? ""} ${card.slice(0, 12)}`;
  }

  /** What a reader has to know before trusting the time. */
  remarks(i) {
    const kind = this.column("verification")[i];
    const timed = this.cost[i] !== null;
    return [
      [i === this.best, "best"], [this.isTied(i), "tied"], [this.isCensored(i), "lower bound"],
      [timed && kind === 0, "UNVERIFIED"], [timed && kind === 1, "self-verified"], [timed && kind === 3, "verification not recorded"],
      [timed && this.column("unstable")[i] === 1, "unstable"],
      [this.beyond(i) !== null, `faster than the roof: check ${this.beyond(i)}`], [this.outcome[i] === "duplicate", "duplicate"],
      [this.simulated, "simulated"], [this.stale, "stale"],
    ].filter(([holds]) => holds).map(([, remark]) => remark);
  }

  /** What computes, as the first of these metrics says that there is: tensor cores by the type of their numbers, else FP32;
   * and its roof in GFLOP/s, 0 where that is not known. */
  get computing() {
    const type = TENSOR_TYPES.find(type => this.metrics[`flops_${type}`] !== undefined &&
      this.metric(`flops_${type}`).some(value => value > 0));
    return type === undefined ? {metric: "flops", name: "FP32", rate: this.roofs?.fp32_gflops ?? 0}
      : {metric: `flops_${type}`, name: type.toUpperCase(), rate: this.roofs?.tensor?.[type]?.gflops ?? 0};
  }

  /** Where its size is not known, as many as no device of today has more of. */
  get l2Bytes() {
    return this.roofs?.l2_bytes ?? 2 ** 27;
  }

  computed(i) {
    const {metric} = this.computing;
    return this.metrics[metric] === undefined ? 0 : this.metric(metric)[i] ?? 0;
  }

  /** What a launch takes at least on this device, by its metrics bytes and flops (the roofline model of Williams,
   * Waterman and Patterson, 2009), and what bounds it; null where that is not known. A warm L2 cache serves what its half
   * holds. What a pipeline moves crosses the bus, for which there is no roof. */
  bound(i) {
    const roofs = this.roofs;
    const moved = this.metrics.bytes === undefined ? 0 : this.metric("bytes")[i] ?? 0;
    const computed = this.computed(i);
    if (roofs === null || this.staging !== null || (moved === 0 && computed === 0)) return null;
    const cached = this.regime !== "cold" && moved <= this.l2Bytes / 2;
    const memory = cached ? ["L2", moved / roofs.l2_gb_per_s / 1e3] : ["copy", moved / roofs.copy_gb_per_s / 1e3];
    const bounds = [["launch", roofs.launch_us], memory,
                    [this.computing.name, this.computing.rate > 0 ? computed / this.computing.rate / 1e3 : 0]];
    const [name, us] = bounds.reduce((longest, other) => (other[1] > longest[1] ? other : longest));
    return {name, us};
  }

  /** The metric that cannot be true of a cold time, by the whole interval, or null: as find_beyond in C. */
  beyond(i) {
    const roofs = this.roofs;
    if (roofs === null || this.staging !== null || this.regime !== "cold" || this.outcome[i] !== "ok" || this.time[i] === null) return null;
    const us = 1.1 * Math.max(this.time[i], this.column("high")[i] ?? 0);
    const moved = this.metrics.bytes === undefined ? 0 : this.metric("bytes")[i] ?? 0;
    const {metric, rate} = this.computing;
    if (Math.max(moved - this.l2Bytes, 0) > us * 1e3 * roofs.copy_gb_per_s || moved > us * 1e3 * roofs.l2_gb_per_s) return "bytes";
    return rate > 0 && this.computed(i) > us * 1e3 * rate ? metric : null;
  }

  roofText(i) {
    const bound = this.time[i] === null ? null : this.bound(i);
    return bound === null ? NONE : `${this.isCensored(i) ? "≤ " : ""}${(100 * bound.us / this.time[i]).toFixed(0)}% ${bound.name}`;
  }

  /** Which of some parameters records differ in, and what they share: [parameters, text]. */
  split(records, parameters = this.parameters.map((_, p) => p)) {
    const same = p => records.every(i => this.points[p][i] === this.points[p][records[0]]);
    const shared = parameters.filter(same).map(p => `${this.parameters[p].name}=${this.value(p, records[0])}`);
    return [parameters.filter(p => !same(p)), shared.join(", ")];
  }

  get problemWords() {
    return Object.entries(this.problem).flatMap(([name, value]) => ["-p", `${name}=${value}`]);
  }

  /** The command that exports the best of just this problem and device, from where the report has it. */
  get exportCommand() {
    const words = ["hone", "export", this.kernel, ...this.problemWords];
    if (this.recorded) words.push("--recorded", this.source);
    else if (this.cachePath !== null) words.push("--cache", this.cachePath);
    if (this.config !== null) words.push("--config", this.config);
    words.push("--device-name", this.device.name);
    if (!["cold", "unknown"].includes(this.regime)) words.push("--regime", this.regime);
    words.push(...this.program ? ["--format", "json", "-o", `${this.kernel}_tuned.json`] : ["-o", `${this.kernel}_tuned.h`]);
    return words.map(quote).join(" ");
  }

  /** The command that runs the point once more, for a shell. A program's is tuned into a cache that does not know it yet. */
  command(i) {
    const words = ["hone", this.program ? "tune" : "run", this.config ?? `${this.kernel}.yaml`, ...this.problemWords];
    if (this.program) words.push("--allow-run", "--cache", "again.db");
    const set = this.parameters.map((parameter, p) => `${parameter.name}=${this.value(p, i)}`);
    if (set.length > 0) words.push("-s", set.join(","));
    if (!["cold", "unknown"].includes(this.regime)) words.push("--regime", this.regime);
    return words.map(quote).join(" ");
  }
}

export function quote(word) {
  return /^[\w.,=:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Numbers by their size, before words. */
export function compareValues(a, b) {
  const [x, y] = [Number(a), Number(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** By kernel, in the order in which they were given, then by the values of the problem. */
function compareTunings(kernels, a, b) {
  if (a.kernel !== b.kernel) return kernels.indexOf(a.kernel) - kernels.indexOf(b.kernel);
  const names = [...new Set([...Object.keys(a.problem), ...Object.keys(b.problem)])];
  for (const name of names) {
    const order = compareValues(a.problem[name] ?? "", b.problem[name] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}

/** The document, which is packed: gzip, as base64. */
export async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** The tunings in order, of which the first is shown first. */
export function loadTunings(document) {
  const kernels = [...new Set(document.tunings.map(({kernel}) => kernel))];
  const sorted = [...document.tunings].sort((a, b) => compareTunings(kernels, a, b));
  const tunings = sorted.map((raw, number) => new Tuning({...raw, cachePath: document.cache}, number));
  return {...document, tunings};
}

/** The value below which the given part of a sorted list lies. */
export function quantile(sorted, part) {
  if (sorted.length === 0) return NaN;
  const place = (sorted.length - 1) * part;
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
