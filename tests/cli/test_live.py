# SPDX-License-Identifier: MIT
"""The main job end to end on the driver double: tune, again, interrupted, replay, export, and what can go wrong."""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import unittest

import double
import hone

UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc"]
if shutil.which(UNSHARE[0]) is None or subprocess.run([*UNSHARE, "true"], capture_output=True).returncode != 0:
    UNSHARE = None

EVERY = ("--strategy", "exhaustive")
BEST = {"BLOCK": 256, "FAULT": 0, "ITEMS": 4}


class Tune(double.Case):
    def test_finds_the_best(self):
        result = self.hone("tune", self.config, "--strategy", "exhaustive", "--quiet")
        best = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["1"])
        self.assertEqual(best.split()[-2:], ["256", "4"])
        self.assertIn("in all rows: FAULT=0\n", result.stdout)
        self.assertIn("scale n=24576 on Hone Double, cold L2", result.stdout)
        self.assertRegex(result.stdout, r"\n  \d+ ok(, \d+ slower)?  \(24 of 24 points\)\n")
        self.assertEqual(result.stderr, "")

    def test_again_does_no_work(self):
        first, = self.tune("--strategy", "exhaustive")
        self.assertEqual((first["points"], first["reused"]), (24, 0))
        self.assertEqual(first["best"]["point"], BEST)
        self.assertEqual(first["best"]["verdict"]["kind"], "verified")
        again, = self.tune("--strategy", "exhaustive", "--events", self.events)
        self.assertEqual((again["points"], again["reused"]), (24, 24))
        self.assertEqual([again["time"][key] for key in ("compile_s", "verify_s", "measure_s")], [0, 0, 0])
        self.assertEqual(again["best"], first["best"])
        self.assertEqual(self.read_events(), [])
        self.assertEqual(self.sql("SELECT count(*) FROM session"), [(1,)])

    def test_failures_of_strangers_decide_nothing(self):
        """All points but one are said to fail, in the cache of another machine, and in one that others can write to."""
        self.tune(*EVERY)
        worst, = self.sql("SELECT point FROM record WHERE outcome = 'ok' ORDER BY objective DESC LIMIT 1")[0]
        for change, mode, reused in (("machine = 'elsewhere'", 0o600, 1), ("machine = machine", 0o606, 1), ("machine = machine", 0o600, 24)):
            with self.subTest(change=change, mode=mode):
                own = self.cache.read_bytes()
                self.forge("UPDATE record SET outcome = 'compile_error', objective = NULL, verification = 0, final = 0, json = "
                           "json_set(json_remove(json, '$.timing', '$.objective', '$.verification', '$.final', '$.metrics', '$.energy', '$.conditions',"
                           " '$.launch_us', '$.resources', '$.verdict', '$.original', '$.repeats', '$.screened'), '$.outcome', 'compile_error',"
                           " '$.message', 'made up') WHERE point <> ?", worst)
                self.forge(f"UPDATE session SET {change}")
                self.cache.chmod(mode)
                result, = self.tune(*EVERY, "--full")
                self.assertEqual(result["reused"], reused)
                self.assertEqual(result["best"]["point"] == BEST, reused == 1)
                for path in self.folder.glob("hone.db*"):
                    path.unlink()
                self.cache.write_bytes(own)

    def test_without_a_driver_it_says_so(self):
        empty = self.folder / "empty"
        empty.mkdir()
        settings = dict(self.environment(), LD_LIBRARY_PATH=str(empty))
        result = subprocess.run([hone.HONE, "tune", str(self.config), "--quiet"], env=settings, capture_output=True, text=True)
        if result.returncode == 0:
            self.skipTest("there is a driver on this machine")
        self.assertEqual(result.returncode, 1)
        self.assertIn("libcuda.so.1", result.stderr)

    @unittest.skipUnless(UNSHARE, "a process namespace cannot be made here")
    def test_as_process_1(self):
        """As in a container, where nothing else started hone."""
        command = ["tune", str(self.config), "-s", "BLOCK=32", "--full", "--quiet"]
        result = subprocess.run([*UNSHARE, hone.HONE, *command], env=self.environment(), capture_output=True, text=True,
                                timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("4 ok  (4 of 4 points)", result.stdout)

    def test_restricted(self):
        tuned, = self.tune("-s", "BLOCK=32,64,ITEMS=1")
        self.assertEqual(tuned["points"], 2)
        self.assertEqual(tuned["best"]["point"]["BLOCK"], 64)

    def test_problem(self):
        tuned, = self.tune("-p", "n=4096", "-s", "ITEMS=4")
        self.assertEqual(tuned["problem"], {"n": 4096})
        self.assertAlmostEqual(tuned["best"]["timing"]["median_us"], 1 + 50 * 4096 / 24576, delta=0.05)

    def test_list_of_problems(self):
        self.spoil(self.config, "{n: 24576}", "{n: [1024, 24576]}")
        first, second = self.tune("-s", "ITEMS=4")
        self.assertEqual([first["problem"], second["problem"]], [{"n": 1024}, {"n": 24576}])
        for tuned in (first, second):
            self.assertEqual(tuned["best"]["point"], BEST)
        # Each has a tuning of its own: one of them again reuses it, a third is new.
        again, = self.tune("-s", "ITEMS=4", "-p", "n=1024")
        self.assertEqual(again["reused"], again["points"])
        other, = self.tune("-s", "ITEMS=4", "-p", "n=2048")
        self.assertEqual(other["reused"], 0)

    def test_budget(self):
        tuned, = self.tune("--budget", "5", "--strategy", "random", "--seed", "3")
        self.assertEqual(sum(tuned["outcomes"].values()), 5)
        other, = self.tune("--budget", "5", "--strategy", "random", "--seed", "3", "--cache", self.folder / "other.db")
        self.assertEqual({double.name(r["point"]) for r in tuned["records"]},
                         {double.name(r["point"]) for r in other["records"]})
        # What is cached counts towards the budget.
        again, = self.tune("--budget", "5", "--strategy", "random", "--seed", "3")
        self.assertEqual(again["reused"], 5)

    def test_budget_of_time(self):
        points = self.cheap_config(8, 16)
        tuned, = self.tune("--budget", "4s", HONE_DOUBLE_WAIT_US="3000")
        self.assertGreater(sum(tuned["outcomes"].values()), 0)
        self.assertLess(sum(tuned["outcomes"].values()), points)
        self.assertTrue(tuned["best"]["final"])

    def test_random_finds_the_same(self):
        tuned, = self.tune("--strategy", "random")
        self.assertEqual((tuned["best"]["point"], sum(tuned["outcomes"].values())), (BEST, 24))

    def test_full_measures_what_was_stopped_early(self):
        # 48 points in the worst order: from the 33rd on there is something to be held against.
        self.spoil(self.config, "[1, 2, 4, 8]", "[4, 8, 2, 1, 16, 32, 64, 128]")
        self.spoil(self.config, "{powers_of_two: [32, 1024]}", "[256, 512, 128, 64, 1024, 32]")
        self.spoil(self.config, "{BLOCK: 128, ITEMS: 1", "{BLOCK: 128, ITEMS: 4")
        stopped, = self.tune("--cache", self.folder / "stopped.db")
        self.assertGreater(stopped["outcomes"].get("slower", 0), 0)
        self.assertEqual(stopped["best"]["point"], BEST)
        for record in stopped["records"]:
            if record["outcome"] == "slower":
                self.assertIn("original", record)
        full, = self.tune("--cache", self.folder / "stopped.db", "--full")
        self.assertEqual(full["outcomes"], {"ok": 48})
        self.assertEqual(full["reused"], stopped["outcomes"]["ok"])

    def test_a_version_that_was_taken_back_counts(self):
        template = self.folder / "scale.cu"
        self.spoil(self.config, "{powers_of_two: [32, 1024]}", "[64, 128, 256]")
        self.tune()
        self.spoil(template, "{BLOCK, ITEMS", "{256 * 64 / BLOCK, ITEMS")
        self.assertEqual(self.tune()[0]["best"]["point"]["BLOCK"], 64)
        self.spoil(template, "{256 * 64 / BLOCK, ITEMS", "{BLOCK, ITEMS")
        for _ in range(2):
            self.assertEqual(self.tune()[0]["reused"], 12)
            result = self.hone("export", "scale")
            self.assertIn("#define HONE_SCALE_BLOCK 256\n", result.stdout)
            self.assertNotIn("stale", result.stderr)
        self.assertEqual(self.sql("SELECT count(*) FROM session"), [(3,)], "it is raced once more")
        self.spoil(template, "{BLOCK, ITEMS, FAULT}", "{BLOCK, ITEMS, 4}")
        self.tune(expect=3)
        self.spoil(template, "{BLOCK, ITEMS, 4}", "{BLOCK, ITEMS, FAULT}")
        self.assertEqual(self.tune()[0]["reused"], 12)
        self.assertEqual(json.loads(self.hone("cache", "list", "--json").stdout)["tunings"][0]["stale"], False)

    def test_formulas_of_metrics_that_have_changed(self):
        self.spoil(self.config, "{powers_of_two: [32, 1024]}", "[128, 256]")
        self.spoil(self.config, "[1, 2, 4, 8]", "[1, 4]")
        self.spoil(self.config, "\narguments:", "\nobjective: gbps\ndirection: maximize\narguments:")
        slow = {"BLOCK": 128, "FAULT": 0, "ITEMS": 1}
        formulas = (("8 * n", BEST, {"ok": 4}), ("8 * n * (1000 if BLOCK == 128 and ITEMS == 1 else 1)", slow, {"ok": 4}),
                    ("8 * n", BEST, {"ok": 4}), ("8 * n // (BLOCK - 256)", slow, {"ok": 2, "skipped": 2}), ("8 * n", BEST, {"ok": 4}))
        for round, (formula, best, outcomes) in enumerate(formulas):
            before = formulas[round - 1][0] if round > 0 else formula
            self.spoil(self.config, f"bytes: {before}", f"bytes: {formula}")
            tuning, = self.tune()
            self.assertEqual((tuning["reused"], tuning["outcomes"], tuning["tied"]), (4 * (round > 0), outcomes, 1))
            self.assertEqual(tuning["best"]["point"], best, formula)
            self.assertEqual([(failure["outcome"], failure["message"]) for failure in tuning["failures"]],
                             [("skipped", "the objective has no value: metric gbps: it is made of one without")] * ("skipped" in outcomes), formula)
            kept, = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
            self.assertEqual((kept["best"]["point"], kept["best"]["metrics"]), (best, tuning["best"]["metrics"]))

    def test_retry_failed(self):
        self.config = self.folder / "faults.yaml"
        points = ["-s", "FAULT=0,2,4,9"]
        first, = self.tune(*points)
        self.assertEqual(first["outcomes"], {"ok": 1, "wrong_result": 1, "device_fault": 1, "worker_crash": 1})
        again, = self.tune(*points)
        self.assertEqual(again["reused"], 4)
        retried, = self.tune(*points, "--retry-failed")
        self.assertEqual((retried["reused"], retried["outcomes"]), (1, first["outcomes"]))

    def test_events(self):
        tuned, = self.tune("--events", self.events)
        records = self.read_events()
        self.assertEqual(sorted(double.searched(records)), sorted(double.name(r["point"]) for r in tuned["records"]))
        finals = [r for r in records if r["final"]]
        self.assertEqual(min(finals, key=lambda r: r["objective"])["point"], BEST)

    def test_what_is_judged_otherwise_is_no_duplicate(self):
        """The code of both values of U is the same: what is right, or how much it is worth, is not."""
        self.spoil(self.config, "  FAULT: [0]\n", "  FAULT: [0]\n  U: [0, 1]\n")
        self.spoil(self.config, "FAULT: 0}", "FAULT: 0, U: 0}")
        alone = ("-s", "BLOCK=128,256", "-s", "ITEMS=4")
        found, = self.tune(*alone)
        self.assertEqual(found["outcomes"]["duplicate"], 2)
        before = self.config.read_text()
        self.spoil(self.config, "relative: 1.0e-6", 'relative: "1.0e-6 if U == 0 else 1.0e-3"')
        found, = self.tune(*alone)
        self.assertNotIn("duplicate", found["outcomes"])
        self.config.write_text(before.split("metrics:")[0] + "metrics: {rate: (1 + U) * n / time_us}\nobjective: rate\ndirection: maximize\n")
        result = self.hone("tune", self.config, *alone, "--json")
        self.assertNotIn("no value of U changes anything", result.stderr)
        found, = json.loads(result.stdout)
        self.assertEqual((found["best"]["point"]["U"], found["best"]["point"]["BLOCK"]), (1, 256))

    def test_events_overwrite_nothing_that_is_read(self):
        for path in self.config, self.folder / "scale.cu", self.folder / "scale_reference.cu", self.cache:
            before = path.read_bytes() if path != self.cache else b"SQLite format 3"
            self.assertIn("is not overwritten", self.hone("tune", self.config, "--events", path, expect=2).stderr)
            self.assertTrue(path.read_bytes().startswith(before))

    def test_events_where_nothing_is_right(self):
        """The search has no model then, and states no chance."""
        text = self.config.read_text()
        for old, new in (("{powers_of_two: [32, 1024]}", "{range: [1, 7], step: 1}"), ("[1, 2, 4, 8]", "{range: [1, 8], step: 1}"), ("FAULT: [0]", "FAULT: [4]"),
                         ("{BLOCK: 128, ITEMS: 1, FAULT: 0}", "{BLOCK: 1, ITEMS: 1, FAULT: 4}")):
            text = text.replace(old, new, 1)
        self.config.write_text(text)
        result = self.hone("tune", self.config, "--quiet", "--events", self.events, expect=3)
        self.assertEqual({event["outcome"] for event in self.read_events()}, {"wrong_result"})
        self.assertEqual(len(self.read_events()), 56)
        self.assertNotIn("memory", result.stderr)

    def test_quiet_is_quiet(self):
        self.assertEqual(self.hone("tune", self.config, "-s", "BLOCK=32", "--quiet").stderr, "")
        loud = self.hone("tune", self.config, "-s", "BLOCK=32").stderr
        self.assertTrue(loud.startswith("tuning scale on Hone Double: 4 points\n"), loud)
        self.assertIn("next: hone export scale -o scale_tuned.h", loud)


class Interrupted(double.Case):
    def interrupt(self, number):
        points = self.cheap_config(8, 12)
        process = self.start("tune", self.config, *EVERY, "--quiet", "--json", "--events", self.events, HONE_DOUBLE_WAIT_US="1000")
        self.wait_for_events(20, process)
        process.send_signal(number)
        output, errors = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 128 + number, errors)
        self.assertIn("interrupted; what was finished is kept", errors)
        before = self.read_events()
        self.assertLess(len(before), points)
        stopped, = json.loads(output)
        self.assertEqual(sum(stopped["outcomes"].values()), len(before))
        self.assertIsNotNone(stopped["best"])

        resumed, = self.tune(*EVERY, "--events", self.events)
        after = self.read_events()
        self.assertEqual(resumed["reused"], len(before))
        self.assertEqual(sum(resumed["outcomes"].values()), points)
        self.assertEqual(set(double.searched(before)) & set(double.searched(after)), set())
        self.assertEqual(len(double.searched(before) + double.searched(after)), points)

    def test_sigint(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM)

    def test_sighup(self):
        self.interrupt(signal.SIGHUP)


