#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good winners are, and how much of that is luck (the metrics of flashinfer#3920). Each kernel is tuned from nothing with several
seeds, by Hone and, where it is installed and can run the kernel, by Kernel Tuner.

    bench/winners.py [--seconds S] [--seeds N] [--peer-seeds N] [--jobs J] [--within SECONDS] [--out DIR] [KERNEL...]
    bench/winners.py --recorded [--seeds N] [--peer-seeds N] [KERNEL...]

On a GPU both have so many seconds, and Hone once three times as many. KERNEL is CONFIG:NAME=VALUE,...:NAME=VALUE,...: the problem that is
tuned, and others of the same power-of-two bucket. Behind an @ stands by how much its seconds are multiplied. What DIR has of a kernel
is not measured again. With --recorded, on spaces that were measured as a whole, Hone stops where it does by default, and Kernel Tuner
after as many points; KERNEL is CONFIG:PATTERN, of the recording's name.

The columns, of which regrets are a mean and the worst:

    regret          a winner's time over the least, less 1: in races of all winners, each in a fresh process, or of the whole recording
    flips           winners that are another point than the most frequent one; and those that all races, or recorded intervals, tell apart
                    from the best
    replayed        winners' times, taken from the cache in a fresh process, over the recorded ones
    other sizes     regrets of the most frequent winner at other sizes of the bucket, each in races with a winner of its own

