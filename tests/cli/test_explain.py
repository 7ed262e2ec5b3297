# SPDX-License-Identifier: MIT
"""hone explain over recordings and caches."""

import itertools
import json
import math
import re
import statistics

import hone


class Explain(hone.Case):
    def explain(self, *arguments, **settings):
        return self.hone("explain", hone.DATA / "saxpy.yaml", *arguments, **settings)

    def explained(self, *arguments):
        return json.loads(self.explain("--json", *arguments).stdout)[0]

    def test_recording_in_full(self):
        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 10 * {64: 4, 128: 2, 256: 1}[BLOCK] * (1 if LOAD == "ldg" else 1.1))
        result = self.explain("--simulate", recording)
        self.assertIn("16 valid points: 16 with a time", result.stdout)
        self.assertIn(f"\n  read from {recording.name}\n", result.stdout)
        self.assertIn("over all 16 points, each of them measured", result.stdout)
        found = self.explained("--simulate", recording)
        self.assertEqual(found["effects"]["basis"], "exact")
        self.assertEqual([p["name"] for p in found["effects"]["parameters"]][0], "BLOCK")
        self.assertGreater(found["effects"]["parameters"][0]["share"], 0.9)
        self.assertEqual(found["effects"]["unmeasured"], 0)

    def test_next_value_of_a_range_that_ends_too_early(self):
        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 40 / (BLOCK / 64) + ITEMS)
        found = self.explained("--simulate", recording)
        self.assertEqual([(e["name"], e["value"], e["next"]) for e in found["edges"]], [("BLOCK", 256, 512)])
        self.assertIn("BLOCK=256 is the greatest of its values, and 128 takes 91% longer: try 512\n",
                      self.explain("--simulate", recording).stdout)

    def test_what_does_not_compile_is_not_advised(self):
        """An instruction or a type may have no such size, which no constraint says."""
        config = self.copy_config()
        template = self.folder / "saxpy.cu"
        template.write_text(template.read_text() + '\nstatic_assert(BLOCK <= 256, "no more");\n')
        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 40 / (BLOCK / 64) + ITEMS)
        text = self.hone("explain", config, "--simulate", recording).stdout
        self.assertIn("what bounds the best", text)
        self.assertNotIn("widen", text)

    def test_no_instruction_copies_32_bytes(self):
        text = self.hone("explain", hone.SOURCE / "configs" / "matmul.yaml", "-p", "K=32", "--simulate",
                         hone.SOURCE / "cache" / "recorded" / "nvidia-h200").stdout
        self.assertIn("ASYNC_BYTES=16,", text)
        self.assertNotIn("ASYNC_BYTES=16 is the greatest", text)

    def test_without_a_compiler_no_value_is_named(self):
        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 40 / (BLOCK / 64) + ITEMS)
        text = self.explain("--simulate", recording, HONE_NVRTC="/nowhere/libnvrtc.so").stdout
        self.assertIn("128 takes 91% longer: try what lies beyond, if the kernel takes more\n", text)

    def test_constraint_forbids_the_next_value(self):
        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 40 / (BLOCK / 64) + 1 / ITEMS)
        best = self.explained("--simulate", recording)["best"]["point"]
        self.assertEqual((best["BLOCK"], best["ITEMS"]), (256, 2))
        self.assertEqual(self.explained("--simulate", recording)["edges"], [])

    def test_flat_ends_are_no_edges(self):
        self.assertEqual(self.explained("--simulate", self.record(time_us=lambda **_: 10))["edges"], [])

    def test_value_that_always_fails(self):
        recording = self.record()
        document = json.loads(recording.read_text())
        for row in document["cache"].values():
            if row["BLOCK"] == 64:
                row["time"] = "CompilationFailedConfig"
                row["times"] = []
                row["hone"] = {"outcome": "compile_error", "message": "no", "code_hash": "", "time": 1795168800}
        recording.write_text(json.dumps(document))
        found = self.explained("--simulate", recording)
        self.assertEqual(found["points"]["failed"], 6)
        self.assertEqual([n["text"] for n in found["next"] if n["kind"] == "constrain"],
                         ["take BLOCK=64 out, or constrain it: all 6 points with it failed (the first: compile_error)"])

    def test_cache(self):
        self.tune_simulated()
        result = self.explain()
        self.assertIn("\n  read from recording.json\n", result.stdout)
        self.assertEqual(self.explained()["origin"], {"machine": "", "source": "recording.json", "imported": 0})
        self.assertIn("saxpy SIZE=1048576 on NVIDIA H200, cold L2, simulated from a recording", result.stdout)
        self.assertIn("the device's roofs are not in the cache", result.stdout)
        self.assertEqual(self.explained()["points"]["timed"], 16)

    def test_roofs_of_the_cache(self):
        self.tune_simulated()
        self.forge("INSERT INTO roof VALUES(?, '580.1', 1, ?, 0)", json.dumps(hone.H200, separators=(",", ":"), sort_keys=True),
                   json.dumps({"copy_gb_per_s": 1350.0, "l2_gb_per_s": 8000.0, "fp32_gflops": 60000.0, "launch_us": 1.5,
                               "measured": 1.0, "driver": "580.1"}))
        found = self.explained()
        self.assertEqual(found["bounds"]["bound"], "copy")
        self.assertAlmostEqual(found["bounds"]["bytes_share"], 12 * 1048576 / 1350 / 1e3 / 10, 3)
        self.assertIn("what bounds the best: copy, 93% of its roof", self.explain().stdout)
        self.assertIn("the best reaches 93% of its roof (copy)", self.explain().stdout)

    def test_part_of_the_space(self):
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(), "--quiet", "--strategy", "random", "--budget",
                  "12")
        found = self.explained()
        self.assertEqual(found["effects"]["basis"], "forest")
        self.assertEqual(found["effects"]["unmeasured"], 4)
        self.assertIn("by a random forest of", self.explain().stdout)
        self.assertEqual(self.explain().stdout, self.explain().stdout)

    def test_what_was_stopped_early(self):
        recording = self.record()
        document = json.loads(recording.read_text())
        for row in list(document["cache"].values())[1:]:
            row["hone"]["outcome"] = "slower"
        recording.write_text(json.dumps(document))
        self.assertIn("too little is known: 1 measured in full, the others stopped early; 10 points at least are needed",
                      self.explain("--simulate", recording).stdout)
        advice = {n["kind"]: n["text"] for n in self.explained("--simulate", recording)["next"]}
        config = hone.DATA / "saxpy.yaml"
        self.assertEqual(advice["budget"], "measure more points in full: 1 so far, 10 at least tell which parameters matter; "
                         f"the others were stopped early once they were slower: `hone tune {config} -p SIZE=1048576 --full`")

    def test_no_more_points_are_asked_for_than_there_are(self):
        config = self.copy_config()
        self.spoil(config, "[plain, ldg]", "[plain]")
        recording = self.record()
        document = json.loads(recording.read_text())
        self.assertIn("leave --device-name out", self.hone("explain", config, "--simulate", recording, "--device-name", "X", expect=2).stderr)
        for timed, found in (8, "8 with a time"), (7, "7 with a time, 1 failed"):
            text = self.hone("explain", config, "--simulate", recording).stdout
            self.assertIn(f"8 valid points: {found}", text)
            self.assertIn(f"over all {timed} points, each of them measured", text)
            self.assertNotIn("measure more points", text)
            row = document["cache"]["64,1,plain"]
            row.update(time="CompilationFailedConfig", times=[], hone={"outcome": "compile_error", "message": "no", "code_hash": "", "time": 1795168800})
            recording.write_text(json.dumps(document))

    def test_device_that_no_limits_are_known_of(self):
        other = {"name": "Radeon", "capability": 0, "sm_count": 60, "mig_profile": ""}
        found = self.explained("--simulate", self.record(device=other, time_us=lambda BLOCK, ITEMS, LOAD: 40 / (BLOCK / 64) + ITEMS))
        self.assertIsNone(found["bounds"]["launch"])
        self.assertEqual([e["next"] for e in found["edges"]], [512])

    def test_pipeline(self):
        recording = "pipeline-size-33554432-work-256-nvidia-h200-cold.json.gz"
        result = self.hone("explain", hone.SOURCE / "configs" / "pipeline.yaml", "-p", "SIZE=33554432", "-p", "WORK=256",
                           "--simulate", hone.SOURCE / "cache" / "recorded" / "nvidia-h200" / recording)
        self.assertIn("what crosses the bus has no roof; its parts tell more:\n", result.stdout)
        self.assertRegex(result.stdout, r"\n  measured: 2\.\d+ ms, at \d+\.\d% of the limit")
        self.assertNotIn("waves", result.stdout)
        self.assertNotIn("hone device --measure", result.stdout)

    def test_nothing_there(self):
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(), "--quiet")
        config = hone.DATA / "saxpy.yaml"
        self.fails(3, f"hone: the cache holds no valid result of saxpy for this problem; `hone tune {config} -p SIZE=2048` makes one, "
                   "and `hone cache list` shows what there is", "explain", config, "-p", "SIZE=2048")
        self.fails(3, f"hone: the cache holds no valid result of saxpy for this problem; `hone tune {config}` makes one, and "
                   "`hone cache list` shows what there is", "explain", config, "--device-name", "A100")

    def test_wrong_usage(self):
        self.misused("--regime: found 'tepid', expected cold, warm, stream, graph or graph10", "explain", "--regime", "tepid")
        self.misused("expected the path of a config", "explain")


