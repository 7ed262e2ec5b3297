#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`hone report` as its reader sees it: the page is opened in a real browser, and looked at, sorted, filtered and brushed
through it. What it shows is compared with what the recordings say."""

import gzip
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import browser
import recordings

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HONE = os.path.abspath(os.environ.get("HONE", SOURCE / "build" / "tuner" / "hone"))
DOUBLE = os.environ.get("HONE_DOUBLE", str(SOURCE / "build" / "tests" / "double"))
RECORDED = SOURCE / "cache" / "recorded" / "nvidia-h200"
MATMUL = [RECORDED / f"matmul-b_layout-row-k-{k}-m-4096-n-4096-nvidia-h200-cold.json.gz" for k in (4096, 32)]


def rows_of(path):
    with gzip.open(path, "rt") as file:
        return list(json.load(file)["cache"].values())


class Page(unittest.TestCase):
    """One browser for all tests of a class, and a page that make() has written."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-report-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.page = cls.folder / "report.html"
        cls.make()

    @classmethod
    def report(cls, *arguments):
        environment = dict(os.environ, HONE_CACHE=str(cls.folder / "none.db"))
        subprocess.run([HONE, "report", *map(str, arguments), "--quiet", "-o", str(cls.page)], check=True, env=environment,
                       stdin=subprocess.DEVNULL)

    def setUp(self):
        self.browser.errors.clear()
        self.browser.requests.clear()
        self.browser.open(self.page)

    def tearDown(self):
        self.assertEqual(self.browser.errors, [], "the console complains")
        self.assertEqual(self.browser.requests, [self.page.as_uri()], "the page asks for something else")

    def show(self, title):
        """The tuning whose title has this in it."""
        titles = self.browser.texts("#tuning option")
        self.browser.choose("#tuning", next(k for k, text in enumerate(titles) if title in text))

    def selected(self):
        return self.browser.text("#selected")

    def column(self, name):
        """The cells of a column of the records that are shown."""
        headings = [text.rstrip(" ▲▼") for text in self.browser.texts("#records thead th")]
        place = headings.index(name) + 1
        return self.browser.texts(f"#records tbody td:nth-child({place})")

    def heading(self, name):
        headings = [text.rstrip(" ▲▼") for text in self.browser.texts("#records thead th")]
        return f"#records thead th:nth-child({headings.index(name) + 1})"

    def filter(self, text):
        self.browser.type("#query", text)


