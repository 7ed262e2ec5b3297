# SPDX-License-Identifier: MIT
"""hone explain over recordings and caches."""

import json
import socket

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
        self.assertIn(f"\n  measured on {socket.gethostname()}\n", result.stdout)
        self.assertEqual(self.explained()["origin"]["machine"], socket.gethostname())
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
        for row in list(document["cache"].values())[4:]:
            row["hone"]["outcome"] = "slower"
        recording.write_text(json.dumps(document))
        self.assertIn("too little is known: 4 points were measured in full, the others were stopped early; 10 at least",
                      self.explain("--simulate", recording).stdout)
        advice = {n["kind"]: n["text"] for n in self.explained("--simulate", recording)["next"]}
        config = hone.DATA / "saxpy.yaml"
        self.assertEqual(advice["budget"], "measure more points in full: 4 were, 10 at least tell which parameters matter, and "
                         f"the others were stopped early once they were slower: `hone tune {config} -p SIZE=1048576 --full`")

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
        self.fails(3, f"hone: the cache holds no tuning of saxpy for this problem; `hone tune {config} -p SIZE=2048` makes one, "
                   "and `hone cache list` shows what there is", "explain", config, "-p", "SIZE=2048")
        self.fails(3, f"hone: the cache holds no tuning of saxpy for this problem; `hone tune {config}` makes one, and "
                   "`hone cache list` shows what there is", "explain", config, "--device-name", "A100")

    def test_wrong_usage(self):
        self.misused("--regime: found 'tepid', expected cold, warm, stream, graph or graph10", "explain", "--regime", "tepid")
        self.misused("expected the path of a config", "explain")
