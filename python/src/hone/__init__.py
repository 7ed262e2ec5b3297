# SPDX-License-Identifier: MIT
"""Tuned CUDA kernels in Python: tune a kernel, look at what was found, launch it on arrays of PyTorch, CuPy or Numba.

    result = hone.tune("sgemm.yaml", problem={"M": 4096, "N": 4096, "K": 4096}, budget="60s")
    result.best.time_us, result.records, result.report()

    sgemm = hone.Cache().kernel("sgemm", M=4096, N=4096, K=4096)
    sgemm(None, A, B, C)

docs/python.md is the manual."""

from ._cache import Argument, Cache, Info, Kernel
from ._driver import use_device
from ._errors import CommandError, Error, LibraryError
from ._family import Family, Loss, tune_family
from ._reference import Inputs
from ._results import PerProblem, Point, Report, Result, Tuning
from ._tune import Space, Spaces, space, tune

__all__ = ["Argument", "Cache", "CommandError", "Error", "Family", "Info", "Inputs", "Kernel", "LibraryError", "Loss", "PerProblem", "Point",
           "Report", "Result", "Space", "Spaces", "Tuning", "space", "tune", "tune_family", "use_device"]
__version__ = "0.1.0"
