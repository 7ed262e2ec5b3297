# SPDX-License-Identifier: MIT
"""Arrays of the device: from PyTorch, CuPy, Numba and whoever has __cuda_array_interface__ or DLPack, to addresses, without
copies; and their streams. Each kind of array has a function of its own that checks an array and gives its address, made once
for an argument, since it runs in every launch."""

from __future__ import annotations

import ctypes
import operator
import sys
from typing import Any, Callable, Optional

from . import _driver

# Type letters of NumPy's and of DLPack's codes (0 int, 1 uint, 2 float, 4 bfloat, 6 bool).
_LETTERS = {"i": "int", "u": "uint", "f": "float", "b": "uint"}
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "uint"}
_ON_DEVICE = (2, 13)  # kDLCUDA, kDLCUDAManaged

Address = Callable[[Any, int], int]
TOP = 2**64  # of addresses


def unsigned(value: Any, what: str) -> int:
    """An address, or a handle. ctypes would take the lowest 64 bits of whatever it is given."""
    number: int = operator.index(value)
    if not 0 <= number < TOP:
        raise OverflowError(f"{what} is {number}, expected 0 to {TOP - 1}")
    return number


class Buffer:
    """What is asked of an argument: elements of a type ("float32"), so many bytes at least, and whether a launch writes to it."""

    def __init__(self, kernel: str, name: str, type: str, bytes: int, written: bool) -> None:
        self.kernel, self.name, self.type, self.bytes, self.written = kernel, name, type, bytes, written
        self.element = type.split("x")[0]

    def refuse(self, found: str, hint: str = "") -> TypeError:
        return TypeError(f"argument '{self.name}' of {self.kernel} is {found}, expected {self.type} on the device, "
                         f"{self.bytes} bytes at least, rows one after the other{hint}")

    def check(self, element: str, nbytes: int, contiguous: bool) -> None:
        # Whoever has no bfloat16 or float8_e4m3 has its bits.
        if element != self.element and (self.element, element) not in (("bfloat16", "uint16"), ("float8_e4m3", "uint8")):
            raise self.refuse(f"of {element}")
        if not contiguous:
            raise self.refuse("not contiguous", ": pass a contiguous copy")
        if nbytes < self.bytes:
            raise self.refuse(f"of {nbytes} bytes")


def _of_torch(tensor: Any, buffer: Buffer) -> Address:
    import torch

    others = {"uint8": {"bool"}, "float8_e4m3": {"float8_e4m3fn", "uint8"}}
    names = {buffer.element} | others.get(buffer.element, set())
    dtypes = {getattr(torch, name) for name in names if hasattr(torch, name)}
    need = buffer.bytes

    def address(tensor: Any, stream: int) -> int:
        if tensor.dtype in dtypes and tensor.nbytes >= need and tensor.is_cuda and tensor.is_contiguous():
            return tensor.data_ptr()  # type: ignore[no-any-return]
        if not tensor.is_cuda:
            raise buffer.refuse(f"a tensor on {tensor.device}")
        buffer.check(str(tensor.dtype).removeprefix("torch.").replace("bool", "uint8"), tensor.nbytes, tensor.is_contiguous())
        raise buffer.refuse(f"of {tensor.dtype}")

    return address


def _of_cupy(array: Any, buffer: Buffer) -> Address:
    need, element = buffer.bytes, buffer.element.replace("bfloat16", "uint16").replace("float8_e4m3", "uint8")

    def address(array: Any, stream: int) -> int:
        dtype = array.dtype
        if array.nbytes < need or dtype.name.replace("bool", "uint8") != element or not dtype.isnative or not array.flags.c_contiguous:
            buffer.check(_order(dtype.str) + dtype.name.replace("bool", "uint8"), array.nbytes, array.flags.c_contiguous)
        return array.data.ptr  # type: ignore[no-any-return]

    return address


def _is_contiguous(shape: Any, strides: Any, item: int) -> bool:
    if strides is None:
        return True
    expected = item
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True


def _order(typestr: str) -> str:
    """Stands before the name of a type of the other byte order, which no kernel has."""
    return "big-endian " if typestr[0] == ">" else ""


