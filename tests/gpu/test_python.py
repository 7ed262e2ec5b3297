# SPDX-License-Identifier: MIT
"""The Python package on a GPU, with PyTorch and, where it is, CuPy: tuned, launched, checked, timed. What was measured is shown.
Without PyTorch and a GPU it is skipped."""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ["HONE_COMMAND"] = os.path.abspath(os.environ.get("HONE", ROOT / "build" / "tuner" / "hone"))
if "HONE_LIBRARY" in os.environ:
    os.environ["HONE_LIBRARY"] = os.path.abspath(os.environ["HONE_LIBRARY"])
sys.path[:0] = [str(ROOT / "python" / "src"), str(ROOT / "examples" / "pytorch"), str(ROOT / "bench" / "launch")]


def why_not():
    """Why nothing can be tested here; None: it can."""
    for name in ("numpy", "torch"):
        if importlib.util.find_spec(name) is None:
            return f"there is no {name} for {sys.executable}"
    import torch
    return None if torch.cuda.is_available() else "PyTorch finds no GPU"


REASON = why_not()
if REASON is not None:
    print(f"gpu/python: SKIPPED: {REASON}", file=sys.stderr)
    sys.exit(77)

import torch  # noqa: E402

import hone  # noqa: E402

try:
    import cupy
except ImportError:
    cupy = None
    print("gpu/python: there is no CuPy: its arrays are not tested", file=sys.stderr)

SCALE = ROOT / "examples" / "c_driver_api" / "scale.yaml"
N = 65536


class Interface:
    """A tensor that shows __cuda_array_interface__ alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    @property
    def __cuda_array_interface__(self):
        return self.tensor.__cuda_array_interface__


class Exchange:
    """A tensor that shows DLPack alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__(stream=stream)


class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory(prefix="hone-python-")
        cls.addClassCleanup(cls.kept.cleanup)
        cls.folder = pathlib.Path(cls.kept.name)
        cls.cache = cls.folder / "tuned.db"
        torch.zeros(1, device="cuda")
        cls.result = hone.tune(SCALE, problem={"n": N}, cache=cls.cache)
        cls.open = hone.Cache(cls.cache)

    def setUp(self):
        self.kernel = self.open.kernel("scale", n=N)
        self.x = torch.rand(N, device="cuda")
        self.y = torch.empty_like(self.x)

    def check(self, a=3.0):
        torch.testing.assert_close(self.y, a * self.x)
        self.y.fill_(-1)
        torch.cuda.synchronize()

    def test_what_was_tuned(self):
        self.assertEqual(self.kernel.info.grade, "exact")
        self.assertEqual(self.result.device, torch.cuda.get_device_name())
        print(f"scale, n = {N}: {self.result.best.time_us:.2f} us, {self.result.outcomes}")

    def test_tensors_on_their_streams(self):
        self.kernel(None, self.x, self.y, 3.0)
        self.check()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)  # what reads x has to come after what is queued on this stream
            self.x.fill_(2)
            self.kernel(None, self.x, self.y, 3.0)
        side.synchronize()
        self.check()
        self.kernel(side, self.x, self.y, 4.0)
        side.synchronize()
        self.check(4.0)

    def test_protocols(self):
        """Whoever has nothing but __cuda_array_interface__ or DLPack."""
        for protocol in (Interface, Exchange):
            self.kernel(0, protocol(self.x), protocol(self.y), 3.0)
            torch.cuda.synchronize()
            self.check()

    def test_wrong_tensors_are_refused(self):
        for wrong, words in ((self.x.cpu(), "a tensor on cpu"), (self.x.double(), "of float64"), (self.x[1:], "of 262140 bytes"),
                             (torch.rand(2 * N, device="cuda")[::2], "not contiguous")):
            with self.assertRaisesRegex(TypeError, words):
                self.kernel(None, wrong, self.y)

    def test_graphs(self):
        side = torch.cuda.Stream()
        self.kernel.prepare(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            self.kernel(None, self.x, self.y, 3.0)
        self.y.fill_(-1)
        graph.replay()
        torch.cuda.synchronize()
        self.check()

    @unittest.skipIf(cupy is None, "there is no CuPy")
    def test_arrays_of_cupy(self):
        x, y = cupy.random.rand(N, dtype=cupy.float32), cupy.zeros(N, dtype=cupy.float32)
        self.kernel(None, x, y, 3.0)
        cupy.testing.assert_allclose(y, 3 * x, rtol=1e-6)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            self.kernel(None, x, y, 4.0)
            stream.synchronize()
        cupy.testing.assert_allclose(y, 4 * x, rtol=1e-6)
        with self.assertRaisesRegex(TypeError, "of float64"):
            self.kernel(None, x.astype(cupy.float64), y)

    def test_a_reference_of_pytorch(self):
        result = hone.tune(SCALE, problem={"n": 4096}, cache=self.folder / "reference.db", budget=4,
                           reference=lambda inputs: 2.5 * torch.from_numpy(inputs["x"]).cuda())
        self.assertEqual((result.best.verification, result.best.record["verdict"]["seeds"]), ("verified", 1))
        with self.assertRaises(hone.CommandError) as failed:
            hone.tune(SCALE, problem={"n": 4096}, cache=self.folder / "wrong.db", budget=4,
                      reference=lambda inputs: 2 * torch.from_numpy(inputs["x"]).cuda())
        self.assertEqual(failed.exception.code, 3)

    def test_the_example(self):
        import linear
        path = str(self.folder / "sgemm.db")
        hone.tune(ROOT / "configs" / "sgemm.yaml", problem={"M": 16, "N": 4096, "K": 4096}, cache=path, budget="40s")
        kernel = linear.find(path, 0, 16, 4096, 4096)
        self.assertEqual(kernel.info.grade, "exact")
        self.assertIsNone(linear.find(path, 0, 8, 64, 32))
        a, b = torch.rand(8, 32, device="cuda", requires_grad=True), torch.rand(32, 64, device="cuda", requires_grad=True)
        torch.testing.assert_close(linear.sgemm(a, b, path), a @ b)
        torch.library.opcheck(linear.sgemm, (a, b, path))
        difference, theirs, ours = linear.compare(path)
        print(f"four layers of 4096 x 4096 for 16 rows: PyTorch {theirs:.1f} us, tuned {ours:.1f} us; largest difference {difference:.1e}")
        print(f"  one product: {kernel.info.median_us:.1f} us when tuned, {kernel.info.point}")
        self.assertLess(difference, 1e-4)

    def test_what_a_launch_costs(self):
        import launch
        self.assertEqual(launch.main(self.cache, N), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