class Recorded(Page):
    """A tuning of matmul that was recorded on an H200."""

    @classmethod
    def make(cls):
        cls.report(*MATMUL, "--config", SOURCE / "configs" / "matmul.yaml", "--roofs", SOURCE / "cache" / "recorded" / "roofs.json")
        cls.rows = rows_of(MATMUL[0])
        finals = [row for row in cls.rows if row["hone"]["outcome"] == "ok" and row["hone"]["final"]]
        cls.best = min(finals, key=lambda row: row["time"])

    def setUp(self):
        super().setUp()
        self.show("K=4096")

    def count(self, test):
        return sum(1 for row in self.rows if test(row))

    def test_summary(self):
        text = self.browser.text("#summary")
        self.assertIn(f"{self.best['time']:.2f} ms", text)
        self.assertIn(f"{self.best['gflops']:.0f}", text)
        self.assertIn("NVIDIA H200, compute capability 9.0, 132 SMs", text)
        self.assertIn("580.159.04, 13.0", text)
        self.assertIn("cold: L2 flushed before each launch", text)
        keys = ("VARIANT", "TILE_WIDTH", "PAD", "UNROLL", "LOAD", "ASYNC_BYTES", "SYNC", "CORNER_TURN", "MAX_REGISTERS")
        point = ",".join(f"{key}={self.best[key]}" for key in keys)
        self.assertIn(f"hone run {SOURCE}/configs/matmul.yaml -p B_LAYOUT=row -p K=4096 -p M=4096 -p N=4096 -s {point}",
                      text.replace("\n", ""))
        self.assertEqual(self.browser.evaluate("document.title"), "matmul – Hone report")

    def test_another_tuning(self):
        self.browser.click("#tunings tbody tr:first-child button")
        best = min((row for row in rows_of(MATMUL[1]) if row["hone"]["final"]), key=lambda row: row["time"])
        self.assertIn(f"{best['time'] * 1000:.1f} µs", self.browser.text("#summary"))
        self.assertEqual(self.browser.evaluate("document.activeElement.id"), "summary")

    def test_roofline(self):
        text = self.browser.text("#roofline")
        bound_ms = self.best["flops"] / 64800e6
        self.assertIn(f"{100 * bound_ms / self.best['time']:.1f}% of the FP32 roof", text)
        self.assertIn("copy 4233 GB/s", text)
        self.assertIn("GFLOP/s", text)
        self.assertIn("That is inferred from the metrics", text)
        self.assertIn("arithmetic intensity, FLOP/byte", text)
        names = self.browser.evaluate("[...document.querySelectorAll('#roofline svg text.halo')].map(e => e.textContent)")
        self.assertEqual(names, ["K=32"])

    def test_points_by_keyboard(self):
        self.browser.evaluate("document.querySelector('#convergence svg').focus()")
        self.browser.press("End")
        self.assertIn(f"evaluation {len(self.rows)}", self.browser.text("#live"))
        self.browser.press("Home")
        self.assertIn("evaluation 1: ok; 28.56 ms", self.browser.text("#live"))
        self.browser.press("Enter")
        self.assertTrue(self.browser.evaluate("document.querySelector('#record').open"))
        dialog = self.browser.text("#record")
        self.assertIn("Record 1 of matmul", dialog)
        self.assertIn("VARIANT=simple,TILE_WIDTH=16", dialog)
        self.assertIn("28.56 ms to 28.57 ms", dialog)
        self.browser.press("Escape")
        self.assertFalse(self.browser.evaluate("document.querySelector('#record').open"))

    def test_points_by_pointer(self):
        x, y, width, height = self.browser.box("#roofline .best circle")
        self.browser.mouse("mouseMoved", x + width / 2, y + height / 2)
        tip = self.browser.text("#tip")
        self.assertIn(f"{self.best['time']:.2f} ms", tip)
        self.assertIn("best", tip)
        self.browser.click_at(x + width / 2, y + height / 2)
        self.assertIn("rank\n1 of 401", self.browser.text("#record"))

    def test_sorting(self):
        self.browser.click(self.heading("registers") + " button")
        registers = sorted(row["hone"]["resources"]["registers"] for row in self.rows)
        self.assertEqual([int(text) for text in self.column("registers")], registers[:50])
        self.assertEqual(self.browser.evaluate(f"document.querySelector('{self.heading('registers')}').ariaSort"), "ascending")
        self.browser.click(self.heading("registers") + " button")
        self.assertEqual([int(text) for text in self.column("registers")], registers[::-1][:50])
        self.assertEqual(self.browser.evaluate(f"document.querySelector('{self.heading('registers')}').ariaSort"), "descending")
        self.browser.click(".pager button:last-child")
        self.assertEqual(self.browser.text("#records-count"), "51 to 100 of 475 records")
        self.assertEqual([int(text) for text in self.column("registers")], registers[::-1][50:100])

    def test_filtering(self):
        self.filter("TILE_WIDTH=16 gflops>7000 restrict")
        expected = self.count(lambda row: row["TILE_WIDTH"] == 16 and row.get("gflops", 0) > 7000 and row["LOAD"] == "restrict")
        self.assertGreater(expected, 0)
        self.browser.until("document.querySelector('#selection').hidden === false")
        self.assertEqual(self.selected(), f"{expected} of 475 records selected")
        self.assertEqual(set(self.column("TILE_WIDTH")), {"16"})
        self.assertEqual(set(self.column("LOAD")), {"restrict"})
        self.browser.click("#clear")
        self.assertTrue(self.browser.evaluate("document.querySelector('#selection').hidden"))
        self.assertEqual(self.browser.evaluate("document.querySelector('#query').value"), "")
        self.assertEqual(self.browser.text("#records-count"), "1 to 50 of 475 records")
        self.filter("TILE=16")
        self.browser.until("document.querySelector('#query-problems').textContent === 'there is no column “TILE”'")

    def axis(self, name):
        """[x, top, bottom] of an axis of the parallel coordinates in the window."""
        return self.browser.evaluate(
            "(() => { const group = [...document.querySelectorAll('.parallel-axis')].find(g => g.querySelector('.label')"
            f".textContent === {json.dumps(name)}); group.scrollIntoView({{block: 'center'}});"
            "const b = group.querySelector('line').getBoundingClientRect(); return [b.x, b.top, b.bottom]; })()")

    def test_brushing(self):
        x, top, bottom = self.axis("VARIANT")  # simple, tile_a, tile_ab from below
        third = (bottom - top) / 3
        self.browser.drag((x, bottom - 12), (x, bottom - 1.5 * third))
        expected = self.count(lambda row: row["VARIANT"] in ("simple", "tile_a"))
        self.assertEqual(self.selected(), f"{expected} of 475 records selected")
        self.assertIn("VARIANT from simple to tile_a", self.browser.text("#selection"))
        x, top, bottom = self.axis("UNROLL")  # a click takes one value
        self.browser.click_at(x, (top + bottom) / 2)
        expected = self.count(lambda row: row["VARIANT"] in ("simple", "tile_a") and row["UNROLL"] == 4)
        self.assertEqual(self.selected(), f"{expected} of 475 records selected")
        self.assertEqual(set(self.column("UNROLL")), {"4"})
        self.browser.click_at(x, (top + bottom) / 2)
        self.browser.click("#selection .chip")
        self.assertTrue(self.browser.evaluate("document.querySelector('#selection').hidden"))
        x, top, bottom = self.axis("UNROLL")
        self.browser.drag((x, top + 1), (x, (top + bottom) / 2))  # the upper handle
        expected = self.count(lambda row: row["UNROLL"] <= 4)
        self.assertEqual(self.selected(), f"{expected} of 475 records selected")
        self.browser.click("#clear")
        self.assertTrue(self.browser.evaluate("document.querySelector('#selection').hidden"))
        self.assertEqual(self.browser.evaluate("[...document.querySelectorAll('.brush')].filter(e => e.getAttribute('visibility') === 'visible').length"), 0)

    def test_brushing_by_keyboard(self):
        name = "TILE_WIDTH, lowest shown"
        element = f"document.querySelector('[aria-label=\"{name}\"]')"
        self.browser.evaluate(f"{element}.focus()")
        self.browser.press("ArrowUp")
        self.assertEqual(self.browser.evaluate(f"{element}.getAttribute('aria-valuetext')"), "16")
        expected = self.count(lambda row: row["TILE_WIDTH"] >= 16)
        self.assertEqual(self.selected(), f"{expected} of 475 records selected")
        self.browser.press("Escape")
        self.assertTrue(self.browser.evaluate("document.querySelector('#selection').hidden"))

    def test_heat_map(self):
        names = self.browser.texts("#heatmap select:first-child option")
        for place, name in ((1, "PAD"), (2, "TILE_WIDTH")):
            value = self.browser.evaluate(f"[...document.querySelector('#heatmap .controls label:nth-child({place}) select').options]"
                                          f".find(o => o.text === '{name}').value")
            self.browser.choose(f"#heatmap .controls label:nth-child({place}) select", value)
        self.assertIn("PAD", names)
        self.assertEqual(self.browser.texts("#heatmap thead th"), ["TILE_WIDTH \\ PAD", "0", "1", "4"])
        shown = self.browser.texts("#heatmap tbody td")
        best = [min(row["time"] for row in self.rows if row["TILE_WIDTH"] == width and row["PAD"] == pad)
                if any(row["TILE_WIDTH"] == width and row["PAD"] == pad for row in self.rows) else None
                for width in (8, 16, 32) for pad in (0, 1, 4)]
        self.assertEqual(shown, ["" if time is None else f"{time:.2f} ms" for time in best])
        self.browser.click("#heatmap tbody tr:last-child td:nth-child(2) button")
        expected = self.count(lambda row: row["TILE_WIDTH"] == 32 and row["PAD"] == 0)
        self.assertEqual(self.selected(), f"{expected} of 475 records selected")

    def test_effects(self):
        self.browser.click("#effects details.alternative summary")
        self.browser.until("document.querySelectorAll('#effects tbody tr').length > 0")
        rows = [row.split("\t") for row in self.browser.texts("#effects tbody tr")]
        row = next(row for row in rows if row[:2] == ["VARIANT", "tile_a"])
        times = [entry["time"] for entry in self.rows if entry["VARIANT"] == "tile_a"]
        self.assertEqual(row[3], str(len(times)))
        self.assertEqual(row[6], f"{min(times):.2f} ms")

    def test_ladder(self):
        rows = self.browser.texts("#ladder tbody tr")
        self.assertEqual(len(rows), 5)
        self.assertRegex(rows[0], r"1\. VARIANT=simple\s+28\.56 ms\s+±0\.02%\s+4812\s+1\.00×")
        self.assertIn(f"{self.best['time']:.2f} ms", rows[-1])

    def test_outcomes(self):
        duplicates = self.count(lambda row: row["hone"]["outcome"] == "duplicate")
        row = next(row for row in self.browser.texts("#outcomes tbody tr") if row.startswith("duplicate"))
        self.assertIn(f"\t{duplicates}\t", row)
        self.assertIn("same machine code and launch as another point", row)

    def test_comparison(self):
        text = self.browser.text("#compare")
        self.assertIn("475 points in common", text)
        self.assertIn("132.5 µs", text)

    def test_copying(self):
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.browser.click("#records tbody tr:first-child .copy")
        self.browser.until("document.querySelector('#live').textContent === 'Copied'")
        copied = self.browser.evaluate("navigator.clipboard.readText()")
        self.assertTrue(copied.startswith("hone run "), copied)
        self.assertIn(f"TILE_WIDTH={self.best['TILE_WIDTH']},", copied)

    def test_names_of_controls(self):
        """Whatever can be used has a name that a screen reader can say."""
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "combobox", "searchbox", "textbox", "slider", "link", "application", "image", "table", "dialog", "region"}
        nameless = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles
                    and not node.get("name", {}).get("value")]
        self.assertEqual(nameless, [])
        named = [node["role"]["value"] for node in nodes if not node["ignored"]]
        self.assertGreaterEqual(named.count("slider"), 18)
        self.assertGreaterEqual(named.count("application"), 4)

    def test_themes(self):
        background = "getComputedStyle(document.body).backgroundColor"
        self.browser.theme("light")
        light = self.browser.evaluate(background)
        self.browser.theme("dark")
        dark = self.browser.evaluate(background)
        self.assertNotEqual(light, dark)
        self.browser.choose("#theme", "light")
        self.assertEqual(self.browser.evaluate(background), light)
        self.browser.theme("light")
        self.browser.choose("#theme", "dark")
        self.assertEqual(self.browser.evaluate(background), dark)

    def test_printing(self):
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        self.addCleanup(self.browser.call, "Emulation.setEmulatedMedia", media="")
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.querySelector('.top')).display"), "none")
        self.browser.print(self.folder / "report.pdf")
        self.assertGreater((self.folder / "report.pdf").stat().st_size, 50000)

    def test_narrow_window(self):
        self.browser.resize(600, 900)
        self.addCleanup(self.browser.resize, 1320, 900)
        self.browser.until("document.querySelector('#roofline svg').getBoundingClientRect().width < 600")
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 600)


