# SPDX-License-Identifier: MIT
"""A site's cache in PostgreSQL, on the driver double and a server of the test's own. HONE_KILLS raises how often tuners and the
server are killed."""

import json
import os
import pathlib
import random
import signal
import sys
import time
import unittest

import double
import postgres

KILLS = int(os.environ.get("HONE_KILLS", "2"))
WHY_NOT = postgres.why_not()

server = None


def setUpModule():
    global server
    if WHY_NOT is not None:
        print(f"SKIPPED: {WHY_NOT}", file=sys.stderr)
        raise unittest.SkipTest(WHY_NOT)
    server = postgres.Server()


def tearDownModule():
    if server is not None:
        server.stop()


class Case(double.Case):
    """A database for each test. Machines are told apart by where their copies are."""

    numbers = iter(range(1000))

    def setUp(self):
        super().setUp()
        server.wait()  # a test that failed may have left it dead
        self.database = f"site{next(self.numbers)}"
        server.query(f"CREATE DATABASE {self.database}")
        self.uri = server.uri(self.database)

    def at(self, machine):
        return {"HONE_CACHE": self.uri, "XDG_CACHE_HOME": str(self.folder / machine)}

    def hone_at(self, machine, *arguments, **settings):
        return self.hone(*arguments, **{**self.at(machine), **settings})

    def start_at(self, machine, *arguments):
        """Each point takes some 15 ms of no processor, so that there is time for what is done meanwhile."""
        return self.start(*arguments, HONE_DOUBLE_WAIT_US="1000", **self.at(machine))

    def copy_of(self, machine):
        path, = (self.folder / machine / "hone").glob("postgresql-*.db")
        return path

    def query(self, sql):
        return server.query(sql, self.database)

    def problems(self, *sizes):
        """A config of several small problems."""
        self.cheap_config(6, 4)
        text = self.config.read_text()
        self.spoil(self.config, "problem: {n: 64}", f"problem: {{n: [{', '.join(map(str, sizes))}]}}")
        self.assertNotEqual(text, self.config.read_text())

    def told(self):
        return sorted(f"{double.name(record['point'])}@{record['time']:.6f}" for record in self.read_events())

    def kept(self):
        return sorted(f"{point}@{json.loads(text)['time']:.6f}" for point, text in
                      (row.split("|", 1) for row in self.query("SELECT point, json FROM hone.record")))


