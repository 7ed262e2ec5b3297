# SPDX-License-Identifier: MIT
"""Rules of families in a cache: listed, shown, checked, imported."""

import json
import re
import shutil
import sqlite3
import subprocess

import hone

TRANSPOSE = hone.SOURCE / "cache/recorded/nvidia-h200/transpose-columns-8192-rows-8192-nvidia-h200-cold.json.gz"
EXAMPLE = hone.SOURCE / "tests/data/recording/example.json"
RULE = {
    "goal": "mean",
    "values": [{"name": "N", "low": 1, "high": 65536}],
    "features": ["N"],
    "nodes": [{"feature": 0, "threshold": 4096, "left": 1, "right": 2}, {"configuration": 0, "sure": True},
              {"configuration": 1, "sure": False}],
    "configurations": [{"PAD": 1, "TILE": 16}, {"PAD": 0, "TILE": 32}],
    "predicted": {"mean": 0.019, "worst": 0.07, "sizes": 24},
    "measured": {"mean": 0.021, "worst": 0.09, "sizes": 40},
}
PARTS = {"choice": {"mean": 0.004, "worst": 0.03, "sizes": 40}, "coverage": {"mean": 0.011, "worst": 0.052, "sizes": 40},
         "freezing": {"mean": 0.006, "worst": 0.04, "sizes": 40}}


def put_rule(cache, rule):
    """Beside the tuning that is there: a session of the task without a problem, with the rule."""
    with sqlite3.connect(cache) as database:
        kernel, task, version = database.execute("SELECT kernel, task, version FROM session").fetchone()
        task = json.dumps(dict(json.loads(task), problem={}), separators=(",", ":"), sort_keys=True)
        row = ("a-family", kernel, "", task, version, None, json.dumps(rule), 1770000000.0, "hone tune", 0, "node7", "", 0.0)
        database.execute(f"INSERT INTO session VALUES(NULL{', ?' * 14})", (*row, hone.checksum(*row)))
    database.close()


