# SPDX-License-Identifier: MIT
"""Where the command and the library are: what the environment names, what this package brings, what is installed."""

from __future__ import annotations

import functools
import os
import pathlib
import shutil
import subprocess
from typing import Iterator, Optional

from ._errors import Error

LIBRARY = "libhone.so.0"


def _pkg_config(variable: str) -> Optional[pathlib.Path]:
    try:
        found = subprocess.run(["pkg-config", f"--variable={variable}", "hone"], text=True, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return pathlib.Path(found.stdout.strip()) if found.returncode == 0 and found.stdout.strip() else None


def _is_program(path: pathlib.Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@functools.lru_cache(maxsize=None)
def _installed_command(search: Optional[str]) -> Optional[pathlib.Path]:
    # A wheel lays the command and the library into the environment: a folder above this package, <prefix>/lib/python3.11/site-packages/hone.
    for folder in pathlib.Path(__file__).resolve().parents[1:5]:
        if _is_program(folder / "bin" / "hone") and any(place.is_file() for place in _beside(folder / "bin" / "hone")):
            return folder / "bin" / "hone"
    on_path = shutil.which("hone", path=search)
    if on_path:
        return pathlib.Path(on_path)
    prefix = _pkg_config("prefix")
    return prefix / "bin" / "hone" if prefix and _is_program(prefix / "bin" / "hone") else None


def command() -> pathlib.Path:
    """The program `hone`: $HONE_COMMAND, else that of this package, else on the PATH, else what pkg-config knows."""
    named = os.environ.get("HONE_COMMAND")
    if named:
        return pathlib.Path(named)
    found = _installed_command(os.environ.get("PATH"))
    if found is None:
        raise Error("the program `hone` was not found: install Hone (cmake --install), put it on the PATH, or set HONE_COMMAND")
    return found


def _beside(program: pathlib.Path) -> Iterator[pathlib.Path]:
    """Places of the library from the command's: <prefix>/bin/hone, or <build>/tuner/hone."""
    prefix = program.resolve().parent.parent
    yield from (prefix / lib / LIBRARY for lib in ("lib", "lib64"))
    yield from sorted(prefix.glob(f"lib/*/{LIBRARY}"))
    yield prefix / "runtime" / "libhone" / LIBRARY


def library() -> str:
    """The shared library: $HONE_LIBRARY, else beside the command, else what pkg-config knows, else whatever the loader finds."""
    named = os.environ.get("HONE_LIBRARY")
    if named:
        return named
    places: list[pathlib.Path] = []
    try:
        places += _beside(command())
    except Error:
        pass
    known = next((place for place in places if place.is_file()), None)
    if known is None:
        folder = _pkg_config("libdir")
        known = folder / LIBRARY if folder and (folder / LIBRARY).is_file() else None
    return str(known) if known else LIBRARY
