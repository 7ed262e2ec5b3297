# SPDX-License-Identifier: MIT
"""hone_sgemm of examples/sgemm beside cublasSgemm on a GPU, over random calls: with drawn configurations, then with a family's
rule. HONE_BLAS_CALLS is how many (default 10000), HONE_BLAS_SEED another seed."""

import glob
import os
import pathlib
import site
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import test_examples  # noqa: E402  finds hone.py, too
import hone  # noqa: E402

SOURCES = test_examples.EXAMPLES / "sgemm"
CONFIG = hone.SOURCE / "configs" / "sgemm_blas.yaml"
CALLS = int(os.environ.get("HONE_BLAS_CALLS", "10000"))
SEED = int(os.environ.get("HONE_BLAS_SEED", "1"))
# What configurations are drawn for: M, N, K, and parameters.
DRAWN = (((1024, 1024, 1024), ("FINISH=store",)), ((1023, 1025, 513), ("FINISH=store",)), ((64, 64, 65536), ("FINISH=atomic",)),
         ((64, 64, 65536), ("FINISH=first_clears",)), ((16, 4096, 4096), ("FINISH=store", "CLUSTER=2,4,8")), ((4096, 16, 4096), ()),
         ((11, 10, 1000), ("FINISH=first_clears",)), ((1, 4096, 4096), ()), ((333, 7, 5000), ("SMALL=1",)))


def cublas_folders():
    """Where libcublas is, beside where the linker looks: toolkits, and wheels of whichever Python there is."""
    packages = [*site.getsitepackages(), *(p for p in sys.path if p.endswith("-packages"))]
    found = [path for package in packages for path in glob.glob(f"{package}/nvidia/*/lib/libcublas.so.*")]
    found += glob.glob("/usr/local/cuda*/lib64/libcublas.so.*") + glob.glob("/usr/local/cuda*/targets/*/lib/libcublas.so.*")
    return list(dict.fromkeys(os.path.dirname(path) for path in found))


class Blas(test_examples.Case):
    def build(self):
        sources = [SOURCES / f"{name}.c" for name in ("calls", "hone_sgemm", "cublas", "gpu")]
        self.run_one(test_examples.CC, "-std=c11", "-O2", "-Wall", "-Werror", "-I.", "-isystem", self.include, "-o", "calls", *sources,
                     self.driver, "-ldl", "-lm")

    def check(self, count):
        folders = ":".join([*cublas_folders(), os.environ.get("LD_LIBRARY_PATH", "")])
        done = subprocess.run(["./calls", str(count), str(SEED)], cwd=self.folder, text=True, capture_output=True, timeout=300,
                              env=dict(os.environ, LD_LIBRARY_PATH=folders))
        print(done.stdout.strip(), flush=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_drawn_configurations(self):
        """Each configuration serves sizes that it was not made for, as far as it can."""
        pairs = []
        for a in "nt":
            for b in "nt":
                for (m, n, k), restrictions in DRAWN:
                    problem = {"M": m, "N": n, "K": k, "TRANS_A": a, "TRANS_B": b, "GAP_A": 0, "GAP_B": 0, "GAP_C": 0, "ALPHA": 1.0,
                               "BETA": 0.0}
                    given = [f"{name}={value}" for name, value in problem.items()]
                    for seed in (SEED, SEED + 1):
                        drawn = self.sample(CONFIG, given, "FROZEN=0", *restrictions, seed=seed)[0]
                        pairs.append((dict(problem, GAP_C=4 * (seed - SEED)), drawn))
        self.record_points("recorded", "sgemm_blas", pairs)
        self.hone("export", "sgemm_blas", "--config", CONFIG, "--recorded", "recorded", "--format", "cubin-header", "--arch", self.capability,
                  "--quiet", "-o", "sgemm_blas_embedded.h")
        self.build()
        self.check(CALLS)

    def test_rule_of_a_family(self):
        self.hone("tune", "--family", CONFIG, "--budget", "60s", "--held-out", "2", "--quiet")
        self.hone("export", "sgemm_blas", "--config", CONFIG, "--format", "cubin-header", "--arch", self.capability, "--quiet", "-o",
                  "sgemm_blas_embedded.h")
        self.assertIn("hone_sgemm_blas_choose", (self.folder / "sgemm_blas_embedded.h").read_text())
        self.build()
        self.check(max(1, CALLS // 5))


def why_not():
    if not test_examples.CC:
        return "there is no C compiler"
    return None if cublas_folders() else "there is no cuBLAS: no libcublas.so.* of a toolkit, or of the package nvidia-cublas"
