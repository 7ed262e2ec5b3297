// SPDX-License-Identifier: MIT
// Scales from figures to pixels, and where their ticks are.
import {timeUnit} from "./format.js";

function nice(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  const lead = step / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

function linearTicks([low, high], count) {
  const step = nice((high - low) / count || 1);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step);
  return ticks;
}

/** Powers of ten; over less than three decades some of their multiples too; over much less than one as linear. */
function logTicks([low, high], count) {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return linearTicks([low, high], count);
  const leads = decades <= 1.5 ? [1, 1.5, 2, 3, 5, 7] : decades <= 3 ? [1, 2, 5] : [1];
  const skip = Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (leads.length === 1 && power % skip !== 0) continue;
    for (const lead of leads) {
      const tick = lead * 10 ** power;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks;
}

function label(value) {
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3)) return value.toExponential().replace("e+", "e");
  return String(Number(value.toPrecision(6)));
}

/** A function from figures to pixels with its ticks. kind is "linear" or "log"; divide: the unit of the labels. */
export function scale(kind, domain, range, {count = 6, divide = 1} = {}) {
  const forward = kind === "log" ? Math.log : x => x;
  const backward = kind === "log" ? Math.exp : x => x;
  const [low, high] = domain.map(forward);
  const [start, end] = range;
  const at = x => start + (end - start) * (high === low ? 0.5 : (forward(x) - low) / (high - low));
  at.domain = domain;
  at.range = range;
  at.invert = pixel => backward(low + (high - low) * (pixel - start) / (end - start));
  const inUnit = domain.map(x => x / divide);
  at.ticks = (kind === "log" ? logTicks(inUnit, count) : linearTicks(inUnit, count))
    .map(tick => ({value: tick * divide, text: label(tick)}));
  return at;
}

/** The range of some figures with a margin; for a log scale a factor. */
export function extent(values, kind, margin = 0.04) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value) || (kind === "log" && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return kind === "log" ? [0.1, 1] : [0, 1];
  if (kind === "log") {
    const factor = Math.max((high / low) ** margin, 1.01);
    return [low / factor, high * factor];
  }
  const room = (high - low) * margin || Math.abs(high) * 0.05 || 1;
  return [low - room, high + room];
}

/** How costs of a tuning are drawn: the label with its unit, and what to divide figures by. */
export function costAxis(tuning, domain) {
  if (!tuning.timed) {
    return {label: `${tuning.objectiveName} (${tuning.lowerIsBetter ? "lower" : "higher"} is better)`, divide: 1,
            name: tuning.objectiveName, unit: ""};
  }
  const unit = timeUnit(domain[0]);
  return {label: `time of a launch, ${unit.name}`, divide: unit.size, name: "time", unit: unit.name};
}
