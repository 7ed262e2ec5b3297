# SPDX-License-Identifier: MIT
"""Words that are types of CUDA C++, and kernels that are C++ templates of the parameters' own names."""

import json
import re
import shutil
import subprocess

import double
import hone

SOURCE = """\
#include <cuda_fp16.h>
namespace app {
template <typename T, int TILE = 32> __global__ void scale(const float *x, float *y, int n)
{
    const int i = blockIdx.x * TILE + threadIdx.x;
    if (i < n)
        y[i] = float(T(x[i]) + T(TILE));
}
}
"""
CONFIG = """\
hone: 1
kernel: scale
template: scale.cu
entry: "app::scale<T, TILE>"
problem: {N: 1048576}
parameters: {T: [float, double, __half], TILE: [64, 128]}
constraints: [TILE * sizeof(T) <= 512]
arguments:
  - {name: x, type: float32, count: N}
  - {name: y, type: float32, count: N, role: output}
  - {name: n, type: int32, value: N}
launch: {block: TILE, grid: "ceil_div(N, TILE)"}
"""


class Types(hone.Case):
    def compile(self, source, config=CONFIG, expect=0):
        self.write("scale.cu", source)
        path = self.write("scale.yaml", config)
        result = self.hone("compile", "--all", "--arch", "sm_90", "--json", path, expect=expect)
        return [[record["outcome"], *record["point"].values()] for record in json.loads(result.stdout)]

    def test_arguments_of_a_template(self):
        points = [[T, tile] for T in ("float", "double", "__half") for tile in (64, 128) if (T, tile) != ("double", 128)]
        self.assertEqual(self.compile(SOURCE), [["ok", *point] for point in points])

    def test_types_in_the_source(self):
        source = SOURCE.replace("template <typename T, int TILE = 32> ", "").replace("__global__", 'extern "C" __global__')
        config = CONFIG.replace('"app::scale<T, TILE>"', "scale")
        self.assertEqual({line[0] for line in self.compile(source, config)}, {"ok"})
        # Bytes of T decide whether that compiles.
        source += "static_assert(sizeof(T) == 4);\n"
        self.assertEqual([line[:2] for line in self.compile(source, config)],
                         [["ok", "float"], ["ok", "float"], ["compile_error", "double"], ["compile_error", "__half"],
                          ["compile_error", "__half"]])

    def test_numbers_where_the_source_asks_for_them(self):
        source = SOURCE.replace("template <typename T, int TILE = 32> ", "").replace(
            "T(x[i]) + T(TILE)", "x[i]") + "#if T != T_double && T != T_float && T != T___half\n#error\n#endif\n"
        config = CONFIG.replace('"app::scale<T, TILE>"', "scale")
        self.assertEqual({line[0] for line in self.compile(source, config)}, {"ok"})

    def test_words_that_are_no_types_are_numbers(self):
        config = CONFIG.replace("[float, double, __half]", "[float, fast]").replace("sizeof(T)", "4")
        result = self.compile(SOURCE, config, expect=3)
        self.assertEqual({line[0] for line in result}, {"compile_error"})


class Headers(hone.Case):
    """Types of arguments are those of the exported problem, not of the config's first."""

    def setUp(self):
        super().setUp()
        self.write("scale.cu", SOURCE)
        self.config = self.write("scale.yaml", CONFIG.replace("- {name: x, type: float32", "- {name: x, type: T"))
        self.record_points("recorded", "scale", [({"N": 1048576, "T": "double"}, {"TILE": 64}),
                                                 ({"N": 1048576, "T": "__half"}, {"TILE": 128})])
        self.recorded = ("export", "scale", "--config", self.config, "--recorded", "recorded")

    def sizes(self, header):
        """Bytes of an element of x in each configuration of a header, as its C says."""
        self.write("scale.h", header)
        self.write("main.c", """\
#include <stdio.h>
#include "scale.h"
int main(void)
{
    struct hone_scale_problem problem = HONE_SCALE_TUNED_PROBLEM;
    for (int config = 0; config < HONE_SCALE_CONFIG_COUNT; config++)
        printf("%d ", (int)(hone_scale_size(config, problem).x_size >> 20));
    return 0;
}
""")
        subprocess.run(["cc", "-Werror", "-Wall", "main.c", "-o", "main"], cwd=self.folder, check=True)
        return subprocess.run(["./main"], cwd=self.folder, check=True, capture_output=True, text=True).stdout.split()

    def test_of_one_problem(self):
        for T, size in (("double", "8"), ("__half", "2")):
            text = self.hone(*self.recorded, "-p", f"T={T}").stdout
            self.assertIn(f"x: N elements of {T} (input)", text)
            self.assertEqual(set(self.sizes(text)), {size})

    def test_of_several_problems(self):
        text = self.hone(*self.recorded).stdout
        self.assertIn("x: N elements of double or __half (input)", text)
        self.assertEqual(self.sizes(text)[:2], ["8", "2"])
        text = self.hone("export", "scale", "--config", self.config, "--defaults", "--prefix", "hone_scale").stdout
        self.assertEqual(self.sizes(text)[:3], ["4", "8", "2"])

    def test_tensor_maps(self):
        """A recording of fp8 beside a config whose first problem is of bf16."""
        recorded = hone.SOURCE / "cache/recorded/nvidia-h200"
        export = ("export", "bgemm", "--no-family", "--recorded", recorded)
        for source in ((), ("--config", hone.SOURCE / "configs/bgemm.yaml")):
            text = self.hone(*export, *source, "-p", "TYPE=__nv_fp8_e4m3").stdout
            self.assertEqual(set(re.findall(r"DATA_TYPE_(\w+), s.element_bytes = (\d), .* size.(\w)", text)),
                             {("UINT8", "1", "A"), ("UINT8", "1", "B"), ("BFLOAT16", "2", "C")})
            text = self.hone(*export, *source).stdout
            self.assertEqual(set(re.findall(r"DATA_TYPE_(\w+), s.element_bytes = (\d), .* size.A", text)),
                             {("UINT8", "1"), ("BFLOAT16", "2")})

    def test_tolerances_of_several_types(self):
        """Results of all are of one plan, though its tolerance is another for each."""
        self.spoil(self.config, "{name: y, type: float32", "{name: y, type: T")
        self.write("scale.cu", SOURCE.replace("const float *x, float *y", "const T *x, T *y"))
        for T, tile in (("double", 64), ("__half", 128)):
            self.hone("tune", self.config, "--simulate", "recorded", "-q", "-p", f"T={T}", "-s", f"TILE={tile}")
        self.assertNotIn("stale", self.hone("export", "scale", "-o", "scale.h").stderr)

    def test_numbers_of_several_types(self):
        """A function in C cannot take them."""
        self.spoil(self.config, "{name: n, type: int32", "{name: n, type: T")
        self.fails(2, "hone: argument 'n' of 'scale' is double or __half, by the problem (N=1048576,T=__half is of another "
                   "type than the first); a header passes numbers of one type, expected problems of one: choose them with "
                   "-p, into a header for each type", *self.recorded)
        self.assertIn("double n_value;", self.hone(*self.recorded, "-p", "T=double").stdout)

    def test_a_word_that_is_no_type(self):
        shutil.rmtree(self.folder / "recorded")
        self.record_points("recorded", "scale", [({"N": 1048576, "T": "fast"}, {"TILE": 64})])
        self.fails(2, "hone: 'T' is the type of argument 'x'; found 'fast' in a problem, expected a type of an element in "
                   "CUDA C++ such as float, double or __half", *self.recorded)


