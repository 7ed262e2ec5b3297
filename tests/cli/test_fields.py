# SPDX-License-Identifier: MIT
"""`fields:` of a structure that kernels take by value, which the compiler lays out."""

import json
import shutil
import subprocess
import unittest

import double
import hone

KINDS = """\
#include <cuda_fp16.h>
#include <cuda_bf16.h>
enum class Mode : unsigned char { plain };
union Bits {
    float real;
    unsigned int bits;
};
struct Base {
    signed char letter;
};
template <int N> struct Kinds : Base {
    __host__ __device__ Kinds() : large(0), table{} {}
    const unsigned long long large;
    float *__restrict__ const table[N];
    Mode mode;
    __half half;
    __nv_bfloat16 wide;
    float4 vector;
    Bits both;
    double real;
    cudaTextureObject_t texture;
};
namespace own {
__global__ void kinds(Kinds<TILE> all, float *y)
{
    y[threadIdx.x] = all.table[TILE - 1][threadIdx.x] + float(all.half) + all.vector.z;
}
}
"""
KINDS_CONFIG = """\
hone: 1
kernel: kinds
template: kinds.cu
entry: own::kinds
parameters: {TILE: [2]}
arguments:
  - name: all
    type: Kinds<(4 - TILE) * 1>
    fields: {letter: -1, large: 2 ** 40, "table[0]": {buffer: x}, "table[1]": {buffer: x}, mode: 0, half: 0.1, wide: {value: 0.1},
             vector.z: 2, both.bits: 3, real: 1 / 3}
  - {name: x, type: float32, count: 32}
  - {name: y, type: float32, count: 32, role: output}
launch: {block: 32, grid: 1}
reference: none
"""


