# SPDX-License-Identifier: MIT
"""What a launch from Python costs: host time of hone.Kernel on tensors of PyTorch and arrays of CuPy, beside CuPy's RawKernel of the same
kernel and an operation of PyTorch as large.

    python3 launch.py CACHE [N]

CACHE holds `scale` (examples/c_driver_api/scale.yaml) tuned for n = N (65536). All are launched in turns, in rounds that fit into the
stream's queue. What is not installed is left out, and said. 77: there is no GPU."""

import ctypes
import importlib
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import evidence  # noqa: E402

ROUNDS, CALLS = 201, 100
# Of docs/figures.json.
ROWS = {"addresses; `__cuda_array_interface__`": ["hone, addresses", "hone, __cuda_array_interface__"],
        "tensors of PyTorch": ["hone, tensors, current stream"], "`cupy.RawKernel`": ["cupy.RawKernel"]}
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "c_driver_api" / "scale.cu"


def measure(ways, synchronize):
    """Nanoseconds of a call, the median over rounds, in turns."""
    times = {name: [] for name in ways}
    for turn in range(-5, ROUNDS):
        for name, call in ways.items():
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            elapsed = time.perf_counter_ns() - start
            synchronize()
            if turn >= 0:
                times[name].append(elapsed / CALLS)
    return {name: statistics.median(values) for name, values in times.items()}


class Interface:
    """Memory that shows __cuda_array_interface__ and nothing else."""

    def __init__(self, driver, n):
        address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * n)) == 0
        self.address, self.shape = address.value, (n,)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<f4", "data": (self.address, False), "version": 3, "strides": None, "stream": None}


def with_driver(kernel, n, driver):
    x, y = Interface(driver, n), Interface(driver, n)
    pointers = x.address, y.address
    return {
        "hone, addresses": lambda: kernel(0, *pointers, 2.5),
        "hone, __cuda_array_interface__": lambda: kernel(0, x, y, 2.5),
    }


def with_torch(kernel, n, torch):
    x, y = torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    kernel(None, x, y, 2.5)
    torch.testing.assert_close(y, 2.5 * x)
    return {
        "hone, tensors, current stream": lambda: kernel(None, x, y, 2.5),
        "hone, tensors, stream given": lambda: kernel(stream, x, y, 2.5),
        "torch.mul(x, 2.5, out=y)": lambda: torch.mul(x, 2.5, out=y),
    }


def with_cupy(kernel, n, cupy):
    x, y = cupy.random.rand(n, dtype=cupy.float32), cupy.empty(n, dtype=cupy.float32)
    point = dict(part.split("=") for part in kernel.info.point.split(","))
    block, items = int(point["BLOCK"]), int(point["ITEMS"])
    raw = cupy.RawKernel(SOURCE.read_text(), "scale", options=tuple(f"-D{name}={value}" for name, value in point.items()))
    grid = ((n + block * items - 1) // (block * items),)
    scalars = cupy.float32(2.5), cupy.int32(n)
    kernel(None, x, y, 2.5)
    cupy.testing.assert_allclose(y, 2.5 * x, rtol=1e-6)
    y.fill(0)
    raw(grid, (block,), (x, y, *scalars))
    cupy.testing.assert_allclose(y, 2.5 * x, rtol=1e-6)
    return {
        "hone, CuPy's arrays": lambda: kernel(None, x, y, 2.5),
        "cupy.RawKernel": lambda: raw(grid, (block,), (x, y, *scalars)),
    }


def find(name):
    """A library, or None: said."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"launch.py: there is no {name}: it is left out", file=sys.stderr)
        return None


def main(path, n=65536):
    import hone

    try:
        hone.use_device(0)
    except hone.Error as error:
        print(f"launch.py: SKIPPED: {error}", file=sys.stderr)
        return 77
    driver = ctypes.CDLL("libcuda.so.1")
    kernel = hone.Cache(path).kernel("scale", n=int(n))
    ways = with_driver(kernel, int(n), driver)
    torch, cupy = find("torch"), find("cupy")
    if torch is not None and torch.cuda.is_available():
        ways.update(with_torch(kernel, int(n), torch))
    if cupy is not None:
        ways.update(with_cupy(kernel, int(n), cupy))
    print(f"a launch of {kernel.info.point} from Python, {ROUNDS} rounds of {CALLS} calls, host time")
    measured = measure(ways, driver.cuCtxSynchronize)
    for name, ns in measured.items():
        print(f"  {name:32} median {ns:7.0f} ns")
    evidence.keep("python", [[what, "; ".join(f"{measured[name] / 1e3:.1f}" for name in names) + " us"] for what, names in ROWS.items()
                             if all(name in measured for name in names)], by_row=True)
    return 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
