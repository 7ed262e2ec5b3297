#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A bench's figures on their way into docs/figures.json. Where HONE_FIGURES names a folder, keep() leaves them there with device,
driver, date and commit, for `scripts/figures --take FOLDER`. As a program it reads the lines of benches that are no Python:

    bench/evidence.py run FILE [ROOFS]      of bench/run; ROOFS is what `hone device --json` printed
    bench/evidence.py launch FILE           of bench/launch/run"""

import datetime
import json
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINE = re.compile(r"(.+?) *\| (.+?) *\| +([\d.]+) us.*?\| tuned +([\d.]+) us.*? ratio ([\d.]+) ")


def commit():
    """Of the sources; a bundle has a file that says it."""
    told = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    file = ROOT / "commit"
    return file.read_text().strip() if file.exists() else told.stdout.strip()


def card():
    """Device and driver of the first GPU; nothing where there is none."""
    places = [os.environ.get("HONE"), ROOT / "build" / "tuner" / "hone", ROOT / "bin" / "hone"]
    hone = next((place for place in places if place and os.path.exists(place)), "hone")
    told = subprocess.run([hone, "device", "--json"], capture_output=True, text=True)
    device = json.loads(told.stdout)["devices"][0] if told.returncode == 0 else {}
    return {"device": device["name"], "driver": f"driver {device['driver']}"} if device else {}


def no_gpu():
    return {"device": f"{len(os.sched_getaffinity(0))} cores, no GPU", "driver": ""}


def keep(name, rows, by_row=False, **members):
    """by_row: other rows of the figure stay as they are, which are told by their first cells. members: of the figure; its device, None
    where each row is of one, is the first GPU where nothing is said."""
    if not os.environ.get("HONE_FIGURES"):
        return
    path = pathlib.Path(os.environ["HONE_FIGURES"]) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    members = {**({} if "device" in members else card()), "date": datetime.date.today().isoformat(), "commit": commit(), **members}
    figure = {key: value for key, value in members.items() if value is not None} | {"rows": [list(map(str, row)) for row in rows]}
    if by_row:
        before = json.loads(path.read_text())[name]["rows"] if path.exists() else []
        figure.update(rows=merged(before, figure["rows"]), by_row=True)
    path.write_text(json.dumps({name: figure}, indent=1, ensure_ascii=False) + "\n")


def merged(rows, others):
    """The rows, those that others have instead, and what others have beside them."""
    new = {row[0]: row for row in others}
    return [new.pop(row[0], row) for row in rows] + list(new.values())


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def share(m, n, k, us, roofs):
    """Of a product of 16-bit numbers: what it reaches of the nearer roof."""
    if not roofs:
        return ""
    shares = {"BF16": 2 * m * n * k / us / 1e3 / roofs["tensor"]["bf16"]["gflops"], "copy": 2 * (m * k + k * n + m * n) / us / 1e3 / roofs["copy_gb_per_s"]}
    roof = max(shares, key=shares.get)
    return f"{shares[roof]:.0%} {roof}"


def products(found, roofs):
    """Rows of sgemm, or of bgemm with its times behind a warm cache: {(M, N, K): {peer: (theirs us, tuned us, times as fast)}}."""
    rows, cold, warm = [], [], []
    for shape, peers in found.items():
        (theirs, tuned, speed), *behind = [peers[peer] for peer in sorted(peers) if "cublasLt" in peer]
        cold.append(speed)
        row = [" x ".join(map(str, shape)), f"{tuned:.1f}"]
        warm += [behind[0][2]] if behind else []
        rows.append(row + ([share(*shape, tuned, roofs), f"{speed:.3f}", f"{behind[0][2]:.3f}"] if behind else [f"{theirs:.1f}", f"{speed:.3f}"]))
    last = [f"**{mean(cold):.3f}**", *([f"**{mean(warm):.3f}**"] if warm else [])]
    return rows + [[f"geometric mean of {len(rows)}", "", "", *last]]


def run(text, roofs=None):
    """{figure: rows} of the lines that bench/run printed."""
    shapes, others = {}, []
    for what, peer, theirs, tuned, ratio in LINE.findall(text):
        shape = re.fullmatch(r"([sb]gemm) (\d+)x(\d+)x(\d+)t?", what)
        times = float(theirs), float(tuned), 1 / float(ratio)
        if shape:
            shapes.setdefault(shape[1], {}).setdefault(tuple(map(int, shape.groups()[1:])), {})[peer] = times
        else:
            others.append([what, peer, f"{times[0]:.1f}", f"{times[1]:.1f}", f"{times[2]:.3f}"])
    figures = {kernel: products(found, roofs) for kernel, found in shapes.items()} | ({"vendors": others} if others else {})
    told = dict(re.findall(r"^  (\w.*?) +([\d.]+) ms +[\d.]+ GB/s", text, re.M))
    plan = re.search(r"tuned: (\d+) chunks, (\d+) streams", text)
    if plan and told:
        names = {"all in one stream": "all in one stream", "by hand, the best of 16 pipelines": "by hand",
                 f"tuned: {plan[1]} chunks, {plan[2]} streams": "tuned", "both copies at once, no kernel": "both at once"}
        figures["pipeline"] = [[way, f"{float(told[name]):.2f} ms"] for way, name in names.items()]
    return figures


def launch(text):
    """{figure: rows} of the lines that bench/launch/run printed."""
    def row(what, form, *names):
        found = [re.search(rf"^ *{name} +median +([\d.]+) \w+, (?:99%|worst) +([\d.]+)", text, re.M) for name in names]
        return [what, *("; ".join(form.format(float(one[column])) for one in found) for column in (1, 2))]

    plain, graphs = re.search(r"^  1 sets of arguments in turn: plain median +([\d.]+) us, as graphs +([\d.]+) us", text, re.M).groups()
    return {"graphs": [["plain", f"{float(plain):.1f} us"], ["as graphs", f"{float(graphs):.1f} us"]],
            "library": [row("`cuLaunchKernel`, host time", "{:,.0f} ns", "cuLaunchKernel"), row("`hone_launch`", "{:,.0f} ns", "hone_launch"),
                        row("`hone_get` of a known problem", "{:.0f} ns", "hone_get, again"),
                        row("first launch of a cached image", "{:.1f} ms", "all of it"),
                        row("look-up among 10,000 problems: tuned; nearest", "{:.1f} us", "a problem that was tuned", "the nearest of another")]}


def main():
    reader, path, *roofs = sys.argv[1:]
    known = json.loads(pathlib.Path(roofs[0]).read_text())["devices"][0].get("roofs") if roofs else None
    text = pathlib.Path(path).read_text()
    for name, rows in (run(text, known) if reader == "run" else launch(text)).items():
        keep("bgemm-h100" if name == "bgemm" and "H100" in card().get("device", "") else name, rows, by_row=name == "library")


if __name__ == "__main__":
    main()
