# SPDX-License-Identifier: MIT
"""Problems, and models of GPUs, that `hone tune --workers` searches side by side, on the driver double."""

import json
import os
import pathlib
import signal

import double
import hosts


class Spread(hosts.Workers):
    def problems(self, *sizes, block=6, items=6):
        points = self.cheap_config(block, items)
        text = self.config.read_text()
        self.config.write_text(text.replace("{n: 64}", json.dumps([{"n": n} for n in sizes]).replace('"', "")))
        return points

    def read(self, kind):
        return [event for event in map(json.loads, self.events.read_text().splitlines()) if event["event"] == kind]

    def records_of(self, n, final=False):
        return [event["record"] for event in self.read("record") if event["problem"] == {"n": n} and event["record"]["final"] == final]


class Problems(Spread):
    def test_side_by_side(self):
        """As many searches as cards, each raced on a card of its own; who is left joins; each as it would be alone."""
        sizes = [64, 128, 256, 512]
        self.problems(*sizes)
        search = ("--strategy", "genetic", "--budget", "30", "--stop-chance", "0", "--events", self.events)
        result = self.hone("tune", self.config, "--json", *search, "--workers", "local: gpus=all compile=2", HONE_DOUBLE_COUNT="3",
                           HONE_DOUBLE_SLOWNESS="1,1.1,1.2", HONE_DOUBLE_WAIT_US="2000")
        self.assertIn("problems are searched side by side, each on GPUs of its own\n", result.stderr)
        self.assertEqual([tuned["problem"] for tuned in json.loads(result.stdout)], [{"n": n} for n in sizes])
        order = [(event["event"], event["problem"]["n"]) for event in map(json.loads, self.events.read_text().splitlines())
                 if event["event"] in ("start", "end")]
        self.assertEqual(sorted(order[:3]), [("start", n) for n in sizes[:3]])
        self.assertEqual(order[3][0], "end")
        first = {n: self.records_of(n)[0]["card"] for n in sizes[:3]}
        self.assertEqual(len(set(first.values())), 3)
        for n in sizes[:3]:
            self.assertEqual({record["card"] for record in self.records_of(n, final=True)} | {first[n]}, {first[n]})
            self.assertEqual({record.get("ratio", 1) for record in self.records_of(n) if record["card"] == first[n]}, {1})
        searched = {double.name(record["point"]) for record in self.records_of(128)}
        self.events.unlink()
        self.tune(*search, "-p", "n=128", "--cache", self.folder / "alone.db")
        self.assertEqual({double.name(record["point"]) for record in self.records_of(128)}, searched)

    def test_cards_join_the_last(self):
        self.problems(64, 128, block=8, items=16)
        result = self.hone("tune", self.config, "--full", "--events", self.events, "--workers", "local: gpus=all compile=2",
                           "-p", "n=64", HONE_DOUBLE_COUNT="3", HONE_DOUBLE_WAIT_US="2000")
        self.assertNotIn("side by side", result.stderr)
        self.assertEqual(len({record["card"] for record in self.records_of(64)}), 3)

    def test_a_problem_that_cannot_be_tuned(self):
        """Another card tries it, too; the others are tuned all the same, by all cards."""
        sizes = (1 << 30, 64, 1 << 29, 128)
        self.problems(*sizes)
        for cards in ("1", "2"):
            result = self.hone("tune", self.config, "--json", "--quiet", "--workers", "local: gpus=all compile=2", "--cache",
                               self.folder / f"{cards}.db", expect=1, HONE_DOUBLE_COUNT=cards)
            self.assertEqual([(found["problem"]["n"], found["best"] is None) for found in json.loads(result.stdout)],
                             [(n, n > 128) for n in sizes])
            for n in sizes[::2]:
                self.assertEqual(result.stderr.count(f"hone: n={n}: the buffers do not fit: "), 1)
            self.assertNotIn("was not used", result.stderr)
            self.assertTrue(result.stderr.endswith("\nhone: not every problem could be tuned, as is told above\n"), result.stderr)

    def test_who_compiles_comes_last(self):
        points = self.problems(64, block=4, items=4)
        slow = self.launcher("slow", "sleep 1.5\nexec \"$@\"\n")
        self.assert_all_measured(self.begin(self.list_hosts({"run": "env", "gpus": 1, "compile": 0}, {"run": slow, "gpus": 0, "compile": 1})), points)

    def test_interrupted_and_resumed(self):
        sizes = (64, 128, 256)
        points = self.problems(*sizes)
        process = self.begin("local: gpus=all compile=2", HONE_DOUBLE_COUNT="2", HONE_DOUBLE_WAIT_US="1000")
        self.wait_for_events(24, process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
        self.assertEqual((process.returncode, errors), (130, "hone: interrupted; what was finished is kept, and the same command goes on from there\n"))
        self.assertEqual(output.count("scale n="), 2)
        before = double.searched(self.read_events())
        self.events.unlink()
        results = self.tune("--full", "--events", self.events, "--workers", "local: gpus=all compile=2", HONE_DOUBLE_COUNT="2")
        self.assertEqual([tuned["outcomes"] for tuned in results], [{"ok": points}] * 3)
        self.assertEqual(len(before) + len(double.searched(self.read_events())), 3 * points)

    def test_a_host_is_lost(self):
        """For good: another card takes its problem up where it was left."""
        sizes = (64, 128)
        points = self.problems(*sizes)
        once = self.launcher("once", "mkdir started 2>/dev/null || exit 9\nexec \"$@\"\n")
        workers = self.list_hosts({"run": once, "gpus": 1, "compile": 1}, {"run": "env CUDA_VISIBLE_DEVICES=1", "gpus": 1, "compile": 1})
        process = self.begin(workers, HONE_DOUBLE_COUNT="2", HONE_DOUBLE_WAIT_US="1000")
        self.wait_for_events(16, process)
        for pid in self.pids("node"):
            if b"CUDA_VISIBLE_DEVICES=1" not in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        self.assertRegex(errors, "^hone: warning: host [^ ]+ was left out: its launcher ended with exit status 9; ")
        self.assertEqual(process.returncode, 0)
        self.assertEqual(len(double.searched(self.read_events())), len(sizes) * points)


class Models(Spread):
    def test_unlike_ones(self):
        """Each has its own winner, raced on its own card, and what one found out at a problem leads the other's search."""
        self.problems(64, 128, 256, 512)
        workers = self.list_hosts({"run": "env", "gpus": 1, "compile": 1},
                                  {"run": "env HONE_DOUBLE_NAME=Other CUDA_VISIBLE_DEVICES=1", "gpus": 1, "compile": 1})
        result = self.hone("tune", self.config, "--json", "--stop-chance", "0", "--budget", "24", "--events", self.events, "--workers", workers,
                           HONE_DOUBLE_COUNT="2", HONE_DOUBLE_WAIT_US="1000")
        results = json.loads(result.stdout)
        self.assertEqual([(tuned["device"], tuned["problem"]["n"]) for tuned in results],
                         [(device, n) for device in ("Hone Double", "Other") for n in (64, 128, 256, 512)])
        begun = [(event["device"], event["problem"]["n"]) for event in self.read("start")]
        self.assertEqual([n for device, n in begun if device == "Hone Double"], [64, 128, 256, 512])
        self.assertEqual([n for device, n in begun if device == "Other"], [256, 512, 64, 128])
        for device in ("Hone Double", "Other"):
            card = {event["record"]["card"] for event in self.read("record") if event["device"] == device}
            self.assertEqual(len(card), 1)
        self.assertRegex(result.stderr, r"tuning scale n=64 on Other \(GPU 0 of host [^)]+\): 36 points; [1-3] earlier tunings? of it leads? the search")
