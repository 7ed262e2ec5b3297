# SPDX-License-Identifier: MIT
"""A reference in Python: what is expected, computed from the inputs that `hone inputs` writes."""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Mapping, Optional, Sequence

from . import _command
from ._errors import Error


class Inputs(dict):  # type: ignore[type-arg]
    """The inputs of a problem by their names: NumPy arrays, rows as dimensions, lanes of vectors as the last one; bfloat16 as
    uint16.

    problem: the values of the problem by their names.
    """

    def __init__(self, arrays: Mapping[str, Any], problem: Mapping[str, Any]) -> None:
        super().__init__(arrays)
        self.problem = dict(problem)


Reference = Callable[[Inputs], Any]


def _to_host(array: Any) -> Any:
    """As a NumPy array: of CuPy (get), PyTorch (detach), and whatever NumPy takes."""
    import numpy

    if hasattr(array, "detach"):
        array = array.detach().cpu()
        if "bfloat16" in str(array.dtype):
            array = array.float()
        return array.numpy()
    if hasattr(array, "get") and hasattr(array, "__cuda_array_interface__"):
        return array.get()
    return numpy.asarray(array)


def _as_type(array: Any, name: str) -> Any:
    import numpy

    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind not in "biufV":  # V: types that NumPy does not know, with rules of their own
        raise Error(f"the reference returned {array.dtype}, expected {name}")
    if name == "float8_e4m3":  # its bits
        if array.dtype.itemsize != 1 or array.dtype == numpy.bool_:
            raise Error(f"the reference returned {array.dtype}, expected float8_e4m3: its bits as uint8, or an array of float8_e4m3fn")
        return array.view("uint8")
    with numpy.errstate(invalid="ignore"):
        if array.dtype.kind == "f" and name.startswith(("int", "uint")) and not numpy.array_equal(array, array.astype(name)):
            raise Error(f"the reference returned {array.dtype} with numbers that {name} does not have: round them as the kernel does")
    if name != "bfloat16" or array.dtype == numpy.uint16:
        return array.astype("uint16" if name == "bfloat16" else name, copy=False)
    bits = numpy.ascontiguousarray(array, dtype=numpy.float32).view(numpy.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    return numpy.where(numpy.isnan(array), 0x7FC0, rounded).astype(numpy.uint16)


def _by_name(expected: Any, results: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """A reference may return one array, several in the config's order, or all by their names. None in a list is an input, as in Kernel
    Tuner's answers."""
    names = [result["argument"] for result in results]
    if expected is None:
        raise Error(f"the reference returned None, expected {', '.join(names)}: has it a `return`?")
    if not isinstance(expected, Mapping):
        several = [expected]
        if isinstance(expected, (tuple, list)) and (len(names) != 1 or any(one is None for one in expected)):
            several = [one for one in expected if one is not None]
        if len(several) != len(names):
            raise Error(f"the reference returned {len(several)} arrays, expected {len(names)}: {', '.join(names)}")
        expected = dict(zip(names, several))
    if set(expected) != set(names):
        raise Error(f"the reference returned {', '.join(expected) or 'nothing'}, expected {', '.join(names)}")
    return dict(expected)


def _save(array: Any, result: Mapping[str, Any], path: pathlib.Path) -> None:
    import numpy

    shape = tuple(result["shape"])
    host = _to_host(array)
    # A matrix may be returned of what the config has as one row of numbers, but no other matrix.
    if host.size != numpy.prod(shape) or (host.ndim == len(shape) and host.shape != shape):
        raise Error(f"the reference returned an array of shape {host.shape} for '{result['argument']}', expected {shape}")
    numpy.save(path, numpy.ascontiguousarray(_as_type(host, result["type"])).reshape(shape))


def compute(reference: Reference, config: pathlib.Path, problem: Optional[Mapping[str, _command.Value]], seed: Optional[int],
            folder: pathlib.Path) -> list[str]:
    """Options of `hone tune` for what the reference makes of each problem's inputs; the files are in the folder."""
    import numpy

    words = ["inputs", str(config), "-o", str(folder / "inputs"), *_command.space_options(problem, None)]
    problems = _command.document(words + _command.options(seed=seed))["problems"]
    files: dict[str, str] = {}
    for one in problems:
        inputs = Inputs({file["argument"]: numpy.load(file["file"]) for file in one["files"]}, one["problem"])
        expected = _by_name(reference(inputs), one["results"])
        for result in one["results"]:
            name = result["argument"]
            values = "".join(f"-{key}={_command.text_of(value)}" for key, value in one["problem"].items())
            _save(expected[name], result, folder / f"{name}{values}.npy")
            files[name] = f"{name}{''.join(f'-{key}={{{key}}}' for key in one['problem'])}.npy"
    return [word for name, file in files.items() for word in ("--reference", f"{name}={folder / file}")]
