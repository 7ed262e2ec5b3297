# SPDX-License-Identifier: MIT
"""Recorded tunings made up for tests: any size, any outcome, and texts that try to be markup."""

import itertools
import json
import math
import random

MARKUP = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><b id=injected>&amp;"


def row(point, time_us, k, generator):
    """A measured row with figures as long as real ones."""
    samples = [time_us * (1 + generator.gauss(0, 0.002)) for _ in range(9)]
    low, high = min(*samples, time_us), max(*samples, time_us)
    return dict(point, time=time_us / 1000, times=[sample / 1000 for sample in samples],
                compile_time=150 + generator.random() * 80, verification_time=generator.random() * 3,
                benchmark_time=generator.random() * 9, hone={
                    "outcome": "ok", "code_hash": f"{k:032x}",
                    "verdict": {"kind": "verified", "max_error": generator.random() * 1e-6, "tolerance": 1e-6,
                                "max_reference": 1.0, "seeds": 1},
                    "metrics": {"bytes": 12 << 20, "flops": 2 << 20, "gb_per_s": 12582.912 / time_us,
                                "gflops": 2097.152 / time_us},
                    "objective": time_us, "final": False, "time": 1795168800 + k * 0.0371,
                    "resources": {"registers": generator.randrange(16, 256), "shared_bytes": generator.randrange(0, 49152, 128),
                                  "local_bytes": 0, "stack_bytes": 0, "spill_store_bytes": generator.choice([0, 0, 0, 16, 48]),
                                  "spill_load_bytes": 0, "occupancy": generator.choice([0.25, 0.5, 0.75, 1.0])},
                    "timing": {"low_us": low, "high_us": high, "resolution_us": 0.032, "batch": 1, "dropped": 0,
                               "clock_mhz": 1980 + generator.random(), "unstable": False}})


def fail(rows, k, outcome, message):
    """Turns the k-th row into a failure."""
    entry = list(rows.values())[k]
    names = {"compile_error": "CompilationFailedConfig", "skipped": "InvalidConfig", "invalid_launch": "InvalidConfig"}
    entry["time"] = names.get(outcome, "RuntimeFailedConfig")
    del entry["times"]
    entry["hone"].update(outcome=outcome, message=message)
    for member in ("timing", "metrics"):
        entry["hone"].pop(member)
    entry["hone"]["metrics"] = {}


def recording(parameters, count=None, device="NVIDIA Test 100", kernel="saxpy", driver="580.1", started=0, scale=1.0,
              protocol=1, seed=1):
    """The document of a tuning of the first `count` points of the product of the parameters; the first values are best."""
    generator = random.Random(seed)
    rows = {}
    points = itertools.islice(itertools.product(*parameters.values()), count)
    for k, values in enumerate(points):
        choices = [list(parameters[name]).index(value) for name, value in zip(parameters, values)]
        time_us = scale * 100 * math.prod(1 + 0.1 * c / (p + 1) for p, c in enumerate(choices)) * (1 + 0.01 * generator.random())
        entry = row(dict(zip(parameters, values)), time_us, k, generator)
        entry["hone"]["time"] += started
        rows[",".join(map(str, values))] = entry
    return {
        "device_name": device, "kernel_name": kernel, "problem_size": [1048576], "tune_params_keys": list(parameters),
        "tune_params": parameters, "objective": "time",
        "hone": {"format": 1, "signature": "x:float32:input,y:float32:output", "problem": {"SIZE": 1048576}, "regime": "cold",
                 "objective": "time", "device": {"name": device, "capability": 90, "sm_count": 132, "mig_profile": ""},
                 "version": {"template_hash": "1" * 32, "options_hash": "2" * 32, "plan_hash": "3" * 32, "driver": driver,
                             "nvrtc": "13.0", "protocol": protocol},
                 "command": "hone cache export", "date": "2026-11-21T06:16:51Z"},
        "cache": rows,
    }


def write(path, document):
    path.write_text(json.dumps(document))
    return path


SMALL = {"BLOCK": [128, 256, 64], "ITEMS": [2, 4, 1], "LOAD": ["ldg", "plain"]}
LARGE = {"BLOCK_SIZE_X": [32, 64, 128, 256], "BLOCK_SIZE_Y": [1, 2, 4, 8], "TILE_X": [1, 2, 4, 8], "TILE_Y": [1, 2, 4, 8],
         "UNROLL": [0, 1, 2, 4, 8], "LOAD": ["plain", "ldg", "async"], "PAD": [0, 1, 4], "STAGES": [1, 2, 3, 4],
         "RASTER": [1, 8], "SWIZZLE": [0, 1]}


def small(**more):
    """18 points with one of everything that has to be marked, and markup wherever text may stand."""
    document = recording(SMALL, **more)
    rows = document["cache"]
    entries = list(rows.values())
    entries[1]["hone"]["timing"].update(low_us=entries[0]["time"] * 999, high_us=entries[1]["time"] * 1010)  # tied
    entries[2]["hone"]["outcome"] = "slower"
    entries[3]["hone"]["verdict"]["kind"] = "self-verified"
    entries[4]["hone"]["verdict"]["kind"] = "unverified"
    entries[5]["hone"]["timing"]["unstable"] = True
    entries[6]["hone"].update(outcome="duplicate", original="BLOCK=128,ITEMS=2,LOAD=ldg", message="same machine code")
    for k in (0, 1):
        entries[k]["hone"].update(host="gpu7", card=f"GPU-d{k}112233-4455", ratio=1 + k / 10)
    fail(rows, 15, "compile_error", f"saxpy.cu(3): error: {MARKUP}")
    fail(rows, 16, "wrong_result", "y differs: max_error 0.5, tolerance 1e-6")
    fail(rows, 17, "wrong_result", "y differs: max_error 0.5, tolerance 1e-6")
    return document
