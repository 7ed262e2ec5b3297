# SPDX-License-Identifier: MIT
"""`run:` of a config: a program that is built and run in place of a kernel."""

import json
import os
import pathlib
import signal
import subprocess
import time

import double
import hone

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Takes N / BLOCK ms, or so it says. */
int main(int argc, char **argv)
{
    double ms = atof(getenv("N")) / BLOCK + (argc > 1 ? atof(argv[1]) : 0);
    if (BLOCK == 1) { fprintf(stderr, "one is none\n"); return 3; }
    if (BLOCK == 2) abort();
    while (BLOCK == 4) pause();
    printf("{\"runs\": [{\"ms\": %.6f}], \"sum\": %d}\n", ms, BLOCK == 8 ? 41 : 42);
    return 0;
}
"""

CONFIG = """
kernel: bench
problem: {N: 1024}
parameters: {BLOCK: [1, 2, 4, 8, 16, 32, 64, 128], SLOW: [0, 1000], FAST: [true]}
constraints: [SLOW == 0 or BLOCK == 16]
run:
  build: [[cc, "-DBLOCK=${BLOCK}", "${HONE_SOURCE}/bench.c", -o, bench], [test, "${BLOCK}", -ne, 128]]
  command: [./bench, "${SLOW}"]
  time: {json: runs.0.ms, unit: ms}
  check: [grep, -q, '"sum": 42']
  files: [bench.c]
