# SPDX-License-Identifier: MIT
"""Kernels with one planted fault each: what the counters say has to name it before everything else."""

import concurrent.futures
import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "cli"))
import hone  # noqa: E402
import test_command  # noqa: E402

# What each is to be called, where that is not its own name.
KINDS = {"uncoalesced_loads": "uncoalesced", "uncoalesced_stores": "uncoalesced", "spills": "local"}
FAULTS = ("uncoalesced_loads", "uncoalesced_stores", "conflicts", "occupancy", "loads", "spills", "atomics", "idle",
          "divergence", "barrier", "dependency")


class Planted(hone.Case):
    def run_fault(self, fault):
        result = self.hone("run", HERE / "planted.yaml", "-s", f"FAULT={fault}", "--counters", "--verify-only", "--json")
        return json.loads(result.stdout)["problems"][0]

    def test_the_planted_fault_is_named_first(self):
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            problems = dict(zip(FAULTS, pool.map(self.run_fault, FAULTS)))
        obstacle = problems[FAULTS[0]].get("no_counters")
        if obstacle:
            self.skipTest(obstacle)
        for fault, problem in problems.items():
            with self.subTest(fault=fault):
                counted = problem["record"]["counted"]
                named = [f"{finding['kind']} {finding['share']:.0%}: {finding['text']} ({finding['counted']})"
                         for finding in counted["findings"]]
                print(f"{fault}: {counted['bound']}\n  " + "\n  ".join(named[:3]))
                self.assertTrue(named, counted)
                self.assertEqual(counted["findings"][0]["kind"], KINDS.get(fault, fault), named)


if __name__ == "__main__":
    if not test_command.has_device():
        print("SKIPPED: there is no GPU here", file=sys.stderr)
        sys.exit(77)
    unittest.main()
