# SPDX-License-Identifier: MIT
"""What a plan passes is compared with what the kernels declare, before anything is launched."""

import json
import re

import double

MISSING = ("kernel 'scale' takes 4 parameters of 8, 8, 4, 4 bytes, the plan passes 3: x, y, a; give it one argument for each "
           "parameter, in the kernel's order")
WIDE = ("argument 'n' is int64 (8 bytes); parameter 4 of kernel 'scale' has 4 bytes; expected arguments in the kernel's "
        "order, of the types that it declares")


class Signature(double.Case):
    def change(self, old, new, name="scale.yaml"):
        self.spoil(self.folder / name, old, new)

    def compile_failure(self, config, expect=3):
        """Of the only point, or of the first that fails."""
        result = self.hone("compile", "--arch", "sm_90", config, expect=expect)
        _, found, message = result.stdout.partition("first failure: ")
        self.assertTrue(found, result.stdout)
        return message.rstrip("\n")

    def tune_fails(self, message):
        result = self.hone("tune", self.config, "--quiet", expect=2)
        self.assertEqual(result.stderr, f"hone: {message}\n")
        self.assertRegex(result.stdout, r"\(0 of (24|so far uncounted) points\)")

    def without_reference(self):
        self.change('reference: {template: scale_reference.cu, entry: scale_reference, block: 256, grid: "ceil_div(n, 256)"}',
                    "reference: none")

    def test_an_argument_is_missing(self):
        self.change("  - {name: n, type: int32, value: n}\n", "")
        self.assertEqual(self.compile_failure(self.config), MISSING)
        reference = MISSING.replace("'scale'", "'scale_reference'")
        result = self.hone("tune", self.config, "--quiet", expect=2)  # both are wrong: whichever is compiled first is told
        self.assertIn(result.stderr, (f"hone: the reference failed: {reference}\n", f"hone: {self.config}: {MISSING} (at the default point)\n"))
        self.without_reference()
        self.tune_fails(f"{self.config}: {MISSING} (at the default point)")
        result = self.hone("run", self.config, expect=3)
        self.assertIn(f"invalid_launch: {MISSING}\n", result.stdout)

    def test_there_is_one_too_many(self):
        self.change("  - {name: n, type: int32, value: n}\n", "  - {name: n, type: int32, value: n}\n"
                    "  - {name: m, type: int32, value: 1}\n")
        self.assertIn("takes 4 parameters of 8, 8, 4, 4 bytes, the plan passes 5: x, y, a, n, m;",
                      self.compile_failure(self.config))

    def test_a_type_has_another_size(self):
        self.change("{name: n, type: int32, value: n}", "{name: n, type: int64, value: n}")
        self.assertEqual(self.compile_failure(self.config), WIDE)
        self.without_reference()
        self.tune_fails(f"{self.config}: {WIDE} (at the default point)")

    def test_a_buffer_stands_for_a_number(self):
        self.change('grid: "ceil_div(n, BLOCK * ITEMS)"', 'grid: "ceil_div(n, BLOCK * ITEMS)"\n  arguments: [x, a, y, n]')
        self.assertIn("argument 'a' is float32 (4 bytes); parameter 2 of kernel 'scale' has 8 bytes;",
                      self.compile_failure(self.config))
        self.change("[x, a, y, n]", "[x, y, x, n]")
        self.assertIn("argument 'x' is a buffer, passed as its address (8 bytes); parameter 3 of kernel 'scale' has 4 bytes;",
                      self.compile_failure(self.config))

    def test_one_that_is_not_used_is_declared(self):
        self.change("const float *x, float *y, float a, int n)", "const float *x, float *y, float a, int n, double unused)",
                    "scale.cu")
        self.assertIn("takes 5 parameters of 8, 8, 4, 4, 8 bytes, the plan passes 4:", self.compile_failure(self.config))

    def test_each_step_has_its_own(self):
        config = self.folder / "composite.yaml"
        self.change("arguments: [partial, sum, blocks]", "arguments: [partial, sum]", config.name)
        self.assertIn("kernel 'sum_partial' takes 3 parameters of 8, 8, 4 bytes, the plan passes 2: partial, sum;",
                      self.compile_failure(config))
        result = self.hone("tune", config, "--quiet", "-s", "FINISH=last_block")
        self.assertNotIn("sum_partial", result.stdout)

    def test_only_some_points_declare_another(self):
        """The others are measured."""
        self.change("float a, int n)\n", "float a, int n\n#if ITEMS == 8\n, int more\n#endif\n)\n", "scale.cu")
        tuning, = self.tune("-s", "BLOCK=128", "-s", "ITEMS=1,8", "--events", self.events)
        self.assertEqual(tuning["best"]["point"]["ITEMS"], 1)
        refused = [record for record in self.read_events() if record["outcome"] == "invalid_launch"]
        self.assertEqual([record["point"]["ITEMS"] for record in refused], [8])
        self.assertIn("kernel 'scale' takes 5 parameters of 8, 8, 4, 4, 4 bytes, the plan passes 4: x, y, a, n;",
                      refused[0]["message"])

    def test_a_structure_has_another_size(self):
        config = self.folder / "inputs.yaml"
        self.change("{name: weights, type: int32, count: 8,", "{name: weights, type: int32, count: 7,", config.name)
        self.assertIn("argument 'by_value' is the contents of 'weights' (28 bytes); parameter 4 of kernel 'inputs' has 32 "
                      "bytes;", self.compile_failure(config))

    def test_a_large_structure_has_another_size(self):
        """Beyond 4 KiB of parameters the cubin tells their sizes in another way."""
        self.write("large.cu", "struct large { int word[2000]; };\nextern \"C\" __global__ void large(large values, int *y)\n"
                   "{\n    y[threadIdx.x] = values.word[threadIdx.x];\n}\n")
        config = self.write("large.yaml", "hone: 1\nkernel: large\ntemplate: large.cu\nentry: large\nparameters: {B: [32]}\n"
                            "arguments:\n  - {name: table, type: int32, count: 2000}\n  - {name: values, from: table}\n"
                            "  - {name: y, type: int32, count: B, role: output}\n"
                            "launch: {block: B, grid: 1, arguments: [values, y]}\nreference: none\n")
        self.spoil(config, "count: B,", "count: 32,")
        self.hone("compile", "--arch", "sm_90", config)
        self.spoil(config, "count: 2000", "count: 2001")
        self.assertIn("argument 'values' is the contents of 'table' (8004 bytes); parameter 1 of kernel 'large' has 8000 bytes;",
                      self.compile_failure(config))

    def test_a_texture_is_passed_as_its_handle(self):
        config = self.folder / "field.yaml"
        self.hone("compile", "--arch", "sm_90", config)
        self.change("cudaTextureObject_t line, cudaTextureObject_t plane", "int line, cudaTextureObject_t plane", "field.cu")
        self.change("PATH: [global, texture_1d, texture_2d]", "PATH: [global]", config.name)
        self.change("#if PATH == PATH_texture_1d", "#if 0", "field.cu")
        self.assertIn("argument 'line' is a texture object (8 bytes); parameter 2 of kernel 'field' has 4 bytes;",
                      self.compile_failure(config))

    def refused(self, message):
        """By all that reads the kernel: as an error of the config, where the default point has to run."""
        self.assertEqual(self.compile_failure(self.config), message)
        self.assertIn(f"invalid_launch: {message}\n", self.hone("run", self.config, expect=3).stdout)
        self.spoil(self.config, "\nreference: ", "\n# reference: ")
        for command in ("space", "tune", "run"):
            result = self.hone(command, self.config, "--quiet", expect=2)
            self.assertEqual(result.stderr, f"hone: {self.config}: {message} (at the default point)\n")

    def test_an_output_that_can_not_be_written(self):
        self.change("float *y, float a, int n)", "const float *y, float a, int n)", "scale.cu")
        self.change("y[i] = a *", "const_cast<float *>(y)[i] = a *", "scale.cu")
        self.refused("argument 'y' is float32, an output; parameter 2 of kernel 'scale' is 'const float *', which it cannot "
                     "write to")

    def test_another_kind_of_number_of_the_same_size(self):
        self.change("float a, int n)", "float a, float n)", "scale.cu")
        self.refused("argument 'n' is int32; parameter 4 of kernel 'scale' is 'float', which is another kind of number")

    def test_elements_of_another_size(self):
        self.change("const float *x, float *y", "const double *x, float *y", "scale.cu")
        self.refused("argument 'x' is float32; parameter 1 of kernel 'scale' is 'const double *', whose elements have another "
                     "size")

    def test_the_reference_has_elements_of_another_size(self):
        self.change("const float *x", "const double *x", "scale_reference.cu")
        for command in ("space", "compile", "tune", "run"):
            result = self.hone(command, self.config, expect=2)
            self.assertEqual((result.stdout, result.stderr), ("", "hone: argument 'x' is float32; parameter 1 of the reference's kernel "
                             "'scale_reference' is 'const double *', whose elements have another size\n"))

    def test_a_missing_argument_is_told_by_space(self):
        self.change("  - {name: n, type: int32, value: n}\n", "")
        result = self.hone("space", self.config, expect=2)
        self.assertEqual(result.stderr, f"hone: {self.config}: {MISSING} (at the default point)\n")
        self.assertEqual(self.hone("space", self.config, HONE_NVRTC="/nowhere").stderr, "")

    def test_what_the_text_does_not_decide_is_not_judged(self):
        """Parameters behind conditions, types by names of the source's own, and outputs that a later step reads."""
        self.change("const float *x, float *y, float a, int n)",
                    "const float *x,\n#if BLOCK == 1\nconst float *y,\n#else\nfloat *y,\n#endif\nfloat a, int n)", "scale.cu")
        self.hone("compile", "--arch", "sm_90", self.config)
        self.change("#ifndef BLOCK", "typedef int number;\n#ifndef BLOCK", "scale.cu")
        self.change("float a, int n)", "float a, number n)", "scale.cu")
        self.hone("compile", "--arch", "sm_90", self.config)


