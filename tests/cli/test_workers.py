# SPDX-License-Identifier: MIT
"""Workers behind launchers (`--workers`), on the driver double: what they find, and what becomes of a tune when they die, hang or are
none."""

import json
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import time
import unittest

import double
import hone
import hosts

KILLS = int(os.environ.get("HONE_KILLS", "3"))

GREETING = "\\nhone-node protocol=%s build=%s host=elsewhere compile=1 gpus=1\\n"


# What srun --unbuffered does: the output of the command is a terminal.
TERMINAL = """\
#!%s
import os, subprocess, sys
ours, theirs = os.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=theirs)
os.close(theirs)
while True:
    try:
        data = os.read(ours, 65536)
    except OSError:
        break
    os.write(1, data)
sys.exit(process.wait())
""" % sys.executable


class Places(hosts.Workers):
    """Where workers can be."""

    def test_launchers(self):
        """One that sets an environment and measures, one that greets visitors and compiles, one that has a terminal."""
        points = self.cheap_config(8, 8)
        welcome = self.launcher("welcome", "echo Welcome to this cluster!\nexec \"$@\"\n")
        terminal = self.write("terminal", TERMINAL)
        terminal.chmod(0o755)
        workers = self.list_hosts({"run": "env HONE_DOUBLE_NAME='Hone Elsewhere'", "gpus": 1, "compile": 0},
                                  {"run": welcome, "gpus": 0, "compile": 1}, {"run": terminal, "gpus": 0, "compile": 1})
        result, = self.tune("--full", "--workers", workers)
        self.assertEqual(result["outcomes"], {"ok": points})
        here = self.list_hosts({"run": terminal, "gpus": 1, "compile": 1})
        result, = self.tune("--full", "--workers", here, "--cache", self.folder / "terminal.db", HONE_DOUBLE_NAME="Hone Elsewhere")
        self.assertEqual(result["outcomes"], {"ok": points})
        self.assertEqual(result["device"], "Hone Elsewhere")

    def test_slurm_and_host_files(self):
        """Stand-ins for srun and ssh, which take what they are given for these."""
        self.cheap_config(2, 2)
        for name, taken in (("srun", "while [ \"${1#-}\" != \"$1\" ]; do shift; done"), ("ssh", "shift 2")):
            self.write(name, f"#!/bin/sh\necho \"$*\" >> {name}.log\n{taken}\nexec \"$@\"\n").chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        result = self.hone("tune", self.config, "--quiet", "--workers", "slurm", expect=2,
                           PATH=path, SLURM_JOB_NUM_NODES="2", SLURM_GPUS_ON_NODE="4")
        self.assertIn("there is no SLURM_JOB_ID with SLURM_JOB_NUM_NODES in the environment", result.stderr)
        self.tune("--workers", "slurm", PATH=path, SLURM_JOB_ID="7", SLURM_JOB_NUM_NODES="2", SLURM_GPUS_ON_NODE="4")
        for node in (0, 1):
            self.assertIn(f"--overlap --nodes=1 --ntasks=1 --relative={node} --unbuffered --gpus-per-node=4 {hone.HONE} worker node count",
                          (self.folder / "srun.log").read_text())
        machines = self.write("machines", "# ours\ngpu7 slots=2 max_slots=8\n\ngpu8:1\n")
        self.tune("--workers", f"hostfile:{machines}", "--cache", self.folder / "second.db", PATH=path)
        self.assertEqual(sorted((self.folder / "ssh.log").read_text().splitlines()),
                         [f"-T gpu{i} {hone.HONE} worker node count" for i in (7, 8)])

    def test_containers(self):
        """Stand-ins for what starts processes in containers: each takes what it is given for these, and nothing of the environment gets there."""
        points = self.cheap_config(4, 4)
        names = ("TMPDIR", "HONE_LOCKS", "LD_LIBRARY_PATH", *({"HONE_NVRTC", "HONE_DOUBLE_KEPT"} & set(os.environ)))
        inside = " ".join(f"{name}={shlex.quote(self.environment()[name])}" for name in names)
        runs = {"kubectl": ("exec -i pod-7 --", 4), "docker": ("run -i --rm --gpus all image", 6), "apptainer": ("exec --nv image.sif", 3)}
        for name, (words, count) in runs.items():
            self.write(name, f"#!/bin/sh\necho \"$*\" >> {self.folder}/{name}.log\nshift {count}\ncd /\nexec env -i PATH=/usr/bin:/bin {inside} \"$@\"\n").chmod(0o755)
        workers = self.list_hosts(*({"run": f"{name} {words}", "gpus": int(name == "kubectl"), "compile": 1} for name, (words, _) in runs.items()))
        result, = self.tune("--full", "--workers", workers, PATH=f"{self.folder}:{os.environ['PATH']}")
        self.assertEqual(result["outcomes"], {"ok": points})
        for name, (words, _) in runs.items():
            self.assertEqual((self.folder / f"{name}.log").read_text(), f"{words} {hone.HONE} worker node\n")

    def test_the_first_is_none(self):
        """The next that has a GPU leads; a host without one compiles."""
        self.cheap_config(4, 4)
        workers = self.list_hosts({"run": "false"}, {"run": "env LD_LIBRARY_PATH=", "compile": 1}, {"run": "env CUDA_VISIBLE_DEVICES=1", "compile": 0})
        result = self.hone("tune", self.config, "--full", "--quiet", "--workers", workers, HONE_DOUBLE_COUNT="2")
        self.assertIn("16 ok  (16 of 16 points)", result.stdout)
        self.assertRegex(result.stdout, r"\n  [^ ]+ GPU-d1[-0-9a-f]+: 16 points\n")
        self.assertEqual(result.stdout.count("GPU-"), 1)
        self.assertRegex(result.stderr, "^hone: warning: host false was left out: [^\n]*\n$")

    def test_what_is_there(self):
        self.hone("device", "--measure", HONE_DOUBLE_COUNT="1")
        workers = self.list_hosts({"run": "env CUDA_VISIBLE_DEVICES=1,0", "compile": 3}, {"run": "false"}, {"gpus": 0, "compile": 1})
        text = self.hone("device", "--workers", workers, HONE_DOUBLE_COUNT="2").stdout.splitlines()
        host = os.uname().nodename.partition(".")[0]
        self.assertEqual([text[0], text[3][:20], text[4]], [f"{host}: 3 compile workers", "false: its launcher ", f"{host}: 1 compile worker"])
        for line, start in zip(text[1:3], ("  GPU 0   Hone Double, 16 SMs, 1980 MHz, ", "  GPU 1   Hone Double, 16 SMs, 1980 MHz, ")):
            self.assertTrue(line.startswith(start), line)
            self.assertIn("; at best copy ", line)
        document = json.loads(self.hone("device", "--workers", "local: gpus=1", "--json", HONE_DOUBLE_COUNT="2").stdout)
        self.assertEqual([device["name"] for device in document["hosts"][0]["devices"]], ["Hone Double"])
        result = self.hone("device", "--workers", self.list_hosts({"run": "false"}), expect=1)
        self.assertIn("no host of --workers can be used", result.stderr)

    def test_install(self):
        """Where there is no Hone: taken there, run, gone. As ssh does, which hands one line to a shell."""
        points = self.cheap_config(4, 4)
        elsewhere = self.launcher("elsewhere", f"[ \"$*\" = sh ] || {{ echo no hone here >&2; exit 127; }}\nexec env TMPDIR={self.folder}/there sh -c \"$*\"\n")
        (self.folder / "there").mkdir()
        workers = self.list_hosts({"run": elsewhere, "gpus": 1, "compile": 1})
        self.assertIn("no hone here", self.hone("device", "--workers", workers, expect=1).stdout)
        self.assertIn("Hone Double", self.hone("device", "--workers", workers, "--install").stdout)
        result, = self.tune("--full", "--workers", workers, "--install")
        self.assertEqual(result["outcomes"], {"ok": points})
        self.assertEqual(list((self.folder / "there").iterdir()), [])
        full = self.list_hosts({"run": self.launcher("full", "exec env TMPDIR=/nowhere sh\n"), "gpus": 1})
        self.assertIn("left out: its launcher ended with exit status 1; it last printed: mktemp: ",
                      self.hone("tune", self.config, "--workers", full, "--install", expect=1).stderr)
        for command in (["tune", self.config], ["device"]):
            self.assertIn("--install is an option of --workers", self.hone(*command, "--install", expect=2).stderr)

    def test_data_files(self):
        """Read where they are the same as here; what a host lacks goes over, and is gone with the agent."""
        config = self.folder / "inputs.yaml"
        config.write_text(config.read_text().replace("count: 4, file: inputs.bin", 'count: 2000000, file: "own{n}.bin"'))
        (self.folder / "own5000.bin").symlink_to("/proc/self/cwd/inputs.bin")  # each process has its own
        data = random.Random(1).randbytes(4000000)
        (self.folder / "inputs.bin").write_bytes(data)
        there, temporary = self.folder / "there", self.folder / "temporary"
        there.mkdir()
        temporary.mkdir()
        sent = self.folder / "sent"
        run = self.launcher("counted", f"cd {there}\ntee {sent} | env TMPDIR=\"$ELSEWHERE\" \"$@\"\n")
        workers = self.list_hosts({"run": run, "gpus": 1, "compile": 1})

        def tune(expect=0, temporary=temporary):
            return self.hone("tune", config, "--quiet", "--workers", workers, "--cache", self.folder / f"{time.monotonic()}.db", expect=expect,
                             ELSEWHERE=temporary)

        for found in (None, data[::-1]):
            if found is not None:
                (there / "inputs.bin").write_bytes(found)
            self.assertIn("2 ok", tune().stdout)
            self.assertEqual(sent.read_bytes().count(data[-1000:]), 1)
            self.assertEqual(list(temporary.iterdir()), [])
        text = "hone: host [^ ]+ does not have the data files of the config as they are where hone runs \\(%s\\): see that its TMPDIR has room, or "
        self.assertRegex(tune(2, "/nowhere").stderr, text % "its contents differ")
        (there / "inputs.bin").unlink()
        self.assertRegex(tune(2, "/nowhere").stderr, text % ".*No such file or directory")
        (there / "inputs.bin").write_bytes(data)
        self.assertIn("2 ok", tune().stdout)
        self.assertEqual(sent.read_bytes().count(data[-1000:]), 0)

    def test_mistakes(self):
        cases = (
            ("local: cpus=2", "--workers: found 'cpus=2', expected gpus=N or compile=N, or all as N"),
            ("local: gpus=-2", "--workers: found gpus=-2, expected all or a number from 0 to 4096"),
            ("local: gpus=0", "--workers names no host with a GPU ('gpus')"),
            ("nowhere.yaml", "nowhere.yaml"),
            (self.write("a.yaml", "workers: [{run: env, gpu: 1}]\n"), "a.yaml:1:22: unknown key 'gpu'; nearest is 'gpus'"),
            (self.write("b.yaml", "workers: [{gpus: many}]\n"), "b.yaml:1:18: found 'many', expected all or a number from 0"),
            (self.write("c.yaml", "workers: []\n"), "c.yaml:1:10: found an empty list, expected a host at least"),
            (f"hostfile:{self.write('d', '-oProxyCommand=x')}", "found '-oProxyCommand=x', expected a host's name"),
        )
        for workers, message in cases:
            with self.subTest(workers=workers):
                result = self.hone("tune", self.config, "--quiet", "--workers", workers, expect=2)
                self.assertIn(message, result.stderr)
        result = self.hone("tune", self.config, "--workers", "local", "--jobs", 2, expect=2)
        self.assertIn("--workers says where to measure and to compile: leave --jobs out", result.stderr)


