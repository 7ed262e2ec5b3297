# SPDX-License-Identifier: MIT
"""Caches that cannot be used: nothing is lost, nothing is overwritten, and the message says why."""

import os
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
        self.fails(3, f"hone: there is no cache at '{self.cache}': nothing was tuned yet", "export", "saxpy")

    def test_unwritable_cache(self):
        self.write("file", "")
        path = self.folder / "file" / "hone.db"
        result = self.simulate("--cache", path, expect=1)
        self.assertEqual(result.stderr, f"hone: cache '{path}' cannot be opened: Not a directory\n")
        result = self.simulate("--cache", "/proc/nowhere/hone.db", expect=1)
        self.assertEqual(result.stderr, "hone: the folder '/proc/nowhere' of the cache cannot be made: No such file or "
                         "directory\n")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_read_only_folder(self):
        self.simulate()
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        self.hone("export", "saxpy")

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

    def test_disk_full(self):
        """A file size limit stands for the full disk: exit code 1, and what was there stays readable."""
        self.simulate()
        before = self.hone("export", "saxpy", "--format", "json").stdout

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))

        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 1.0, problem={"SIZE": 2048}, name="other.json")
        result = subprocess.run(
            [hone.HONE, "tune", str(hone.DATA / "saxpy.yaml"), "-p", "SIZE=2048", "--simulate", str(recording), "--quiet"],
            env=dict(os.environ, HONE_CACHE=str(self.cache)), preexec_fn=limit, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"cache '{self.cache}' cannot be written", result.stderr)
        self.assertIn("what was recorded before is kept", result.stderr)
        self.assertEqual(self.hone("export", "saxpy", "-p", "SIZE=1048576", "--format", "json").stdout, before)
        self.hone("cache", "check")
