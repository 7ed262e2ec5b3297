# SPDX-License-Identifier: MIT
"""Tuning, and what needs no GPU: spaces."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from . import _command
from ._command import Value
from ._config import Config, path_of, settle
from ._errors import CommandError
from ._progress import Progress, shown
from ._reference import Reference, compute
from ._results import One, PerProblem, Result, Tuning

Path = Union[str, "os.PathLike[str]"]


def tune(config: Config, *, problem: Optional[Mapping[str, Value]] = None, restrict: Optional[Mapping[str, Any]] = None,
         budget: Union[None, int, str] = None, strategy: Optional[str] = None, full: bool = False,
         stop_chance: Optional[float] = None, seed: Optional[int] = None, regime: Optional[str] = None,
         simulate: Optional[Path] = None, cache: Optional[Path] = None, device: Union[None, int, str] = None,
         jobs: Optional[int] = None, reference: Optional[Reference] = None,
         progress: Progress = True, options: Sequence[str] = ()) -> Result:
    """Searches the space of a config: `hone tune` (docs/cli.md), in processes of its own.

    config: the path of a YAML file, or a dict with its keys (docs/config.md). In a dict, paths are relative to the current folder,
        and `template` may be the source itself: text with a line break, a "{" or "__global__" that is no file's name.
    problem: values that replace those of the config, as {"n": 4096}; without it every problem of the config is tuned.
    restrict: parameters with the values that they may have, as {"BLOCK": [128, 256]}.
    budget: evaluations, or a time as "60s".
    regime: "cold" (the L2 cache is flushed between launches; the default), "warm", or as programs launch: "stream", "graph",
        "graph10".
    simulate: a recording, or a folder of them, that times are taken from instead of a GPU.
    cache: the cache file; without it that of the user.
    reference: computes what is expected from the inputs that Hone generated: called with `Inputs` (NumPy arrays by their names;
        `.problem`) for each problem, returns an array for each result that is compared, of the shape of its argument: one, a tuple
        in the config's order, or a dict. It takes the place of the config's reference, and is right for one seed: the verdict says so.
    progress: shows on stderr how far the search is; False: nothing. Or what is called with each event (docs/formats.md#events), as
        {"event": "record", "record": {...}, ...}; where it raises, the search is interrupted, and keeps what it finished.
    options: further options of the command, as ["--look-ahead", "8"].

    Raises CommandError with the command's message; where nothing valid was found (code 3) its `result` has what became of the points.
    """
    place = _command.cache_options(cache)
    settled = settle(config)
    with path_of(settled) as path, contextlib.ExitStack() as stack:
        words = ["tune", str(path), "--quiet", *_command.space_options(problem, restrict), *place, *_command.options(
            budget=budget, strategy=strategy, full=full, stop_chance=stop_chance, seed=seed, regime=regime, simulate=simulate,
            device=device, jobs=jobs), *_command.further_options(options)]
        if reference is not None:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hone-reference-")))
            words += compute(reference, path, problem, seed, folder)
        try:
            with shown(progress) as tell:
                found = _command.document(words, tell)
        except CommandError as failure:
            document = json.loads(failure.result) if failure.code == 3 and failure.result else None
            failure.result = _result(document, place, settled) if isinstance(document, list) else None
            if failure.result is not None:
                failure.args = ("; ".join([str(failure).partition(";")[0], *_failures(document)]),)
            raise
    return _result(found, place, settled)


def _failures(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The first of each kind, which the command's tables show."""
    for tuning in found:
        for one in tuning.get("failures", ()):
            yield f"{one['outcome']}, first at {','.join(f'{name}={value}' for name, value in one['point'].items())}: {one['message']}"


def _result(found: Sequence[dict[str, Any]], place: list[str], config: Config) -> Result:
    return Result([Tuning(document, place, config) for document in found])


@dataclass(frozen=True)
class Space:
    """The search space of one problem.

    parameters: names and values, as the config has them.
    valid: how many points satisfy the constraints; `numbered` is False where that many were not looked at one by one, and
        `estimated` True where it is an estimate.
    points: those that were asked for: a dict of NumPy arrays of one length, by parameter.
    """

    kernel: str
    problem: dict[str, Any]
    parameters: dict[str, list[Any]]
    valid: float
    numbered: bool
    estimated: bool
    points: Optional[dict[str, Any]]

    def __repr__(self) -> str:
        problem = "".join(f" {name}={_command.text_of(value)}" for name, value in self.problem.items())
        values = ", ".join(f"{name} ({len(several)})" for name, several in self.parameters.items())
        return f"<hone.Space {self.kernel}{problem}: {'about ' if self.estimated else ''}{self.valid:.10g} valid points of {values}>"


class Spaces(PerProblem[Space]):
    """A Space for each problem. Where there is one problem, it has all that its space has."""

    kernel: One[str] = One()
    problem: One[dict[str, Any]] = One()
    parameters: One[dict[str, list[Any]]] = One()
    valid: One[float] = One()
    numbered: One[bool] = One()
    estimated: One[bool] = One()
    points: One[Optional[dict[str, Any]]] = One()


def _points(document: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    import numpy

    points = document.get("points")
    if points is None:
        return None
    names = list(points[0]) if points else []
    return {name: numpy.array([point[name] for point in points]) for name in names}


def space(config: Config, *, problem: Optional[Mapping[str, Value]] = None, restrict: Optional[Mapping[str, Any]] = None,
          points: Union[None, int, str] = None, sample: Optional[int] = None, seed: Optional[int] = None) -> Spaces:
    """The search space of each problem of a config: `hone space`. Needs no GPU; `kernel`, `parameters` and `constraints` are enough.

    points: list so many of the first points; "all" for all.
    sample: draw so many at random instead.
    """
    with path_of(settle(config)) as path:
        found = _command.document(["space", str(path), *_command.space_options(problem, restrict),
                                   *_command.options(list=points, sample=sample, seed=seed)])
    parameters = {parameter["name"]: parameter["values"] for parameter in found["parameters"]}
    return Spaces([Space(found["kernel"], one["problem"], parameters, one["valid"], one["numbered"], one["estimated"], _points(one))
                   for one in found["problems"]])
