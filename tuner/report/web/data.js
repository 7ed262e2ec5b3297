// SPDX-License-Identifier: MIT
// The data of the page: tunings, whose records are kept as columns.
import {figure, time, date, spread, NONE} from "./format.js";

/** Of tensor cores, in the order in which metrics are looked for. */
const TENSOR_TYPES = ["fp8", "bf16", "fp16", "tf32"];

/** One tuning. Records are numbered in the order in which they were made. */
class Tuning {
  constructor(raw, outcomes, number) {
    Object.assign(this, raw);
    this.number = number;
    this.outcomeNames = outcomes;
    this.cache = new Map();
    [this.objectiveName, this.direction] = this.objective.split(" ");
    this.timed = this.objectiveName === "time";
    this.lowerIsBetter = this.direction !== "maximize";
    this.rates = Object.keys(this.metrics).filter(name =>
      !["bytes", "flops", ...TENSOR_TYPES.map(type => `flops_${type}`), this.objectiveName].includes(name));
    this.merit ??= this.rates.at(-1) ?? null; // where no config says which it is
    this.outcome = this.column("outcome").map(index => outcomes[index]);
    this.time = this.column("time");
    this.low = this.column("low");
    this.high = this.column("high");
    this.cost = this.timed ? this.time : this.metric(this.objectiveName);
    this.varying = this.parameters.map((_, p) => p).filter(p => this.parameters[p].values.length > 1);
    this.rankRecords();
    this.hasRace = this.column("final").some(final => final === 1);
  }

  /** The valid ones by their cost, the best first where others cost as much. A duplicate has the place of what it is a duplicate of, so that ranks
   * count different variants. */
  rankRecords() {
    const original = this.column("original");
    const own = i => (this.outcome[i] === "duplicate" && original[i] !== null && this.isValid(original[i]) ? original[i] : i);
    const order = (a, b) => (a === b ? 0 : this.compare(a, b) || (b === this.best) - (a === this.best) || a - b);
    this.ranked = this.records(i => this.isValid(i)).sort((a, b) => order(own(a), own(b)) || (a !== own(a)) - (b !== own(b)) || a - b);
    this.rank = new Array(this.count).fill(null);
    this.ranks = 0;
    for (const i of this.ranked) this.rank[i] = own(i) === i ? ++this.ranks : this.rank[own(i)];
    this.samples.sort((a, b) => this.rank[a.record] - this.rank[b.record]);
  }

  /** A column of figures; null where a record has none. */
  column(name) {
    if (!this.cache.has(name)) this.cache.set(name, this.expand(this.columns[name]));
    return this.cache.get(name);
  }

  metric(name) {
    const key = `metric ${name}`;
    if (!this.cache.has(key)) this.cache.set(key, this.expand(this.metrics[name]));
    return this.cache.get(key);
  }

  /** What is the same for all records is written once. */
  expand(column) {
    return Array.isArray(column) ? column : new Array(this.count).fill(column ?? null);
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
    return this.timed ? time(cost) : figure(cost);
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
    const original = this.column("original")[i];
    if (this.outcome[i] === "duplicate" && original !== null) return `same machine code and launch as ${this.pointText(original)}`;
    const index = this.column("message")[i];
    if (index === null) return "";
    return index < 0 ? "(left out of the report for its size)" : this.messages[index];
  }

  /** Who measured it, of several GPUs; "" where that is not told. */
  cardText(i) {
    const place = this.column("card")[i];
    return place === null ? "" : `${this.cards[place].host} ${this.cards[place].card.slice(0, 12)}`;
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

  computed(i) {
    const {metric} = this.computing;
    return this.metrics[metric] === undefined ? 0 : this.metric(metric)[i] ?? 0;
  }

  /** What a launch takes at least on this device, by its metrics bytes and flops (the roofline model of Williams,
   * Waterman and Patterson, 2009), and what bounds it; null where that is not known. With a warm L2 cache nothing moves
   * faster than from there. */
  bound(i) {
    const roofs = this.roofs;
    const moved = this.metrics.bytes === undefined ? 0 : this.metric("bytes")[i] ?? 0;
    const computed = this.computed(i);
    if (roofs === null || (moved === 0 && computed === 0)) return null;
    const memory = this.regime !== "cold" ? ["L2", moved / roofs.l2_gb_per_s / 1e3] : ["copy", moved / roofs.copy_gb_per_s / 1e3];
    const bounds = [["launch", roofs.launch_us], memory,
                    [this.computing.name, this.computing.rate > 0 ? computed / this.computing.rate / 1e3 : 0]];
    const [name, us] = bounds.reduce((longest, other) => (other[1] > longest[1] ? other : longest));
    return {name, us};
  }

  /** The metric that can not be true of a cold time, by the whole interval, or null: as hn_roof_shares in C, but that the
   * size of the device's L2 cache is not known here. No device of today has one of more than 128 MiB. */
  beyond(i) {
    const roofs = this.roofs;
    if (roofs === null || this.regime !== "cold" || this.outcome[i] !== "ok" || this.time[i] === null) return null;
    const us = 1.1 * Math.max(this.time[i], this.column("high")[i] ?? 0);
    const moved = this.metrics.bytes === undefined ? 0 : this.metric("bytes")[i] ?? 0;
    const {metric, rate} = this.computing;
    if (Math.max(moved - 2 ** 27, 0) > us * 1e3 * roofs.copy_gb_per_s || moved > us * 1e3 * roofs.l2_gb_per_s) return "bytes";
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
    return [...words, "-o", `${this.kernel}_tuned.h`].map(quote).join(" ");
  }

  /** The command that runs the point once more, for a shell. */
  command(i) {
    const words = ["hone", "run", this.config ?? `${this.kernel}.yaml`, ...this.problemWords];
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
  const tunings = sorted.map((raw, number) => new Tuning({...raw, cachePath: document.cache}, document.outcomes, number));
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