# Texts of a plot that cover each other or leave it, and headings and cells that are narrower than what is in them. What is
# turned is compared as it lies: by the sides of both rectangles, of which one has to have all of the other beyond it.
OVERLAPS = """(() => {
  const corners = text => {
    const {x, y, width, height} = text.getBBox();
    const to = text.getScreenCTM();
    return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]
      .map(([a, b]) => [to.a * a + to.c * b + to.e, to.b * a + to.d * b + to.f]);
  };
  const beyond = (a, b) => a.some(([x, y], k) => {
    const [x2, y2] = a[(k + 1) % 4];
    const length = Math.hypot(x2 - x, y2 - y) || 1;
    return b.every(([px, py]) => ((x2 - x) * (py - y) - (y2 - y) * (px - x)) / length <= 2);
  });
  const found = [];
  for (const plot of document.querySelectorAll("svg.plot")) {
    const box = plot.getBoundingClientRect();
    const texts = [...plot.querySelectorAll("text")].filter(text => text.textContent.trim() !== "")
      .map(text => ({said: text.textContent, at: corners(text)}));
    texts.forEach((one, k) => {
      if (one.at.some(([x, y]) => x < box.left - 1 || x > box.right + 1 || y < box.top - 1 || y > box.bottom + 1))
        found.push(`cut: ${one.said}`);
      for (const other of texts.slice(0, k))
        if (!beyond(one.at, other.at) && !beyond(other.at, one.at)) found.push(`${one.said} | ${other.said}`);
    });
  }
  for (const cell of document.querySelectorAll("h3, th, td:not(.long)"))
    if (cell.scrollWidth > cell.clientWidth + 1) found.push(`cell: ${cell.textContent}`);
  return found;
})()"""