class One(Case):
    def test_everybody_sees_what_anybody_found(self):
        self.cheap_config(6, 4)
        tuned = json.loads(self.hone_at("a", "tune", self.config, "--json", "--quiet").stdout)
        shown = self.uri.replace("hone@", "hone:secret@")
        again = json.loads(self.hone_at("b", "tune", self.config, "--json", "--quiet", HONE_CACHE=shown).stdout)
        self.assertEqual(again[0]["best"], tuned[0]["best"])
        self.assertEqual(again[0]["reused"], 24)
        # All of it, and no password anywhere.
        self.hone_at("b", "cache", "check")
        for machine in "ab":
            self.assertNotIn(b"secret", self.copy_of(machine).read_bytes())
        self.assertEqual(self.query("SELECT command FROM hone.session WHERE command LIKE '%secret%'"), [])
        self.assertEqual(self.query("SELECT DISTINCT finished IS NOT NULL FROM hone.claim"), ["t"])
        # Into a file, and from there into another database: as it was.
        file = self.folder / "own.db"
        self.hone_at("c", "cache", "merge", self.uri, "--images", "--cache", file)
        self.hone("export", "scale", "-o", self.folder / "scale.h", "--cache", file)
        self.database = "other_" + self.database
        server.query(f"CREATE DATABASE {self.database}")
        before = self.hone_at("c", "cache", "merge", file, "--cache", server.uri(self.database)).stdout
        self.assertIn("25 records", before)
        self.assertEqual(self.query("SELECT sum(records) FROM hone.session"), ["25"])
        self.assertEqual(self.query("SELECT count(*) FROM hone.record"), ["25"])

    def test_what_a_session_got_since_is_merged_too(self):
        self.cheap_config(6, 4)
        process = self.start_at("a", "tune", self.config, "--full", "--quiet", "--events", self.events)
        self.wait_for_events(3, process)
        while not self.query("SELECT 1 FROM hone.session WHERE records > 0"):
            time.sleep(0.02)
        file = self.folder / "own.db"
        self.hone_at("b", "cache", "merge", self.uri, "--cache", file)
        self.assertEqual(process.wait(), 0)
        self.hone_at("b", "cache", "merge", self.uri, "--cache", file)
        self.hone("cache", "check", "--cache", file)
        self.cache = file
        self.assertEqual([str(count) for count, in self.sql("SELECT count(*) FROM record")],
                         self.query("SELECT count(*) FROM hone.record"))

    def test_no_server(self):
        self.cheap_config(6, 4)
        for uri in ("postgresql://hone@/nowhere?host=/nowhere", server.uri("nowhere")):
            for command in (["tune", self.config], ["cache", "list"], ["export", "scale"]):
                error = self.hone(*command, "--cache", uri, expect=1).stderr
                self.assertRegex(error, "^hone: the cache can not be reached: postgresql://hone@/nowhere.*is the server up, and "
                                 "the URI right")
        (self.folder / "libpq.so.5").write_text("no library")
        error = self.without_libpq()
        self.assertIn("a cache in PostgreSQL needs its client library", error)
        self.assertIn("apt-get install libpq5", error)

    def without_libpq(self):
        """The first libpq that is found is none."""
        process = self.start("cache", "list", "--cache", self.uri, LD_LIBRARY_PATH=str(self.folder))
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        return errors

    def test_what_is_damaged_is_left_out(self):
        self.cheap_config(6, 4)
        self.hone_at("a", "tune", self.config, "--quiet")
        self.query("UPDATE hone.record SET json = replace(json, 'ok', 'OK') WHERE position = 3")
        result = self.hone_at("b", "cache", "list")
        self.assertIn("the cache's server has 1 session that can not be used: session", result.stderr)
        self.assertIn("a record is not what was written", result.stderr)

    def test_a_role_that_may_only_read(self):
        self.cheap_config(6, 4)
        self.hone_at("a", "tune", self.config, "--quiet")
        reader = f"reader_{self.database}"
        self.query(f"CREATE ROLE {reader} LOGIN; GRANT USAGE ON SCHEMA hone TO {reader};"
                   f"GRANT SELECT ON ALL TABLES IN SCHEMA hone TO {reader}")
        for _ in range(2):
            listed = self.hone_at("b", "cache", "list", HONE_CACHE=self.uri.replace("hone@", f"{reader}@"))
            self.assertEqual(listed.stderr, "")
            self.assertIn("n=64", listed.stdout)

    def test_refused(self):
        error = self.hone_at("a", "cache", "prune", "--stale", expect=2).stderr
        self.assertIn("the cache of a server is everybody's", error)
        self.hone_at("a", "cache", "list")
        self.query("UPDATE hone.format SET version = 2")
        error = self.hone_at("a", "cache", "list", expect=1).stderr
        self.assertIn("has tables of format 2, this Hone knows 1: use the newer Hone", error)


