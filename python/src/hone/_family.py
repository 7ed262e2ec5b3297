# SPDX-License-Identifier: MIT
"""Families: one rule for all sizes, and what is lost by it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

from . import _command
from ._config import Config, path_of, settle
from ._progress import Progress, shown


@dataclass(frozen=True)
class Loss:
    """Time over the best time, minus one: 0.02 is 2% slower. `mean` (geometric) and `worst` of so many sizes."""

    mean: float
    worst: float
    sizes: int


def _loss(document: Mapping[str, Any]) -> Optional[Loss]:
    return Loss(document["mean"], document["worst"], document["sizes"]) if document["sizes"] > 0 else None


class Family:
    """The rule that chooses for any size of a family.

    kernel: whose family it is.
    configurations: what it chooses among; the first is the default point.
    measured: what its choice loses at sizes that it was not learnt from, beside what tuning each of them finds; `default` what the
        default point loses there; `predicted` what leaving sizes out let expect. None where it is not known.
    choice, coverage, freezing: the measured loss told apart (docs/families.md); None where it is not known.
    sizes, tuned, cells: how many sizes were looked at, were searched on their own, and times of a configuration at a size.
    reached: the predicted loss is what was asked for.
    document: all that `hone tune --family --json` says (docs/formats.md).
    """

    def __init__(self, document: Mapping[str, Any], place: Sequence[str]) -> None:
        family, rule = document["family"], document["family"]["rule"]
        self.document = document
        self.kernel: str = document["kernel"]
        self.configurations: list[dict[str, Any]] = rule["configurations"]
        self.measured, self.predicted, self.default = map(_loss, (rule["measured"], rule["predicted"], family["default"]))
        self.choice, self.coverage, self.freezing = (
            _loss(rule["parts"][part]) if "parts" in rule else None for part in ("choice", "coverage", "freezing"))
        self.sizes: int = family["sizes"]
        self.tuned: int = family["tuned"]
        self.cells: int = family["cells"]
        self.elapsed_s: float = family["elapsed_s"]
        self.reached: bool = family["reached"]
        self._place = list(place)

    def header(self, prefix: Optional[str] = None, format: str = "header") -> str:
        """The text of the C header with the rule, `hone_NAME_choose`: `hone export`."""
        return _command.run(["export", self.kernel, "--format", format, *_command.options(prefix=prefix), *self._place])

    def __repr__(self) -> str:
        said = f"{100 * self.measured.mean:.1f}% slower than tuned at {self.measured.sizes} sizes" if self.measured else "loss not known"
        return f"<hone.Family {self.kernel}: {len(self.configurations)} configurations, {said}>"


def tune_family(config: Config, *, budget: Optional[str] = None, loss: Union[None, float, str] = None, held_out: Optional[int] = None,
                seed: Optional[int] = None, regime: Optional[str] = None, cache: Union[None, str, "os.PathLike[str]"] = None,
                device: Union[None, int, str] = None, jobs: Optional[int] = None, progress: Progress = True,
                options: Sequence[str] = ()) -> Family:
    """Tunes the family of a config and learns a rule that chooses for any of its sizes: `hone tune --family` (docs/families.md).

    config: the path of a YAML file, or a dict, with a `family`.
    budget: a time, as "120s".
    loss: the predicted loss at which no more is measured, as 0.03 or "3%".
    held_out: at how many sizes that were not used the loss is measured.
    progress: shows on stderr how far it is; False: nothing. Or what is called with each event of each search (docs/formats.md#events);
        `event["problem"]` says of which size. Where it raises, all ends, and what was measured is kept: the same call goes on from there.
    """
    place = _command.cache_options(cache)
    if isinstance(loss, (int, float)):
        loss = f"{100 * loss:.15g}%"
    with path_of(settle(config)) as path, shown(progress, of_family=True) as tell:
        found = _command.document(["tune", "--family", str(path), "--quiet", *place, *_command.options(
            budget=budget, loss=loss, held_out=held_out, seed=seed, regime=regime, device=device, jobs=jobs),
                                            *_command.further_options(options)], tell)
    return Family(found[0], [*place, "--regime", regime or "cold"])