class Labels(Page):
    """No two labels overlap, however wide the window, in either theme."""

    def look(self, least):
        for width in (1280, 1920):
            self.browser.resize(width, 1000)
            for theme in ("light", "dark"):
                self.browser.theme(theme)
                self.browser.open(self.page)
                self.assertGreaterEqual(self.browser.count("svg.plot text"), least)
                self.assertEqual(self.browser.evaluate(OVERLAPS), [], f"{width} pixels, {theme}")
                self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                self.browser.requests.pop()

    def tearDown(self):
        self.browser.resize(1320, 900)
        super().tearDown()


class FewParameters(Labels):
    @classmethod
    def make(cls):
        cls.report(recordings.write(cls.folder / "small.json", recordings.small()))

    def test_no_two_labels_overlap(self):
        self.look(40)


class LongNames(Labels):
    """23 parameters; the best was found behind a point of the same machine code."""

    @classmethod
    def make(cls):
        parameters = {f"PARAMETER_WHOSE_NAME_IS_RATHER_LONG_{k}": [1, 0] for k in range(23)}
        document = recordings.recording(parameters, 32)
        for k, entry in enumerate(document["cache"].values()):
            entry.update({name: 1 - (k >> p % 5 & 1) for p, name in enumerate(parameters)})
        first, second = list(document["cache"].values())[:2]
        first["hone"].update(outcome="duplicate", original=",".join(f"{name}={second[name]}" for name in sorted(parameters)))
        cls.report(recordings.write(cls.folder / "long.json", document))

    def test_each_axis_has_its_name(self):
        self.look(60)
        self.assertEqual(self.browser.count("#parallel .parallel-axis"), 24)
        self.assertEqual(self.browser.count("#parallel .parallel-axis text.label"), 24)

    def test_the_best_is_the_first_of_its_rank(self):
        self.assertEqual(self.column("rank")[:3], ["1", "1", "2"])
        self.assertEqual(self.column("remarks")[:2], ["best", "duplicate"])


