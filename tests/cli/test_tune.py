# SPDX-License-Identifier: MIT
"""hone tune over a recording, and the commands that read what it leaves."""

import json

import hone


class Tune(hone.Case):
    def tune(self, *arguments, **settings):
        return self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(), *arguments, **settings)

    def test_finds_the_best(self):
        result = self.tune("--quiet")
        best = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["1"])
        self.assertIn("10.00 us", best)
        self.assertEqual(best.split()[-3:], ["128", "2", "ldg"])
        self.assertIn("simulated from a recording", result.stdout)
        self.assertIn("16 ok  (16 of 16 points)", result.stdout)

    def test_again_does_no_work(self):
        self.tune("--quiet")
        events = self.folder / "events.jsonl"
        again = self.tune("--quiet", "--events", events)
        self.assertIn("10.00 us", again.stdout)
        self.assertIn("cache", again.stdout)

    def test_json(self):
        result = self.tune("--json", "--quiet")
        json.loads(result.stdout)

    def test_events(self):
        path = self.folder / "events.jsonl"
        self.tune("--quiet", "--events", path)
        events = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertTrue(all(event["problem"] == {"SIZE": 1048576} for event in events))
        self.assertEqual([event["event"] for event in events], ["start", *["record"] * 16, "end"])
        start, end = events[0], events[-1]
        self.assertEqual([start[key] for key in ("kernel", "device", "regime", "simulated", "strategy", "look_ahead", "seed", "points",
                                               "budget")],
                         ["saxpy", "NVIDIA H200", "cold", True, "auto", 32, 1, 16, None])
        self.assertEqual([end[key] for key in ("finished", "reused", "outcomes", "best_us", "stopped", "interrupted")],
                         [16, 0, {"ok": 16}, 10, False, False])
        self.assertEqual(end["best"], {"BLOCK": 128, "ITEMS": 2, "LOAD": "ldg"})
        self.assertLessEqual(start["time"], end["time"])
        again = self.folder / "again.jsonl"
        self.tune("--quiet", "--events", again)
        events = [json.loads(line) for line in again.read_text().splitlines()]
        self.assertEqual([(event["event"], event.get("reused")) for event in events], [("start", None), ("end", 16)])

    def test_look_ahead(self):
        """The option comes before the config, which comes before 32; none of them makes another tuning of it."""
        config = self.folder / "saxpy.yaml"
        config.write_text((hone.DATA / "saxpy.yaml").read_text().replace("template: ", f"template: {hone.DATA}/", 1)
                          + "look_ahead: 7\n")
        path = self.folder / "events.jsonl"
        for number, (tuned, options, expected) in enumerate(((config, [], 7), (config, ["--look-ahead", 3], 3),
                                                             (hone.DATA / "saxpy.yaml", [], 32))):
            self.hone("tune", tuned, "--simulate", self.record(), "--quiet", "--events", path, *options)
            events = [json.loads(line) for line in path.read_text().splitlines()]
            self.assertEqual((events[0]["look_ahead"], events[-1]["reused"]), (expected, 16 if number else 0))

    def test_prior(self):
        """It says where a search begins, and is no part of what was measured: with another one all is reused."""
        recorded = hone.SOURCE / "cache" / "recorded" / "nvidia-h200"
        text = (hone.SOURCE / "configs" / "matmul.yaml").read_text().replace("../templates", str(hone.SOURCE / "templates"))
        begins = []
        for i, prior in enumerate(("TILE_WIDTH + UNROLL", "100 / (TILE_WIDTH + UNROLL) * sm_count")):
            config = self.folder / f"{i}.yaml"
            config.write_text(text.replace("ladder:", "# ") + f"prior: {prior}\n")
            path = self.folder / f"{i}.jsonl"
            self.hone("tune", config, "-p", "K=32", "--simulate", recorded, "--quiet", "--budget", 12, "--cache",
                      self.folder / f"{i}.db", "--events", path)
            events = [json.loads(line) for line in path.read_text().splitlines()]
            self.assertNotIn("sm_count", events[0]["problem"])
            points = [event["record"]["point"] for event in events if event["event"] == "record"]
            begins.append({(point["TILE_WIDTH"], point["UNROLL"]) for point in points[:5]})
            self.hone("tune", config, "-p", "K=32", "--simulate", recorded, "--quiet", "--budget", 12, "--cache",
                      self.folder / "0.db", "--events", path)
            end = json.loads(path.read_text().splitlines()[-1])
            self.assertGreaterEqual(end["reused"], 1)
        self.assertIn((8, 1), begins[0])
        self.assertIn((32, 16), begins[1])

    def test_look_ahead_changes_what_is_searched(self):
        """The strategy has been told of exactly so many: the same again the same way, another look-ahead another way."""
        recorded = hone.SOURCE / "cache" / "recorded" / "nvidia-h200"
        searched = []
        for i, look_ahead in enumerate((1, 1, 128, 128)):
            path = self.folder / f"{i}.jsonl"
            self.hone("tune", hone.SOURCE / "configs" / "matmul.yaml", "-p", "K=32", "--simulate", recorded, "--quiet",
                      "--strategy", "genetic", "--budget", 60, "--cache", self.folder / f"{i}.db", "--events", path,
                      "--look-ahead", look_ahead)
            events = [json.loads(line) for line in path.read_text().splitlines()]
            searched.append([event["record"]["point"] for event in events if event["event"] == "record"])
        self.assertEqual(searched[0], searched[1])
        self.assertEqual(searched[2], searched[3])
        self.assertNotEqual(searched[0], searched[2])

    def test_events_of_a_rule_that_stops(self):
        path = self.folder / "events.jsonl"
        recorded = hone.SOURCE / "cache" / "recorded" / "nvidia-h200"
        self.hone("tune", hone.SOURCE / "configs" / "matmul.yaml", "-p", "K=32", "--simulate", recorded, "--quiet", "--events", path)
        events = [json.loads(line) for line in path.read_text().splitlines()]
        chances = [event for event in events if event["event"] == "chance"]
        self.assertGreater(len(chances), 0)
        self.assertLess(chances[-1]["chance"], 0.05)
        self.assertTrue(events[-1]["stopped"])

    def test_range_that_ends_early(self):
        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 40 / (BLOCK / 64) + ITEMS)
        result = self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", recording, "--quiet")
        self.assertIn("\n  the range ends early: BLOCK=256 is the greatest of its values, and 128 takes 91% longer: try what lies beyond, if the kernel takes more\n",
                      result.stdout)
        again, = json.loads(self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", recording, "--quiet", "--json").stdout)
        self.assertEqual([(edge["name"], edge["next"]) for edge in again["edges"]], [("BLOCK", 512)])
        self.assertNotIn("the range ends early", self.tune("--quiet", "--cache", self.folder / "other.db").stdout)

    def test_same_seed_same_order(self):
        outputs = []
        for name in ("a.db", "b.db"):
            outputs.append(self.tune("--quiet", "--strategy", "random", "--budget", "5", "--seed", "7", "--cache",
                                     self.folder / name).stdout)
        self.assertEqual(outputs[0], outputs[1])
        self.assertIn("5 ok", outputs[0])

    def test_another_problem_is_not_recorded(self):
        recording = self.record()
        self.fails(2, f"hone: {recording} records saxpy (SIZE=1048576, cold); asked for is saxpy (SIZE=2048, cold)", "tune",
                   hone.DATA / "saxpy.yaml", "-p", "SIZE=2048", "--quiet", "--simulate", recording)

    def test_recording_of_too_few_points(self):
        recording = self.record()
        document = json.loads(recording.read_text())
        document["cache"] = dict(list(document["cache"].items())[:8])
        recording.write_text(json.dumps(document))
        result = self.hone("tune", hone.DATA / "saxpy.yaml", "--quiet", "--simulate", recording, expect=2)
        self.assertIn("records 8 of the 16 valid points; at least 95% are needed", result.stderr)

    def test_recording_is_not_there(self):
        self.fails(1, "hone: 'nope.json' cannot be read: No such file or directory", "tune", hone.DATA / "saxpy.yaml",
                   "--quiet", "--simulate", "nope.json")
