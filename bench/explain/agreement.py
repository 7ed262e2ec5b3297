#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near the forest of `hone explain` comes to the exact shares: over the recorded spaces, what it says of a part of the
points against the analysis of all of them.

    python3 bench/explain/agreement.py build/tuner/hone [CONFIG...]
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECORDED = SOURCE / "cache" / "recorded" / "nvidia-h200"
CONFIGS = ("matmul", "matmul_aat", "reduce", "dot", "stencil_1d", "histogram", "compact", "copy", "heat_2d", "spheres")
SEARCHES = {"auto, until it stops": [], "random, 50 points": ["--strategy", "random", "--budget", "50"],
            "random, 100 points": ["--strategy", "random", "--budget", "100"]}


def hone(program, cache, *arguments):
    environment = dict(os.environ, HONE_CACHE=str(cache))
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env=environment)


def explained(result):
    """{problem: explanation}; what could not be explained is left out."""
    if result.returncode != 0:
        return {}
    return {json.dumps(one["problem"], sort_keys=True): one for one in json.loads(result.stdout) if one["effects"] is not None}


def shares(explanation):
    return {parameter["name"]: parameter["share"] for parameter in explanation["effects"]["parameters"]}


def compare(program, config, search, folder):
    """(largest difference of a share, whether the same parameter leads) for each problem."""
    whole = explained(hone(program, folder / "none.db", "explain", config, "--simulate", RECORDED, "--json"))
    cache = folder / f"{config.stem}-{len(search)}-{search[-1] if search else ''}.db"
    hone(program, cache, "tune", config, "--simulate", RECORDED, "--quiet", *search)
    part = explained(hone(program, cache, "explain", config, "--json"))
    for problem, exact in whole.items():
        found = part.get(problem)
        if exact["effects"]["basis"] != "exact" or found is None or found["effects"]["basis"] != "forest":
            continue
        all_of, some_of = shares(exact), shares(found)
        yield max(abs(all_of[name] - some_of[name]) for name in all_of), max(all_of, key=all_of.get) == max(some_of, key=some_of.get)


def main():
    program = os.path.abspath(sys.argv[1])
    configs = [pathlib.Path(path) for path in sys.argv[2:]] or [SOURCE / "configs" / f"{name}.yaml" for name in CONFIGS]
    with tempfile.TemporaryDirectory() as folder:
        for name, search in SEARCHES.items():
            found = [pair for config in configs for pair in compare(program, config, search, pathlib.Path(folder))]
            differences = [difference for difference, _ in found]
            print(f"{name}: {len(found)} spaces, largest difference of a share: median {statistics.median(differences):.3f}, "
                  f"at most {max(differences):.3f}; the same parameter leads in {sum(same for _, same in found)}")


if __name__ == "__main__":
    main()