class Cards(hosts.Workers):
    """Several GPUs of one model."""

    def setUp(self):
        super().setUp()
        self.points = self.cheap_config(8, 12)

    def records(self):
        return [record for record in self.read_events() if not record["final"]]

    def test_all_of_one_machine(self):
        """The slower one's times are brought to the first's; the race is on one."""
        self.tune("--full", "--events", self.events, "--cache", self.folder / "alone.db")
        expected = {double.name(record["point"]): record["timing"]["median_us"] for record in self.records()}
        process = self.begin("local: gpus=all compile=2", HONE_DOUBLE_COUNT="2", HONE_DOUBLE_SLOWNESS="1,1.1", HONE_DOUBLE_WAIT_US="1000")
        self.assert_all_measured(process, self.points)
        first, second = sorted({record["card"] for record in self.records()})
        ratios = {card: {record.get("ratio", 1) for record in self.records() if record["card"] == card} for card in (first, second)}
        self.assertEqual(ratios[first], {1})
        self.assertAlmostEqual(ratios[second].pop(), 1.1, delta=0.005)
        measured = [record["card"] for record in self.records()]
        self.assertGreater(measured.count(second), self.points // 5)
        self.assertEqual({record["card"] for record in self.read_events() if record["final"]}, {first})
        self.assertEqual({record["host"] for record in self.records()}, {os.uname().nodename.partition(".")[0]})
        self.assertRegex(self.hone("cache", "show", "scale").stdout, f"\n +1 .*{os.uname().nodename.partition('.')[0]} {first[:12]}")
        for record in self.records():
            self.assertAlmostEqual(record["timing"]["median_us"] / expected[double.name(record["point"])], 1, delta=0.005)

    def test_hosts_of_one_gpu_each(self):
        """One by number, and one that is named twice."""
        workers = self.list_hosts({"run": "env CUDA_VISIBLE_DEVICES=1", "gpus": 1, "compile": 1},
                                  {"run": "env CUDA_VISIBLE_DEVICES=2", "gpus": 1, "compile": 1},
                                  {"run": "env CUDA_VISIBLE_DEVICES=1,0", "gpus": 1, "compile": 0})
        process = self.begin(workers, HONE_DOUBLE_COUNT="3", HONE_DOUBLE_WAIT_US="1000")
        _, errors = process.communicate(timeout=120)
        host = os.uname().nodename.partition(".")[0]
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(errors, f"hone: warning: GPU 0 of host {host} was not used: it is named twice: it is a card of host {host} too\n")
        self.assertEqual(sorted({record["card"][4:6] for record in self.records()}), ["d1", "d2"])
        self.assertEqual(len(set(double.searched(self.read_events()))), self.points)

    def test_hosts_are_lost(self):
        """The second is back, with what it had in hand measured meanwhile; the first is not, and another leads."""
        once = self.launcher("once", "mkdir started 2>/dev/null || exit 9\nexec \"$@\"\n")
        workers = self.list_hosts({"run": once, "gpus": 1, "compile": 1}, {"run": "env CUDA_VISIBLE_DEVICES=1", "gpus": 1, "compile": 1})
        process = self.begin(workers, HONE_DOUBLE_COUNT="2", HONE_DOUBLE_SLOWNESS="1,1.1", HONE_DOUBLE_WAIT_US="1000")
        self.wait_for_events(30, process)
        agents = {int(pathlib.Path(f"/proc/{pid}/environ").read_bytes().count(b"CUDA_VISIBLE_DEVICES=1")): pid for pid in self.pids("node")}
        os.kill(agents[1], signal.SIGKILL)
        self.wait_for_events(70, process)
        os.kill(agents[0], signal.SIGKILL)
        _, errors = self.ended(process)
        self.assertRegex(errors, "^hone: warning: host [^ ]+ was left out: its launcher ended with exit status 9; ")
        searched = double.searched(self.read_events())
        self.assertEqual((len(searched), len(set(searched))), (self.points, self.points))
        self.assertEqual({record["outcome"] for record in self.read_events()}, {"ok"})
        finals = {(record["card"][4:6], round(record["ratio"], 2)) for record in self.read_events() if record["final"]}
        self.assertEqual(finals, {("d1", 1.1)})

    def test_a_trial_of_a_lost_host(self):
        """A point that is suspected on the second, which is lost in its trial, is acquitted on the first: the time stays the second's."""
        self.config = self.folder / "attributes.yaml"
        self.config.write_text(self.config.read_text().replace("[-1, 0, 100, 101]", "{range: [-1, 61], step: 1}"))
        once = self.launcher("once", "mkdir started 2>/dev/null || exit 9\nexec env CUDA_VISIBLE_DEVICES=1 HONE_DOUBLE_POISON_US=40 \"$@\"\n")
        workers = self.list_hosts({"run": "env CUDA_VISIBLE_DEVICES=0", "gpus": 1, "compile": 1}, {"run": once, "gpus": 1, "compile": 0})
        point = [word for value in ("CLUSTER=1", "COOPERATIVE=false", "SHARED=1024") for word in ("-s", value)]
        process = self.begin(workers, "-p", "n=1100000", *point, "--run-timeout", 60, HONE_DOUBLE_COUNT="2", HONE_DOUBLE_SLOWNESS="1,1.1",
                             HONE_DOUBLE_WAIT_US="300")
        # The second has what the first measured to be compared with, and all that is left.
        self.wait_for_events(12, process)
        lead, second = (b"CUDA_VISIBLE_DEVICES=%d" % n for n in (0, 1))
        stopped, before = self.pids("gpu", lead), self.pids("gpu", second)
        os.kill(*stopped, signal.SIGSTOP)
        # A trial is in a process of its own.
        self.wait_for(lambda: self.pids("gpu", second) not in ([], before), "no trial")
        os.kill(*self.pids("node", second), signal.SIGKILL)
        os.kill(*stopped, signal.SIGCONT)
        self.ended(process)
        tried, = [record for record in self.records() if "suspicion" in record]
        self.assertEqual((tried["suspicion"], tried["card"][4:6], round(tried["ratio"], 2)), ("acquitted", "d1", 1.1))
        self.assertAlmostEqual(tried["timing"]["median_us"], 30, delta=0.3)


@unittest.skipUnless(os.environ.get("HONE_LIAR"), "tests/cli/liar.c is not built here")
class Liars(hosts.Workers):
    """A host whose workers say what cannot be, beside one that does not: it is left out by name, and the other does the work."""

    # What the warning says of the host or its GPU, where it leads, and where it follows.
    LIES = {
        "record": ("outcome", "it measured none of the points"),
        "point": ("the GPU worker answers for another point", "it measured none of the points"),
        "failed": ("the config is wrong", "the config is wrong"),
        "interrupted": ("the config is wrong", "the config is wrong"),
        "noise": ("noise", None),
        "race": ("the result of a race is incomplete", None),
        "roofs": ("roofs: 'copy_gb_per_s' is not a number from 0 on", None),
        "cubin": ("not a valid cubin", "not a valid cubin"),
        "frame": ("something beside Hone writes to its launcher's standard output", "something beside Hone writes"),
        "silent": ("said nothing for 15 s", None),
        "mute": (None, None),
    }

    def begin_beside(self, lie, leads, awaits="", **changes):
        """The liar and an honest one, which begins once there is that file of the liar's, or, where it leads, is patient until there is a file `go`."""
        folder = self.folder / f"{lie}-{leads}-{awaits}"
        folder.mkdir()
        until = self.launcher(f"{folder.name}.sh", f"until [ -e {folder}/{awaits} ]; do sleep 0.05; done\nexec \"$@\"\n") if awaits else ""
        patient = "" if leads else f"{os.environ['HONE_LIAR']} patient {folder}"
        liar = {"run": f"env CUDA_VISIBLE_DEVICES=1 {os.environ['HONE_LIAR']} {lie} {folder}", "gpus": 1, "compile": 1}
        honest = {"run": f"env CUDA_VISIBLE_DEVICES=0 {until} {patient}", "gpus": 1, "compile": 1}
        workers = self.list_hosts(*((liar, honest) if leads else (honest, liar))).rename(folder / "workers.yaml")
        return folder, self.start("tune", self.config, "--full", "--quiet", "--json", "--workers", workers, "--cache", folder / "hone.db",
                                  "--run-timeout", "300", "--compile-timeout", "300", HONE_DOUBLE_COUNT="2", **changes)

    def end(self, process, points, expected):
        output, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, errors)
        result, = json.loads(output)
        self.assertEqual(result["outcomes"], {"ok": points})
        if expected:
            self.assertRegex(errors, r"hone: warning: (GPU 0 of )?host \S+ was (left out|lost, and is not back|not used): ")
            self.assertIn(expected, errors)

    def test_who_leads_and_lies_is_left_out(self):
        """Whether the other has come by then, or comes later."""
        points = self.cheap_config(6, 8)
        running = [(lie, awaits, self.begin_beside(lie, True, awaits)[1]) for lie, awaits in
                   [(lie, "told" if lie != "mute" else "") for lie in self.LIES] + [(lie, "lied") for lie in ("point", "failed", "cubin", "frame")]]
        for lie, awaits, process in running:
            with self.subTest(lie=lie, awaits=awaits):
                self.end(process, points, self.LIES[lie][0])

    def was_found_out(self, lie, folder):
        """Hone has ended its worker, or the host itself: three times, where that might have helped."""
        if (folder / "left").exists():
            return True
        pids = set((folder / "lied").read_text().split()) if (folder / "lied").exists() else ()
        return len(pids) == (3 if lie == "frame" else 1) and not any(os.path.exists(f"/proc/{pid}") for pid in pids)

    def test_who_follows_and_lies_is_left_out(self):
        points = self.cheap_config(6, 8)
        running = {lie: self.begin_beside(lie, False) for lie in self.LIES}
        for lie, (folder, process) in running.items():
            with self.subTest(lie=lie):
                expected = self.LIES[lie][1]
                if expected:
                    self.wait_for(lambda: self.was_found_out(lie, folder) or process.poll() is not None, "it is not found out")
                (folder / "go").touch()
                self.end(process, points, expected)

    def test_the_last_of_its_model(self):
        """Its search fails, which another model's card cannot take up; what that found is kept."""
        points = self.cheap_config(2, 2)
        liar = f"env CUDA_VISIBLE_DEVICES=1 HONE_DOUBLE_NAME=Other {os.environ['HONE_LIAR']} point {self.folder}"
        workers = self.list_hosts({"run": liar, "gpus": 1, "compile": 1}, {"run": "env CUDA_VISIBLE_DEVICES=0", "gpus": 1, "compile": 1})
        result = self.hone("tune", self.config, "--full", "--quiet", "--workers", workers, expect=1, HONE_DOUBLE_COUNT="2")
        self.assertRegex(result.stderr, "\nhone: the GPU worker answers for another point\n$")
        self.assertEqual(self.sql("SELECT count(DISTINCT point) FROM record"), [(points,)])

    def test_the_last_ends_the_tune(self):
        self.cheap_config(2, 2)
        workers = self.list_hosts({"run": f"{os.environ['HONE_LIAR']} record {self.folder}", "gpus": 1, "compile": 1})
        self.assertIn("outcome", self.hone("tune", self.config, "--full", "--quiet", "--workers", workers, expect=1).stderr)