BY_THREE = [(block, 3) for block in (32, 64, 128, 256, 512, 1024)]


class NoLaunch(double.Case):
    """An expression without a value is its point's invalid launch, and ends no run."""

    def setUp(self):
        super().setUp()
        # 32768 / (3 * 64) is no whole number.
        self.spoil(self.config, "n: 24576", "n: 32768")
        self.spoil(self.config, "ITEMS: [1, 2, 4, 8]", "ITEMS: [1, 2, 3]")

    def check(self, old, new, column, message, *points):
        """By all commands, where `old` of the config is `new`: it has that message, a pattern, at those points."""
        self.spoil(self.config, old, new)
        line = self.config.read_text().partition(new)[0].count("\n") + 1
        message = f"{re.escape(str(self.config))}:{line}:{column}: {message}"
        summary = self.hone("space", self.config).stdout.splitlines()[-1]
        self.assertRegex(summary, f"^no launch: {len(points)} of 18 points, as BLOCK=32,FAULT=0,ITEMS={points[0][1]}: {message}$")
        launches = json.loads(self.hone("space", self.config, "--json").stdout)["problems"][0]["launches"]
        self.assertEqual((launches["tried"], launches["refused"]), (18, len(points)))
        compiled = json.loads(self.hone("compile", "--arch", "sm_90", "--all", self.config, "--json").stdout)
        for refused in [row for row in compiled if row["outcome"] == "invalid_launch"]:
            self.assertRegex(refused["message"], f"^{message}$")
        self.assertEqual(sum(row["outcome"] == "ok" for row in compiled), 18 - len(points))
        tuning, = self.tune("--full", "--events", self.events)
        self.assertEqual(tuning["best"]["outcome"], "ok")
        refused = [record for record in self.read_events() if record["outcome"] == "invalid_launch"]
        self.assertEqual(sorted((record["point"]["BLOCK"], record["point"]["ITEMS"]) for record in refused), sorted(points))
        for record in refused:
            self.assertRegex(record["message"], f"^{message}$")
        given = f"BLOCK={points[0][0]}", f"ITEMS={points[0][1]}"
        result = self.hone("run", self.config, "-s", given[0], "-s", given[1], expect=3)
        self.assertRegex(result.stdout, f"invalid_launch: {message}\n")
        result = self.hone("tune", self.config, "-s", given[0], "-s", given[1], expect=3)
        self.assertIn("1 invalid_launch", result.stdout)

    def test_of_all_points(self):
        self.spoil(self.config, "{name: y, type: float32, count: n,", "{name: y, type: float32, count: n / 2,")
        why = r"no valid point can be launched, as BLOCK=32,FAULT=0,ITEMS=1: .*: 'n / 2' gives 2048\.5, expected an integer: "
        result = self.hone("space", self.config, "-p", "n=4097", expect=3)
        self.assertRegex(result.stderr, f"^hone: {why}")
        self.assertEqual(result.stdout, "")
        error = json.loads(self.hone("space", self.config, "-p", "n=4097", "--json", expect=3).stdout)["error"]
        self.assertRegex(error["message"], f"^{why}")
        self.assertEqual(self.hone("space", self.config, "-p", "n=4097", "--count").stdout, "18\n")

    def test_of_a_grid(self):
        self.check("ceil_div(n, BLOCK * ITEMS)", "n / (BLOCK * ITEMS)", 9,
                   r"'n / \(BLOCK \* ITEMS\)' gives [0-9.]+, expected an integer: // rounds down, ceil_div up", *BY_THREE)

    def test_of_shared_memory(self):
        self.check("  block: BLOCK", "  shared_bytes: 64 // (3 - ITEMS)\n  block: BLOCK", 17,
                   r"'64 // \(3 - ITEMS\)', column 4: 64 // 0: division by zero", *BY_THREE)

    def test_of_a_count(self):
        self.spoil(self.folder / "scale.cu", "float a, int n)", "float a, signed char *, int n)")
        self.spoil(self.config, re.search("reference: {.*}", self.config.read_text())[0], "reference: none")
        self.check("  - {name: n, type: int32, value: n}\n",
                   "  - {name: z, type: int8, count: 8 // (3 - ITEMS), role: scratch}\n  - {name: n, type: int32, value: n}\n", 34,
                   r"'8 // \(3 - ITEMS\)', column 3: 8 // 0: division by zero", *BY_THREE)

    def test_of_an_option(self):
        self.check("launch:", "compile: {options: [\"-maxrregcount={64 // (3 - ITEMS) * 2}\"]}\nlaunch:", 21,
                   r"'64 // \(3 - ITEMS\) \* 2', column 4: 64 // 0: division by zero", *BY_THREE)
