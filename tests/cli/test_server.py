# SPDX-License-Identifier: MIT
"""A site's cache in PostgreSQL, on the driver double and a server of the test's own. HONE_KILLS raises how often tuners and the
server are killed."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import double
import hone
import pages
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

    def begin(self, events, *options):
        """A tune of one machine, which has told of so many points."""
        process = self.start_at("a", "tune", self.config, "--full", "--quiet", "--events", self.events, *options)
        self.wait_for_events(events, process)
        return process

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
        records = map(json.loads, self.query("SELECT json FROM hone.record"))
        return sorted(f"{double.name(record['point'])}@{record['time']:.6f}" for record in records)


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
        self.assertEqual(self.query("SELECT json FROM hone.session WHERE json LIKE '%secret%'"), [])
        self.assertEqual(self.query("SELECT DISTINCT finished IS NOT NULL FROM hone.claim"), ["t"])
        # Into a file, and from there into another database: as it was.
        file = self.folder / "own.db"
        self.hone_at("c", "cache", "merge", self.uri, "--images", "--cache", file)
        self.hone("export", "scale", "-o", self.folder / "scale.h", "--cache", file)
        self.database = "other_" + self.database
        server.query(f"CREATE DATABASE {self.database}")
        before = self.hone_at("c", "cache", "merge", file, "--cache", server.uri(self.database)).stdout
        # All points, and again those that raced.
        self.assertIn("28 records", before)
        self.assertEqual(self.query("SELECT sum(records) FROM hone.session"), ["28"])
        self.assertEqual(self.query("SELECT count(*) FROM hone.record"), ["28"])

    def test_what_a_session_got_since_is_merged_too(self):
        self.cheap_config(6, 4)
        process = self.begin(3)
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
                self.assertRegex(error, "^hone: the cache cannot be reached: postgresql://hone@/nowhere.*is the server up, and "
                                 "the URI right")
        (self.folder / "libpq.so.5").write_text("no library")
        error = self.without_libpq()
        self.assertIn("a cache in PostgreSQL needs its client library", error)
        self.assertIn("apt-get install libpq5", error)

    def without_libpq(self):
        """The first libpq that is found is none."""
        process = self.start("cache", "list", "--cache", self.uri, LD_LIBRARY_PATH=str(self.folder))
        _, errors = self.ended(process, 1)
        return errors

    def test_what_is_damaged_is_left_out(self):
        self.cheap_config(6, 4)
        self.hone_at("a", "tune", self.config, "--quiet")
        self.query("UPDATE hone.record SET json = replace(json, 'ok', 'OK') WHERE position = 3")
        result = self.hone_at("b", "cache", "list")
        self.assertRegex(result.stderr, "warning: postgresql://.*: 1 row cannot be used and is left out: session '.*': a record is not "
                         "what was written")
        self.query("UPDATE hone.session SET json = replace(json, 'cold', 'warm')")
        result = self.hone_at("c", "cache", "list")
        self.assertRegex(result.stderr, "1 row cannot be used and is left out: session '.*': its row is not what was written")

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

    def test_a_role_that_may_write(self):
        """With the rights that docs/how-to.md lists."""
        self.hone_at("a", "cache", "list")
        tuner = f"tuner_{self.database}"
        self.query(f"CREATE ROLE {tuner} LOGIN; GRANT USAGE ON SCHEMA hone TO {tuner};"
                   f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hone TO {tuner}")
        self.cheap_config(6, 4)
        result = self.hone_at("b", "tune", self.config, "--quiet", HONE_CACHE=self.uri.replace("hone@", f"{tuner}@"))
        self.assertEqual(result.stderr, "")
        self.assertEqual(self.query("SELECT sum(records) = (SELECT count(*) FROM hone.record) FROM hone.session"), ["t"])

    @unittest.skipUnless(postgres.find("createuser"), "there are no programs of PostgreSQL's clients")
    def test_the_page_of_sites(self):
        """docs/how-to.md, "A cache for a site", line by line: on this server, with the double's config."""
        server.query("CREATE ROLE reader; CREATE ROLE tuner")
        binaries, site = self.folder / "bin", self.folder / "site"
        binaries.mkdir()
        for name, text in (("hone", f'exec {hone.HONE} "$@"'), ("srun", 'exec "$@"')):
            (binaries / name).write_text(f"#!/bin/sh\n{text}\n")
            (binaries / name).chmod(0o755)
        self.cheap_config(2, 2)
        self.config.rename(self.folder / "sgemm.yaml")
        self.hone("tune", "sgemm.yaml", "--quiet", HONE_CACHE=str(self.folder / "laptop.db"))
        shutil.copy(self.folder / "laptop.db", site)
        script = ""
        for line in pages.lines("docs/how-to.md", "A cache for a site"):
            line = f"psql -qd tuning -c '{line}'" if line.startswith("GRANT") else line
            script += line.replace("postgresql://hone_users@db.example.org/tuning", server.uri("tuning").replace("hone@", "hone_users@"))
            script += "\n"
        script = script.replace("/opt/site/hone.db", str(site)).replace("export sgemm", "export scale")
        path = f"{binaries}:{os.path.dirname(postgres.find('createuser'))}:{os.environ['PATH']}"
        where = {"PGHOST": str(server.folder), "PGUSER": "hone", "XDG_CACHE_HOME": str(self.folder)}
        result = subprocess.run(["bash", "-ex"], input=script, cwd=self.folder, env=self.environment(PATH=path, **where), text=True,
                                capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("HONE_SCALE_BLOCK", (self.folder / "sgemm_tuned.h").read_text())
        self.assertEqual(server.query("SELECT count(*) > 3 FROM hone.record", "tuning"), ["t"])

    def test_refused(self):
        error = self.hone_at("a", "cache", "prune", "--stale", expect=2).stderr
        self.assertIn("the cache of a server is everybody's", error)
        self.hone_at("a", "cache", "list")
        self.query("UPDATE hone.format SET version = 3")
        error = self.hone_at("a", "cache", "list", expect=1).stderr
        self.assertIn("has tables of format 3, this Hone knows 2: use the newer Hone", error)


class Faults(Case):
    def test_server_killed_and_back(self):
        """Nothing that was told is lost, however often."""
        self.cheap_config(8, 16)
        process = self.begin(10)
        for _ in range(KILLS):
            time.sleep(random.uniform(0, 0.2))
            server.kill()
            time.sleep(0.3)
            server.start()
        _, errors = self.ended(process)
        self.assertRegex(errors, r"the connection to the cache's server was lost \d times? \(.*\); all records were sent")
        self.assertEqual(self.kept(), self.told())
        self.hone_at("b", "cache", "check")

    def test_server_back_after_the_tune(self):
        self.cheap_config(6, 8)
        process = self.begin(10)
        server.kill()
        _, errors = self.ended(process)
        self.assertRegex(errors, r"the cache's server is away \(.*\): \d+ records are in '.*' alone, until a hone opens")
        server.start()
        self.hone_at("a", "cache", "check")
        self.assertEqual(self.kept(), self.told())
        self.hone_at("b", "cache", "check")

    def test_server_that_hangs(self):
        self.cheap_config(8, 16)
        process = self.begin(10)
        server.pause(True)
        try:
            self.wait_for_events(120, process)
        finally:
            server.pause(False)
        self.ended(process)
        self.assertEqual(self.kept(), self.told())

    def test_tuners_killed(self):
        """What one told more than 50 ms ago is there when the next one of its machine has opened the cache."""
        self.cheap_config(8, 16)
        for i in range(KILLS):
            self.events.unlink(missing_ok=True)
            process = self.begin(5 + 10 * i, "--seed", i + 1)
            killed = time.time()
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.hone_at("a", "cache", "check")
            kept = set(self.kept())
            for record in self.read_events():
                if f"{double.name(record['point'])}@{record['time']:.6f}" not in kept:
                    self.assertLess(killed - record["time"], 10)
            # What it claimed is free once its lease is over.
            self.assertEqual(self.query(f"SELECT finished IS NULL AND until > to_timestamp({killed}) FROM hone.claim"), ["t"])
            self.query("UPDATE hone.claim SET until = now()")


class Several(Case):
    def tune_at(self, machines, *arguments):
        processes = [self.start_at(machine, "tune", self.config, "--json", *arguments) for machine in machines]
        results = []
        for process in processes:
            output, errors = self.ended(process)
            results.append((json.loads(output), errors))
        return results

    def test_problems_are_shared_out(self):
        """Each problem is searched once, and everybody has all results."""
        sizes = [64, 65, 66, 67]
        self.problems(*sizes)
        results = self.tune_at("abcd", "--full")
        self.assertEqual(self.query("SELECT count(*) FROM hone.record WHERE json::json->>'final' = 'false'"), [str(24 * len(sizes))])
        best = [sorted((tuning["problem"]["n"], json.dumps(tuning["best"]["point"])) for tuning in result) for result, _ in results]
        self.assertEqual([size for size, _ in best[0]], sizes)
        self.assertEqual(best, [best[0]] * 4)
        self.assertTrue(any("is being tuned on" in errors for _, errors in results))

    def test_a_part_of_a_space_is_no_result_of_the_whole(self):
        self.problems(64, 65)
        for size, first, other, points in ((64, ["-s", "ITEMS=1"], [], 24), (65, [], ["-s", "ITEMS=1"], 6)):
            with self.subTest(first=first):
                self.events.unlink(missing_ok=True)
                command = ["tune", self.config, "--full", "--budget", "60s", "-p", f"n={size}"]
                process = self.start_at("a", *command, "--quiet", "--events", self.events, *first)
                self.wait_for_events(3, process)
                tuning, = json.loads(self.hone_at("b", *command, "--json", *other).stdout)
                self.assertEqual(process.wait(), 0)
                self.assertEqual((tuning.get("finished"), tuning.get("points")), (points, points))

    def test_for_one_problem_it_is_waited_at_once(self):
        self.cheap_config(6, 4)
        process = self.begin(3)
        errors = self.hone_at("b", "tune", self.config, "--full").stderr
        self.assertEqual(process.wait(), 0)
        self.assertRegex(errors, r"^scale \(n=64\) is being tuned on \S+, for \d+ s so far: waiting\n")

    def test_with_a_time_budget_results_are_taken(self):
        self.problems(64, 65)
        process = self.begin(3, "--budget", "60s")
        result = self.hone_at("b", "tune", self.config, "--full", "--budget", "60s")
        self.assertEqual(process.wait(), 0)
        machine = re.escape(socket.gethostname())
        self.assertRegex(result.stdout, rf"scale \(n=64\) on .* was tuned on {machine} meanwhile, best [\d.]+ us: BLOCK=")
        self.assertEqual(self.query("SELECT count(*) FROM hone.record WHERE json::json->>'final' = 'false'"), ["48"])

    def test_dead_tuner(self):
        """Its claim holds up nobody for longer than its lease."""
        self.problems(64, 65)
        process = self.begin(3)
        process.kill()
        process.wait()
        waiting = self.start_at("b", "tune", self.config, "--full")
        while not self.query("SELECT 1 FROM hone.claim WHERE problem = 'n=65' AND finished IS NOT NULL"):
            time.sleep(0.05)
        self.assertIsNone(waiting.poll())
        self.query("UPDATE hone.claim SET until = now() WHERE problem = 'n=64'")
        _, errors = self.ended(waiting)
        self.assertRegex(errors, r"scale \(n=64\) is being tuned on \S+, for \d+ s so far: the next problem first")
        self.assertRegex(errors, r"scale \(n=64\) is being tuned on \S+, for \d+ s so far: waiting")
        self.assertEqual(self.query("SELECT count(*) FROM hone.claim WHERE finished IS NULL"), ["0"])


class Others(Case):
    """A lesser role of the same database, mallory, and the rights of whoever opens the cache."""

    def setUp(self):
        super().setUp()
        self.role = f"mallory_{self.database}"
        self.query(f"CREATE ROLE {self.role}; GRANT CREATE ON SCHEMA public TO {self.role}")
        self.as_other("CREATE TABLE public.caught(what text); GRANT INSERT ON public.caught TO public")
        self.as_other(self.function("stolen()", "trigger", "NEW"))

    def as_other(self, sql):
        self.query(f"SET ROLE {self.role}; {sql}")

    @staticmethod
    def function(signature, result, value):
        return (f"CREATE FUNCTION public.{signature} RETURNS {result} LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.caught VALUES"
                f" ('{signature} as ' || current_user); RETURN {value}; END $$;")

    def refuse(self, expected):
        error = self.hone_at("a", "cache", "list", expect=1).stderr
        self.assertRegex(error, f"^hone: postgresql://.*: {expected}, whose code would run with your rights")
        self.assertEqual(self.query("SELECT * FROM public.caught"), [])

    def test_their_functions_are_not_called(self):
        names = [("json_agg(record)", "json", "'[]'"), ("json_object_agg(text, text)", "json", "'{}'"), ("random(integer)", "float", "1"),
                 ("set_config(text, text, boolean)", "text", "''"), ("to_regclass(text)", "regclass", "NULL"),
                 ("named(text, name)", "text", "''")]
        self.as_other("".join(self.function(*name) for name in names) +
                      "CREATE OPERATOR public.|| (leftarg = text, rightarg = name, function = public.named);"
                      "CREATE FUNCTION public.pg_advisory_xact_lock(integer) RETURNS void LANGUAGE plpgsql AS"
                      " $$ BEGIN INSERT INTO public.caught VALUES ('lock as ' || current_user); END $$")
        self.cheap_config(6, 4)
        self.hone_at("a", "tune", self.config, "--quiet")
        self.query(f"GRANT USAGE ON SCHEMA hone TO {self.role}")
        self.as_other(self.function("json_populate_record(hone.session, json)", "hone.session", "$1"))
        self.hone_at("b", "tune", self.config, "--quiet", "--full")
        self.assertEqual(self.query("SELECT * FROM public.caught"), [])

    def test_a_schema_of_theirs(self):
        """Made before the first Hone came."""
        self.query(f"GRANT CREATE ON DATABASE {self.database} TO {self.role}")
        self.as_other("CREATE SCHEMA hone")
        self.refuse("the schema hone is owned by mallory_.*")
        self.as_other("CREATE TABLE hone.format(version integer, id text); CREATE TRIGGER t BEFORE INSERT ON hone.format FOR EACH ROW"
                      " EXECUTE FUNCTION public.stolen(); GRANT ALL ON hone.format TO public; GRANT ALL ON SCHEMA hone TO public")
        self.refuse("hone.format(: TRIGGER is granted to anybody| has a trigger by .*| is owned by .*)")

    def test_triggers_and_tables_of_theirs(self):
        self.hone_at("a", "cache", "list")
        for grant, expected in (("TRIGGER ON hone.record", "hone.record: TRIGGER is granted to"),
                                ("CREATE, USAGE ON SCHEMA hone", "the schema hone: CREATE is granted to")):
            self.query(f"GRANT {grant} TO {self.role}")
            self.refuse(f"{expected} {self.role}")
            self.query(f"REVOKE {grant} FROM {self.role}")
            self.hone_at("a", "cache", "list")
        self.query(f"GRANT TRIGGER ON hone.session TO {self.role}; GRANT USAGE ON SCHEMA hone TO {self.role}")
        self.as_other("CREATE TRIGGER t BEFORE INSERT ON hone.session FOR EACH ROW EXECUTE FUNCTION public.stolen()")
        self.query(f"REVOKE TRIGGER ON hone.session FROM {self.role}")
        self.refuse(f"hone.session has a trigger by {self.role}")


class Hostile(Case):
    """What a role that may write has put there: refused where it comes in, counted, and the rest goes on."""

    def setUp(self):
        super().setUp()
        self.cheap_config(6, 4)
        self.hone_at("a", "tune", self.config, "--quiet")

    def warn(self, count, reason, machine="b", command=("cache", "list")):
        rows = "1 row cannot be used and is" if count == 1 else f"{count} rows cannot be used and are"
        result = self.hone_at(machine, *command)
        self.assertRegex(result.stderr, f"^hone: warning: postgresql://hone@/{self.database}.*: {rows} left out: .*{reason}")
        return result

    def copied(self, machine, sql):
        self.cache = self.copy_of(machine)
        return self.sql(sql)

    def add_roofs(self, device, rate="1", measured="1", count=1):
        self.query(f"INSERT INTO hone.roof SELECT json_build_object('name', {device}, 'capability', 90, 'sm_count', i, 'mig_profile', ''),"
                   f" '1', {measured}, json_build_object('copy_gb_per_s', {rate}, 'l2_gb_per_s', 1, 'fp32_gflops', 1, 'launch_us', 1,"
                   f" 'measured', {measured}, 'driver', '1') FROM generate_series(1, {count}) i")

    def test_roofs(self):
        own = int(self.query("SELECT count(*) FROM hone.roof")[0])
        self.add_roofs("'negative'", rate="-1")
        self.add_roofs("E'escape\\x1b[2J'")
        self.add_roofs("'none'", rate="'NaN'")
        self.add_roofs("'future'", measured="9e9")
        self.add_roofs("repeat('long', 20000)")
        self.warn(5, "")
        self.warn(5, "")
        self.assertEqual(self.copied("b", "SELECT count(*) FROM roof"), [(own,)])
        self.assertIn("n=64", self.hone_at("b", "cache", "list").stdout)
        self.query("DELETE FROM hone.roof WHERE driver = '1'")
        self.assertEqual(self.hone_at("b", "tune", self.config, "--quiet").stderr, "")

    def test_many_roofs(self):
        self.add_roofs("'many'", count=20000)
        result = self.hone_at("b", "cache", "list")
        self.assertRegex(result.stderr, "^hone: warning: postgresql://.*: there is more than one command fetches; the next ones go on")
        self.assertEqual(self.copied("b", "SELECT count(*) FROM roof"), [(500,)])

    def test_a_plan_that_was_changed(self):
        self.query("UPDATE hone.plan SET json = replace(json, 'threadIdx.x', 'threadIdx.y')")
        self.warn(1, "its plan is missing, too large or not what was written")

    def test_what_is_large_is_not_fetched(self):
        """More than a command takes, which a server has to look at no closer than at its size."""
        large = "repeat('x', 20000000)"
        for table, column, where, reason in (
                ("record", "json", "position = 3", "a record is missing, or larger than"),
                ("record", "checksum", "position = 3", "a record is missing, or larger than"),
                ("plan", "json", "true", "its plan is missing, too large"),
                ("session", "json", "true", "its row is missing or too large"),
                ("session", "checksum", "true", "its row is missing or too large")):
            with self.subTest(column=f"{table}.{column}"):
                kept = self.query(f"SELECT {column} FROM hone.{table} WHERE {where}")[0].replace("'", "''")
                self.query(f"UPDATE hone.{table} SET {column} = {large} WHERE {where}")
                self.warn(1, reason, f"{table}_{column}")
                self.query(f"UPDATE hone.{table} SET {column} = '{kept}' WHERE {where}")
        self.query(f"UPDATE hone.image SET cubin = convert_to(repeat('x', 80000000), 'UTF8') WHERE point = (SELECT min(point) FROM hone.image)")
        file = self.folder / "own.db"
        images, = self.query("SELECT count(*) FROM hone.image")
        self.warn(1, "an image is too large or not what was written", "images",
                  ("cache", "merge", self.uri, "--images", "--cache", file))
        self.cache = file
        self.assertEqual(self.sql("SELECT count(*) FROM image"), [(int(images) - 1,)])

    def test_images_that_are_none(self):
        self.query("UPDATE hone.image SET point = '***' WHERE point = (SELECT min(point) FROM hone.image)")
        self.warn(1, "the point of an image is not one", "images",
                  ("cache", "merge", self.uri, "--images", "--cache", self.folder / "own.db"))

    def test_many_sessions(self):
        columns = "subject, kernel, problem, json, checksum, records"
        self.query(f"INSERT INTO hone.session(origin, {columns}) SELECT md5(i::text), {columns} FROM hone.session,"
                   " generate_series(1, 10100) i")
        # They come in any order: the one that is right may be the one that is left for later.
        result = self.hone_at("b", "cache", "list")
        self.assertRegex(result.stderr, "(9999|1000[01]) rows cannot be used and are left out: session")
        self.assertIn("there is more than one command fetches; the next ones go on", result.stderr)

    def test_claims(self):
        for claim in ("finished = NULL, until = 'infinity'", "finished = NULL, until = now() + interval '1 year', since = '-infinity'",
                      "finished = 'infinity'"):
            with self.subTest(claim=claim):
                self.query(f"UPDATE hone.claim SET owner = 'mallory', {claim}")
                process = self.start_at("b", "tune", self.config, "--full", "--budget", "60s")
                output, errors = self.ended(process)
                self.assertNotIn("is being tuned", errors)
                self.assertNotIn("meanwhile", output)

    def test_records_that_are_dropped(self):
        """Said, and not counted as kept; another session is sent nevertheless."""
        self.query("CREATE FUNCTION public.dropped() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.position = 3 AND (SELECT problem"
                   " FROM hone.session WHERE id = NEW.session_id) = 'n=65' THEN RETURN NULL; END IF; RETURN NEW; END $$;"
                   "CREATE TRIGGER t BEFORE INSERT ON hone.record FOR EACH ROW EXECUTE FUNCTION public.dropped()")
        self.spoil(self.config, "problem: {n: 64}", "problem: {n: [65, 66]}")
        warning = (r"warning: postgresql://.*: \d+ records? (was|were) sent and not kept: does a trigger, rule or policy there drop "
                   r"rows\? They are in '.*postgresql-.*\.db' alone")
        self.assertRegex(self.hone_at("c", "tune", self.config, "--quiet", "--full").stderr, warning)
        self.assertRegex(self.hone_at("c", "cache", "list").stderr, warning)
        self.assertEqual(self.query("SELECT problem, records > 3 FROM hone.session WHERE problem <> 'n=64' ORDER BY 1"),
                         ["n=65|f", "n=66|t"])
        self.assertEqual(self.hone_at("d", "cache", "list").stderr, "")
        self.query("DROP TRIGGER t ON hone.record")
        self.assertEqual(self.hone_at("c", "cache", "list").stderr, "")
        self.assertEqual(self.query("SELECT sum(records) - (SELECT count(*) FROM hone.record) FROM hone.session"), ["0"])


class Passwords(Case):
    def uris(self):
        """With a password that has a sign of the URI's own in it, and whose halves are too long to be in a cubin by chance."""
        at = f"?host={server.folder}"
        return [f"postgresql://hone:TOPSEC?RETKEY@/{self.database}{at}", f"postgres://hone@/{self.database}{at}&pass%77ord=TOPSECRETKEY",
                f"postgresql://hone:TOPSEC@RETKEY@/{self.database}{at}", f"postgresql://hone:TOPSEC%40RETKEY@/{self.database}{at}"]

    def wrong_uris(self):
        return [f"postgresql://hone:TOPSEC/RETKEY@/{self.database}", f"postgresql://hone:3/TOPSECRETKEY?x@/{self.database}",
                f"postgresql://hone:TOPSEC%zzRETKEY@/{self.database}", "postgresql://h?password=TOPSEC&RETKEY", "postgresql://h?passwort=TOPSECRETKEY",
                "postgresql://hone:TOPSECRETKEY", "postgresql://hone@TOPSECRETKEY@nowhere/x"]

    def hide(self, *texts):
        for text in texts:
            self.assertNotRegex(text, "TOPSEC|RETKEY")

    def test_no_password_is_kept_or_shown(self):
        self.cheap_config(6, 4)
        for i, uri in enumerate(self.uris()):
            with self.subTest(uri=uri):
                file = self.folder / f"own{i}.db"
                report = self.folder / "report.html"
                for command in (["tune", self.config, "--full", f"--cache={uri}", "--json", "--events", self.events],
                                ["report", "--cache", uri, "-o", report], ["cache", "list", "--cache", uri],
                                ["cache", "merge", uri, "--cache", file], ["cache", "merge", uri, "--cache", file, "--json"],
                                ["cache", "import", uri, "--cache", file, "--json"], ["cache", "import", uri, "--cache", file],
                                ["cache", "diff", uri, "--cache", file, "--json"], ["cache", "list", "--base", uri, "--cache", file],
                                ["cache", "import", uri, "--config", self.config, "--cache", file]):
                    result = self.hone(*command, XDG_CACHE_HOME=str(self.folder / f"m{i}"),
                                       expect=2 if "--config" in command else 0)
                    self.hide(result.stdout, result.stderr)
                self.hide(hone.report_text(report))
                for path in [*self.folder.glob("own*.db*"), *self.folder.glob("m?/hone/*"), self.events]:
                    self.hide(path.read_bytes().decode(errors="replace"))
                command, = self.query("SELECT json::json->>'command' FROM hone.session")
                self.assertIn(f" --cache=postgresql://hone@/{self.database}?host=", command)
                self.hide(command)
                self.query("TRUNCATE hone.session CASCADE")

    def test_no_password_is_in_an_error(self):
        self.cheap_config(6, 4)
        for command in ("report", "tune", "cache list", "export scale --recorded"):
            error = self.hone(*command.split(), self.uris()[0], expect=2).stderr
            self.assertIn("found a server's URI, which --cache and --base take", error)
            self.hide(error)
        (self.folder / "libpq.so.5").write_text("no library")
        for uri in self.uris() + self.wrong_uris():
            for without in ({}, {"LD_LIBRARY_PATH": f"{self.folder}:{double.DOUBLE}"}):
                if uri in self.uris() and without == {}:
                    continue
                for command in (["tune", self.config, "--cache", uri], ["cache", "merge", uri], ["cache", "diff", uri]):
                    with self.subTest(command=command, without=without):
                        process = self.start(*command, HONE_CACHE=str(self.folder / "own.db"), **without)
                        output, errors = self.ended(process, 1)
                        self.hide(output, errors)
