# SPDX-License-Identifier: MIT
"""Running `hone`: its options from Python's values, its documents, its events as they come, its errors as exceptions."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import tempfile
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from . import _find
from ._config import name_sources
from ._errors import CommandError, Error

Value = Union[int, float, bool, str]
Event = Mapping[str, Any]


def text_of(value: Value) -> str:
    """As the command line has values: true, 4096, 0.5, row."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, str):
        return plain
    if not isinstance(plain, (int, float)):
        raise TypeError(f"found {plain!r:.80} as a value, expected a number, a boolean or a word")
    if isinstance(plain, float) and math.isfinite(plain):  # as the command writes it, also into names of files: 100.0 is 1e+02
        short = next(text for digits in range(1, 18) if float(text := f"{plain:.{digits}g}") == plain)
        return short if "." in short or "e" in short else short + ".0"
    return str(plain).lower() if isinstance(plain, bool) else repr(plain)


def space_options(problem: Optional[Mapping[str, Value]], restrict: Optional[Mapping[str, Any]]) -> list[str]:
    """-p NAME=VALUE and -s NAME=VALUE,VALUE."""
    words = []
    for what, given in (("problem", problem), ("restrict", restrict)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{what}: found {given!r:.80}, expected a dict of names to values")
    for name, value in (problem or {}).items():
        words += ["-p", f"{name}={text_of(value)}"]
    for name, values in (restrict or {}).items():
        several = [values] if isinstance(values, (bool, str)) or not isinstance(values, Iterable) else list(values)
        words += ["-s", f"{name}={','.join(map(text_of, several))}"]
    return words


def options(**values: Any) -> list[str]:
    """--look-ahead 8 from look_ahead=8; what is None or False is left out."""
    words = []
    for name, value in values.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, os.fspath(value) if isinstance(value, os.PathLike) else text_of(value)]
    return words


def further_options(words: Sequence[str]) -> Sequence[str]:
    """A string is a sequence of strings, too."""
    if isinstance(words, str):
        raise TypeError(f"options: found {words!r:.80}, expected a list of words, as {words.split()!r:.80}")
    return words


def cache_options(cache: Union[None, str, "os.PathLike[str]"]) -> list[str]:
    """--cache, the same wherever the program goes. A server's URI is no path."""
    path = None if cache is None else os.fspath(cache)
    return options(cache=os.path.abspath(path) if path and "://" not in path else path)


def message_of(stderr: str, code: int) -> str:
    """What `hone: ` stands before at the end: the error, without warnings and progress."""
    lines = stderr.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("hone: ") and not line.startswith("hone: warning: ")]
    if not starts:
        return stderr.strip() or f"hone ended with code {code}"
    return "\n".join(lines[starts[-1]:]).removeprefix("hone: ")


def _end(process: "subprocess.Popen[Any]") -> None:
    """As Ctrl-C does it: what was finished is kept."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _follow(process: "subprocess.Popen[Any]", events: Optional[int], tell: Optional[Callable[[Event], Any]]) -> None:
    try:
        if events is not None and tell is not None:
            with os.fdopen(events, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if line.endswith("\n"):
                        tell(json.loads(name_sources(line)))
        process.wait()
    except BaseException:
        _end(process)
        raise


def run(words: Sequence[str], tell: Optional[Callable[[Event], Any]] = None) -> str:
    """What the command prints. `tell` is called with each event of `hone tune`; where it raises, or on Ctrl-C, the command is
    interrupted, and keeps what it finished."""
    reader: Optional[int] = None
    writer: Optional[int] = None
    arguments = [str(_find.command()), *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if tell is not None:
            reader, writer = os.pipe()
            arguments += ["--events", f"/dev/fd/{writer}"]
        try:
            # In a session of its own, so that Ctrl-C reaches it once: from here.
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                                       pass_fds=() if writer is None else (writer,))
        except OSError as error:
            if reader is not None:
                os.close(reader)
            raise Error(f"{arguments[0]} cannot be started: {error.strerror}") from error
        finally:
            if writer is not None:
                os.close(writer)
        _follow(process, reader, tell)
        out.seek(0)
        err.seek(0)
        printed, said = (name_sources(file.read().decode(errors="replace")) for file in (out, err))
    if process.returncode != 0:
        code = process.returncode if process.returncode > 0 else 128 - process.returncode
        failure = CommandError(message_of(said, code), code, said)
        failure.result = printed or None
        raise failure
    return printed


def document(words: Sequence[str], tell: Optional[Callable[[Event], Any]] = None) -> Any:
    """What the command prints with --json."""
    return json.loads(run([*words, "--json"], tell))
