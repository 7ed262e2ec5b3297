# SPDX-License-Identifier: MIT
"""bench_simulate: search strategies against recorded tunings."""

import functools
import gzip
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import hone
import pages

PROGRAM = pathlib.Path(os.environ.get("HONE_BUILD", hone.SOURCE / "build")) / "bench" / "search" / "bench_simulate"
SCORER = hone.SOURCE / "bench" / "search" / "score.py"
SPACES = hone.SOURCE / "bench" / "search" / "spaces"
CONV6 = SPACES / "conv6-a6000.json.gz"
RECORDED = hone.SOURCE / "cache" / "recorded" / "nvidia-h200"
UNFINISHED = hone.SOURCE / "tests" / "data" / "kernel_tuner" / "unfinished.json"


@functools.cache
def find_scientific_python():
    """A Python that has NumPy and SciPy; None where there is none."""
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3", shutil.which("python3"))):
        if python and subprocess.run([python, "-c", "import numpy, scipy"], capture_output=True).returncode == 0:
            return python
    return None


def read_traces(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        return [json.loads(line) for line in file]


def evaluated(path):
    return [(trace["space"], trace["strategy"], trace["run"], trace["evals"]) for trace in read_traces(path)]


class Simulate(hone.Case):
    def simulate(self, *arguments, expect=0, **environment):
        """Runs the program; the exit code must be `expect`."""
        result = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, env=dict(os.environ, COLUMNS="80") | environment,
                                text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual(result.returncode, expect, f"{arguments}: {result.stdout}{result.stderr}")
        return result

    def fails(self, expect, message, *arguments):
        result = self.simulate(*arguments, expect=expect)
        self.assertEqual((result.stderr, result.stdout), (message + "\n", ""))

    def misused(self, message, *arguments):
        self.fails(2, f"bench_simulate: {message}\nTry `bench_simulate --help' or `bench_simulate --usage' for more information.",
                   *arguments)

    def traces(self, *arguments, name="traces.jsonl"):
        path = self.folder / name
        self.simulate(*arguments, "--traces", path, "-q")
        return path

    def scores(self, *arguments):
        return json.loads(self.simulate(*arguments, "--json", "-q").stdout)

    def test_traces(self):
        path = self.traces(CONV6, UNFINISHED, "--strategy", "random,exhaustive", "--runs", 3, name="t.jsonl.gz")
        traces = read_traces(path)
        self.assertEqual([(trace["strategy"], trace["space"], trace["run"]) for trace in traces],
                         [(strategy, space, run) for strategy in ("random", "exhaustive")
                          for space in ("conv6-a6000", "unfinished") for run in range(3)])
        for trace in traces:
            rows = 2442 if trace["space"] == "conv6-a6000" else 2
            self.assertEqual(len(set(trace["evals"])), len(trace["evals"]))
            self.assertTrue(set(trace["evals"]) <= set(range(rows)))
            self.assertGreaterEqual(trace["overhead_ms"], 0)

    def test_budget(self):
        """A run goes on until both budgets are used up."""
        rows = list(json.loads(gzip.decompress(CONV6.read_bytes()))["cache"].values())
        cost = [sum(row[name] for name in ("compile_time", "benchmark_time", "verification_time", "framework_time"))
                for row in rows]
        space = self.scores(CONV6, "--runs", 1)["strategies"][0]["spaces"][0]
        for trace in read_traces(self.traces(CONV6, "--strategy", "random", "--runs", 20)):
            count, spent = len(trace["evals"]), sum(cost[row] for row in trace["evals"])
            self.assertTrue(count >= space["budget_evaluations"] and spent >= space["budget_ms"])
            self.assertTrue(count <= space["budget_evaluations"] * 1.06 + 1 or
                            spent - cost[trace["evals"][-1]] <= space["budget_ms"] * 1.06)

    def test_threads_do_not_change_results(self):
        arguments = (CONV6, UNFINISHED, "--strategy", "all", "--runs", 4)
        one = evaluated(self.traces(*arguments, "--jobs", 1, name="1.jsonl"))
        self.assertEqual(evaluated(self.traces(*arguments, "--jobs", 5, name="5.jsonl")), one)

    def test_seeds(self):
        def runs(*arguments):
            return [tuple(trace[3]) for trace in evaluated(self.traces(CONV6, "--strategy", "random", *arguments))]
        first = runs("--runs", 5)
        self.assertEqual(len(set(first)), 5)
        self.assertEqual(runs("--runs", 3), first[:3])
        self.assertFalse(set(runs("--runs", 5, "--seed", 2)) & set(first))

    def test_seed_is_of_the_space_too(self):
        shutil.copy(CONV6, self.folder / "twin.json.gz")
        path = self.traces(CONV6, self.folder / "twin.json.gz", "--strategy", "random", "--runs", 1)
        one, other = read_traces(path)
        self.assertNotEqual(one["evals"], other["evals"])

    def test_scores_are_those_of_the_scorer(self):
        """The same figures as the Python scorer's; resampled intervals within what resampling varies."""
        python = find_scientific_python()
        if python is None:
            print("no Python here has NumPy and SciPy: the scores were not compared", file=sys.stderr)
            self.skipTest("NumPy and SciPy are missing")
        shutil.copy(next(RECORDED.glob("matmul*k-32*")), self.folder / "matmul.json.gz")
        shutil.copy(CONV6, self.folder)
        rows = gzip.decompress(CONV6.read_bytes()).decode().splitlines()[:400]
        self.write("unfinished.json", "\n".join(rows))
        spaces = [self.folder / name for name in ("conv6-a6000.json.gz", "matmul.json.gz", "unfinished.json")]
        traces = self.folder / "t.jsonl.gz"
        ours = json.loads(self.simulate(*spaces, "--strategy", "random,exhaustive", "--runs", 60, "--traces",
                                    traces, "--json").stdout)
        scored = self.folder / "scores.json"
        subprocess.run([python, "-B", SCORER, "score", "--spaces", self.folder, traces, "--json", scored], check=True,
                       stdout=subprocess.DEVNULL)
        theirs = json.loads(scored.read_text())
        self.assertEqual(len(ours["strategies"]), 2)
        for strategy in ours["strategies"]:
            for space in strategy["spaces"]:
                self.compare(space, theirs["spaces"][strategy["strategy"]][space["space"]])
            for ours_axis, their_axis in (("time", "time"), ("evaluations", "evals")):
                score, low, high = theirs["aggregate"][strategy["strategy"]][their_axis]
                self.assertAlmostEqual(strategy[ours_axis]["score"], score, places=9)
                self.compare_intervals(strategy[ours_axis], low, high)

    def compare(self, ours, theirs):
        self.assertAlmostEqual(ours["time"]["score"], theirs["time"], places=9)
        self.assertAlmostEqual(ours["evaluations"]["score"], theirs["evals"], places=9)
        self.compare_intervals(ours["time"], *theirs["time_ci"])
        self.compare_intervals(ours["evaluations"], *theirs["evals_ci"])
        median = math.inf if ours["median_evaluations"] is None else ours["median_evaluations"]
        self.assertEqual(median, theirs["to5"])
        self.assertAlmostEqual(ours["reached"], theirs["to5_hit"], places=9)

    def compare_intervals(self, ours, low, high):
        within = 0.25 * (high - low) + 1e-9
        self.assertAlmostEqual(ours["low"], low, delta=within)
        self.assertAlmostEqual(ours["high"], high, delta=within)

    def test_table(self):
        lines = self.simulate(CONV6, UNFINISHED, "--strategy", "random", "--runs", 30, "-q", COLUMNS="").stdout.splitlines()
        document = self.scores(CONV6, UNFINISHED, "--strategy", "random", "--runs", 30)
        self.assertEqual(lines[0], "random: 30 runs a space, look-ahead 1")
        self.assertEqual(lines[1].split()[:4], ["space", "time", "95%", "evaluations"])
        space = document["strategies"][0]["spaces"][0]
        words = lines[2].split()
        self.assertEqual(words[0], "conv6-a6000")
        self.assertEqual(words[4], "%.3f" % space["evaluations"]["score"])
        self.assertEqual(words[-2], "135")
        self.assertTrue(lines[4].startswith("  mean, sum"))
        self.assertEqual(len(lines), 5)

    def test_look_ahead(self):
        """Strategies without feedback search as ever; the rules are tested in test_simulate.c."""
        plain = evaluated(self.traces(CONV6, "--strategy", "random", "--runs", 2))
        self.assertEqual(evaluated(self.traces(CONV6, "--strategy", "random", "--runs", 2, "--look-ahead", 32)), plain)

    def test_clock(self):
        """Random search compiles on all cores: with 8 of them it is about 8 times as fast as with 1, which has results in bursts."""
        words = [CONV6, "--strategy", "random", "--runs", 10, "--look-ahead", 64]
        one, eight = (self.scores(*words, "--cores", cores)["strategies"][0]["median_s"] for cores in (1, 8))
        self.assertGreater(one / eight, 6)
        self.assertLess(one / eight, 9)
        self.assertIsNone(self.scores(*words)["strategies"][0]["median_s"])
        self.assertIn("to 5%, s", self.simulate(*words, "--cores", 8, "-q").stdout)

    def test_evaluations(self):
        """No run ends before, and each result has its time by the clock."""
        words = [CONV6, "--strategy", "random", "--runs", 2, "--cores", 4, "--look-ahead", 8]
        short, long = (read_traces(self.traces(*words, *more))[1] for more in ([], ["--evaluations", 700]))
        self.assertLess(len(short["evals"]), 200)
        self.assertEqual(len(long["evals"]), 700)
        self.assertEqual(long["ends_ms"][:len(short["evals"])], short["ends_ms"])
        self.assertGreater(min(long["ends_ms"]), 0)
        self.assertNotEqual(long["ends_ms"], sorted(long["ends_ms"]))
        self.assertNotIn("ends_ms", read_traces(self.traces(*words[:5]))[0])

    def test_own_recording(self):
        path = self.traces(self.record(), "--strategy", "exhaustive", "--runs", 1)
        self.assertEqual(read_traces(path)[0]["space"], "recording")

    def test_priors(self):
        spaces = [SPACES / f"conv-{name}.json.gz" for name in ("a100", "w7800")]
        priors = [word for space in [*spaces, CONV6] for word in ("--prior", space)]
        document = self.scores(*spaces, CONV6, *priors, "--runs", 1)
        self.assertEqual([space["priors"] for space in document["strategies"][0]["spaces"]], [4362, 4362, 0])

    def test_estimate(self):
        """The first points are those that it says are best; an unknown name ends with a message."""
        estimate = "abs(block_size_x - 64) + abs(block_size_y - 2) + 1"
        guided = evaluated(self.traces(CONV6, "--runs", 3, "--estimate", estimate))
        keys = list(json.loads(gzip.open(CONV6).read())["cache"])
        self.assertEqual({tuple(keys[row].split(",")[:2]) for *_, rows in guided for row in rows[:2]}, {("64", "2")})
        finished = self.simulate(CONV6, "--estimate", "block_size", expect=2)
        self.assertIn("--estimate 'block_size', of conv6-a6000: unknown name 'block_size'; nearest is 'block_size_", finished.stderr)

    def test_interrupted(self):
        path = self.folder / "t.jsonl"
        process = subprocess.Popen([PROGRAM, CONV6, "--strategy", "random", "--runs", "1000000",
                                    "--traces", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ticks = 0
        while process.poll() is None and ticks < os.sysconf("SC_CLK_TCK"):  # a second at work, in which runs are finished
            ticks = sum(map(int, pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertEqual(stdout, "")
        self.assertIn(f"bench_simulate: interrupted: '{path}' holds the runs that were finished\n", stderr)
        self.assertTrue(all(len(trace["evals"]) > 100 for trace in read_traces(path)[:100]))

    def test_the_page_of_strategies(self):
        """bench/README.md's command, with one run of two strategies, in a copy of the manual: rows and curves are new."""
        python = find_scientific_python()
        if python is None or subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode != 0:
            self.skipTest("there is no matplotlib")
        copy = self.folder / "hone"
        for name in ("docs", "bench/search"):
            shutil.copytree(hone.SOURCE / name, copy / name)
        for name in ("README.md", "scripts/figures", "bench/evidence.py"):
            (copy / name).parent.mkdir(exist_ok=True)
            shutil.copy(hone.SOURCE / name, copy / name)
        line = pages.lines("bench/README.md", "Strategies on recorded spaces")[0]
        self.assertEqual(line, "bench/search/run --strategy all && bench/search/tables build/search")
        path = f"{os.path.dirname(python)}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", line.replace("all", "auto,random --runs 1")], cwd=copy, capture_output=True, text=True,
                              env={**os.environ, "PATH": path, "HONE_BUILD": str(PROGRAM.parents[2]), "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = json.loads((copy / "docs" / "figures.json").read_text())["search"]["rows"]
        self.assertEqual([row[0] for row in rows], ["`auto`", "`random`"])
        self.assertIn(f"| `auto` | {rows[0][1]} |", (copy / "docs" / "figures.md").read_text())
        self.assertIn(f"a score of {float(rows[0][1].split()[0]):.2f}, not 0.71", (copy / "README.md").read_text())
        self.assertNotEqual((copy / "docs/plots/search.svg").read_bytes(), (hone.SOURCE / "docs/plots/search.svg").read_bytes())

    def test_wrong_usage(self):
        self.misused("expected the path of a recorded tuning")
        self.misused("--runs: found '0', expected a whole number from 1 to 1000000", CONV6, "--runs", "0")
        self.misused("--look-ahead: found 'x', expected a whole number from 1 to 65536", CONV6,
                     "--look-ahead", "x")
        result = self.simulate(CONV6, "--strategy", "randon", expect=2)
        self.assertTrue(result.stderr.startswith("bench_simulate: unknown strategy 'randon'; nearest is random; there are: "))

    def test_no_events(self):
        self.misused("unrecognized option '--events'", CONV6, "--events", self.folder / "e")

    def test_wrong_files(self):
        missing = self.folder / "missing.json"
        self.fails(1, f"bench_simulate: '{missing}' cannot be read: No such file or directory", missing)
        other = self.write("other.json", "{}")
        self.fails(1, f"bench_simulate: '{other}': it is neither a recording of Hone nor a cache file of Kernel Tuner: there is "
                   "no 'cache' in it", other)
        failed = self.write("failed.json", '{"tune_params": {"X": [1]}, "cache": {"1": {"X": 1, "time": "InvalidConfig"}}}')
        self.fails(3, f"bench_simulate: '{failed}': none of the 1 recorded points has a time", failed)
        (self.folder / "d").mkdir()
        twin = shutil.copy(UNFINISHED, self.folder / "d")
        self.fails(2, f"bench_simulate: '{UNFINISHED}' and '{twin}' are both named 'unfinished', by which traces tell spaces "
                   "apart: rename one", UNFINISHED, twin)
        self.fails(1, f"bench_simulate: '{self.folder}/no/t.jsonl' cannot be written: No such file or directory",
                   CONV6, "--runs", 100000, "--traces", self.folder / "no" / "t.jsonl")
