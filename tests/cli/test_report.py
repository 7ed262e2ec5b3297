# SPDX-License-Identifier: MIT
"""`hone report`: what is taken from cache and recordings, and how it is written. tests/browser looks at the page itself."""

import json
import pathlib
import shutil
import sys

import hone

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "browser"))
import recordings


class Report(hone.Case):
    def data(self, *arguments, **settings):
        """What the page is given."""
        path = self.folder / "report.html"
        self.hone("report", *arguments, "-o", path, "--quiet", **settings)
        return self.extract(path.read_text())

    def extract(self, page):
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertNotIn("@HONE", page)
        return hone.report_document(page)

    def tuning(self, *arguments):
        tuning, = self.data(*arguments)["tunings"]
        return tuning

    def test_from_the_cache(self):
        self.tune_simulated()
        tuning = self.tuning("saxpy")
        self.assertEqual((tuning["kernel"], tuning["problem"], tuning["regime"]), ("saxpy", {"SIZE": "1048576"}, "cold"))
        self.assertEqual((tuning["simulated"], tuning["stale"], tuning["merit"]), (True, False, "gb_per_s"))
        self.assertEqual(tuning["source"], f"{self.cache}, read from recording.json")
        self.assertIn("--simulate", tuning["command_line"])
        self.assertEqual(tuning["config"], str(hone.DATA / "saxpy.yaml"))
        self.assertEqual(tuning["parameters"], ["BLOCK", "ITEMS", "LOAD"])
        best = tuning["rows"][tuning["best"]]
        self.assertEqual((best["point"], best["timing"]["median_us"]), ({"BLOCK": "128", "ITEMS": "2", "LOAD": "ldg"}, 10))
        self.assertEqual(self.data()["tunings"], [tuning])
        self.assertEqual(self.data("saxpy", "saxpy")["tunings"], [tuning])

    def test_from_recordings(self):
        first = self.record()
        second = self.record(device=dict(hone.H200, name="NVIDIA H100"), name="second.json")
        tunings = self.data(first, second)["tunings"]
        self.assertEqual([tuning["device"]["name"] for tuning in tunings], ["NVIDIA H200", "NVIDIA H100"])
        self.assertEqual([tuning["count"] for tuning in tunings], [16, 16])
        self.assertEqual(self.data(f"{self.folder}/")["tunings"], tunings)
        self.assertEqual(self.tuning(first, second, "--device-name", "NVIDIA H100")["source"], str(second))
        self.assertFalse(self.cache.exists())

    def test_roofs_beside_recordings(self):
        folder = self.folder / "recorded" / "device"
        folder.mkdir(parents=True)
        self.record().rename(folder / "a.json")
        self.assertIsNone(self.tuning(f"{folder}/")["roofs"])
        shutil.copy(hone.SOURCE / "cache" / "recorded" / "roofs.json", folder.parent)
        self.assertEqual(self.tuning(f"{folder}/")["roofs"]["copy_gb_per_s"], 4233)
        (folder.parent / "roofs.json").rename(folder / "roofs.json")
        self.assertEqual(self.tuning(folder / "a.json")["roofs"]["copy_gb_per_s"], 4233)
        self.assertEqual(self.tuning(f"{folder}/")["roofs"]["copy_gb_per_s"], 4233)

    def test_ladder_and_path_from_a_config(self):
        config = self.copy_config()
        config.write_text(config.read_text() + "ladder:\n  - {ITEMS: 1}\n  - {ITEMS: 2, LOAD: ldg}\n  - {BLOCK: 256, ITEMS: 2}\n")
        path = self.record()
        document = json.loads(path.read_text())
        del document["cache"]["256,2,plain"]
        path.write_text(json.dumps(document))
        tuning = self.tuning(path, "--config", config)
        self.assertEqual(tuning["config"], str(config))
        steps = tuning["ladder"]
        self.assertEqual([step["set"] for step in steps], [{"ITEMS": "1"}, {"ITEMS": "2", "LOAD": "ldg"}, {"BLOCK": "256", "ITEMS": "2"}])
        times = [row["timing"]["median_us"] for row in tuning["rows"]]
        self.assertEqual([step["record"] is not None and times[step["record"]] for step in steps], [12, 10, False])
        self.assertEqual(self.tuning(path, "--config", self.folder)["ladder"], steps)
        self.assertEqual(self.tuning(path)["ladder"], [])

    def test_configs_that_can_not_be_read(self):
        config = self.copy_config()
        self.spoil(config, "hone: 1", "hone: x")
        path = self.record()
        result = self.hone("report", path, "--config", config, expect=2)
        self.assertIn("saxpy.yaml:2", result.stderr)
        result = self.hone("report", path, "--config", self.folder)
        self.assertIn("left out: ", result.stderr)
        self.extract(result.stdout)

    def test_roofs(self):
        roofs = {"copy_gb_per_s": 4233.25, "l2_gb_per_s": 8137, "fp32_gflops": 64800, "launch_us": 1.47, "measured": 1795219200,
                 "driver": "580.1"}
        path = self.write("roofs.txt", json.dumps({"devices": [{"name": "another", "roofs": None}, {"name": "NVIDIA H200", "roofs": roofs}]}))
        self.assertEqual(self.tuning(self.record(), "--roofs", path)["roofs"], roofs)
        self.assertIsNone(self.tuning(self.record())["roofs"])
        self.fails(1, f"hone: --roofs: '{self.folder}/recording.json' is not what `hone device --json` prints", "report",
                   self.record(), "--roofs", self.folder / "recording.json")

    def test_former_versions(self):
        self.tune_simulated()
        recording = self.record()
        self.spoil(recording, '"driver": "580.1"', '"driver": "580.2"')
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", recording, "--quiet")
        self.assertFalse(self.tuning("saxpy")["stale"])
        tunings = self.data("saxpy", "--history")["tunings"]
        self.assertEqual([tuning["stale"] for tuning in tunings], [False, True])
        self.assertEqual([tuning["version"]["driver"] for tuning in tunings], ["580.2", "580.1"])

    def test_problems(self):
        first = self.record()
        second = self.record(problem={"SIZE": 4096}, name="second.json")
        self.assertEqual(self.tuning(first, second, "-p", "SIZE=4096")["problem"], {"SIZE": "4096"})
        self.fails(3, "hone: none of the recordings fits", "report", first, "-p", "SIZE=1")

    def test_values_are_not_rounded(self):
        document = recordings.recording({"FACTOR": [0.123456789, 0.5], "COUNT": [9007199254740993]})
        document["hone"]["problem"] = {"SCALE": 0.987654321}
        tuning = self.tuning(recordings.write(self.folder / "real.json", document))
        self.assertEqual({row["point"]["FACTOR"] for row in tuning["rows"]}, {"0.123456789", "0.5"})
        self.assertEqual({row["point"]["COUNT"] for row in tuning["rows"]}, {"9007199254740993"})
        self.assertEqual(tuning["problem"], {"SCALE": "0.987654321"})

    def test_outcomes_and_messages(self):
        tuning = self.tuning(recordings.write(self.folder / "small.json", recordings.small()))
        rows = tuning["rows"]
        self.assertEqual([row["outcome"] for row in rows[:3]], ["ok", "ok", "slower"])
        wrong = "y differs: max_error 0.5, tolerance 1e-6"
        self.assertEqual([row["message"] for row in rows[15:]], [f"saxpy.cu(3): error: {recordings.MARKUP}", wrong, wrong])
        first = ",".join(f"{name}={value}" for name, value in rows[0]["point"].items())
        self.assertEqual((rows[6]["original"], rows[6]["message"]), (first, None))
        self.assertEqual([row.get("timing") for row in rows[15:]], [None] * 3)
        self.assertEqual([rows[k]["verdict"]["kind"] for k in (0, 3, 4)], ["verified", "self-verified", "unverified"])

    def test_long_messages_are_cut(self):
        document = recordings.recording(recordings.SMALL)
        recordings.fail(document["cache"], 17, "compile_error", "é" * 5000)
        tuning = self.tuning(recordings.write(self.folder / "long.json", document))
        self.assertEqual(tuning["rows"][17]["message"], "é" * 300 + " …")

    def test_what_is_not_there(self):
        self.assertIn(f"there is no cache at '{self.cache}'", self.hone("report", "saxpy", expect=3).stderr)
        self.tune_simulated()
        self.fails(3, f"hone: cache '{self.cache}' has no valid result of 'saxpi'; it has: saxpy", "report", "saxpi")
        self.fails(3, "hone: none of the tunings fits; `hone cache list` shows them", "report", "-p", "SIZE=7")
        result = self.hone("report", "./nope.json", expect=1)
        self.assertIn("nope.json", result.stderr)
        result = self.hone("report", "saxpy", "-o", self.folder / "no" / "report.html", expect=1)
        self.assertIn("report.html", result.stderr)

    def test_what_it_reads_is_not_overwritten(self):
        self.tune_simulated()
        config = self.copy_config()
        recording = self.folder / "recording.json"
        for output in self.cache, config, "saxpy.cu", recording:
            before = (self.folder / output).read_bytes()
            self.assertIn("is not overwritten", self.hone("report", recording, "saxpy", "--config", config, "-o", output, expect=2).stderr)
            self.assertEqual((self.folder / output).read_bytes(), before)

    def test_where_it_went(self):
        path = self.folder / "report.html"
        result = self.hone("report", self.record(), "-o", path)
        self.assertRegex(result.stderr, rf"^wrote {path}: 1 tuning, \d+ KiB\n$")
        self.assertEqual(result.stdout, "")
        self.extract(self.hone("report", self.record()).stdout)