class ManyParameters(Labels):
    """SGEMM: 27 parameters and 19 problems."""

    @classmethod
    def make(cls):
        cls.report(*sorted(RECORDED.glob("sgemm*")), "--config", SOURCE / "configs" / "sgemm.yaml")

    def test_no_two_labels_overlap(self):
        self.look(300)

    def test_no_two_labels_overlap_in_other_choices(self):
        self.browser.choose("#parallel select", "all")
        for x, y, colour in (("parameter 0", "cost", "parameter 19"), ("parameter 21", "parameter 9", "registers"), ("shared", "order", "")):
            for place, value in ((1, x), (2, y), (3, colour)):
                self.browser.choose(f"#scatter label:nth-child({place}) select", value)
            self.assertEqual(self.browser.evaluate(OVERLAPS), [])

    def test_problems_are_in_the_order_of_their_numbers(self):
        problems = [tuple(int(word.split("=")[1]) for word in text.split(" · ")[1].split(", ")) for text in self.browser.texts("#tuning option")]
        self.assertEqual(len(problems), 19)
        self.assertEqual(problems, sorted(problems))
        shown = self.browser.texts("#across tbody tr td:nth-child(2)")
        self.assertEqual([int(text) for text in shown], [k for k, _, _ in problems])

    def test_the_best_ten_show_in_what_they_differ(self):
        self.show("K=4096, M=4096, N=4096")
        file = RECORDED / "sgemm-k-4096-m-4096-n-4096-nvidia-h200-cold.json.gz"
        with gzip.open(file, "rt") as text:
            document = json.load(text)
        measured = [row for row in document["cache"].values() if row["hone"]["outcome"] == "ok"]
        best = sorted(measured, key=lambda row: (row["hone"]["objective"]))[:10]
        names = document["tune_params_keys"]
        differing = [name for name in names if len({row[name] for row in best}) > 1]
        self.assertLess(len(differing), 12)
        headings = self.browser.texts("#top thead th")
        self.assertEqual([text for text in headings if text in names], differing)
        shared = ", ".join(f"{name}={best[0][name]}" for name in names if name not in differing)
        self.assertIn(f"In all of them: {shared}", self.browser.text("#top"))

    def test_with_its_config_it_is_known_not_to_be_stale(self):
        for text in self.browser.texts("#summary .banner"):
            self.assertNotRegex(text, "^(Stale|Recorded):")

    def test_results_across_problems(self):
        self.assertEqual(self.browser.count("#across tbody tr"), 19)
        headings = self.browser.texts("#across thead th")
        self.assertEqual(headings[1:4], ["K", "M", "N"])
        self.assertIn("19 problems, from 31% to 93% of their roofs", self.browser.text("#across"))
        self.browser.click("#across tbody tr:last-child button")
        self.assertIn("K=1048576, M=32, N=32", self.browser.text("#summary"))

    def test_copied_commands_do_what_they_say(self):
        self.show("K=262144, M=64, N=64")
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        commands = self.browser.texts("#summary .command code")
        self.assertEqual(len(commands), 2)
        for place, command in enumerate(commands, 1):
            self.browser.click(f"#summary .command:nth-child({place}) .copy")
            self.browser.until(f"navigator.clipboard.readText().then(text => text === {json.dumps(command)})")
        words = shlex.split(commands[1])
        self.assertEqual(words[:3], ["hone", "export", "sgemm"])
        subprocess.run([HONE, *words[1:], "--quiet"], cwd=self.folder, check=True,
                       env=dict(os.environ, HONE_CACHE=str(self.folder / "none.db")))
        header = (self.folder / "sgemm_tuned.h").read_text()
        self.assertIn("K=262144,M=64,N=64", header)
        self.assertNotIn("K=1000,", header)

    def test_the_first_row_is_shown_first(self):
        self.assertEqual(self.browser.evaluate("[...document.querySelectorAll('#tunings tbody tr')].findIndex(e => e.classList.contains('shown'))"), 0)

    def test_ranks_are_in_the_order_in_which_they_are_shown(self):
        """Also where there are duplicates and equal times."""
        for place in range(self.browser.count("#tuning option")):
            self.browser.choose("#tuning", place)
            names = self.browser.evaluate("[...document.querySelectorAll('#distribution .columns > :nth-child(2) svg > text.tick')]"
                                          ".map(e => Number(e.textContent))")
            self.assertEqual(names, list(range(1, len(names) + 1)))
            self.assertEqual([int(rank) for rank in self.browser.texts("#top tbody td:first-child")], names[:10])
            ranks = [int(rank) for rank in self.column("rank") if rank != "–"]
            self.assertEqual(ranks, sorted(ranks))
            self.assertEqual(self.browser.texts("#records tr.winner td:first-child"), ["1"])
            self.assertTrue(self.browser.evaluate("document.querySelector('#records tbody tr').classList.contains('winner')"))

    def test_effects_of_a_search_are_called_hints(self):
        self.assertRegex(self.browser.text("#effects .banner"), r"Hints only: a search chose these [\d,]+ points")

    def test_a_wide_window_is_used(self):
        self.browser.resize(1920, 1080)
        self.addCleanup(self.browser.resize, 1320, 900)
        x, _, width, _ = self.browser.box("#summary .best-point > :first-child")
        self.assertGreater(self.browser.box("#top")[0], x + width)
        self.assertLess(self.browser.box("#top")[1], self.browser.box("#summary .commands")[1])

    def test_labels_of_the_roofline_cover_no_mark(self):
        covered = """(() => {
          const plot = document.querySelector('#roofline svg.plot');
          const ring = plot.querySelector('.best circle');
          const marks = [[+ring.getAttribute('cx'), +ring.getAttribute('cy')]];
          for (const [, x, y] of plot.querySelector('path.dash').getAttribute('d').matchAll(/M([\\d.]+) ([\\d.]+)/g)) marks.push([+x + 7, +y]);
          return [...plot.querySelectorAll('text.halo, .best text')].filter(text => {
            const box = text.getBBox();
            return marks.some(([x, y]) => x > box.x && x < box.x + box.width && y > box.y + 2 && y < box.y + box.height - 2);
          }).map(text => text.textContent);
        })()"""
        for place in range(0, self.browser.count("#tuning option"), 4):
            self.browser.choose("#tuning", place)
            self.assertEqual(self.browser.evaluate(covered), [])
            self.assertGreater(self.browser.count("#roofline text.halo"), 0)

    def test_size(self):
        """Twenty tunings with 30,000 records."""
        self.assertLess(self.page.stat().st_size, 2 << 20)

    def test_any_column_against_any_other(self):
        self.show("K=1000")
        for place, value in ((1, "shared"), (2, "rate gflops"), (3, "parameter 13")):
            self.browser.choose(f"#scatter label:nth-child({place}) select", value)
        text = self.browser.text("#scatter")
        for said in ("shared memory, bytes", "gflops", "LOAD=plain", "LOAD=async16"):
            self.assertIn(said, text)
        self.assertGreater(self.browser.count("#scatter path.hue0"), 0)
        options = self.browser.evaluate("[...document.querySelectorAll('#scatter label:nth-child(1) option')].map(e => e.textContent)")
        for name in ("time, µs", "BM", "MIN_BLOCKS", "registers", "occupancy", "compile time, ms", "share of the roof"):
            self.assertIn(name, options)
        self.browser.evaluate("document.querySelector('#scatter svg').focus()")
        self.browser.press("Home")
        self.assertIn("shared memory, bytes", self.browser.text("#live"))

    def test_occupancy_is_that_of_the_terminal(self):
        self.show("K=4096, M=4096, N=4096")
        cache = self.folder / "shown.db"
        environment = dict(os.environ, HONE_CACHE=str(cache), COLUMNS="")
        subprocess.run([HONE, "cache", "import", str(RECORDED / "sgemm-k-4096-m-4096-n-4096-nvidia-h200-cold.json.gz")], check=True,
                       env=environment, capture_output=True)
        lines = subprocess.run([HONE, "cache", "show", "sgemm"], check=True, env=environment, capture_output=True, text=True).stdout.splitlines()
        start = next(k for k, line in enumerate(lines) if line.lstrip().startswith("#"))
        terminal = [next(word for word in line.split()[5:] if word.endswith("%")) for line in lines[start + 1:start + 6]]
        place = self.browser.texts("#top thead th").index("occupancy") + 1
        self.assertEqual(self.browser.texts(f"#top tbody td:nth-child({place})")[:5], terminal)


