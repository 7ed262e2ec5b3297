# SPDX-License-Identifier: MIT
"""Two GPUs of one machine beside one of them, as cards of one host and as hosts of their own, the kill of an agent, and problems side by side.
150 s in all. HONE_PROBLEMS and HONE_PROBLEM_S: how many problems of sgemm (of 21), and how long each is tuned; HONE_GPUS: beside one GPU."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HONE = os.path.abspath(os.environ.get("HONE", ROOT / "build" / "tuner" / "hone"))
CONFIG = [str(ROOT / "configs" / "matmul.yaml"), "-p", "K=4096"]
STEP_S = 45
PROBLEMS = int(os.environ.get("HONE_PROBLEMS", "4"))
PROBLEM_S = float(os.environ.get("HONE_PROBLEM_S", "10"))
GPUS = int(os.environ.get("HONE_GPUS", "2"))


def cards():
    """The GPUs of this machine by model; none where there is no driver."""
    try:
        result = subprocess.run([HONE, "device", "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=STEP_S)
        return [device["name"] for device in json.loads(result.stdout)["devices"]]
    except (ValueError, KeyError, subprocess.TimeoutExpired):
        return []


class Two(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "HONE_CACHE": str(self.folder / "hone.db"), "TMPDIR": str(self.folder)}

    def tune(self, workers, *arguments, cache="hone.db", meanwhile=None):
        command = [HONE, "tune", *CONFIG, "--json", "--quiet", "--workers", str(workers), "--cache", str(self.folder / cache), *map(str, arguments)]
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            if meanwhile is not None:
                meanwhile(process)
            output, errors = process.communicate(timeout=STEP_S)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0, errors)
        return json.loads(output)[0], errors

    @staticmethod
    def rate(result):
        return sum(result["outcomes"].values()) / result["time"]["elapsed_s"]

    def test_rate(self):
        """Points a second where the GPU bounds them: no early stop, no search to wait for."""
        rates = {}
        for gpus in (1, 2):
            result, errors = self.tune(f"local: gpus={gpus}", "--strategy", "random", "--full", "--stop-chance", 0, "--budget", "12s", cache=f"{gpus}.db")
            rates[gpus] = self.rate(result)
            print(f"\n{gpus} GPU(s): {rates[gpus]:.1f} points/s, compiling for {result['time']['compile_wall_s']:.1f} s of "
                  f"{result['time']['elapsed_s']:.1f} s; " + ", ".join(f"{card['measured']} at {card['ratio']:.4f}" for card in result["cards"]))
            self.assertEqual((len(result["cards"]), errors), (gpus, ""))
            self.assertTrue(all(card["measured"] > 0 for card in result["cards"]), result["cards"])
        print(f"two GPUs: {rates[2] / rates[1]:.2f} times the points of one")

    def test_problems(self):
        """The same problems of sgemm, so long each, with one GPU and with several: side by side, with winners as good."""
        config = self.folder / "sgemm.yaml"
        lines = (ROOT / "configs" / "sgemm.yaml").read_text().replace("../", f"{ROOT}/").splitlines(keepends=True)
        first = lines.index("problem:\n") + 1
        last = next(i for i in range(first, len(lines)) if not lines[i].startswith("  - {"))
        ladder = lines.index("ladder:\n")  # whose entries are for problems that may be left out
        rest = next(i for i in range(ladder + 1, len(lines)) if lines[i].startswith("metrics:"))
        config.write_text("".join(lines[:first + PROBLEMS] + lines[last:ladder] + lines[rest:]))
        seconds, times = {}, {}
        for gpus in (1, GPUS):
            command = [HONE, "tune", config, "--json", "--quiet", "--budget", f"{PROBLEM_S}s", "--workers", f"local: gpus={gpus}", "--cache",
                       self.folder / f"problems{gpus}.db"]
            begin = time.monotonic()
            result = subprocess.run([str(word) for word in command], env=self.environment, capture_output=True, text=True, timeout=100 + PROBLEMS * PROBLEM_S)
            seconds[gpus] = time.monotonic() - begin
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            results = json.loads(result.stdout)
            times[gpus] = [tuned["best"]["timing"]["median_us"] for tuned in results]
            points = sum(sum(tuned["outcomes"].values()) for tuned in results)
            print(f"\n{gpus} GPU(s): {PROBLEMS} problems of sgemm in {seconds[gpus]:.1f} s, {points} points, {points / seconds[gpus]:.1f} points/s")
        ratios = sorted(several / alone for alone, several in zip(times[1], times[GPUS]))
        print(f"{GPUS} GPUs: {seconds[GPUS] / seconds[1]:.3f} of the time; winners take {', '.join(f'{ratio:.3f}' for ratio in ratios)} of one GPU's")

    def test_winner(self):
        best = {}
        for gpus in (1, 2):
            result, _ = self.tune(f"local: gpus={gpus}", "--budget", "14s", cache=f"winner{gpus}.db")
            best[gpus] = result["best"]
            print(f"\n{gpus} GPU(s): {best[gpus]['timing']['median_us']:.1f} us with {best[gpus]['point']}, final {best[gpus]['final']}, "
                  f"after {self.rate(result) * result['time']['elapsed_s']:.0f} points")
            self.assertTrue(best[gpus]["final"])

    def test_agent_is_killed(self):
        """Each GPU as a host of its own; one's agent is killed, and is back."""
        workers = self.folder / "workers.yaml"
        workers.write_text("workers:\n" + "".join(f"  - {{run: 'env CUDA_VISIBLE_DEVICES={i}'}}\n" for i in (0, 1)))
        events = self.folder / "events.jsonl"
        killed = []

        def kill(process):
            time.sleep(5)
            for entry in filter(str.isdigit, os.listdir("/proc")):
                try:
                    command = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
                    parent = int(pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
                    second = b"CUDA_VISIBLE_DEVICES=1" in pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                if command[1:3] == [b"worker", b"node"] and parent == process.pid and second:
                    os.kill(int(entry), signal.SIGKILL)
                    killed.append(time.time())

        result, errors = self.tune(workers, "--strategy", "random", "--full", "--stop-chance", 0, "--budget", "12s", "--events", events, meanwhile=kill)
        records = [event["record"] for event in map(json.loads, events.read_text().splitlines()) if event["event"] == "record"]
        second = {card["card"] for card in result["cards"]} - {record["card"] for record in records if record["final"]}
        after = [record["time"] for record in records if killed and record["card"] in second and record["time"] > killed[0] + 0.05]
        self.assertEqual((len(killed), errors), (1, ""))
        self.assertEqual({outcome for outcome in result["outcomes"]} & {"worker_crash", "compile_crash", "run_timeout"}, set())
        self.assertTrue(after, "the host did not come back")
        print(f"\n{self.rate(result):.1f} points/s with a kill; the killed host's next record came {after[0] - killed[0]:.2f} s after it")


def why_not():
    found = cards()
    return None if len(found) >= 2 and found[0] == found[1] else "there are no two GPUs of one model here"
