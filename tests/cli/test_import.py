# SPDX-License-Identifier: MIT
"""hone init PROBLEM.json: a config from what another tuner was told."""

import json
import re
import shutil

import hone

PROBLEMS = hone.SOURCE / "tests/data/import"


class Import(hone.Case):
    def setUp(self):
        super().setUp()
        for path in PROBLEMS.iterdir():
            shutil.copy(path, self.folder)

    def config_of(self, change):
        """The config of rows.json with something changed."""
        document = json.loads((PROBLEMS / "rows.json").read_text())
        change(document)
        path = self.write("changed.json", json.dumps(document))
        result = self.hone("init", path, "-o", self.folder / "changed.yaml")
        return (self.folder / "changed.yaml").read_text(), result.stderr

    def test_a_problem_whose_source_is_there(self):
        result = self.hone("init", "rows.json")
        self.assertEqual(result.stdout, "wrote scale_rows.yaml\nnext: look at its lines marked TODO, then `hone space scale_rows.yaml`\n")
        self.assertEqual(result.stderr, "")
        text = (self.folder / "scale_rows.yaml").read_text()
        for line in ("template: rows.cu\n", 'entry: "&scale_rows"\n',
                     "problem: {PROBLEM_X: 4096, PROBLEM_Y: 512, columns: 4096}\n",
                     "  block_size_x: [32, 64, 128, 256, 512, 1024, 2048]\n", "  tile: [1, 2, 3, 4, 8]\n",
                     "defaults: {block_size_x: 128, tile: 2}\n", "  - block_size_x * tile <= 2048\n",
                     "  - block_size_x <= 1024\n",
                     "  - {name: out, type: float32, count: PROBLEM_X * PROBLEM_Y, role: output}\n",
                     '  - {name: in, type: float32, count: PROBLEM_X * PROBLEM_Y, fill: "uniform(0, 2.0)"}\n',
                     '  - {name: argument_3, type: float32, count: 1}  # TODO: how many elements? The file says: 32 * max(tile)\n',
                     "  - {name: columns, type: int32, value: columns}\n", "  - {name: weights, from: argument_3}\n",
                     '  grid: ["ceil_div(PROBLEM_X, block_size_x * tile)", PROBLEM_Y]\n',
                     "# TODO: the file's compiler option -arch=sm_70 (", "# TODO: the file's compiler option -Xcompiler=-fPIC (",
                     '    - "-std=c++17"\n', '    - "-Dkernel_tuner=1"\n'):
            self.assertIn(line, text)
        self.assertEqual(self.hone("space", "--count", "scale_rows.yaml").stdout.strip(), "26")
        compiled = self.hone("compile", "--all", "scale_rows.yaml", "--arch", "sm_90", "--json")
        self.assertEqual(compiled.stdout.count('"ok"'), 26)

    def test_sizes_of_blocks_that_are_no_parameters(self):
        source = self.folder / "rows.cu"
        source.write_text(source.read_text() + "__device__ int block_rows() { return block_size_y; }\n")
        self.hone("init", "rows.json")
        self.assertIn('    - "-Dblock_size_y={1}"\n', (self.folder / "scale_rows.yaml").read_text())
        self.hone("compile", "scale_rows.yaml", "--arch", "sm_90")

    def test_what_it_can_not_say_is_left_to_do(self):
        self.hone("init", "threads.json")
        text = (self.folder / "threads.yaml").read_text()
        for line in ("# TODO: the kernel has to be CUDA. The file says: OpenCL\n", "template: nowhere.cl  # TODO: it is not there\n",
                     'entry: threads<float>\n', "  WAY: [plain, ldg]  # TODO: the source gets a number for a word",
                     "  FAST: [true, false]\n", "# TODO: odd: found '-O3', expected a word", "# TODO: numbers: found 'numpy.arange(4)'",
                     "# TODO: which point to begin with? The file's defaults lack or break WAY\n# defaults: {SIZE: 64, FAST: true}\n",
                     "  - \"SIZE >= 64 and WAY != 'ldg' or FAST\"\n", "# TODO: SIZE <= max_threads  (unknown name 'max_threads'",
                     '{name: data, type: float64x2, count: 1024, role: inout, file: data.bin}\n',
                     "count: 1, fill: constant(0)}  # TODO: how many elements? The file says: SIZE\n",
                     "  - {name: argument_3, type: uint32, value: 1}  # TODO: which value?\n",
                     "  - {name: table, type: int32, count: 16, fill: constant(7)}\n",
                     "# TODO: what data should be (`reference`, docs/config.md). The file says: right.bin\n"
                     "# compare: {absolute: 0.001}\n",
                     '  grid: ["ceil_div(elements, SIZE)"]\n  shared_bytes: 1024\n'):
            self.assertIn(line, text)
        self.fails(2, f"hone: threads.yaml: template {self.folder}/nowhere.cl cannot be read: No such file or directory",
                   "space", "threads.yaml")
        (self.folder / "nowhere.cl").mkdir()
        self.fails(2, f"hone: template: cannot open '{self.folder}/nowhere.cl': Is a directory", "space", "threads.yaml")
        (self.folder / "nowhere.cl").rmdir()
        self.write("nowhere.cl", "template <class T> __global__ void threads(double2 *data) {}")
        (self.folder / "data.bin").write_bytes(bytes(1024 * 16))
        self.assertEqual(self.hone("space", "--count", "threads.yaml").stdout.strip(), "6")

    def test_a_default_that_is_written_as_a_text(self):
        def change(document):
            document["ConfigurationSpace"]["TuningParameters"][1]["Default"] = "3"
        text, _ = self.config_of(change)
        self.assertIn("defaults: {block_size_x: 128, tile: 3}\n", text)

    def test_constant_memory_that_is_no_argument(self):
        """Kernels read it by the variable's name: what the source shows counts, not the file."""
        self.spoil(self.folder / "rows.cu", "const float *ignored, ", "")
        self.hone("init", "rows.json")
        text = (self.folder / "scale_rows.yaml").read_text()
        self.assertNotIn("argument_3", text)
        self.assertIn("symbols:\n  - {name: weights, type: float32, count: 1}  # TODO: how many elements? The file says: 32 * max(tile)\n", text)
        self.hone("compile", "scale_rows.yaml", "--arch", "sm_90")

    def test_values_in_pythons_syntax(self):
        for values, expected in (("[1, 2] + list(range(8, 33, 8))", "[1, 2, 8, 16, 24, 32]"), ("(3, 1)", "[3, 1]"),
                                 ("range(5)", "[0, 1, 2, 3, 4]"), ("[16*i for i in range(1, 9)]", "[16, 32, 48, 64, 80, 96, 112, 128]"),
                                 ("[i for i in [1, 2, 3, 6] if 6 % i == 0 and i != 2]", "[1, 3, 6]"),
                                 ("[0.5, 1]", "[0.5, 1]"), ("range(8, 0, -4)", "[8, 4]"), ("[4, 4, 2]", "[4, 2]")):
            with self.subTest(values):
                def change(document):
                    document["ConfigurationSpace"]["TuningParameters"][1]["Values"] = values
                text, _ = self.config_of(change)
                self.assertIn(f"  tile: {expected}\n", text)
                (self.folder / "changed.yaml").unlink()
        for values in ("__import__('os').system('touch ran')", "[open('ran', 'w')]", "[i for i in range(10**9)]", "[" * 60000,
                       "range(0, 4, 0)", "[1 for for in in]", "[]", "[2**i for i in range(70)]", "lambda: [1]", "['a', 1]"):
            with self.subTest(values[:40]):
                def change(document):
                    document["ConfigurationSpace"]["TuningParameters"][1]["Values"] = values
                text, warning = self.config_of(change)
                self.assertIn("# TODO: tile: ", text)
                self.assertFalse((self.folder / "ran").exists())
                (self.folder / "changed.yaml").unlink()

    def test_nothing_of_a_stranger_gets_out_of_its_place(self):
        """Line ends, quotes and paths in each text: they stay comments and strings."""
        def change(document):
            kernel = document["KernelSpecification"]
            kernel["KernelName"] = "../../evil\nreference: none"
            kernel["KernelFile"] = 'rows".cu\nreference: none'
            kernel["CompilerOptions"] = ["-Xptxas=-o evil", '-DX="\nreference: none', "-I../secret"]
            kernel["LocalSize"]["X"] = "1\nreference: none"
            kernel["Arguments"][0]["Name"] = "out}\nreference: none"
            document["ConfigurationSpace"]["Conditions"].append({"Expression": "1 # \nreference: none"})
        document = json.loads((PROBLEMS / "rows.json").read_text())
        change(document)
        (self.folder / "in").mkdir()
        path = self.folder / "in" / "evil.json"
        path.write_text(json.dumps(document))
        self.hone("init", path)
        text = (self.folder / "in" / "kernel.yaml").read_text()
        self.assertNotRegex(text, r"(?m)^reference")
        self.assertEqual(sorted(found.name for found in (self.folder / "in").iterdir()), ["evil.json", "kernel.yaml"])
        self.assertIn("# TODO: the file's compiler option -Xptxas=-o evil (", text)
        self.assertIn("  - {name: argument_1, type: float32", text)

    def test_from_elsewhere(self):
        (self.folder / "configs").mkdir()
        config = self.folder / "configs" / "rows.yaml"
        self.hone("init", "rows.json", "-o", config, "-q")
        self.assertIn('template: ../rows.cu\n', config.read_text())
        self.hone("compile", config, "--arch", "sm_90")

    def test_the_page_of_migration(self):
        """Its config is one, with the points that the script has."""
        page = (hone.SOURCE / "docs/from-kernel-tuner.md").read_text()
        self.write("blur.yaml", re.search(r"^```yaml\n(.*?)^```", page, re.M | re.S).group(1))
        points = [(x, y, tile, unroll) for x in (32, 64, 128, 256) for y in (1, 2, 4) for tile in range(1, 5) for unroll in (1, 2, 4)
                  if tile % unroll == 0 and x * tile <= 512 and x * y <= 1024]
        self.assertEqual(self.hone("space", "--count", "blur.yaml").stdout.strip(), str(len(points)))
        self.hone("compile", "blur.yaml", "--arch", "sm_90")

    def test_what_is_no_problem(self):
        broken = self.write("broken.json", '{"ConfigurationSpace": ')
        self.assertIn(f"hone: {broken}:1:23: ", self.hone("init", broken, expect=1).stderr)
        cache = self.write("cache.json", '{"cache": {}}')
        self.fails(1, f"hone: {cache}: found an object without KernelSpecification; expected a T1 or CAFF problem "
                   "(results: `hone cache import`)", "init", cache)
        empty = self.write("empty.json", '{"KernelSpecification": {}, "ConfigurationSpace": []}')
        self.fails(1, f"hone: {empty}: found an object without TuningParameters in ConfigurationSpace; expected a T1 or CAFF problem "
                   "(results: `hone cache import`)", "init", empty)
        self.misused("--entry is for CUDA sources; a tuning problem names its kernel", "init", "rows.json", "--entry", "k")