class Effects(hone.Case):
    """Over 4 by 4 by 3 points whose logarithms of times are a function of the places of their values."""

    def setUp(self):
        super().setUp()
        self.config = self.copy_config()
        self.values = {"BLOCK": [64, 128, 256, 512], "ITEMS": [1, 2, 4, 8], "LOAD": ["plain", "ldg", "cs"]}
        for old, new in (("[64, 128, 256]", "[64, 128, 256, 512]"), ("[1, 2, 4]", "[1, 2, 4, 8]"), ("[plain, ldg]", "[plain, ldg, cs]"),
                         ("BLOCK * ITEMS <= 512", "BLOCK > 0")):
            self.spoil(self.config, old, new)

    def additive(a, b, c):
        return 0.4 * a + 0.2 * b + (0 if c == 1 else 0.1)

    def explained(self, logarithm=additive, change=lambda rows: rows, objective="time"):
        document = json.loads(self.record().read_text())
        document["hone"]["objective"] = objective
        rows = {}
        for places in itertools.product(*map(range, map(len, self.values.values()))):
            point = {name: values[place] for (name, values), place in zip(self.values.items(), places)}
            rows[places] = self.row(point, math.exp(logarithm(*places)))
        document["cache"] = {",".join(map(str, places)): row for places, row in change(rows).items()}
        document.update(tune_params_keys=list(self.values), tune_params=self.values)
        return json.loads(self.hone("explain", self.config, "--simulate", self.write("r.json", json.dumps(document)), "--json").stdout)[0]

    def shares(self, effects):
        return {parameter["name"]: parameter["share"] for parameter in effects["parameters"]}

    def test_shares_of_a_sum_are_exact(self):
        """Variances of the terms: 0.4^2 * 1.25, 0.2^2 * 1.25, 0.1^2 * 2/9."""
        found = self.explained()["effects"]
        parts = {"BLOCK": 0.16 * 1.25, "ITEMS": 0.04 * 1.25, "LOAD": 0.01 * 2 / 9}
        self.assertEqual((found["basis"], found["points"], list(self.shares(found))), ("exact", 48, list(parts)))
        for name, part in parts.items():
            self.assertAlmostEqual(self.shares(found)[name], part / sum(parts.values()), 9)
        for pair in found["interactions"]:
            self.assertAlmostEqual(pair["share"], 0, 9)
        alone = found["parameters"][0]["alone"]
        self.assertEqual(alone["points"], 3)
        self.assertAlmostEqual(alone["worst_ratio"], math.exp(1.2), 9)

    def test_energy_of_the_finalists_is_not_set_beside_an_estimate(self):
        def weigh(rows):
            for places, row in rows.items():
                row["hone"].update(estimated_w=700, objective=700 * row["time"] / 1000)
                if places in ((0, 0, 1), (1, 2, 0)):
                    joules = 1e-7 * (3 - places[0])
                    row["hone"].update(final=True, objective=joules, energy={"joules": joules, "windows": 2})
            return rows
        by_time = self.explained()["effects"]
        self.spoil(self.config, "metrics:", "objective: energy\nmetrics:")
        self.spoil(self.config, 'role: inout, fill: "uniform(-1, 1)"', "role: output")
        found = self.explained(change=weigh, objective="energy minimize")
        self.assertEqual(found["best"]["point"], {"BLOCK": 128, "ITEMS": 4, "LOAD": "plain"})
        self.assertEqual((self.shares(found["effects"]), found["effects"]["of"]), (self.shares(by_time), "the logarithm of the time"))

    def test_where_nothing_differs_nothing_matters(self):
        self.assertIsNone(self.explained(lambda *places: 0.7)["effects"])

    def test_the_share_of_an_interaction_is_exact(self):
        """One cell of 16 is 1 higher: its interaction has variance 1/16 - 2 * (1/64 - 1/256) - 1/256."""
        def crossed(a, b, c):
            return Effects.additive(a, b, c) + (a == b == 3)
        first, second, _ = self.explained(crossed)["effects"]["interactions"]
        total = statistics.pvariance(crossed(*places) for places in itertools.product(range(4), range(4), range(3)))
        self.assertEqual(first["parameters"], ["BLOCK", "ITEMS"])
        self.assertAlmostEqual(first["share"], (1 / 16 - 2 * (1 / 64 - 1 / 256) - 1 / 256) / total, 6)
        self.assertAlmostEqual(second["share"], 0, 9)

    def test_a_forest_stands_in(self):
        """Half of the points: the order and about the size of the shares. A sixth is too few."""
        found = self.explained(change=lambda rows: dict(list(rows.items())[::2]))["effects"]
        self.assertEqual((found["basis"], found["sampled"], found["points"], found["unmeasured"]), ("forest", False, 48, 24))
        self.assertGreater(found["explained"], 0.5)
        self.assertEqual(list(self.shares(found))[:2], ["BLOCK", "ITEMS"])
        self.assertGreater(self.shares(found)["BLOCK"], 0.6)
        self.assertIsNone(self.explained(change=lambda rows: dict(list(rows.items())[::6]))["effects"])

    def test_lower_bounds_are_no_times(self):
        """The slower half is known by a bound only: taking that for the time would make the two largest blocks alike."""
        def bound(rows):
            for row in rows.values():
                if row["time"] > math.exp(0.9) / 1000:
                    row.update(self.row({name: row[name] for name in self.values}, math.exp(0.9)))
                    row["hone"]["outcome"] = "slower"
            return rows
        found = self.explained(change=bound)
        self.assertEqual(found["points"]["lower_bounds"], 24)
        values = {value["value"]: value["ratio"] for value in found["effects"]["parameters"][0]["values"]}
        self.assertGreater(values[512], values[256] * 1.02, values)

    def test_a_sample_stands_for_many(self):
        """28 by 28 by 28 points, all measured: nothing in the sample is unknown."""
        self.values = {name: list(range(28)) for name in "ABC"}
        self.config.write_text(re.sub(r"(?s)parameters:.*?arguments:", "parameters: {A: {range: [0, 27]}, B: {range: [0, 27]}, "
                                      "C: {range: [0, 27]}}\narguments:", self.config.read_text()).replace("BLOCK * ITEMS", "64").replace(
                                          "BLOCK", "64"))
        found = self.explained()["effects"]
        self.assertEqual((found["sampled"], found["points"], found["unmeasured"]), (True, 20000, 0))
        self.assertGreater(found["explained"], 0.99)

    def test_failures_and_points_of_others(self):
        def change(rows):
            for places, outcome in (((0, 0, 0), "compile_error"), ((0, 0, 1), "skipped")):
                rows[places].update(time="InvalidConfig", times=[])
                rows[places]["hone"] = {"outcome": outcome, "message": "no", "code_hash": "", "time": 1795168800}
            rows[0, 0, 2]["BLOCK"] = 96
            return rows
        self.assertEqual(self.explained(change=change)["points"], {"timed": 45, "lower_bounds": 0, "failed": 1, "foreign": 1})

    def test_what_the_best_have_in_common(self):
        found = self.explained()["common"]
        [value] = found["values"]
        self.assertAlmostEqual(value.pop("chance"), math.comb(12, 5) / math.comb(48, 5), 12)
        self.assertEqual((found["best"], value), (5, {"name": "BLOCK", "value": 64, "among_best": 5, "among_all": 12}))

    def test_compile_times_are_explained(self):
        """Of points that failed, too."""
        def change(rows):
            for i, (places, row) in enumerate(rows.items()):
                row["compile_time"] = 0 if i == 5 else 100 * math.exp(places[1])
                if i % 3 == 0:
                    row.update(time="InvalidConfig", times=[])
                    row["hone"] = {"outcome": "invalid_launch", "message": "no", "code_hash": "", "time": 1795168800}
            return rows
        found = self.explained(change=change)["compiling"]
        self.assertEqual(list(self.shares(found))[0], "ITEMS")
        self.assertGreater(found["parameters"][0]["share"], 0.9)
        self.assertLess(found["parameters"][1]["share"], 0.1)
        self.assertAlmostEqual(found["parameters"][0]["values"][3]["ratio"], math.exp(3), 0)

    def test_the_value_that_would_follow(self):
        for values, following in (([2, 4, 8], 16), ([2, 4, 6], 8), ([256, 128, 64], 32), ([4, 2, 1], None), ([2, 1, 0], None),
                                  ([27, 9, 3], 1), ([8, 6, 2], None), ([0.125, 0.25, 0.5], 1)):
            self.config = self.copy_config()
            self.spoil(self.config, "LOAD: [plain, ldg]", f"MORE: {values}\n  LOAD: [plain, ldg]")
            self.spoil(self.config, "LOAD: plain}", f"MORE: {values[0]}, LOAD: plain}}")
            self.values = {"BLOCK": [64, 128, 256], "ITEMS": [1, 2], "MORE": values, "LOAD": ["plain", "ldg"]}
            self.spoil(self.config, "[1, 2, 4]", "[1, 2]")
            found = self.explained(lambda block, items, more, load: abs(block - 1) - 0.5 * more)
            self.assertEqual([(edge["name"], edge["value"], edge["next"]) for edge in found["edges"]],
                             [] if following is None else [("MORE", values[2], following)])