With --jobs tunes of Hone run side by side and take turns on the GPU, each with its part of the cores. Kernel Tuner and the races
have the machine to themselves."""

import argparse
import collections
import concurrent.futures
import gzip
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))
import evidence  # noqa: E402

loader = importlib.machinery.SourceFileLoader("beside", str(HERE / "beside" / "run"))
beside = importlib.util.module_from_spec(importlib.util.spec_from_loader("beside", loader))
loader.exec_module(beside)

KERNELS = [
    "bench/family/kernels/layer_norm.yaml:COLUMNS=1024:COLUMNS=1280:COLUMNS=1792",
    "bench/family/kernels/matvec.yaml:COLUMNS=4096:COLUMNS=5120:COLUMNS=7168",
    "bench/family/kernels/stencil.yaml:HEIGHT=4096:HEIGHT=5120:HEIGHT=7168",
    "bench/throughput/vector_add.yaml:n=8388608:n=10485760:n=14680064",
    "bench/throughput/matmul.yaml:WIDTH=2048:WIDTH=2560:WIDTH=3584",
    "configs/transpose.yaml:ROWS=8192,COLUMNS=8192:ROWS=10240,COLUMNS=10240:ROWS=14336,COLUMNS=14336",
    "configs/reduce.yaml:SIZE=67108864:SIZE=83886080:SIZE=117440512",
    "configs/sgemm.yaml:M=1024,N=1024,K=1024:M=1280,N=1280,K=1280:M=1792,N=1792,K=1792@2",
    "foreign/nbody.yaml:n=16384:n=20480:n=28672",
    "foreign/stencil.yaml:ny=512:ny=640:ny=896",
]
RECORDED = [
    "configs/copy.yaml:copy-*-size-268435456-*", "configs/dot.yaml:dot-size-268435456-*", "configs/heat_2d.yaml:heat_2d-*",
    "configs/histogram.yaml:histogram-bins-256-size-1073741824-*", "configs/matmul.yaml:matmul-*-k-4096-*", "configs/reduce.yaml:reduce-size-268435456-*",
    "configs/stencil_1d.yaml:stencil_1d-*-radius-4-*", "configs/transpose.yaml:transpose-columns-8192-*", "configs/compact.yaml:compact-keep-0-5-*",
    "configs/spheres.yaml:spheres-access-divergent-*",
]
LONGER = 3
NOTHING = {"point": None, "us": None, "searched": 0}


def find_config(name):
    """A path, or one within the sources or the test data, which a build unpacks."""
    for folder in (pathlib.Path(), ROOT, ROOT / "tests" / "data", ROOT / "build" / "tests" / "data"):
        if (folder / name).is_file():
            return (folder / name).resolve()
    sys.exit(f"{name}: there is no such config")


def key(point):
    return json.dumps(point, sort_keys=True)


def median_us(record):
    return record["timing"]["median_us"]


def hone(words, timeout):
    """The document that a command of Hone prints; [None]: nothing valid was found."""
    done = subprocess.run([beside.find_hone(), *map(str, words), "--json", "--quiet"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout)
    if done.returncode == 3:
        return [None]
    if done.returncode not in (0, 4):
        raise RuntimeError(f"hone {' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def has_kernel_tuner():
    return importlib.util.find_spec("kernel_tuner") is not None


class Kernel:
    """On a GPU."""

    def __init__(self, text, arguments, folder):
        text, _, times = text.partition("@")
        config, *self.problems = text.split(":")
        self.config, self.arguments = find_config(config), arguments
        self.plan = yaml.safe_load(self.config.read_text())
        self.name = self.plan["kernel"]
        self.seconds = arguments.seconds * float(times or 1)
        self.folder = folder / self.name
        self.folder.mkdir()

    def run(self, *words):
        return hone(words, 20 + 3 * LONGER * self.seconds)

    def common(self, problem, jobs):
        """Options that all tunes have."""
        return ["-p", problem, "--regime", "warm", "--jobs", max(1, len(os.sched_getaffinity(0)) // jobs)]

    def cache(self, *words):
        return ["--cache", self.folder / ("-".join(map(str, words)).replace(",", "-") + ".db")]

    def tune(self, problem, seed, seconds):
        found, = self.run("tune", self.config, *self.common(problem, self.arguments.jobs), *self.cache(problem, seed), "--seed", seed, "--budget", f"{seconds:g}s")
        if found is None:
            return {"seed": seed, **NOTHING}
        return {"seed": seed, "point": found["best"]["point"], "us": median_us(found["best"]), "searched": found["finished"],
                "elapsed_s": found["time"]["elapsed_s"]}

    def race(self, problem, points):
        """{point: us} of those that can run there and are right, and which of them some race could not tell from its best. In a process
        times repeat to within 1%, in another they may be off by 10%: which data the caches keep is luck."""
        points = list({key(point): point for point in points if point}.values())
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        values = {name: dict.fromkeys(beside.word(point[name]) for point in points) for name in points[0]}
        narrow = [word for name, some in values.items() for word in ("-s", f"{name}={','.join(some)}")]
        times, tied = collections.defaultdict(list), set()
        for race in range(self.arguments.races):
            found, = self.run("tune", beside.only(self.config, points, folder), *self.common(problem, 1), *narrow, "--cache", folder / f"race{race}.db", "--full")
            if found is None:
                raise RuntimeError(f"{self.name} {problem}: none of the winners is right")
            records = [record for record in found["records"] if record.get("timing")]
            for record in records:
                times[key(record["point"])].append(median_us(record))
            tied.update(key(record["point"]) for record in records[:found["tied"]])
        return {point: statistics.median(some) for point, some in times.items()}, sorted(tied)

    def replay(self, seed):
        problem = self.problems[0]
        found, = self.run("replay", self.config, *self.common(problem, self.arguments.jobs), *self.cache(problem, seed))
        now = found["now"]
        return {"verdict": found["verdict"], "recorded_us": median_us(found["recorded"]), "now_us": median_us(now) if now.get("timing") else float("inf")}

    def peer(self, space):
        """Kernel Tuner's winners; None where it cannot run the kernel: of words it makes no macros that can be compared."""
        if not has_kernel_tuner() or self.arguments.peer_seeds == 0 or isinstance(self.plan["launch"], list):
            return None
        problem = self.problems[0]
        if any(isinstance(value, (str, bool)) for parameter in space["parameters"] for value in parameter["values"]):
            return None
        (self.folder / "space.json").write_text(json.dumps(space))
        self.run("inputs", self.config, "-p", problem, "-o", self.folder / "inputs")
        out = self.folder / "peer.jsonl"
        command = [sys.executable, HERE / "beside" / "kernel_tuner_side.py", self.config, self.folder, out, "--seconds", self.seconds, "--seeds", self.arguments.peer_seeds]
        try:
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=30 + 3 * self.seconds * self.arguments.peer_seeds)
            said = done.stderr[-1000:] if done.returncode else ""
        except subprocess.TimeoutExpired:
            said = "took three times as long as it was given"
        shutil.rmtree(self.folder / "inputs")
        runs = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        if said:
            print(f"{self.name}: Kernel Tuner {said}; {len(runs)} of its tunes ended", flush=True)
        return [{"seed": run["seed"], **winner(run["rows"]), "took_s": run["took_s"]} for run in runs]

    def measure(self):
        """All that is to be known of the kernel, as its file has it."""
        problem, *others = self.problems
        seeds = range(1, self.arguments.seeds + 1)
        space = self.run("space", self.config, "-p", problem)
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            long = pool.submit(self.tune, problem, len(seeds) + 1, LONGER * self.seconds)
            own = [pool.submit(self.tune, other, 1, self.seconds) for other in others]
            tunes = list(pool.map(lambda seed: self.tune(problem, seed, self.seconds), seeds))
            long, own = long.result(), [one.result() for one in own]
        if not any(tune["point"] for tune in tunes):
            raise RuntimeError(f"{self.name} {problem}: no tune found anything in {self.seconds:g} s")
        peer = self.peer(space)
        times, tied = self.race(problem, [tune["point"] for tune in [*tunes, long, *(peer or [])]])
        usual = collections.Counter(key(tune["point"]) for tune in tunes if tune["point"]).most_common(1)[0][0]
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            races = pool.map(lambda other, one: {usual: one["us"]} if key(one["point"]) == usual else self.race(other, [json.loads(usual), one["point"]])[0], others, own)
            replays = list(pool.map(self.replay, [tune["seed"] for tune in tunes if tune["point"]][:self.arguments.replays]))
            elsewhere = [{"problem": other, "own": key(one["point"]), "times": found} for other, one, found in zip(others, own, races)]
        return {"kernel": self.name, "problem": problem, "seconds": self.seconds, "points": space["problems"][0]["valid"], "tunes": tunes, "long": long, "peer": peer,
                "times": times, "tied": tied, "usual": usual, "replays": replays, "elsewhere": elsewhere}