class Failures(double.Case):
    def test_nothing_compiles(self):
        self.spoil(self.folder / "scale.cu", "int first =", "broken int first =")
        line = self.folder.joinpath("scale.cu").read_text().split("broken")[0].count("\n") + 1
        result = self.hone("tune", self.config, "--quiet", expect=3)
        everything = result.stdout + result.stderr
        self.assertEqual(everything.count(f"scale.cu({line}): error"), 1, everything)
        self.assertIn("24 compile_error  (24 of 24 points)", result.stdout)
        self.assertIn("hone: no variant compiled, ran and gave the right result", result.stderr)
        # It may have been the machine's fault.
        self.assertIn("24 of them from the cache: --retry-failed tries those again)", self.hone("tune", self.config, "--quiet", expect=3).stdout)

    def test_reference_does_not_compile(self):
        self.spoil(self.folder / "scale_reference.cu", "extern", "broken extern")
        result = self.hone("tune", self.config, "--quiet", expect=1)
        self.assertIn("hone: the reference does not compile: ", result.stderr)
        self.assertEqual(result.stderr.count("error:"), 1, result.stderr)

    def test_reference_does_not_know_a_parameter(self):
        self.spoil(self.folder / "scale_reference.cu", "blockDim.x", "BLOCK")
        for command in ("tune", "run"):
            self.assertTrue(self.hone(command, self.config, expect=1).stderr.endswith(
                "identifier \"BLOCK\" is undefined; 'BLOCK' is a parameter: `depends: [BLOCK]` makes it a macro there\n"))

    def test_buffers_larger_than_memory(self):
        for command in ("tune", "run"):
            result = self.hone(command, self.config, expect=1, HONE_DOUBLE_MEMORY="600000")
            table = result.stderr.splitlines()
            self.assertIn("hone: the buffers do not fit: ", result.stderr)
            for row in (["x", "input"], ["y", "output"], ["y", "reference"]):
                self.assertTrue(any(line.split()[:2] == row for line in table), result.stderr)

    def test_no_such_device(self):
        result = self.hone("tune", self.config, "--quiet", "--device", "7", expect=2)
        self.assertTrue(result.stderr.startswith("hone: no such device: '7'; expected one of:"), result.stderr)

    def test_every_driver_call_at_the_start(self):
        """One line that names the call, no result, nothing in the cache."""
        for call in (1, 2, 3, 5, 8, 13, 21, 34):
            with self.subTest(call):
                result = self.hone("tune", self.config, "--quiet", "-s", "BLOCK=32", expect=1, HONE_DOUBLE_FAIL=str(call))
                self.assertRegex(result.stderr, r"\Ahone: [^\n]*\bcu[A-Z]\w+[^\n]*: CUDA_ERROR_UNKNOWN[^\n]*\n\Z")
                self.assertEqual(result.stdout, "")

    def test_unwritable_cache(self):
        self.write("file", "not a folder")
        for path in (self.folder / "file" / "hone.db", "/proc/hone.db", self.folder):
            with self.subTest(path):
                result = self.hone("tune", self.config, "--quiet", "--cache", path, expect=1)
                self.assertRegex(result.stderr, r"\Ahone: [^\n]*cache[^\n]*\n\Z")

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_read_only_folder(self):
        folder = self.folder / "locked"
        folder.mkdir(mode=0o555)
        self.hone("tune", self.config, "--quiet", "--cache", folder / "hone.db", expect=1)

    def test_events_can_not_be_written(self):
        """The run does not begin."""
        result = self.hone("tune", self.config, "--quiet", "--events", "/dev/full", expect=1)
        self.assertEqual(result.stderr, "hone: the events (--events) cannot be written: No space left on device\n")
        result = self.hone("tune", self.config, "--events", "/nowhere/events", expect=1)
        self.assertEqual(result.stderr, "hone: '/nowhere/events' cannot be written: No such file or directory\n")
        self.assertEqual(self.sql("SELECT count(*) FROM record"), [(0,)])

    def test_events_can_not_be_written_any_more(self):
        """The run ends with the reason; what was measured is in the cache."""
        os.mkfifo(self.events)
        process = self.start("tune", self.config, "--quiet", "--events", self.events)
        with open(self.events) as events:
            for _ in range(3):
                events.readline()
        self.assertEqual(self.ended(process, 1)[1], "hone: the events (--events) cannot be written: Broken pipe\n")
        self.assertGreater(self.sql("SELECT count(*) FROM record")[0][0], 0)

    def test_a_header_that_is_edited_meanwhile(self):
        """Its compiler reads it itself, so that what comes after is another program."""
        points = self.cheap_config(8, 12)
        header = self.write("part.cuh", "")
        self.spoil(self.folder / "scale.cu", "extern", "#include <part.cuh>\nextern")
        self.config.write_text(self.config.read_text() + "compile: {options: [-I.]}\n")
        process = self.start("tune", self.config, *EVERY, "--quiet", "--events", self.events, "--jobs", "1")
        self.wait_for_events(10, process)
        header.write_text("// another\n")
        self.folder.joinpath("scale.cu").write_text("nobody reads this again")
        _, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors),
                         (1, f"hone: {header} changed while variants were compiled from it; run again\n"))
        self.assertLess(self.sql("SELECT count(*) FROM record")[0][0], points)

    def test_disk_full(self):
        """The run ends with the reason; what was recorded before is kept, and the next run goes on."""
        # NVRTC itself, since what is compiled in no time fills the disk with the first commit.
        points = self.cheap_config(8, 12)
        limit = 96 * 1024

        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        process = subprocess.run([hone.HONE, "tune", str(self.config), *EVERY, "--quiet"], text=True, capture_output=True,
                                 env=self.environment(HONE_NVRTC=""), preexec_fn=limit_files, timeout=120)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertRegex(process.stderr, r"\Ahone: cache '[^']*' cannot be written: [^\n]*\n\Z")
        self.hone("cache", "check")
        kept, = self.sql("SELECT count(*) FROM record")[0]
        resumed, = self.tune(*EVERY)
        self.assertGreater(kept, 0)
        self.assertEqual((resumed["reused"], sum(resumed["outcomes"].values())), (kept, points))


