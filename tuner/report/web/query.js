// SPDX-License-Identifier: MIT
// The filter of the records: words and conditions such as TILE=16 time<20 spills=0 ok.

const CONDITION = /^([A-Za-z_]\w*)(<=|>=|!=|=|<|>)(.*)$/;

const TESTS = {
  "=": (a, b) => a === b, "!=": (a, b) => a !== b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
};

/** What a name stands for: a function from a record to a text or figure; null when it is none. */
function lookUp(tuning, name) {
  const p = tuning.parameters.findIndex(parameter => parameter.name === name);
  if (p >= 0) return i => tuning.value(p, i);
  if (name === "outcome") return i => tuning.outcome[i];
  if (["time", "registers", "shared", "spills", "occupancy"].includes(name)) return i => tuning.column(name)[i];
  if (tuning.metrics[name] !== undefined) return i => tuning.metric(name)[i];
  return null;
}

function condition(tuning, [, name, operator, text], problems) {
  const value = lookUp(tuning, name);
  if (value === null) {
    problems.push(`there is no column “${name}”`);
    return null;
  }
  const wanted = Number(text);
  const numeric = text !== "" && !Number.isNaN(wanted);
  if (!numeric && operator.match(/[<>]/)) {
    problems.push(`“${text}” is no number`);
    return null;
  }
  return i => {
    const found = value(i);
    if (found === null) return false;
    return numeric && !Number.isNaN(Number(found)) ? TESTS[operator](Number(found), wanted) : TESTS[operator](String(found), text);
  };
}

/** {test, problems}; test is null when nothing is asked for. Words are looked for in point, outcome, remarks and
 * message. */
export function parseQuery(tuning, text) {
  const problems = [];
  const tests = [];
  for (const word of text.trim().split(/\s+/).filter(part => part !== "")) {
    const match = word.match(CONDITION);
    const test = match ? condition(tuning, match, problems) : null;
    if (test) tests.push(test);
    if (match) continue;
    const wanted = word.toLowerCase();
    tests.push(i => [tuning.pointText(i), tuning.outcome[i], ...tuning.remarks(i), tuning.message(i)].join(" ").toLowerCase().includes(wanted));
  }
  return {test: tests.length > 0 ? i => tests.every(test => test(i)) : null, problems};
}