class MadeUp(Page):
    """Everything that has to be marked, texts that try to be markup, two devices."""

    @classmethod
    def make(cls):
        markup = recordings.MARKUP
        paths = [
            recordings.write(cls.folder / "first.json", recordings.small()),
            recordings.write(cls.folder / "second.json", recordings.small(device="NVIDIA Other 200", scale=2, started=90000, protocol=0)),
            recordings.write(cls.folder / "third.json", recordings.small(
                device=f"GPU {markup}"[:120], driver="</script><b id=x>", kernel="saxpy_too", started=180000)),
        ]
        cls.report(*paths)

    def test_marks(self):
        self.assertEqual(self.column("rank")[:7], ["1", "1", "2", "3", "4", "5", "6"])
        self.assertEqual(self.column("remarks")[:7], ["best", "duplicate", "tied", "self-verified", "UNVERIFIED", "", "unstable"])
        self.filter("slower")
        self.browser.until("document.querySelectorAll('#records tbody tr').length === 1")
        self.assertEqual(self.column("remarks"), ["lower bound"])
        self.assertRegex(self.column("time")[0], r"^≥ \d+\.\d µs$")
        self.assertEqual((self.column("±95%"), self.column("gflops")) if "gflops" in self.browser.text("#records thead") else None,
                         (["–"], ["–"]))

    def test_several_gpus(self):
        self.assertEqual(self.column("GPU")[:4], ["gpu7 GPU-d0112233", "", "gpu7 GPU-d1112233", ""])
        self.browser.evaluate("[...document.querySelectorAll('#records tbody tr')][2].querySelector('button.link').click()")
        self.assertIn("measured by\nGPU-d1112233-4455 of host gpu7, which takes 1.100 times as long as the first", self.browser.text("#record"))
        self.browser.evaluate("document.querySelector('#record').close()")

    def test_stale(self):
        self.show("Other 200")
        self.assertIn("Stale:", self.browser.text("#summary .banner"))
        self.assertIn("0 (this Hone's is 1)", self.browser.text("#summary"))
        self.assertIn("stale", self.browser.texts("#tunings tbody tr")[1])

    def test_without_a_config_nobody_looked_whether_it_is_stale(self):
        self.assertIn("was not looked at; --config names the config", " ".join(self.browser.texts("#summary .banner")))

    def test_nothing_known_of_the_roofs(self):
        self.assertIn("No roofs are known of this device", self.browser.text("#roofline"))
        self.assertEqual(self.browser.count("#roofline svg"), 0)

    def test_failures(self):
        rows = self.browser.texts("#outcomes tbody tr")
        self.assertTrue(any(row.startswith("wrong_result") and "2 points: y differs: max_error 0.5" in row for row in rows), rows)
        self.browser.evaluate("[...document.querySelectorAll('#outcomes tbody tr')].find(row => row.textContent.startsWith('wrong_result'))"
                              ".querySelector('button.link').click()")
        self.assertEqual(self.selected(), "2 of 18 records selected")
        self.assertEqual(self.column("message"), ["y differs: max_error 0.5, tolerance 1e-6"] * 2)

    def test_devices_side_by_side(self):
        headings = self.browser.texts("#compare thead th")
        self.assertEqual(headings[1:], ["shown: NVIDIA Test 100", "NVIDIA Other 200"])
        self.assertIn("14 points in common", self.browser.text("#compare"))
        self.assertIn("The best of the shown one takes 1.000 times the best there.", self.browser.text("#compare"))

    def test_texts_are_no_markup(self):
        self.show("owned")
        self.assertIn(recordings.MARKUP, self.browser.text("#outcomes"))
        for selector in ("#injected", "#x", "img", "main script", "body > b"):
            self.assertEqual(self.browser.count(selector), 0, selector)
        self.assertEqual(self.browser.count("script"), 2)
        text = self.page.read_text()
        self.assertEqual(text.count("</script>"), 2)
        self.assertNotIn("<img", text)

    def test_no_other_script_runs(self):
        self.browser.evaluate("(() => { const s = document.createElement('script'); s.textContent = 'document.title = \"ran\"';"
                              "document.body.append(s); })()")
        self.assertNotEqual(self.browser.evaluate("document.title"), "ran")
        self.assertTrue(any("Content Security Policy" in error for error in self.browser.errors), self.browser.errors)
        self.browser.errors.clear()