class Fields(double.Case):
    def setUp(self):
        super().setUp()
        self.config = self.folder / "params.yaml"
        self.kept = self.config.read_text()

    def test_points_are_verified_and_measured(self):
        """Those whose program is the same, too, where a field tells them apart; a pointer is set for each set of buffers."""
        for problem in (), ("-p", "n=100", "-p", "which=0"), ("--regime", "graph10"), ("--regime", "stream"):
            found, = self.tune(*problem)
            self.assertEqual([record["outcome"] for record in found["records"]], ["ok"] * 4)
        for old, new in ("bias: BIAS,", "bias: 1,"), ('"BIAS + ', '"1 + '), ("depends: [BIAS]", "depends: []"):
            self.spoil(self.config, old, new)
        found, = self.tune()
        self.assertEqual(sorted(record["outcome"] for record in found["records"]), ["duplicate"] * 2 + ["ok"] * 2)

    def test_graphs_have_the_contents_of_inputs(self):
        """As a graph keeps what is passed by value, another seed needs another one."""
        self.config = self.folder / "inputs.yaml"
        found, = self.tune("--regime", "graph10", "-s", "BLOCK=128")
        self.assertEqual([record["outcome"] for record in found["records"]], ["ok"])

    def test_values_decide_what_is_right(self):
        self.spoil(self.config, "bias: BIAS,", "bias: BIAS + (0.25 if BIAS == 2 else 0),")
        found, = self.tune()
        self.assertEqual({(record["point"]["BIAS"], record["outcome"]) for record in found["records"]}, {(1, "ok"), (2, "wrong_result")})

    def test_a_field_is_a_part_of_the_version(self):
        """As a scalar is: results of another value are not taken from the cache."""
        reused = []
        for number in "3", "3", "4":
            self.spoil(self.config, '"line.offsets[0]": 3', f'"line.offsets[0]": {number}')
            reused.append(self.tune("-s", "BLOCK=128")[0]["reused"])
            self.config.write_text(self.kept)
        self.assertEqual(reused, [0, 2, 0])

    def test_chunks_have_their_own(self):
        self.spoil(self.config, "n: {value: n}, negate: n > 4096", "n: chunk_count, negate: n > 4096")
        self.spoil(self.config, "launch:", "pipeline: {over: n, upload: [x], download: [y], chunks: 3, streams: 2}\nlaunch:")
        self.spoil(self.config, "zero: inside", "zero: outside")
        found, = self.tune("-p", "n=4500", "-s", "BLOCK=128")
        self.assertEqual([record["outcome"] for record in found["records"]], ["ok"] * 2)

    def compile(self, config):
        """What the default point comes to."""
        done = subprocess.run([hone.HONE, "compile", "--arch", "sm_90", "--json", config], capture_output=True, text=True, cwd=self.folder,
                              env=self.environment())
        record = json.loads(done.stdout)
        record = record["error"] if "error" in record else record[0]
        return record.get("message", record.get("outcome"))

    def test_all_kinds_of_fields(self):
        self.write("kinds.cu", KINDS)
        config = self.write("kinds.yaml", KINDS_CONFIG)
        self.assertEqual(self.compile(config), "ok")
        for before, after, message in (
                ("vector.z: 2", "vector: 2", "field 'vector' of 'all' is no number (16 bytes); expected a value for each part, "
                 "as a.b or w[2]"),
                ("letter: -1", "letter: 128", "argument 'letter' is 128, which int8 cannot hold"),
                ("large: 2 ** 40", "large: {buffer: x}", "field 'large' of 'all' is uint64 (8 bytes); expected a pointer, since it has a "
                 "buffer"),
                ('"table[1]": {buffer: x}', '"table[1]": 0', "field 'table[1]' of 'all' is a pointer (8 bytes); expected "
                 "{buffer: NAME}"),
                ("name: y", "name: y, align: 2 ** 8", "ok")):
            with self.subTest(message):
                self.write("kinds.yaml", KINDS_CONFIG.replace(before, after))
                self.assertEqual(self.compile(config), message)

    def test_integers_that_no_value_fills(self):
        self.write("kinds.cu", KINDS.replace("double real;", "double real; __int128 large_one;"))
        self.write("kinds.yaml", KINDS_CONFIG.replace("real: 1 / 3", "real: 1 / 3, large_one: 1") + "compile: {options: [--device-int128]}\n")
        self.assertIn("field 'large_one' of 'all' is no number (16 bytes); ", self.compile(self.folder / "kinds.yaml"))

    def test_a_mistake_is_told_of_the_config(self):
        more = ("argument 'p' of the config(1): error: static assertion failed with \"the structure has more fields than the config, which has "
                "9; give all, those within as a.b or w[2]\"")
        for before, after, message in (
                ("line.slope", "line.slop", "field 'line.slop' of 'p' in the config(1): error: class \"Line\" has no member \"slop\""),
                ("negate: n > 4096, ", "", more),
                ('"line.offsets[0]": 3, ', "", more),
                ("offsets[0]", "offsets[2]", "field 'line.offsets[2]' of 'p' in the config(1): error: incomplete type \"hone_index_is_in_array<false>\" is not allowed"),
                ("Params<float>", "Param<float>", "argument 'p' of the config(1): error: Param is not a template"),
                ("arguments: [p]}", "arguments: [p, count]}", "kernel 'apply' takes 1 parameter of 56 bytes, the plan passes 2: p, count; give "
                 "it one argument for each parameter, in the kernel's order"),
                ("negate: n > 4096", "negate: 2", "argument 'negate' is 2, which bool cannot hold"),
                ("line.slope: 0.5", "line.slope: 1.0e+39", "argument 'line.slope' is 1e+39, which float32 cannot hold"),
                ("Params<float>", "Params<double>", "ok")):
            with self.subTest(message):
                self.spoil(self.config, before, after)
                self.assertEqual(self.compile(self.config), message)
                self.config.write_text(self.kept)
        self.spoil(self.config, "type: Params<float>", "type: Line")
        self.spoil(self.config, "in: {buffer: x}, n: {value: n}, negate: n > 4096, out: {buffer: y}, which: which, line.slope: 0.5,\n"
                   '             "line.offsets[0]": 3, "line.offsets[1]": which / 4, bias: BIAS, turns: {buffer: turns}',
                   'slope: 1, "offsets[0]": 1, "offsets[1]": 1')
        self.assertEqual(self.compile(self.config), "argument 'p' is the structure Line (12 bytes); parameter 1 of kernel 'apply' has 56 "
                         "bytes; expected arguments in the kernel's order, of the types that it declares")
        self.config.write_text(self.kept)
        self.spoil(self.config, "which: which,", "which: which + 2 ** 15,")
        self.assertIn("argument 'which' is 32769, which int16 cannot hold (at the default point)",
                      self.hone("tune", self.config, "--quiet", expect=2).stderr)

    def test_names_are_no_code(self):
        for before, after in ("Params<float>", "'Params<float> /* */'"), ("which: which,", "'which); #': which,"):
            self.spoil(self.config, before, after)
            self.assertIn("expected the name of a structure or a field in C++, as n, a.b or w[2]", self.compile(self.config))
            self.config.write_text(self.kept)

    @unittest.skipUnless(shutil.which("nvcc"), "without nvcc")
    def test_nvcc_lays_it_out_alike(self):
        for standard in 14, 17:
            self.spoil(self.config, "launch:", f"compile: {{compiler: nvcc, options: [--std=c++{standard}]}}\nlaunch:")
            self.assertEqual(self.compile(self.config), "ok")
            self.spoil(self.config, "negate: n > 4096, ", "")
            self.assertIn("the structure has more fields than the config, which has 9;", self.compile(self.config))
            self.config.write_text(self.kept)

    def test_exports_name_what_is_in_it(self):
        self.tune("-s", "BLOCK=128", "-s", "BIAS=2")
        header = self.hone("export", "params").stdout
        self.assertIn("apply<<<s.grid, s.block, s.shared_bytes>>>(p);\n", header)
        self.assertIn(" *     p: a Params<float> by value of in = x, n = n, negate = n > 4096, out = y, which = which, line.slope = 0.5,\n"
                      " *         line.offsets[0] = 3, line.offsets[1] = which / 4, bias = BIAS, turns = turns\n", header)
        self.assertIn(" problem, const void *argument_p)\n", self.hone("export", "params", "--format", "cubin-header").stdout)
        self.assertNotIn("hone_", self.hone("export", "params", "--format", "source").stdout.split("struct Line")[1])
