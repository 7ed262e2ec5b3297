# SPDX-License-Identifier: MIT
"""`hone tune` over kernels that answer without doing the work, and over mistakes that do not always show.

Each is faster than the good points beside it, and none may be accepted. On the driver double where HONE_DOUBLE is its
folder, else on a GPU; there is skipped (77) without one. Prints the table of docs/reliability.md."""

import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import hone  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
DOUBLE = os.environ.get("HONE_DOUBLE")
# So many elements take 50 us and more, and under 15 us.
LONG, SHORT = (8192, 2048) if DOUBLE else (4194304, 131072)

WRONG = ("wrong_result", r"(in \S.*: )?y\[\d+\] is (\S+|never written); expected \S+(: an error of .*)?")
LESS = ("wrong_result", r".*compared took \S+ us, the others \S+ us: it does less where it is not checked")
AGAIN = ("wrong_result", r"a launch on new inputs takes \S+ us, one on the same inputs again \S+ us: it does not do all of its "
         r"work in every launch")
AHEAD = ("wrong_result", r"a launch on one set of the arguments wrote into others: it works ahead for launches to come")
OUTSIDE = ("out_of_bounds", r"(in \S.*: )?(a launch on another set of the arguments )?wrote .*")
# Of what relies on what it did before; which shows first is a matter of chance.
MEMORY = [WRONG, LESS, AGAIN]
FAULT = ("device_fault", r".*CUDA_ERROR_ILLEGAL_ADDRESS.*")

# What each does, and what it is found by, as (outcome, message): one of these. Messages may end with when it was.
FOUND = {
    "first_launch": ("works in its first launch only: a flag in a `__device__` variable", MEMORY),
    "odd_launches": ("works in every second launch", MEMORY),
    "half_a_launch": ("does half of the tiles in each launch, in turn", MEMORY),
    "between": ("leaves out launches 3 to 24", MEMORY),
    "tickets_left": ("takes tiles from a `__device__` counter that nobody resets", MEMORY),
    "scratch_flag": ("a flag in scratch that says that the work is done", MEMORY),
    "same_pointers": ("does nothing for buffers that it has seen", MEMORY),
    "first_set": ("works on the first of rotating sets only", [WRONG]),
    "seen_pointers": ("copies its last answer where the input's address is the same", MEMORY),
    "seen_sample": ("the same where four inputs of a tile are the same", MEMORY),
    "seen_thrice": ("the same where they were so three times before", MEMORY),
    "seen_all": ("the same where all inputs are", MEMORY),
    "scratch_answers": ("copies what it left in scratch", MEMORY),
    "other_set": ("copies the answer from another set of a batch", MEMORY),
    "work_for_two": ("leaves every second launch's work to the next launch", MEMORY),
    "work_ahead": ("does the work of a whole batch in its first launch", [*MEMORY, AHEAD]),
    "done": ("looks at one element of a tile: if it is right, so will be the rest", MEMORY),
    "poison_only": ("writes only where it finds no possible result", [WRONG]),
    "clock": ("works in every second millisecond", MEMORY),
    "pause": ("leaves out launches that follow the last one closely", MEMORY),
    "in_cache": ("leaves out what is in the L2 cache: nothing has flushed it", MEMORY),
    "late_guard": ("writes before the start of `y`, but for its first launch", [OUTSIDE]),
    "blind_guard": ("the same, with the table of guard zones emptied before", [OUTSIDE, FAULT]),
    "guard_of_a_set": ("writes before the start of `y` of all sets but the first", [OUTSIDE]),
    "input_of_a_set": ("writes into `x` of all sets but the first", [OUTSIDE]),
    "own_inputs": ("sets its inputs to 0, for which the answer is 0", [OUTSIDE, WRONG]),
    "not_a_number": ("NaN in every second element, but for its first launch", [WRONG]),
    "small_as_zero": ("0 where the result is small", [WRONG]),
    "first_rows": ("only the first eighth", [WRONG]),
    "half": ("sums in float16", [WRONG]),
    "few_terms": ("8 terms instead of 512", [WRONG]),
    "zeroed_output": ("adds to an output that it takes to be zero", [WRONG]),
    "zeroed_scratch": ("takes scratch to be zero", [WRONG]),
    "alignment": ("takes rows to begin at multiples of 512 bytes", [WRONG]),
    "now_and_then": ("one element is wrong in one of 100 launches", [WRONG]),
    "reads_reference": ("looks for the reference in 320 MiB behind `y`, to copy it", [WRONG, LESS, OUTSIDE, FAULT]),
    "discard": ("discards from the L2 cache what it wrote", [WRONG]),
    "child_kernel": ("launches a kernel that does the work",
        [("compile_error", r".*cheats\.cu\(\d+\): error: .*kernel launch.*")]),
}

