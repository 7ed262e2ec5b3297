# SPDX-License-Identifier: MIT
"""What hone waits for, on the driver double: the first signal ends it, with 128 + n, and the turn on the GPU is announced."""

import fcntl
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import time

import double
import hone

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# It is a second where nothing else runs; each wait here takes a minute and more.
ENDED_WITHIN_S = 30


class Waits(double.Case):
    def ends(self, process, number, expect=None):
        """The signal ends it, with 128 + n; what it says on stderr."""
        sent = time.monotonic()
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
        self.assertLess(time.monotonic() - sent, ENDED_WITHIN_S)
        self.assertEqual(process.returncode, 128 + number, errors)
        self.assertRegex(errors, expect or "hone: interrupted")
        return errors

    def lock_path(self):
        """Of the double's GPU, made by a first tune."""
        self.cheap_config(4, 4)
        self.tune("-s", "BLOCK=1,ITEMS=1", "--cache", self.folder / "first.db")
        lock, = self.folder.glob("hone-GPU-*.lock")
        return lock

    def wait_for_worker(self, process, role):
        self.wait_for(lambda: role in double.workers_of(process.pid).values(), f"no {role} worker")

    def test_for_the_gpu(self):
        with open(self.lock_path()) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for number in SIGNALS:
                with self.subTest(number):
                    process = self.start("tune", self.config, "--full", "--events", self.events)
                    line = ""
                    while "waiting" not in line:
                        line = process.stderr.readline()
                        self.assertNotEqual(line, "")
                    # The holder is whoever had it last, as nobody else has written.
                    self.assertRegex(line, r"waiting for the GPU: process \d+ has it since \d\d:\d\d:\d\d")
                    self.ends(process, number)

    def test_for_the_gpu_by_other_commands(self):
        lock = self.lock_path()
        for command, said in (("run", self.config, "-s", "BLOCK=1,ITEMS=1"), "outcome      ok"), \
                (("replay", self.config, "--cache", self.folder / "first.db"), "verdict   holds"):
            with self.subTest(command[0]):
                with open(lock, "r+") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    file.write(f"{os.getpid()} {int(time.time())}\n")
                    file.flush()
                    process = self.start(*command)
                    line = process.stderr.readline()
                    self.assertRegex(line, rf"^waiting for the GPU: process {os.getpid()} has it since \d\d:\d\d:\d\d$")
                output, errors = self.ended(process)
                self.assertEqual(errors, "")
                self.assertIn(said, output)

    def test_for_a_driver_that_hangs(self):
        process = self.start("tune", self.config, "--quiet", HONE_DOUBLE_INIT_MS="100000")
        self.wait_for_worker(process, "gpu")
        time.sleep(1)
        self.ends(process, signal.SIGINT, "^hone: interrupted\n$")

    def test_for_workers_that_do_not_start(self):
        process = self.start("tune", self.config, "--quiet", HONE_DOUBLE_INIT_MS="1000", HONE_DOUBLE_COMPILING="FAULT=0: 600000")
        self.wait_for_worker(process, "compile")
        end = time.monotonic() + 2
        while time.monotonic() < end:  # more of them are started as more is to be compiled
            for pid, role in double.workers_of(process.pid).items():
                if role == "compile":
                    os.kill(pid, signal.SIGSTOP)
            time.sleep(0.01)
        self.ends(process, signal.SIGTERM)

    def test_for_a_compiler(self):
        for command in (["tune", self.config], ["compile", self.config, "--arch", "sm_90", "--all"]):
            with self.subTest(command[0]):
                process = self.start(*command, "--quiet", "--jobs", "1", HONE_DOUBLE_COMPILING="FAULT=0: 600000")
                self.wait_for_worker(process, "compile")
                time.sleep(1)
                self.ends(process, signal.SIGHUP)

    def test_for_the_cache(self):
        self.cheap_config(8, 16)
        process = self.start("tune", self.config, "--quiet", "--full", "--events", self.events, HONE_DOUBLE_WAIT_US="1000")
        self.wait_for_events(5, process)
        database = sqlite3.connect(self.cache, timeout=20, isolation_level=None)
        self.addCleanup(database.close)
        database.execute("BEGIN IMMEDIATE")
        time.sleep(1)
        self.assertIsNone(process.poll())
        self.ends(process, signal.SIGINT, rf"hone: interrupted while cache '{re.escape(str(self.cache))}' was locked by another "
                                          "process; what it was to be given last is not kept\n$")

    def nothing_is_late(self, hold_up, let_go):
        """Though hone is held up twice for longer than a point may run."""
        points = self.cheap_config(8, 8)
        process = self.start("tune", self.config, "--full", "--json", "--quiet", "--run-timeout", "2", "--events", self.events,
                             HONE_DOUBLE_WAIT_US="1000")
        for seen in (4, 24):
            self.wait_for_events(seen, process)
            hold_up(process)
            time.sleep(2.5)
            let_go(process)
        result, = json.loads(process.communicate()[0])
        self.assertEqual(result["outcomes"], {"ok": points})

    def test_of_hone_itself_make_no_worker_late(self):
        """What workers sent while another process had the cache locked is read before their time is held against them."""
        database = sqlite3.connect(self.cache, timeout=20, isolation_level=None)
        self.addCleanup(database.close)
        self.nothing_is_late(lambda _: database.execute("BEGIN IMMEDIATE"), lambda _: database.execute("ROLLBACK"))

    def test_of_a_whole_job_are_no_time_of_a_point(self):
        """As where Slurm suspends it, or docker."""
        def signal_all(process, number):
            for pid in (process.pid, *double.workers_of(process.pid)):
                os.kill(pid, number)

        self.nothing_is_late(lambda process: signal_all(process, signal.SIGSTOP), lambda process: signal_all(process, signal.SIGCONT))


