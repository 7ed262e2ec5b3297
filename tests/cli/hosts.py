# SPDX-License-Identifier: MIT
"""What tests of workers behind launchers share."""

import json
import os
import pathlib

import double


def processes(folder, *variables):
    """{pid: words of its command} of all agents and workers that were started from this folder, and with these variables."""
    found = {}
    marks = {f"TMPDIR={folder}".encode(), *variables}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            environment = pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"worker" in command[1:2] and marks.issubset(environment):
            found[int(entry)] = [word.decode() for word in command if word]
    return found


class Workers(double.Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.assert_none_left)

    def list_hosts(self, *hosts):
        """A file of hosts, each {key: value}."""
        lines = ["workers:"] + ["  - {" + ", ".join(f"{key}: {json.dumps(str(value))}" for key, value in host.items()) + "}" for host in hosts]
        return self.write("workers.yaml", "\n".join(lines) + "\n")

    def pids(self, role, *variables):
        return sorted(pid for pid, words in processes(self.folder, *variables).items() if words[2] == role)

    def wait_for_none(self, what):
        self.wait_for(lambda: not processes(self.folder), f"workers outlive {what}")

    def assert_none_left(self):
        self.wait_for_none("the test")

    def begin(self, workers, *arguments, **changes):
        return self.start("tune", self.config, "--full", "--quiet", "--events", self.events, "--workers", workers, *arguments, **changes)

    def launcher(self, name, text):
        """The path of a shell script."""
        path = self.write(name, "#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def assert_all_measured(self, process, points, late=False):
        """late: the host was lost when all was measured, and need not have come back."""
        _, errors = self.ended(process)
        if not late:
            self.assertEqual(errors, "")
        searched = double.searched(self.read_events())
        self.assertEqual((len(searched), len(set(searched))), (points, points))
        self.assertEqual({record["outcome"] for record in self.read_events()}, {"ok"})