# What is right, and may stay as long as it gains nothing.
FRUITLESS = {"reads_reference", "evict_last", "discard", "window", "between"}
if not DOUBLE:  # an error in one of 100 launches may pass an audit of some hundred (docs/reliability.md); the double's is in one of 8
    FRUITLESS.add("now_and_then")
HARMLESS = {"none": "does its work", "evict_last": "loads lines that the L2 cache is to keep", "window": "has a window of what is to persist"}
OF_SETS = {"first_set", "other_set", "work_ahead", "guard_of_a_set", "input_of_a_set"}
GAIN = 0.95
# Hints to the cache are no cheat, and may gain honestly; more than this would be what outlives the flush.
GAIN_OF_HINTS = 0.9

# Good points with tiles as large as those of the cheats, which short launches are slower with.
LARGE_TILES = ("-s", "ITEMS=4")

# The double runs all of them once, and these wherever something is different.
CORE = {"first_launch", "odd_launches", "seen_all", "scratch_answers", "done", "clock", "late_guard", "not_a_number", "zeroed_scratch"}
OF_REGIME = {"pause", "in_cache", "evict_last", "window"}


def cheats_of(config):
    text = (FOLDER / f"{config}.yaml").read_text()
    return re.search(r"CHEAT:\s*\[none, ([^]]*)\]", text).group(1).replace(",", " ").split()


def gain_of(cheat):
    return GAIN_OF_HINTS if cheat in HARMLESS else GAIN


