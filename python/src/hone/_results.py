# SPDX-License-Identifier: MIT
"""What `hone tune` found: tables, the best, the header, the report."""

from __future__ import annotations

import html
import math
import os
import pathlib
from dataclasses import dataclass, field
from typing import Any, Callable, Generic, Iterator, Mapping, Optional, Sequence, TypeVar, Union, overload

from . import _command
from ._config import Config, path_of
from ._errors import Error

Item = TypeVar("Item")


Kind = TypeVar("Kind")


class One(Generic[Kind]):
    """What a PerProblem has where it has one item: the item's attribute of the same name, of the type that is declared."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, several: None, owner: Any) -> "One[Kind]": ...
    @overload
    def __get__(self, several: "PerProblem[Any]", owner: Any) -> Kind: ...
    def __get__(self, several: "Optional[PerProblem[Any]]", owner: Any) -> "Union[One[Kind], Kind]":
        if several is None:
            return self
        if len(several) != 1:
            raise AttributeError(f"'{self._name}' is of one problem, and here are {len(several)}: take one by its index")
        found: Kind = getattr(several[0], self._name)
        return found


class PerProblem(Sequence[Item], Generic[Item]):
    """One item a problem of the config. Where there is one, it has all that the item has."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = list(items)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Item, Sequence[Item]]:
        return self._items[index]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))


@dataclass(frozen=True)
class Point:
    """A measured point. Times are those of one launch of the whole plan, in microseconds; low and high bound the 95% interval
    of the median."""

    parameters: dict[str, Any]
    time_us: float
    low_us: float
    high_us: float
    metrics: dict[str, float]
    verification: str
    record: dict[str, Any] = field(repr=False)
    """All of it, as docs/formats.md describes a record."""


class Report:
    """The page of `hone report`: shows itself in a notebook; `save` writes it."""

    def __init__(self, page: str) -> None:
        self.html = page

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes one HTML file, which needs neither network nor server."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" title="hone report" '
                'style="width: 100%; height: 48em; border: 0"></iframe>')

    def __repr__(self) -> str:
        return f"<hone.Report of {len(self.html)} characters>"


_NUMBERS = {
    "time_us": ("timing", "median_us"),
    "low_us": ("timing", "low_us"),
    "high_us": ("timing", "high_us"),
    "registers": ("resources", "registers"),
    "shared_bytes": ("resources", "shared_bytes"),
    "spill_store_bytes": ("resources", "spill_store_bytes"),
    "occupancy": ("resources", "occupancy"),
    "compile_ms": ("costs", "compile_ms"),
}


def _number(value: Any) -> float:
    """Formats.md's {"real": "nan"} too; what is not there is NaN."""
    if isinstance(value, Mapping):
        value = value.get("real")
    return math.nan if value is None else float(value)


