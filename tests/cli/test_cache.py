# SPDX-License-Identifier: MIT
"""Caches that cannot be used: nothing is lost, nothing is overwritten, and the message says why."""

import contextlib
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import unittest

import hone


class Cache(hone.Case):
    def assert_untouched(self, before):
        self.assertEqual(self.cache.read_bytes(), before)

    def simulate(self, *arguments, **settings):
        return self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(), "--quiet", *arguments, **settings)

    def test_missing_cache(self):
        self.fails(3, f"hone: there is no cache at '{self.cache}': no such file; `hone tune CONFIG` makes one", "export", "saxpy")

    def test_unwritable_cache(self):
        self.write("file", "")
        path = self.folder / "file" / "hone.db"
        result = self.simulate("--cache", path, expect=1)
        self.assertEqual(result.stderr, f"hone: cache '{path}' cannot be opened: Not a directory\n")
        result = self.simulate("--cache", "/proc/nowhere/hone.db", expect=1)
        self.assertEqual(result.stderr, "hone: the folder '/proc/nowhere' of the cache cannot be made: No such file or "
                         "directory; --cache FILE or HONE_CACHE names another place\n")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_read_only_folder(self):
        self.simulate()
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        self.hone("export", "saxpy")

    def test_a_command_that_is_long_or_has_control_characters(self):
        """It is kept with the session, and what is kept has to be read again: a script of Windows has a CR behind a line."""
        for kept, *options in ((r"--events 'a  b\?\?\?.jsonl\?'", "--events", "a\n\tb\x1b\u0085.jsonl\r"),
                               (r"-q(?: -q)*", *["-q"] * 30000),
                               (r"-s --seed 2", "-s", ",".join(["BLOCK=64"] * 9999), "--seed", "2")):
            self.simulate(*options)
            self.assertEqual(self.hone("cache", "check").stdout, f"cache '{self.cache}' is whole: 1 tuning\n")
            self.assertRegex(self.sql("SELECT command FROM session")[0][0], f"^hone tune .* --quiet {kept}$")
            self.cache.unlink()

    def test_not_a_cache(self):
        self.cache.write_text("a shopping list that is longer than sixteen bytes\n")
        before = self.cache.read_bytes()
        result = self.simulate(expect=1)
        self.assertEqual(result.stderr, f"hone: '{self.cache}' is no Hone cache: it does not begin as an SQLite database "
                         "does; it was not touched\n")
        self.assert_untouched(before)

    def test_database_of_another_program(self):
        with sqlite3.connect(self.cache) as database:
            database.execute("CREATE TABLE shopping(item TEXT)")
        before = self.cache.read_bytes()
        result = self.simulate(expect=1)
        self.assertEqual(result.stderr, f"hone: '{self.cache}' is no Hone cache but an SQLite database of another program; "
                         "it was not touched\n")
        self.assert_untouched(before)

    def test_newer_cache(self):
        self.simulate()
        with sqlite3.connect(self.cache) as database:
            database.execute("PRAGMA journal_mode=DELETE")
            known = database.execute("PRAGMA user_version").fetchone()[0]
            database.execute("PRAGMA user_version=1000")
        before = self.cache.read_bytes()
        message = (f"hone: cache '{self.cache}' has format 1000, this Hone knows up to {known}; it was not touched: use the "
                   "newer Hone, or another cache (--cache)")
        for command in (["export", "saxpy"], ["cache", "list"]):
            self.fails(1, message, *command)
        self.assertEqual(self.simulate(expect=1).stderr, message + "\n")
        self.assert_untouched(before)

    def test_truncated_cache(self):
        self.simulate()
        with sqlite3.connect(self.cache) as database:
            database.execute("PRAGMA journal_mode=DELETE")
        whole = self.cache.read_bytes()
        self.cache.write_bytes(whole[:8192])
        before = self.cache.read_bytes()
        result = self.hone("export", "saxpy", expect=1)
        self.assertEqual(result.stderr, f"hone: cache '{self.cache}' is truncated: it has 8192 bytes, its header says "
                         f"{len(whole)}; it was not touched: restore a copy, or move it away to start anew\n")
        self.simulate(expect=1)
        self.assert_untouched(before)

    def test_missing_folders_are_made(self):
        path = self.folder / "a" / "b" / "hone.db"
        self.simulate("--cache", path)
        self.assertIn("saxpy", self.hone("cache", "list", "--cache", path).stdout)
        self.assertIn("is no regular file", self.simulate("--cache", self.folder, expect=1).stderr)

    def test_a_path_is_no_uri(self):
        for path in "file:a.db", ":memory:", "b?mode=ro.db":
            self.simulate("--cache", path)
            self.assertTrue((self.folder / path).is_file())
            self.assertIn("saxpy", self.hone("cache", "list", "--cache", path).stdout)

    def test_the_option_comes_before_the_environment(self):
        for options, own, data, expected in ((["--cache", "my.db"], "/h.db", "/x", "my.db"), ([], "/h.db", "/x", "/h.db"),
                                             ([], "", "/x", "/x/hone/hone.db"), ([], "", "", "/nowhere/.cache/hone/hone.db"),
                                             ([], "", "of/this/folder", "/nowhere/.cache/hone/hone.db")):
            self.fails(3, f"hone: there is no cache at '{expected}': no such file; `hone tune CONFIG` makes one", "export", "saxpy", *options,
                       HONE_CACHE=own, XDG_CACHE_HOME=data, HOME="/nowhere")

    def changed(self, statement):
        """Runs statements on a cache of 16 points as somebody who knows of no checksums."""
        if not hasattr(self, "whole"):
            self.simulate()
            self.whole = self.cache.read_bytes()
        self.cache.write_bytes(self.whole)
        with contextlib.closing(sqlite3.connect(self.cache)) as database:
            database.executescript(statement)

    def test_damage_inside_is_found(self):
        self.changed("INSERT INTO record VALUES(99, 99, 'A=1', 'ok', 0, 0, 1.0, '{', 0); UPDATE record SET point = 'A=1' WHERE id = 1")
        report = self.hone("cache", "check", expect=1).stdout
        for finding in "foreign key: row 99 of record names a row of session", "record 1 is not what was written":
            self.assertIn(finding, report)
        self.forge("UPDATE record SET session_id = 1")
        report = self.hone("cache", "check", expect=1).stdout
        self.assertIn("record 99 cannot be read", report)
        self.assertRegex(report, "record 1 cannot be read: its point is 'A=1', its JSON says 'BLOCK=[^']*'")

    def test_altered_rows_are_left_out(self):
        """Whatever a row says, it is used only as it was written: what cannot be read is told and decides nothing."""
        for table, change, command in (
                ("session", "kernel = 'saxpz'", ["cache", "list"]), ("session", "started = started + 1", ["cache", "list"]),
                ("session", "task = json_set(task, '$.device.sm_count', 133)", ["cache", "list"]),
                ("session", "version = json_set(version, '$.driver', '580.2')", ["cache", "list"]),
                ("session", "command = 'rm'", ["cache", "list"]), ("record", "objective = 6.0", ["cache", "list"]),
                ("record", "json = json_set(json, '$.objective', 6.0)", ["cache", "list"]), ("plan", "json = '[]'", ["export", "saxpy"]),
                ("plan", "json = json_set(json, '$.files[0].text', 'evil')", ["export", "saxpy"])):
            self.changed(f"UPDATE {table} SET {change}")
            said = self.hone(*command, expect=1 if table == "plan" else 0).stderr
            self.assertRegex(said, "(warning: left out: )?.* is not what was written; `hone cache export` copies the others\n", change)
            rows = 5 if table == "record" else 1
            self.assertEqual((said.count("is not what was written"), said.count("more rows")), (rows, rows > 1), change)
            self.assertIn("is not what was written", self.hone("cache", "check", expect=1).stdout, change)
            self.simulate()
            if table == "plan":
                self.assertEqual(self.hone(*command).stderr, "", change)
            self.assertEqual(self.sql("SELECT count(DISTINCT point) FROM record"), [(16,)], change)

    def test_one_row_of_many(self):
        """The best cannot be read: the next one counts until the best is measured again, and nobody's rows are lost."""
        best = self.simulate("--json").stdout
        self.simulate("-p", "SIZE=2048", "--simulate", self.record(problem={"SIZE": 2048}, name="other.json"))
        other = self.folder / "other.db"
        self.hone("cache", "merge", self.cache, "--cache", other)
        point = json.loads(best)[0]["best"]["point"]
        text = ",".join(f"{name}={value}" for name, value in sorted(point.items()))
        self.forge("UPDATE record SET json = '{' WHERE point = ? AND session_id = 1", text)
        self.forge("INSERT INTO session SELECT 9, 'nobody', kernel, problem, '[]', version, plan, rule, started + 9, command, simulated, machine,"
                   " source, imported, 0 FROM session WHERE id = 1")
        listed = self.hone("cache", "list", "--json")
        self.assertEqual(listed.stderr.count("warning: left out: "), 1)
        self.assertIn("record ", listed.stderr)
        found = {tuning["problem"]["SIZE"]: tuning["best"]["point"] for tuning in json.loads(listed.stdout)["tunings"]}
        self.assertEqual(found[2048], point)
        self.assertNotEqual(found[1048576], point)
        self.assertIn("left out", self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.folder / "recording.json").stderr)
        self.assertEqual(json.loads(self.simulate("--json").stdout)[0]["best"]["point"], point)

    def test_other_schemas_are_refused(self):
        """Nothing is read from a file in which anything stands that Hone does not make."""
        for statement, message in (
                ("ALTER TABLE session RENAME TO s; CREATE VIEW session AS WITH RECURSIVE r AS (SELECT * FROM s UNION ALL SELECT * FROM r)"
                 " SELECT * FROM r", "Hone makes no "),
                ("CREATE VIEW more AS SELECT 1", "Hone makes no 'more'"), ("CREATE TABLE more(a)", "Hone makes no 'more'"),
                ("CREATE INDEX more ON record(json)", "Hone makes no 'more'"),
                ("CREATE TRIGGER more AFTER INSERT ON record BEGIN DELETE FROM plan; END", "Hone makes no 'more'"),
                ('CREATE TABLE "m\033[2J"(a)', "Hone makes no 'table of that name'"),
                ("ALTER TABLE roof ADD COLUMN more TEXT", "Hone makes no 'roof'"), ("DROP TABLE roof", "it lacks 'CREATE TABLE roof("),
                ("DROP INDEX record_by_objective", "it lacks 'CREATE INDEX record_by_objective")):
            self.changed(statement)
            self.assertIn(message, self.hone("cache", "list", expect=1).stderr)
            self.assertIn(message, self.simulate(expect=1).stderr)

    def test_older_formats_are_refused_untouched(self):
        """None of them was ever released; nobody may have written those below 0."""
        for version in (-2147483648, -2, -1, *range(7)):
            self.changed(f"PRAGMA journal_mode = DELETE; PRAGMA user_version = {version}")
            before = self.cache.read_bytes()
            message = f"has format {version}, which no released Hone wrote"
            self.assertIn(message, self.hone("cache", "list", expect=1).stderr)
            self.assertIn(message, self.simulate(expect=1).stderr)
            self.assert_untouched(before)

    def test_random_damage_is_survived(self):
        """Whatever the bytes of a cache are, it is refused or read, and never brings down who opens it."""
        self.changed("PRAGMA journal_mode = DELETE")
        whole = self.cache.read_bytes()
        self.cache.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))
        self.hone("cache", "check", expect=1)
        drawn = random.Random(1)
        for _ in range(200):
            damaged = bytearray(whole)
            for _ in range(8):
                damaged[drawn.randrange(16, len(whole))] = drawn.randrange(256)
            self.cache.write_bytes(damaged)
            for command in "check", "list":
                result = subprocess.run([hone.HONE, "cache", command, "--cache", self.cache], capture_output=True)
                self.assertIn(result.returncode, (0, 1), result.stderr)

    def test_disk_full(self):
        """A file size limit stands for the full disk: exit code 1, and what was there stays readable."""
        self.simulate()
        before = self.hone("export", "saxpy", "--format", "json").stdout

        def limit(bytes=40000):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes))

        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 1.0, problem={"SIZE": 2048}, name="other.json")
        result = subprocess.run(
            [hone.HONE, "tune", str(hone.DATA / "saxpy.yaml"), "-p", "SIZE=2048", "--simulate", str(recording), "--quiet"],
            env=dict(os.environ, HONE_CACHE=str(self.cache)), preexec_fn=limit, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"cache '{self.cache}' cannot be written", result.stderr)
        self.assertIn("what was recorded before is kept", result.stderr)
        self.assertEqual(self.hone("export", "saxpy", "-p", "SIZE=1048576", "--format", "json").stdout, before)
        self.hone("cache", "check")
        # Not even what SQLite writes to read is to be had.
        result = subprocess.run([hone.HONE, "export", "saxpy", "-p", "SIZE=1048576", "--format", "json"], env=dict(os.environ, HONE_CACHE=str(self.cache)),
                                preexec_fn=lambda: limit(4096), capture_output=True, text=True, timeout=60)
        self.assertEqual((result.stdout, result.stderr), (before, ""))