class Lock(double.Case):
    """The lock of a GPU is one for all users of the machine."""

    def tune_without_folder(self, **changes):
        settings = self.environment(**changes)
        del settings["HONE_LOCKS"]
        return subprocess.run([hone.HONE, "tune", str(self.config), "-s", "BLOCK=32,ITEMS=1", "--full"], cwd=self.folder, env=settings, text=True, capture_output=True, timeout=120)

    def test_is_in_one_place(self):
        """Whatever TMPDIR says; for the double of this test, whose device nobody else has."""
        serial = str(int.from_bytes(os.urandom(7), "big"))
        devices = self.hone("device", "--json", HONE_DOUBLE_SERIAL=serial)
        path = pathlib.Path(f"/tmp/hone-{json.loads(devices.stdout)['devices'][0]['uuid']}.lock")
        self.addCleanup(path.unlink, missing_ok=True)
        mask = os.umask(0o077)
        try:
            self.assertEqual(self.tune_without_folder(HONE_DOUBLE_SERIAL=serial, TMPDIR=str(self.folder)).returncode, 0)
        finally:
            os.umask(mask)
        self.assertEqual(path.stat().st_mode & 0o777, 0o666)
        self.assertEqual(list(self.folder.glob("*.lock")), [])

    def test_a_file_system_without_locks(self):
        self.write("flock.c", "#include <errno.h>\nint flock(int file, int how) { errno = ENOSYS; return -1; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "flock.so", "flock.c"], cwd=self.folder, check=True)
        said = self.hone("run", self.config, LD_PRELOAD=self.folder / "flock.so").stderr
        self.assertIn(" cannot be used: Function not implemented; tuners that run at once disturb", said)
        self.assertNotIn("waiting for the GPU", said)

    def test_touches_nothing_that_was_laid_there(self):
        victim = self.folder / "victim"
        victim.write_text("precious")
        lock = self.folder / "hone-GPU-d0112233-4455-6677-8899-aabbccddeeff.lock"
        for lay, fault in ((lambda: lock.symlink_to(victim), "it is a symbolic link"),
                           (lambda: lock.hardlink_to(victim), "it has another name, too"),
                           (lambda: os.mkfifo(lock), "it is no regular file"),
                           (lambda: lock.mkdir(), "Is a directory")):
            with self.subTest(fault):
                lay()
                result = self.hone("tune", self.config, "-s", "BLOCK=32,ITEMS=1", "--full")
                self.assertIn(f"hone: warning: the GPU's lock '{lock}' cannot be used: {fault}; tuners that run at once disturb "
                              "each other's times: remove it, or set HONE_LOCKS to a folder that they all can write\n", result.stderr)
                self.assertEqual(victim.read_text(), "precious")
                lock.rmdir() if lock.is_dir() else lock.unlink()
                self.cache.unlink()