def columns(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Records as NumPy arrays of one length: the parameters by their names, `outcome`, `message`, times (us), resources and
    metrics by their names, with `_` behind where an earlier one has that name; NaN where a record has no such number."""
    import numpy

    names = list(dict.fromkeys(name for record in records for name in record["point"]))
    metrics = list(dict.fromkeys(name for record in records for name in record.get("metrics", {})))
    table: dict[str, Any] = {name: numpy.array([record["point"].get(name) for record in records]) for name in names}

    def add(name: str, values: "list[Any]", dtype: type) -> None:
        while name in table:
            name += "_"
        table[name] = numpy.array(values, dtype=dtype)

    for name in ("outcome", "message"):
        add(name, [record.get(name) or "" for record in records], str)
    for name, (part, key) in _NUMBERS.items():
        add(name, [_number(record.get(part, {}).get(key)) for record in records], float)
    for name in metrics:
        add(name, [_number(record.get("metrics", {}).get(name)) for record in records], float)
    return table


def table(records: Sequence[Mapping[str, Any]]) -> Any:
    """`columns`, as a pandas.DataFrame where pandas is installed."""
    try:
        import pandas
    except ImportError:
        return columns(records)
    return pandas.DataFrame(columns(records))


class Tuning:
    """What was found of one problem.

    kernel, problem, device, regime: what was measured, and whether the L2 cache was "cold" or "warm".
    simulated: the times come from a recording.
    points: of the space; None where they were not numbered.
    outcomes: how many points came to what ("ok", "slower", "compile_error", ...).
    chance: of a point that is better by 2%, as the search estimates it; None where it does not.
    document: all that `hone tune --json` says (docs/formats.md).
    """

    def __init__(self, document: dict[str, Any], cache: list[str], config: Config) -> None:
        self.document = document
        self.kernel: str = document["kernel"]
        self.problem: dict[str, Any] = document["problem"]
        self.device: str = document["device"]
        self.regime: str = document["regime"]
        self.simulated: bool = document["simulated"]
        self.points: Optional[int] = document["points"]
        self.outcomes: dict[str, int] = document["outcomes"]
        self.chance: Optional[float] = document["chance"]
        self._cache = cache
        self._config = config

    @property
    def best(self) -> Point:
        """The fastest verified point (or the best by the config's objective). hone.Error where there is none."""
        record = self.document["best"]
        if record is None:
            raise Error(f"no variant of {self.kernel} was valid: {self.outcomes}")
        timing = record.get("timing", {})
        return Point(record["point"], _number(timing.get("median_us")), _number(timing.get("low_us")),
                     _number(timing.get("high_us")), record.get("metrics", {}), record["verdict"]["kind"], record)

    @property
    def columns(self) -> dict[str, Any]:
        """All records, those that are ok first, best first: a dict of NumPy arrays of one length. Times are in microseconds."""
        return columns(self.document["records"])

    @property
    def records(self) -> Any:
        """`columns`, as a pandas.DataFrame where pandas is installed."""
        return table(self.document["records"])

    def _chosen(self) -> list[str]:
        return ["--device-name", self.device, *_command.space_options(self.problem, None), *self._cache]

    def header(self, prefix: Optional[str] = None, format: str = "header") -> str:
        """The text of the C header for this problem: `hone export`. format: "header", "cubin-header", "source"
        or "json"."""
        words = ["export", self.kernel, "--format", format, "--regime", self.regime, *_command.options(prefix=prefix), *self._chosen()]
        if not self.simulated and self.document["objective"] == "time":
            return _command.run(words)
        with path_of(self._config) as path:  # a simulation keeps no template, and the config has the objective
            return _command.run([*words, "--config", str(path)])

    def report(self) -> Report:
        """The page of `hone report` for this problem."""
        return Report(_command.run(["report", self.kernel, *self._chosen()]))

    def __repr__(self) -> str:
        problem = ",".join(f"{name}={_command.text_of(value)}" for name, value in self.problem.items())
        best = self.document["best"]
        said = f"best {best['timing']['median_us']:.4g} us" if best and "timing" in best else "nothing valid"
        return f"<hone.Tuning {self.kernel} {problem} on {self.device}: {said}, {self.outcomes}>"

    def _repr_html_(self) -> str:
        best = self.document["best"]
        rows = [("problem", ", ".join(f"{name} = {value}" for name, value in self.problem.items())),
                ("device", f"{self.device}, {self.regime} L2" + (", simulated" if self.simulated else "")),
                ("points", ", ".join(f"{count} {name}" for name, count in self.outcomes.items()))]
        if best:
            point = self.best
            rows += [("best", ", ".join(f"{name} = {value}" for name, value in point.parameters.items())),
                     ("time", f"{point.time_us:.4g} us ({point.low_us:.4g} to {point.high_us:.4g}), {point.verification}")]
        cells = "".join(f"<tr><th style='text-align: left'>{name}</th><td style='text-align: left'>{html.escape(text)}</td></tr>"
                        for name, text in rows)
        return f"<table><caption>{html.escape(self.kernel)}</caption>{cells}</table>"


class Result(PerProblem[Tuning]):
    """What `hone.tune` found: a Tuning for each problem. Where there is one problem, the result has all that it has: `records`,
    `best`, `header()`, `report()`."""

    kernel: One[str] = One()
    problem: One[dict[str, Any]] = One()
    device: One[str] = One()
    regime: One[str] = One()
    simulated: One[bool] = One()
    points: One[Optional[int]] = One()
    outcomes: One[dict[str, int]] = One()
    chance: One[Optional[float]] = One()
    document: One[dict[str, Any]] = One()
    best: One[Point] = One()
    columns: One[dict[str, Any]] = One()
    records: One[Any] = One()
    header: One[Callable[..., str]] = One()
    report: One[Callable[[], Report]] = One()

    def _repr_html_(self) -> str:
        return "".join(tuning._repr_html_() for tuning in self)