class Recorded:
    """Played on a recording."""

    def __init__(self, text, arguments, folder):
        config, pattern = text.split(":")
        self.config, self.arguments, self.folder = find_config(config), arguments, folder
        self.path, = sorted((ROOT / "cache" / "recorded" / "nvidia-h200").glob(pattern))
        document = json.loads(gzip.open(self.path, "rt").read())
        self.name = f"{document['kernel_name']}"
        self.problem = ",".join(f"{name}={value}" for name, value in document["hone"]["problem"].items())
        names = document["tune_params_keys"]
        self.rows = [({name: record[name] for name in names}, record) for record in document["cache"].values()]
        self.us = {key(point): 1000 * record["time"] for point, record in self.rows if record["hone"]["outcome"] in ("ok", "duplicate")}

    def tune(self, seed):
        found, = hone(["tune", self.config, "-p", self.problem, "--simulate", self.path, "--seed", seed, "--cache", self.folder / f"{self.name}-{seed}.db"], 300)
        return {"seed": seed, "point": found["best"]["point"], "us": median_us(found["best"]), "searched": found["finished"]}

    def peer(self, tunes):
        if not has_kernel_tuner() or self.arguments.peer_seeds == 0:
            return None
        sys.path.insert(0, str(HERE / "search"))
        import peers
        peers.ADAPTED.pop("hybrid_vndx", None)  # which knows no words
        recorded, found = peers.Recorded(self.path), []
        for tune in tunes[:self.arguments.peer_seeds]:
            recorded.space.E, recorded.space.T1 = tune["searched"], 1e-9  # by points alone
            rows = [{"point": point, "us": self.us.get(key(point))} for point, _ in map(self.rows.__getitem__, peers.play_apart(recorded, "hybrid_vndx", tune["seed"]))]
            found.append({"seed": tune["seed"], **winner(rows)})
        return found

    def measure(self):
        tunes = [self.tune(seed) for seed in range(1, self.arguments.seeds + 1)]
        best = min(self.us, key=self.us.get)
        timings = {key(point): record["hone"].get("timing") for point, record in self.rows}
        tied = [name for name in self.us if timings[name] and timings[name]["low_us"] <= timings[best]["high_us"]]
        return {"kernel": self.name, "problem": self.problem, "points": len(self.rows), "tunes": tunes, "long": None, "peer": self.peer(tunes), "times": self.us,
                "tied": tied, "replays": [], "elsewhere": []}


def winner(rows):
    """The best point by the tuner's own times."""
    found = min((row for row in rows if row["us"]), key=lambda row: row["us"], default=NOTHING)
    return {"point": found["point"], "us": found["us"], "searched": len(rows)}


def regrets(found, tunes):
    """In percent; infinite, "none", where a tune has no winner, or one that is wrong."""
    least = min(found["times"].values())
    return [100 * (found["times"].get(key(tune["point"]), float("inf")) / least - 1) for tune in tunes]


def flips(found, tunes):
    """How many have another winner than the most frequent one, and how many a slower one than the best."""
    names = [key(tune["point"]) for tune in tunes]
    return len(names) - max(collections.Counter(names).values()), sum(name not in found["tied"] for name in names)


