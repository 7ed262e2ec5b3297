#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws sizes that a family's rule has not seen, and sets what it chooses for them beside what libhone's race among its first
configurations finds, the vendor's function, the rule of another cache, and what tuning each size finds.

    bench/family/beside.py KERNEL --cache FILE [--seed S] [--sizes N] [--out FOLDER]
        --within SECONDS      stop measuring then, and say at how many sizes that was
        --rounds N, --seconds SECONDS   at most for each size, in both regimes together
        --other FILE          a cache with the rule of another device
        --tune SECONDS        tune each size for so long
        --tune-within SECONDS in all; sizes that were not reached are left out of that comparison
        --learnt SECONDS      how long the rule was learnt: its losses are a figure, too
        --draw NAME=LOW:HIGH  sizes of a kernel that is not known here, instead of its own

Prints a table and writes FOLDER/KERNEL.json. Exit code 1 when something failed or a result was wrong."""

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import evidence  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Logarithmic ranges or lists, fixed values, and what fits.
LENGTH = ({"SIZE": (1, 1 << 30)}, {}, lambda p: True)
PRODUCT = ({"M": (1, 16384), "N": (1, 16384), "K": (1, 1 << 20)}, {},
           lambda p: 4 * (p["M"] * p["K"] + p["K"] * p["N"] + p["M"] * p["N"]) <= 1 << 31)
PER_SM = (LENGTH[0], {"SM_COUNT": 132}, LENGTH[2])
KERNELS = {
    "sgemm": PRODUCT,
    "sgemm_blas": ({**PRODUCT[0], "TRANS_A": ["n", "t"], "TRANS_B": ["n", "t"]},
                   {"GAP_A": 0, "GAP_B": 0, "GAP_C": 0, "ALPHA": 1.0, "BETA": 0.0}, PRODUCT[2]),
    "bgemm": ({"M": (1, 16384), "N": (8, 16384), "K": (8, 32768)},
              {"TRANS_B": "t", "TYPE": "__nv_bfloat16", "OUT": "__nv_bfloat16", "ALPHA": 1.0, "BETA": 0.0, "BIAS": "none", "SM_COUNT": 132},
              lambda p: p["N"] % 8 == p["K"] % 8 == 0 and 2 * (p["M"] * p["K"] + p["K"] * p["N"] + p["M"] * p["N"]) <= 1 << 31),
    "transpose": ({"ROWS": (1, 1 << 20), "COLUMNS": (1, 1 << 20)}, {}, lambda p: p["ROWS"] * p["COLUMNS"] <= 1 << 29),
    "reduce": PER_SM,
    "dot": PER_SM,
    "copy": (LENGTH[0], {"PATTERN": "plain", "SIDE": "load", "OFFSET": 0, "STRIDE": 1}, LENGTH[2]),
}
EXACT, FAMILY = 5, 4  # of enum hone_grade


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("kernel")
    parser.add_argument("--cache", required=True)
    parser.add_argument("--config")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--sizes", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--within", type=float, default=300)
    parser.add_argument("--other")
    parser.add_argument("--learnt", type=float)
    parser.add_argument("--tune", type=float, default=0)
    parser.add_argument("--tune-within", type=float, default=300)
    parser.add_argument("--draw", action="append", default=[])
    parser.add_argument("--out", default="family-results")
    options = parser.parse_args()
    options.config = options.config or os.path.join(ROOT, "configs", options.kernel + ".yaml")
    if options.kernel not in KERNELS and not options.draw:
        print(f"sizes of '{options.kernel}' are not known here, so its rule stands alone: give them by --draw NAME=LOW:HIGH")
        options.sizes = 0
    return options


def program(name, folder):
    """Of the GPU bundle, or of a build."""
    build = os.environ.get("HONE_BUILD", os.path.join(ROOT, "build"))
    places = [os.path.join(ROOT, "bin", name), os.path.join(ROOT, "lib", name), os.path.join(build, folder, name)]
    return next(filter(os.path.exists, places), None)


def draw_value(source, values):
    if isinstance(values, list):
        return source.choice(values)
    low, high = values
    return min(high, int(math.exp(source.uniform(math.log(low), math.log(high + 1)))))


def draw(options):
    """Sizes evenly by their logarithms, none twice."""
    ranges, fixed, fits = KERNELS.get(options.kernel, ({}, {}, lambda p: True))
    for text in options.draw:
        name, ends = text.split("=")
        ranges = {**ranges, name: tuple(map(int, ends.split(":")))}
    source = random.Random(f"{options.kernel} {options.seed}")
    drawn = []
    while len(drawn) < options.sizes:
        problem = {name: draw_value(source, values) for name, values in ranges.items()}
        if fits(problem) and {**problem, **fixed} not in drawn:
            drawn.append({**problem, **fixed})
    return drawn


def measure(options, problems, caches, within):
    """The lines of bench_family, as far as time allows. A problem that fails leaves a broken context, so that the next needs a
    process of its own."""
    command = [program("bench_family", "bench/family"), options.kernel, *(f"{name}={path}" for name, path in caches),
               "--rounds", str(options.rounds), "--seconds", str(options.seconds)]
    peers = program("libbench_peers.so", "bench/family")
    command += ["--peers", peers] if peers else []
    end, lines, left = time.monotonic() + within, [], list(problems)
    while left and time.monotonic() < end:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        failed = False
        while left and not failed and time.monotonic() < end:
            try:
                process.stdin.write(json.dumps(left[0]) + "\n")
                process.stdin.flush()
                text = process.stdout.readline()
            except BrokenPipeError:
                text = ""
            problem = left.pop(0)
            lines.append(json.loads(text) if text else {"problem": problem, "failure": f"bench_family ended with {process.wait()}"})
            print_size(lines[-1])
            failed = "failure" in lines[-1]
        process.communicate()
    return lines


def tune_each(options, problems, path):
    """Tunes sizes, each for so many seconds, into a copy of the cache. Returns those that were reached."""
    shutil.copy(options.cache, path)
    end, tuned = time.monotonic() + options.tune_within, []
    for problem in problems:
        if time.monotonic() + options.tune > end:
            break
        values = [word for name, value in problem.items() for word in ("-p", f"{name}={value}")]
        command = [program("hone", "tuner"), "tune", options.config, *values, "--cache", path, "--budget", f"{options.tune:g}s", "--quiet"]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0:
            tuned.append(problem)
    return tuned


def geometric(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def text_of(problem):
    return ",".join(f"{name}={value}" for name, value in problem.items())


def compare(lines, name, regime, own="chosen"):
    """Of the other side's time over what was chosen, or raced: above 1 that is faster. A size that happens to be tuned is no choice."""
    def ratio(sides, side):
        return 1 if side == "chosen" else sides[side][regime + "_ratio"][1]

    ratios = [(ratio(line["sides"], name) / ratio(line["sides"], own), text_of(line["problem"])) for line in lines
              if {name, own} <= line.get("sides", {}).keys() and line["sides"]["chosen"]["grade"] != EXACT]
    if not ratios:
        return None
    worst = min(ratios)
    return {"beside": name, "own": own, "regime": regime, "sizes": len(ratios), "mean": geometric([ratio for ratio, _ in ratios]),
            "worst": worst[0], "worst_at": worst[1], "below_0.95": sum(ratio < 0.95 for ratio, _ in ratios)}


