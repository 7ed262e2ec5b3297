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


def is_private(header, includers):
    """Whether a header is a part of another module: by its name, or because only files of that module's name include it."""
    parent = re.sub(r"_[a-z0-9]+$", "", header)
    return re.search(r"_(internal|parts?)$", header) or all(name.startswith(parent) for name in includers)


def uses():
    """Which modules each module includes headers of: a .h and its .c, with the private headers of both."""
    files = [path.relative_to(ROOT) for top in ("base", "cache", "runtime", "tuner") for path in (ROOT / top).rglob("*.[ch]")]
    included = {str(path): re.findall(r'^#include "([^"]+)\.h"', (ROOT / path).read_text(), re.MULTILINE) for path in files}
    headers = {str(path.with_suffix("")) for path in files if path.suffix == ".h"}
    includers = {header: [path for path, names in included.items() if header in names] for header in headers}

    def module(name):
        parents = [other for other in headers if name.startswith(other + "_")]
        return max(parents, key=len) if name in headers and parents and is_private(name, includers[name]) else name

    graph = {}
    for path, names in included.items():
        graph.setdefault(module(path[:-2]), set()).update(map(module, names))
    return graph


def reached(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for other in graph.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


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

    def test_no_circles_of_files(self):
        graph = {name: others - {name} for name, others in uses().items()}
        reach = {name: reached(graph, name) for name in graph}
        circles = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]}
        self.assertEqual(circles, set())

    def test_each_room_says_what_it_is_for(self):
        for room in declared():
            floor, _, name = room.partition("/")
            text = (ROOT / floor / "README.md").read_text()
            self.assertIn(f"`{name}`" if name and f"`{name}`" in text else f"# {room}\n", text, room)
            self.assertRegex(text, "[Bb]egin with")
