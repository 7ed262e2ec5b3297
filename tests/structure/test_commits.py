# SPDX-License-Identifier: MIT
"""Subjects of commits: `module: imperative`, at most 60 characters."""

import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SINCE = "9de4fad2ac8851532a5aa483a15f3f8240dd7e8e"  # older ones were written before this was asked for


class Commits(unittest.TestCase):
    def test_subjects_are_short(self):
        listed = subprocess.run(["git", "log", "--format=%s", f"{SINCE}.."], cwd=ROOT, capture_output=True, text=True)
        if listed.returncode != 0:
            self.skipTest("this is no clone with its history")
        long = [subject for subject in listed.stdout.splitlines() if len(subject) > 60 or ": " not in subject]
        self.assertEqual(long, [])
