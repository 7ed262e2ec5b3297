# SPDX-License-Identifier: MIT
"""Configs as `hone` reads them: a path, or a dict that becomes a file."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pathlib
import re
import tempfile
from collections.abc import KeysView, ValuesView
from typing import Any, Iterator, Mapping, Union

from ._errors import Error

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def _plain(value: Any) -> Any:
    """For JSON, which is YAML too: NumPy's numbers as Python's."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset, range)):
        return list(value)
    raise TypeError(f"a config holds {type(value).__name__} {value!r}; expected numbers, booleans, text, lists and dicts")


def _is_source(template: Any) -> bool:
    """Whether a template is the source itself. A file that is there is a path, whatever it is called."""
    return isinstance(template, str) and ("\n" in template or (
        ("{" in template or "__global__" in template) and not os.path.exists(template)))


def _place(mapping: Any, key: str) -> None:
    """Makes the path of a key absolute: from the current folder. A template may be the source itself."""
    path = mapping.get(key) if isinstance(mapping, dict) else None
    if not isinstance(path, (str, os.PathLike)) or (key == "template" and _is_source(path)):
        return
    if key == "template" and not os.path.exists(path):
        raise Error(f"template: there is no file {os.fspath(path)!r}; text is taken as the source where it has a line break, a '{{' or '__global__'")
    mapping[key] = str(pathlib.Path.cwd() / path)


def _place_folder(option: Any) -> Any:
    """The same of a compile option that names a folder of includes."""
    if isinstance(option, dict):
        return {**option, "option": _place_folder(option.get("option"))}
    found = re.fullmatch("(?:-I|--include-path=)(.+)", option) if isinstance(option, str) else None
    return f"-I{pathlib.Path.cwd() / found[1]}" if found else option


def settle(config: Config) -> Config:
    """The same, wherever the program goes and whatever becomes of the dict."""
    if not isinstance(config, Mapping):
        return pathlib.Path.cwd() / config
    own = dict(config)
    if isinstance(own.get("parameters"), Mapping):  # whose values may be a generator, or the keys of a dict
        own["parameters"] = {name: list(values) if isinstance(values, (Iterator, KeysView, ValuesView)) else values
                             for name, values in own["parameters"].items()}
    own = copy.deepcopy(own)
    reference = own.get("reference")
    _place(own, "template")
    _place(reference, "template")
    _place(own.get("family"), "sizes")
    compiling = own.get("compile")
    if isinstance(compiling, dict) and isinstance(compiling.get("options"), (list, tuple)):
        compiling["options"] = [_place_folder(option) for option in compiling["options"]]
    for item in [*own.get("arguments", []), *own.get("symbols", [])]:
        _place(item, "file")
    files = reference.get("files") if isinstance(reference, dict) else None
    for name in files or ():
        _place(files, name)
    return own


# The files that a dict becomes, as their names are when the command speaks of them; places in the config's one line say nothing.
_PREFIX = "hone-config-"


def name_sources(text: str) -> str:
    """What the command says, without files that the user has never seen: <config>, <template> and <reference> instead."""
    written = re.escape(os.path.join(tempfile.gettempdir(), _PREFIX)) + r"\w+/(?:(config)\.yaml(?::\d+:\d+)?|(template|reference)\.cu)"
    return re.sub(written, lambda found: f"<{found[1] or found[2]}>", text)


def _write(config: Mapping[str, Any], folder: pathlib.Path) -> pathlib.Path:
    own = dict(config)
    for name, mapping in (("template.cu", own), ("reference.cu", own.get("reference"))):
        if isinstance(mapping, dict) and _is_source(mapping.get("template")):
            (folder / name).write_text(mapping["template"], encoding="utf-8")
            mapping["template"] = name
    path = folder / "config.yaml"
    try:
        text = json.dumps(own, default=_plain, allow_nan=False)
    except ValueError as error:
        raise ValueError(f"a config holds finite numbers alone, and is no part of itself: {error}") from None
    path.write_text(text)
    return path


@contextlib.contextmanager
def path_of(config: Config) -> Iterator[pathlib.Path]:
    """The path of a settled config, for as long as it is needed."""
    if not isinstance(config, Mapping):
        yield pathlib.Path(config)
        return
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        yield _write(copy.deepcopy(dict(config)), pathlib.Path(folder))