class Families(hone.Case):
    def setUp(self):
        super().setUp()
        self.hone("cache", "import", EXAMPLE)
        put_rule(self.cache, RULE)

    def family_lines(self, *arguments):
        lines = self.hone(*arguments, COLUMNS="").stdout.splitlines()
        [start] = [i for i, line in enumerate(lines) if line.startswith("family of")]
        return lines[start:]

    LINES = [
        "family of example on NVIDIA Example, cold L2: 2 configurations for N 1 to 65536, learnt 2026-02-02",
        "  at 40 sizes that were not used: 2.1% slower than tuned for each in the mean, 9.0% at worst",
    ]

    def test_list_and_show(self):
        self.assertEqual(self.family_lines("cache", "list"), self.LINES)
        self.assertEqual(self.family_lines("cache", "show", "example"), self.LINES)
        self.assertNotIn("family of", self.hone("cache", "list", "-p", "N=4096").stdout)
        for arguments in (["list"], ["show", "example"]):
            document = json.loads(self.hone("cache", *arguments, "--json").stdout)
            [family] = document["families"]
            self.assertEqual(family["rule"], json.loads(json.dumps(RULE).replace('1, "high": 65536', '1.0, "high": 65536.0')))
            self.assertEqual((family["learnt"], family["origin"]["machine"]), (1770000000, "node7"))
            self.assertEqual(len(document["tunings"]), 1)

    def test_rules_alone(self):
        """A cache that has no tuning is not empty."""
        folder = hone.SOURCE / "cache/recorded/nvidia-h200/families"
        self.cache = self.folder / "rules.db"
        self.hone("cache", "import", folder / "sgemm-nvidia-h200-cold.family.gz")
        line = (r"family of sgemm on NVIDIA H200, cold L2: \d+ configurations \([0-9.]+ MiB\) for K 1 to 1048576, M 1 to 16384, "
                "N 1 to 16384, ")
        listed = self.hone("cache", "list", COLUMNS="")
        self.assertEqual(listed.stderr, f"cache '{self.cache}' has no tunings yet, only rules of families\n")
        self.assertRegex(listed.stdout, "^" + line)
        self.assertEqual(self.hone("cache", "show", "sgemm", COLUMNS="").stdout, listed.stdout)
        self.assertEqual([len(json.loads(self.hone("cache", "show", "sgemm", "--json").stdout)[key]) for key in ("tunings", "families")],
                         [0, 1])
        self.fails(3, f"hone: cache '{self.cache}' has no valid results yet; `hone tune CONFIG` makes them", "cache", "show", "bgemm")
        self.fails(3, f"hone: cache '{self.cache}' has no rule of a family that fits", "cache", "compile", "bgemm")

    def test_a_rule_alone_is_exported(self):
        self.cache = self.folder / "rules.db"
        path = hone.SOURCE / "cache/recorded/nvidia-h200/families/sgemm-nvidia-h200-cold.family.gz"
        self.hone("cache", "import", path)
        (self.folder / "alone").mkdir()
        shutil.copy(path, self.folder / "alone")
        for options in ((), ("--recorded", path), ("--recorded", "alone")):
            said = self.hone("export", "sgemm", "-o", "sgemm.h", *options).stderr
            self.assertRegex(said, r"wrote sgemm.h\n  for any problem hone_sgemm_choose; at \d+ sizes that were not used: ")
            self.write("choose.c", """#include "sgemm.h"
int main(void)
{
    int sure = -1;
    const struct hone_sgemm_problem problem = {4096, 4096, 4096};
    const int config = hone_sgemm_choose(problem, &sure);
    return config < 0 || sure < 0 || config != hone_sgemm_select("NVIDIA H200", 90, 132, problem);
}
""")
            subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "choose.c", "-o", "choose", "-lm"], cwd=self.folder, check=True)
            subprocess.run([self.folder / "choose"], check=True)
        for options in (["--format", "json"], ["--no-family"], ["-p", "M=1"]):
            self.fails(3, "hone: no problem of 'sgemm' is tuned, there is the rule of a family alone: a header has it, without -p and "
                       "--no-family", "export", "sgemm", *options)
        self.fails(3, "hone: 'sgemm' was not tuned on 'A100', or that names several; cached are: NVIDIA H200", "export", "sgemm",
                   "--device-name", "A100")

    def test_report(self):
        page = self.folder / "report.html"
        self.hone("report", "example", "-o", page)
        self.assertIn("2 configurations for N 1 to 65536; at 40 sizes that were not used: 2.1% slower", hone.report_text(page))

    def test_check_and_import(self):
        self.assertIn("is whole", self.hone("cache", "check").stdout)
        first, self.cache = self.cache, self.folder / "other.db"
        self.assertIn("with the rules of families", self.hone("cache", "import", first).stdout)
        self.assertEqual(self.family_lines("cache", "list"), self.LINES)
        with sqlite3.connect(first) as database:
            database.execute("UPDATE session SET rule = replace(rule, '\"right\": 2', '\"right\": 0')")
        database.close()
        self.cache = first
        self.assertIn("session 2 is not what was written", self.hone("cache", "check", expect=1).stdout)

    def test_export(self):
        self.cache = self.folder / "transpose.db"
        self.hone("cache", "import", TRANSPOSE)
        [tuning] = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        best = tuning["best"]["point"]
        narrow = dict(best, TILE=32, BLOCK_ROWS=8, VECTOR=1, TALL=1)
        put_rule(self.cache, dict(
            RULE, configurations=[best, narrow], features=["COLUMNS % 4"],
            values=[{"name": name, "low": 1, "high": 32768} for name in ("COLUMNS", "ROWS")],
            nodes=[{"feature": 0, "threshold": 0, "left": 1, "right": 2}, {"configuration": 0, "sure": True},
                   {"configuration": 1, "sure": False}], parts=PARTS))
        said = self.hone("export", "transpose", "-o", "transpose.h").stderr
        self.assertIn("for any other problem hone_transpose_choose; at 40 sizes that were not used: 2.1% slower", said)
        self.write("choose.c", '''#include <stdio.h>
#include "transpose.h"
int main(void)
{
    for (int columns = 1000; columns < 1002; columns++) {
        int sure;
        struct hone_transpose_problem problem = HONE_TRANSPOSE_TUNED_PROBLEM;
        problem.COLUMNS = columns;
        const int config = hone_transpose_choose(problem, &sure);
        printf("%d %d %d %d\\n", config, sure, hone_transpose_select("NVIDIA H200", 90, 132, problem),
               hone_transpose_choose(problem, NULL));
    }
    puts(HONE_TRANSPOSE_LOSS);
    printf("%g %g %g %d\\n", HONE_TRANSPOSE_CHOICE_LOSS_MEAN, HONE_TRANSPOSE_COVERAGE_LOSS_WORST, HONE_TRANSPOSE_FREEZING_LOSS_MEAN,
           HONE_TRANSPOSE_FREEZING_LOSS_SIZES);
    return HONE_TRANSPOSE_MEASURED_LOSS_SIZES;
}
''')
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "choose.c", "-o", "choose"],
                       cwd=self.folder, check=True)
        result = subprocess.run([self.folder / "choose"], capture_output=True, text=True)
        self.assertEqual(result.stdout.splitlines(), [
            "0 1 0 0", "1 0 1 1", self.LINES[1].strip() + " (choice 0.4%, 3.0% at worst; coverage 1.1%, 5.2%; freezing 0.6%, 4.0%)",
            "0.004 0.052 0.006 40"])
        self.assertEqual(result.returncode, 40)
        self.write("named.c", '''#include "transpose.h"
int main(void)
{
    const struct hone_transpose_problem problem = {.ROWS = 1000, .COLUMNS = 1001};
    return hone_transpose_choose(problem, NULL) - 1;
}
''')
        for command in (["cc", "-std=c11"], ["g++", "-std=c++20", "-x", "c++"]):
            subprocess.run([*command, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "named.c", "-o", "named"],
                           cwd=self.folder, check=True)
            subprocess.run([self.folder / "named"], check=True)
        self.hone("export", "transpose", "--no-family", "-o", "transpose.h")
        self.assertNotIn("hone_transpose_choose", (self.folder / "transpose.h").read_text())
        self.check_rule_that_is_nowhere_sure(best)

    def check_rule_that_is_nowhere_sure(self, best):
        self.cache = self.folder / "unsure.db"
        self.hone("cache", "import", TRANSPOSE)
        put_rule(self.cache, dict(RULE, configurations=[best], features=[], nodes=[{"configuration": 0, "sure": False}],
                                  values=[{"name": name, "low": 1, "high": 32768} for name in ("COLUMNS", "ROWS")]))
        self.hone("export", "transpose", "-o", "transpose.h")
        self.assertIn("hone_transpose_choose", (self.folder / "transpose.h").read_text())
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "named.c"], cwd=self.folder, check=True)


