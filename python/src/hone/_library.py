# SPDX-License-Identifier: MIT
"""hone.h by ctypes: its structs and functions."""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, Structure, Union, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from . import _find
from ._errors import Error, LibraryError

OK = 0
INTEGER, REAL, BOOLEAN, WORD = 1, 2, 3, 4
BUFFER, TEXTURE, BYTES = 1, 2, 3
# The kinds of scalars, from HONE_INT8 on.
SCALARS = {4: "int8", 5: "int16", 6: "int32", 7: "int64", 8: "uint8", 9: "uint16", 10: "uint32", 11: "uint64", 12: "float32",
           13: "float64", 14: "float16", 15: "bfloat16", 16: "float8_e4m3"}
REQUIRED, FIXED, OPTIONAL, OWNED = 1, 2, 3, 4
MISSES = {"nearest": 0, "fail": 1, "default": 2, "tune": 3, "race": 4}
GRADES = ("default", "any", "architecture", "problem", "family", "exact")


class CError(Structure):
    _fields_ = [("cuda", c_int), ("message", c_char * 1020)]


class _ValueUnion(Union):
    _fields_ = [("integer", c_int64), ("real", c_double), ("boolean", c_int), ("word", c_char_p)]


class CValue(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("value", _ValueUnion)]


class COptions(Structure):
    _fields_ = [("on_miss", c_int), ("forbid_compile", c_int), ("separate", c_int), ("regime", c_char_p), ("objective", c_char_p),
                ("tune_seconds", c_double), ("tune_command", c_char_p), ("tune_config", c_char_p), ("trust", c_int),
                ("race_cache", c_char_p), ("graph", c_int), ("reserved", c_uint64 * 1)]


class CLoss(Structure):
    _fields_ = [("mean", c_double), ("worst", c_double), ("sizes", c_uint64)]


class CInfo(Structure):
    _fields_ = [("kernel", c_char_p), ("problem", c_char_p), ("point", c_char_p), ("grade", c_int), ("compiled", c_int),
                ("simulated", c_int), ("stale", c_int), ("stale_because", c_char_p), ("tuned_problem", c_char_p),
                ("device", c_char_p), ("regime", c_char_p), ("objective", c_char_p), ("verification", c_char_p),
                ("driver", c_char_p), ("nvrtc", c_char_p), ("median_us", c_double), ("low_us", c_double), ("high_us", c_double),
                ("recorded", c_double), ("record", c_char_p), ("imported", c_int), ("origin", c_char_p), ("sure", c_int),
                ("predicted", CLoss), ("measured", CLoss), ("choice", CLoss), ("coverage", CLoss), ("freezing", CLoss)]


class CArgument(Structure):
    """`bits` stands for the union, whose members all begin with it."""

    _fields_ = [("name", c_char_p), ("kind", c_int), ("bytes", c_uint32), ("bits", c_uint64)]


class CArgumentInfo(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("type", c_char_p), ("role", c_char_p), ("need", c_int), ("bytes", c_uint64),
                ("reserved", c_uint64 * 4)]


_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "hone_status_name": (c_char_p, [c_int]),
    "hone_version": (c_char_p, []),
    "hone_open": (c_int, [c_char_p, POINTER(c_void_p), POINTER(CError)]),
    "hone_close": (None, [c_void_p]),
    "hone_get": (c_int, [c_void_p, c_char_p, POINTER(CValue), c_size_t, POINTER(COptions), POINTER(c_void_p), POINTER(CError)]),
    "hone_kernel_info": (POINTER(CInfo), [c_void_p]),
    "hone_kernel_argument_count": (c_size_t, [c_void_p]),
    "hone_kernel_argument": (c_int, [c_void_p, c_size_t, POINTER(CArgumentInfo)]),
    "hone_prepare": (c_int, [c_void_p, c_void_p, POINTER(CError)]),
    "hone_kernel_symbol_count": (c_size_t, [c_void_p]),
    "hone_kernel_symbol": (c_int, [c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_uint64)]),
}


@functools.lru_cache(maxsize=None)
def load() -> Any:
    """The library, once a process. hone.Error says where it was looked for."""
    path = _find.library()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise Error(f"libhone cannot be loaded: {error}; install Hone (cmake --install), or set HONE_LIBRARY to where "
                    f"{_find.LIBRARY} is") from error
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    # These are on the way of every launch, and given what ctypes passes on as it is.
    for name in ("hone_launch", "hone_set_symbols"):
        getattr(library, name).restype = c_int
    return library


def check(status: int, error: CError) -> None:
    """Raises LibraryError with the library's message."""
    if status != OK:
        name = load().hone_status_name(status).decode()
        raise LibraryError(error.message.decode(errors="replace"), name, error.cuda)


def version() -> str:
    """Of the library: "0.1.0"."""
    text: bytes = load().hone_version()
    return text.decode()
