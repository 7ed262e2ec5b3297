# SPDX-License-Identifier: MIT
"""Figures on their way from a bench into the manual: each is written by a bench, which scripts/measure-all runs; the lines of benches that are no
Python are read as their sources print them; and what benches leave on the driver double gets onto the page."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest.mock

import double
import hone

BENCH = hone.SOURCE / "bench"
FIGURES = json.loads((hone.SOURCE / "docs" / "figures.json").read_text())


def module(path):
    """A bench, which may have no suffix."""
    sys.path.insert(0, str(BENCH))
    loader = importlib.machinery.SourceFileLoader(path.stem, str(path))
    loaded = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.stem, loader))
    loader.exec_module(loaded)
    return loaded


def printed(source, begin, *values):
    """What a printf of a bench prints, whose format begins so."""
    text = re.sub(r'"\s*\n\s*"', "", (BENCH / source).read_text())
    form = re.search(rf'"({re.escape(begin)}(?:[^"\\]|\\.)*)"', text)[1]
    return form.replace("\\n", "\n") % values


class Read(hone.Case):
    maxDiff = None
    evidence = module(BENCH / "evidence.py")

    def test_each_is_of_a_bench(self):
        kept = {"sgemm", "bgemm", "bgemm-h100", "vendors", "pipeline", "library", "graphs", "search", "search-spaces", "search-peers"}  # main of two files
        for path in [*BENCH.rglob("*"), hone.SOURCE / "scripts" / "false-alarms", hone.SOURCE / "tests" / "fault" / "test_fault.py"]:
            if path.is_file() and path.suffix in ("", ".py"):
                kept |= set(re.findall(r'(?:evidence\.keep|exit\(main)\("([\w-]+)"', path.read_text()))
        self.assertEqual(kept, set(FIGURES))

    def test_a_page_may_show_some_rows(self):
        figures = module(hone.SOURCE / "scripts" / "figures")
        for name, figure in FIGURES.items():
            self.assertLessEqual(set(figure.get("shown", [])), {row[0] for row in figure.get("rows", [])}, name)
        some = {"section": "S", "title": "T", "command": "c", "columns": ["a"], "rows": [["one"], ["two"]], "shown": ["two"]}
        page = figures.page({"some": some})
        self.assertNotIn("| one |", page)
        self.assertIn("| two |", page)

    def line(self, what, peer, theirs, tuned, speed):
        ratio = 1 / float(speed)
        return printed("kernels/paired.cuh", "%-30s | ", what, peer, float(theirs), 1, float(tuned), 1, 1980, ratio, ratio, ratio, 1, "met")

    def test_lines_of_products_and_kernels(self):
        """The table of each is what is read of lines with its numbers."""
        text = ""
        for shape, tuned, theirs, speed in FIGURES["sgemm"]["rows"][:-1]:
            text += self.line("sgemm " + shape.replace(" x ", "x"), "cuBLAS 13.1 cublasSgemm", 1, tuned, 1)
            text += self.line("sgemm " + shape.replace(" x ", "x"), "cublasLt, best of 8", theirs, tuned, speed)
        for shape, tuned, _, cold, warm in FIGURES["bgemm"]["rows"][:-1]:
            text += self.line("bgemm " + shape.replace(" x ", "x") + "t", "cublasLt, best of 8", 1, tuned, cold)
            text += self.line("bgemm " + shape.replace(" x ", "x") + "t", "cublasLt, best of 8, warm", 1, 1, warm)
        for what, peer, theirs, tuned, speed in FIGURES["vendors"]["rows"]:
            text += self.line(what, peer, theirs, tuned, speed)
        rows = self.evidence.run(text, {"copy_gb_per_s": 4234, "tensor": {"bf16": {"gflops": 919500}}})
        self.assertEqual(set(rows), {"sgemm", "bgemm", "vendors"})
        for found, known in zip(rows["bgemm"], FIGURES["bgemm"]["rows"]):  # shares are of times with more digits
            if "%" in known[2]:
                self.assertAlmostEqual(int(found[2].split("%")[0]), int(known[2].split("%")[0]), delta=1)
                found[2] = known[2]
        for name, found in rows.items():
            self.assertEqual(found, FIGURES[name]["rows"], name)

    def test_lines_of_a_pipeline(self):
        text = printed("kernels/pipeline.cu", "pipeline, ", 1024, 2048, 64, 3, "depth first", 32, 4)
        for name, ms in (("copy up", 20), ("both at once", 21.17), ("all in one stream", 56.27), ("by hand", 22.4), ("tuned", 22.36)):
            text += printed("kernels/pipeline.cu", "  %-18s %8.3f ms %7.2f GB/s", name, ms, 50)
        self.assertEqual(self.evidence.run(text), {"pipeline": FIGURES["pipeline"]["rows"]})

    def test_lines_of_launches(self):
        rows = {row[0]: row for row in FIGURES["library"]["rows"]}
        text = ""
        for name, what in (("cuLaunchKernel", "`cuLaunchKernel`, host time"), ("hone_launch", "`hone_launch`"),
                           ("hone_get, again", "`hone_get` of a known problem")):
            text += printed("launch/launch.c", f"  {name} ", *(float(cell.split()[0].replace(",", "")) for cell in rows[what][1:]))
        text += printed("launch/launch.c", "  %-18s median", "all of it", 3.5, 4.2)
        text += printed("launch/lookup.c", "%-28s median", "a problem that was tuned", 1.0, 1.5)
        text += printed("launch/lookup.c", "%-28s median", "the nearest of another", 16.9, 25.3)
        text += printed("launch/launch.c", "  %d sets of arguments", 1, 6.9, 5.8)
        rows = self.evidence.launch(text)
        self.assertEqual(rows["library"], FIGURES["library"]["rows"][:5])
        self.assertEqual(rows["graphs"], FIGURES["graphs"]["rows"])

    def test_whole_commands(self):
        """Of the times that were measured: the rows, and the sentence above them."""
        measured = (("vector_add", 1000, 4.51, 3.46, 0.06, 50.47), ("matmul", 40, 2.62, 2.94, 0.52, 17.98), ("compile_bound", 500, 5.33, 5.31, 0.3, None))
        results = {"spaces": [{"space": space, "bare_loop": {"points": points}, "wall_s": wall, "points_per_s": points / wall, "bound_s": bound,
                               "tunes": [{"overhead_ms_a_point": own}]} for space, points, wall, bound, own, _ in measured],
                   "kernel_tuner": [{"space": space, "verify": False, "wall_s": theirs, "points_per_s": points / theirs}
                                    for space, points, _, _, _, theirs in measured if theirs]}
        rows, text = module(BENCH / "throughput" / "run").figures(results)
        self.assertEqual(text, FIGURES["throughput"]["text"])
        self.assertEqual([row[1:] for row in rows], [row[1:] for row in FIGURES["throughput"]["rows"]])

    def test_the_same_seconds(self):
        row = FIGURES["same-time"]["rows"][1]
        result = {"kernel": row[0], "seconds": 8.0, "Hone": {"points": 8, "best_us": 320}, "Kernel Tuner": {"points": 1, "best_us": 721, "took_s": 12.8}}
        self.assertEqual(module(BENCH / "beside" / "run").figure(result), row)


    def test_large_spaces(self):
        """Of five searches each: the median over the best of them and of what the device has recorded."""
        told, searched = module(BENCH / "told.py"), []

        def tune(config, *arguments):
            searched.append(arguments)
            seed = arguments[-1]
            return {"device": "NVIDIA H200", "points": 1545989, "finished": 365 + 31 * seed, "best": {"timing": {"median_us": [2600, 2700, 2500, 2800, 2650][seed - 1]}}}

        told.tune = tune
        best = min(told.recorded_us("NVIDIA H200", (4096, 4096, 4096)))
        rows = told.large("2")
        self.assertEqual(rows[0], ["4096 x 4096 x 4096", "1,545,989", "396 to 520", f"{2650 / min(best, 2500):.3f}"])
        self.assertEqual([row[0] for row in rows], [row[0] for row in FIGURES["large"]["rows"]])
        self.assertEqual(searched[0], ("-p", "M=4096,N=4096,K=4096", "--budget", "2s", "--stop-chance", "0", "--seed", 1))
        self.assertEqual(list(told.recorded_us("NVIDIA H100", (4096, 4096, 4096))), [])

    def test_versions_of_nvrtc(self):
        """What a command takes that compiles two points, less what one takes that compiles none."""
        told, used = module(BENCH / "told.py"), [0]

        def run(*words, HONE_NVRTC):
            if HONE_NVRTC == "old" and "empty" in pathlib.Path(words[1]).name:
                raise subprocess.CalledProcessError(3, words)
            used[0] += 230 if "--json" in words else 30
            return b"[{}, {}]"

        told.hone, told.used_ms = run, lambda: used[0]
        rows = told.nvrtc("old", "new")
        self.assertEqual(rows, [[name, "100/100"] for name, _ in FIGURES["nvrtc"]["rows"][:-1]] + [["`<cub/cub.cuh>`", "-/100"]])

    def test_energy(self):
        told, joules = module(BENCH / "told.py"), [0.3305, 0.3277, 0.3303, 0.3277, 0.328]
        told.tune = lambda config, *options: {"best": {"energy": {"joules": joules.pop(0)}}} if options == ("--energy=2",) else None
        self.assertEqual(told.energy(), FIGURES["energy"]["rows"])

    def test_products(self):
        """Each from a tune of its own; a second run goes on where the first ended, and a shape that fails is in no mean."""
        with unittest.mock.patch.object(sys, "path", [str(BENCH / "family"), *sys.path]):
            products = module(BENCH / "products.py")
        searched, file = [], self.folder / "products.json"

        def tune(problem, seconds, cache):
            searched.append((problem["M"], problem["N"], problem["K"], seconds))
            return None if problem["M"] == 500 else {"records": []}

        def measure(options, problems, caches, within):
            return [{"problem": problems[0], "sides": {"chosen": {"cold_us": [1, 122.31, 2]}, "cublasLt 13.1.0": {
                "cold_ratio": [1, 0.9848, 1], "warm_ratio": [1, 0.9754, 1]}}}]

        def run(*words):
            with unittest.mock.patch.object(sys, "argv", ["products.py", *words, "--file", str(file)]):
                return products.main()

        products.tune, products.beside.measure = tune, measure
        self.assertEqual(run("models", "--at", "1", "--seconds", "3"), 0)
        self.assertEqual(run("models", "--at", "0-1,3", "--seconds", "3"), 0)
        self.assertEqual(searched, [(48, 10240, 5120, 3), (1, 10240, 5120, 3), (8192, 10240, 5120, 3)])
        self.assertEqual(run("models", "--at", "2"), 1, "its tune failed")
        self.assertEqual(run("models", "--at", "4", "--within", "20"), 1, "there is no time for it")
        self.assertEqual(run("models", "--at", "2"), 1, "it is tried again")
        self.assertEqual(len(searched), 5)
        lines = json.loads(file.read_text())
        self.assertEqual([line["problem"]["M"] for line in lines], [48, 1, 8192, 500])
        *rows, mean, worst = products.table(lines)
        self.assertEqual(rows[0], ["48 x 10240 x 5120, Qwen3-32B", "122.3", "0.985", "0.975"])
        self.assertEqual(mean, ["geometric mean of 3", "", "0.985", "0.975"])
        self.assertEqual(worst, ["worst; below 0.95", "", "0.985; 0", "0.975; 0"])
        for name, shapes in (("drawn", 40), ("models", 24)):
            known = [" x ".join(str(problem[size]) for size in "MNK") + (f", {model}" if model else "") for model, problem in products.SETS[name]()]
            self.assertEqual(len(set(known)), shapes)
            self.assertLessEqual({row[0] for row in FIGURES[f"bgemm-{name}"]["rows"][:-2]}, set(known))

    def test_parts_of_a_loss(self):
        part = {"mean": 0.012, "worst": 0.058, "sizes": 12}
        rule = {"configurations": [{}] * 30, "measured": {"mean": 0.024, "worst": 0.093, "sizes": 12}, "predicted": {"mean": 0.04, "worst": 0.25},
                "parts": {"choice": part, "coverage": part, "freezing": {"mean": 0, "worst": 0, "sizes": 12}}}
        beside, family = module(BENCH / "family" / "beside.py"), {"kernel": "matvec", "problems": "rows", "rule": rule}
        row = beside.in_parts(family, 80)
        self.assertEqual(row, ["`matvec`", "rows", "80 s", 30, 12, "2.4%, 9.3%", "1.2%, 5.8%", "1.2%, 5.8%", "0", "4.0%, 25%"])
        self.assertEqual(len(row), len(FIGURES["families-parts"]["columns"]))
        words = ["beside.py", "matvec", "--cache", "rules.db", "--learnt", "80", "--out", str(self.folder)]
        listed = subprocess.CompletedProcess([], 0, json.dumps({"families": [family], "devices": [{"name": "G", "driver": "1"}]}))
        with unittest.mock.patch.object(sys, "argv", words), unittest.mock.patch.object(subprocess, "run", lambda *_, **__: listed), \
                unittest.mock.patch.dict(os.environ, HONE_FIGURES=str(self.folder)):
            self.assertEqual(beside.main(), 0, "a kernel without a peer, of which no sizes are drawn")
        self.assertEqual(json.loads((self.folder / "families-parts.json").read_text())["families-parts"]["rows"], [list(map(str, row))])
        self.assertFalse((self.folder / "families-vendors.json").exists())


class Quoted(hone.Case):
    """Figures on other pages are those of the page of figures."""

    def quotes(self):
        def cell(name, row, column, digits=None):
            text = re.search(r"[\d.,]+", FIGURES[name]["rows"][row][column])[0]
            return text if digits is None else f"{float(text):.{digits}f}"

        yield "docs/reliability.md", f"of {cell('alarms', 0, 1)} on an H100 and of {cell('alarms', 1, 1)} on an H200"
        yield "docs/reliability.md", f"on the GPU {cell('faults', 0, 1, 2)} s after a hung one was killed, and {cell('faults', 1, 1, 2)} s after"
        yield "docs/library.md", f"the first launch of a cached image {cell('library', 3, 1)} ms"
        yield "docs/library.md", f"Two small kernels then take {cell('graphs', 1, 1)} us, not {cell('graphs', 0, 1)}."
        yield "docs/python.md", f"A launch takes {cell('python', 0, 1)} to {cell('python', 1, 1)} us of host time"
        yield "docs/python.md", f"RawKernel takes {cell('python', 2, 1)}."
        yield "examples/README.md", f"take {cell('operator', 0, 1)} us as a graph, PyTorch's {cell('operator', 1, 1)} us"

    def test_sentences(self):
        for page, quote in self.quotes():
            self.assertIn(quote, " ".join((hone.SOURCE / page).read_text().split()), page)

    def test_families(self):
        """Each row of the table of docs/families.md is of the least and the greatest of its families."""
        losses = {row[0]: [float(loss.rstrip("%")) for loss in row[5].split(", ")]
                  for name in ("families", "families-parts") for row in FIGURES[name]["rows"]}
        page = (hone.SOURCE / "docs" / "families.md").read_text()
        rows = [line.strip("|").split("|") for line in re.findall(r"^\| `copy`.*(?:\n\|.*)*", page, re.M)[0].splitlines()]
        names = [re.findall(r"`\w+`", row[0]) for row in rows]
        self.assertEqual(sorted(sum(names, [])), sorted(losses))
        for row, families in zip(rows, names):
            for shown, column in ((row[2], 0), (row[3], 1)):
                values = [losses[family][column] for family in families]
                ends = [float(end) for end in re.findall(r"[\d.]+", shown)]
                digits = 1 if "." in shown else 0
                self.assertEqual(ends, sorted({round(min(values), digits), round(max(values), digits)}), row)


class MeasureAll(hone.Case):
    """scripts/measure-all in a bundle whose programs do nothing, but for one that leaves a figure and one that fails."""
    SCRIPT = (hone.SOURCE / "scripts" / "measure-all").read_text()

    def setUp(self):
        super().setUp()
        for name in ("docs/figures.json", "docs/figures.md", "README.md", "scripts/figures", "scripts/measure-all", "bench/evidence.py"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(hone.SOURCE / name, self.folder / name)
        for name in {*re.findall(r"\b(?:bench|scripts|tests)/[\w/.-]+", self.SCRIPT), "run-gpu-tests", "bin/hone"} - {"scripts/figures", "scripts/measure-all", "scripts/gpu-bundle"}:
            self.program(name, "")
        self.program("build/bench/search/bench_simulate", "")
        for name in ("cache/recorded/nvidia-h200/copy-cold.json.gz", "commit"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text("1234abcd\n")

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}")  # with nothing in it, Python's, too
        path.chmod(0o755)

    def measure(self, *words, expect=0):
        settings = {**os.environ, "OUT": str(self.folder / "out"), "HONE_BUILD": str(self.folder / "build")}
        done = subprocess.run([self.folder / "scripts" / "measure-all", *words], env=settings, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout

    def test_every_figure_is_of_a_part(self):
        """The programs that a figure's command names, with their options."""
        for name, figure in FIGURES.items():
            programs = [word.rstrip(";") for word in figure["command"].split() if re.match(r"(bench|scripts)/\w|run-gpu-tests", word)]
            self.assertTrue(programs, name)
            for word in programs + re.findall(r"--[\w-]+(?: \d+)?", figure["command"]):
                self.assertTrue(word in self.SCRIPT, f"{name}: {word}")

    def test_programs_can_be_run(self):
        for path in BENCH.rglob("*"):
            if path.is_file() and path.suffix != ".pyc" and path.read_bytes()[:2] == b"#!":
                self.assertTrue(os.access(path, os.X_OK), path)

    def test_two_hours(self):
        """On one GPU, without an older build to compare with, even where each part takes all of its time."""
        on_a_gpu = self.SCRIPT[self.SCRIPT.index("on_a_gpu() {"):self.SCRIPT.index("    [ -n")].replace("$(($1 + 60))", "300")
        limits = dict(re.findall(r"\bstep (\w+) (\d+) ", on_a_gpu))
        self.assertGreater(len(limits), 25)
        self.assertLessEqual(sum(int(limit) for name, limit in limits.items() if name != "two_gpus"), 7200)

    def test_in_parts(self):
        energy = '{"bgemm-drawn": {"rows": []}, "energy": {"rows": [["0.33"]]}, "large": {"rows": [["4096 x 4096 x 4096", "1,545,989", "370 to 480", "1.2"]]}}'
        self.program("bench/told.py", f"[ $1 != energy ] || echo '{energy}' >\"$HONE_FIGURES/energy.json\"\n")
        self.program("bench/products.py", "echo one broke; exit 1\n")
        self.program("bench/workers/cards.py", "echo SKIPPED; exit 77\n")
        said = self.measure("5", expect=1)
        self.assertRegex(said, r"(?m)^products: \d+ s\none broke$")
        self.assertIn("bgemm-drawn: nothing was measured\n", said)
        self.assertIn("large: 1 rows\n  4096 x 4096 x 4096, median over best known: 1.2, was 1.014\n", said)
        self.assertRegex(said, r"(?m)^in .*/out: 2 failed: products models$")
        for name in ("figures.json", "figures.md", "README.md"):
            self.assertTrue((self.folder / "out" / name).is_file())
        self.assertIn("| 4096 x 4096 x 4096 | 1,545,989 | 370 to 480 | 1.2 |", (self.folder / "out" / "figures.md").read_text())
        self.program("bench/products.py", "")
        said = self.measure("5")
        self.assertRegex(said, r"(?m)^tests: ended before$")
        self.assertRegex(said, r"(?m)^products: \d+ s$")
        self.assertRegex(said, r"(?m)^two_gpus: \d+ s\nSKIPPED$")
        self.assertNotIn(", was ", said)
        (self.folder / "commit").write_text("5678cdef\n")
        self.assertRegex(self.measure("5"), r"(?m)^tests: \d+ s$", "what another commit measured is not of this one")

    def test_without_a_gpu(self):
        said = self.measure("--no-gpu")
        self.assertRegex(said, r"(?m)^choosing_sgemm: \d+ s$")
        self.assertNotRegex(said, r"(?m)^(tests|bench|energy): ")