CHECK = """#include "tuned.h"
#include <math.h>
int main(void)
{
    unsigned int random = 1, usable = 0;
    for (int n = 0; n < 20000; n++) {
        struct hone_@k@_problem problem = hone_@k@_family[0].problem;
        int64_t *const sizes[] = {&problem.M, &problem.N, &problem.K};
        for (int i = 0; i < 3; i++) {
            random = random * 1664525 + 1013904223;
            *sizes[i] = 8 * (1 + (random >> 8) % (1U << (random >> 28) % 11));
        }
        const double logs[] = {@logs@};
        double least = INFINITY;
        int own = 0;
        char named[HONE_@K@_FAMILY_COUNT] = {0};
        const unsigned char *const among = &hone_@k@_among[hone_@k@_tree(@problem@) / 2];
        for (int i = 0; i < among[0]; i++)
            named[among[1 + i]] = 1;
        for (int i = 0; i < HONE_@K@_FAMILY_COUNT; i++) {
            int serves = hone_@k@_usable(hone_@k@_family[i].config, 90, problem);
            if (hone_@k@_serves(@problem@, i) != serves)
                return 1;
            usable += (unsigned int)serves;
            const int compared = serves && (among[0] == 0 || named[i]);
            const double cost = compared ? hone_@k@_cost(@problem@, logs, i) : INFINITY;
            own = cost < least ? i : own;
            least = fmin(cost, least);
        }
        const int config = hone_@k@_choose(problem, 0);
        if (least < INFINITY && !hone_@k@_usable(config, 90, problem))
            return 2;
        if (least < INFINITY && config != hone_@k@_family[own].config)
            return 4;
    }
    return usable > 0 && usable < 20000 * HONE_@K@_FAMILY_COUNT ? 0 : 3;
}
"""


