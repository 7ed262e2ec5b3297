# SPDX-License-Identifier: MIT
"""`hone cache`: list, show, export, import, check."""

import contextlib
import copy
import datetime
import gzip
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import time

import hone
import test_outcomes

EXAMPLE = hone.SOURCE / "tests/data/recording/example.json"
# A file of Kernel Tuner up to its rows.
HEAD = '{"device_name": "A100", "kernel_name": "k", "problem_size": [1], "tune_params_keys": ["a"], "cache": {'
KERNEL_TUNER = hone.SOURCE / "tests/data/kernel_tuner/conv6-a6000.json.gz"


class CacheCommand(hone.Case):
    def load(self):
        return self.hone("cache", "import", EXAMPLE)

    def test_import_then_list(self):
        self.assertEqual(self.load().stdout, f"{EXAMPLE}: 6 records, 0 images\n")
        self.assertEqual(self.hone("cache", "list", COLUMNS="").stdout.split("\n"), [
            "kernel   problem  device          L2        best  spread  points  date        remarks",
            "example  N=4096   NVIDIA Example  cold  2.500 ms   ±2.5%       6  2025-11-21  imported",
            "L2: what that cache holds when a launch begins; see docs/outcomes.md",
            ""])

    def test_list_json(self):
        self.load()
        document = json.loads(self.hone("cache", "list", "--json").stdout)
        self.assertEqual(document["cache"], str(self.cache))
        [tuning] = document["tunings"]
        self.assertEqual(tuning["problem"], {"N": 4096})
        self.assertEqual(tuning["best"]["point"], {"PAD": 1, "TILE": 16})
        self.assertEqual((tuning["points"], tuning["simulated"], tuning["stale"]), (6, False, False))
        self.assertEqual((tuning["origin"]["source"], tuning["origin"]["machine"]), ("example.json", ""))
        self.assertLess(abs(tuning["origin"]["imported"] - time.time()), 300)

    def test_show(self):
        self.load()
        self.assertEqual([line.rstrip() for line in self.hone("cache", "show", "example").stdout.split("\n")], [
            "example  N=4096",
            "  device     NVIDIA Example (compute capability 9.0, 132 SMs)",
            "  measured   cold L2, objective time, driver 580.1, NVRTC 13.0",
            f"  origin     imported from example.json on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}",
            "  #      time  spread  registers   shared  occupancy  remarks  PAD  TILE",
            "  1  2.500 ms   ±2.5%         64  8.0 KiB        50%             1    16",
            "  2  2.625 ms   ±2.4%         64  8.0 KiB        50%  tied       0    32",
            "  3  2.750 ms   ±2.3%         64  8.0 KiB        50%             0    16",
            "  tied: the interval overlaps that of the best",
            "  6 points: 3 ok, 1 invalid_launch, 1 compile_error, 1 wrong_result",
            "  invalid_launch: beyond a limit of the device, or not as declared;",
            "    compile_error: did not compile; wrong_result: computed something else than",
            "    the reference; see docs/outcomes.md",
            ""])
        [tuning] = json.loads(self.hone("cache", "show", "example", "--json").stdout)["tunings"]
        self.assertEqual(tuning["outcomes"], {"ok": 3, "invalid_launch": 1, "compile_error": 1, "wrong_result": 1})
        self.assertEqual(len(tuning["records"]), 6)

    def test_export_as_t4(self):
        self.load()
        self.hone("cache", "export", "example", self.folder / "t4.json", "--format", "t4")
        document = json.loads((self.folder / "t4.json").read_text())
        self.assertEqual((document["schema_version"], document["metadata"]["timeunit"]), ("1.0.0", "milliseconds"))
        results = {tuple(r["configuration"].values()): r for r in document["results"]}
        self.assertEqual({point: r["invalidity"] for point, r in results.items()},
                         {(0, 16): "correct", (1, 16): "correct", (0, 32): "correct", (1, 32): "correctness",
                          (0, 64): "compile", (1, 64): "constraints"})
        best = results[1, 16]
        self.assertEqual(best["measurements"][0], {"name": "time", "value": 2.5, "unit": "ms"})
        self.assertEqual((best["objectives"], best["correctness"], best["times"]["runtimes"]),
                         (["time"], 1, [2.4375, 2.5, 2.5625]))
        self.assertEqual((results[1, 32]["correctness"], results[1, 32]["measurements"]), (0, []))

    def test_export_in_an_unknown_format(self):
        self.load()
        result = self.hone("cache", "export", "example", "x", "--format", "yaml", expect=2)
        self.assertIn("hone cache export: --format: found 'yaml', expected recording or t4\n", result.stderr)

    def test_simulated_says_so(self):
        said = self.tune_simulated().stdout
        self.assertIn(" on NVIDIA H200, cold L2, simulated from a recording\n  read from recording.json\n", said)
        self.assertIn("  simulated\n", self.hone("cache", "list", COLUMNS="").stdout)
        shown = self.hone("cache", "show", "saxpy").stdout
        self.assertIn("SIMULATED from a recording\n  origin     read from recording.json\n", shown)
        self.assertIn(" *   origin     read from recording.json\n *   SIMULATED: ", self.hone("export", "saxpy").stdout)
        found, = json.loads(self.hone("export", "saxpy", "--json").stdout)["configurations"]
        self.assertEqual((found["machine"], found["source"], found["simulated"]), ("", "recording.json", True))
        found, = json.loads(self.tune_simulated("--json").stdout)
        self.assertEqual((found["origin"]["source"], found["reused"]), ("recording.json", 16))
        self.fails(3, "hone: the tunings that fit are simulated: only measured ones are exported",
                   "cache", "export", "saxpy", self.folder / "r.json")

    def test_simulated_of_a_file_of_another(self):
        """A file of Kernel Tuner names no problem and no template: what it does say is compared with the config."""
        known = json.loads(self.record().read_text())
        del known["hone"]
        known["problem_size"] = [1048576, 1]
        for row in known["cache"].values():
            del row["hone"]
        def simulate(expect=0, **changes):
            self.write("kt.json", json.dumps(known | changes))
            return self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", "kt.json", "--quiet", expect=expect)
        self.assertIn(" simulated from a recording\n  read from kt.json\n\n", simulate().stdout)
        self.assertIn("  read from kt.json\n  measured at problem_size_x=4096, which is no value of this problem: the times are that one's\n",
                      simulate(problem_size=4096).stdout)
        (self.folder / "sizes").mkdir()
        for size, time in ((4096, 0.001), (1048576, 0.002)):
            rows = {key: row | {"time": time} for key, row in known["cache"].items()}
            self.write(f"sizes/{size}.json", json.dumps(known | {"problem_size": size, "cache": rows}))
        told = self.hone("tune", hone.DATA / "saxpy.yaml", "-p", "SIZE=4096", "--simulate", "sizes", "--quiet").stdout
        self.assertIn("\n  read from 4096.json\n\n", told, "a folder has the file of each size")
        self.assertIn("hone: sizes holds no recording of saxpy for SIZE=5 (cold)\n",
                      self.hone("tune", hone.DATA / "saxpy.yaml", "-p", "SIZE=5", "--simulate", "sizes", expect=1).stderr)
        self.assertEqual("hone: kt.json records axpy (problem_size_x=1048576,problem_size_y=1, unknown); asked for is saxpy "
                         "(SIZE=1048576, cold)\n", simulate(2, kernel_name="axpy").stderr)
        for keys, rows, reason in ((["BLOCK", "ITEMS"], {}, "parameter 'LOAD' is missing"),
                                   (["BLOCK", "ITEMS", "LOAD", "PAD"], {"PAD": 0}, "unknown parameter 'PAD'; there are BLOCK, ITEMS, LOAD"),
                                   (["BLOCK", "ITEMS", "LOAD"], {"LOAD": "l2"}, "'LOAD' has no value l2; it has plain, ldg")):
            cache = {str(row["BLOCK"]) + str(row["ITEMS"]): row | rows for row in known["cache"].values()}
            cache = {key: {name: value for name, value in row.items() if name in keys or name not in ("BLOCK", "ITEMS", "LOAD")}
                     for key, row in cache.items()}
            self.assertIn(f"hone: kt.json records 0 of the 16 valid points, and others ({reason}); at least 95% are needed",
                          simulate(2, tune_params_keys=keys, cache=cache).stderr)

    def test_exact_ties_have_one_order(self):
        """Whoever names a best point of several names the same, whatever the search began with."""
        recording = self.record(time_us=lambda **point: 10)
        for seed in (1, 2, 3):
            self.cache.unlink(missing_ok=True)
            tuned = self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", recording, "--quiet", "--seed", seed).stdout
            self.assertIn("\n  = tied: the best 16 cannot be told apart; the first of them is taken\n", tuned)
            self.assertRegex(tuned, r"in all rows: LOAD=ldg\n.*\n  1= .* 64 +1\n  2= .* 64 +2\n")
            self.assertRegex(self.hone("cache", "show", "saxpy").stdout, r"  in all rows: LOAD=ldg\n.*\n  1 .* 64 +1\n  2 .* 64 +2\n")
            self.assertIn("point      BLOCK=64,ITEMS=1,LOAD=ldg\n", self.hone("export", "saxpy").stdout)

    def test_other_protocol_is_stale(self):
        self.load()
        self.forge("UPDATE session SET version = json_set(version, '$.protocol', 0)")
        self.assertIn("2025-11-21  imported, stale", self.hone("cache", "list", COLUMNS="").stdout)
        self.assertIn("STALE", self.hone("cache", "show", "example").stdout)

    def test_export_gives_back_what_was_imported(self):
        self.load()
        out = self.folder / "r.json.gz"
        self.assertEqual(self.hone("cache", "export", "example", out).stdout,
                         f"{out}: 6 points of example on NVIDIA Example\n")
        exported = json.loads(gzip.decompress(out.read_bytes()))
        original = json.loads(EXAMPLE.read_text())
        self.assertEqual(exported["hone"]["device"], original["hone"]["device"])
        self.assertEqual(exported["hone"]["version"], original["hone"]["version"])
        # The plan is not known, so the parameters are sorted.
        self.assertEqual(exported["tune_params_keys"], ["PAD", "TILE"])
        for key, row in original["cache"].items():
            tile, pad = key.split(",")
            self.assertEqual(exported["cache"][f"{pad},{tile}"], row)
        self.assertEqual(self.hone("cache", "import", out).stdout, f"{out}: all of it was there already\n")

    def test_each_outcome_and_kind_of_value_goes_through(self):
        """What is exported is what was imported, in rows that Kernel Tuner reads, packed or not."""
        document = json.loads(EXAMPLE.read_text())
        ok, failed = document["cache"]["16,0"], document["cache"]["32,1"]
        names = dict.fromkeys(("compile_error", "compile_crash", "compile_timeout"), "CompilationFailedConfig")
        names.update(dict.fromkeys(("compile_stopped", "skipped", "invalid_launch"), "InvalidConfig"))
        document["hone"].update(problem={"N": 4096, "LAYOUT": "row"}, objective="gflops maximize")
        document["hone"]["device"]["mig_profile"] = "1g.18gb"
        document.update(objective="gflops", tune_params_keys=["ASYNC", "LOAD", "SCALE", "TILE"], cache={})
        for i, outcome in enumerate([*test_outcomes.OUTCOMES, "ok", "ok"]):
            timed = outcome in ("ok", "slower", "duplicate")
            point = {"ASYNC": i % 3 == 0, "LOAD": ("plain", "ldg")[i % 2], "SCALE": i / 3, "TILE": 2**i}
            row = copy.deepcopy(ok if timed else failed)
            row = {**point, **{name: value for name, value in row.items() if name not in ("TILE", "PAD")}}
            row["hone"].update(outcome=outcome, objective=-99.956 if timed else 0.0, final=i == 0)
            if timed:    # a metric of the name of a parameter, which the row has
                row["hone"]["metrics"]["TILE"] = 1.5
            if not timed:
                row.update(time=names.get(outcome, "RuntimeFailedConfig"))
                row["hone"].update(message=f'what went wrong "{i}"')
            elif i % 2 == 1:    # of batches: no number of milliseconds gives these
                samples = [892 + n / 7 for n in (757, 758, 760, 763, 766, 768, 769, 771, 772)]
                row.update(time=samples[4] / 1000, times=[us / 1000 for us in samples])
                row["hone"]["timing"].update(batch=3, low_us=samples[1], high_us=samples[7], median_us=samples[4], samples_us=samples)
            if outcome == "duplicate":
                row["hone"].update(original="ASYNC=true,LOAD=plain,SCALE=0.0,TILE=1")
            document["cache"][",".join(map(str, point.values()))] = row
        self.hone("cache", "import", self.write("all.json", json.dumps(document)))
        out, packed = self.folder / "out.json", self.folder / "out.json.gz"
        for path in (out, packed):
            self.hone("cache", "export", "example", path)
        text = out.read_text()
        undated = [re.sub('"date": "[^"]*"', "", each) for each in (gzip.decompress(packed.read_bytes()).decode(), text)]
        self.assertEqual(*undated)
        self.assertLess(packed.stat().st_size, out.stat().st_size / 2)
        exported = json.loads(text)
        self.assertEqual(exported["cache"], document["cache"])
        self.assertEqual((exported["device_name"], exported["objective"], exported["problem_size"]), ("NVIDIA Example", "gflops", [4096]))
        self.assertEqual(sorted(exported["tune_params"]["LOAD"]), ["ldg", "plain"])
        self.assertEqual(sum('"hone": {"outcome"' in line for line in text.splitlines()), len(document["cache"]))

    def imported(self, text):
        """The records of a recording of Kernel Tuner."""
        self.hone("cache", "import", self.write("r.json", text), "--cache", "r.db")
        with contextlib.closing(sqlite3.connect(self.folder / "r.db")) as cache:
            return [json.loads(text) for text, in cache.execute("SELECT json FROM record ORDER BY id")]

    def test_an_unfinished_file_of_kernel_tuner(self):
        first, second = self.imported((hone.TEST_DATA / "kernel_tuner" / "unfinished.json").read_text())
        self.assertEqual([first["timing"][name] for name in ("median_us", "low_us", "high_us")], [250, 125, 500])
        self.assertEqual((first["time"], first["costs"]["compile_ms"], first["costs"]["measure_ms"]), (1703238845.5, 120.5, 1.25))
        self.assertEqual((first["metrics"], first["point"]["layout"], first["point"]["fast"]), ({"bandwidth": 480}, "soa", True))
        self.assertEqual(second["outcome"], "invalid_launch")

    def test_times_that_are_none_are_failures(self):
        records = self.imported(HEAD + '"1": {"a": 1}, "2": {"a": 2, "time": -2}, "3": {"a": 3, "time": "Oops"},'
                                '"4": {"a": 4, "time": 1e20}, "5": {"a": 5, "time": NaN}, "6": {"a": 6, "time": 3, "x": Infinity},'
                                '"7": {"a": 7, "__error__": "CompilationFailedConfig"}}}')
        self.assertEqual([record["outcome"] for record in records], ["launch_error"] * 5 + ["ok", "compile_error"])
        self.assertEqual([records[i]["message"] for i in (0, 2, 6)], ["Kernel Tuner noted no time", "Oops", "CompilationFailedConfig"])
        self.assertEqual(records[5]["metrics"], {})

    def test_nonsense_is_refused_with_its_place(self):
        for text, part in (
                ("", "line 1, column 0"), ("kernel: matmul\n", "it is no JSON: line 1, column 6: '[' or '{' expected"),
                ('{"a": 1}', "neither a recording of Hone nor a cache file of Kernel Tuner"),
                ('{"cache": {}}', "recording: 'kernel_name' is not a string"),
                ('{"kernel_name": "k", "cache": {}}', "recording: 'tune_params_keys' is not a list"),
                ('{"kernel_name": "k", "tune_params_keys": ["a b"], "cache": {}}', "recording: 'tune_params_keys' is not a name"),
                (HEAD + '"1": {"time": 1}}}', "row '1': parameter 'a' is missing"),
                (HEAD + '"1": 5}}', "row '1': the row is an integer, expected an object"),
                (HEAD + '"1": {"a": "x y", "time": 1}}}', "row '1': found the string 'x y'"),
                (HEAD + '"1": {"a": 1, "time": 1, "times": [1, "2"]}}}', "row '1': row: 'times' is not a number"),
                (HEAD + '"1": {"a": 1, "time": 1}, "2": {"a": 1, "time": 2}}}', "row '2': the point a=1 is there twice")):
            self.assertIn(part, self.hone("cache", "import", self.write("r.json", text), expect=1).stderr)
        self.fails(1, "hone: '/nowhere/r.json' cannot be read: No such file or directory", "cache", "import", "/nowhere/r.json")

    def test_a_part_of_a_file_is_refused(self):
        whole = EXAMPLE.read_text()
        for end in range(len(whole) - 3, 700, -211):
            self.assertIn("it is truncated: ", self.hone("cache", "import", self.write("cut.json", whole[:end]), expect=1).stderr)
        packed = self.folder / "cut.json.gz"
        packed.write_bytes(gzip.compress(whole.encode())[:-20])
        self.assertIn("is truncated", self.hone("cache", "import", packed, expect=1).stderr)

    def test_import_twice_adds_once(self):
        self.load()
        self.assertEqual(self.load().stdout, f"{EXAMPLE}: all of it was there already\n")
        self.assertEqual(self.sql("SELECT count(*) FROM record"), [(6,)])

    def test_export_to_a_folder_keeps_the_newer_of_two_signatures(self):
        for number, (signature, added) in enumerate([("x:float32:input,y:float32:output", 1000), ("y:float32:output", 0)]):
            document = json.loads(EXAMPLE.read_text())
            document["hone"]["signature"] = signature
            for row in document["cache"].values():
                row["hone"]["time"] += added
            other = self.folder / f"other{number}.json"
            other.write_text(json.dumps(document))
            self.hone("cache", "import", other)
        self.hone("cache", "export", "example", f"{self.folder}/all/")
        [file] = (self.folder / "all").iterdir()
        self.assertIn("x:float32:input", json.loads(gzip.decompress(file.read_bytes()))["hone"]["signature"])

    def test_export_to_a_folder_tells_signs_apart(self):
        document = json.loads(EXAMPLE.read_text())
        for n in (-512, 512):
            document["hone"]["problem"]["N"] = n
            self.hone("cache", "import", self.write("other.json", json.dumps(document)))
        self.hone("cache", "export", "example", f"{self.folder}/all/")
        self.assertEqual(sorted(os.listdir(self.folder / "all")),
                         ["example-n-512-nvidia-example-cold.json.gz", "example-n-m512-nvidia-example-cold.json.gz"])

    def test_objectives_are_told_apart(self):
        self.load()
        document = json.loads(EXAMPLE.read_text())
        document["hone"]["objective"] = "energy minimize"
        for row in document["cache"].values():
            if "timing" in row["hone"]:
                row["hone"].update(estimated_w=700, objective=700 * row["time"] / 1000)
        other = self.folder / "other.db"
        self.hone("cache", "import", self.write("other.json", json.dumps(document)), "--cache", other)
        self.assertIn("objective=energy minimize", self.hone("cache", "list", "--cache", other).stdout)
        self.assertRegex(self.hone("cache", "diff", other, COLUMNS="200").stdout, r"\nadded .* energy minimize ")
        self.hone("cache", "merge", other)
        self.fails(2, f"hone: 2 tunings fit, but 'r.json' is one file: name a folder (with a / at the end), or choose with -p and "
                   "--device-name:\n  N=4096  NVIDIA Example  cold  time\n  N=4096  NVIDIA Example  cold  energy minimize",
                   "cache", "export", "example", "r.json")
        self.hone("cache", "export", "example", "all/")
        self.assertEqual(sorted(os.listdir(self.folder / "all")), ["example-n-4096-nvidia-example-cold-energy-minimize.json.gz",
                                                                   "example-n-4096-nvidia-example-cold.json.gz"])

    def test_export_of_several_needs_a_folder(self):
        self.load()
        other = json.loads(EXAMPLE.read_text())
        other["hone"]["problem"]["N"] = 512
        self.hone("cache", "import", self.write("other.json", json.dumps(other)))
        self.fails(2, f"hone: 2 tunings fit, but '{self.folder}/r.json' is one file: name a folder (with a / at the "
                   "end), or choose with -p and --device-name:\n  N=512  NVIDIA Example  cold  time\n"
                   "  N=4096  NVIDIA Example  cold  time", "cache", "export", "example", self.folder / "r.json")
        self.hone("cache", "export", "example", f"{self.folder}/all/")
        self.assertEqual(sorted(os.listdir(self.folder / "all")),
                         ["example-n-4096-nvidia-example-cold.json.gz", "example-n-512-nvidia-example-cold.json.gz"])
        self.hone("cache", "export", "example", self.folder / "r.json", "-p", "N=512")
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["hone"]["problem"], {"N": 512})

    def test_export_of_a_problem_with_many_values(self):
        other = json.loads(EXAMPLE.read_text())
        other["hone"]["problem"] = {f"value_with_a_name_{i}": 7 for i in range(30)}
        for last in (1, 2):
            other["hone"]["problem"]["value_with_a_name_9"] = last
            self.hone("cache", "import", self.write("other.json", json.dumps(other)))
        self.hone("cache", "export", "example", f"{self.folder}/all/")
        self.assertEqual(len(os.listdir(self.folder / "all")), 2)
        self.hone("cache", "import", *(self.folder / "all").iterdir(), "--cache", "again.db")
        self.assertIn("is whole: 2 tunings", self.hone("cache", "check", "--cache", "again.db").stdout)

    def test_export_overwrites_no_cache(self):
        self.load()
        self.fails(2, f"hone: FILE: '{self.cache}' is a cache, and is not overwritten; `hone cache merge` brings caches together",
                   "cache", "export", "example", self.cache)
        self.hone("cache", "check")

    def test_import_of_another_cache(self):
        self.load()
        other = self.folder / "other.db"
        shutil.copy(self.cache, other)
        self.cache = self.folder / "new.db"
        self.assertEqual(self.hone("cache", "import", other).stdout, f"{other}: 6 records, 0 images\n")
        document = json.loads(self.hone("cache", "import", other, "--json").stdout)
        self.assertEqual(document["files"], [{"file": str(other), "records": 0, "images": 0, "known": True,
                                              "kernel_tuner": False, "completed": False}])

    def test_import_of_kernel_tuner(self):
        self.assertEqual(self.hone("cache", "import", KERNEL_TUNER).stdout,
                         f"{KERNEL_TUNER}: 2442 records of Kernel Tuner\n")
        self.assertEqual(self.hone("cache", "list", COLUMNS="").stdout.splitlines()[1].split("  "), [
            "convolution_kernel", "problem_size_x=4096,problem_size_y=4096", "NVIDIA RTX A6000", "unknown", "774.7 us",
            "±0.17%", "", "2442", "2025-03-11", "imported, verification not recorded, by Kernel Tuner"])
        lines = self.hone("cache", "show", "convolution_kernel").stdout.splitlines()
        self.assertEqual(lines[1:3], ["  device     NVIDIA RTX A6000",
                                      "  measured   by Kernel Tuner: means; neither the state of the L2 nor what was verified is recorded"])
        self.assertIn("  2442 points: 2266 ok, 104 compile_error, 72 launch_error", lines)
        [tuning] = json.loads(self.hone("cache", "show", "convolution_kernel", "--json").stdout)["tunings"]
        self.assertEqual((tuning["kernel_tuner"], tuning["simulated"], tuning["regime"]), (True, False, "unknown"))
        best = tuning["best"]
        self.assertEqual(len(best["timing"]["samples_us"]), 32)
        row = json.loads(gzip.decompress(KERNEL_TUNER.read_bytes()))["cache"]["16,2,2,4,1,0"]
        self.assertEqual([best["timing"]["median_us"], best["costs"]["compile_ms"], best["costs"]["measure_ms"]],
                         [row["time"] * 1000, row["compile_time"], row["benchmark_time"]])
        self.assertIn("is whole: 1 tuning\n", self.hone("cache", "check").stdout)

    def test_import_of_kernel_tuner_once_and_exported(self):
        self.hone("cache", "import", KERNEL_TUNER)
        known = "all of it was there already\n"
        self.assertEqual(self.hone("cache", "import", KERNEL_TUNER).stdout, f"{KERNEL_TUNER}: {known}")
        self.hone("cache", "export", "convolution_kernel", f"{self.folder}/all/")
        [out] = (self.folder / "all").iterdir()
        self.assertRegex(out.name, r"-nvidia-rtx-a6000-unknown-kernel-tuner-[0-9a-f]{6}\.json\.gz$")
        self.assertEqual(self.hone("cache", "import", out).stdout, f"{out}: {known}")
        exported = json.loads(gzip.decompress(out.read_bytes()))
        original = json.loads(gzip.decompress(KERNEL_TUNER.read_bytes()))
        for member in ("device_name", "kernel_name", "problem_size", "tune_params_keys", "tune_params"):
            self.assertEqual(exported[member], original[member])
        self.assertEqual(exported["cache"].keys(), original["cache"].keys())
        for key, row in original["cache"].items():
            for member in ("time", "compile_time", "verification_time", "benchmark_time", "timestamp"):
                self.assertEqual(exported["cache"][key][member], row[member])
        self.assertIn("no plan and template", self.hone("export", "convolution_kernel", expect=3).stderr)

    def test_import_of_kernel_tuner_again_with_more(self):
        """An unfinished file, then more of it with another time for one point: the newest count."""
        document = json.loads(gzip.decompress(KERNEL_TUNER.read_bytes()))
        rows = dict(list(document["cache"].items())[:20])
        text = json.dumps(dict(document, cache=dict(list(rows.items())[:12]))).replace('"16,', '\n"16,')
        part = self.write("part.json", text.rstrip("}") + "},")
        self.assertEqual(self.hone("cache", "import", part).stdout, f"{part}: 12 records of Kernel Tuner\n")
        key = next(iter(rows))
        rows[key] = dict(rows[key], time=0.5, times=[0.5], timestamp="2026-01-01 00:00:00+00:00")
        whole = self.write("whole.json", json.dumps(dict(document, cache=rows)))
        self.assertEqual(self.hone("cache", "import", whole).stdout, f"{whole}: 20 records of Kernel Tuner\n")
        [tuning] = json.loads(self.hone("cache", "show", "convolution_kernel", "--json").stdout)["tunings"]
        self.assertEqual((len(tuning["records"]), tuning["best"]["timing"]["median_us"]), (20, 500))

    def test_import_of_kernel_tuner_with_other_parameters(self):
        document = {"device_name": "A", "kernel_name": "k", "problem_size": 8, "tune_params_keys": ["X"],
                    "tune_params": {"X": [1]}, "cache": {"1": {"X": 1, "time": 2.0}}}
        self.hone("cache", "import", self.write("x.json", json.dumps(document)))
        document.update(tune_params_keys=["Y"], tune_params={"Y": ["b"]}, cache={"b": {"Y": "b", "time": 1.0}})
        self.hone("cache", "import", self.write("y.json", json.dumps(document)))
        self.assertEqual(len(self.hone("cache", "list", COLUMNS="").stdout.splitlines()), 5)
        self.hone("cache", "export", "k", f"{self.folder}/all/")
        self.assertEqual(len(list((self.folder / "all").iterdir())), 2)

    def test_import_of_kernel_tuner_without_device(self):
        document = {"device_name": "", "kernel_name": "k", "tune_params_keys": ["X"], "cache": {"1": {"X": 1, "time": 2}}}
        path = self.write("x.json", json.dumps(document))
        self.fails(1, f"hone: '{path}' does not say which device it is of: name it with --device-name",
                   "cache", "import", path)
        self.hone("cache", "import", path, "--device-name", "MI250X")
        self.assertIn("  MI250X  ", self.hone("cache", "list", COLUMNS="").stdout)
        del document["device_name"]
        path = self.write("x.json", json.dumps(document))
        self.fails(1, f"hone: '{path}' does not say which device it is of: name it with --device-name", "cache", "import", path)
        self.hone("cache", "import", path, "--device-name", "MI300X")
        path = self.write("y.json", json.dumps(dict(document, cache={"1": {"X": "float2 *", "time": 2}})))
        self.fails(1, f"hone: '{path}': row '1': found the string 'float2 *', expected a word", "cache", "import", path)

    def test_broken_recordings(self):
        text = EXAMPLE.read_text()
        path = self.write("cut.json", text[: len(text) // 2])
        result = self.hone("cache", "import", path, expect=1)
        self.assertRegex(result.stderr, r"^hone: '.*/cut.json': it is truncated: line \d+, column \d+: ")
        path = self.write("newer.json", text.replace('"format": 1', '"format": 2'))
        self.fails(1, f"hone: '{path}': it has format 2, this Hone knows up to 1: use the newer Hone", "cache", "import", path)
        path = self.write("row.json", text.replace('"time": 2.75,', '"time": 2.75, "PAD": [],', 1))
        self.fails(1, f"hone: '{path}': row '16,0': found an array, expected a value", "cache", "import", path)
        self.assertEqual(self.hone("cache", "list", COLUMNS="").stdout, "")

    def test_check(self):
        self.load()
        self.assertEqual(self.hone("cache", "check").stdout, f"cache '{self.cache}' is whole: 1 tuning\n")
        self.sql("UPDATE record SET outcome = 'slower' WHERE id = 1")
        result = self.hone("cache", "check", expect=1)
        self.assertEqual(result.stdout, f"cache '{self.cache}': record 1 is not what was written; `hone cache export` "
                         "copies the others\n")
        self.assertEqual(result.stderr, f"hone: cache '{self.cache}' is damaged\n")
        document = json.loads(self.hone("cache", "check", "--json", expect=1).stdout)
        self.assertFalse(document["whole"])

    def test_of_one_that_was_killed_while_it_wrote(self):
        """What it had not finished is rolled back by who reads next: without a write-ahead log, as while a cache is made, and on a
        network's file system."""
        self.load()
        before = self.hone("cache", "list").stdout
        half = ("import os, signal, sqlite3, sys\nlink = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                "for text in 'journal_mode = DELETE', 'cache_size = 5', 'cache_spill = 1':\n    link.execute('PRAGMA ' + text)\n"
                "link.execute('BEGIN IMMEDIATE')\nlink.execute('DELETE FROM record')\nlink.execute('CREATE TABLE more(text)')\n"
                "for i in range(1000):\n    link.execute('INSERT INTO more VALUES(?)', ('x' * 500,))\n"
                "os.kill(os.getpid(), signal.SIGKILL)\n")
        subprocess.run([sys.executable, "-c", half, self.cache])
        journal = self.cache.with_name(self.cache.name + "-journal")
        self.assertTrue(journal.exists())
        self.assertEqual(self.hone("cache", "list").stdout, before)
        self.assertIn("is whole", self.hone("cache", "check").stdout)

    def test_what_is_not_there(self):
        self.fails(3, f"hone: there is no cache at '{self.cache}': no such file; `hone tune CONFIG` makes one", "cache", "list")
        self.load()
        self.fails(3, f"hone: cache '{self.cache}' has no valid result of 'exmple'; it has: example",
                   "cache", "show", "exmple")
        self.fails(3, "hone: none of the tunings of 'example' fits; `hone cache list` shows them",
                   "cache", "show", "example", "-p", "N=1")

    def test_disk_full_while_importing(self):
        self.load()
        document = json.loads(EXAMPLE.read_text())
        row = document["cache"]["16,0"]
        document["cache"] = {f"{tile},0": dict(row, TILE=tile) for tile in range(1000)}
        path = self.write("many.json", json.dumps(document))
        # A limit on the size of files fails writes as a full disk does; Python ignores SIGXFSZ, and so does the child.
        result = subprocess.run(
            [hone.HONE, "cache", "import", path], env=dict(os.environ, HONE_CACHE=str(self.cache)), text=True,
            capture_output=True, restore_signals=False, timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000)))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, f"^hone: cache '{self.cache}' cannot be written: .*; what was recorded before "
                         "is kept\n$")
        self.assertEqual(self.hone("cache", "check").stdout, f"cache '{self.cache}' is whole: 1 tuning\n")
        [tuning] = json.loads(self.hone("cache", "show", "example", "--json").stdout)["tunings"]
        self.assertEqual(len(tuning["records"]), 6)

    def test_usage(self):
        self.fails(2, "hone: unknown part 'lst' of `hone cache`; nearest is 'list'", "cache", "lst")
        self.assertIn("import FILE...", self.hone("cache", "--help").stdout)
        self.assertIn("Usage: hone cache export", self.hone("cache", "export", "--help").stdout)
        self.load()
        self.assertIn("too few arguments, expected NAME FILE", self.hone("cache", "export", "x", expect=2).stderr)
