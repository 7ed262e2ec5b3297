# SPDX-License-Identifier: MIT
"""hone tune --family on the driver double: the rule, what is kept, and what it refuses. Of the double's kernel one configuration,
BLOCK 256 and ITEMS 4, is the best for each size, so that the rule has nothing to lose."""

import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess

import double
import hone
import test_families

BUILD = os.environ.get("HONE_BUILD", str(hone.SOURCE / "build"))
FAMILY = "family: {n: {range: [1, 20000]}}"
BEST = {"BLOCK": 256, "FAULT": 0, "ITEMS": 4}


class Case(double.Case):
    def setUp(self):
        super().setUp()
        self.spoil(self.config, "problem: {n: 24576}", FAMILY)

    def rules(self):
        return [json.loads(text) for text, in self.sql("SELECT rule FROM session WHERE rule IS NOT NULL ORDER BY id")]

    def pairs(self):
        """What searches measured: pairs of a size and a point."""
        events = [json.loads(line) for line in self.events.read_text().splitlines()]
        return [(json.dumps(event["problem"]), double.name(event["record"]["point"])) for event in events
                if event["event"] == "record" and not event["record"]["final"]]


class Tuned(Case):
    # Valid at a fifth of the sizes; searches do not look at it.
    RARE = ("constraints: [BLOCK != 1024 or n % 5 == 0]\npromising: [BLOCK != 1024]\n"
            "family: {n: {range: [1, 20000]}, ladder: [{BLOCK: 1024, ITEMS: 2}]}")

    def family(self, *arguments, **settings):
        return self.hone("tune", "--family", self.config, "--budget", "500", "--held-out", "3", *arguments, **settings)

    learnt = None

    def learn(self):
        """What a tune of the family says, which is in the cache then; of the same config it runs once."""
        if Tuned.learnt is None:
            Tuned.learnt = self.family().stderr, self.cache.read_bytes()
        self.cache.write_bytes(Tuned.learnt[1])
        return Tuned.learnt[0]

    def test_a_rule_is_learnt_kept_and_used(self):
        self.spoil(self.config, FAMILY, self.RARE)
        said = self.family("--json", "--events", self.events, "--cache", self.cache)
        document = json.loads(said.stdout)[0]
        family = document["family"]
        self.assertEqual(document["kernel"], "scale")
        self.assertLessEqual(len(self.pairs()), 500, "the budget")
        self.check_lines(said.stderr, family)
        self.check_rule(family["rule"])
        self.assertEqual(self.rules(), [family["rule"]])
        self.check_cache()
        self.check_export()
        self.check_recorded(family["rule"])
        self.check_beside()
        self.check_again(family)
        self.check_replay()
        self.check_recalled()

    def test_what_is_wrong_at_a_size_serves_none(self):
        """Grids end early, so that all but large blocks leave elements of large sizes unwritten."""
        self.spoil(self.config, "ceil_div(n, BLOCK * ITEMS)", "min(2, ceil_div(n, BLOCK * ITEMS))")
        self.spoil(self.config, FAMILY, "family: {n: {range: [1, 16384]}}")
        self.spoil(self.config, "defaults: {BLOCK: 128, ITEMS: 1,", "defaults: {BLOCK: 1024, ITEMS: 8,")
        said = self.family("--held-out", "12", "--json")
        rule = json.loads(said.stdout)[0]["family"]["rule"]
        self.assertRegex(said.stderr, r"\n +\d+ s  left out, wrong at a size: \d+ points, as BLOCK=\d+,\S+; is a constraint missing\?\n")
        largest = max(map(int, re.findall(r"not used n=(\d+):", said.stderr)))
        self.assertGreater(largest, 2 * 256 * 4, "what is the fastest is wrong there")
        self.assertGreaterEqual(min(2 * point["BLOCK"] * point["ITEMS"] for point in rule["configurations"]), largest)
        right = self.config.read_text()
        self.spoil(self.config, "min(2, ceil_div(n, BLOCK * ITEMS))", "max(1, ceil_div(n, BLOCK * ITEMS) // 8)")
        self.assertIn("the replay does not hold: what the rule chooses fails at ",
                      self.hone("replay", "--family", self.config, "--budget", "100", "--held-out", "12", expect=4).stderr)
        self.config.write_text(right)
        self.spoil(self.config, "defaults: {BLOCK: 1024, ITEMS: 8,", "defaults: {BLOCK: 128, ITEMS: 1,")
        self.assertIn("the default point is wrong at a size; name another by `defaults`", self.family(expect=2).stderr)

    def test_what_was_not_compared_is_told(self):
        for reference, told in (("none", "UNVERIFIED: the config says `reference: none`, so nothing was compared"),
                                (None, "self-verified: compared with the template at its defaults, not with a reference")):
            text = re.sub(r"^reference: .*\n", f"reference: {reference}\n" if reference else "", self.config.read_text(), flags=re.MULTILINE)
            self.config.write_text(text)
            said = self.hone("tune", "--family", self.config, "--budget", "60", "--held-out", "1", "--quiet")
            self.assertIn(f"\n{told}\n", said.stdout)

    def check_lines(self, said, family):
        tuned = re.findall(r"^ +\d+ s  tuned n=\d+: best [\d.e+]+ us, \d+ configurations known$", said, re.MULTILINE)
        losses = re.findall(r"(\d+) sizes, (\d+) times measured: predicted loss ([\d.]+)%, \d+% at worst, sure at \d+%$", said, re.MULTILINE)
        compared = re.findall(r"not used n=(\d+): [\d.e+]+ us, tuned [\d.e+]+ us, default [\d.e+]+ us, [\d.]+% slower: choice [\d.]+%, "
                              r"coverage [\d.]+%, freezing 0.0%$", said, re.MULTILINE)
        self.assertTrue(tuned)
        self.assertLessEqual(len(tuned), family["tuned"])
        self.assertTrue(losses)
        self.assertEqual(int(losses[-1][0]), family["sizes"])
        self.assertLessEqual(int(losses[-1][1]), family["cells"])
        self.assertEqual(len(compared), 3)
        self.assertEqual(len(set(compared)), 3)
        self.assertIn(f"next: hone export scale --cache {self.cache} -o scale_tuned.h\n"
                      f"      hone replay --family {self.config} --cache {self.cache}\n", said)

    def check_rule(self, rule):
        self.assertEqual(rule["values"], [{"name": "n", "low": 1, "high": 20000}])
        self.assertEqual(rule["configurations"][0], {"BLOCK": 128, "FAULT": 0, "ITEMS": 1}, "the default point serves any size")
        self.assertIn(BEST, rule["configurations"])
        self.assertEqual(rule["measured"]["sizes"], 3)
        self.assertLess(rule["measured"]["mean"], 0.03)
        self.check_parts(rule)
        self.assertEqual(rule["parts"]["freezing"]["worst"], 0, "nothing is frozen")
        self.assertGreaterEqual(rule["predicted"]["sizes"], 12)

    def check_parts(self, rule):
        """The parts of the loss multiply to it."""
        parts = rule["parts"]
        self.assertEqual({part["sizes"] for part in parts.values()}, {rule["measured"]["sizes"]})
        self.assertTrue(all(0 <= part["mean"] <= part["worst"] for part in parts.values()))
        whole = math.prod(1 + part["mean"] for part in parts.values())
        self.assertAlmostEqual(whole, 1 + rule["measured"]["mean"], places=9)

    def check_cache(self):
        line = "family of scale on Hone Double, cold L2: "
        self.assertIn(line, self.hone("cache", "list").stdout)
        self.assertIn(line, self.hone("cache", "show", "scale").stdout)
        self.assertIn("is whole", self.hone("cache", "check").stdout)
        images = self.sql("SELECT count(*) FROM image WHERE problem = ''")
        self.assertEqual(images[0][0], len(self.rules()[0]["configurations"]), "machine code for all problems")
        rare = self.sql("SELECT count(*) FROM record WHERE point LIKE '%BLOCK=1024%'")
        self.assertGreater(rare[0][0], 0, "the ladder is measured where it is valid")

    def check_export(self):
        self.hone("export", "scale", "-o", "scale_tuned.h")
        header = (self.folder / "scale_tuned.h").read_text()
        self.assertIn("hone_scale_choose(struct hone_scale_problem problem, int *sure)", header)
        self.write("choose.c", """#include <stdio.h>
#include "scale_tuned.h"
int main(void)
{
    for (int n = 1; n <= 20000; n *= 10) {
        const struct hone_scale_problem problem = {n};
        if (hone_scale_choose(problem, NULL) < 0)
            return 1;
    }
    puts(HONE_SCALE_LOSS);
    return 0;
}
""")
        subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "choose.c", "-o", "choose"], cwd=self.folder, check=True)
        loss = subprocess.run([self.folder / "choose"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(loss, r"^at 3 sizes that were not used: [\d.]+% slower than tuned for each in the mean, [\d.]+% at worst "
                               r"\(choice [\d.]+%, [\d.]+% at worst; coverage [\d.]+%, [\d.]+%; freezing 0.0%, 0.0%\)$")

    def check_recorded(self, rule):
        """Beside recordings a rule is a file of its own: for a header, and for another cache, where it can be held against searches."""
        self.hone("cache", "export", "scale", "recorded/")
        name, = (path.name for path in (self.folder / "recorded").glob("*.family.gz"))
        self.assertEqual(name, "scale-hone-double-cold.family.gz")
        self.hone("export", "scale", "--recorded", "recorded", "-o", "recorded_tuned.h")
        header = (self.folder / "recorded_tuned.h").read_text()
        choose = re.search(r"^.*hone_scale_choose\([\s\S]*?^}", header, re.MULTILINE)[0]
        self.assertIn(choose, (self.folder / "scale_tuned.h").read_text())
        other = ["--cache", self.folder / "other.db"]
        self.assertIn("with the rules of families", self.hone("cache", "import", *other, f"recorded/{name}").stdout)
        self.assertIn("already", self.hone("cache", "import", *other, f"recorded/{name}").stdout)
        self.check_code(rule, f"recorded/{name}")
        listed = json.loads(self.hone("cache", "list", *other, "--json").stdout)
        self.assertEqual([family["rule"] for family in listed["families"]], [rule])
        said = self.hone("replay", "--family", self.config, "--held-out", "2", "--budget", "100", *other)
        self.assertRegex(said.stdout, r"origin    imported from .*family.gz[\s\S]*verdict   holds\n")
        simulate = pathlib.Path(BUILD) / "bench" / "search" / "bench_simulate"
        subprocess.run([simulate, *(self.folder / "recorded").glob("*.json.gz"), "--runs", "1"], capture_output=True, check=True)

    def compiled(self, cache, *arguments):
        [family] = json.loads(self.hone("cache", "compile", "--cache", cache, "--json", *arguments).stdout)["families"]
        return family["programs"], family["compiled"], family["bytes"]

    def check_code(self, rule, file):
        """The rule's machine code travels with it, where it is asked for; else it is compiled before a program asks for it."""
        count = len(rule["configurations"])
        self.assertEqual(self.compiled(self.cache), (count, 0, rule["bytes"]))
        self.assertGreater(rule["bytes"], 1000 * count)
        taken, left = self.folder / "taken.db", self.folder / "left.db"
        self.assertIn(f"without its {count} images, which --images takes; `hone cache compile --cache {left}` compiles their configurations",
                      self.hone("cache", "import", "--cache", left, file).stdout)
        self.assertIn(f" {count} images, with the rules", self.hone("cache", "import", "--cache", taken, "--images", file).stdout)
        self.assertEqual(self.compiled(taken), (count, 0, rule["bytes"]))
        self.assertEqual(self.chosen(left, [{"n": 17001}]), [None], "forbid_compile")
        self.assertEqual(self.compiled(left), (count, count, rule["bytes"]))
        for cache in (taken, left):
            self.assertEqual(self.chosen(cache, [{"n": 17001}]), [4])
        own, self.cache = self.cache, self.folder / "elsewhere.db"
        self.hone("cache", "import", file)
        for source in (file, taken):  # also of a rule that is there, and once
            shutil.copy(self.cache, self.folder / "later.db")
            for said in (f"0 records, {count} images", "all of it was there already"):
                self.assertIn(said, self.hone("cache", "import", "--cache", self.folder / "later.db", "--images", source).stdout)
        self.forge("UPDATE session SET task = json_set(task, '$.device.capability', 80)")
        self.assertEqual(self.chosen(self.cache, [{"n": 17001}]), [None], "a rule of another architecture")
        self.assertEqual(self.compiled(self.cache, "--arch", "sm_90")[:2], (count, count))
        self.assertEqual(self.compiled(self.cache, "--arch", "sm_90")[:2], (count, 0))
        self.assertEqual(self.chosen(self.cache, [{"n": 17001}]), [4])
        self.cache = own

    def chosen(self, cache, problems):
        """The grades of what libhone finds without a compiler; None: nothing."""
        command = [pathlib.Path(BUILD) / "bench" / "family" / "bench_family", "scale", f"chosen={cache}", "--rounds", "5"]
        said = subprocess.run(command, input="".join(json.dumps(problem) + "\n" for problem in problems), env=self.environment(),
                              capture_output=True, text=True)
        lines = [json.loads(line) for line in said.stdout.splitlines()][:len(problems)]
        self.assertTrue(all("sides" in line or "forbid_compile" in line["failure"] for line in lines), said.stdout + said.stderr)
        return [line["sides"]["chosen"]["grade"] if "sides" in line else None for line in lines]

    def check_beside(self):
        """What measures rules on a GPU, as far as it goes here: without a vendor's function."""
        command = [hone.SOURCE / "bench" / "family" / "run", "--cache", self.cache, "--other", self.cache, "scale", "--",
                   "--draw", "n=1:20000", "--sizes", "3", "--rounds", "5", "--learnt", "20"]
        done = subprocess.run(command, env=self.environment(HONE=hone.HONE, HONE_BUILD=BUILD, OUT=str(self.folder / "out"),
                                                                HONE_FIGURES=str(self.folder)),
                              capture_output=True, text=True)
        log = (self.folder / "out" / "scale.log").read_text()
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout + log)
        self.assertIn("NO PEER", log)
        self.assertIn("3 of 3 sizes of seed", done.stdout)
        result = json.loads((self.folder / "out" / "scale.json").read_text())
        self.assertEqual({row["regime"] for row in result["comparisons"]}, {"cold", "warm"})
        row, = json.loads((self.folder / "families-parts.json").read_text())["families-parts"]["rows"]
        self.assertEqual(row[:3] + row[4:6], ["`scale`", "n 1 to 20000", "20 s", "3", "0"])
        for row in result["comparisons"]:
            if row["beside"] == "raced":
                self.assertLess(row["mean"], 1.01, "a race keeps its own point, or a faster one")
            elif row["own"] == "chosen":
                self.assertTrue(0.95 < row["worst"] <= row["mean"] < 1.05, "the same cache twice, but for a step of an event")
        self.assertEqual([row["own"] for row in result["comparisons"] if row["beside"] == "other"], ["chosen"] * 2 + ["raced"] * 2)

    def check_replay(self):
        replay = ["replay", "--family", self.config, "--held-out", "3", "--budget", "100"]
        said = self.hone(*replay)
        self.assertEqual(len(re.findall(r"not used n=\d+: ", said.stderr)), 3)
        self.assertRegex(said.stdout, r"promised  at 3 sizes that were not used: [\s\S]*now       at 3 sizes that nobody had measured: "
                                      r"[\s\S]*verdict   holds\n")
        rule = self.rules()[-1]
        rule["nodes"] = [{"configuration": 0, "sure": True}]  # the default point, which is the best of no size
        self.forge("UPDATE session SET rule = ?1 WHERE id = (SELECT max(id) FROM session WHERE rule IS NOT NULL)",
                   json.dumps(rule))
        said = self.hone(*replay, "--json", expect=4)
        self.assertRegex(said.stderr, r"hone: the replay does not hold: found \d+.\d% slower than tuned in the mean, at least ")
        document = json.loads(said.stdout)[0]
        self.assertEqual((document["verdict"], document["now"]["sizes"]), ("WORSE", 3))
        self.assertGreater(document["now"]["mean"], document["promised"]["mean"] + 0.05)
        self.assertGreater(document["parts"]["choice"]["mean"], 0.05, "a better configuration is there, and is not chosen")
        self.fails(3, "hone: the cache holds no rule of scale's family for Hone Double with a warm L2 cache; `hone tune --family` "
                      "learns one", *replay, "--regime", "warm", "-q")

    def check_again(self, before):
        """What is in the cache is not measured again, and the newest rule counts; who is quiet says only that."""
        measured = set(self.pairs())
        self.assertGreater(len(measured), before["sizes"])
        self.events.unlink()
        quiet = self.family("--events", self.events, "--quiet")
        said = quiet.stdout
        self.assertEqual((quiet.stderr, len(said.splitlines())), ("", 4))
        self.assertRegex(said, r"\nthe default point there: [1-9][\d.]*% slower in the mean, \d+% at worst\n", "it is the best of no size")
        self.assertEqual(measured & set(self.pairs()), set())
        self.assertRegex(said, r"^\d+ configurations? of \d+ programs? for any size, [\d.]+ KiB of machine code, chosen by a tree of \d+ nodes?\nat 3 sizes that were not used: ")
        self.assertRegex(said, r"\nlearnt in \d+ s from \d+ sizes, \d+ of them tuned on their own, and \d+ times of a configuration at a size\n$")
        self.assertEqual(len(self.rules()), 2)
        self.assertEqual(self.hone("cache", "list").stdout.count("family of scale"), 1)

    def check_recalled(self):
        """Another budget and seed ask for other sizes, and yet the rule is learnt from all that earlier tunes measured."""
        said = self.hone("tune", "--family", self.config, "--budget", "200", "--held-out", "2", "--seed", "9").stderr
        sizes = re.findall(r"^ +\d+ s  from the cache: (\d+) sizes, \d+ configurations, \d+ times$", said, re.MULTILINE)
        self.assertGreater(int(*sizes), 8)

    def test_a_short_budget_has_fewer_sizes_that_are_not_used(self):
        document = json.loads(self.hone("tune", "--family", self.config, "--budget", "300", "--json").stdout)[0]
        self.assertEqual(document["family"]["rule"]["measured"]["sizes"], 6)

    def test_sizes_that_were_used_measure_no_loss(self):
        """Of three sizes none is left; of thirty each is held out once, and none that the rule was learnt from."""
        self.spoil(self.config, "20000", "3")
        said = self.hone("tune", "--family", self.config, "--budget", "500", "--held-out", "2")
        self.assertIn("the family has no more sizes that were not used", said.stderr)
        self.assertNotIn("  not used", said.stderr)
        self.assertIn("predicted for 3 sizes", said.stdout)
        self.assertEqual(self.rules()[0]["measured"]["sizes"], 0)
        self.cache.unlink()
        self.spoil(self.config, "3]", "30]")
        said = self.hone("tune", "--family", self.config, "--budget", "500", "--held-out", "30", "--json")
        family = json.loads(said.stdout)[0]["family"]
        held = re.findall(r"  not used n=(\d+):", said.stderr)
        self.assertEqual(len(held), len(set(held)))
        self.assertEqual(len(held) + family["sizes"], 30)

    def test_a_large_space(self):
        """Of too many points to be measured at any size some are searched, then the model proposes others for each size."""
        self.spoil(self.config, FAMILY, "problem: {n: 24576}")
        self.cheap_config(64, 16)
        self.spoil(self.config, "problem: {n: 64}", "family: {n: {range: [1, 20000]}}")
        said = self.hone("tune", "--family", self.config, "--budget", "400", "--held-out", "2", "--events", self.events).stderr
        known = [int(count) for count in re.findall(r"  tuned n=\d+: best .* us, (\d+) configurations known$", said, re.MULTILINE)]
        self.assertLess(known[0], 64, said)
        self.assertGreater(len({point for _, point in self.pairs()}), known[0])
        self.assertEqual(self.rules()[0]["measured"]["sizes"], 2)

    def test_sizes_are_searched_where_the_prior_knows_of_better_points(self):
        """Of what it says to be best from 512 to 1023 the first sizes, which are others, have nothing."""
        self.spoil(self.config, FAMILY, "problem: {n: 24576}")
        self.cheap_config(64, 16)
        self.spoil(self.config, "problem: {n: 64}", "family: {n: {range: [1, 20000]}}\nprior: (2 if BLOCK == 50 else 20) if n // 512 == 1 else 2 + BLOCK")
        said = self.hone("tune", "--family", self.config, "--budget", "1500", "--held-out", "1").stderr
        before, after = said.split("times measured: predicted loss", 1)
        window = [512 <= int(size) < 1024 for size in re.findall(r"  tuned n=(\d+):", before) + re.findall(r"  tuned n=(\d+):", after)[:1]]
        self.assertEqual(window, [False] * (len(window) - 1) + [True], said)

    def test_a_size_that_the_family_names_is_measured_again(self):
        """It is searched first, when nothing is known; what is learnt at others is measured there, too, and raced, as only there
        and where the rule is compared."""
        self.spoil(self.config, FAMILY, "problem: {n: 24576}")
        self.cheap_config(64, 16)
        self.spoil(self.config, "problem: {n: 64}", "family: {n: {range: [1, 20000]}, sizes: [{n: 4096}]}")
        said = self.hone("tune", "--family", self.config, "--budget", "400", "--held-out", "1", "--events", self.events).stderr
        [held] = re.findall(r"  not used n=(\d+):", said)
        raced = self.sql("SELECT DISTINCT s.problem FROM session s JOIN record r ON r.session_id = s.id WHERE r.final")
        self.assertEqual({problem for problem, in raced}, {"n=4096", f"n={held}"})
        sizes = [size for size, _ in self.pairs()]
        self.assertEqual(json.loads(sizes[0]), {"n": 4096})
        others = next(i for i, size in enumerate(sizes) if size != sizes[0])
        self.assertIn(sizes[0], sizes[others:])

    def test_a_rule_of_another_device_is_where_searches_begin(self):
        """It travels without what was measured for it."""
        self.spoil(self.config, FAMILY, "problem: {n: 24576}")
        self.cheap_config(64, 16)
        self.spoil(self.config, "problem: {n: 64}", "family: {n: {range: [1, 20000]}}")
        self.hone("tune", "--family", self.config, "--budget", "400", "--held-out", "1", "-q")
        [rule] = self.rules()
        self.hone("cache", "export", "scale", "recorded/")
        self.cache.unlink()
        self.hone("cache", "import", *(self.folder / "recorded").glob("*.family.gz"))
        self.hone("tune", "--family", self.config, "--budget", "60", "--held-out", "1", "-q", "--events", self.events, HONE_DOUBLE_NAME="Other")
        first = self.pairs()[0][0]
        begun = {point for size, point in self.pairs() if size == first}
        for configuration in rule["configurations"]:
            self.assertIn(double.name(configuration), begun)

    def test_a_rule_of_another_device_stays_where_it_loses_less(self):
        """It knows blocks that are better, and valid at no size that was measured here."""
        held = re.findall(r"  not used n=(\d+):", self.learn())
        [rule] = self.rules()
        rule["nodes"] = [{"configuration": rule["configurations"].index(BEST), "sure": True}]
        self.forge("UPDATE session SET rule = ?1 WHERE rule IS NOT NULL", json.dumps(rule))
        self.spoil(self.config, FAMILY, FAMILY + f"\nconstraints: [BLOCK <= 64 or {' or '.join(f'n == {n}' for n in held)}]")
        self.spoil(self.config, "defaults: {BLOCK: 128,", "defaults: {BLOCK: 64,")
        said = self.hone("tune", "--family", self.config, "--budget", "500", "--held-out", "3", HONE_DOUBLE_NAME="Other")
        self.assertRegex(said.stderr, r"the rule of Hone Double at these sizes:\n(.* not used .*\n){3}.* it loses 0\.\d%, what was learnt "
                                      r"here [1-3]\d\.\d%: it is taken\n")
        self.assertEqual(self.rules()[-1]["nodes"], rule["nodes"])
        self.assertLess(self.rules()[-1]["measured"]["mean"], 0.01)
        self.assertIn("at 3 sizes that were not used: 0.", said.stdout)

    def test_a_rule_of_another_device_that_is_wrong_here(self):
        """It would lose less at the sizes that were not used, which are small; at larger ones its choice leaves elements unwritten."""
        self.spoil(self.config, FAMILY, "family: {n: {range: [1, 16384]}}")
        self.family()
        [rule] = self.rules()
        rule["nodes"] = [{"configuration": rule["configurations"].index(BEST), "sure": True}]
        self.forge("UPDATE session SET rule = ?1 WHERE rule IS NOT NULL", json.dumps(rule))
        self.spoil(self.config, "ceil_div(n, BLOCK * ITEMS)", "min(2, ceil_div(n, BLOCK * ITEMS))")
        self.spoil(self.config, "defaults: {BLOCK: 128, ITEMS: 1,", "defaults: {BLOCK: 1024, ITEMS: 8,")
        said = self.family("--seed", "7", HONE_DOUBLE_NAME="Other").stderr
        held = re.findall(r"  not used n=(\d+): .* ([\d.]+)% slower", said)
        self.assertLess(max(int(size) for size, _ in held), 2 * 256 * 4)
        learnt, given = sum(float(loss) for _, loss in held[:3]), sum(float(loss) for _, loss in held[3:])
        self.assertLess(given, learnt)
        self.assertNotIn("it is taken", said)
        self.assertNotIn(BEST, self.rules()[-1]["configurations"])

    def test_new_programs_are_compiled_meanwhile(self):
        """While sizes are measured, and before somebody asks: also that of a point which no size allows."""
        kept = self.folder / "programs"
        kept.mkdir()
        self.spoil(self.config, FAMILY, self.RARE.replace("5", "99991"))
        self.hone("tune", "--family", self.config, "--budget", "300", "--held-out", "1", HONE_DOUBLE_KEPT=str(kept))
        compiled = [path.stat().st_mtime for path in kept.iterdir()]
        [(first,)] = self.sql("SELECT count(DISTINCT point) FROM record WHERE session_id = 1")
        [(second,)] = self.sql("SELECT started FROM session WHERE id = 2")
        [(points,)] = self.sql("SELECT count(DISTINCT point) FROM record")
        others = sum(at < second for at in compiled) - first  # of what measures
        self.assertEqual(len(compiled), points + others + 1)

    def test_a_template_that_is_edited_meanwhile(self):
        process = self.start("tune", "--family", self.config, "--budget", "500", "--events", self.events)
        self.wait_for_events(10, process)
        self.spoil(self.folder / "scale.cu", "extern", "// another\nextern")
        _, errors = self.ended(process, 1)
        self.assertIn(f"hone: {self.folder}/scale.cu changed while the family was tuned; run again\n", errors)

    def test_a_config_that_is_edited_meanwhile(self):
        """It was read once, so that a rule has no parts of two."""
        process = self.start("tune", "--family", self.config, "--budget", "500", "--events", self.events)
        self.wait_for_events(10, process)
        self.config.write_text("nobody reads this again")
        self.ended(process)
        self.assertEqual(len(self.sql("SELECT DISTINCT version FROM session")), 1)

    def test_headers_of_a_folder(self):
        (self.folder / "include").mkdir()
        (self.folder / "include" / "own.h").touch()
        template = self.folder / "scale.cu"
        template.write_text('#include "own.h"\n' + template.read_text())
        self.config.write_text(self.config.read_text() + f'compile: {{options: ["-I{self.folder}/include"]}}\n')
        self.hone("tune", "--family", self.config, "--budget", "100", "--held-out", "1", "-q")
        self.assertEqual(len(self.rules()), 1)

    def test_what_searches_do_not_look_at(self):
        """The best configuration of a rule counts where no search may look at it."""
        self.spoil(self.config, FAMILY, "promising: [BLOCK * ITEMS == 128]\nfamily: {n: {range: [1, 20000]}, ladder: [{BLOCK: 256, ITEMS: 4}]}")
        self.hone("tune", "--family", self.config, "--budget", "300", "--held-out", "1")
        [rule] = self.rules()
        self.assertIn(BEST, rule["configurations"])
        rule["nodes"] = [{"configuration": 0, "sure": True}]
        self.forge("UPDATE session SET rule = ?1 WHERE rule IS NOT NULL", json.dumps(rule))
        said = self.hone("replay", "--family", self.config, "--held-out", "2", "--budget", "60", "--json", expect=4).stdout
        self.assertGreater(json.loads(said)[0]["parts"]["choice"]["mean"], 0.05)

    def test_sizes_that_were_not_used_take_back_what_is_sure(self):
        """At them alone there are better blocks, which nothing that was measured could tell of."""
        said = self.learn()
        held = re.findall(r"  not used n=(\d+):", said)
        self.assertNotIn("(not sure)", said)
        self.cache.unlink()
        self.spoil(self.config, FAMILY, FAMILY + f"\nconstraints: [BLOCK <= 64 or {' or '.join(f'n == {n}' for n in held)}]")
        self.spoil(self.config, "defaults: {BLOCK: 128,", "defaults: {BLOCK: 64,")
        self.assertIn("3 of 3 choices called sure lose more than 10%: none is called so", self.family().stderr)
        [rule] = self.rules()
        self.assertGreater(rule["parts"]["coverage"]["mean"], 0.1)
        self.assertNotIn('"sure": true', json.dumps(rule))

    def test_values_that_the_config_no_longer_has(self):
        """They were measured before, at many sizes."""
        self.learn()
        self.assertIn(BEST, self.rules()[-1]["configurations"])
        for option in (["-s", "BLOCK=64,128"], []):
            self.spoil(self.config, "powers_of_two: [32, 1024]", "powers_of_two: [32, 128]") if not option else None
            document, = json.loads(self.family("--json", *option).stdout)
            self.assertLessEqual({one["BLOCK"] for one in document["family"]["rule"]["configurations"]}, {32, 64, 128})

    def test_values_that_decide_what_is_frozen(self):
        """Searches for the family take programs for all sizes only; what the rule has is none that is for one. The best block is
        allowed in such alone: what is lost by that is told apart."""
        text = re.sub(r"\bn\b", "N", self.config.read_text()).replace("name: N", "name: n")
        for old, new in (("parameters:", "freeze: {values: [N], if: FROZEN}\nconstraints: [FROZEN == 1 or BLOCK != 256, ITEMS == 4]\n"
                          "parameters:\n  FROZEN: [1, 0]"),
                         ("defaults: {BLOCK: 128, ITEMS: 1,", "defaults: {FROZEN: 1, BLOCK: 128, ITEMS: 4,")):
            text = text.replace(old, new, 1)
        self.config.write_text(text)
        said = self.hone("tune", "--family", self.config, "--budget", "400", "--held-out", "2").stderr
        [rule] = self.rules()
        self.assertEqual({point["FROZEN"] for point in rule["configurations"]}, {0})
        self.assertEqual(len(re.findall(r"slower: choice [\d.]+%, coverage [\d.]+%, freezing [1-9][\d.]*%", said)), 2)
        self.check_parts(rule)
        self.assertLess(rule["parts"]["coverage"]["mean"], 0.05)
        self.assertGreater(rule["parts"]["freezing"]["mean"], 0.05)

    def test_two_values_that_are_always_frozen(self):
        """A program for each, of which libhone and the header take the one that fits, and a third value gets none. How many kernels are
        launched follows from the size: their machine code is there for all sizes."""
        once = '  block: BLOCK\n  grid: "ceil_div(n, BLOCK * ITEMS)"'
        step = 'block: BLOCK, grid: "ceil_div(n, BLOCK * ITEMS)"}\n'
        for old, new in ((once, f"  - {{if: n % 7 == 0, {step}  - {{{step}"), (FAMILY, "family: {n: {range: [1, 20000]}, WIDTH: [1, 4]}"),
                         ("parameters:", "freeze: [WIDTH]\nparameters:")):
            self.spoil(self.config, old, new)
        self.hone("tune", "--family", self.config, "--budget", "150", "--held-out", "1", "--quiet")
        [rule] = self.rules()
        kept = self.sql("SELECT problem, count(*) FROM image WHERE problem LIKE 'WIDTH=_'"
                        " GROUP BY problem ORDER BY problem")
        self.assertEqual(kept, [(f"WIDTH={width}", len(rule["configurations"])) for width in (1, 4)])
        asked = [{"n": n, "WIDTH": width} for width in (1, 4, 2) for n in (777, 17001)]
        self.assertEqual(self.chosen(self.cache, asked), [4] * 4 + [None] * 2)
        self.hone("cache", "export", "scale", "recorded/")
        taken, left = self.folder / "taken.db", self.folder / "left.db"
        self.hone("cache", "import", "--images", "--cache", taken, "recorded/scale-hone-double-cold.family.gz")
        self.hone("cache", "import", "--cache", left, "recorded/scale-hone-double-cold.family.gz")
        self.assertEqual(self.compiled(left)[:2], (2 * len(rule["configurations"]),) * 2)
        for cache in (taken, left):
            self.assertEqual(self.chosen(cache, asked), [4] * 4 + [None] * 2)
        self.hone("export", "scale", "-o", "scale_tuned.h")
        self.write("choose.c", """#include "scale_tuned.h"
int main(void)
{
    for (int64_t n = 1; n <= 20000; n *= 10)
        for (int64_t width = 1; width <= 4; width++) {
            const struct hone_scale_problem problem = {.n = n, .WIDTH = width};
            const int config = hone_scale_choose(problem, 0), served = width == 1 || width == 4;
            if (served ? config < 0 || !hone_scale_fits(config, problem) : config >= 0)
                return 1;
        }
    return 0;
}
""")
        subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "choose.c", "-o", "choose"], cwd=self.folder, check=True)
        subprocess.run([self.folder / "choose"], check=True)


    def test_a_program_that_is_launched_in_two_ways(self):
        """Its bytes are counted once."""
        for old, new in ((FAMILY, "problem: {n: 24576}"), ("parameters:", "parameters:\n  MORE: [0, 64]"), ("defaults: {", "defaults: {MORE: 0, "),
                         ('BLOCK * ITEMS)"', 'BLOCK * ITEMS) + MORE"')):
            self.spoil(self.config, old, new)
        self.hone("tune", self.config, "-s", "BLOCK=256", "-s", "ITEMS=4", "--quiet")
        test_families.put_rule(self.cache, dict(test_families.RULE, values=[{"name": "n", "low": 1, "high": 20000}], features=["n"],
                                                configurations=[dict(BEST, MORE=more) for more in (0, 64)]))
        programs = self.compiled(self.cache)
        kept = self.sql("SELECT length(cubin) FROM image WHERE problem = ''")
        self.assertEqual(kept[0], kept[1])
        self.assertEqual(programs, (2, 2, kept[0][0]))

    def test_bytes_of_machine_code(self):
        """The set of configurations is chosen within what is allowed."""
        self.family("--budget", "300", "--quiet")
        [rule] = self.rules()
        self.assertGreater(len(rule["configurations"]), 1)
        most = rule["bytes"] - 1
        self.spoil(self.config, "20000]}", f"20000]}}, bytes: {most}")
        said = self.family("--budget", "300")
        less = self.rules()[-1]
        self.assertLessEqual(less["bytes"], most)
        self.assertLess(len(less["configurations"]), len(rule["configurations"]))
        self.assertIn(f" programs have {rule['bytes']} bytes of machine code: ", said.stderr)
        self.assertRegex(said.stdout, r"^\d+ configurations? of \d+ programs? for any size, [\d.]+ KiB of machine code, chosen by ")
        self.assertRegex(self.hone("cache", "list", COLUMNS="").stdout, r": \d+ configurations? \([\d.]+ KiB\) for n 1 to ")


