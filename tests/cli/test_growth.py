# SPDX-License-Identifier: MIT
"""Many variants through one tune: memory and descriptors stay what they are. Prints what hone itself costs a point.
HONE_POINTS sets how many, at most 20,000."""

import os
import time

import double

POINTS = int(os.environ.get("HONE_POINTS", "400"))

# What a point may add to the memory of hone itself: a ticket, its packed point, its machine code's hash. SQLite's page
# cache fills up meanwhile.
HONE_BYTES_A_POINT = 150
HONE_BYTES = min(POINTS, 800) * (5 << 19) // 800
# What a worker may grow by in all: the allocators' pools, no more.
WORKER_BYTES = min(POINTS, 800) * (4 << 20) // 800


class Sample:
    """What /proc tells of a process: memory, descriptors, processor time."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        self.rss = int(fields["VmRSS"].split()[0]) * 1024
        self.descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        with open(f"/proc/{pid}/stat") as file:
            times = file.read().rpartition(")")[2].split()
        self.cpu_s = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


class Growth(double.Case):
    def watch(self, process, sampled):
        """Notes (events so far, Sample) of hone and of each worker until hone ends."""
        while process.poll() is None:
            roles = {process.pid: "hone", **double.workers_of(process.pid)}
            for pid, role in roles.items():
                try:
                    sample = Sample(pid)
                except (OSError, KeyError, ValueError):
                    continue
                # Counted behind the sample, so that none of the final race is taken for one of the search.
                done = self.events.read_bytes().count(b"\n") if self.events.exists() else 0
                sampled.setdefault((role, pid), []).append((done, sample))
            time.sleep(POINTS / 20000 * 0.5 + 0.05)

    def test_many_points(self):
        block = -(-POINTS // 20)
        points = self.cheap_config(block, 20)
        process = self.start("tune", self.config, "--quiet", "--full", "--events", self.events)
        sampled = {}
        self.watch(process, sampled)
        _, errors = process.communicate()
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertEqual(len(double.searched(self.read_events())), points)

        told = []
        peaks = {}
        for (role, _), samples in sampled.items():
            for done, sample in samples:
                # The final race loads several modules at once; it is no part of the search.
                if done <= points:
                    rss, descriptors = peaks.setdefault((role, done > points // 4), (0, 0))
                    peaks[role, done > points // 4] = max(rss, sample.rss), max(descriptors, sample.descriptors)
        for role, limit in (("hone", HONE_BYTES + HONE_BYTES_A_POINT * points * 3 // 4), ("compile", WORKER_BYTES), ("gpu", WORKER_BYTES)):
            with self.subTest(role=role):
                early, late = peaks[role, False], peaks[role, True]
                told.append(f"{role}: at most {early[0] >> 10} KiB in the first quarter, {late[0] >> 10} KiB after it; "
                            f"{early[1]} and {late[1]} descriptors")
                self.assertLess(late[0] - early[0], limit)
                # The cache's journal may come and go.
                self.assertLessEqual(late[1], early[1] + 1)
        hone = next(samples for (role, _), samples in sampled.items() if role == "hone")
        cpu_s = hone[-1][1].cpu_s / points
        told.append(f"hone itself: {cpu_s * 1e3:.2f} ms of processor time a point")
        if POINTS > 400:
            print(f"\n{points} points\n  " + "\n  ".join(told))
