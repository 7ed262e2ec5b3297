# SPDX-License-Identifier: MIT
"""A PostgreSQL server of the test's own: in a folder of its own, on a Unix socket there, listening to nothing else."""

import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def find(program):
    """Debian keeps the server's programs out of PATH, and has scripts there that choose those of the clients."""
    places = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{program}"), reverse=True)
    return places[0] if places else shutil.which(program)


def why_not():
    """Why no server can be started here; None: it can."""
    if find("initdb") is None or find("postgres") is None:
        return "PostgreSQL's server is not here (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and user() is None:
        return "PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody"
    return None


def user():
    """Who runs the server where we are root, which it refuses; None: we ourselves."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name if os.geteuid() == 0 else None
        except KeyError:
            pass
    return None


def with_server(work):
    """Calls work(server, folder); ends with the reason where no server can be started."""
    reason = why_not()
    if reason is not None:
        sys.exit(reason)
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as name:
            work(server, pathlib.Path(name))
    finally:
        server.stop()


class Server:
    def __init__(self):
        # Short: a path of a socket has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-pg-", dir="/tmp"))
        self.data = self.folder / "data"
        self.process = None
        if user() is not None:
            shutil.chown(self.folder, user())
        # Others connect to the socket.
        self.folder.chmod(0o755)
        self.run("initdb", "-D", self.data, "-U", "hone", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()

    def run(self, program, *arguments):
        result = subprocess.run([find(program), *map(str, arguments)], user=user(), cwd=self.folder, text=True,
                                stdin=subprocess.DEVNULL, capture_output=True, env={"PATH": os.environ["PATH"]})
        assert result.returncode == 0, f"{program}: {result.stdout}{result.stderr}"

    def start(self):
        self.launch()
        self.wait()

    def launch(self):
        """What a process writes outlives it also without fsync, which only a power cut needs."""
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(
                [find("postgres"), "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off",
                 "-c", "max_connections=80", "-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0"], user=user(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait(self):
        """Until it answers. One that was killed may leave memory for a moment, for which the next ends at once."""
        end = time.monotonic() + 60
        while self.query("SELECT 1", check=False) != ["1"]:
            assert time.monotonic() < end, (self.folder / "log").read_text()
            if self.process.poll() is not None:
                self.launch()
            time.sleep(0.05)

    def kill(self):
        """SIGKILL, to it and to all that serve its connections."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], text=True, capture_output=True)
        for pid in [self.process.pid, *map(int, children.stdout.split())]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def pause(self, stopped):
        """Stops all that serves connections, or lets it go on."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], text=True, capture_output=True)
        for pid in [self.process.pid, *map(int, children.stdout.split())]:
            os.kill(pid, signal.SIGSTOP if stopped else signal.SIGCONT)

    def query(self, sql, database="postgres", check=True):
        """The rows as lines, columns apart by |."""
        result = subprocess.run([find("psql"), "-h", self.folder, "-U", "hone", "-d", database, "-XAtq", "-c", sql], text=True,
                                stdin=subprocess.DEVNULL, capture_output=True)
        assert not check or result.returncode == 0, result.stderr
        return result.stdout.splitlines()

    def uri(self, database):
        return f"postgresql://hone@/{database}?host={self.folder}"

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
