# SPDX-License-Identifier: MIT
"""Arrays in the memory of the driver double, as libraries of arrays show them."""

import ctypes

import numpy

driver = ctypes.CDLL("libcuda.so.1")


class Array:
    """Memory of the device with the contents of a NumPy array."""

    def __init__(self, contents, stream=None):
        self.host = numpy.ascontiguousarray(contents)
        self.stream = stream
        address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(1, self.host.nbytes))) == 0
        self.address = address.value
        assert driver.cuMemcpyHtoD_v2(address, self.host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.host.nbytes)) == 0

    def get(self):
        found = numpy.empty_like(self.host)
        assert driver.cuCtxSynchronize() == 0
        assert driver.cuMemcpyDtoH_v2(found.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.address),
                                      ctypes.c_size_t(found.nbytes)) == 0
        return found


class Interface(Array):
    """With __cuda_array_interface__, as Numba's."""

    strides = None
    read_only = False

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.host.shape, "typestr": self.host.dtype.str, "data": (self.address, self.read_only), "version": 3,
                "strides": self.strides, "stream": self.stream}


class Cupy(Array):
    """What the launch asks of a cupy.ndarray; tests put it into a module of that name."""

    def __init__(self, contents):
        super().__init__(contents)
        self.dtype, self.nbytes, self.flags = self.host.dtype, self.host.nbytes, self.host.flags
        self.data = type("Data", (), {"ptr": self.address})()


class Exchange(Array):
    """With DLPack alone: NumPy's capsule of the same shape, which is told where the memory is and that it is the device's."""

    device = 2
    asked = None

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, stream=None):
        self.asked = stream
        capsule = self.host.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_uint64.from_address(get(capsule, b"dltensor")).value = self.address
        return capsule


class Tensor:
    """What the launch asks of a torch.Tensor; tests put it into a module of that name."""

    def __init__(self, array, cuda=True, contiguous=True):
        self.array, self.is_cuda, self.contiguous = array, cuda, contiguous
        self.dtype, self.nbytes = f"torch.{array.host.dtype.name}", array.host.nbytes
        self.device = type("Device", (), {"index": 0, "__str__": lambda device: "cuda:0" if cuda else "cpu"})()

    def is_contiguous(self):
        return self.contiguous

    def data_ptr(self):
        return self.array.address