class Odd(Page):
    """Tunings in which something is missing, a report each."""

    @classmethod
    def make(cls):
        pass

    def setUp(self):
        self.document = recordings.recording(recordings.SMALL)
        self.rows = list(self.document["cache"].values())

    def look(self):
        self.report(recordings.write(self.folder / "odd.json", self.document))
        super().setUp()
        self.assertNotIn("NaN", self.browser.evaluate("document.querySelector('main').innerHTML"))
        self.assertNotIn("undefined", self.browser.text("main"))

    def look_again_with_roofs(self):
        device = {"name": "NVIDIA Test 100", "capability": 90, "sm_count": 132, "mig_profile": ""}
        roofs = {"copy_gb_per_s": 4000.0, "l2_gb_per_s": 8000.0, "fp32_gflops": 60000.0, "launch_us": 1.5, "measured": 1795168800,
                 "driver": "580.1", "l2_bytes": 40 << 20}
        given = self.folder / "given.json"
        given.write_text(json.dumps({"devices": [dict(device, roofs=roofs)]}))
        self.report(self.folder / "odd.json", "--roofs", given)
        self.browser.requests.clear()
        self.browser.open(self.page)

    def test_nothing_is_valid(self):
        for k in range(18):
            recordings.fail(self.document["cache"], k, "compile_error", "no")
        self.look()
        self.assertIn("No point is valid", self.browser.text("#summary"))
        self.assertIn("18 points: no", self.browser.text("#outcomes"))

    def test_no_record(self):
        self.document["cache"] = {}
        self.look()
        self.assertEqual(self.browser.text("#records-count"), "0 to 0 of 0 records")

    def test_one_point(self):
        self.document = recordings.recording({"BLOCK": [128]})
        self.look()
        self.assertIn("No parameter has more than one value", self.browser.text("#effects"))

    def test_what_the_gpu_counted(self):
        """What crossed each level, in words, in a table and under the roofs."""
        for row in self.rows:
            row["hone"]["counters"] = {"dram_read_bytes": 2e7, "dram_written_bytes": 1e7, "l2_sectors": 6e6, "load_sectors": 3e7,
                                       "load_requests": 31250, "load_bytes": 4e6, "warps_per_issue": 20, "stall_long_scoreboard": 18,
                                       "occupancy_percent": 70, "cycles": 5000, "active_cycles": 4900, "longest_cycles": 5000}
        self.look()
        text = self.browser.text("#counted")
        self.assertIn("bound by latency, no unit is busier than", text)
        self.assertIn("loads of global memory are not coalesced", text)
        self.assertEqual(self.browser.texts("#counted tbody td:first-child"), ["DRAM", "L2", "L1"])
        self.look_again_with_roofs()
        names = self.browser.evaluate("[...document.querySelectorAll('#roofline svg text.halo')].map(e => e.textContent)")
        self.assertIn("DRAM, counted", names)  # a label without room is left out
        self.assertEqual(self.browser.evaluate("document.querySelector('#roofline .mark.other').getAttribute('d').split('M').length - 1"), 3)
        self.assertIn("of roof", self.browser.text("#counted"))

    def test_a_pipeline_has_no_roof(self):
        """Its metrics say what crosses the bus."""
        self.look()
        self.look_again_with_roofs()
        self.assertIn("of the roof", self.browser.text("#summary"))
        self.assertRegex(self.browser.text("#top"), r"% copy")
        for row in self.rows:
            row["hone"]["staging"] = {"chunks": 4, "streams": 2}
        self.look()
        self.look_again_with_roofs()
        self.assertNotIn("of the roof", self.browser.text("#summary"))
        self.assertNotRegex(self.browser.text("#top"), r"% copy")
        self.assertIn("crosses the bus, for which no roof is measured", self.browser.text("#roofline"))

    def test_a_warm_cache(self):
        """It serves what half of it holds."""
        self.document["hone"]["regime"] = "warm"
        for amount, roof in ((16 << 20, "L2"), (24 << 20, "copy")):
            for row in self.rows:
                row["hone"]["metrics"]["bytes"] = amount
            self.look()
            self.look_again_with_roofs()
            self.assertRegex(self.browser.text("#top"), f"% {roof}")

    def test_lower_bounds_are_no_best(self):
        for row in self.rows[1:]:
            row["hone"]["outcome"] = "slower"
        self.look()
        cells = self.browser.texts("#heatmap tbody td")
        self.assertEqual(sum(cell.startswith("≥ ") for cell in cells), len(cells) - 1, cells)
        self.assertEqual(self.browser.count("circle.reached"), 3)  # one value of each parameter
        self.assertIn("at least: lower bounds count as they are", self.browser.text("#distribution"))

    def test_a_metric_to_maximize(self):
        self.document["hone"]["objective"] = "gflops maximize"
        for row in self.rows:
            row["hone"]["objective"] = -row["hone"]["metrics"]["gflops"]
        self.look()
        best = max(row["hone"]["metrics"]["gflops"] for row in self.rows)
        self.assertIn(f"best gflops\n\n{best:.2f}\n\nhigher is better", self.browser.text("#summary"))
        self.assertEqual(self.column("rank")[0], "1")
        self.assertEqual(self.column("gflops")[0], f"{best:.2f}")

    def weigh(self, delay, finalists=(0.02, 0.0125)):
        """An objective that only the finalists have; that of the others is estimated."""
        self.document["hone"]["objective"] = "energy_delay minimize" if delay else "energy minimize"
        for row, joules in zip(self.rows, [*finalists] + [0] * len(self.rows)):
            seconds = row["time"] / 1000
            row["hone"].update(estimated_w=700, objective=(joules or 700 * seconds) * (seconds if delay else 1))
            if joules:
                row["hone"].update(final=True, energy={"joules": joules, "spread": 0.01, "power_w": 300.5, "windows": 2})
        self.look()
        ranks = [str(k + 1) for k in range(len(finalists))]
        self.assertEqual(self.column("rank"), ranks + ["–"] * (len(self.rows) - len(ranks)))
        self.assertEqual(self.browser.texts("#energy tbody td:first-child"), ranks[::-1])
        return self.browser.text("#summary")

    def test_energy(self):
        self.assertIn("best energy\n\n12.50 mJ\n\nlower is better", self.weigh(delay=False))

    def test_energy_that_was_not_measured_yet(self):
        self.assertNotIn("best energy", self.weigh(delay=False, finalists=()))

    def test_energy_and_time(self):
        product = 0.0125 * self.rows[1]["time"] / 1000
        self.assertIn(f"best energy_delay\n\n{product:.2e}\n\nlower is better".replace("e-0", "e-"), self.weigh(delay=True))

    def test_no_metrics(self):
        for row in self.rows:
            row["hone"]["metrics"] = {}
        self.look()
        self.assertIn("names no metric bytes or flops", self.browser.text("#roofline"))

    def test_no_intervals(self):
        """As of Kernel Tuner's files."""
        for row in self.rows:
            time_us = row["time"] * 1000
            row["hone"]["timing"].update(median_us=time_us, low_us=time_us, high_us=time_us)
        self.look()
        self.assertIn("±? (95% interval of the median)", self.browser.text("#summary"))
        self.assertIn("tied with the best\n\nnot known\n\nthe best has no interval", self.browser.text("#summary"))
        self.assertEqual(set(self.column("±95%")), {"±?"})