metrics: {rate: N / time_us}
"""


class Program(hone.Case):
    def setUp(self):
        super().setUp()
        self.write("bench.c", SOURCE)
        self.config = self.write("bench.yaml", CONFIG)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def tune(self, *arguments, **settings):
        """What came of each point, by its values but FAST."""
        result = self.hone("tune", self.config, "--allow-run", "--quiet", "--json", "--run-timeout", "0.3", *arguments,
                           TMPDIR=str(self.scratch), HONE_LOCKS=str(self.folder), **settings)
        self.assertEqual(list(self.scratch.iterdir()), [], "lanes are removed")
        summary, = json.loads(result.stdout)
        return summary, {tuple(value for name, value in record["point"].items() if name != "FAST"): record
                         for record in summary["records"]}

    def rewrite(self, old, new):
        self.spoil(self.config, old, new)

    def test_outcomes(self):
        summary, records = self.tune("--full")
        self.assertEqual({point: record["outcome"] for point, record in records.items()},
                         {(1, 0): "worker_crash", (2, 0): "worker_crash", (4, 0): "run_timeout", (8, 0): "wrong_result",
                          (16, 0): "ok", (16, 1000): "ok", (32, 0): "ok", (64, 0): "ok", (128, 0): "compile_error"})
        self.assertEqual(records[1, 0]["message"], "./bench ended with exit status 3; it last printed: one is none")
        self.assertIn("./bench killed by signal 6", records[2, 0]["message"])
        self.assertEqual(records[4, 0]["message"], "./bench did not end in time (--run-timeout)")
        self.assertEqual(records[128, 0]["message"], "test ended with exit status 1")
        best = summary["best"]
        self.assertEqual((best["point"]["BLOCK"], best["timing"]["median_us"], best["metrics"]), (64, 16000, {"rate": 0.064}))
        self.assertEqual((best["verdict"]["kind"], best["final"], best["timing"]["processes"]), ("verified", True, 2))
        self.assertGreaterEqual(len(best["timing"]["samples_us"]), 3)
        self.assertTrue(summary["device"].startswith("CPU of "))
        self.assertGreater(summary["time"]["compile_cpu_s"], 0)
        self.assertEqual(json.loads(self.hone("export", "bench", "--json").stdout)["configurations"][0]["parameters"],
                         {"BLOCK": 64, "SLOW": 0, "FAST": True})
        self.assertEqual(self.hone("export", "bench", "--template", self.write("t", "#define BLOCK @{BLOCK}\n")).stdout,
                         "#define BLOCK 64\n")

    def test_stops_early_and_resumes(self):
        """What is much slower than the best is run once; again nothing is run; a changed source or command is measured again."""
        points = ("-s", "BLOCK=16,32")
        _, records = self.tune("--look-ahead", "1", *points)
        self.assertEqual(records[16, 1000]["outcome"], "slower")
        self.assertEqual(len(records[16, 1000]["timing"]["samples_us"]), 1)
        summary, _ = self.tune(*points)
        self.assertEqual((summary["finished"], summary["reused"]), (3, 3))
        self.spoil(self.folder / "bench.c", "atof(getenv", "2 * atof(getenv")
        summary, records = self.tune(*points)
        self.assertEqual((summary["reused"], records[32, 0]["timing"]["median_us"]), (0, 64000))
        self.rewrite("-o, bench]", "-O1, -o, bench]")
        self.assertEqual(self.tune(*points)[0]["reused"], 0)

    def test_regex_and_environment(self):
        """Values reach a command by its environment, too; without a check it is unverified."""
        self.config = self.write("echo.yaml", "kernel: echo\nproblem: {WORDS: [few]}\n"
                                 "parameters: {N: [3, 5], FAST: [true, false], SHARE: [0.5]}\n"
                                 "run: {command: [env], time: {regex: '^N=([0-9]+)$', unit: us}}\n")
        summary, records = self.tune("--full")
        self.assertEqual(summary["best"]["point"]["N"], 3)
        self.assertEqual(records[5, 0.5]["timing"]["median_us"], 5)
        self.assertEqual({record["verdict"]["kind"] for record in records.values()}, {"unverified"})
        shown = self.hone("tune", self.config, "--allow-run", "--quiet", HONE_LOCKS=str(self.folder)).stdout
        self.assertIn("UNVERIFIED: the config's 'run' has no 'check', so no result was looked at", shown)
        for name, value in (("FAST", "[01]"), ("SHARE", "0.5"), ("WORDS", "few"), ("HONE_LANE", "/.*"), ("HONE_SOURCE", "/.*")):
            self.write("echo.yaml", "kernel: echo\nproblem: {WORDS: [few]}\n"
                       "parameters: {N: [3], FAST: [true, false], SHARE: [0.5]}\n"
                       f"run: {{command: [sh, -c, 'env | grep ^{name}={value}\\$ && echo 7.5'], time: {{regex: '^(7)', unit: ns}}}}\n")
            self.assertEqual(self.tune()[0]["best"]["timing"]["median_us"], 0.007, name)

    def test_items_by_their_tags(self):
        printed = json.dumps({"benchmarks": [{"name": "other"}, {"name": "sum", "summaries": [
            {"tag": "nv/cold/count", "value": 3}, {"tag": "nv/cold/time", "data": [{"value": "2.5e-3"}]}]}]})
        self.config = self.write("tags.yaml", json.dumps({
            "kernel": "tags", "parameters": {"A": [1]}, "run": {
                "command": ["echo", printed], "time": {"json": "benchmarks.sum.summaries.nv/cold/time.data.0.value", "unit": "s"}}}))
        self.assertEqual(self.tune()[0]["best"]["timing"]["median_us"], 2500)
        self.rewrite("time.data.0", "time.data.1")
        summary, records = self.tune(expect=3)
        self.assertEqual((records[1,]["outcome"], records[1,]["message"]),
                         ("worker_crash", "it printed no time above 0 where the config's 'time' says"))

    def test_lanes_build_side_by_side(self):
        """Each build waits for the others to begin."""
        made = f"made.{min(os.nice(0) + 5, 19)}"  # builds leave the cores to the program
        self.write("all", "cd ${HONE_SOURCE}; touch lane.$A; until [ -e lane.1 -a -e lane.2 -a -e lane.3 ]; do sleep 0.01; done\n")
        self.config = self.write("lanes.yaml", "kernel: lanes\nparameters: {A: [1, 2, 3]}\n"
                                 "run: {build: [[sh, '${HONE_SOURCE}/all'], [sh, -c, 'mkdir -p made.$(nice)/inside']], "
                                 "command: [sh, -c, 'ls; echo t 1'], time: {regex: 't (.*)', unit: ms}, "
                                 f"check: [grep, -qx, {made}]}}\n")
        summary, _ = self.tune("--full", "--jobs", "3", "--compile-timeout", "20")
        self.assertEqual(summary["outcomes"], {"ok": 3})

    def test_a_build_that_hangs(self):
        self.rewrite("[test, \"${BLOCK}\", -ne, 128]", "[sh, -c, 'sleep 50 & sleep 60']")
        summary, records = self.tune("-s", "BLOCK=32", "--compile-timeout", "0.5", expect=3)
        self.assertEqual((records[32, 0]["outcome"], records[32, 0]["message"]),
                         ("compile_timeout", "sh did not end in time (--compile-timeout)"))

    def test_interrupted(self):
        """Ctrl-C ends what runs, and the next tune goes on."""
        settings = dict(os.environ, HONE_CACHE=str(self.cache), TMPDIR=str(self.scratch), HONE_LOCKS=str(self.folder))
        events = self.folder / "events"
        process = subprocess.Popen([hone.HONE, "tune", self.config, "--allow-run", "--quiet", "--full", "-s", "BLOCK=4,16,32",
                                    "--events", events], cwd=self.folder, env=settings, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not self.hanging() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(self.hanging())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 128 + signal.SIGINT)
        self.assertEqual(self.hanging(), [])
        self.assertEqual(list(self.scratch.iterdir()), [])
        done = sum(json.loads(line)["event"] == "record" for line in events.read_text().splitlines())
        summary, records = self.tune("--full", "-s", "BLOCK=4,16,32")
        self.assertEqual((summary["reused"], records[4, 0]["outcome"]), (done, "run_timeout"))

    def hanging(self):
        """Programs of this test that wait for ever."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                is_one = (path / "comm").read_text() == "bench\n" and b"\0BLOCK=4\0" in b"\0" + (path / "environ").read_bytes()
                found += [path] if is_one and str(self.scratch) in os.readlink(path / "cwd") else []
            except OSError:
                pass
        return found

    def test_refused(self):
        """Nothing is run unless that is allowed, and by no other command."""
        self.fails(2, f"hone: {self.config} runs commands here, with your rights: cc '-DBLOCK=${{BLOCK}}' '${{HONE_SOURCE}}/bench.c' -o "
                   "bench; test '${BLOCK}' -ne 128; ./bench '${SLOW}'; grep -q '\"sum\": 42'; allow that with --allow-run",
                   "tune", self.config)
        for command in ("run", "compile", "replay"):
            self.fails(2, f"hone: {self.config} measures a program ('run'), which `hone {command}` does not do: "
                       "`hone tune --allow-run` does", command, self.config)
        self.fails(2, f"hone: --workers is of kernels, and {self.config} measures a program ('run')",
                   "tune", self.config, "--allow-run", "--workers", "local")
        self.assertIn("N=1024: 9 valid points of 16", self.hone("space", self.config).stdout)
        self.tune("-s", "BLOCK=32")
        self.fails(2, "hone: 'bench' was tuned as a program, of which there is no kernel to launch: export --json, or fill a table "
                   "with --template", "export", "bench")
        for command in (["explain", self.config], ["report", "-o", "r.html"], ["cache", "show", "bench"], ["cache", "check"]):
            self.hone(*command)