def _product(shape: Any) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def _of_interface(array: Any, buffer: Buffer) -> Address:
    good: set[Any] = set()  # what was found right before

    def check(interface: Any) -> None:
        letter, item, shape = interface["typestr"][1], int(interface["typestr"][2:]), interface["shape"]
        buffer.check(f"{_order(interface['typestr'])}{_LETTERS.get(letter, letter)}{8 * item}", _product(shape) * item,
                     _is_contiguous(shape, interface.get("strides"), item))

    def address(array: Any, stream: int) -> int:
        interface = array.__cuda_array_interface__
        pointer, read_only = interface["data"]
        layout = interface["typestr"], interface["shape"], interface.get("strides"), read_only
        if layout not in good:
            check(interface)
            if read_only and buffer.written:
                raise buffer.refuse("read-only", ": the kernel writes to it")
            good.add(layout)
        other = interface.get("stream")
        if other is not None and other != stream and (other, stream) != (1, 0):  # 1 and 2 are the default streams, as in the driver
            _driver.wait_for(stream, unsigned(other, "the stream of an array"))
        return pointer  # type: ignore[no-any-return]

    return address


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int), ("ndim", ctypes.c_int32),
                ("dtype", _DLDataType), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _of_dlpack(array: Any, buffer: Buffer) -> Address:
    def address(array: Any, stream: int) -> int:
        if array.__dlpack_device__()[0] not in _ON_DEVICE:
            raise buffer.refuse("on the host")
        # The producer makes the stream wait for what writes the array; 1 is the default stream, and 0 is refused. A capsule that
        # nobody takes over frees itself, and the array itself stays for the call.
        capsule = array.__dlpack__(stream=stream or 1)
        tensor = ctypes.cast(_capsule_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
        shape = tensor.shape[:tensor.ndim]
        strides = [stride * tensor.dtype.bits // 8 for stride in tensor.strides[:tensor.ndim]] if tensor.strides else None
        item = tensor.dtype.bits * tensor.dtype.lanes // 8
        buffer.check(f"{_CODES.get(tensor.dtype.code, '?')}{tensor.dtype.bits}", _product(shape) * item,
                     _is_contiguous(shape, strides, item))
        return (tensor.data or 0) + tensor.byte_offset  # type: ignore[no-any-return]

    return address


def contents_address(value: Any, what: str, nbytes: Optional[int]) -> int:
    """Of an array of whatever type on the device, whose bytes are copied: so many, where it is known."""
    if isinstance(value, int):
        return unsigned(value, what)
    if hasattr(value, "data_ptr"):
        if not value.is_cuda:
            raise TypeError(f"{what} is a tensor on {value.device}, expected one on the device, bytes or a NumPy array")
        found, contiguous, number = value.nbytes, value.is_contiguous(), int(value.data_ptr())
    else:
        interface = value.__cuda_array_interface__
        if _order(interface["typestr"]):
            raise TypeError(f"{what} is big-endian: pass a copy in the byte order of the device")
        item, shape = int(interface["typestr"][2:]), interface["shape"]
        found, number = _product(shape) * item, int(interface["data"][0])
        contiguous = _is_contiguous(shape, interface.get("strides"), item)
    if not contiguous:
        raise TypeError(f"{what} is not contiguous: pass a contiguous copy")
    if nbytes is not None and found < nbytes:
        raise TypeError(f"{what} is of {found} bytes, expected {nbytes}")
    return number


def _of_integer(address: Any, buffer: Buffer) -> Address:
    index, top = operator.index, TOP  # found faster than globals

    def checked(address: Any, stream: int) -> int:
        number: int = index(address)
        return number if 0 <= number < top else unsigned(number, f"argument '{buffer.name}' of {buffer.kernel}")

    return checked


def _is(array: Any, library: str, name: str) -> bool:
    """Whether it is of a class of a library, which is not imported for that."""
    found = getattr(sys.modules.get(library), name, None)
    return found is not None and isinstance(array, found)


def address_function(array: Any, buffer: Buffer) -> Address:
    """The function for arrays of this one's class."""
    if _is(array, "torch", "Tensor"):
        return _of_torch(array, buffer)
    if _is(array, "cupy", "ndarray"):
        return _of_cupy(array, buffer)
    if isinstance(array, int):
        return _of_integer(array, buffer)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(array, buffer)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _of_dlpack(array, buffer)
    raise buffer.refuse(f"a {type(array).__module__}.{type(array).__qualname__}")


def _torch_stream() -> Callable[[Any], int]:
    import torch

    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return lambda tensor: raw(tensor.device.index or 0)
    return lambda tensor: int(torch.cuda.current_stream(tensor.device).cuda_stream)


def _cupy_stream() -> Callable[[Any], int]:
    import cupy

    current = cupy.cuda.get_current_stream
    return lambda array: int(current().ptr)


def stream_function(array: Any) -> Callable[[Any], int]:
    """What gives the stream on which the library of arrays of this one's class would work now; the default stream, where it has no
    such thing."""
    if _is(array, "torch", "Tensor"):
        return _torch_stream()
    if _is(array, "cupy", "ndarray"):
        return _cupy_stream()
    if hasattr(array, "__cuda_array_interface__"):
        return lambda array: array.__cuda_array_interface__.get("stream") or 0
    return lambda array: 0


def stream_address(stream: Any) -> int:
    """Of a stream of PyTorch, CuPy, Numba, cuda.core, or its address."""
    return unsigned(_stream_number(stream), "the stream")


def _stream_number(stream: Any) -> int:
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr"):
        found = getattr(stream, name, None)
        if isinstance(found, int):
            return found
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    handle = getattr(stream, "handle", None)
    if handle is not None:
        return int(getattr(handle, "value", handle) or 0)
    raise TypeError(f"found a {type(stream).__qualname__} as stream, expected None, an address, or a stream of PyTorch, CuPy or Numba")