class Interrupted(Case):
    def interrupt(self, budget, at):
        """What a tune says behind a line with `at`, where it is interrupted."""
        process = self.start("tune", "--family", self.config, "--budget", budget, "--held-out", "3", "--events", self.events)
        for line in process.stderr:
            if at in line:
                break
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
        self.assertEqual((process.returncode, output), (130, ""), errors)
        return errors

    def test_a_rule_whose_loss_is_not_measured_yet(self):
        said = self.interrupt("300", "  not used n=")
        self.assertIn("interrupted; what was measured is kept, the rule too, with the predicted loss alone, and the same command goes on "
                      "from there", said)
        [rule] = self.rules()
        self.assertGreater(rule["predicted"]["sizes"], 0)
        self.assertEqual(rule["measured"]["sizes"], 0)

    def test_what_was_measured_is_kept(self):
        said = self.interrupt("30s", "times measured: predicted loss")
        self.assertIn("interrupted; what was measured is kept, and the same command goes on from there", said)
        self.assertEqual(self.rules(), [], "a rule of half a tune is no rule")
        [[kept]] = self.sql("SELECT count(DISTINCT session.problem) FROM record JOIN session ON session.id = record.session_id")
        self.assertGreaterEqual(kept, 12)
        measured = set(self.pairs())
        self.assertGreater(len(measured), 12)
        self.events.unlink()
        result = self.hone("tune", "--family", self.config, "--budget", "500", "--held-out", "3", "--events", self.events)
        self.assertEqual(measured & set(self.pairs()), set(), "nothing is measured again")
        self.assertIn("at 3 sizes that were not used", result.stdout)


