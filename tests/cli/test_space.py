# SPDX-License-Identifier: MIT
"""`hone space`: counting, listing and sampling the valid points."""

import json
import unittest

import hone

SPACES = hone.SOURCE / "tests" / "data" / "config" / "good"


class Space(hone.Case):
    def lines(self, *arguments):
        return self.hone("space", *arguments).stdout.splitlines()

    def test_count(self):
        self.assertEqual(self.lines(SPACES / "space.yaml", "--count"), ["8"])

    def test_count_of_each_problem(self):
        self.assertEqual(self.lines(SPACES / "problem_list.yaml", "--count"),
                         ["4\tKIND=tall,M=64", "1\tKIND=wide,M=32"])

    def test_summary(self):
        lines = self.lines(SPACES / "space.yaml")
        self.assertEqual(lines[0], "product: 3 parameters, 1 constraints")
        self.assertEqual(lines[1].split(), ["TILE", "3", "8,", "16,", "32"])
        self.assertRegex(lines[4], r"^8 valid points of 9 \(88\.9%\), built in [0-9.]+ ms$")

    def test_list_in_declared_order(self):
        self.assertEqual(self.lines(SPACES / "space.yaml", "--list", "4"),
                         ["PAD=0,TILE=8,UNROLL=1", "PAD=0,TILE=8,UNROLL=2",
                          "PAD=0,TILE=16,UNROLL=1", "PAD=0,TILE=16,UNROLL=2"])
        self.assertEqual(len(self.lines(SPACES / "space.yaml", "--list", "all")), 8)

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

    def test_problem_given(self):
        self.assertEqual(self.lines(SPACES / "problem_list.yaml", "--count", "-p", "M=64", "-p", "KIND=wide"), ["2"])

    def test_empty(self):
        self.fails(3, f"hone: {SPACES}/space.yaml:8:5: no point is valid: the constraint 'TILE % (4 * UNROLL) == 0' "
                   "rejects most, 1 of 1 combinations", "space", SPACES / "space.yaml", "-s", "TILE=8,UNROLL=4")

    def test_json(self):
        document = json.loads(self.hone("space", SPACES / "space.yaml", "--json", "--list", "1").stdout)
        self.assertEqual(document["kernel"], "product")
        self.assertEqual(document["parameters"][0], {"name": "TILE", "values": [8, 16, 32]})
        problem = document["problems"][0]
        self.assertEqual((problem["valid"], problem["cartesian"], problem["problem"]), (8, 9, {}))
        self.assertEqual(problem["points"], [{"PAD": 0, "TILE": 8, "UNROLL": 1}])


if __name__ == "__main__":
    unittest.main()
