# SPDX-License-Identifier: MIT
"""The rooms of the source: each folder of C includes only what its CMakeLists.txt says that it uses."""

import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = pathlib.Path(os.environ["HONE_BUILD"]) / "rooms.txt"


def declared():
    lines = ROOMS.read_text().splitlines()
    return {room: set(used.split()) for room, used in (line.split(":") for line in lines)}


def included():
    """For each room what its files include of others: {room: {other room: a file that does}}."""
    rooms = {}
    for top in ("base", "cache", "runtime", "tuner"):
        for path in (ROOT / top).rglob("*.[ch]"):
            room = str(path.parent.relative_to(ROOT))
            others = rooms.setdefault(room, {})
            for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
                other = os.path.dirname(name)
                if other not in ("", room):
                    others[other] = f"{path.relative_to(ROOT)} includes {name}"
    return rooms


class Rooms(unittest.TestCase):
    def test_rooms_include_what_they_declare(self):
        used = declared()
        for room, others in included().items():
            self.assertIn(room, used, "a folder of C without hone_room()")
            for other, why in others.items():
                self.assertIn(other, used[room], why)
            self.assertEqual(used[room] - set(others), set(), f"{room} declares what it does not include")

    def test_no_arrow_runs_upwards(self):
        """Rooms are declared from the bottom to the top, and use only what stands below."""
        below = set()
        for room, others in declared().items():
            self.assertEqual(others - below, set(), room)
            below.add(room)

    def test_each_room_says_what_it_is_for(self):
        for room in declared():
            text = (ROOT / room / "README.md").read_text()
            self.assertLessEqual(len(text.splitlines()), 25, room)
            self.assertIn("Begin with", text, room)


if __name__ == "__main__":
    unittest.main()
