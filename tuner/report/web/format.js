// SPDX-License-Identifier: MIT
// Figures as people read them, each with its unit.

export const NONE = "–";

/** Four significant digits, as far as they say something, without an exponent where one can be spared. */
export function figure(value, digits = 4) {
  if (!Number.isFinite(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(Math.max(0, digits - 2));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toFixed(Math.min(decimals, 8));
}

export function energy(joules) {
  const [name, size] = [["J", 1], ["mJ", 1e-3], ["µJ", 1e-6]].find(([, unit]) => joules >= unit) ?? ["µJ", 1e-6];
  return `${figure(joules / size)} ${name}`;
}

const UNITS = [["s", 1e6], ["ms", 1e3], ["µs", 1]];

/** The unit in which so many microseconds are said: {name, size}. */
export function timeUnit(us) {
  const [name, size] = UNITS.find(([, least]) => us >= least) ?? UNITS[2];
  return {name, size};
}

export function time(us) {
  if (!Number.isFinite(us)) return NONE;
  const unit = timeUnit(us);
  return `${figure(us / unit.size)} ${unit.name}`;
}

export function percent(share, decimals = 0) {
  return Number.isFinite(share) ? `${(share * 100).toFixed(decimals)}%` : NONE;
}

/** Half the interval over the median; "±?" when there is none. */
export function spread(low, median, high) {
  const half = (high - low) / 2 / median;
  if (half === 0) return "±?";
  return Number.isFinite(half) ? `±${(half * 100).toFixed(half < 0.1 ? 2 : 0)}%` : NONE;
}

export function bytes(count) {
  if (!Number.isFinite(count)) return NONE;
  return count < 1024 ? `${count} B` : `${figure(count / 1024, 3).replace(/\.0+$/, "")} KiB`;
}

export function date(seconds, withTime) {
  if (!(seconds > 0)) return "unknown";
  const text = new Date(seconds * 1000).toISOString();
  return withTime ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : text.slice(0, 10);
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return NONE;
  if (seconds < 120) return `${figure(seconds, 3)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