class Shipped(hone.Case):
    def test_headers_that_choose(self):
        """From a fresh checkout, without a GPU and a cache."""
        folder = hone.SOURCE / "cache/recorded/nvidia-h200/families"
        kernels = [path.name.split("-")[0] for path in folder.glob("*.family.gz")]
        self.assertIn("sgemm", kernels)
        for kernel in kernels:
            said = self.hone("export", kernel, "--recorded", folder, "-o", "tuned.h").stderr
            self.assertRegex(said, f"for any (other )?problem hone_{kernel}_choose; at ")
            header = (self.folder / "tuned.h").read_text()
            self.assertIn(f"static inline int hone_{kernel}_choose(", header)
            self.check_choices(kernel, header)
            # libhone asks the rule that was imported: its tree is the header's, and its leaves name few.
            self.hone("cache", "import", *folder.glob(f"{kernel}-*"))
            self.hone("export", kernel, "-o", "imported.h")
            tree, imported = (re.search(rf"(?s)int hone_{kernel}_tree\(.*?\n}}", text)[0]
                              for text in (header, (self.folder / "imported.h").read_text()))
            self.assertEqual(tree, imported)
            rule, = (json.loads(rule) for rule, in sqlite3.connect(self.cache).execute(
                "SELECT rule FROM session WHERE rule IS NOT NULL AND kernel = ?", [kernel]))
            named = [len(node["among"]) for node in rule["nodes"] if "among" in node]
            self.assertLessEqual(max(named), 16)
            self.assertLess(sum(named) / len(named), 8)

    def check_choices(self, kernel, header, check=CHECK):
        """They cost least of what their leaf names and can be launched, which the header knows of each size, with tensor maps, too."""
        names = re.findall(r"own_(\w+)", re.search(rf"double hone_{kernel}_cost\(([^)]*)\)", header)[1])
        for name, text in {"logs": ", ".join(f"log(fmax(1, (double)problem.{name}))" for name in names),
                           "problem": ", ".join(f"problem.{name}" for name in names), "k": kernel, "K": kernel.upper()}.items():
            check = check.replace(f"@{name}@", text)
        self.write("check.c", check)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", "-isystem", hone.cuda_include(), "check.c", "-o",
                        "check", "-lm"], cwd=self.folder, check=True)
        subprocess.run([self.folder / "check"], check=True)


class Kernels(hone.Case):
    def test_kernels_as_users_write_them(self):
        """Their rules are measured by bench/family/run; here they are whole and compile."""
        found = sorted((hone.SOURCE / "bench/family/kernels").glob("*.yaml"))
        self.assertEqual([path.stem for path in found], ["layer_norm", "matvec", "stencil"])
        for config in found:
            document, = json.loads(self.hone("compile", config, "--arch", "sm_90", "--strict", "--json", "-q").stdout)
            self.assertEqual(document["outcome"], "ok")