class Faults(hosts.Workers):
    def setUp(self):
        super().setUp()
        self.points = self.cheap_config(6, 8, n=100000)

    def test_no_host(self):
        """Each is tried three times, and left out with its reason."""
        def script(name, text):
            return str(self.launcher(name, text))

        build = subprocess.run([hone.HONE, "--version"], capture_output=True, text=True).stdout.split()[1]
        cases = {
            "false": "its launcher ended with exit status 1; Hone did not answer there",
            script("absent", "printf 'sh: hone: not found\\r\\n' >&2; exit 127"): "ended with exit status 127; it last printed: sh: hone: not found; Hone did",
            script("killed", "kill -9 $$"): "its launcher killed by signal 9",
            script("another", f"printf '{GREETING % (1, '0.0.9')}'; sleep 5"): "its Hone is another (build 0.0.9, protocol 1; this one is build ",
            script("strange", f"printf '\\nhone-node hello\\n'; sleep 5"): "its agent greets in a way that this Hone does not know",
            script("polluted", f"printf '{GREETING % (self.protocol(), build)}'; printf 'oops: a line of a profile that is printed late\\n'; sleep 5"):
                "something beside Hone writes to its launcher's standard output",
        }
        running = []
        for i, run in enumerate(cases):
            folder = self.folder / f"case{i}"
            folder.mkdir()
            workers = folder / "workers.yaml"
            workers.write_text(f"workers: [{{run: {shlex.quote(run)}}}]\n")
            running.append(self.start("tune", self.config, "--quiet", "--workers", workers, "--cache", folder / "hone.db"))
        for process, (run, reason) in zip(running, cases.items()):
            with self.subTest(run=run):
                _, errors = self.ended(process, 1)
                self.assertIn(reason, errors)
                self.assertIn("left out: ", errors)

    def protocol(self):
        text = (hone.SOURCE / "runtime" / "process" / "message.h").read_text()
        return text.partition("#define HN_PROTOCOL ")[2].split()[0]

    def test_a_host_that_is_none_costs_nothing(self):
        workers = self.list_hosts({"run": "env", "gpus": 1, "compile": 1}, {"run": "false", "gpus": 0})
        process = self.begin(workers)
        _, errors = self.ended(process)
        self.assertRegex(errors, "^hone: warning: host false was (left out|lost, and is not back): its launcher ended with exit status 1; Hone did "
                                 "not answer there: see that it is installed, and name it by 'hone' where it lies elsewhere\n$")
        self.assertEqual(len(double.searched(self.read_events())), self.points)

    def test_killed_at_random_moments(self):
        """An agent, a compile worker, a GPU worker: only what was in hand is done once more."""
        source = random.Random(20261122)
        counts = dict.fromkeys(("node", "compile", "gpu"), 0)
        while sum(counts.values()) < KILLS:
            role = min(counts, key=counts.get)
            moment_s = source.uniform(0, 0.5)
            with self.subTest(role=role, moment_s=moment_s):
                self.events.unlink(missing_ok=True)
                for path in self.folder.glob("hone.db*"):
                    path.unlink()
                process = self.begin("local: gpus=all compile=2", HONE_DOUBLE_COUNT="2")
                self.wait_for_events(2, process)
                time.sleep(moment_s)
                pids = self.pids(role)
                counts[role] += len(pids) > 0  # one that comes after the end does not count
                for pid in pids[:1]:
                    os.kill(source.choice(pids), signal.SIGKILL)
                late = len(double.searched(self.read_events())) == self.points
                self.assert_all_measured(process, self.points, late and role == "node")
                self.hone("cache", "check")
        if KILLS > 6:
            print(f"\n{counts} killed, nothing lost")

    def test_stopped(self):
        """One that says nothing any more is given up, and so is a hone that does; both at once, as they take their time."""
        silent = self.begin("local: gpus=1 compile=2")
        self.wait_for_events(12, silent)
        first = set(hosts.processes(self.folder))
        os.kill(self.pids("node")[0], signal.SIGSTOP)
        stopped = self.start("tune", self.config, "--full", "--quiet", "--workers", "local: gpus=1 compile=1",
                             "--cache", self.folder / "second.db", HONE_DOUBLE_SERIAL="77", HONE_DOUBLE_WAIT_US="1000")
        self.wait_for(lambda: len(set(hosts.processes(self.folder)) - first) >= 3, "an agent and two workers have not started")
        second = set(hosts.processes(self.folder)) - first
        os.kill(stopped.pid, signal.SIGSTOP)
        self.assert_all_measured(silent, self.points)
        self.wait_for(lambda: not second & set(hosts.processes(self.folder)), "workers of a stopped hone go on")
        stopped.kill()

    def test_hone_is_killed(self):
        process = self.begin("local: gpus=1 compile=2")
        self.wait_for_events(12, process)
        process.kill()
        process.communicate()
        self.wait_for_none("hone")
        self.assertEqual(self.tune("--full", "--workers", "local")[0]["outcomes"], {"ok": self.points})