class Run(double.Case):
    def test_one_point(self):
        result = self.hone("run", self.config, "-s", "BLOCK=64,ITEMS=2")
        self.assertIn("scale n=24576: BLOCK=64,FAULT=0,ITEMS=2", result.stdout)
        self.assertIn("outcome      ok", result.stdout)

    def test_wrong_point(self):
        result = self.hone("run", self.folder / "faults.yaml", "-s", "FAULT=4", expect=3)
        self.assertIn("outcome      wrong_result: y[12288] is", result.stdout)


class Replay(double.Case):
    def setUp(self):
        super().setUp()
        self.tune("-s", "BLOCK=128,256,ITEMS=4")

    def replay(self, *arguments, **settings):
        return self.hone("replay", self.config, *arguments, **settings)

    def test_holds(self):
        result = self.replay()
        self.assertIn("verdict   holds", result.stdout)
        self.assertIn("image     from the cache", result.stdout)
        self.assertNotIn("stale", result.stdout)
        self.assertNotIn("space  ", result.stdout)
        self.assertIn(f"origin    measured on {socket.gethostname()}\n", result.stdout)
        replayed, = json.loads(self.replay("--json").stdout)
        self.assertEqual(replayed["origin"], {"machine": socket.gethostname(), "source": "", "imported": 0})
        self.assertEqual((replayed["verdict"], replayed["image_from_cache"]), ("holds", True))

    def test_has_the_inputs_that_the_record_was_raced_on(self):
        replayed, = json.loads(self.replay("--json").stdout)
        seed, point = replayed["recorded"]["verdict"]["seed"], replayed["recorded"]["point"]
        ran = json.loads(self.hone("run", self.config, "--seed", str(seed), "--json", *(
            word for name, value in point.items() for word in ("-s", f"{name}={value}"))).stdout)
        self.assertEqual(replayed["now"]["verdict"]["max_reference"], ran["problems"][0]["record"]["verdict"]["max_reference"])
        self.assertNotEqual(replayed["now"]["verdict"]["max_reference"], replayed["recorded"]["verdict"]["max_reference"])

    def test_nothing_tuned(self):
        result = self.replay("-p", "n=1024", expect=3)
        self.assertIn("the cache holds no tuned scale for n=1024", result.stderr)

    def test_the_best_of_a_part(self):
        """-s leaves a part of the points; it is no other tuning's best that holds."""
        for part, best in (("BLOCK=128", "BLOCK=128,FAULT=0,ITEMS=4"), ("BLOCK=128,256", "BLOCK=256,FAULT=0,ITEMS=4")):
            self.assertIn(f"  point     {best}\n", self.replay("-s", part).stdout)
        self.assertIn("the cache holds no tuned scale for n=24576 (cold); `hone tune scale.yaml -s ITEMS=1`",
                      self.hone("replay", self.config.name, "-s", "ITEMS=1", expect=3).stderr)

    def test_a_best_that_the_config_excludes_now(self):
        whole = self.config.read_text()
        for old, new in (("[1, 2, 4, 8]", "[1, 2]"), ("defaults:", "constraints: [BLOCK * ITEMS <= 512]\ndefaults:")):
            self.config.write_text(whole.replace(old, new))
            self.assertIn("  space     the config's values or constraints exclude this point now: tune it again\n  verdict   holds",
                          self.replay().stdout)
            replayed, = json.loads(self.replay("--json").stdout)
            self.assertFalse(replayed["in_space"])
        # The best of a part is one that is valid.
        self.assertIn("  point     BLOCK=128,FAULT=0,ITEMS=4\n", self.replay("-s", "ITEMS=4").stdout)

    def test_wrong_result(self):
        """Another template is stale: it is compiled anew, and what it computes counts."""
        self.spoil(self.folder / "scale.cu", "ITEMS, FAULT}", "ITEMS, 4}")
        result = self.replay(expect=4)
        self.assertIn("stale     the record was measured with another version: template", result.stdout)
        self.assertIn("image     compiled", result.stdout)
        self.assertIn("verdict   WRONG: wrong_result: y[12288] is", result.stdout)
        self.assertIn("the replay does not hold", result.stderr)

    def test_stale_but_right(self):
        self.spoil(self.folder / "scale.cu", "int first =", "int  first =")
        result = self.replay()
        self.assertIn("stale     the record was measured with another version: template", result.stdout)
        self.assertIn("verdict   holds", result.stdout)

    def test_no_longer_compiles(self):
        self.spoil(self.folder / "scale.cu", "int first =", "broken int first =")
        result = self.replay(expect=4)
        self.assertIn("verdict   WRONG: compile_error: ", result.stdout)

    def forge_timing(self, change):
        for number, text in self.sql("SELECT id, json FROM record"):
            record = json.loads(text)
            if "processes" in record["timing"]:
                change(record["timing"])
                self.forge("UPDATE record SET json = ? WHERE id = ?", json.dumps(record), number)

    def divide_recorded_times(self, divisor):
        for number, text in self.sql("SELECT id, json FROM record"):
            record = json.loads(text)
            for key in {"median_us", "low_us", "high_us", "fastest_us", "middle_us", "slowest_us"} & set(record["timing"]):
                record["timing"][key] /= divisor
            record["objective"] /= divisor
            self.forge("UPDATE record SET json = ?, objective = ? WHERE id = ?", json.dumps(record), record["objective"], number)

    def test_slower(self):
        self.divide_recorded_times(1.5)
        result = self.replay(expect=4)
        self.assertIn("verdict   SLOWER", result.stdout)
        self.assertIn("on Hone Double, +", result.stdout)
        self.assertIn("verdict   holds", self.replay("--max-slowdown", "60%").stdout)

    def paces(self, *paces):
        """How much longer kernels take in the first processes that come."""
        return {"HONE_DOUBLE_PACES": str(self.write("paces", "".join(f"{pace}\n" for pace in paces)))}

    def replayed(self, *arguments, **settings):
        document, = json.loads(self.replay("--json", *arguments, **settings).stdout)
        return document["verdict"], document["recorded"]["timing"], document["now"]["timing"]

    def test_metrics_and_objective_are_of_now(self):
        document, = json.loads(self.replay("--json").stdout)
        now = document["now"]
        self.assertEqual(now["objective"], now["timing"]["median_us"])
        self.assertEqual(now["metrics"], {"bytes": 196608, "gbps": 196608 / now["objective"] / 1000})

    def test_one_slow_process_is_no_verdict(self):
        verdict, recorded, now = self.replayed(**self.paces(1.2))
        self.assertEqual((verdict, recorded["processes"], now["processes"]), ("holds", 2, 7))
        self.assertLess(now["middle_us"], 1.01 * recorded["middle_us"])
        self.assertGreater(now["median_us"], 1.19 * recorded["median_us"])
        self.assertEqual(self.replayed(**self.paces(1.2, 1.2, 1.2))[0], "holds")

    def test_no_other_process_comes_up(self):
        """The race is the verdict then, and what comes behind it goes on."""
        paces = self.paces(1, *20 * [-1])
        done, = self.tune("--cache", self.folder / "other.db", **paces)
        self.assertGreater(done["outcomes"]["ok"], 0)
        self.assertIsNotNone(done["best"])

    def test_slower_in_most_processes(self):
        result = self.replay(expect=4, **self.paces(1.08, 0.9, *5 * [1.08]))
        self.assertRegex(result.stdout, r"then      2 processes: \S+ us \(\S+ to \S+\), copy \d+ GB/s, SM 1980 MHz\n"
                                        r"  again     7 processes: \S+ us \(\S+ to \S+\), copy \d+ GB/s, SM 1980 MHz\n")
        self.assertIn("verdict   SLOWER", result.stdout)
        self.assertIn("in most processes", result.stderr)

    def test_a_slower_machine_is_not_the_kernel(self):
        result = self.replay(HONE_DOUBLE_SLOWNESS="1.2")
        self.assertIn("verdict   the machine is slower", result.stdout)
        self.assertRegex(result.stdout, "again     7 processes: ")
        self.assertEqual(self.replayed(expect=4, **self.paces(*7 * [1.2]), HONE_DOUBLE_SLOWNESS="1.1")[0], "SLOWER")

    def test_records_of_one_process(self):
        """As older versions made them: processes may differ by a tenth."""
        self.forge_timing(lambda timing: [timing.pop(key) for key in ("processes", "fastest_us", "middle_us", "slowest_us", "copy_gb_per_s")])
        verdict, recorded, now = self.replayed(**self.paces(*7 * [1.07]))
        self.assertEqual((verdict, now["processes"]), ("holds", 7))
        self.assertNotIn("processes", recorded)
        self.assertEqual(self.replayed(expect=4, **self.paces(*7 * [1.2]))[0], "SLOWER")

    def test_another_device(self):
        self.divide_recorded_times(2)
        result = self.replay(HONE_DOUBLE_NAME="Another Double")
        self.assertIn("on Another Double", result.stdout)
        self.assertIn("verdict   verified, no verdict on speed", result.stdout)
        self.spoil(self.folder / "scale.cu", "ITEMS, FAULT}", "ITEMS, 4}")
        self.assertIn("WRONG", self.replay(HONE_DOUBLE_NAME="Another Double", expect=4).stdout)


