# SPDX-License-Identifier: MIT
"""Tuned kernels: looked up by libhone, launched on arrays of the device."""

from __future__ import annotations

import ctypes
import math
import operator
import os
import re
import struct
from ctypes import byref, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import _library
from ._arrays import TOP, Buffer, address_function, contents_address, stream_address, stream_function, unsigned
from ._errors import Error

Value = Union[int, float, bool, str]


@dataclass(frozen=True)
class Info:
    """What a kernel is, and the record that it was made from (`hone_info` of hone.h).

    grade: how near the tuned result is: "exact", "family", "problem", "architecture", "any" or "default".
    median_us, low_us, high_us: of one launch of the whole plan, in microseconds, with the 95% interval; 0 where there is no record.
    stale: why it may be out of date, else "".
    sure: of "family": the rule was learnt on this device, and the problem is inside of what it was learnt for.
    """

    kernel: str
    problem: str
    point: str
    grade: str
    tuned_problem: str
    device: str
    regime: str
    verification: str
    median_us: float
    low_us: float
    high_us: float
    stale: str
    origin: str
    simulated: bool
    compiled: bool
    sure: bool


@dataclass(frozen=True)
class Argument:
    """What a launch takes.

    type: of the config, as "float32x4". bytes: of a buffer for this problem, of a scalar its size.
    need: "required"; "fixed": follows from the problem; "optional": has a constant in the config, or this point does not use it;
        "owned": scratch memory and counters, which the library has.
    """

    name: str
    type: str
    role: str
    need: str
    bytes: int
    kind: int


_NEEDS = {_library.REQUIRED: "required", _library.FIXED: "fixed", _library.OPTIONAL: "optional", _library.OWNED: "owned"}


def _text(characters: Optional[bytes]) -> str:
    return (characters or b"").decode(errors="replace")


def _brain(value: float) -> int:
    bits = int(struct.unpack("<I", struct.pack("<f", value))[0])
    return 0x7FC0 if value != value else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


# The finite numbers of float8_e4m3 by their bits, without a sign; the last is 448.
_EIGHTHS = [math.ldexp(bits & 7, -9) if bits < 8 else math.ldexp(8 + (bits & 7), (bits >> 3) - 10) for bits in range(0x7F)]


def _eighth(value: float) -> int:
    """The nearest, or the even one of two, as __nv_fp8_e4m3 rounds."""
    number = float(struct.unpack("<d", struct.pack("<d", value))[0])
    size = min(abs(number), _EIGHTHS[-1])
    bits = 0x7F if number != number else min(range(0x7F), key=lambda bits: (abs(_EIGHTHS[bits] - size), bits & 1))
    return bits | (0x80 if math.copysign(1, number) < 0 else 0)


def _scalar(kernel: str, argument: Argument) -> Callable[[Any, int], int]:
    """The bits of a number in the argument's type."""
    name, type = argument.name, _library.SCALARS[argument.kind]
    if type.startswith(("float", "bfloat")):
        letter, bits = {"float16": ("<e", "<H"), "float64": ("<d", "<Q")}.get(type, ("<f", "<I"))
        pack: Callable[[Any], Any] = struct.Struct(letter).pack
        unpack: Callable[[Any], Any] = struct.Struct(bits).unpack
        made = {"bfloat16": _brain, "float8_e4m3": _eighth}.get(type)
        if made is not None:
            pack, unpack = made, lambda bits: (bits,)

        def bits_of_real(value: Any, stream: int) -> int:
            try:
                return unpack(pack(value))[0]  # type: ignore[no-any-return]
            except OverflowError:
                raise OverflowError(f"argument '{name}' of {kernel} is {value}, which {type} cannot hold") from None
            except (struct.error, TypeError):
                raise TypeError(f"argument '{name}' of {kernel} is {value!r:.80}, expected a number for {type}") from None

        return bits_of_real
    size = 8 * argument.bytes
    low, high = (0, 2**size) if type[0] == "u" else (-(2 ** (size - 1)), 2 ** (size - 1))
    mask = 2**size - 1

    def bits_of(value: Any, stream: int) -> int:
        try:
            number: int = operator.index(value)
        except TypeError:
            raise TypeError(f"argument '{name}' of {kernel} is {value!r:.80}, expected a whole number for {type}") from None
        if not low <= number < high:
            raise OverflowError(f"argument '{name}' of {kernel} is {number}, which {type} cannot hold: {low} to {high - 1}")
        return int(number & mask)

    return bits_of


