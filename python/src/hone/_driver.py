# SPDX-License-Identifier: MIT
"""The few calls of the CUDA driver that Python needs by itself: a context, and one stream that waits for another."""

from __future__ import annotations

import ctypes
import functools
import operator
from ctypes import byref, c_int, c_uint, c_void_p
from typing import Any

from ._errors import Error

_DISABLE_TIMING = 2


@functools.lru_cache(maxsize=None)
def _load() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Error(f"the CUDA driver cannot be loaded: {error}") from error


def _call(name: str, *arguments: Any) -> None:
    result = getattr(_load(), name)(*arguments)
    if result != 0:
        raise Error(f"{name}: CUDA error {result}")


def use_device(number: int = 0) -> None:
    """Makes the primary context of a device the current one of this thread, as PyTorch, CuPy and the runtime API do by themselves
    with the first array that they make. For programs with none of them."""
    if not 0 <= operator.index(number) < 2**31:
        raise OverflowError(f"the device is {number}, expected 0 to {2**31 - 1}")
    device, context = c_int(), c_void_p()
    _call("cuInit", c_uint(0))
    _call("cuDeviceGet", byref(device), c_int(number))
    _call("cuDevicePrimaryCtxRetain", byref(context), device)
    _call("cuCtxSetCurrent", context)


def wait_for(stream: int, other: int) -> None:
    """What is queued on a stream from now on waits for what is on the other one by now."""
    event = c_void_p()
    _call("cuEventCreate", byref(event), c_uint(_DISABLE_TIMING))
    try:
        _call("cuEventRecord", event, c_void_p(other))
        _call("cuStreamWaitEvent", c_void_p(stream), event, c_uint(0))
    finally:
        _load().cuEventDestroy_v2(event)