class Export(double.Case):
    def test_best(self):
        self.tune()
        self.hone("export", "scale", "-o", "scale_tuned.h")
        header = (self.folder / "scale_tuned.h").read_text()
        for line in ("HONE_SCALE_BLOCK 256", "HONE_SCALE_ITEMS 4"):
            self.assertRegex(header, r"#define\s+" + line.replace(" ", r"\s+"))
        best, = json.loads(self.hone("export", "scale", "--json").stdout)["configurations"]
        self.assertEqual((best["parameters"], best["simulated"], best["verification"]), (BEST, False, "verified"))
        self.hone("export", "scale", "--format", "cubin", "-o", "best.cubin")
        self.assertEqual(pathlib.Path(self.folder / "best.cubin").read_bytes()[:4], b"\x7fELF")

    def test_cache(self):
        tuned, = self.tune("--strategy", "exhaustive")
        self.assertIn("24 points", self.hone("cache", "show", "scale").stdout)
        self.assertIn("scale", self.hone("cache", "list").stdout)
        self.hone("cache", "export", "scale", "scale.json")
        self.hone("cache", "import", "scale.json", "--cache", self.folder / "other.db")
        recorded = json.loads((self.folder / "scale.json").read_text())
        self.assertEqual(len(recorded["cache"]), 24)
        simulated = json.loads(self.hone("tune", self.config, "--simulate", "scale.json", "--json", "--quiet", "--cache",
                                         self.folder / "third.db").stdout)[0]
        self.assertEqual(simulated["best"]["point"], tuned["best"]["point"])
        self.assertTrue(simulated["simulated"])


