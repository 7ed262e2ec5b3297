# SPDX-License-Identifier: MIT
"""`override:` tunes values that a source declares itself, and `hone export --format patch` gives them back to it."""

import json
import os
import shutil
import subprocess
import unittest

import double
import hone
import pages

NVCC = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")

GUARDED = "#ifndef BLOCK\n#define BLOCK 256\n#define ITEMS 4\n#define FAULT 0\n#endif\n"
DECLARED = """\
// constexpr int BLOCK = 32; in a comment
constexpr int BLOCK = 64 *
                      8; // threads
namespace own { static const unsigned ITEMS{8}, SPARE = 0; enum kind : int { FIRST = 1, FAULT = 0, LAST }; enum { OTHER = LAST }; }
using namespace own;
#if 0
#define REPEATS 3 /* of nothing */
#else
#  define REPEATS \\
    2
#endif
#ifdef EMPTY
#define REPEATS
#endif
inline int host(const int BLOCK = 3) { return BLOCK == REPEATS; }
template <const int ITEMS = 3> inline int other() { return ITEMS == REPEATS; }
"""
# As somebody writes it, but for the table that the double reads.
PROGRAM = """\
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

constexpr int BLOCK = 128;
#define ITEMS 2

extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, 0};

extern "C" __global__ void scale(const float *x, float *y, float a, int n)
{
    for (int item = 0; item < ITEMS; item++) {
        int i = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
        if (i < n)
            y[i] = a * x[i];
    }
}

int main()
{
    const int n = 1 << 16;
    std::vector<float> numbers(n, 2);
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, numbers.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<(n + BLOCK * ITEMS - 1) / (BLOCK * ITEMS), BLOCK>>>(x, y, 3, n);
    cudaMemcpy(numbers.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\\n", numbers[n - 1]);
}
"""


