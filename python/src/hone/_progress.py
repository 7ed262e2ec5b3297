# SPDX-License-Identifier: MIT
"""What a search shows while it runs, from its events."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from typing import Any, Callable, Iterator, Optional, Union

from ._command import Event, text_of

Progress = Union[None, bool, Callable[[Event], Any]]


class _Line:
    """On a terminal and in a notebook one line that is written anew, elsewhere a line each 5 s, as the command does; and what was
    found of a problem when it ends, except of the many problems of a family."""

    def __init__(self, of_family: bool) -> None:
        self._out = sys.stderr
        self._anew = self._out.isatty() or "ipykernel" in sys.modules
        self._of_family = of_family
        self._width = 0  # of what stands in the line
        self._said = time.monotonic()
        self._start(kernel="", problem={}, points=None)

    def _start(self, kernel: str, problem: "dict[str, Any]", points: Optional[int], **other: Any) -> None:
        self._about = f"{kernel} {','.join(f'{name}={text_of(value)}' for name, value in problem.items())}".strip()
        self._points = "" if points is None else f" of {points}"
        self._seen: set[str] = set()
        self._best_us: Optional[float] = None
        self._began = time.monotonic()

    def __call__(self, event: Event) -> None:
        if event["event"] == "start":
            self._start(**event)
        elif event["event"] == "record":
            record = event["record"]
            self._seen.add(str(record["point"]))
            if record["outcome"] == "ok" and "timing" in record:
                found: float = record["timing"]["median_us"]
                self._best_us = found if self._best_us is None else min(found, self._best_us)
        if event["event"] == "end" and not self._of_family:
            self._write(self._text(event["finished"], event["best_us"]), end=True)
        elif time.monotonic() - self._said >= (0.1 if self._anew else 5):
            self._write(self._text(len(self._seen), self._best_us), end=not self._anew)

    def _text(self, finished: int, best_us: Optional[float]) -> str:
        best = "nothing valid" if best_us is None else f"best {best_us:.4g} us"
        return f"{self._about}: {finished}{self._points} points, {best}, {time.monotonic() - self._began:.0f} s"

    def _write(self, text: str, end: bool) -> None:
        self._said = time.monotonic()
        if self._anew:
            text = text[:shutil.get_terminal_size().columns - 1]
            text, self._width = "\r" + text.ljust(self._width), 0 if end else len(text)
        self._out.write(text + ("\n" if end else ""))
        self._out.flush()

    def leave(self) -> None:
        """What comes next begins a line of its own, also where the search was interrupted."""
        if self._width > 0:
            self._out.write("\n")


@contextlib.contextmanager
def shown(progress: Progress, of_family: bool = False) -> Iterator[Optional[Callable[[Event], Any]]]:
    """What is called with each event: `progress` itself, or for True what shows them on stderr; None for nothing."""
    if callable(progress):
        yield progress
    elif not progress or sys.stderr is None:
        yield None
    else:
        line = _Line(of_family)
        try:
            yield line
        finally:
            line.leave()