class ReplayAll(double.Case):
    """Tunings that another driver, or another template, has made stale."""

    def stale(self):
        """Tunes, and lets the cache believe that the driver was another one then."""
        self.tune("--strategy", "exhaustive")
        for table in "session", "image":
            self.forge(f"UPDATE {table} SET version = json_set(version, '$.driver', '1.0')")

    def replay_all(self, *arguments, **settings):
        return self.hone("replay", "--all", self.config, *arguments, **settings)

    def test_options_that_say_nothing_there(self):
        for option in ("--set=BLOCK=128", "--problem=n=1024", "--regime=cold", "--max-slowdown=5"):
            self.assertEqual(self.replay_all(option, expect=2).stderr, "hone: --all races what is stale of all problems and regimes: "
                             f"leave {option.partition('=')[0]} out\n")

    def test_confirms(self):
        self.stale()
        result = self.replay_all()
        self.assertRegex(result.stdout, r"^scale n=24576 \(cold\): confirmed, \S+ us ±\S+ was, \S+ us ±\S+ is, ")
        self.assertIn(f"\n  origin    measured on {socket.gethostname()}\n  changed ", result.stdout)
        self.assertIn("\n  changed   driver 1.0 -> ", result.stdout)
        self.assertIn("\nlooked at 1 tuning: 1 raced again, 0 up to date already, 0 of another device, of other arguments or data, or "
                      "simulated\n", result.stdout)
        self.assertEqual(self.sql("SELECT command FROM session WHERE id = 2"), [("hone replay --all",)])
        self.assertEqual(self.sql("SELECT count(DISTINCT point) FROM record WHERE session_id = 2"), [(5,)])

    def test_again_there_is_nothing_to_do(self):
        self.stale()
        self.replay_all()
        self.assertEqual(self.replay_all().stdout, "looked at 1 tuning: 0 raced again, 1 up to date already, "
                         "0 of another device, of other arguments or data, or simulated\n")
        [tuning] = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        self.assertEqual((tuning["best"]["point"], tuning["stale"]), (BEST, False))

    def test_nothing_to_replay(self):
        """An empty cache, and one whose tunings are of another device, are no proof that all is well."""
        nothing = ("hone: there is nothing to replay: the cache has no tuning of these configs that was measured on this device; "
                   "`hone cache list` shows what it has, `hone tune CONFIG` makes one\n")
        self.stale()
        for device, count in (("Another Double", "1 tuning"), (None, "0 tunings")):
            settings = {} if device is None else {"HONE_DOUBLE_NAME": device}
            if device is None:
                self.cache.unlink()
            result = self.replay_all(expect=1, **settings)
            self.assertIn(f"looked at {count}: 0 raced again, 0 up to date already, ", result.stdout)
            self.assertEqual(result.stderr, nothing)

    def test_a_template_whose_best_points_fail(self):
        self.stale()
        self.spoil(self.config.with_name("scale.cu"), "{", "{ this is no CUDA")
        result = self.replay_all(expect=4)
        self.assertIn("none of its best points works any longer: tune it again", result.stdout)
        self.assertEqual(result.stderr, "hone: 1 tuning: none of the best points works any longer\n")
