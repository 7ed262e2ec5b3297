# SPDX-License-Identifier: MIT
"""Kernels with one planted fault each, and points of shipped templates that are slow for one reason: what the counters say has
to name it before everything else."""

import concurrent.futures
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "cli"))
import hone  # noqa: E402

# What each is to be called, where that is not its own name.
KINDS = {"uncoalesced_loads": "uncoalesced", "uncoalesced_stores": "uncoalesced", "spills": "local"}
FAULTS = ("uncoalesced_loads", "uncoalesced_stores", "conflicts", "occupancy", "loads", "spills", "atomics", "idle",
          "divergence", "barrier", "dependency")
# Config, problem, point, and what is wrong with it.
SHIPPED = (
    ("transpose", "ROWS=8192,COLUMNS=8192", "VARIANT=naive,PAD=0", "uncoalesced"),
    ("struct_layout", "WIDTH=8192,HEIGHT=4096,MEMBERS=7,USED=first", "LAYOUT=aos", "uncoalesced"),
    ("copy_patterns", "SIZE=16777216,PATTERN=stride,SIDE=load,OFFSET=0,STRIDE=32", "", "uncoalesced"),
    ("read_only", "SIZE=67108864,PATTERN=random", "", "uncoalesced"),
    ("transpose", "ROWS=8192,COLUMNS=8192", "PAD=0", "conflicts"),
    ("bank_stride", "WORD=4,STRIDE=32,WARPS=8", "PAD=0,SWIZZLE=0", "conflicts"),
    ("atomics", "SIZE=16777216,TARGETS=1", "OPERATION=native,MEMORY=global,SCOPE=device", "atomics"),
    ("histogram", "SIZE=67108864,VALUE_BYTES=1,BINS=256,SKEW=0.5", "PRIVATE=global", "atomics"),
    ("compact", "SIZE=67108864,KEEP=0.5", "AGGREGATE=compiler,STAGE=0", "atomics"),
    ("occupancy", "", "PACK=1,DYNAMIC_SHARED=196608", "occupancy"),
    ("occupancy", "", "INDEX=dynamic", "local"),
    ("copy", "SIZE=67108864,PATTERN=plain,SIDE=load,OFFSET=0,STRIDE=1", "", "loads"),
    ("matmul", "M=128,N=128,K=4096,B_LAYOUT=row", "", "idle"),
    # 272 blocks, of which 264 make the first wave.
    ("matmul", "M=512,N=544,K=4096,B_LAYOUT=row", "TILE_WIDTH=32,MAX_REGISTERS=32", "idle"),
)


class Planted(hone.Case):
    def count(self, config, *options):
        result = self.hone("run", config, *options, "--counters", "--verify-only", "--json")
        return json.loads(result.stdout)["problems"][0]

    def count_all(self, runs):
        """What `hone run` says of each, or skips where nothing can be counted."""
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            problems = list(pool.map(lambda run: self.count(*run), runs))
        obstacle = problems[0].get("no_counters")
        if obstacle:
            self.skipTest(obstacle)
        return problems

    def check_named(self, name, problem, kind):
        counted = problem["record"]["counted"]
        named = [f"{finding['kind']} {finding['share']:.0%}: {finding['text']} ({finding['counted']})"
                 for finding in counted["findings"]]
        print(f"{name}: {counted['bound']}\n  " + "\n  ".join(named[:3]))
        # All counters, so that one run on a card tells what a rule has to be.
        self.assertEqual([finding["kind"] for finding in counted["findings"]][:1], [kind],
                         json.dumps({"named": named, "counted": counted, "counters": problem["record"]["counters"]}))

    def test_the_planted_fault_is_named_first(self):
        problems = self.count_all([(HERE / "planted.yaml", "-s", f"FAULT={fault}") for fault in FAULTS])
        for fault, problem in zip(FAULTS, problems):
            with self.subTest(fault=fault):
                self.check_named(fault, problem, KINDS.get(fault, fault))

    def test_what_is_wrong_with_a_shipped_template_is_named_first(self):
        runs = [(HERE.parent.parent / "configs" / f"{config}.yaml", *given("-p", problem), *given("-s", point))
                for config, problem, point, _ in SHIPPED]
        for (config, size, point, kind), problem in zip(SHIPPED, self.count_all(runs)):
            with self.subTest(config=config, problem=size, point=point):
                self.check_named(f"{config} {size} {point}", problem, kind)


def given(option, values):
    return [word for value in values.split(",") if value for word in (option, value)]