class _Frame:
    """The arguments of one launch at a time, as hone_launch takes them. Names, kinds and sizes are set once; a launch sets bits."""

    def __init__(self, kernel: "Kernel", arguments: Sequence[Argument]) -> None:
        self.error = _library.CError()
        self.array = (_library.CArgument * max(1, len(arguments)))()
        self.storage: list[Any] = []
        for entry, argument in zip(self.array, arguments):
            entry.name = argument.name.encode()
            entry.kind = argument.kind
            if argument.kind == _library.BYTES:
                entry.bytes = argument.bytes
                self.storage.append(ctypes.create_string_buffer(argument.bytes))
                entry.bits = ctypes.addressof(self.storage[-1])
        # Written much faster than fields of a structure: three words an argument, the last its bits.
        self.words = memoryview(self.array).cast("B").cast("Q")
        self.stream = c_void_p()
        self.call = (c_void_p(kernel._open()), self.stream, byref(self.array), c_size_t(len(arguments)), byref(self.error))


class _Shape:
    """Calls with arguments of the same classes and names: how each becomes bits, and where they go."""

    def __init__(self, kernel: "Kernel", arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        chosen = kernel._choose(len(arguments), named)
        given = [*arguments, *named.values()]
        order = sorted(range(len(given)), key=lambda i: kernel._places[chosen[i].name])
        self.kernel = kernel
        self.arguments = [chosen[i] for i in order]
        places = {i: place for place, i in enumerate(order)}
        self.setters = [(3 * places[i] + 2, kernel._converter(chosen[i], given[i])) for i in range(len(given))
                        if chosen[i].kind != _library.BYTES]
        self.structures = [(i, n) for n, i in enumerate(i for i in order if chosen[i].kind == _library.BYTES)]
        self.skipped = [i for i in range(len(given)) if chosen[i].kind == _library.BYTES]
        first = next((i for i in range(len(given)) if chosen[i].kind == _library.BUFFER), None)
        current = None if first is None else stream_function(given[first])
        self.stream_of: Callable[[Sequence[Any]], int] = (
            lambda given: 0 if first is None or current is None else current(given[first]))
        self.frames: list[_Frame] = []

    def frame(self) -> _Frame:
        """One that no other thread has: append and pop are atomic."""
        try:
            return self.frames.pop()
        except IndexError:
            pass
        return _Frame(self.kernel, self.arguments)


class Kernel:
    """A kernel for one problem, from `Cache.kernel`. Call it to launch it; threads may do so at once.

    info: what it is, and how near to the problem it was tuned. arguments: what a launch takes, in the config's order.
    When its cache is closed it can no longer be launched: hone.Error says so.
    """

    def __init__(self, cache: "Cache", handle: int) -> None:
        self._cache = cache  # which stays open for it
        self._handle: Optional[int] = handle
        self._library = _library.load()
        self._launch: Callable[..., int] = self._library.hone_launch
        self._shapes: dict[Any, _Shape] = {}
        self.info = _read_info(self._library, handle)
        self.arguments = _read_arguments(self._library, handle)
        self._places = {argument.name: i for i, argument in enumerate(self.arguments)}
        self._positional = [one for one in self.arguments if one.need in ("required", "optional")]

    def __call__(self, stream: Any, /, *arguments: Any, **named: Any) -> None:
        """Queues one launch of the whole plan on a stream, and returns at once.

        stream: of PyTorch, CuPy or Numba, or its address; None for the current one of the library that the first array is of.
        arguments: in the config's order, without those that follow from the problem and those that the library owns; what has a
            constant in the config may be left out at the end. Or by their names, in any order. Buffers are arrays on the device
            (PyTorch, CuPy, Numba, anything with __cuda_array_interface__ or DLPack; no copy is made) of the argument's type, C-contiguous
            and at least as large as `arguments` says, or addresses, which nobody checks. Scalars are numbers, structures are bytes.

        Raises TypeError for an array that does not fit, OverflowError for a number that its type cannot hold, LibraryError for what the
        library refuses, Error where the cache is closed; nothing is launched then.
        """
        key = (*map(type, arguments), *named, *map(type, named.values())) if named else tuple(map(type, arguments))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape(self, arguments, named)
        given = (*arguments, *named.values()) if named else arguments
        if stream is None:
            on = shape.stream_of(given)
        else:
            on = stream if type(stream) is int else stream_address(stream)
        if not 0 <= on < TOP:
            unsigned(on, "the stream")
        frame = shape.frame()
        try:
            words = frame.words
            if shape.structures:
                _copy_structures(shape, frame, given)
                given = tuple(value for i, value in enumerate(given) if i not in shape.skipped)
            for (word, bits_of), value in zip(shape.setters, given):
                words[word] = bits_of(value, on)
            frame.stream.value = on
            status = self._launch(*frame.call)
            if status != _library.OK:
                _library.check(status, frame.error)
        finally:
            shape.frames.append(frame)

    def _open(self) -> int:
        """The handle, as long as there is one."""
        if self._handle is None:
            raise Error(f"the cache of kernel {self.info.kernel} is closed: keep it open for as long as its kernels are launched")
        return self._handle

    def _close(self) -> None:
        """Before its cache is: launches look for nothing but what they call."""
        self._handle = None
        self._launch = lambda *call: self._open()
        self._shapes.clear()

    def _choose(self, count: int, named: Mapping[str, Any]) -> list[Argument]:
        if count > len(self._positional):
            names = ", ".join(argument.name for argument in self._positional)
            raise TypeError(f"{self.info.kernel} takes {len(self._positional)} arguments by their places ({names}), found {count}: what "
                            "follows from the problem is given by its name, or left out")
        chosen = list(self._positional[:count])
        for name in named:
            if name not in self._places:
                raise TypeError(f"{self.info.kernel} has no argument '{name}'; there are {', '.join(self._places)}")
            if any(argument.name == name for argument in chosen):
                raise TypeError(f"argument '{name}' of {self.info.kernel} is given twice")
            chosen.append(self.arguments[self._places[name]])
        return chosen

    def _converter(self, argument: Argument, value: Any) -> Callable[[Any, int], int]:
        if argument.kind == _library.BUFFER:
            written = argument.role in ("output", "inout", "scratch", "counter", "metric")
            return address_function(value, Buffer(self.info.kernel, argument.name, argument.type, argument.bytes, written))
        if argument.kind == _library.TEXTURE:
            return lambda value, stream: unsigned(value, f"argument '{argument.name}' of {self.info.kernel}")
        return _scalar(self.info.kernel, argument)

    def prepare(self, stream: Any = None) -> None:
        """Does now what the first launch on a stream would do: allocates scratch memory. Then launches can be captured into graphs."""
        error = _library.CError()
        on = 0 if stream is None else stream_address(stream)
        _library.check(self._library.hone_prepare(self._open(), on, byref(error)), error)

    def set_symbols(self, stream: Any = None, /, **contents: Any) -> None:
        """Queues copies into the kernel's __constant__ and __device__ variables, each by its name: bytes (or a NumPy array) of the
        symbol's size, or an array on the device."""
        error = _library.CError()
        array = (_library.CArgument * max(1, len(contents)))()
        kept = []
        sizes = self.symbols
        on = 0 if stream is None else stream_address(stream)
        for entry, (name, value) in zip(array, contents.items()):
            entry.name = _for_c(f"the name of a symbol of {self.info.kernel}", name.encode())
            if hasattr(value, "__cuda_array_interface__") or hasattr(value, "data_ptr") or isinstance(value, int):
                entry.kind = _library.BUFFER
                entry.bits = contents_address(value, f"the symbol '{name}' of {self.info.kernel}", sizes.get(name))
            else:
                data = bytes(memoryview(value).cast("B")) if not isinstance(value, bytes) else value
                kept.append(ctypes.create_string_buffer(data, len(data)))
                entry.kind, entry.bytes, entry.bits = _library.BYTES, len(data), ctypes.addressof(kept[-1])
        count = c_size_t(len(contents))
        _library.check(self._library.hone_set_symbols(c_void_p(self._open()), c_void_p(on), byref(array), count, byref(error)), error)

    @property
    def symbols(self) -> dict[str, int]:
        """The variables whose contents have to be set before the first launch, and how many bytes each takes."""
        found = {}
        handle = self._open()
        for i in range(self._library.hone_kernel_symbol_count(handle)):
            name, size = ctypes.c_char_p(), c_uint64()
            self._library.hone_kernel_symbol(handle, i, byref(name), byref(size))
            found[_text(name.value)] = size.value
        return found

    def __repr__(self) -> str:
        return f"<hone.Kernel {self.info.kernel} {self.info.problem}: {self.info.point} ({self.info.grade})>"


def _copy_structures(shape: _Shape, frame: _Frame, given: Sequence[Any]) -> None:
    for i, n in shape.structures:
        data = given[i] if isinstance(given[i], bytes) else bytes(memoryview(given[i]).cast("B"))
        storage = frame.storage[n]
        if len(data) != len(storage):
            raise TypeError(f"a structure of {shape.kernel.info.kernel} has {len(data)} bytes, expected {len(storage)}")
        ctypes.memmove(storage, data, len(data))


def _read_info(library: Any, handle: int) -> Info:
    c = library.hone_kernel_info(handle).contents
    return Info(_text(c.kernel), _text(c.problem), _text(c.point), _library.GRADES[c.grade], _text(c.tuned_problem), _text(c.device),
                _text(c.regime), _text(c.verification), c.median_us, c.low_us, c.high_us, _text(c.stale_because), _text(c.origin),
                bool(c.simulated), bool(c.compiled), bool(c.sure))


def _read_arguments(library: Any, handle: int) -> list[Argument]:
    found = []
    for i in range(library.hone_kernel_argument_count(handle)):
        c = _library.CArgumentInfo()
        library.hone_kernel_argument(handle, i, byref(c))
        found.append(Argument(_text(c.name), _text(c.type), _text(c.role), _NEEDS[c.need], c.bytes, c.kind))
    return found


def _for_c(what: str, text: bytes) -> bytes:
    """C would take a NUL as the end."""
    if b"\0" in text:
        raise ValueError(f"{what} has a NUL character: {text!r}")
    return text


_WORD = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def _make_value(kernel: str, name: str, value: Value) -> "_library.CValue":
    what = f"problem value '{name}' of {kernel}"
    value = value.item() if hasattr(value, "item") else value  # of NumPy
    made = _library.CValue(name=_for_c(f"the name of a problem value of {kernel}", name.encode()))
    if isinstance(value, str):
        made.kind, made.value.word = _library.WORD, _for_c(what, value.encode())
        if not _WORD.fullmatch(value):
            raise ValueError(f"{what} is {value!r}, expected a number, a boolean or a word ([A-Za-z_][A-Za-z0-9_]*)")
    elif isinstance(value, bool):
        made.kind, made.value.boolean = _library.BOOLEAN, value
    elif hasattr(value, "__index__"):
        number: int = operator.index(value)
        if not -(2**63) <= number < 2**63:
            raise OverflowError(f"{what} is {number}, which int64 cannot hold: {-(2**63)} to {2**63 - 1}")
        made.kind, made.value.integer = _library.INTEGER, number
    elif hasattr(value, "__float__"):
        made.kind, made.value.real = _library.REAL, float(value)
    else:
        raise TypeError(f"{what} is {value!r}, expected a number, a boolean or a word")
    return made


class Cache:
    """Tuned kernels: a cache file of `hone`, a folder of recorded tunings, or, without a path, the user's cache. It is only read,
    and as it is when it is opened.

    It stays open until `close()`, or the end of the program, since what was launched may still be running; so keep one. With `with` it is
    closed at the end: wait for the device before. Kernels of a closed cache say that it is closed.
    """

    def __init__(self, path: Union[None, str, "os.PathLike[str]"] = None) -> None:
        library = _library.load()
        handle, error = c_void_p(), _library.CError()
        name = None if path is None else _for_c("the path of the cache", os.fsencode(path))
        _library.check(library.hone_open(name, byref(handle), byref(error)), error)
        self._path = path
        self._handle: Optional[int] = handle.value
        self._kernels: dict[int, Kernel] = {}

    def kernel(self, name: str, /, *, on_miss: str = "nearest", forbid_compile: bool = False, trust: bool = False,
               tune_seconds: float = 0, tune_config: Optional[str] = None, regime: Optional[str] = None, race_cache: Optional[str] = None,
               graph: bool = False, objective: Optional[str] = None, **problem: Value) -> Kernel:
        """The kernel of that name for a problem, all of whose values are given: cache.kernel("sgemm", M=512, N=512, K=512). In the
        current context: make an array, or call `hone.use_device`, before.

        on_miss: where nothing was tuned for this very problem on a device like this one: "nearest" takes what is nearest, "fail"
            raises LibraryError, "default" takes the template's default point, "tune" runs `hone tune` for tune_seconds (30), "race" is "nearest", and a few
            points take turns in its launches until it is known which is the fastest; race_cache is the file for the result.
        forbid_compile: take only what the cache has machine code of.
        trust: run kernels of a cache that others can write to.
        graph: launches of several kernels, or of one and what is zeroed before it, are replayed as CUDA graphs.
        objective: what it was tuned for, as its config names it: "time", "energy", a metric; without it time before others.
        A problem value that has the name of one of these is given by `kernel_for`.
        """
        return self.kernel_for(name, problem, on_miss=on_miss, forbid_compile=forbid_compile, trust=trust, tune_seconds=tune_seconds,
                               tune_config=tune_config, regime=regime, race_cache=race_cache, graph=graph, objective=objective)

    def kernel_for(self, name: str, problem: Mapping[str, Value], *, on_miss: str = "nearest", forbid_compile: bool = False,
                   trust: bool = False, tune_seconds: float = 0, tune_config: Optional[str] = None,
                   regime: Optional[str] = None, race_cache: Optional[str] = None, graph: bool = False,
                   objective: Optional[str] = None) -> Kernel:
        """`kernel`, with the problem as a dict."""
        if self._handle is None:
            raise Error("the cache is closed")
        if on_miss not in _library.MISSES:
            raise ValueError(f"on_miss: found {on_miss!r}, expected one of {', '.join(_library.MISSES)}")
        if not isinstance(trust, bool):
            raise TypeError(f"trust: found {trust!r}, expected True, which runs what others can write to, or False")
        values = (_library.CValue * max(1, len(problem)))(*(_make_value(name, key, value) for key, value in problem.items()))
        options = _library.COptions(on_miss=_library.MISSES[on_miss], forbid_compile=bool(forbid_compile), trust=trust,
                                    tune_seconds=tune_seconds, graph=bool(graph),
                                    tune_config=_for_c("tune_config", os.fsencode(tune_config)) if tune_config else None,
                                    regime=_for_c("regime", regime.encode()) if regime else None,
                                    objective=_for_c("objective", objective.encode()) if objective else None,
                                    race_cache=_for_c("race_cache", os.fsencode(race_cache)) if race_cache else None)
        handle, error = c_void_p(), _library.CError()
        status = _library.load().hone_get(self._handle, _for_c("the name of the kernel", name.encode()), values, len(problem),
                                          byref(options), byref(handle), byref(error))
        _library.check(status, error)
        assert handle.value is not None
        found = self._kernels.get(handle.value)
        return found if found is not None else self._kernels.setdefault(handle.value, Kernel(self, handle.value))

    def close(self) -> None:
        """Frees the cache with all its kernels and their device memory. Wait for what was launched first, and for threads that launch."""
        handle, self._handle = self._handle, None
        for kernel in self._kernels.values():
            kernel._close()
        self._kernels.clear()
        if handle is not None:
            _library.load().hone_close(handle)

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *ignored: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        path = "the user's" if self._path is None else os.fspath(self._path)
        return f"<hone.Cache {path}: {'closed' if self._handle is None else f'open, kernels: {len(self._kernels)}'}>"