# A copy of 64 MiB that nothing is wrong with, as an H200 counts it, but for its DRAM, which is not busy.
GOOD = {"cycles": 80000, "active_cycles": 59000, "longest_cycles": 60000, "dram_read_bytes": 67108864, "dram_written_bytes": 67108864,
        "dram_percent": 22.5, "l2_percent": 15, "l2_sm_sectors": 4194304, "load_requests": 524288, "load_sectors": 2097152,
        "load_bytes": 67108864, "store_requests": 524288, "store_sectors": 2097152, "store_bytes": 67108864,
        "threads_per_instruction": 32, "issue_percent": 10, "occupancy_percent": 80, "warps_per_issue": 100, "stall_selected": 1}


class Findings(hone.Case):
    """What is found where the best was counted: the good copy but for these counters."""

    def counted(self, changes=(), time_us=5, metrics=None, roof=None):
        document = json.loads(self.record().read_text())
        row = self.row({"BLOCK": 128, "ITEMS": 2, "LOAD": "ldg"}, time_us)
        row["hone"].update(counters={**GOOD, **dict(changes)}, metrics=metrics or {})
        document["cache"] = {"best": row}
        recording = self.write("counted.json", json.dumps(document))
        if roof is not None:
            self.forge("INSERT OR REPLACE INTO roof VALUES(?, '580.1', 1, ?, 0)",
                       json.dumps(hone.H200, separators=(",", ":"), sort_keys=True), json.dumps(
                           {"copy_gb_per_s": roof, "l2_gb_per_s": 8000.0, "fp32_gflops": 60000.0, "launch_us": 1.5, "measured": 1.0,
                            "driver": "580.1"}))
        found = json.loads(self.hone("explain", hone.DATA / "saxpy.yaml", "--simulate", recording, "--json").stdout)[0]["bounds"]["counted"]
        shares = [finding["share"] for finding in found["findings"]]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertTrue(all(finding["counted"] and finding["remedy"] for finding in found["findings"]))
        return found

    def kinds(self, **changes):
        return [finding["kind"] for finding in self.counted(changes)["findings"]]

    def test_each_fault_is_told_by_its_counters(self):
        waits = {"stall_long_scoreboard": 90}
        for kind, changes in (
                ("uncoalesced", {"load_sectors": 16777216, **waits}),
                # Widths that are not known excuse half of them.
                ("uncoalesced", {"store_sectors": 16777216, "store_bytes": 0, "stall_lg_throttle": 90}),
                ("conflicts", {"shared_load_wavefronts": 64e6, "shared_load_conflicts": 62e6, "stall_mio_throttle": 80}),
                ("occupancy", {"occupancy_percent": 5, **waits}), ("loads", waits),
                ("local", {"local_load_sectors": 2e7, "local_store_sectors": 1e7, **waits}),
                ("atomics", {"reduction_requests": 524288, "l2_atomic_percent": 80, "stall_long_scoreboard": 40}),
                # Who waits for an atomic's result waits as for a load: compact, an atomic an element.
                ("atomics", {"atomic_requests": 2097152, "store_requests": 2097152, "l2_atomic_percent": 55, "dram_percent": 3,
                             "l2_percent": 4, "occupancy_percent": 98, "stall_long_scoreboard": 98}),
                ("loads", {"atomic_requests": 131072, "l2_atomic_percent": 5, **waits}),
                ("idle", {"active_cycles": 6000, "stall_wait": 50}),
                # A block for every other SM: who is there alone waits, but half of the SMs are idle.
                ("idle", {"active_cycles": 28800, "occupancy_percent": 12, "stall_long_scoreboard": 55, "stall_short_scoreboard": 13,
                          "dram_percent": 3, "l2_percent": 4}),
                ("divergence", {"threads_per_instruction": 2, "issue_percent": 80}), ("barrier", {"stall_barrier": 90}),
                ("dependency", {"stall_wait": 75, "occupancy_percent": 6})):
            self.assertEqual(self.kinds(**changes)[:1], [kind], changes)

    def test_nothing_is_found_where_nothing_is_wrong(self):
        self.assertEqual(self.kinds(), [])
        # A unit that is busy all the time leaves nothing to be gained by waiting less.
        self.assertEqual(self.kinds(dram_percent=75, stall_long_scoreboard=90), [])

    def test_idle_multiprocessors_add_what_the_busiest_unit_leaves(self):
        """Where half of the SMs have nothing and memory is nearly all that is busy, they could add little."""
        first = self.counted({"active_cycles": 30000, "dram_percent": 67.5})["findings"][0]
        self.assertEqual(first["kind"], "idle")
        self.assertAlmostEqual(first["share"], 0.1, 9)

    def test_nothing_costs_more_than_memory_leaves(self):
        """128 MiB in 32 us are 4194 GB/s."""
        self.tune_simulated()
        changes = {"load_sectors": 16777216, "stall_long_scoreboard": 90}
        for metrics, share in (({}, 0.70), ({"bytes": 134217728}, 0.100), ({"bytes": 67108864}, 0.550)):
            first = self.counted(changes, 32, metrics, 4660.0)["findings"][0]
            self.assertEqual(first["kind"], "uncoalesced")
            self.assertAlmostEqual(first["share"], share, delta=0.01 if not metrics else 0.001)

    def test_rates_are_by_the_measured_time_and_the_roof(self):
        self.tune_simulated()
        changes, metrics = {"dram_read_bytes": 1.5e8, "dram_written_bytes": 0.5e8}, {"bytes": 1e8}
        found = self.counted(changes, 62.5, metrics, 4000.0)
        for name, value in (("dram_gb_per_s", 3200), ("effective_gb_per_s", 1600), ("dram_share", 0.8)):
            self.assertAlmostEqual(found[name], value, 6)
        self.assertEqual((found["bound"], found["findings"][0]["kind"]), ("DRAM, 80% of what a copy gives", "traffic"))
        # Without a roof: of what the memory can do, over the time that an SM was active.
        self.cache.unlink()
        found = self.counted(changes, 62.5, metrics)
        self.assertAlmostEqual(found["dram_share"], 0.225 * 80000 / 60000, 9)
        self.assertEqual(found["bound"], "latency, no unit is busier than 30% (DRAM)")