class OnGpu(double.Case):
    """With a driver the device is its GPU, which programs see alone, and take in turns."""

    def test_turns(self):
        config = self.write("turns.yaml", """
kernel: turns
parameters: {A: [1, 2, 3, 4]}
run:
  build: [[sleep, 0.1]]
  command: [sh, -c, 'mkdir ${HONE_SOURCE}/busy || echo clash >>${HONE_SOURCE}/clashes; sleep 0.03; rmdir ${HONE_SOURCE}/busy;
    echo $CUDA_VISIBLE_DEVICES; echo t 1$A']
  time: {regex: 't (.*)', unit: ms}
  check: [grep, -q, ^GPU-]
""")
        tunes = [self.start("tune", config, "--allow-run", "--json", "--quiet", "--full", "--jobs", "4", "--cache",
                            self.folder / f"{i}.db") for i in range(2)]
        for tune in tunes:
            out, err = tune.communicate(timeout=60)
            self.assertEqual(tune.returncode, 0, err)
            summary, = json.loads(out)
            self.assertEqual((summary["outcomes"], summary["best"]["timing"]["median_us"], summary["compute_capability"]),
                             ({"ok": 4}, 11000, 90))
        self.assertFalse((self.folder / "clashes").exists())
        self.hone("explain", config, "--cache", self.folder / "0.db")


if __name__ == "__main__":
    hone.unittest.main()
