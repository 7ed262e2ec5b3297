#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers by the real things that start processes elsewhere: ssh to an sshd of the test's own, Open MPI's mpirun, a Slurm of one node. On the
driver double. Names which of them: test_engines.py Ssh; exit code 77 and the reason where it cannot be had."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import double
import hone
import hosts

POINTS = 64


def skip(reason):
    raise unittest.SkipTest(reason)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Engine(hosts.Workers):
    def setUp(self):
        super().setUp()
        self.points = self.cheap_config(8, 8)
        self.assertEqual(self.points, POINTS)

    def environment_words(self):
        """What sshd does not take over."""
        names = ("LD_LIBRARY_PATH", "TMPDIR", "HONE_LOCKS", "HONE_NVRTC", "HONE_DOUBLE_KEPT", "HONE_DOUBLE_WAIT_US")
        environment = self.environment(HONE_DOUBLE_WAIT_US="2000")
        return " ".join(f"{name}={environment[name]}" for name in names if name in environment)

    def serve(self, *command, **changes):
        """A server until the end of the test."""
        log = open(self.folder / f"{os.path.basename(command[0])}.log", "w")
        self.addCleanup(log.close)
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                                   env={**os.environ, **changes})
        self.addCleanup(double.stop, process)
        return process

    def wait_until(self, command, **changes):
        end = time.monotonic() + 20
        while True:
            result = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                    env={**os.environ, **changes})
            if result.returncode == 0:
                return result.stdout
            if time.monotonic() > end:
                logs = "".join(path.read_text() for path in self.folder.glob("*.log"))
                skip(f"{' '.join(map(str, command))} fails: {result.stderr.strip()}; {logs[-1500:]}")
            time.sleep(0.1)

    def tune_and(self, workers, interfere, *arguments, **changes):
        """A tune in whose middle something happens to the connection."""
        process = self.begin(workers, *arguments, HONE_DOUBLE_WAIT_US="2000", **changes)
        self.wait_for_events(12, process)
        interfere()
        self.assert_all_measured(process, POINTS)


class Ssh(Engine):
    def connect(self):
        sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        if sshd is None or shutil.which("ssh") is None:
            skip("there is no sshd (openssh-server) or no ssh (openssh-client)")
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd of root wants it to be there
        port = free_port()
        config = self.write("sshd_config", f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nStrictModes no\nUsePAM no\n"
                            f"AuthorizedKeysFile {self.folder}/user.pub\nPasswordAuthentication no\nPidFile none\n")
        self.server = self.serve(sshd, "-D", "-e", "-f", config)
        ssh = (f"ssh -T -F none -p {port} -i {self.folder}/user -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
               "-o LogLevel=ERROR 127.0.0.1")
        self.wait_until([*ssh.split(), "true"])
        return f"{ssh} env {self.environment_words()}"

    def cut(self):
        """Ends the process of sshd that serves the connection."""
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == self.server.pid:
                os.kill(int(entry), signal.SIGKILL)

    def test_a_connection_is_cut(self):
        self.tune_and(self.list_hosts({"run": self.connect(), "gpus": 1, "compile": 2}), self.cut)

    def test_install(self):
        self.config.write_text(self.config.read_text().replace("{range: [1, 8], step: 1}", "{range: [1, 2], step: 1}"))
        run = self.connect()
        process = self.begin(self.list_hosts({"run": run, "gpus": 1, "compile": 1}), "--install")
        self.assert_all_measured(process, 4)
        self.assertEqual([path for path in self.folder.glob("hone-*") if path.is_dir()], [])


class Mpirun(Engine):
    def test_one_process(self):
        if shutil.which("mpirun") is None:
            skip("there is no mpirun (openmpi-bin)")
        run = "mpirun --allow-run-as-root --oversubscribe -n 1"
        self.wait_until([*run.split(), "true"])
        self.tune_and(self.list_hosts({"run": run, "gpus": 1, "compile": 2}), lambda: None)


class Slurm(Engine):
    def start_cluster(self):
        path = f"{os.environ['PATH']}:/usr/sbin"
        missing = [name for name in ("munged", "slurmctld", "slurmd", "srun", "salloc", "scancel") if shutil.which(name, path=path) is None]
        if missing:
            skip(f"there is no {', '.join(missing)} (munge, slurm-wlm)")
        if os.geteuid() != 0:
            skip("slurmd is root's")
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.folder.chmod(0o755)  # munged asks for it
        host = socket.gethostname().partition(".")[0]
        names = {name: self.folder / name for name in ("munge.socket", "slurm.conf", "state", "spool", "ctld.pid", "d.pid")}
        self.write("slurm.conf", f"""\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={names['munge.socket']}
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
StateSaveLocation={names['state']}
SlurmdSpoolDir={names['spool']}
SlurmctldPidFile={names['ctld.pid']}
SlurmdPidFile={names['d.pid']}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        self.slurm = {"SLURM_CONF": str(names["slurm.conf"])}
        self.serve("munged", "--foreground", "--force", f"--socket={names['munge.socket']}", f"--key-file={key}", f"--pid-file={self.folder}/munge.pid",
                   f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed", PATH=path)
        self.wait_until(["test", "-S", names["munge.socket"]])
        for name in ("slurmctld", "slurmd"):
            self.serve(name, "-D", "-f", names["slurm.conf"], PATH=path, **self.slurm)
        self.wait_until(["timeout", "5", "srun", "-n1", "true"], **self.slurm)

    def cancel_step(self):
        steps = subprocess.run(["squeue", "--steps", "--noheader", "--format=%i"], capture_output=True, text=True, check=True,
                               env={**os.environ, **self.slurm}).stdout.split()
        step, = [step for step in steps if step.partition(".")[2].isdigit()]
        subprocess.run(["scancel", "--signal=KILL", step], check=True, env={**os.environ, **self.slurm})

    def test_a_step_is_cancelled(self):
        """Within an allocation, as `--workers slurm` finds it."""
        self.start_cluster()
        process = subprocess.Popen(["salloc", "--quiet", "-N1", "-n1", f"-c{os.cpu_count()}", hone.HONE, "tune", self.config, "--full", "--quiet",
                                    "--events", self.events, "--workers", "slurm"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment(HONE_DOUBLE_WAIT_US="2000", **self.slurm))
        self.addCleanup(double.stop, process)
        self.wait_for_events(12, process)
        self.cancel_step()
        self.assert_all_measured(process, POINTS)


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    for _, why in done.skipped:
        print(f"SKIPPED: {why}", file=sys.stderr)
    sys.exit(77 if done.skipped and done.wasSuccessful() else not done.wasSuccessful())