class Override(double.Case):
    def setUp(self):
        super().setUp()
        self.template = self.folder / "scale.cu"
        self.spoil(self.template, GUARDED, "#ifndef __CUDACC_RTC__\n#else\n" + DECLARED.replace("inline int", "__device__ inline int") + "#endif\n")
        self.spoil(self.template, "#if FAULT == 1\n#define MAX_THREADS 16\n#else\n#define MAX_THREADS BLOCK\n#endif\n", "#define MAX_THREADS BLOCK\n")
        self.spoil(self.template, "#if FAULT >= 2\n", "#if 0\n")
        self.spoil(self.config, "  FAULT: [0]\n", "  FAULT: [0]\n  REPEATS: [2, 3]\noverride: {BLOCK: constexpr, ITEMS: constexpr, FAULT: constexpr, "
                   "REPEATS: define}\n")
        self.spoil(self.config, "FAULT: 0}", "FAULT: 0, REPEATS: 2}")

    def test_the_file_stays_and_its_values_change(self):
        before = self.template.read_text()
        found, = self.tune("-s", "REPEATS=2")
        best = found["best"]["point"]
        self.assertEqual((best["BLOCK"], best["ITEMS"]), (256, 4), "the double's best")
        self.assertEqual({record["outcome"] for record in found["records"]} - {"slower"}, {"ok"})
        self.assertEqual(self.template.read_text(), before)
        self.check_patch(before)
        self.check_exports()

    def test_a_patch_of_a_source_with_a_mark(self):
        """Editors of Windows begin a file with the mark of UTF-8; the text that is compiled has none. Its name has a blank."""
        self.template = self.folder / "grüner scale.cu"
        self.spoil(self.config, "template: scale.cu", f"template: {self.template.name}")
        self.spoil(self.config, "override: {BLOCK: constexpr, ITEMS: constexpr, FAULT: constexpr, REPEATS: define}", "override: {BLOCK: constexpr}")
        for head in "// one\n", "// one\n// two\n":
            with self.subTest(head):
                self.template.write_text("\ufeff" + head + "constexpr int BLOCK = 64;\n__global__ void scale() {}\n")
                self.hone("export", "scale", "--format", "patch", "--defaults", "--config", self.config, "-o", "scale.patch")
                for command in ["git", "apply"], ["patch", "-p1", "--fuzz=0", "-i"]:
                    own = self.folder / command[0]
                    own.mkdir(exist_ok=True)
                    shutil.copy(self.template, own)
                    subprocess.run([*command, self.folder / "scale.patch"], cwd=own, check=True, capture_output=True)
                    self.assertTrue((own / self.template.name).read_text().startswith("\ufeff" + head + "constexpr int BLOCK = 128;\n"))

    def test_one_that_is_forgotten(self):
        self.spoil(self.config, "override: {BLOCK: constexpr, ", "override: {")
        advice = "`override: {BLOCK: constexpr}` gives it its values"
        found, = self.tune("-s", "BLOCK=128", "-s", "REPEATS=2", expect=3)
        self.assertEqual(list(found["outcomes"]), ["compile_error"])
        self.assertIn(advice, found["failures"][0]["message"])
        self.assertIn(advice, self.hone("run", self.config, expect=3).stdout)

    def check_patch(self, before):
        said = self.hone("export", "scale", "--format", "patch", "-o", "scale.patch").stderr
        self.assertIn("wrote scale.patch\n  for Hone Double, n=24576: ", said)
        patch = (self.folder / "scale.patch").read_text()
        self.assertIn("--- a/scale.cu\n+++ b/scale.cu\n@@ -", patch)
        own = self.folder / "own"
        for command in ["git", "apply"], ["patch", "-p1", "--fuzz=0", "-i"]:
            shutil.rmtree(own, ignore_errors=True)
            own.mkdir()
            shutil.copy(self.template, own)
            # Lines that stand before the first change may have moved it.
            self.spoil(own / "scale.cu", before, "// more\n" + before)
            subprocess.run([*command, self.folder / "scale.patch"], cwd=own, check=True, capture_output=True)
            changed = (own / "scale.cu").read_text().removeprefix("// more\n")
        self.assertIn("\nconstexpr int BLOCK = 256\n; // threads\nnamespace own { static const unsigned ITEMS{4}, SPARE = 0; "
                      "enum kind : int { FIRST = 1, FAULT = 0, LAST }; enum { OTHER = LAST }; }\n", changed)
        self.assertIn("#define REPEATS 2 /* of nothing */\n#else\n#  define REPEATS 2\n\n#endif\n#ifdef EMPTY\n#define REPEATS 2\n#endif\n", changed)
        self.assertIn("host(const int BLOCK = 3)", changed)
        self.assertIn("template <const int ITEMS = 3> ", changed)
        self.assertEqual(len(changed.splitlines()), len(before.splitlines()))

    def check_exports(self):
        """Nothing is a macro; a file with the values in place compiles by itself."""
        header = self.hone("export", "scale").stdout
        self.assertIn("#define HONE_SCALE_BLOCK 256\n", header)
        self.assertNotRegex(header, r"#define BLOCK\b")
        self.assertIn(' *     #include "scale.cu" // with what `hone export scale --format patch` changes in it\n', header)
        self.assertTrue(self.hone("export", "scale", "-o", "scale.h").stderr.endswith(
            "it launches with these values, and scale.cu declares its own, which `hone export scale --format patch` changes\n"))
        source = self.hone("export", "scale", "--format", "source").stdout
        self.assertIn("\nconstexpr int BLOCK = 256\n", source)
        self.assertNotIn("#define BLOCK", source)

    @unittest.skipIf(NVCC is None or hone.why_no_sources(), "no nvcc, or no libclang")
    def test_the_page(self):
        """A program with `main`, as it was written: from its file to the file with the best values."""
        self.config.unlink()
        self.template.write_text(PROGRAM)
        init, tune, export, patch = pages.lines("docs/how-to.md", "A source that declares its values")
        self.hone(*init.split()[1:])
        self.assertIn("\noverride: {ITEMS: define, BLOCK: constexpr} ", self.config.read_text())
        path = {"PATH": f"{os.path.dirname(NVCC)}:{os.environ['PATH']}"}
        said = self.hone(*tune.split()[1:], "-s", "BLOCK=128,256", "-s", "ITEMS=2,4", **path)
        self.assertIn(f"\nnext: {export}\n", said.stderr)
        self.hone(*export.split()[1:])
        subprocess.run(["bash", "-c", patch], cwd=self.folder, check=True, capture_output=True)
        self.assertEqual(self.template.read_text(), PROGRAM.replace("BLOCK = 128", "BLOCK = 256").replace("ITEMS 2", "ITEMS 4"))

    def test_nothing_to_change(self):
        for old, new in (("64 *\n                      8", "128"), ("ITEMS{8}", "ITEMS{1}"), ("REPEATS 3", "REPEATS 2"), ("REPEATS \\\n    2", "REPEATS 2"), ("REPEATS\n", "REPEATS 2\n")):
            self.spoil(self.template, old, new)
        made = self.hone("export", "scale", "--format", "patch", "--defaults", "--config", self.config)
        self.assertTrue(made.stderr.endswith("hone: the patch is empty: scale.cu has these values already\n"), made.stderr)
        self.assertNotIn("@@", made.stdout)

    def test_a_value_is_part_of_the_program(self):
        """Sources of other values are other programs; other declarations are another version."""
        self.assertIn("\n  4 points: 4 ok\n", self.hone("compile", "--all", "--arch", "sm_90", self.config, "-s", "BLOCK=64,128", "-s",
                                                        "ITEMS=1,2", "-s", "REPEATS=3").stdout)
        self.hone("compile", "--arch", "sm_90", "-s", "BLOCK=64", "-s", "REPEATS=3", "--sources", "sources", self.config)
        text, = [json.loads(path.read_text())["text"] for path in (self.folder / "sources").iterdir()]
        self.assertIn("#line 1\n", text)
        self.assertIn("\nconstexpr int BLOCK = 64\n; // threads\n", text)
        self.assertIn("#  define REPEATS 3\n\n#endif", text)

    def test_mistakes(self):
        for old, new, message in (
                ("REPEATS: define", "REPEATS: macro", f"{self.config}:13:75: found 'macro', expected one of constexpr, define"),
                ("REPEATS: define", "REPEAT: define", f"{self.config}:13:66: unknown parameter 'REPEAT'; nearest is 'REPEATS'"),
                ("BLOCK: constexpr", "BLOCK: define",
                 f"override: {self.template} gives 'BLOCK' a value 0 times by #define, expected once; it is a constexpr or const there: write "
                 "`constexpr`"),
                ("REPEATS: define", "REPEATS: constexpr",
                 f"override: {self.template} gives 'REPEATS' a value 0 times by constexpr or const, expected once; it is a #define "
                 "there: write `define`")):
            text = self.config.read_text()
            self.spoil(self.config, old, new)
            self.fails(2, "hone: " + message, "compile", "--arch", "sm_90", self.config)
            self.fails(2, "hone: " + message, "space", self.config)
            self.config.write_text(text)
        self.spoil(self.template, "using namespace own;", "using namespace own; namespace other { const int BLOCK = 2; }")
        self.fails(2, f"hone: override: {self.template} gives 'BLOCK' a value 2 times by constexpr or const, expected once",
                   "compile", "--arch", "sm_90", self.config)