class OldRecording(Page):
    """A config that got a parameter since."""

    @classmethod
    def make(cls):
        config = cls.folder / "saxpy.yaml"
        config.write_text("kernel: saxpy\nproblem: {SIZE: 1048576}\nparameters: {BLOCK: [64, 128], ITEMS: [1, 2], LOAD: [plain, ldg], EXTRA: [0, 1]}\n"
                          "ladder: [{}, {EXTRA: 1}]\n")
        cls.report(recordings.write(cls.folder / "small.json", recordings.small()), "--config", config)

    def test_a_ladder_of_which_nothing_is_known_says_why(self):
        self.assertEqual(self.browser.count("#ladder table"), 0)
        self.assertIn("None of the 2 steps of the ladder is known here: the config has parameters that this tuning does not: EXTRA.",
                      self.browser.text("#ladder"))


class Cached(Page):
    """Tunings of a cache that --cache names."""

    @classmethod
    def make(cls):
        cls.cache = cls.folder / "a cache.db"
        config = SOURCE / "configs" / "matmul.yaml"
        subprocess.run([HONE, "cache", "import", MATMUL[1], "--config", config, "--cache", cls.cache], check=True, capture_output=True)
        cls.report("--cache", cls.cache)

    def test_the_command_that_exports_names_the_cache(self):
        command = self.browser.texts("#summary .commands code")[1]
        self.assertIn(f"--cache '{self.cache}'", command)
        subprocess.run(["sh", "-c", command.replace("hone", HONE, 1)], cwd=self.folder, check=True, capture_output=True,
                       env=dict(os.environ, HONE_CACHE=str(self.folder / "none.db")))
        self.assertTrue((self.folder / "matmul_tuned.h").exists())


class Program(Page):
    """A tuning of a program, as `run` of a config says."""

    @classmethod
    def make(cls):
        (cls.folder / "app.yaml").write_text("""\
kernel: app
template: app.yaml
parameters: {A: [1, 2]}
run: {command: [echo, "${A} us"], time: {regex: '([0-9]+) us'}}
""")
        cls.settings = dict(os.environ, HONE_CACHE=str(cls.folder / "app.db"), HONE_LOCKS=str(cls.folder), LD_LIBRARY_PATH=DOUBLE)
        subprocess.run([HONE, "tune", "app.yaml", "--allow-run", "-q"], cwd=cls.folder, env=cls.settings, check=True, capture_output=True)
        cls.report("--cache", cls.folder / "app.db")

    def test_its_commands_do_what_they_say(self):
        self.assertIn("the config has no check", self.browser.text("#summary"))
        for command in self.browser.texts("#summary .commands code"):
            subprocess.run([HONE, *shlex.split(command)[1:]], cwd=self.folder, env=self.settings, check=True, capture_output=True)
        self.assertEqual(json.loads((self.folder / "app_tuned.json").read_text())["configurations"][0]["parameters"], {"A": 1})
        self.assertTrue((self.folder / "again.db").exists())


class Large(Page):
    """Ten thousand records of ten parameters."""

    @classmethod
    def make(cls):
        document = recordings.recording(recordings.LARGE, 10000)
        for k in range(0, 9000, 3):
            recordings.fail(document["cache"], k, "compile_error", f"kernel.cu({k}): error: a message of its own, number {k}, "
                            "that says at some length what was wrong with the variant")
        cls.report(recordings.write(cls.folder / "large.json", document))

    def test_size_and_use(self):
        self.assertLess(self.page.stat().st_size, 2e6)
        self.assertEqual(self.browser.text("#records-count"), "1 to 50 of 10,000 records")
        self.filter("UNROLL=4 ok")
        self.browser.until("document.querySelector('#selection').hidden === false")
        self.assertGreater(int(self.selected().split(" ")[0].replace(",", "")), 1000)
        self.assertIn("left out of the report for its size", self.browser.text("#outcomes") +
                      str(self.browser.evaluate("[...document.querySelectorAll('#outcomes code')].map(e => e.textContent).join()")))


def why_not():
    return None if browser.find() else "no Chromium is here, so that the report was not looked at (Debian: apt-get install chromium)"