def at_other_sizes(found):
    """In percent for each; infinite where the winner cannot run there."""
    return [100 * (one["times"].get(found["usual"], float("inf")) / min(one["times"].values()) - 1) for one in found["elsewhere"]]


def mean_and_worst(values):
    """Of those that are finite; how many are not is said."""
    some = [value for value in values if value < float("inf")]
    said = [f"{statistics.fmean(some):.1f}%", f"{max(some):.1f}%"] if some else []
    return ", ".join(said + [f"{len(values) - len(some)} none"] * (len(some) < len(values)))


def counted(results, name):
    """The flips of all tunes."""
    some = [found for found in results if found[name]]
    pairs = [flips(found, found[name]) for found in some]
    return f"{sum(pair[0] for pair in pairs)}, {sum(pair[1] for pair in pairs)} of {sum(len(found[name]) for found in some)}" if some else ""


def cells(results):
    """Of a kernel, or of all: regrets and flips of Hone and of Kernel Tuner."""
    return [cell for name in ("tunes", "peer")
            for cell in (mean_and_worst([regret for found in results for regret in regrets(found, found[name] or [])]), counted(results, name))]


def measured(results):
    """What only a GPU tells: regrets of longer tunes, replays, other sizes."""
    ratios = sorted(replay["now_us"] / replay["recorded_us"] for found in results for replay in found["replays"])
    return [mean_and_worst([regret for found in results for regret in regrets(found, [found["long"]])]), f"{ratios[0]:.2f} to {ratios[-1]:.2f}" if ratios else "",
            mean_and_worst([regret for found in results for regret in at_other_sizes(found)])]


def keep(results, arguments):
    """As they come; a row of the GPU's is of all kernels with these settings."""
    if arguments.recorded:
        rows = [[f"`{found['kernel']}`, {found['points']:,}", *(cell.partition(" of ")[0] for cell in cells([found]))] for found in results]
        evidence.keep("winners-recorded", [*rows, [f"all {len(results)}", *cells(results)]], **evidence.no_gpu())
    else:
        evidence.keep("winners", [[f"{arguments.seconds:g} s, {arguments.jobs} at a time", *cells(results), *measured(results)]], by_row=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--recorded", action="store_true", help="play on recordings; needs no GPU")
    parser.add_argument("--seconds", type=float, default=3, help="of each tune (default 3)")
    parser.add_argument("--seeds", type=int, default=10, help="tunes of each kernel (default 10)")
    parser.add_argument("--peer-seeds", type=int, default=10, help="those of Kernel Tuner (default 10)")
    parser.add_argument("--races", type=int, default=3, help="of all winners (default 3)")
    parser.add_argument("--replays", type=int, default=4, help="of each kernel (default 4)")
    parser.add_argument("--jobs", type=int, default=1, help="tunes of Hone at a time (default 1)")
    parser.add_argument("--within", type=float, default=float("inf"), help="seconds after which no kernel is begun")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "winners", help="a file for each kernel (default build/winners)")
    arguments = parser.parse_args()
    kind, kernels = (Recorded, RECORDED) if arguments.recorded else (Kernel, KERNELS)
    columns = cells if arguments.recorded else lambda results: cells(results) + measured(results)
    arguments.out.mkdir(parents=True, exist_ok=True)
    started, results, left = time.monotonic(), [], []
    with tempfile.TemporaryDirectory() as folder:
        for text in arguments.kernels or kernels:
            kernel = kind(text, arguments, pathlib.Path(folder))
            file = arguments.out / f"{kernel.name}{'-recorded' if arguments.recorded else ''}.json"
            try:
                if not file.exists():
                    if time.monotonic() - started > arguments.within:
                        raise RuntimeError("no time was left")
                    file.write_text(json.dumps(kernel.measure(), indent=1) + "\n")
                results.append(json.loads(file.read_text()))
                print(" | ".join([f"{results[-1]['kernel']}, {results[-1]['points']:,}", *columns(results[-1:])]), f"| {time.monotonic() - started:.0f} s", flush=True)
                keep(results, arguments)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                left.append(kernel.name)
                print(f"{kernel.name}: {error}", flush=True)
    if results:
        print(" | ".join(["all", *columns(results)]))
    print(f"{len(results)} kernels in {time.monotonic() - started:.0f} s, {len(left)} left out or failed{''.join(f' {name}' for name in left)}")
    return 1 if left or not results else 0


if __name__ == "__main__":
    sys.exit(main())
