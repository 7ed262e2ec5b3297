# SPDX-License-Identifier: MIT
"""`hone cache merge`, `diff` and `prune`."""

import json
import sqlite3

import hone


class CacheTools(hone.Case):
    def recording(self, name, factor=1.0, moment=1795168800, best=128, device=hone.H200, driver=None):
        """A recorded tuning of saxpy: all times by the factor, taken at that moment, best at that BLOCK."""
        path = self.record(device=device, name=name, time_us=lambda BLOCK, ITEMS, LOAD: factor * (
            10 + abs(BLOCK - best) / 64 + abs(ITEMS - 2) + (LOAD == "plain")))
        document = json.loads(path.read_text())
        for row in document["cache"].values():
            row["hone"]["time"] = moment
        if driver is not None:
            document["hone"]["version"]["driver"] = driver
        path.write_text(json.dumps(document))
        return path

    def cache_of(self, name, *recordings):
        path = self.folder / name
        for recording in recordings:
            self.hone("cache", "import", recording, HONE_CACHE=str(path))
        return path

    def counts(self, table):
        connection = sqlite3.connect(self.cache)
        [(count,)] = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        connection.close()
        return count

    def changes(self, *arguments):
        document = json.loads(self.hone("cache", "diff", *arguments, "--json").stdout)
        return [(t["change"], t.get("is", t.get("was"))["device"]["name"]) for t in document["tunings"]]

    def test_base_alone(self):
        base = self.cache_of("base.db", self.recording("a.json"))
        before = base.read_bytes()
        listed = json.loads(self.hone("cache", "list", "--base", base, "--json").stdout)
        self.assertEqual([tuning["device"]["name"] for tuning in listed["tunings"]], ["NVIDIA H200"])
        self.assertFalse(self.cache.exists())
        self.assertEqual(base.read_bytes(), before)

    def test_base(self):
        """Look-ups and searches see both, one's own first; nothing is written to the base."""
        base = self.folder / "base.db"
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(), "--quiet", "--cache", base)
        before = base.read_bytes()
        recording = self.record(problem={"SIZE": 4096}, name="other.json")
        told = self.hone("tune", hone.DATA / "saxpy.yaml", "-p", "SIZE=4096", "--simulate", recording, "--base", base).stderr
        self.assertIn("1 earlier tuning of it leads the search", told)
        listed = json.loads(self.hone("cache", "list", "--base", base, "--json").stdout)
        self.assertEqual([(tuning["problem"]["SIZE"], tuning["origin"]["source"]) for tuning in listed["tunings"]],
                         [(4096, "other.json"), (1048576, "base.db")])
        header = self.hone("export", "saxpy", "--base", base, "-o", "-").stdout
        self.assertIn("1048576", header)
        self.assertIn("4096", header)
        self.assertNotIn("1048576", self.hone("export", "saxpy", "-o", "-").stdout)
        self.assertEqual(base.read_bytes(), before)
        for part in (["merge", base], ["check"], ["prune", "--stale"]):
            error = self.hone("cache", *part, "--base", base, expect=2).stderr
            self.assertEqual(error, f"hone: `hone cache {part[0]}` is of one cache: --base says nothing there\n")

    def test_diff_within_noise_is_none(self):
        self.hone("cache", "import", self.recording("a.json"))
        other = self.cache_of("other.db", self.recording("b.json", factor=1.001))
        self.assertEqual(self.hone("cache", "diff", other).stdout,
                         "0 of 1 tunings differ; of the rest point and time are the same (95% intervals meet, or the "
                         "medians differ by less than 2%)\n")
        self.assertEqual(self.changes(other, "--all"), [("same", "NVIDIA H200")])

    def test_diff_beyond_noise(self):
        self.hone("cache", "import", self.recording("a.json"))
        slower = self.cache_of("slower.db", self.recording("b.json", factor=1.05, driver="590.1"))
        faster = self.recording("c.json", factor=0.9)
        self.assertEqual(self.changes(slower), [("slower", "NVIDIA H200")])
        self.assertEqual(self.changes(slower, "--threshold", "6%"), [])
        self.assertEqual(self.changes(faster), [("faster", "NVIDIA H200")])
        text = self.hone("cache", "diff", slower, COLUMNS="").stdout
        self.assertIn("1.050", text)
        self.assertRegex(text, r"driver \S+ -> 590\.1")
        self.assertRegex(text, r"imported from a\.json on \d{4}-\d\d-\d\d -> imported from b\.json on \d{4}-\d\d-\d\d")
        self.assertRegex(self.hone("cache", "diff", faster, COLUMNS="").stdout, r"imported from a\.json on \S+ -> read from c\.json")

    def test_diff_other_point(self):
        self.hone("cache", "import", self.recording("a.json"))
        other = self.recording("b.json", best=256)
        self.assertEqual(self.changes(other), [("other point", "NVIDIA H200")])
        self.assertIn("BLOCK 128 -> 256", self.hone("cache", "diff", other, COLUMNS="").stdout)

    def test_diff_of_what_is_simulated_on_one_side(self):
        """One tuning, once measured and once simulated, is neither removed nor added."""
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.recording("a.json"), "--quiet")
        [tuning] = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        path = self.recording("c.json")
        document = json.loads(path.read_text())
        document["hone"]["signature"] = tuning["signature"]
        path.write_text(json.dumps(document))
        measured = self.cache_of("measured.db", path)
        self.assertEqual(self.changes(measured), [])
        text = self.hone("cache", "diff", measured, "--all", COLUMNS="").stdout
        self.assertIn("simulated -> measured", text)
        self.assertIn("0 of 1 tunings differ", text)

    def test_diff_added_and_removed(self):
        self.hone("cache", "import", self.recording("a.json"))
        h100 = dict(hone.H200, name="NVIDIA H100")
        other = self.cache_of("other.db", self.recording("b.json", device=h100))
        self.assertEqual(self.changes(other), [("removed", "NVIDIA H200"), ("added", "NVIDIA H100")])

    def test_diff_with_what_is_not_there(self):
        self.hone("cache", "import", self.recording("a.json"))
        missing = self.folder / "missing.json"
        self.fails(1, f"hone: '{missing}' cannot be read: No such file or directory", "cache", "diff", missing)

    def test_merge_keeps_the_newest_and_lists_conflicts(self):
        self.hone("cache", "import", self.recording("a.json"))
        newer = self.cache_of("newer.db", self.recording("b.json", best=256, moment=1795168900))
        older = self.cache_of("older.db", self.recording("c.json", factor=0.5, moment=1795168700))
        out = self.hone("cache", "merge", newer, older, COLUMNS="").stdout
        self.assertIn(f"{newer}: 16 records, 0 images\n1 tuning with another result here; own measurements count, "
                      "else the newest verified session:\n", out)
        lines = out.splitlines()
        self.assertRegex(lines[3], "^other point .*BLOCK 128 -> 256 .* file counts")
        self.assertRegex(lines[7], "^faster .*here counts")
        [tuning] = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        self.assertEqual(tuning["best"]["point"]["BLOCK"], 256)
        self.hone("cache", "import", "--own", self.recording("own.json", factor=2, moment=1795168600))
        [tuning] = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        self.assertEqual(tuning["best"]["point"]["BLOCK"], 128, "measured here, although it is older")

    def test_merge_again_adds_nothing(self):
        self.hone("cache", "import", self.recording("a.json"))
        other = self.cache_of("other.db", self.recording("b.json", best=256, moment=1795168900))
        self.hone("cache", "merge", other)
        self.assertEqual(self.hone("cache", "merge", other).stdout, f"{other}: all of it was there already\n")
        [file] = json.loads(self.hone("cache", "merge", other, "--json").stdout)["files"]
        self.assertEqual((file["known"], file["records"], file["conflicts"]), (True, 0, []))

    def test_prune_asks_what(self):
        self.hone("cache", "import", self.recording("a.json"))
        self.fails(2, "hone: nothing is chosen: say what to remove with --stale, --simulated, --older-than DAYS or "
                   "--images", "cache", "prune")

        self.assertIn("--older-than: found '0', expected a number above 0\n",
                      self.hone("cache", "prune", "--older-than", "0", expect=2).stderr)

    def test_prune_stale(self):
        self.hone("cache", "import", self.recording("a.json"))
        self.hone("cache", "import", self.recording("b.json", driver="590.1", moment=1795168900))
        self.assertEqual(self.hone("cache", "prune", "saxpy", "--stale", "--dry-run").stdout,
                         "would remove 1 session with 16 records, and 0 compiled kernels (0 B)\n")
        self.assertEqual(self.counts("record"), 32)
        self.assertEqual(self.hone("cache", "prune", "--stale").stdout,
                         "removed 1 session with 16 records, and 0 compiled kernels (0 B)\n")
        self.assertEqual((self.counts("record"), self.counts("(SELECT DISTINCT version FROM session)")), (16, 1))
        self.hone("cache", "check")

    def pruned(self, *options):
        """What was said, and the sessions that are left: of two versions, the older with an image, an old and a new one of the newer,
        and a simulated one."""
        self.cache.unlink(missing_ok=True)
        for name, driver, moment in (("a.json", "580.1", 1000), ("b.json", "590.1", 2000), ("c.json", "590.1", 3000)):
            self.hone("cache", "import", self.recording(name, driver=driver, moment=1795160000 + moment))
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.recording("d.json"), "--quiet")
        self.forge("UPDATE session SET started = 1795160000 + 1000 * id")
        self.forge("INSERT INTO image SELECT kernel, problem, task, version, 'BLOCK=64', 'saxpy', CAST('cubin' AS BLOB), '', 0 "
                   "FROM session WHERE id = 1")
        said = self.hone("cache", "prune", *options).stdout
        self.assertEqual(self.counts("record"), 16 * self.counts("session"))
        return said, [row for row, in self.sql("SELECT id FROM session ORDER BY id")], self.counts("image")

    def test_prune_keeps_what_counts(self):
        """A stale version goes with its images, and all but the best whatever its age; what is simulated only where it is said."""
        self.assertEqual(self.pruned("--stale"), ("removed 1 session with 16 records, and 1 compiled kernel (5 B)\n", [2, 3, 4], 0))
        self.assertEqual(self.pruned("--older-than", "1"), ("removed 2 sessions with 32 records, and 1 compiled kernel (5 B)\n", [3, 4], 0))
        self.assertEqual(self.pruned("--simulated"), ("removed 1 session with 16 records, and 0 compiled kernels (0 B)\n", [1, 2, 3], 1))
        self.assertEqual(self.pruned("--images"), ("removed 0 sessions with 0 records, and 1 compiled kernel (5 B)\n", [1, 2, 3, 4], 0))

    def test_prune_of_an_unknown_kernel(self):
        self.hone("cache", "import", self.recording("a.json"))
        self.fails(3, f"hone: cache '{self.cache}' has no valid result of 'sgemm'; it has: saxpy", "cache", "prune", "sgemm",
                   "--stale")