class Faults(Case):
    def test_server_killed_and_back(self):
        """Nothing that was told is lost, however often."""
        self.cheap_config(8, 16)
        process = self.start_at("a", "tune", self.config, "--full", "--quiet", "--events", self.events)
        self.wait_for_events(10, process)
        for _ in range(KILLS):
            time.sleep(random.uniform(0, 0.2))
            server.kill()
            time.sleep(0.3)
            server.start()
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertRegex(errors, r"the connection to the cache's server was lost \d times? \(.*\); all records were sent")
        self.assertEqual(self.kept(), self.told())
        self.hone_at("b", "cache", "check")

    def test_server_back_after_the_tune(self):
        self.cheap_config(6, 8)
        process = self.start_at("a", "tune", self.config, "--full", "--quiet", "--events", self.events)
        self.wait_for_events(10, process)
        server.kill()
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertRegex(errors, r"the cache's server is away \(.*\): \d+ records are in '.*' alone, until a hone opens")
        server.start()
        self.hone_at("a", "cache", "check")
        self.assertEqual(self.kept(), self.told())
        self.hone_at("b", "cache", "check")

    def test_server_that_hangs(self):
        self.cheap_config(8, 16)
        process = self.start_at("a", "tune", self.config, "--full", "--quiet", "--events", self.events)
        self.wait_for_events(10, process)
        server.pause(True)
        try:
            self.wait_for_events(120, process)
        finally:
            server.pause(False)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(self.kept(), self.told())

    def test_tuners_killed(self):
        """What one told more than 50 ms ago is there when the next one of its machine has opened the cache."""
        self.cheap_config(8, 16)
        for i in range(KILLS):
            self.events.unlink(missing_ok=True)
            process = self.start_at("a", "tune", self.config, "--full", "--quiet", "--events", self.events, "--seed", i + 1)
            self.wait_for_events(5 + 10 * i, process)
            killed = time.time()
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.hone_at("a", "cache", "check")
            kept = set(self.kept())
            for record in self.read_events():
                if f"{double.name(record['point'])}@{record['time']:.6f}" not in kept:
                    self.assertLess(killed - record["time"], 10)
            # What it claimed is free once its lease is over.
            self.assertEqual(self.query("SELECT finished IS NULL AND until > now() FROM hone.claim"), ["t"])
            self.query("UPDATE hone.claim SET until = now()")


class Several(Case):
    def tune_at(self, machines, *arguments):
        processes = [self.start_at(machine, "tune", self.config, "--json", *arguments) for machine in machines]
        results = []
        for process in processes:
            output, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, errors)
            results.append((json.loads(output), errors))
        return results

    def test_problems_are_shared_out(self):
        """Each problem is searched once, and everybody has all results."""
        sizes = [64, 65, 66, 67]
        self.problems(*sizes)
        results = self.tune_at("abcd", "--full")
        self.assertEqual(self.query("SELECT count(*) FROM hone.record WHERE NOT final"), [str(24 * len(sizes))])
        best = [sorted((tuning["problem"]["n"], json.dumps(tuning["best"]["point"])) for tuning in result) for result, _ in results]
        self.assertEqual([size for size, _ in best[0]], sizes)
        self.assertEqual(best, [best[0]] * 4)
        self.assertTrue(any("is being tuned on" in errors for _, errors in results))

    def test_with_a_time_budget_results_are_taken(self):
        self.problems(64, 65)
        process = self.start_at("a", "tune", self.config, "--full", "--quiet", "--budget", "60s", "--events", self.events)
        self.wait_for_events(3, process)
        result = self.hone_at("b", "tune", self.config, "--full", "--budget", "60s")
        self.assertEqual(process.wait(), 0)
        self.assertRegex(result.stdout, r"scale \(n=64\) on .* was tuned on \S+ meanwhile, best [\d.]+ us: BLOCK=")
        self.assertEqual(self.query("SELECT count(*) FROM hone.record WHERE NOT final"), ["48"])

    def test_dead_tuner(self):
        """Its claim holds up nobody for longer than its lease."""
        self.problems(64, 65)
        process = self.start_at("a", "tune", self.config, "--full", "--quiet", "--events", self.events)
        self.wait_for_events(3, process)
        process.kill()
        process.wait()
        waiting = self.start_at("b", "tune", self.config, "--full")
        while not self.query("SELECT 1 FROM hone.claim WHERE problem = 'n=65' AND finished IS NOT NULL"):
            time.sleep(0.05)
        self.assertIsNone(waiting.poll())
        self.query("UPDATE hone.claim SET until = now() WHERE problem = 'n=64'")
        _, errors = waiting.communicate(timeout=60)
        self.assertEqual(waiting.returncode, 0, errors)
        self.assertRegex(errors, r"scale \(n=64\) is being tuned on \S+, for \d+ s so far: the next problem first")
        self.assertRegex(errors, r"scale \(n=64\) is being tuned on \S+, for \d+ s so far: waiting")
        self.assertEqual(self.query("SELECT count(*) FROM hone.claim WHERE finished IS NULL"), ["0"])


if __name__ == "__main__":
    unittest.main()
