#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tunes the points of a file with Kernel Tuner: its NVCUDA backend (NVRTC, as Hone), its default of 7 iterations, brute
force over exactly these points, or a random sample of them.

    kernel_tuner_side.py KERNEL POINTS.json OUT.json [--verify] [--sample N] [--dry]

POINTS.json is what `hone space CONFIG --list all --json` printed. --verify gives Kernel Tuner the answer, so that it
checks every variant as Hone does. --dry only builds the space and the sources (no GPU).
"""

import argparse
import json
import pathlib
import sys
import time

START = time.perf_counter()
# It imports these where they are, which takes seconds and serves nothing here.
for module in ("torch", "cupy"):
    sys.modules.setdefault(module, None)

import numpy as np  # noqa: E402

HERE = pathlib.Path(__file__).parent


def vector_add(random):
    n = 10_000_000
    a, b = (random.uniform(-1, 1, n).astype(np.float32) for _ in range(2))
    return {"name": "vector_add", "file": "vector_add.cu", "size": n, "arguments": [np.zeros_like(a), a, b, np.int32(n)],
            "answer": lambda: [a + b, None, None, None], "grid_div_x": ["block_size_x", "items", "vector"],
            "grid_div_y": None, "restrictions": None, "atol": 1e-6}


def matmul(random):
    width = 4096
    a, b = (random.uniform(-1, 1, (width, width)).astype(np.float32) for _ in range(2))
    return {"name": "matmul", "file": "matmul.cu", "size": (width, width), "arguments": [np.zeros_like(a), a, b],
            "answer": lambda: [a @ b, None, None], "grid_div_x": ["block_size_x", "tile_size_x"],
            "grid_div_y": ["block_size_y", "tile_size_y"],
            "restrictions": ["block_size_x == block_size_y * tile_size_y"], "atol": 1e-3}


def read_points(path):
    """As a list of points, with the parameters in the order of the config."""
    space = json.loads(pathlib.Path(path).read_text())
    names = [parameter["name"] for parameter in space["parameters"]]
    return [{name: point[name] for name in names} for point in space["problems"][0]["points"]]


def tune_parameters(points):
    return {name: sorted({point[name] for point in points}) for name in points[0]}


def check_points(rows, points):
    """Kernel Tuner's points are those of the file."""
    found = {tuple((name, row[name]) for name in points[0]) for row in rows}
    wanted = {tuple(point.items()) for point in points}
    if found - wanted or len(found) != len(rows):
        sys.exit(f"Kernel Tuner tuned other points: {len(found)} of {len(rows)}, {len(found - wanted)} of them unknown")
    return found == wanted


def dry_run(task, points):
    from kernel_tuner.searchspace import Searchspace

    space = Searchspace(tune_parameters(points), task["restrictions"], 1024)
    rows = [dict(zip(space.param_names, config)) for config in space.list]
    return {"points": len(rows), "same": check_points(rows, points)}


def tune(task, points, verify, sample):
    import kernel_tuner

    options = {"answer": task["answer"](), "atol": task["atol"]} if verify else {}
    if sample:
        options |= {"strategy": "random_sample", "strategy_options": {"max_fevals": sample}, "seed": 1}
    results, _ = kernel_tuner.tune_kernel(
        task["name"], str(HERE / task["file"]), task["size"], task["arguments"], tune_parameters(points),
        grid_div_x=task["grid_div_x"], grid_div_y=task["grid_div_y"], restrictions=task["restrictions"], lang="NVCUDA",
        compiler_options=["-no-cache"], quiet=True, **options)
    if not check_points(results, points) and not sample:
        sys.exit(f"Kernel Tuner tuned {len(results)} of {len(points)} points")
    timed = [row for row in results if isinstance(row.get("time"), float)]
    best = min(timed, key=lambda row: row["time"])
    return {"points": len(results), "ok": len(timed), "best_us": best["time"] * 1e3,
            "best": {name: best[name] for name in points[0]},
            **{f"{key}_s": sum(row.get(f"{key}_time", 0) for row in results) / 1e3
               for key in ("compile", "verification", "benchmark")}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernel", choices=["vector_add", "matmul"])
    parser.add_argument("points")
    parser.add_argument("out")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--dry", action="store_true")
    arguments = parser.parse_args()
    points = read_points(arguments.points)
    task = {"vector_add": vector_add, "matmul": matmul}[arguments.kernel](np.random.default_rng(1))
    if arguments.dry:
        result = dry_run(task, points)
    else:
        result = tune(task, points, arguments.verify, arguments.sample)
    import importlib.metadata

    result |= {"version": importlib.metadata.version("kernel_tuner"), "in_process_s": time.perf_counter() - START}
    pathlib.Path(arguments.out).write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
