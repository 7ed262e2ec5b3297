# SPDX-License-Identifier: MIT
"""Words that are types of CUDA C++, and kernels that are C++ templates of the parameters' own names."""

import json
import unittest

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


if __name__ == "__main__":
    unittest.main()
