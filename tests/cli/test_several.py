# SPDX-License-Identifier: MIT
"""Several tuners on one cache and one GPU at once. HONE_RECORDS sets how many records each of them makes."""

import collections
import fcntl
import os
import time

import double

RECORDS = int(os.environ.get("HONE_RECORDS", "150"))
LONGEST_PART = 0.4  # of the time that all take, however busy the machine: less than when one waits for another's end


class Several(double.Case):
    def start_tuner(self, number, *arguments):
        events = self.folder / f"events{number}.jsonl"
        return self.start("tune", self.config, "--quiet", "--full", "--jobs", "1", "--events", events, *arguments), events

    def hold_gpu(self):
        """Nobody measures before the file that this returns is closed."""
        done, = self.tune("-s", "BLOCK=1,ITEMS=1", "--cache", self.folder / "first.db")
        self.assertEqual(done["outcomes"], {"ok": 1})
        lock, = self.folder.glob("hone-GPU-*.lock")
        file = open(lock)
        self.addCleanup(file.close)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def test_one_cache(self):
        """Two that search one problem in different orders, two with a problem of their own."""
        self.cheap_config(-(-RECORDS * 2 // 16), 16)
        problems = (64, 64, 65, 66)
        budget = ["--strategy", "random", "--budget", RECORDS]
        with self.hold_gpu():  # until all have read the cache: what it has is not measured again
            tuners = [self.start_tuner(i, *budget, "--seed", i + 1, "-p", f"n={n}") for i, n in enumerate(problems)]
            for process, events in tuners:
                self.wait_for(lambda: events.exists() and '"start"' in events.read_text() or process.poll(), "it has begun")
        for process, _ in tuners:
            output, errors = process.communicate(timeout=600)
            self.assertEqual((process.returncode, errors), (0, ""))

        longest, everything = 0, []
        told = collections.Counter()
        for _, events in tuners:
            records = [record for record in self.read_events(events) if not record["final"]]
            failed = [record for record in records if record["outcome"] != "ok"]
            self.assertEqual(failed, [])
            self.assertEqual(len({double.name(record["point"]) for record in records}), RECORDS)
            told.update(f"{double.name(record['point'])}@{record['time']:.6f}" for record in records)
            times = sorted(record["time"] for record in records)
            everything += times
            longest = max([longest] + [later - earlier for earlier, later in zip(times, times[1:])])

        kept = collections.Counter()
        for point, at in self.sql("SELECT point, json_extract(json, '$.time') FROM record WHERE NOT final"):
            kept[f"{point}@{at:.6f}"] += 1
        self.assertEqual(kept, told, "what was told and what is kept differ")
        # Of two races of one problem the slower may not count, and the better one may be kept again, behind the other session.
        searched = "(SELECT DISTINCT session_id, point FROM record WHERE NOT final)"
        self.assertEqual(self.sql(f"SELECT count(*), count(DISTINCT session_id) FROM {searched}"), [(len(problems) * RECORDS, len(problems))])
        self.assertIn(self.sql("SELECT count(*) FROM session"), ([(len(problems),)], [(len(problems) + 1,)]))
        self.assertEqual(self.sql("PRAGMA integrity_check"), [("ok",)])
        self.hone("cache", "check")
        if RECORDS > 150 or double.ON_GPU:
            print(f"\n{len(problems)} tuners, {RECORDS} records each; the longest time without a record: {longest:.2f} s")
        self.assertLess(longest, LONGEST_PART * (max(everything) - min(everything)))

    def test_turns(self):
        """While another holds the GPU nothing is measured, and no time limit runs."""
        self.cheap_config(4, 4)
        with self.hold_gpu():
            process = self.start("tune", self.config, "--quiet", "--full", "--run-timeout", "1", "--events", self.events)
            time.sleep(2)
            self.assertIsNone(process.poll())
            self.assertEqual(self.read_events(), [])
        self.assertEqual(self.ended(process)[1], "")
        self.assertEqual([record["outcome"] for record in self.read_events()][:16], ["ok"] * 16)

    def test_turns_in_the_middle(self):
        self.cheap_config(8, 16)
        process = self.start("tune", self.config, "--quiet", "--full", "--run-timeout", "1", "--events", self.events, HONE_DOUBLE_WAIT_US="1000")
        self.wait_for_events(10, process)
        lock, = self.folder.glob("hone-GPU-*.lock")
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = len(self.read_events())
            time.sleep(1.5)
            # One that was measured already may still be told.
            self.assertLessEqual(len(self.read_events()), before + 1)
        self.assertEqual(self.ended(process)[1], "")
        self.assertEqual({record["outcome"] for record in self.read_events()}, {"ok"})