class Cheats(hone.Case):
    def tune(self, config, names, *arguments):
        """All of the config's cheats, or those that it has of these."""
        settings = {"LD_LIBRARY_PATH": DOUBLE, "HONE_LOCKS": str(self.folder)} if DOUBLE else {}
        declared = cheats_of(config)
        chosen = ["none", *(name for name in declared if names is None or name in names)]
        arguments = ("-s", "CHEAT=" + ",".join(chosen), *arguments, *((*LARGE_TILES, "--run-timeout", "60") if DOUBLE else ()))
        result = self.hone("tune", FOLDER / f"{config}.yaml", "--strategy", "exhaustive", "--json", "--quiet",
                           *arguments, **settings)
        return json.loads(result.stdout)[0]

    def check_record(self, record, good_us, fruitless, everything):
        cheat = record["point"]["CHEAT"]
        if record["outcome"] in ("ok", "slower"):
            # Who gains nothing by what he does is not looked at further, but where all of them would gain.
            self.assertTrue(cheat in fruitless or not everything, record)
            if DOUBLE and record["outcome"] == "ok":
                self.assertGreater(record["timing"]["median_us"], gain_of(cheat) * good_us, cheat)
            return
        message = re.sub(r" \((on the second seed, \d+|in the final race|after the final race)\)$", "", record.get("message") or "")
        for outcome, pattern in FOUND.get(cheat, ("", []))[1]:
            if record["outcome"] == outcome and re.fullmatch(pattern, message, re.DOTALL):
                return
        self.fail(f"{cheat}: {record['outcome']}: {message}")

    def check(self, tuning, fruitless=FRUITLESS, everything=False):
        """All cheats are found out or gain nothing, and a good point is the best. everything: only those that are named
        here may gain nothing."""
        self.report(tuning)
        good = [row for row in tuning["records"] if row["point"]["CHEAT"] == "none"]
        self.assertIn(len(good), (2, 4))
        for record in good:
            self.assertIn(record["outcome"], ("ok", "slower", "duplicate"), record)
        good_us = min(row["timing"]["median_us"] for row in good if row["outcome"] == "ok")
        for record in tuning["records"]:
            if record["point"]["CHEAT"] != "none":
                with self.subTest(cheat=record["point"]["CHEAT"]):
                    self.check_record(record, good_us, fruitless, everything)
        best = tuning["best"]
        self.assertIn(best["point"]["CHEAT"], {"none"} | set(fruitless) | set(HARMLESS))
        if DOUBLE:
            self.assertGreater(best["timing"]["median_us"], gain_of(best["point"]["CHEAT"]) * good_us)

    def report(self, tuning):
        print(f"\n{tuning['device']}, {self._testMethodName}:")
        for record in tuning["records"]:
            timing = record.get("timing") or {}
            cheat = record["point"]["CHEAT"]
            what = HARMLESS.get(cheat) or FOUND[cheat][0]
            message = record.get("message") or f"{timing.get('median_us', 0):.4g} us"
            print(f"| `{cheat}` | {what} | `{record['outcome']}` | {message} |")
        sys.stdout.flush()

    def test_cold(self):
        names = set(cheats_of("cheats")) - OF_SETS
        # The cache is always cold there.
        self.check(self.tune("cheats", names, "-p", f"n={LONG}", "--full"),
                   # Outputs as small as the double's are poisoned before every launch: there is nothing to be seen done.
                   FRUITLESS | {"in_cache"} | ({"done"} if DOUBLE else set()), everything=True)

    def test_cold_with_early_stops(self):
        """As a user tunes: nothing is asked of what is stopped early but that it does not win."""
        cheats = {"first_launch", "done"} | ({"now_and_then"} if DOUBLE else set())
        tuning = self.tune("cheats", cheats, "-p", f"n={LONG}")
        self.assertEqual(tuning["best"]["point"]["CHEAT"], "none")

    def test_warm(self):
        names = CORE | OF_REGIME if DOUBLE else set(cheats_of("cheats")) - OF_SETS
        self.check(self.tune("cheats", names, "-p", f"n={LONG}", "--full", "--regime", "warm"))

    def test_batches(self):
        names = OF_SETS | CORE | OF_REGIME if DOUBLE else None
        # Sets have contents of their own, which one set's answers are of no use to; and so short launches fill no GPU, so that
        # two at once take as long as one after the other.
        self.check(self.tune("cheats", names, "-p", f"n={SHORT}", "--full", *LARGE_TILES),
                   FRUITLESS | {"in_cache", "other_set", "work_ahead", "work_for_two"} | ({"done"} if DOUBLE else set()))

    def test_batches_warm(self):
        names = {"first_launch", "seen_all", "done", "own_inputs"}
        self.check(self.tune("cheats", names, "-p", f"n={SHORT}", "--full", "--regime", "warm", *LARGE_TILES))

    def test_inout(self):
        self.check(self.tune("cheats_inout", CORE if DOUBLE else None, "-p", f"n={LONG}", "--full"))

    def test_counter(self):
        self.check(self.tune("cheats_counter", CORE if DOUBLE else None, "-p", f"n={LONG}", "--full"))

    def test_steps(self):
        self.check(self.tune("cheats_steps", CORE if DOUBLE else None, "-p", f"n={LONG}", "--full"))

    def test_pipeline(self):
        # Copies may take most of the time, so that what saves kernels gains nothing.
        fruitless = set() if DOUBLE else {"scratch_flag", "done", "clock", "pause"}
        self.check(self.tune("cheats_pipeline", CORE if DOUBLE else None, "-p", f"n={LONG}", "--full"), FRUITLESS | fruitless)
