#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernel Tuner's turn: tunes the kernel of a config of Hone, with its NVCUDA backend (NVRTC, as Hone), its default of 7 iterations,
for so many seconds.

    kernel_tuner_side.py CONFIG FOLDER OUT.json [--seconds S] [--seed N] [--seeds COUNT] [--strategy NAME] [--dry]

FOLDER has space.json (`hone space --json`) and inputs/ (`hone inputs`); OUT.json gets a line for each seed. The time begins with the call of `tune_kernel`: imports and reading the inputs
are not counted. --dry only builds the space and compares its size with Hone's (no GPU)."""

import argparse
import datetime
import json
import os
import pathlib
import random
import re
import sys
import time

# It imports these where they are, which takes seconds and serves nothing here.
for module in ("torch", "cupy"):
    sys.modules.setdefault(module, None)

import numpy as np  # noqa: E402
import yaml  # noqa: E402

TYPES = {"float32": np.float32, "float64": np.float64, "int32": np.int32, "int64": np.int64, "uint32": np.uint32,
         "uint8": np.uint8}


def ceil_div(a, b):
    return -(-a // b)


def evaluate(expression, names):
    return eval(str(expression), {"ceil_div": ceil_div, "min": min, "max": max}, dict(names))


def as_list(given):
    return given if isinstance(given, list) else [given]


class Task:
    """The kernel of a config in Kernel Tuner's words."""

    def __init__(self, config, folder):
        plan = yaml.safe_load(config.read_text())
        space = json.loads((folder / "space.json").read_text())
        if "steps" in plan or "pipeline" in plan or isinstance(plan["launch"], list):
            sys.exit(f"{config}: a kernel of a single launch is expected")
        self.problem = space["problems"][0]["problem"]
        self.points = space["problems"][0]["valid"]
        self.frozen = {name: [self.problem[name]] for name in plan.get("freeze", [])}
        self.parameters = self.frozen | {parameter["name"]: parameter["values"] for parameter in space["parameters"]}
        self.entry = plan["entry"].lstrip("&")
        self.source = (config.parent / plan["template"]).read_text()
        self.block, self.sizes = as_list(plan["launch"]["block"]), as_list(plan["launch"]["grid"])
        self.shared_bytes = plan["launch"].get("shared_bytes")
        self.options = plan.get("compile", {}).get("options", [])
        self.constraints = [self.with_problem(text) for text in plan.get("constraints", [])]
        arguments = {given["name"]: self.argument(folder, given) for given in plan["arguments"]}
        self.arguments = list(arguments.values())
        self.constants = {symbol["name"]: arguments[symbol["from"]] for symbol in plan.get("symbols", [])}

    def with_problem(self, text):
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: str(self.problem.get(found[0], found[0])), text)

    def argument(self, folder, given):
        kind, _, width = given["type"].partition("x")
        if given.get("role") == "value" or "value" in given:
            return TYPES[kind](evaluate(given["value"], self.problem))
        path = folder / "inputs" / f"{given['name']}.npy"
        if path.exists():
            return np.ascontiguousarray(np.load(path)).reshape(-1)
        return np.zeros(int(evaluate(given["count"], self.problem)) * int(width or 1), TYPES[kind])

    def grid(self, parameters):
        return tuple(int(evaluate(size, {**self.problem, **parameters})) for size in self.sizes)

    def shared(self):
        """How Kernel Tuner is told of dynamic shared memory."""
        return {"size": lambda parameters: int(evaluate(self.shared_bytes, {**self.problem, **parameters}))} if self.shared_bytes else None


def tune(task, arguments, seed):
    import kernel_tuner

    random.seed(seed)
    np.random.seed(seed)
    names = list(task.parameters)
    before = time.time()
    results, env = kernel_tuner.tune_kernel(
        task.entry, task.source, task.grid, task.arguments, task.parameters, grid_div_x=[], grid_div_y=[], grid_div_z=[],
        block_size_names=task.block, restrictions=task.constraints, lang="NVCUDA", cmem_args=task.constants or None,
        smem_args=task.shared(), compiler_options=compiler_options(task), quiet=True, strategy=arguments.strategy,
        strategy_options={"time_limit": arguments.seconds}, seed=seed)
    took = time.time() - before
    rows = []
    for result in results:
        at = datetime.datetime.fromisoformat(result["timestamp"]).timestamp()
        timed = isinstance(result.get("time"), (int, float))
        rows.append({"point": {name: result[name] for name in names if name not in task.frozen}, "final": False,
                     "outcome": "ok" if timed else "failed", "after_s": at - before, "us": result["time"] * 1000 if timed else None})
    return {"rows": rows, "took_s": took, "device": env.get("device_name", "")}


def compiler_options(task):
    """With C++17, as Hone has it, and where CUDA 13 keeps CUB, which NVRTC does not look for by itself."""
    home = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    folders = [folder for folder in (home / "include", home / "include" / "cccl") if folder.is_dir()]
    dialect = [] if any("-std=" in option for option in task.options) else ["--std=c++17"]
    return [*task.options, *dialect, *(f"-I{folder}" for folder in folders)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, metavar="COUNT")
    parser.add_argument("--strategy", default="hybrid_vndx")
    parser.add_argument("--dry", action="store_true")
    arguments = parser.parse_args()
    task = Task(arguments.config, arguments.folder)
    import importlib.metadata

    from kernel_tuner.searchspace import Searchspace

    if arguments.dry:
        found = Searchspace(task.parameters, task.constraints, 1024, block_size_names=task.block).size
        sys.exit(0 if found == task.points else f"Kernel Tuner has {found} points and Hone {task.points}")
    told = {"points": task.points, "version": importlib.metadata.version("kernel_tuner")}
    with arguments.out.open("w") as out:
        for seed in range(arguments.seed, arguments.seed + arguments.seeds):
            print(json.dumps({**tune(task, arguments, seed), **told, "seed": seed}), file=out, flush=True)


if __name__ == "__main__":
    main()