class OfArguments(double.Case):
    """Such a type is part of the problem: each is tuned on its own."""

    def setUp(self):
        super().setUp()
        for old, new in (("name: x, type: float32, count: n, fill: \"uniform(-1, 1)\"", "name: x, type: T, count: n, fill: \"uniform(0, 1)\""),
                         ("name: y, type: float32", "name: y, type: T"),
                         ("parameters:\n", "parameters:\n  T: [float, int]\n")):
            self.spoil(self.config, old, new)
        self.space = ("-s", "BLOCK=128,256", "-s", "ITEMS=4")

    def test_each_type_is_tuned(self):
        tunings = self.tune(*self.space, "--full")
        self.assertEqual([tuning["problem"]["T"] for tuning in tunings], ["float", "int"])
        for tuning in tunings:
            self.assertEqual(tuning["outcomes"], {"ok": 2})
        listed = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        self.assertEqual(sorted(tuning["signature"].split(",")[0] for tuning in listed), ["x:float32:input", "x:int32:input"])
        self.assertEqual([tuning["reused"] for tuning in self.tune(*self.space)], [2, 2])
        self.assertEqual(len(self.tune(*self.space, "-p", "T=int")), 1)

    def test_headers_have_the_type_of_each(self):
        self.tune(*self.space)
        self.config.unlink()  # so that nothing but their plans tells that they belong together
        self.assertNotIn("stale", self.hone("export", "scale", "-o", "header.h").stderr)
        text = (self.folder / "header.h").read_text()
        self.assertIn("#define HONE_SCALE_T float\n", text)
        self.assertIn("#define HONE_SCALE_T int\n", text)
        self.assertIn("x: n elements of float or int32_t (input)", text)
        self.write("main.c", '#include "header.h"\nint main(void) { return 0; }\n')
        if shutil.which("cc"):
            subprocess.run(["cc", "-Werror", "-Wall", "-c", "main.c"], cwd=self.folder, check=True)

    def test_integers_that_are_never_written(self):
        """Their poison is a number like any other."""
        self.spoil(self.config, "FAULT: [0]", "FAULT: [0, 10]")
        result = self.hone("tune", self.config, "-p", "T=int", "-s", "BLOCK=128,ITEMS=4,FAULT=10", expect=3)
        self.assertIn("; 1 of 24576 elements differs, 1 of them never written", result.stdout)

    def test_recordings_take_the_plan_of_their_type(self):
        self.tune(*self.space)
        for T in ("float", "int"):
            self.hone("cache", "export", "scale", "-p", f"T={T}", f"{T}.json")
        self.cache.unlink()
        found = self.hone("cache", "import", "--config", self.config, "float.json", "int.json")
        self.assertEqual(found.stdout.count("plan and template taken from the config"), 2)
        self.assertEqual(found.stderr, "")


class InLists(double.Case):
    def test_values_of_a_list_of_configurations_are_c(self):
        self.spoil(self.config, "parameters:\n", "parameters:\n  T: [float, int]\n  LEAST: [-9223372036854775808]\n")
        self.spoil(self.config, "defaults: {", "defaults: {T: float, LEAST: -9223372036854775808, ")
        self.tune("-s", "BLOCK=128", "-s", "ITEMS=4")
        self.hone("export", "scale", "-o", "header.h")
        self.assertRegex((self.folder / "header.h").read_text(), r" X\(0, (float|int), \(-9223372036854775807 - 1\), 128, 4, ")
        self.write("main.c", '#include "header.h"\n#define LIST(config, T, LEAST, ...) + (int)sizeof(T) + (LEAST < 0)\n'
                   "int main(void) { return 0 HONE_SCALE_CONFIGS(LIST); }\n")
        if shutil.which("cc"):
            subprocess.run(["cc", "-Werror", "-Wall", "-c", "main.c"], cwd=self.folder, check=True)