class OnTheDouble(double.Case):
    def stand_ins(self):
        """Configs of the double's kernel by the names of those that benches tune, in a folder for the root of the sources."""
        folder, text = self.folder / "configs", self.config.read_text().replace("[32, 1024]", "[64, 128]").replace("[1, 2, 4, 8]", "[1, 2]")
        shutil.copytree(double.DATA, folder)
        (folder / "copy.yaml").write_text(text.replace("{powers_of_two: [64, 128]}", "[128]").replace("[1, 2]", "[1]"))
        (folder / "matmul.yaml").write_text(text.replace("problem: {n: 24576}", "problem: {n: 24576, K: 32}"))
        sizes = "".join(f"  - {{M: {m}, N: 64, K: 8}}\n" for m in (16, 32, 64))
        text = text.replace("problem: {n: 24576}\n", f"problem:\n{sizes}").replace("metrics:", "ladder:\n  - {BLOCK: 64}\nmetrics:")
        for before, after in (("count: n", "count: M * N"), ("value: n", "value: M * N"), ("(n,", "(M * N,"), ("8 * n", "8 * M * N")):
            text = text.replace(before, after)
        (folder / "sgemm.yaml").write_text(text.replace("template: scale", "template: ../configs/scale").replace("kernel: scale", "kernel: sgemm"))
        return self.folder

    def kept(self, name):
        return json.loads((self.folder / f"{name}.json").read_text())[name]

    def test_benches_that_need_a_gpu(self):
        """Those that tell a few figures, on a GPU of the double; the shapes are smaller, and spaces have one point or four."""
        settings = self.environment(HONE=hone.HONE, HONE_FIGURES=str(self.folder), HONE_DOUBLE_NVML="90", LD_LIBRARY_PATH=f"{double.DOUBLE}/nvml:{double.DOUBLE}")
        told = module(BENCH / "told.py")
        told.ROOT, told.SHAPES = self.stand_ins(), [(16, 64, 8), (32, 64, 8)]
        with unittest.mock.patch.dict(os.environ, settings, HONE_DOUBLE_WAIT_US="1000"):  # so that energy sleeps its seconds
            told.energy("0.2")
            told.large("60")
            told.programs("3", "0.3", "0.05")
        joules, = self.kept("energy")["rows"]
        self.assertRegex(joules[0], r"^(\d\.\d{4}, ){4}\d\.\d{4}$")
        (budget, points, rate, times), = self.kept("programs")["rows"]
        self.assertEqual(budget, "3 s")
        self.assertGreater(min(int(points), int(rate), float(times)), 0)
        shapes = self.kept("large")["rows"]
        self.assertEqual([row[:3] for row in shapes], [["16 x 64 x 8", "4", "4 to 4"], ["32 x 64 x 8", "4", "4 to 4"]])

    def test_an_operator(self):
        """linear.py finds the package of Python, the library and what was tuned; PyTorch is not here."""
        root, library = self.stand_ins(), next((pathlib.Path(os.environ["HONE_BUILD"]) / "runtime" / "libhone").glob("libhone.so.0"))
        (root / "python").symlink_to(hone.SOURCE / "python")
        (root / "examples" / "pytorch").mkdir(parents=True)
        (root / "examples" / "pytorch" / "linear.py").write_text(
            "import sys, hone\nhone.use_device(0)\nhone.Cache(sys.argv[1]).kernel('sgemm', M=16, N=4096, K=4096)\n"
            "print('four layers: PyTorch 388.2 us, tuned 92.9 us')\n")
        told = module(BENCH / "told.py")
        told.ROOT = root
        settings = self.environment(HONE=hone.HONE, HONE_COMMAND=hone.HONE, HONE_LIBRARY=str(library), HONE_FIGURES=str(self.folder))
        with unittest.mock.patch.dict(os.environ, settings), unittest.mock.patch.object(told.importlib.util, "find_spec", lambda name: name):
            self.assertEqual(told.operator(), FIGURES["operator"]["rows"])
        self.assertEqual(self.kept("operator")["rows"], FIGURES["operator"]["rows"])

    def test_gpus_and_cores(self):
        settings = self.environment(HONE=hone.HONE, HONE_FIGURES=str(self.folder), HONE_DOUBLE_COUNT="2")
        cards = module(BENCH / "workers" / "cards.py")
        cards.ROOT, cards.CONFIGS, cards.ROUNDS, cards.PROBLEMS = self.stand_ins(), self.folder / "configs", 2, 2
        cards.BUDGET = cards.PROBLEM_BUDGET = cards.CORES_BUDGET = "4"
        with unittest.mock.patch.dict(os.environ, settings):
            self.assertEqual(len(cards.gpus()), 2)
            rows = cards.cores("1", "2") if len(os.sched_getaffinity(0)) > 1 else None
        figure = self.kept("two-gpus")
        self.assertEqual(figure["device"], "two Hone Double")
        points, problems = figure["rows"]
        self.assertRegex(" | ".join(points), r"^points a second, four runs \| [\d.]+, [\d.]+ \| [\d.]+, [\d.]+$")
        self.assertRegex(" | ".join(problems), r"^four problems of sgemm, 10 s each \| [\d.]+ s \| [\d.]+ s$")
        if rows:
            self.assertEqual([row[0] for row in self.kept("compile-hosts")["rows"]], ["1", "2", "1 with the GPU and 1 on another host"])

    def test_a_bench_gets_onto_the_page(self):
        """One that measures a row, and two that have no GPU; taken over in a copy of the manual."""
        for name in ("docs/figures.json", "docs/figures.md", "README.md", "scripts/figures", "bench/evidence.py"):
            (self.folder / "hone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(hone.SOURCE / name, self.folder / "hone" / name)
        kept = self.folder / "kept"
        kept.mkdir()
        compiler = self.write("cc", "#!/bin/sh\nexec cc \"$@\" -O0\n")  # how fast it is does not matter here
        compiler.chmod(0o755)
        settings = self.environment(HONE=hone.HONE, HONE_DOUBLE=double.DOUBLE, HONE_FIGURES=str(kept), PYTHONDONTWRITEBYTECODE="1", CC=str(compiler))
        for bench, *arguments in (["early_stop.py", self.config, "-p", "n=4096", "--seeds", "1"],
                                  ["family/choosing.py", "sgemm", "--sizes", "2000"],
                                  ["workers/scale.py", "1", "--latency-ms", "0", "--points-a-gpu", "1", "--wait-us", "0"]):
            done = subprocess.run([sys.executable, BENCH / bench, *arguments], cwd=self.folder, env=settings, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        figures = [sys.executable, "-B", self.folder / "hone" / "scripts" / "figures"]
        said = subprocess.run([*figures, "--take", kept], capture_output=True, text=True, check=True).stdout
        self.assertIn("early-stops: 1 rows\n", said)
        self.assertIn("coordinator: 1 rows; look at its behind\n", said)
        self.assertIn("choosing: 1 rows\n", said)
        page = (self.folder / "hone" / "docs" / "figures.md").read_text()
        self.assertRegex(page, r"\*\*GPU time with early stops.* \*NVIDIA H200 and Hone Double, driver 580.159.04 and driver .*, 2026-11-21 to "
                         r"\d{4}-\d\d-\d\d, 9034198b and \w+\*")
        self.assertRegex(page, r"\| matmul K=4096, 475 points \|.*\n\| scale n=4096, 24 points \| [\d.]+ \| 1 of 1 seeds \|")
        self.assertRegex(page, r"\| `sgemm`, \d+ configurations \| \d+ ns \| \d+ ns \|\n\| `bgemm`, \d+ configurations \| \d+")
        self.assertRegex(page, r"\*\d+ cores, no GPU, .*\n\n(.*\n)?.*idle \|\n.*\n\| 1 \| 0 ms \| [\d.e+]+ \| 0% \|\n\n")
        subprocess.run([*figures, "--check"], check=True)
        (kept / "other.json").write_text('{"stop": {"rows": [["one"]]}}')
        refused = subprocess.run([*figures, "--take", kept], capture_output=True, text=True)
        self.assertIn("its rows are not of these columns: stated, was so", refused.stderr)
