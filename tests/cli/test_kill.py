# SPDX-License-Identifier: MIT
"""kill -9 at random moments of a tune: of hone, of a compile worker, of the GPU worker. HONE_KILLS sets how many."""

import os
import pathlib
import random
import shutil
import signal
import time

import double
import hosts

# Each point takes some ms of no processor, so that there is time for what is done meanwhile.
os.environ["HONE_DOUBLE_WAIT_US"] = "200"
KILLS = int(os.environ.get("HONE_KILLS", "8"))
SEED = 20261121


def signal_quietly(pid, number):
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


class Kill(double.Case):
    """One undisturbed tune tells what every disturbed one has to find."""

    def setUp(self):
        super().setUp()
        self.points = self.cheap_config(6, 8)
        started = time.monotonic()
        # In full: what is stopped early depends on what was measured before it.
        self.expected, = self.tune("--full", "--cache", self.folder / "undisturbed.db")
        self.duration_s = time.monotonic() - started
        self.random = random.Random(SEED)
        self.lost = []      # age of records that were told and not kept, when the last was told
        self.ended_s = []   # from the kill of hone to the end of its last worker

    def forget(self):
        for path in self.folder.glob("hone.db*"):
            path.unlink()
        self.events.unlink(missing_ok=True)

    def begin(self):
        return self.start("tune", self.config, "--quiet", "--full", "--events", self.events)

    def wait_until(self, process, moment_s):
        """Or its end: then tunes take no longer than that, as where the first one had a busier machine."""
        begun = time.monotonic()
        while process.poll() is None and time.monotonic() - begun < moment_s:
            time.sleep(0.001)
        if process.poll() is not None:
            self.duration_s = min(self.duration_s, time.monotonic() - begun)

    def pick_worker(self, process, role):
        """A worker of this role, waited for if there is none yet; None when hone has ended."""
        while process.poll() is None:
            workers = [pid for pid, its_role in double.workers_of(process.pid).items() if its_role == role]
            if workers:
                return self.random.choice(sorted(workers))
        return None

    def assert_no_orphans(self, ended):
        """Returns how long after hone's end its last worker ended."""
        self.wait_for(lambda: not hosts.processes(self.folder), "workers outlive hone")
        return time.monotonic() - ended

    def assert_kept(self, told):
        """What was told is in the cache, but for the last of it, which was in flight."""
        # Before anything is told the tables may not be there yet.
        kept = {point for point, in self.sql("SELECT point FROM record")} if told and self.cache.exists() else set()
        order = list(dict.fromkeys(double.name(record["point"]) for record in told))
        there = [name in kept for name in order]
        self.assertEqual(there, sorted(there, reverse=True), "a record is lost that was told before one that is kept")
        for record in told:
            if double.name(record["point"]) not in kept:
                self.lost.append(told[-1]["time"] - record["time"])

    def assert_complete(self, result):
        self.assertEqual(result["outcomes"], self.expected["outcomes"])
        if not double.ON_GPU:  # where the best of such small work is a matter of luck
            self.assertEqual(result["best"]["point"], self.expected["best"]["point"])
        twice = self.sql("SELECT session_id, point, final, count(*) FROM record GROUP BY 1, 2, 3 HAVING count(*) > 1")
        self.assertEqual(twice, [])
        again = self.sql("SELECT point FROM record WHERE NOT final GROUP BY point HAVING count(DISTINCT session_id) > 1")
        self.assertEqual(again, [], "measured again in the second session")
        self.hone("cache", "check")

    def kill_hone(self, moment_s):
        process = self.begin()
        self.wait_until(process, moment_s)
        in_time = process.poll() is None
        process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        process.communicate()
        self.ended_s.append(self.assert_no_orphans(killed))
        self.assert_kept(self.read_events())
        if self.cache.exists() and self.cache.stat().st_size > 0:
            self.hone("cache", "check")
        result, = self.tune("--full")
        self.assert_complete(result)
        return in_time

    def kill_worker(self, role, moment_s):
        """The tune goes on without the worker; what it had in hand is tried again."""
        process = self.begin()
        self.wait_until(process, moment_s)
        worker = self.pick_worker(process, role)
        in_time = worker is not None and signal_quietly(worker, signal.SIGKILL)
        self.assertEqual(self.ended(process)[1], "")
        self.assert_no_orphans(time.monotonic())
        self.assertEqual(len(double.searched(self.read_events())), self.points)
        result, = self.tune("--full")
        self.assertEqual(result["reused"], self.points)
        self.assert_complete(result)
        return in_time

    def kill(self, target, moment_s):
        return self.kill_hone(moment_s) if target == "hone" else self.kill_worker(target, moment_s)

    def test_the_cache_is_deleted(self):
        """Nothing of it is lost, and it is said."""
        first, = self.tune("-s", "BLOCK=1", "--full")  # what is stopped early is measured again in full
        process = self.begin()
        self.wait_for_events(10, process)
        for path in self.folder.glob("hone.db*"):
            path.unlink()
        _, errors = process.communicate(timeout=120)
        rescued = f"{self.cache}.rescued"
        self.assertEqual((process.returncode, errors), (
            0, f"hone: warning: cache '{self.cache}' was deleted, moved or replaced during the run; all that was in it, and all of "
               f"this run, is in '{rescued}' now: `mv {rescued} {self.cache}` takes it back\n"))
        self.assertFalse(self.cache.exists())
        pathlib.Path(rescued).rename(self.cache)
        result, = self.tune("--full")
        self.assertEqual(result["reused"], self.points)
        self.assert_complete(result)

    def test_the_cache_can_not_be_rescued(self):
        folder = self.folder / "own"
        process = self.start("tune", self.config, "--quiet", "--full", "--events", self.events, "--cache", folder / "hone.db")
        self.wait_for_events(10, process)
        shutil.rmtree(folder)
        folder.touch()
        _, errors = self.ended(process, 1)
        self.assertIn(f"hone: cache '{folder}/hone.db' was deleted, moved or replaced while it was written, and '{folder}/hone.db.rescued' "
                      "cannot be made to go on in: Not a directory\n", errors)

    def test_at_random_moments(self):
        counts = {"hone": 0, "compile": 0, "gpu": 0}
        while sum(counts.values()) < KILLS:
            target = min(counts, key=counts.get)
            moment_s = self.random.uniform(0, self.duration_s)
            with self.subTest(target=target, moment_s=moment_s):
                self.forget()
                # One that comes after the end does not count.
                counts[target] += self.kill(target, moment_s)
        if KILLS > 12 or double.ON_GPU:
            print(f"\n{counts} killed in tunes of {self.duration_s:.1f} s; {len(self.lost)} records in flight lost, the "
                  f"oldest {max(self.lost, default=0) * 1e3:.0f} ms old; the last worker of a killed hone ended after "
                  f"{max(self.ended_s) * 1e3:.0f} ms")

    def test_while_workers_start(self):
        for role in ("compile", "gpu"):
            for moment_s in (0, 0.05):
                with self.subTest(role=role, moment_s=moment_s):
                    self.forget()
                    self.kill_worker(role, moment_s)

    def test_no_zombies(self):
        """A killed worker is waited for as soon as hone sees it."""
        process = self.begin()
        for role in ("compile", "gpu", "compile"):
            self.wait_for_events(5, process)
            worker = self.pick_worker(process, role)
            if worker is None:
                break
            signal_quietly(worker, signal.SIGKILL)
            self.wait_for(lambda: not os.path.exists(f"/proc/{worker}"), f"the {role} worker is a zombie")
        self.assertEqual(self.ended(process)[1], "")
