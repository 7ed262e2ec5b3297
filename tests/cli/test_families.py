# SPDX-License-Identifier: MIT
"""Rules of families in a cache: listed, shown, checked, imported."""

import json
import sqlite3
import unittest

import hone

EXAMPLE = hone.SOURCE / "tests/data/recording/example.json"
RULE = {
    "goal": "mean",
    "values": [{"name": "N", "low": 1, "high": 65536}],
    "features": ["N"],
    "nodes": [{"feature": 0, "threshold": 4096, "left": 1, "right": 2}, {"configuration": 0, "sure": True},
              {"configuration": 1, "sure": False}],
    "configurations": [{"PAD": 1, "TILE": 16}, {"PAD": 0, "TILE": 32}],
    "fallback": [1, 0],
    "predicted": {"mean": 0.019, "worst": 0.07, "sizes": 24},
    "measured": {"mean": 0.021, "worst": 0.09, "sizes": 40},
}


def add_row(database, table, columns, *values):
    names = ", ".join([*columns.split(), "checksum"])
    marks = ", ".join("?" * (len(values) + 1))
    return database.execute(f"INSERT INTO {table}({names}) VALUES({marks})", (*values, hone.checksum(*values))).lastrowid


def put_rule(cache, rule):
    """Beside the tuning that is there: a task without a problem, a session, and the rule."""
    with sqlite3.connect(cache) as database:
        [task] = database.execute("SELECT kernel, signature, '', regime, objective, device, capability, sm_count, mig_profile FROM task")
        [version] = database.execute("SELECT id FROM version").fetchone()
        task_id = add_row(database, "task", "kernel signature problem regime objective device capability sm_count mig_profile", *task)
        session = add_row(database, "session", "task_id version_id origin started command simulated machine source imported",
                          task_id, version, "a-family", 1770000000.0, "hone tune", 0, "node7", "", 0.0)
        add_row(database, "rule", "session_id json", session, json.dumps(rule))
    database.close()


class Families(hone.Case):
    def setUp(self):
        super().setUp()
        self.hone("cache", "import", EXAMPLE)
        put_rule(self.cache, RULE)

    def family_lines(self, *arguments):
        lines = self.hone(*arguments, COLUMNS="").stdout.splitlines()
        [start] = [i for i, line in enumerate(lines) if line.startswith("family of")]
        return lines[start:]

    LINES = [
        "family of example on NVIDIA Example, cold L2: 2 configurations for N 1 to 65536, learnt 2026-02-02",
        "  at 40 sizes that were not used: 2.1% slower than tuned for each in the mean, 9.0% at worst",
    ]

    def test_list_and_show(self):
        self.assertEqual(self.family_lines("cache", "list"), self.LINES)
        self.assertEqual(self.family_lines("cache", "show", "example"), self.LINES)
        self.assertNotIn("family of", self.hone("cache", "list", "-p", "N=4096").stdout)
        for arguments in (["list"], ["show", "example"]):
            document = json.loads(self.hone("cache", *arguments, "--json").stdout)
            [family] = document["families"]
            self.assertEqual(family["rule"], json.loads(json.dumps(RULE).replace('1, "high": 65536', '1.0, "high": 65536.0')))
            self.assertEqual((family["learnt"], family["origin"]["machine"]), (1770000000, "node7"))
            self.assertEqual(len(document["tunings"]), 1)

    def test_report(self):
        page = self.folder / "report.html"
        self.hone("report", "example", "-o", page)
        self.assertIn("2 configurations for N 1 to 65536; at 40 sizes that were not used: 2.1% slower", page.read_text())

    def test_check_and_import(self):
        self.assertIn("is whole", self.hone("cache", "check").stdout)
        first, self.cache = self.cache, self.folder / "other.db"
        self.assertIn("with the rules of families", self.hone("cache", "import", first).stdout)
        self.assertEqual(self.family_lines("cache", "list"), self.LINES)
        with sqlite3.connect(first) as database:
            database.execute("UPDATE rule SET json = replace(json, '\"right\": 2', '\"right\": 0')")
        database.close()
        self.cache = first
        self.assertIn("not what was written: the rule of session 2", self.hone("cache", "check", expect=1).stdout)

    def test_a_cache_of_the_format_before(self):
        with sqlite3.connect(self.cache) as database:
            database.execute("DROP TABLE rule")
            database.execute("PRAGMA user_version = 4")
        database.close()
        self.assertNotIn("family of", self.hone("cache", "list").stdout)
        first, self.cache = self.cache, self.folder / "other.db"
        self.hone("cache", "import", first)
        self.assertIn("example", self.hone("cache", "list").stdout)


if __name__ == "__main__":
    unittest.main()
