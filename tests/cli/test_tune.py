# SPDX-License-Identifier: MIT
"""hone tune over a recording, and the commands that read what it leaves."""

import gzip
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

    def test_a_race_for_time_decides_nothing_else(self):
        recording = self.record()
        document = json.loads(recording.read_text())
        document["cache"]["128,2,ldg"]["hone"]["final"] = True
        recording.write_text(json.dumps(document))
        config = self.copy_config()
        with config.open("a") as file:
            file.write("objective: cost\ndirection: minimize\n")
        self.spoil(config, "metrics: {", "metrics: {cost: BLOCK * time_us, ")
        for _ in range(2):
            tuning, = json.loads(self.hone("tune", config, "--simulate", recording, "--quiet", "--json").stdout)
            self.assertEqual(tuning["best"]["point"], {"BLOCK": 64, "ITEMS": 2, "LOAD": "ldg"})

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

    def played(self, *arguments):
        """The first and the last event of a simulation of all points, and the records by their points."""
        path = self.folder / "events.jsonl"
        self.hone("tune", *arguments, "--strategy", "exhaustive", "--quiet", "--events", path)
        events = [json.loads(line) for line in path.read_text().splitlines()]
        return events[0], events[-1], {",".join(map(str, event["record"]["point"].values())): event["record"]
                                       for event in events if event["event"] == "record"}

    def test_a_recording_plays(self):
        """Each point has the outcome, message and time that were recorded; what the device cannot launch has none."""
        config = self.copy_config()
        self.spoil(config, "[64, 128, 256]", "[64, 128, 256, 2048]")
        self.spoil(config, "BLOCK * ITEMS <= 512", "BLOCK * ITEMS <= 512 or ITEMS == 1")
        document = json.loads(self.record().read_text())
        rows = document["cache"]
        document["tune_params"]["BLOCK"].append(2048)
        for load in ("plain", "ldg"):
            rows[f"2048,1,{load}"] = self.row({"BLOCK": 2048, "ITEMS": 1, "LOAD": load}, 1)
        rows["64,1,plain"]["hone"].update(outcome="compile_error", message="saxpy.cu(3): error: no", code_hash="")
        rows["64,2,plain"]["hone"].update(outcome="wrong_result", message="off by one")
        rows["64,4,plain"]["hone"].update(outcome="duplicate", original="BLOCK=64,ITEMS=4,LOAD=ldg", message="same machine code and "
                                          "launch as BLOCK=64,ITEMS=4,LOAD=ldg", code_hash=rows["64,4,ldg"]["hone"]["code_hash"])
        recording = self.write("played.json", json.dumps(document))
        start, end, records = self.played(config, "--simulate", recording)
        self.assertEqual((start["device"], end["finished"], end["best_us"]), ("NVIDIA H200", 18, 10))
        self.assertEqual(end["best"], {"BLOCK": 128, "ITEMS": 2, "LOAD": "ldg"})
        self.assertEqual(end["outcomes"], {"ok": 13, "compile_error": 1, "wrong_result": 1, "duplicate": 1, "invalid_launch": 2})
        self.assertEqual(records["64,1,plain"]["message"], "saxpy.cu(3): error: no")
        self.assertEqual(records["64,4,plain"]["timing"]["median_us"], 14)
        self.assertEqual(self.sql("SELECT DISTINCT simulated, json_extract(task, '$.device.sm_count') FROM session"), [(1, 132)])
        self.assertEqual(self.played(config, "--simulate", recording)[1]["reused"], 18)

    def part_of(self, missing):
        """All but so many of 40 points of a recording."""
        whole = hone.SOURCE / "cache/recorded/nvidia-h200/atomics-size-1048576-targets-1-nvidia-h200-cold.json.gz"
        document = json.loads(gzip.decompress(whole.read_bytes()))
        document["cache"] = dict(list(document["cache"].items())[missing:])
        path = self.folder / "part.json.gz"
        path.write_bytes(gzip.compress(json.dumps(document).encode()))
        return hone.SOURCE / "configs" / "atomics.yaml", "-p", "TARGETS=1", "--simulate", path

    def test_what_was_not_recorded_is_skipped_and_not_kept(self):
        found, = json.loads(self.hone("tune", *self.part_of(2), "--strategy", "exhaustive", "--quiet", "--json").stdout)
        self.assertEqual((found["finished"], found["outcomes"]), (40, {"ok": 38, "skipped": 2}))
        self.assertEqual([record["message"] for record in found["records"] if record["outcome"] == "skipped"], ["not in the recording"] * 2)
        self.assertEqual(self.sql("SELECT count(*) FROM record"), [(38,)])

    def test_a_recording_of_something_else(self):
        for old, new, recorded in (('"SIZE": 1048576}', '"SIZE": 4096}', "saxpy (SIZE=4096, cold)"),
                                   ('"kernel_name": "saxpy"', '"kernel_name": "copy"', "copy (SIZE=1048576, cold)"),
                                   ('"regime": "cold"', '"regime": "warm"', "saxpy (SIZE=1048576, warm)")):
            recording = self.record()
            self.spoil(recording, old, new)
            self.fails(2, f"hone: {recording} records {recorded}; asked for is saxpy (SIZE=1048576, cold)", "tune",
                       hone.DATA / "saxpy.yaml", "--quiet", "--simulate", recording)

    def test_a_folder_is_searched_for_the_problem(self):
        folder = self.folder / "recorded"
        folder.mkdir()
        words = "tune", hone.DATA / "saxpy.yaml", "--quiet", "--simulate", folder
        message = f"hone: {folder} holds no recording of saxpy for SIZE=1048576 (cold)"
        self.fails(1, message, *words)
        self.spoil(self.record(name="recorded/a.json"), '"kernel_name": "saxpy"', '"kernel_name": "copy"')
        other = folder / "a.json"  # is not read to its end, as a hundred others would be
        other.write_text(other.read_text()[:-2])
        self.record(problem={"SIZE": 4096}, name="recorded/b.json")
        self.record(name="recorded/c.txt")
        self.fails(1, message, *words)
        (folder / "d.json.gz").write_bytes(gzip.compress(self.record().read_bytes()))
        for told in (self.hone(*words).stdout, self.hone("explain", hone.DATA / "saxpy.yaml", "--simulate", folder).stdout):
            self.assertIn("\n  read from d.json.gz\n", told)

    def test_recording_of_too_few_points(self):
        words = self.part_of(3)
        self.fails(2, f"hone: {words[-1]} records 37 of the 40 valid points; at least 95% are needed for a simulation (restrict the space "
                   "with -s; `hone explain --simulate` and `hone report` show a part of one)", "tune", *words, "--quiet")
        # All that a restriction leaves is recorded.
        self.assertEqual(self.played(*words, "-s", "MEMORY=shared")[1]["outcomes"], {"ok": 16})

    def test_recording_is_not_there(self):
        self.fails(1, "hone: 'nope.json' cannot be read: No such file or directory", "tune", hone.DATA / "saxpy.yaml",
                   "--quiet", "--simulate", "nope.json")