class Page(double.Case):
    def test_sizes_as_arguments(self):
        """What docs/families.md shows is a config and a kernel."""
        page = (hone.SOURCE / "docs" / "families.md").read_text().split("### Sizes as arguments")[1]
        config = re.search(r"```yaml\n(.*?)```", page, re.S).group(1)
        kernel = re.search(r"```cuda\n(.*?)```", page, re.S).group(1)
        self.write("scale.yaml", "kernel: scale\ntemplate: scale.cu\nentry: scale\n" + config +
                   'launch: {block: BLOCK, grid: "ceil_div(N, BLOCK)"}\n')
        self.write("scale.cu", kernel.replace("    ...\n", "    const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
                                              "    if (i < count)\n        x[i] *= 2;\n}\n"))
        table = self.hone("compile", "--all", "--arch", "sm_90", "scale.yaml").stdout
        self.assertIn("\n  6 points: 6 ok\n", table)


class Refused(Case):
    def refused(self, message, *arguments, expect=2):
        self.fails(expect, "hone: " + message, "tune", *arguments)

    def test_a_config_without_a_family(self):
        self.spoil(self.config, FAMILY, "problem: {n: 24576}")
        self.refused(f"--family: {self.config} has no 'family'; docs/families.md says how to write one", "--family", self.config)

    def test_a_size_that_does_not_fit_is_named(self):
        self.spoil(self.config, FAMILY, "family: {n: [64, 1073741824]}")
        said = self.hone("tune", "--family", self.config, "--budget", "100", expect=1).stderr
        self.assertRegex(said, r"\n +\d+ s  ended at n=1073741824\nhone: the buffers do not fit: .* \(of a family: by `where`\)")

    def test_another_objective(self):
        self.spoil(self.config, "hone: 1", "hone: 1\nobjective: gbps\ndirection: maximize")
        self.refused(f"--family compares times, and the objective of {self.config} is 'gbps'", "--family", self.config)

    def test_options_that_it_has_no_use_for(self):
        for option in (["--simulate", hone.SOURCE / "cache/recorded"], ["--problem", "n=5"], ["--full"], ["--stop-chance", "0.05"],
                       ["--retry-failed"], ["--reference", "y=y.npy"]):
            self.refused("--family draws sizes, and shares its time between short searches on a GPU: leave "
                         f"{option[0]} out", "--family", self.config, *option)
        for option, value in (("--loss", "3%"), ("--held-out", "5")):
            self.refused(f"{option} is an option of --family", self.config, option, value)

    def test_values_of_options(self):
        for value in ("0", "-1", "x", "3 percent", "1e9"):
            self.misused(f"--loss: found '{value}', expected a percentage above 0, as 3%", "tune", "--family", self.config, f"--loss={value}")
        for value in ("0", "-1", "x", "1001"):
            self.misused(f"--held-out: found '{value}', expected a number from 1 to 1000", "tune", "--family", self.config,
                         f"--held-out={value}")

    def test_replays(self):
        for arguments, message in ((["--all", "--family"], "--all races what is stale of all problems and regimes: leave --family out"),
                                   (["--held-out", "3"], "--held-out is an option of --family"),
                                   (["--budget", "3s"], "--budget is the time of --family's searches")):
            self.fails(2, f"hone: {message}", "replay", self.config, *arguments)
        replay = ["replay", "--family", self.config]
        self.fails(2, "hone: --family draws sizes: leave --problem out", *replay, "-p", "n=5")
        self.spoil(self.config, FAMILY, "problem: {n: 24576}")
        self.fails(2, f"hone: --family: {self.config} has no 'family'; docs/families.md says how to write one", *replay)

    def test_frozen_sizes(self):
        self.spoil(self.config, "parameters:", "freeze: [n]\nparameters:")
        self.refused(f"{self.config}: 'freeze' makes n a constant of the program, so that each size of the family would be compiled; "
                     "give it as an argument too, and let one parameter say whether it is frozen: 'freeze: {values: [n], if: FROZEN}' "
                     "with FROZEN: [0, 1]", "--family", self.config)
        self.assertEqual(self.rules() if self.cache.exists() else [], [])
