#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays Kernel Tuner's strategies against recorded spaces and writes traces that score.py scores.

    pip install kernel_tuner==1.5.0 pyatf==0.0.13 numpy scipy
    bench/search/peers.py [--strategy a,b] [--runs N] [--seed S] --out TRACES.jsonl.gz [FILE...]

A strategy is called as `tune_kernel` calls it in simulation mode, with its default options; `pyatf_strategies:NAME` is the one of
that name of pyATF. The space is what the file has: every recorded point is valid, all others break a restriction. A run ends
when it has used up both budgets of the methodology, evaluations and recorded time. Each is a process of its own, so that nothing
learnt in one is known in another. What Kernel Tuner itself takes for a proposal is not counted."""

import argparse
import gzip
import json
import math
import os
import pathlib
import random
import sys
import tempfile
import warnings

import numpy
from kernel_tuner import util
from kernel_tuner.interface import Options, strategy_map
from kernel_tuner.runners.simulation import SimulationRunner
from kernel_tuner.searchspace import Searchspace

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import score  # noqa: E402

STRATEGIES = ("genetic_algorithm,diff_evo,simulated_annealing,pso,hybrid_vndx,adaptive_tabu_greywolf,pyatf_strategies:auc_bandit,"
              "pyatf_strategies:differential_evolution,pyatf_strategies:simulated_annealing")
NO_MORE = 10000  # points of a run of hybrid_vndx, whose own budget is 5000
IDLE = 20000  # calls that bring nothing new, after which a strategy that goes round in circles is stopped
SMOKE_TESTS = ("conv-mi250x", "conv-w7800")


class Budget(util.TuningBudget):
    """Used up once both the evaluations and the recorded time of the methodology are."""

    def __init__(self, space):
        super().__init__(None, space.E)
        self.spent, self.end = 0.0, space.T1

    def is_done(self):
        return self.num_fevals >= self.max_fevals and self.spent >= self.end

    def raise_exception_if_done(self):
        if self.is_done():
            raise util.StopCriterionReached("the budget is used up")

    def get_fraction_consumed(self):
        return min(1.0, self.num_fevals / self.max_fevals, self.spent / self.end)


class Recorded:
    """A space as Kernel Tuner wants it."""

    def __init__(self, path):
        self.space = score.Space(str(path))
        with gzip.open(path, "rt") as file:
            document = json.load(file)
        self.parameters = document["tune_params"]
        self.cache = {key: self.result(key, record) for key, record in document["cache"].items()}
        self.searchspace = Searchspace(None, None, None, from_cache={"tune_params": self.parameters, "cache": self.cache})
        self.searchspace.max_threads, self.searchspace.block_size_names = 10**9, []  # what is recorded was launched
        # pyATF asks which parameters a restriction has by its signature
        names = ", ".join(self.parameters)
        self.is_recorded = eval(f"lambda {names}: ','.join(map(str, ({names},))) in cache", {"cache": self.cache})

    def result(self, key, record):
        result = {name: record[name] for name in self.parameters}
        row = self.space.index[key]
        result["time"] = self.space.val[row]
        if math.isnan(self.space.val[row]):
            result["__error__"] = util.RuntimeFailedConfig()
        return result


class Runner(SimulationRunner):
    """Notes which points are asked for, and what they cost."""

    def __init__(self, recorded, budget):
        super().__init__(None, Options(kernel_name=recorded.space.name), Options(quiet=True), 7, None)
        self.recorded, self.budget, self.rows, self.idle = recorded, budget, [], 0

    def run(self, parameter_space, tuning_options):
        results = []
        self.idle += 1
        if self.idle > IDLE:
            raise util.StopCriterionReached("nothing new is proposed")
        for point in parameter_space:
            key = ",".join(map(str, point))
            is_new = key in self.recorded.cache and key not in self.visited_results and not self.budget.is_done()
            results += super().run([point], tuning_options)
            if is_new:
                row = self.recorded.space.index[key]
                self.rows.append(row)
                self.idle = 0
                self.budget.spent += float(self.recorded.space.cost[row])
        return results


def suit_pyatf():
    """The adapter of Kernel Tuner 1.5.0 gives a parameter's constraint with its source; no pyATF of PyPI takes that."""
    import pyatf
    parameter = pyatf.TP
    pyatf.TP = lambda name, values, constraint=None, _source=None: parameter(name, values, constraint)


def quicken_vndx():
    """Where hybrid_vndx spends most of its time, with the same results: its nearest known points are found by numpy, and a cache of
    single neighbours, which it never asks for, is not filled."""
    from kernel_tuner.strategies.gen_hybrid_vndx import HybridVNDX

    def predict(self, point, history):
        if not hasattr(self, "known"):
            self.known = numpy.empty((NO_MORE, len(point)))
            self.noted = 0
        for self.noted in range(self.noted, len(history)):
            self.known[self.noted] = history[self.noted][0]
        distances = (self.known[:len(history)] != numpy.array(point, float)).sum(axis=1).astype(numpy.uint8)
        top = numpy.argsort(distances, kind="stable")[:self.k]
        return sum(history[i][1] for i in top) / len(top)

    HybridVNDX.knn_predict = predict
    Searchspace._Searchspace__add_to_neighbor_partial_cache = lambda *_, **__: None


ADAPTED = {"hybrid_vndx": quicken_vndx, "pyatf_strategies": suit_pyatf}


def play(recorded, strategy, seed):
    random.seed(seed)
    numpy.random.seed(seed)
    name, _, technique = strategy.partition(":")
    if name in ADAPTED:
        ADAPTED[name]()
    budget = Budget(recorded.space)
    runner = Runner(recorded, budget)
    restriction = [(recorded.is_recorded, list(recorded.parameters), "recorded")]
    options = Options(
        tune_params=recorded.parameters, restrictions=restriction, restrictions_unmodified=restriction, cache=recorded.cache,
        cachefile=None, metrics=None, objective=["time"], objective_higher_is_better=[False], verbose=False, simulation_mode=True,
        simulated_time=0, budget=budget, seed=seed, strategy_options=Options(searchtechnique=technique) if technique else Options())
    strategy_map[name].tune(recorded.searchspace, runner, options)
    return runner.rows


def play_apart(recorded, strategy, seed):
    """What play gives, from a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            with os.fdopen(writer, "w") as pipe:
                json.dump(play(recorded, strategy, seed), pipe)
                pipe.flush()
                os._exit(0)
        except BaseException as error:  # noqa: B902 - a child that must not go on as its parent
            print(f"{strategy}, seed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{strategy} failed on {recorded.space.name}")
    return json.loads(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategy", default=STRATEGIES)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    parser.add_argument("files", nargs="*", metavar="FILE")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    files = [pathlib.Path(file).resolve() for file in arguments.files] or sorted(
        path for path in (HERE / "spaces").glob("*.json.gz") if path.name.split(".")[0] not in SMOKE_TESTS)
    out = gzip.open(arguments.out, "wt")
    os.chdir(tempfile.mkdtemp())  # pyATF's adapter leaves a folder in the current one
    for file in files:
        recorded = Recorded(file)
        for strategy in arguments.strategy.split(","):
            for seed in range(arguments.seed, arguments.seed + arguments.runs):
                rows = play_apart(recorded, strategy, seed)
                out.write(json.dumps({"strategy": strategy, "space": recorded.space.name, "evals": rows}) + "\n")
            out.flush()
            print(recorded.space.name, strategy, len(rows), flush=True)
    out.close()


if __name__ == "__main__":
    main()