def median(numbers):
    """0 of none."""
    numbers = sorted(numbers)
    return numbers[(len(numbers) - 1) // 2] if numbers else 0


def host_times(lines):
    """What libhone took on the host: for the first size of the process; in the median of sizes that needed a configuration's machine
    code; and of sizes that found it loaded."""
    sides = [line["sides"]["chosen"] for line in lines if "sides" in line]
    if not sides:
        return None
    loads, loaded, seen = [], [], {sides[0]["point"]}
    for side in sides[1:]:
        if side["grade"] == FAMILY:
            (loaded if side["point"] in seen else loads).append(side)
        seen.add(side["point"])
    return {"first_get_us": sides[0]["get_us"], "first_launch_us": sides[0]["launch_us"],
            "loading": {"sizes": len(loads), "get_us": median(side["get_us"] for side in loads),
                        "launch_us": median(side["launch_us"] for side in loads)},
            "loaded": {"sizes": len(loaded), "get_us": median(side["get_us"] for side in loaded),
                       "worst_get_us": max((side["get_us"] for side in loaded), default=0),
                       "launch_us": median(side["launch_us"] for side in loaded)},
            "again_ns": median(side["again_ns"] for side in sides), "next_us": median(side["next_us"] for side in sides)}


def print_size(line):
    if "failure" in line:
        print(f"{text_of(line['problem']):40} FAILED: {line['failure']}")
        return
    chosen = line["sides"]["chosen"]
    words = [f"{text_of(line['problem']):40}", f"{chosen['cold_us'][1]:10.2f} us cold {chosen['warm_us'][1]:10.2f} us warm"]
    words += [f"{name}: {side['cold_ratio'][1]:.3f} [{side['cold_ratio'][0]:.3f}, {side['cold_ratio'][2]:.3f}], "
              f"{side['warm_ratio'][1]:.3f}" for name, side in line["sides"].items() if name != "chosen"]
    words += [] if chosen["grade"] == FAMILY else [f"grade {chosen['grade']}"]
    words += [] if chosen["sure"] else ["not sure"]
    print(" | ".join(words))


def print_summary(result):
    print(f"\n{result['kernel']}: {result['measured']} of {result['drawn']} sizes of seed {result['seed']} measured, {result['failed']} failed; "
          f"{result['of_family']} chosen by a rule, {result['sure']} of them surely")
    for row in result["comparisons"]:
        print(f"  time of {row['beside']} over time {row['own']}, {row['regime']}: geometric mean {row['mean']:.3f}, worst {row['worst']:.3f} "
              f"({row['worst_at']}), {row['below_0.95']} of {row['sizes']} below 0.95")
    host = result["host"]
    if host:
        loading, loaded = host["loading"], host["loaded"]
        print(f"  hone_get of the first size {host['first_get_us'] / 1000:.2f} ms and its launch {host['first_launch_us']:.0f} us; of "
              f"{loading['sizes']} that load a configuration {loading['get_us'] / 1000:.2f} ms and {loading['launch_us']:.0f} us; of "
              f"{loaded['sizes']} that find it loaded {loaded['get_us']:.2f} us (worst {loaded['worst_get_us']:.1f}) and "
              f"{loaded['launch_us']:.1f} us; again {host['again_ns']:.0f} ns; sizes one after another "
              f"{host['next_us']:.2f} us")


def summarise(options, drawn, lines, tuned_lines):
    measured = [line for line in lines if "sides" in line]
    chosen = [line["sides"]["chosen"] for line in measured]
    names = dict.fromkeys(name for line in measured for name in line["sides"] if name != "chosen")
    comparisons = [compare(measured, name, regime) for name in names for regime in ("cold", "warm")]
    comparisons += [compare(measured, name, regime, "raced") for name in names if name != "raced" for regime in ("cold", "warm")]
    comparisons += [compare(tuned_lines, "tuned", regime) for regime in ("cold", "warm")]
    return {"kernel": options.kernel, "seed": options.seed, "drawn": len(drawn), "measured": len(measured),
            "failed": sum("failure" in line for line in lines + tuned_lines), "of_family": sum(c["grade"] == FAMILY for c in chosen),
            "sure": sum(c["grade"] == FAMILY and c["sure"] for c in chosen),
            "comparisons": [row for row in comparisons if row], "host": host_times(lines), "sizes": lines, "tuned_sizes": tuned_lines}


def write(options, drawn, lines, tuned_lines):
    result = summarise(options, drawn, lines, tuned_lines)
    with open(os.path.join(options.out, options.kernel + ".json"), "w") as file:
        json.dump(result, file, indent=1)
    return result


def figures(result):
    """Rows for docs/figures.json: beside a vendor's function, as chosen and as raced."""
    found = {}
    for row in result["comparisons"]:
        if row["beside"] not in ("chosen", "raced", "other", "tuned"):
            found.setdefault(row["beside"], {})[row["own"], row["regime"]] = row
    columns = [(own, regime) for own in ("chosen", "raced") for regime in ("cold", "warm")]
    return [[result["kernel"], name, rows["chosen", "cold"]["sizes"], *(f"{rows[column]['mean']:.3f}, {rows[column]['worst']:.3f}" for column in columns)]
            for name, rows in found.items()]


def percents(loss, digits=1):
    return f"{100 * loss['mean']:.1f}%, {100 * loss['worst']:.{digits}f}%" if loss["worst"] > 0 else "0"


def losses(family, seconds):
    """A row for docs/figures.json: what a rule loses, measured and predicted."""
    rule = family["rule"]
    return [f"`{family['kernel']}`", family["problems"], f"{seconds:g} s", len(rule["configurations"]), rule["measured"]["sizes"],
            percents(rule["measured"]), percents(rule["predicted"], 0)]


def in_parts(family, seconds):
    """The same, with the parts of what it loses."""
    *row, predicted = losses(family, seconds)
    return [*row, *(percents(family["rule"]["parts"][part]) for part in ("choice", "coverage", "freezing")), predicted]


def keep(options, result):
    if result["comparisons"]:
        evidence.keep("families-vendors", figures(result), by_row=True)
    if options.learnt:
        command = [program("hone", "tuner"), "cache", "list", "--cache", options.cache, "--json"]
        listed = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["families"]
        family = next(one for one in listed if one["kernel"] == options.kernel)
        if "parts" in family["rule"]:
            evidence.keep("families-parts", [in_parts(family, options.learnt)], by_row=True)
        else:
            evidence.keep("families", [losses(family, options.learnt)], by_row=True, command="bench/family/run")


def main():
    options = parse()
    os.makedirs(options.out, exist_ok=True)
    drawn = draw(options)
    caches = [("chosen", options.cache), ("raced", options.cache)] + ([("other", options.other)] if options.other else [])
    lines = measure(options, drawn, caches, options.within)
    tuned_lines = []
    if options.tune > 0:
        write(options, drawn, lines, [])  # what is there if time runs out
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tuned.db")
            tuned = tune_each(options, drawn, path)
            print(f"\ntuned for {options.tune:g} s each: {len(tuned)} of {len(drawn)} sizes within {options.tune_within:g} s")
            tuned_lines = measure(options, tuned, [("chosen", options.cache), ("tuned", path)], options.within)
    result = write(options, drawn, lines, tuned_lines)
    print_summary(result)
    keep(options, result)
    return 1 if result["failed"] or drawn and not result["measured"] else 0


if __name__ == "__main__":
    sys.exit(main())
