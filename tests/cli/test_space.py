# SPDX-License-Identifier: MIT
"""`hone space`: counting, listing and sampling the valid points."""

import json
import re
import shutil
import subprocess
import sys

import hone
import terminal

SPACES = hone.TEST_DATA / "config" / "good"


class Space(hone.Case):
    def lines(self, *arguments):
        return self.hone("space", *arguments).stdout.splitlines()

    def test_count(self):
        self.assertEqual(self.lines(SPACES / "space.yaml", "--count"), ["8"])

    def test_count_of_each_problem(self):
        self.assertEqual(self.lines(SPACES / "problem_list.yaml", "--count"),
                         ["4\tKIND=tall,M=64", "1\tKIND=wide,M=32"])

    def test_a_terminal_sees_which_problem_is_counted(self):
        screen = terminal.Terminal([hone.HONE, "space", str(SPACES / "problem_list.yaml"), "--count"], cwd=self.folder)
        self.addCleanup(screen.close)
        screen.read()
        for said in "problem 1 of 2", "problem 2 of 2":
            self.assertIn(said, screen.output)
        self.assertEqual([line for line in screen.screen.lines() if line][-2:], ["4\tKIND=tall,M=64", "1\tKIND=wide,M=32"])

    def test_one_point_is_one_point(self):
        last = self.lines(SPACES / "space.yaml", "-s", "TILE=16", "-s", "UNROLL=1", "-s", "PAD=0")[-1]
        self.assertRegex(last, r"^1 valid point of 1 ")

    def test_summary(self):
        lines = self.lines(SPACES / "space.yaml")
        self.assertEqual(lines[0], "product: 3 parameters, 1 constraint")
        self.assertEqual(lines[2].split(), ["TILE", "3", "8,", "16,", "32"])
        self.assertRegex(lines[5], r"^8 valid points of 9 \(88\.9%\), built in [0-9.]+ ms$")

    def test_list_in_declared_order(self):
        self.assertEqual(self.lines(SPACES / "space.yaml", "--list", "4"),
                         ["PAD=0,TILE=8,UNROLL=1", "PAD=0,TILE=8,UNROLL=2",
                          "PAD=0,TILE=16,UNROLL=1", "PAD=0,TILE=16,UNROLL=2"])
        self.assertEqual(len(self.lines(SPACES / "space.yaml", "--list", "all")), 8)
        self.misused("--list: found 'space.yaml', expected a whole number from 0 or all", "space", "--list", "space.yaml")

    def test_sample(self):
        points = self.lines(SPACES / "space.yaml", "--list", "all")
        sample = self.lines(SPACES / "space.yaml", "--sample", "3")
        self.assertEqual(len(set(sample)), 3)
        self.assertTrue(set(sample) <= set(points))
        self.assertEqual(self.lines(SPACES / "space.yaml", "--sample", "3"), sample)
        seeds = {tuple(self.lines(SPACES / "space.yaml", "--sample", "3", "--seed", seed)) for seed in range(8)}
        self.assertGreater(len(seeds), 1)
        self.assertEqual(sorted(self.lines(SPACES / "space.yaml", "--sample", "100")), sorted(points))

    def test_restricted(self):
        self.assertEqual(self.lines(SPACES / "space.yaml", "--count", "-s", "TILE=16,32"), ["6"])
        self.assertEqual(self.lines(SPACES / "space.yaml", "--count", "-s", "TILE=16,UNROLL=2"), ["1"])

    def test_limits_of_a_device(self):
        """They are the device's, or given; without either it is said where."""
        config = self.write("persistent.yaml", "kernel: k\nproblem: {n: [64, 128]}\nparameters:\n"
                            "  BLOCKS: [sm_count, 2 * sm_count]\n  SIZE: {powers_of_two: [512, max_threads]}\n")
        given = self.hone("space", config, "--list", "all", "-p", "sm_count=7", "-p", "max_threads=512", "-p", "n=64").stdout
        self.assertEqual(given, "BLOCKS=7,SIZE=512\nBLOCKS=14,SIZE=512\n")
        missing = self.hone("space", config, "-p", "sm_count=7", expect=2, LD_LIBRARY_PATH="").stderr
        self.assertRegex(missing, r"persistent\.yaml:5:31: 'max_threads' is the device's, which is not known here: .*; give it by -p "
                         r"max_threads=1024, which is what an H200 has")

    def test_problem_given(self):
        self.assertEqual(self.lines(SPACES / "problem_list.yaml", "--count", "-p", "M=64", "-p", "KIND=wide"), ["2"])

    def test_values_may_follow_from_the_problem(self):
        def points(blocks, tiles, steps):
            return [f"BLOCKS={block},STEP={step},TILE={tile}" for block in blocks for tile in tiles for step in steps]
        config = SPACES / "computed.yaml"
        self.assertEqual(self.lines(config, "--list", "all"), ["# LEAST=8,N=64", *points([4, 7], [8, 16], [1, 3]),
                                                               "# LEAST=8,N=32", *points([2, 7], [8], [1, 3])])
        self.assertEqual(self.lines(config, "--list", "all", "-p", "N=16", "-p", "LEAST=4"), points([1, 7], [4], [1, 2]))
        # The lists hold what any problem allows.
        document = json.loads(self.hone("space", config, "--json").stdout)
        self.assertEqual([parameter["values"] for parameter in document["parameters"]][:2], [[2, 4, 7], [8, 16]])

    def test_wrong_assignments_say_what_is_there(self):
        for option, assignment, message in (
                ("-p", "K=4", "-p: there is no problem value 'K'; there are M, N, SCALE, PATTERN"),
                ("-p", "N=1e3", "-p N: found a number, expected an integer in digits as in the config"),
                ("-p", "N=big", "-p N: found a word, expected an integer in digits as in the config"),
                ("-p", "PATTERN=M", "-p PATTERN: 'M' is a name in the config, expected a word"),
                ("-s", "TILE", "-s: found 'TILE', expected NAME=VALUE,..."),
                ("-s", "TILE=", "-s TILE: found '', expected one of 8, 16, 32"),
                ("-s", "TILE=8,24", "-s TILE: found '24', expected one of 8, 16, 32"),
                ("-s", "TILE=8,TILE=16", "-s TILE: found '16', expected one of 8, which it was restricted to before"),
                ("-s", "TILES=8", "-s: there is no parameter 'TILES'; nearest is 'TILE'"),
                ("-s", "N=64", "-s: 'N' is a problem value; set it with -p N=64")):
            self.fails(2, f"hone: {message}", "space", SPACES / "full.yaml", option, assignment)

    def test_an_integer_for_a_real_number(self):
        """1 / 2 is not 1 / 2.0 where the template sees the value."""
        text = "kernel: k\nproblem: {S: [0.5, VALUES]}\nparameters: {A: [1]}\n"
        for values, given, expected in (("1.5", "2", "2.0"), ("1.5", "1.5", "1.5"), ("3", "2", "2"), ("3", "2.5", "2.5")):
            config = self.write("k.yaml", text.replace("VALUES", values))
            self.assertIn(f'"S": {expected}\n', self.hone("space", config, "--json", "-p", f"S={given}").stdout)

    def test_empty(self):
        self.fails(3, f"hone: {SPACES}/space.yaml:8:5: no point is valid: the constraint 'TILE % (4 * UNROLL) == 0' "
                   "rejects most, 1 of 1 combinations", "space", SPACES / "space.yaml", "-s", "TILE=8,UNROLL=4")

    def large(self):
        """Twelve parameters of which each divides the next or the other way round: 662,878,300 points."""
        path = self.folder / "chain.yaml"
        path.write_text("kernel: chain\nparameters:\n" +
                        "".join(f"  P{i}: {{range: [1, 10]}}\n" for i in range(12)) + "constraints:\n" +
                        "".join(f"  - P{i} % P{i + 1} == 0 or P{i + 1} % P{i} == 0\n" for i in range(11)))
        return path

    def test_a_range_may_reach_over_all_integers(self):
        """The steps from its beginning to its end are beyond 64 bits, its values are not."""
        config = self.write("wide.yaml", "hone: 1\nkernel: k\nparameters:\n"
                            "  P: {range: [-9223372036854775808, 9223372036854775807], step: 4611686018427387904}\n")
        self.assertEqual(self.hone("space", config, "--list=all").stdout.split(),
                         [f"P={-2**63 + i * 2**62}" for i in range(4)])

    def test_too_many_to_be_numbered(self):
        path = self.large()
        self.assertEqual(self.lines(path, "--count"), ["662878300"])
        self.assertRegex(self.lines(path)[-1], r"^662878300 valid points of 1000000000000 \(0\.0663%\), "
                         r"too many to be numbered; counted in [0-9.]+ ms$")
        self.fails(2, "hone: 662878300 points are valid, too many to be listed: restrict parameters with -s, or draw "
                   "some with --sample N", "space", path, "--list", "3")
        sample = self.lines(path, "--sample", "20")
        self.assertEqual(len(set(sample)), 20)
        self.assertEqual(self.lines(path, "--sample", "20"), sample)
        for line in sample:
            point = {name: int(value) for name, value in (pair.split("=") for pair in line.split(","))}
            self.assertTrue(all(point[f"P{i}"] % point[f"P{i + 1}"] == 0 or point[f"P{i + 1}"] % point[f"P{i}"] == 0
                                for i in range(11)), line)
        problem = json.loads(self.hone("space", path, "--json").stdout)["problems"][0]
        self.assertEqual((problem["valid"], problem["numbered"], problem["estimated"]), (662878300, False, False))
        self.assertIsInstance(problem["valid"], int)
        self.assertEqual(self.lines(path, "--count", "-s", "P0=7", "-s", "P1=7"), ["5804546"])

    def test_generated_spaces_have_their_counts(self):
        generate = hone.SOURCE / "bench" / "space" / "generate.py"
        for shape, limit in ("products", "300"), ("tiles", "1200"):
            path = self.folder / f"{shape}.yaml"
            text = subprocess.run([sys.executable, "-B", generate, shape, "--limit", limit], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            path.write_text(text)
            self.assertEqual(self.lines(path, "--count"), re.findall(r"points before the constraints, (\d+) after", text))

    def test_published_spaces_have_their_counts(self):
        for name, combinations, points in (("dedispersion", 22272, 11130), ("gemm", 663552, 116928), ("hotspot", 22200000, 349853),
                                           ("atf_prl_4x4", 9437184, 10800)):
            problem = json.loads(self.hone("space", hone.TEST_DATA / "spaces" / f"{name}.yaml", "--json").stdout)["problems"][0]
            self.assertEqual((problem["cartesian"], problem["valid"], problem["numbered"]), (combinations, points, True), name)

    def test_json(self):
        document = json.loads(self.hone("space", SPACES / "space.yaml", "--json", "--list", "1").stdout)
        self.assertEqual(document["kernel"], "product")
        self.assertEqual(document["parameters"][0], {"name": "TILE", "values": [8, 16, 32]})
        problem = document["problems"][0]
        self.assertEqual((problem["valid"], problem["cartesian"], problem["problem"]), (8, 9, {}))
        self.assertIsInstance(problem["cartesian"], int)
        self.assertEqual(problem["points"], [{"PAD": 0, "TILE": 8, "UNROLL": 1}])


class Sources(hone.Case):
    """What the config names has to be there."""

    def setUp(self):
        super().setUp()
        self.config = self.copy_config()
        self.template = self.folder / "saxpy.cu"

    def refused(self, message):
        self.fails(2, "hone: " + message, "space", self.config, "--count")

    def test_a_template_that_is_missing(self):
        self.template.unlink()
        self.refused(f"{self.config}: template {self.template} cannot be read: No such file or directory")

    def test_an_include_that_is_missing(self):
        self.template.write_text('#include "parts.cuh"\n' + self.template.read_text())
        self.assertIn("parts.cuh", self.hone("space", self.config, expect=2).stderr)

    def test_an_entry_that_is_not_in_the_source(self):
        self.spoil(self.config, "entry: saxpy", "entry: \"mine::axpy<BLOCK>\"")
        self.refused(f"{self.config}: entry 'mine::axpy<BLOCK>': neither '{self.template}' nor what it includes with quotes "
                     "has the name 'axpy'; expected the name of a kernel there")
        self.write("kernels.cuh", "namespace mine { template <int N> __global__ void axpy(float, const float *, float *, int) {} }")
        self.template.write_text('#include "kernels.cuh"\n' + self.template.read_text())
        self.hone("space", self.config)

    def test_a_name_that_is_pasted_together(self):
        self.spoil(self.config, "entry: saxpy", "entry: kernel_f32")
        self.spoil(self.template, "saxpy(", "KERNEL(f32)(")
        self.template.write_text("#define KERNEL(type) kernel_##type\n" + self.template.read_text())
        self.hone("space", self.config)

    def test_a_data_file_that_is_missing(self):
        self.spoil(self.config, 'fill: "uniform(-1, 1)"}', "file: x.bin}")
        self.assertIn("argument 'x': data file", self.hone("space", self.config, expect=2).stderr)

    def test_the_entry_of_the_reference(self):
        shutil.copy(self.template, self.folder / "reference.cu")
        self.config.write_text(self.config.read_text() +
                               "reference: {template: reference.cu, entry: other, block: 128, grid: 1}\n")
        self.assertIn("has the name 'other'", self.hone("space", self.config, expect=2).stderr)
