# SPDX-License-Identifier: MIT
"""The programs of examples/ that use exported headers: built as their READMEs say, and run on the driver double."""

import json
import os
import re
import pathlib
import shutil
import subprocess
import unittest

import double
import hone
import test_families

EXAMPLES = hone.SOURCE / "examples"
RECORDED = hone.SOURCE / "cache" / "recorded" / "nvidia-h200"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Werror"
NVCC = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")


class Examples(hone.Case):
    def run_all(self, *commands, expect=0, **environment):
        """Runs commands in the test's folder; the output of the last one."""
        settings = dict(os.environ, HONE_CACHE=str(self.cache), **environment)
        for command in commands:
            done = subprocess.run([str(part) for part in command], cwd=self.folder, env=settings, text=True,
                                  capture_output=True, timeout=300)
            self.assertEqual(done.returncode, expect if command == commands[-1] else 0, done.stdout + done.stderr)
        return done.stdout

    def build(self, example):
        self.run_all(["cmake", "-S", EXAMPLES / example, "-B", "b", f"-DHONE_EXECUTABLE={hone.HONE}", f"-DCUDA_DRIVER={double.DOUBLE}/libcuda.so",
                      f"-DCUDA_INCLUDE={hone.cuda_include()}", f"-DCMAKE_C_FLAGS={WARNINGS}"], ["cmake", "--build", "b"])

    @unittest.skipUnless(shutil.which("cmake"), "there is no cmake")
    def test_embedded_cubin(self):
        """Machine code in the program, for two architectures; the driver is all that it needs."""
        self.build("embedded_cubin")
        needed = [line.split()[0] for line in self.run_all(["ldd", "b/sum"], LD_LIBRARY_PATH=double.DOUBLE).splitlines()]
        self.assertIn("libcuda.so.1", needed)
        self.assertNotRegex(" ".join(needed), "nvrtc|hone|cudart")
        text = self.run_all(["b/sum", "1000"], LD_LIBRARY_PATH=double.DOUBLE, HONE_DOUBLE_STRICT="1")
        self.assertRegex(text, r"^configuration [01], tuned on NVIDIA H200 for 268435456 numbers\n"
                               r"sum 497, expected 497: right\n[\d.]+ us a launch, [\d.]+ us as a graph\n"
                               r"sum of the last graph 497, expected 497: right\n$")

    @unittest.skipUnless(shutil.which("cmake"), "there is no cmake")
    def test_bgemm(self):
        """A header with tensor maps; the double knows no such kernel."""
        self.build("bgemm")
        self.assertIn("hone_bgemm_A_lines_map(", (self.folder / "b" / "hone_tuned" / "bgemm" / "bgemm_embedded.h").read_text())
        self.run_all(["b/bgemm", "0", "200", "300"], LD_LIBRARY_PATH=double.DOUBLE, expect=2)

    def test_embedded_cubin_in_cpp(self):
        self.hone("export", "reduce", "--format", "cubin-header", "--config", hone.SOURCE / "configs" / "reduce.yaml",
                  "--recorded", RECORDED, "--arch", "sm_90", "-o", "reduce_embedded.h")
        self.write("main.cpp", '#include "reduce_embedded.h"\n#include "reduce_embedded.h"\n'
                   "int main() { return hone_reduce_find_image(0, 90) == NULL || hone_reduce_find_image(0, 89) != NULL ||\n"
                   "                    hone_reduce_find_image(0, 100) != NULL || hone_reduce_find_image(2, 90) != NULL; }\n")
        self.run_all(["g++", "-std=c++17", *WARNINGS.split(), "-isystem", hone.cuda_include(), "main.cpp", "-o", "main",
                      f"{double.DOUBLE}/libcuda.so.1"], ["./main"], LD_LIBRARY_PATH=double.DOUBLE)

    def test_images_of_the_cache(self):
        """What the cache keeps is embedded as it is, without a compiler."""
        for name in ("scale.yaml", "scale.cu", "scale_reference.cu"):
            shutil.copy(double.DATA / name, self.folder)
        driver = {"LD_LIBRARY_PATH": double.DOUBLE, "HONE_LOCKS": str(self.folder)}
        self.hone("tune", "scale.yaml", "-s", "BLOCK=256", "--quiet", **driver)
        arguments = ["export", "scale", "--format", "cubin-header", "-o", "scale.h"]
        result = self.hone(*arguments, HONE_NVRTC="/nowhere")
        self.assertNotIn("compiling", result.stderr)
        result = self.hone(*arguments, "--arch", "sm_80,sm_90")
        self.assertIn("compiling 1 of 2 images\n", result.stderr)
        result = self.hone(*arguments, "--arch", "sm_80,sm_91", expect=2)
        self.assertIn("unknown architecture 'sm_91'; known are sm_75", result.stderr)

    def test_configurations_of_one_program(self):
        """Machine code is embedded once where no more than the launch differs."""
        for name in ("scale.yaml", "scale.cu", "scale_reference.cu"):
            shutil.copy(double.DATA / name, self.folder)
        self.spoil(self.folder / "scale.yaml", "  FAULT: [0]\n", "  FAULT: [0]\n  SPARE: [0, 1]\n")
        self.spoil(self.folder / "scale.yaml", "FAULT: 0}", "FAULT: 0, SPARE: 0}")
        driver = {"LD_LIBRARY_PATH": double.DOUBLE, "HONE_LOCKS": str(self.folder)}
        for n, restriction in ((4096, "ITEMS=4,SPARE=0"), (8192, "ITEMS=4,SPARE=1"), (16384, "ITEMS=1,SPARE=1")):
            self.hone("tune", "scale.yaml", "-p", f"n={n}", "-s", f"BLOCK=256,{restriction}", "--quiet", **driver)
        self.hone("export", "scale", "--format", "cubin-header", "-o", "scale.h", HONE_NVRTC="/nowhere")
        header = (self.folder / "scale.h").read_text()
        self.assertEqual(len(re.findall(r"static const uint64_t \w+_image_\d", header)), 2)
        self.assertEqual(len(re.findall(r"^    \{\d, \d+, \d, \w+_image_\d, ", header, re.MULTILINE)), 3)

    def launch(self, kernel, restriction, problem, arguments, check, before="", after=""):
        """Tunes a config of the double at one point, and launches the exported machine code over x[i] = i, n = 4096."""
        for path in [*double.DATA.glob(f"{kernel}*"), *double.DATA.glob("attributes*.cu")]:
            shutil.copy(path, self.folder)
        driver = {"LD_LIBRARY_PATH": double.DOUBLE, "HONE_LOCKS": str(self.folder)}
        self.hone("tune", f"{kernel}.yaml", *(["-s", restriction] if restriction else []), "--quiet", **driver)
        name = "sum" if kernel == "composite" else kernel
        self.hone("export", name, "--format", "cubin-header", "-o", "kernel.h", HONE_NVRTC="/nowhere")
        self.write("main.c", f"""\
#include "kernel.h"
static CUdeviceptr make(size_t bytes)
{{
    CUdeviceptr buffer = 0;
    return cuMemAlloc(&buffer, bytes) == CUDA_SUCCESS ? buffer : 0;
}}
int main(void)
{{
    enum {{ N = 4096 }};
    static int in[N], out[N];
    CUcontext context;
    struct hone_{name}_kernel kernel;
    for (int i = 0; i < N; i++)
        in[i] = i;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || hone_{name}_load(0, &kernel) != CUDA_SUCCESS)
        return 2;
    struct hone_{name}_problem problem = {problem};
    struct hone_{name}_sizes size = hone_{name}_size(0, problem);
    CUdeviceptr x = make(sizeof in), y = make(sizeof out), partial = make(size.{"partial" if name == "sum" else "x"}_size);
    CUdeviceptr done = make(sizeof(int));
    (void)partial, (void)done;
    {before}
    if (cuMemcpyHtoD(x, in, sizeof in) != CUDA_SUCCESS ||
        hone_{name}_launch(kernel.functions, 0, 0, problem, {arguments}) != CUDA_SUCCESS ||
        cuMemcpyDtoH(out, y, sizeof out) != CUDA_SUCCESS)
        return 3;
    for (int i = 0; i < N; i++)
        if (!({check}))
            return 4;
    {after}
    if (hone_{name}_launch(kernel.functions, 2, 0, problem, {arguments}) != CUDA_ERROR_INVALID_VALUE)
        return 6;
    return hone_{name}_load(1, &kernel) != CUDA_ERROR_NO_BINARY_FOR_GPU;
}}
""")
        self.run_all(["cc", "-std=c11", *WARNINGS.split(), "-isystem", hone.cuda_include(), "main.c", "-o", "main",
                      f"{double.DOUBLE}/libcuda.so.1"], ["./main"], LD_LIBRARY_PATH=double.DOUBLE)

    def test_launch_with_attributes(self):
        """The double's kernel is right where it is launched in clusters of 16, cooperatively, with that carve-out. An n beyond its
        int is none of the configuration's: the kernel would get another one."""
        self.launch("attributes", "CLUSTER=16,COOPERATIVE=true,SHARED=65536,CARVEOUT=100", "{.n = N, .sm_count = 16}", "x, y",
                    "out[i] == in[i] + 16", after="""
    problem.n = (INT64_C(1) << 32) + N;
    if (hone_attributes_usable(0, 90, problem) || hone_attributes_nearest(NULL, 90, 16, problem) != -1 ||
        hone_attributes_launch(kernel.functions, 0, 0, problem, x, y) != CUDA_ERROR_INVALID_VALUE)
        return 7;
    problem.n = N;""")

    def test_launch_of_clusters_that_run_at_once(self):
        """Two of four on the double: the header has what the tuning found."""
        self.launch("clusters", "CLUSTER=4,SPARED=1,COOPERATIVE=true", "{.n = N}", "x, y", "out[i] == in[i] + 4",
                    "if (hone_clusters_step(0, 0, problem).grid.x != 4) return 5;")

    def test_launch_with_a_window(self):
        self.launch("windows", "WINDOW_BYTES=16384,SET_ASIDE=65536,HIT_PERCENT=50,HIT=persisting,MISS=normal",
                    "{.n = N}", "x, y", "out[i] == in[i] + 1",
                    "if (cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, hone_windows_step(0, 0, problem).set_aside_bytes) != 0) "
                    "return 5;")

    def test_launch_with_tensor_maps(self):
        """They are made of the buffers that a launch is given; a size that they cannot serve is none of the configuration's."""
        usable = "hone_tensor_usable(0, {}, (struct hone_tensor_problem){{.ROWS = {}, .COLUMNS = {}}})"
        self.launch("tensor", "BOX=32,SWIZZLE=128,FAULT=0", "{.ROWS = 64, .COLUMNS = 64}", "x, y",
                    "out[i] == (i / 64 < 63 && i % 64 < 60 ? in[i + 68] : 0)",
                    f"if (!{usable.format(90, 64, 64)} || {usable.format(90, 64, 63)} || {usable.format(89, 64, 64)}) return 5;\n"
                    "    CUtensorMap map;\n"
                    "    if (hone_tensor_x_map(0, problem, (void *)(uintptr_t)8, cuTensorMapEncodeTiled, &map) != CUDA_ERROR_INVALID_VALUE ||\n"
                    "        hone_tensor_x_map(0, problem, (void *)(uintptr_t)x, cuTensorMapEncodeTiled, &map) != CUDA_SUCCESS) return 7;")

    def test_launch_of_several_steps(self):
        for finish in ("last_block", "two_pass"):
            with self.subTest(finish):
                self.cache.unlink(missing_ok=True)
                self.launch("composite", f"FINISH={finish},BLOCKS=4", "{.n = N}", "x, partial, y, done",
                            "out[0] == N / 2 * (N - 1)", after=f"""
    CUgraphExec graph;
    if (hone_sum_graph(kernel.functions, 2, &graph, problem, x, partial, y, done) != CUDA_ERROR_INVALID_VALUE || graph != NULL ||
        hone_sum_graph(kernel.functions, 0, &graph, problem, x, partial, y, done) != CUDA_SUCCESS)
        return 7;
    for (int doubled = 1; doubled <= 2; doubled++) {{
        for (int i = 0; i < N; i++)
            in[i] = i * doubled;
        if (cuMemcpyHtoD(x, in, sizeof in) != CUDA_SUCCESS || cuGraphLaunch(graph, 0) != CUDA_SUCCESS ||
            cuMemcpyDtoH(out, y, sizeof out) != CUDA_SUCCESS || out[0] != N / 2 * (N - 1) * doubled)
            return 8;
    }}
    if (cuGraphExecDestroy(graph) != CUDA_SUCCESS)
        return 9;
""")

    def test_image_that_does_not_compile(self):
        self.record(name="a.json")
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "extern", "#error not here\nextern")
        result = self.hone("export", "saxpy", "--config", config, "--recorded", "a.json", "--format", "cubin-header",
                           expect=1)
        self.assertIn("'saxpy' does not compile for sm_90 at BLOCK=128,ITEMS=2,LOAD=ldg: ", result.stderr)
        self.assertIn("not here", result.stderr)

    def record_sgemm(self, folder, shapes):
        """Recordings of sgemm with drawn points."""
        config = hone.SOURCE / "configs" / "sgemm.yaml"
        points = [point for m, n, k in ((4096, 4096, 4096), (4, 4096, 4096), (32, 32, 1048576))
                  for point in self.sample(config, (f"M={m}", f"N={n}", f"K={k}"), count=4)]
        self.record_points(folder, "sgemm", [({"M": m, "N": n, "K": k}, points[i % len(points)])
                                             for i, (m, n, k) in enumerate(shapes)])

    def learn_blas(self):
        """A rule of sgemm_blas that nobody has learnt, in the cache: of small tiles that share K in two ways, and of one whose
        program there is only where A is not transposed."""
        config = hone.SOURCE / "configs" / "sgemm_blas.yaml"
        problem = {"M": 10, "N": 10, "K": 1000, "TRANS_A": "t", "TRANS_B": "n", "GAP_A": 0, "GAP_B": 0, "GAP_C": 0, "ALPHA": 1.0, "BETA": 0.0}
        given = [f"{name}={value}" for name, value in problem.items()]
        points = [self.sample(config, given, "FROZEN=0", "CLUSTER=1", "BM=16", "BN=16", "BK=16", f"FINISH={finish}")[0]
                  for finish in ("atomic", "first_clears")]
        points += self.sample(config, [word.replace("TRANS_A=t", "TRANS_A=n") for word in given], "FROZEN=0", "CLUSTER=1", "BM=16",
                              "BN=16", "BK=16", "FINISH=atomic", "A_TILE=rows")[:1]
        self.record_points("blas", "sgemm_blas", [(problem, points[0])])
        self.hone("cache", "import", self.folder / "blas" / "0.json")
        ends = {"M": (1, 16384), "N": (1, 16384), "K": (1, 2 ** 20), "ALPHA": (1.0, 1.0), "BETA": (0.0, 0.0)}
        values = [{"name": name, "words": ["n", "t"]} if name.startswith("TRANS") else
                  {"name": name, "low": ends.get(name, (0, 0))[0], "high": ends.get(name, (0, 0))[1]} for name in sorted(problem)]
        leaves = [{"configuration": i, "sure": True} for i in (1, 2)]
        test_families.put_rule(self.cache, dict(
            test_families.RULE, values=values, features=["M * N"], configurations=points,
            nodes=[{"feature": 0, "threshold": 64, "left": 1, "right": 2}, *leaves]))

    @unittest.skipUnless(shutil.which("cmake"), "there is no cmake")
    def test_sgemm(self):
        """hone_sgemm; and one header for 30 shapes."""
        shapes = [(64 << i % 6, 128 << i // 6, 256 + i) for i in range(30)]
        self.record_sgemm("recorded", shapes)
        self.learn_blas()
        self.build("sgemm")
        self.assertIn("#define HONE_SGEMM_BLAS_LOSS ", (self.folder / "b" / "hone_tuned" / "hone_sgemm" / "sgemm_blas_embedded.h").read_text())
        self.hone("export", "sgemm", "--config", hone.SOURCE / "configs" / "sgemm.yaml", "--recorded", self.folder / "recorded", "-o",
                  "sgemm_tuned.h")
        self.assertIn("#define HONE_SGEMM_RESULT_COUNT 30\n", (self.folder / "sgemm_tuned.h").read_text())
        self.write("main.cpp", '#include "sgemm_tuned.h"\n'
                   "int main() { return !hone_sgemm_fits(hone_sgemm_results[0].config, {64, 128, 256}); }\n")
        self.run_all(["g++", "-std=c++17", *WARNINGS.split(), "main.cpp", "-o", "main"], ["./main"])
        self.check_blas(hone.cuda_include())

    def check_blas(self, include):
        """hone_sgemm as it was built: random calls; wrong arguments; what is nothing to do, or not to be read."""
        text = self.run_all(["b/calls", "1000", "1", "cpu"], LD_LIBRARY_PATH=double.DOUBLE, HONE_DOUBLE_STRICT="1")
        self.assertRegex(text, r"^1000 calls, 10 configurations: right, ")
        self.assertIn("SKIPPED", self.run_all(["b/calls", "1", "1"], LD_LIBRARY_PATH=double.DOUBLE, expect=77))
        shutil.copy(hone.SOURCE / "tests" / "cli" / "data" / "blas_arguments.c", self.folder / "arguments.c")
        self.run_all(["cc", "-std=c11", *WARNINGS.split(), "-isystem", include, f"-I{EXAMPLES}/sgemm", "arguments.c", "b/libhone_sgemm.a",
                      f"{double.DOUBLE}/libcuda.so.1", "-o", "arguments"], ["./arguments"], LD_LIBRARY_PATH=double.DOUBLE)

    def test_header_of_one_configuration(self):
        """Someone has to own it: at most 380 lines; and one program can include them all."""
        lines, sources = {}, ""
        for config in sorted((hone.SOURCE / "configs").glob("*.yaml")):
            problems = sorted(RECORDED.glob(f"{config.stem}-*"))
            if not problems:
                continue
            name = f"{config.stem}_tuned.h"
            self.hone("export", config.stem, "--config", config, "--recorded", problems[0], "-o", name)
            lines[config.stem] = (self.folder / name).read_text().count("\n")
            sources += f'#include "{name}"\n'
        self.assertGreater(len(lines), 10)
        self.assertEqual({kernel for kernel, count in lines.items() if count > 380}, {"sgemm", "bgemm", "grouped", "attention", "decode"})
        self.assertLess(lines["decode"], 430)  # nine values of a problem, a line each
        self.assertLess(lines["sgemm"], 470)
        self.assertLess(max(lines["bgemm"], lines["grouped"], lines["attention"]), 830)  # with tensor maps
        for name, command in (("all.c", ["cc", "-std=c11"]), ("all.cpp", ["g++", "-std=c++17"])):
            self.write(name, sources)
            self.run_all([*command, *WARNINGS.split(), "-isystem", hone.cuda_include(), "-c", name])

    def test_header_behind_macros(self):
        """A macro that has the name of a problem value is an error that says so, and no riddle."""
        self.hone("export", "reduce", "--config", hone.SOURCE / "configs" / "reduce.yaml", "--recorded", RECORDED, "-o",
                  "reduce_tuned.h")
        self.write("main.c", '#define SIZE 4096\n#include "reduce_tuned.h"\n')
        done = subprocess.run(["cc", "-std=c11", "-c", "main.c"], cwd=self.folder, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("SIZE, SM_COUNT: defined as macros; include this file before", done.stderr)

    def test_headers_of_all_recordings(self):
        """Each shipped tuning gives a header that C takes without a warning."""
        made = 0
        for config in sorted((hone.SOURCE / "configs").glob("*.yaml")):
            if not any(RECORDED.glob(f"{config.stem}-*")):
                continue
            with self.subTest(config.stem):
                arguments = ["export", config.stem, "--config", config, "--recorded", RECORDED, "-o", "tuned.h"]
                self.write("main.c", '#include "tuned.h"\nint main(void) { return 0; }\n')
                self.hone(*arguments)
                self.run_all(["cc", "-std=c11", *WARNINGS.split(), "-isystem", hone.cuda_include(), "-c", "main.c"])
                if "_PIPELINE_" in (self.folder / "tuned.h").read_text():
                    continue
                self.hone("export", config.stem, "--config", config, "--defaults", "--format", "cubin-header", "--arch", "sm_90", "-o",
                          "tuned.h")
                self.run_all(["cc", "-std=c11", *WARNINGS.split(), "-isystem", hone.cuda_include(), "-c", "main.c"])
                made += 1
        self.assertGreater(made, 10)

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_header_only(self):
        self.hone("export", "reduce", "--config", hone.SOURCE / "configs" / "reduce.yaml", "--recorded", RECORDED, "-o",
                  "reduce_tuned.h")
        self.run_all([NVCC, "-arch=sm_90", "-std=c++17", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", "-I.",
                      f"-I{hone.SOURCE}/templates", "-c", "-o", "main.o", EXAMPLES / "header_only" / "main.cu"])
