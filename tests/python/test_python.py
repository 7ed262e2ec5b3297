# SPDX-License-Identifier: MIT
"""The Python package on the driver double: tuning through the command, launching through libhone."""

import ast
import contextlib
import ctypes
import importlib.util
import io
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import types
import typing
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import double  # noqa: E402

COMMAND_TESTS = sys.modules.pop("hone")  # tests/cli has a module of that name; the package is another
PACKAGE = COMMAND_TESTS.SOURCE / "python" / "src"
sys.path.insert(0, str(PACKAGE))
import numpy  # noqa: E402

import hone  # noqa: E402
from hone import _command, _config, _find, _library, _reference  # noqa: E402

import device  # noqa: E402

RECORDED = COMMAND_TESTS.SOURCE / "cache" / "recorded" / "nvidia-h200"
CONFIGS = COMMAND_TESTS.SOURCE / "configs"
ONLY = {"BLOCK": [128, 256], "ITEMS": 4}
MYPY = shutil.which("mypy")


class Case(double.Case):
    def setUp(self):
        super().setUp()
        changes = {**self.own_folders(), "HONE_COMMAND": str(COMMAND_TESTS.HONE), "HONE_CACHE": str(self.cache)}
        before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        self.addCleanup(lambda: [os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
                                 for name, value in before.items()])


class Tuning(Case):
    def test_a_config_by_its_path(self):
        events = []
        result = hone.tune("scale.yaml", restrict=ONLY, problem={"n": 4096}, progress=events.append)
        told = [event["event"] for event in events if event["event"] != "chance"]
        self.assertEqual((told[0], set(told[1:-1]), told[-1]), ("start", {"record"}, "end"))
        self.assertEqual(len(result), 1)
        self.assertEqual((result.kernel, result.problem, result.device), ("scale", {"n": 4096}, "Hone Double"))
        self.assertEqual(result.best.parameters, {"BLOCK": 256, "ITEMS": 4, "FAULT": 0})
        self.assertEqual(result.best.verification, "verified")
        self.assertLess(result.best.low_us, result.best.high_us)
        columns = result.columns
        self.assertEqual({len(column) for column in columns.values()}, {2})
        self.assertEqual((columns["BLOCK"].dtype.kind, columns["time_us"].dtype, columns["outcome"][0]), ("i", numpy.float64, "ok"))
        self.assertEqual(columns["time_us"][0], result.best.time_us)
        self.assertEqual(list(columns["bytes"]), [8 * 4096] * 2)
        self.assertIn("#define HONE_SCALE_BLOCK 256", result.header())
        self.assertIn("#define MINE_BLOCK 256", result[0].header(prefix="MINE"))
        self.assertEqual(json.loads(result.header(format="json"))["kernel"], "scale")
        self.assertIn("best", repr(result))
        self.assertIn("256", result._repr_html_())
        own = hone.tune("scale.yaml", restrict=ONLY, problem={"n": 4096}, cache="own.db", progress=False)
        os.chdir("/")  # as a program may
        self.assertIn("#define HONE_SCALE_BLOCK 256", own.header())
        self.assertEqual(_command.cache_options("postgresql://u@h/d"), ["--cache", "postgresql://u@h/d"])

    def dictionary(self, source):
        return {
            "kernel": "scale", "template": source, "entry": "scale", "problem": [{"n": numpy.int64(256)}, {"n": 512}],
            "parameters": {"BLOCK": numpy.array([128, 256]), "ITEMS": [4], "FAULT": [0]},
            "arguments": [{"name": "x", "type": "float32", "count": "n", "fill": "uniform(-1, 1)"},
                          {"name": "y", "type": "float32", "count": "n", "role": "output"},
                          {"name": "a", "type": "float32", "value": 2.5}, {"name": "n", "type": "int32", "value": "n"}],
            "launch": {"block": "BLOCK", "grid": "ceil_div(n, BLOCK * ITEMS)"},
            "reference": {"template": pathlib.Path("scale_reference.cu"), "entry": "scale_reference", "block": 256,
                          "grid": "ceil_div(n, 256)"},
        }

    def test_a_config_as_a_dict(self):
        source = (self.folder / "scale.cu").read_text()
        config = self.dictionary(source)
        result = hone.tune(config)
        self.assertEqual([tuning.problem for tuning in result], [{"n": 256}, {"n": 512}])
        self.assertEqual({tuning.best.verification for tuning in result}, {"verified"})
        with self.assertRaisesRegex(AttributeError, "'best' is of one problem, and here are 2"):
            result.best
        self.assertEqual(config["template"], source)
        with self.assertRaisesRegex(TypeError, "a config holds object"):
            hone.tune({**config, "kernel": object()})
        with self.assertRaisesRegex(ValueError, "not JSON compliant"):  # NaN would be a word
            hone.space({**config, "parameters": {**config["parameters"], "SCALE": [math.nan, 1.0]}})

    def test_paths_in_a_dict_are_of_the_current_folder(self):
        (self.folder / "inc").mkdir()
        (self.folder / "inc" / "two.cuh").write_text("#define TWO 2\n")
        (self.folder / "sizes.txt").write_text("n=256\nn=512\n")
        source = (self.folder / "scale.cu").read_text()
        for option in ("-Iinc", "--include-path=inc", {"if": "BLOCK > 0", "option": "-Iinc"}):
            hone.space({**self.dictionary('// é\n#include "two.cuh"\n' + source), "compile": {"options": [option]}})
        family = {"n": {"range": [1, 4096]}, "sizes": "sizes.txt"}
        hone.space({**self.dictionary(source), "family": family})

    def test_a_template_is_a_file_or_its_source(self):
        place = pathlib.Path("a{b}.cu")
        place.write_text((self.folder / "scale.cu").read_text())
        one_line = "extern \"C\" __global__ void scale(const float *x, float *y, float a, int n) { }"
        for template, written in (("scale.cu", False), (place, False), (str(place), False), (one_line, True), ("a\nb", True)):
            with self.subTest(template), _config.path_of(_config.settle({"template": template})) as path:
                found = json.loads(path.read_text())["template"]
                self.assertEqual(found, "template.cu" if written else str(self.folder.resolve() / template))
                self.assertEqual((path.parent / found).read_text() == template, written)
        for config in ({"template": "nothing.cu"}, {"reference": {"template": pathlib.Path("nothing.cu")}}):
            with self.assertRaisesRegex(hone.Error, "there is no file 'nothing.cu'; text is taken as the source where it has a line break, a '{'"):
                hone.space({"kernel": "k", "parameters": {"A": [1]}, **config})

    def test_no_error_cites_a_file_that_nobody_wrote(self):
        config = self.dictionary('extern "C" __global__ void scale(const float *x, float *y, float a, int n) { nonsense; }')
        with self.assertRaisesRegex(hone.CommandError, "^<config>: unknown key 'nonsense'"):
            hone.tune({**config, "nonsense": 1})
        with self.assertRaisesRegex(hone.CommandError, r"the reference does not compile: <reference>\(1\): error"):
            hone.tune({**config, "reference": {**config["reference"], "template": "{"}})
        told = []
        with self.assertRaises(hone.CommandError) as failed:
            hone.tune(config, progress=told.append)
        self.assertIn("<template>(1): error", failed.exception.stderr + str(failed.exception.result[0].columns["message"]))
        self.assertNotIn("hone-config-", f"{failed.exception}{failed.exception.stderr}{failed.exception.result[0].document}{told}")

    def test_progress_is_shown(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        def tune(out, **options):
            with contextlib.redirect_stderr(out):
                hone.tune("scale.yaml", restrict=ONLY, problem={"n": 4096}, **options)
            return out.getvalue()

        line = r"scale n=4096: 2 of 2 points, best [\d.]+ us, \d+ s\n$"
        self.assertRegex(tune(io.StringIO()), "^" + line)
        self.assertRegex(tune(Terminal()), r"\r" + line)
        self.assertEqual(tune(Terminal(), progress=False) + tune(Terminal(), progress=lambda event: None), "")

    def test_progress_rewrites_a_line_until_it_ends(self):
        from hone import _progress

        def record(time_us, outcome="ok"):
            return {"event": "record", "record": {"point": {"A": time_us}, "outcome": outcome, "timing": {"median_us": time_us}}}

        start = {"event": "start", "kernel": "k", "problem": {"n": 1}, "points": None}
        for of_family, last in ((False, "\n"), (True, "3 points, best 2 us, 0 s\n")):
            out = io.StringIO()
            out.isatty = lambda: True
            before = time.monotonic
            self.addCleanup(setattr, time, "monotonic", before)
            times = iter(range(0, 100))
            time.monotonic = lambda: 0.2 * next(times)
            with contextlib.redirect_stderr(out), self.assertRaises(KeyboardInterrupt), _progress.shown(True, of_family) as tell:
                for event in (start, record(3), record(1, "slower"), record(2)):
                    tell(event)
                raise KeyboardInterrupt
            time.monotonic = before
            lines = out.getvalue().split("\r")
            self.assertEqual(len(lines), 5)
            self.assertTrue(lines[1].startswith("k n=1: 0 points, nothing valid, "))
            self.assertRegex(lines[-1], r"^k n=1: 3 points, best 2 us, \d s\n$")

    def test_attributes_are_declared(self):
        result, several = hone.tune("scale.yaml", restrict=ONLY, problem={"n": 512}), hone.space("scale.yaml")
        for found, kind in ((result, hone.Tuning), (several, hone.Space)):
            public = {name for name in dir(found[0]) if not name.startswith("_")}
            self.assertEqual(public - set(dir(found)), set(), "what one item has, the whole has")
            self.assertEqual(public - set(typing.get_type_hints(type(found))), set())
            with self.assertRaisesRegex(AttributeError, "no attribute 'bets'"):
                found.bets
        self.assertEqual(typing.get_type_hints(hone.Result)["best"].__args__, (hone.Point,))
        self.assertRegex(repr(several), r"^<hone.Space scale n=24576: 24 valid points of BLOCK \(6\), ITEMS \(4\), FAULT \(1\)>$")

    @unittest.skipUnless(MYPY and os.environ.get("HONE_WHEEL"), "python/wheel runs it where there is mypy (scripts/test --all)")
    def test_mypy_knows_the_types(self):
        right = self.write("right.py", """\
import hone

def best_time(config: str) -> float:
    result = hone.tune(config, problem={"n": 4096}, progress=False)
    point: hone.Point = result.best
    names: list[str] = list(point.parameters)
    print(names, result.header(), result.report().html, result[0].outcomes["ok"], hone.space(config).valid)
    with hone.Cache() as cache:
        cache.kernel("scale", n=4096)(None, 0, 0, 2.5)
    return point.time_us
""")
        wrong = self.write("wrong.py", "import hone\nnumber: int = hone.tune('a.yaml').best\nhone.tune('a.yaml').bets\n")
        for program, errors in ((right, []), (wrong, ["assignment", "attr-defined"])):
            done = subprocess.run([MYPY, "--strict", "--cache-dir", self.folder / "mypy", program], text=True, capture_output=True,
                                  env={**os.environ, "MYPYPATH": str(PACKAGE)})
            self.assertEqual([line.split("[")[-1].rstrip("]") for line in done.stdout.splitlines() if ": error: " in line and
                              line.startswith(os.path.basename(program))], errors, done.stdout + done.stderr)

    def test_a_family(self):
        events = []
        text = pathlib.Path("scale.yaml").read_text().replace("problem: {n: 24576}", "family: {n: {range: [1, 100000]}}")
        pathlib.Path("scale.yaml").write_text(text)
        family = hone.tune_family("scale.yaml", budget="150", held_out=1, progress=events.append)
        self.assertEqual((family.kernel, family.configurations[0]), ("scale", {"BLOCK": 128, "FAULT": 0, "ITEMS": 1}))
        self.assertEqual((family.measured.sizes, family.default.sizes), (1, 1))
        self.assertLessEqual(family.measured.mean, family.default.mean)
        self.assertLessEqual(max(part.mean for part in (family.choice, family.coverage, family.freezing)), family.measured.mean + 1e-9)
        self.assertGreater(len({json.dumps(event["problem"]) for event in events if "problem" in event}), 5)
        self.assertIn("hone_scale_choose", family.header())
        self.assertRegex(repr(family), r"^<hone.Family scale: \d+ configurations, [\d.]+% slower than tuned at 1 sizes>$")
        with self.assertRaisesRegex(hone.CommandError, "--family"):
            hone.tune_family("scale.yaml", options=["--full"])
        warm = hone.tune_family("scale.yaml", budget="50", held_out=1, regime="warm", progress=False)
        self.assertIn("warm L2", warm.header())
        with self.assertRaisesRegex(hone.CommandError, "--loss: found '2000%'"):  # it is a share
            hone.tune_family("scale.yaml", loss=20)

    def test_a_reference_in_python(self):
        seen = []

        def double_and_a_half(inputs):
            seen.append((inputs.problem, inputs["x"].shape, inputs["x"].dtype))
            return inputs["x"].astype(numpy.float64) * 2.5

        for expected in (double_and_a_half, lambda inputs: {"y": (2.5 * inputs["x"]).astype(">f4")}, lambda inputs: (2.5 * inputs["x"]).tolist()):
            result = hone.tune("scale.yaml", problem={"n": 512}, restrict=ONLY, reference=expected, seed=3,
                               cache=f"{expected.__code__.co_firstlineno}.db")
            verdict = result.best.record["verdict"]
            self.assertEqual((verdict["kind"], verdict["seeds"]), ("verified", 1))
        self.assertEqual(seen, [({"n": 512}, (512,), numpy.float32)])
        with self.assertRaisesRegex(hone.CommandError, "no variant compiled, ran and gave the right result") as failed:
            hone.tune("scale.yaml", problem={"n": 512}, restrict=ONLY, reference=lambda inputs: inputs["x"], cache="wrong.db")
        self.assertEqual(failed.exception.code, 3)
        self.assertRegex(str(failed.exception), r"right result; wrong_result, first at BLOCK=\d+,.*: y\[\d+\] is .*; expected ")
        self.assertEqual(set(failed.exception.result.outcomes), {"wrong_result"})
        with self.assertRaisesRegex(hone.Error, r"no variant of scale was valid: \{'wrong_result': 2\}"):
            failed.exception.result.best
        with self.assertRaisesRegex(hone.Error, r"shape \(511,\) for 'y', expected \(512,\)"):
            hone.tune("scale.yaml", problem={"n": 512}, reference=lambda inputs: inputs["x"][1:])
        with self.assertRaisesRegex(hone.Error, "the reference returned z, expected y"):
            hone.tune("scale.yaml", problem={"n": 512}, reference=lambda inputs: {"z": inputs["x"]})
        with self.assertRaises(ZeroDivisionError):
            hone.tune("scale.yaml", problem={"n": 512}, reference=lambda inputs: 1 / 0)
        bits = numpy.array([0x3F80], ">u2")
        self.assertEqual(_reference._as_type(bits, "bfloat16").tobytes(), b"\x80\x3f")
        with self.assertRaisesRegex(hone.Error, "the reference returned float32, expected float8_e4m3: its bits as uint8"):
            _reference._as_type(numpy.float32([1.5]), "float8_e4m3")
        with self.assertRaisesRegex(hone.Error, "the reference returned complex64, expected float32"):
            _reference._as_type(numpy.complex64([1j]), "float32")
        for number in 2.75, math.nan, 3e9:
            with self.assertRaisesRegex(hone.Error, "the reference returned float64 with numbers that int32 does not have: round them"):
                _reference._as_type(numpy.float64([2.0, number]), "int32")
        self.assertEqual(_reference._as_type(numpy.float64([2.0, -3.0]), "int32").tolist(), [2, -3])
        with self.assertRaisesRegex(hone.Error, "the reference returned None, expected y: has it a `return`"):
            hone.tune("scale.yaml", problem={"n": 512}, reference=lambda inputs: None)
        with self.assertRaisesRegex(TypeError, r"found \[512, 1024\] as a value, expected a number, a boolean or a word"):
            hone.tune("scale.yaml", problem={"n": [512, 1024]})
        with self.assertRaisesRegex(ValueError, "a config holds finite numbers alone"):
            hone.space({"kernel": "k", "parameters": {"A": [math.nan]}})
        y, z = {"argument": "y"}, {"argument": "z"}
        self.assertEqual(_reference._by_name([None, [1], None], [y]), {"y": [1]})
        self.assertEqual(_reference._by_name(([1], None, [2]), [y, z]), {"y": [1], "z": [2]})
        matrix = {"argument": "c", "shape": [2, 3], "type": "float32"}
        with self.assertRaisesRegex(hone.Error, r"shape \(3, 2\) for 'c', expected \(2, 3\)"):
            _reference._save(numpy.zeros((3, 2)), matrix, self.folder / "c.npy")
        _reference._save(numpy.arange(6), matrix, self.folder / "c.npy")
        self.assertEqual(numpy.load(self.folder / "c.npy").tolist(), [[0, 1, 2], [3, 4, 5]])
        # As ml_dtypes has it: one byte that converts to other numbers.
        self.assertEqual(_reference._as_type(numpy.int8([-1]), "float8_e4m3").tobytes(), b"\xff")

    def test_a_reference_of_several_problems(self):
        """Files are told apart by the problems' values, fractions too, as the command writes them: 1e+02."""
        self.config.write_text(self.config.read_text().replace("n: 24576", "n: [256, 512], factor: [2.5, 100.0]").replace("value: 2.5", "value: factor"))
        result = hone.tune("scale.yaml", restrict=ONLY, reference=lambda inputs: inputs.problem["factor"] * inputs["x"])
        self.assertEqual([tuning.best.verification for tuning in result], ["verified"] * 4)

    def test_the_header_is_of_the_objective(self):
        """Also where the cache has a result for the time, which leads otherwise."""
        hone.tune("scale.yaml", problem={"n": 4096}, restrict=ONLY, progress=False)
        self.config.write_text(self.config.read_text() + "objective: small\ndirection: minimize\n")
        self.spoil(self.config, "metrics: {", "metrics: {small: BLOCK + time_us / 1000, ")
        result = hone.tune("scale.yaml", problem={"n": 4096}, restrict=ONLY, progress=False)
        self.assertEqual(result.best.parameters["BLOCK"], 128)
        self.assertIn("#define HONE_SCALE_BLOCK 128\n", result.header())
        self.assertIn("#define HONE_SCALE_BLOCK 128\n", self.hone("export", "scale", "--config", "scale.yaml").stdout)
        self.assertIn("#define HONE_SCALE_BLOCK 256\n", self.hone("export", "scale").stdout)

    def test_what_goes_wrong_says_why(self):
        with self.assertRaisesRegex(hone.CommandError, "^cannot open 'nowhere.yaml'|/nowhere.yaml'") as failed:
            hone.tune("nowhere.yaml")
        self.assertEqual(failed.exception.code, 2)
        with self.assertRaisesRegex(hone.CommandError, "scale.yaml:.*: "):
            self.config.write_text(self.config.read_text() + "nonsense: 1\n")
            hone.space("scale.yaml")
        os.environ["HONE_COMMAND"] = "/nowhere/hone"
        with self.assertRaisesRegex(hone.Error, "/nowhere/hone cannot be started: No such file"):
            hone.space("scale.yaml")

    def test_what_stops_the_callback_stops_the_search(self):
        self.cheap_config()

        def stop(event):
            if event["event"] == "record":
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            hone.tune("scale.yaml", progress=stop, full=True)
        found = hone.tune("scale.yaml", budget=1)
        self.assertGreater(found.document["reused"], 0)

    def test_a_simulation(self):
        found = hone.tune(CONFIGS / "reduce.yaml", problem={"SIZE": 268435456}, simulate=RECORDED)
        self.assertTrue(found.simulated)
        self.assertIn("HONE_REDUCE_BLOCK", found.header())
        report = found.report()
        self.assertIn("<html", report.html)
        self.assertTrue(report._repr_html_().startswith("<iframe srcdoc="))
        report.save("report.html")
        self.assertEqual((self.folder / "report.html").read_text(), report.html)

    def test_spaces(self):
        space = hone.space("scale.yaml", points="all", restrict={"BLOCK": 64})
        self.assertEqual((space.valid, space.numbered), (4, True))
        self.assertEqual(space.parameters["ITEMS"], [1, 2, 4, 8])
        self.assertEqual(sorted(space.points["ITEMS"]), [1, 2, 4, 8])
        self.assertEqual(len(hone.space({"kernel": "k", "parameters": {"A": range(1, 9)}}, sample=3).points["A"]), 3)
        read_once = {"A": (2 ** i for i in range(3)), "B": {5: "five", 6: "six"}.keys()}
        self.assertEqual(len(hone.space({"kernel": "k", "parameters": read_once}, points="all").points["A"]), 6)

    def test_values_on_the_command_line(self):
        self.assertEqual(_command.space_options({"a": True, "b": "row", "c": numpy.float32(0.5)},
                                                {"B": (1, 2), "W": "row", "F": numpy.array([True, False])}),
                         ["-p", "a=true", "-p", "b=row", "-p", "c=0.5", "-s", "B=1,2", "-s", "W=row", "-s", "F=true,false"])

        for keywords, message in (({"problem": [{"n": 64}]}, r"problem: found \[\{'n': 64\}\], expected a dict"),
                                  ({"restrict": "BLOCK=128"}, "restrict: found 'BLOCK=128', expected a dict"),
                                  ({"options": "--full -q"}, r"options: found '--full -q', expected a list of words, as \['--full', '-q'\]")):
            with self.assertRaisesRegex(TypeError, message):
                hone.tune(self.config, progress=False, **keywords)

    def test_records_that_lack_numbers(self):
        from hone import _results
        table = _results.columns([{"point": {"A": 1}, "outcome": "ok", "metrics": {"m": {"real": "inf"}},
                                   "timing": {"median_us": 2}}, {"point": {"A": 2}, "outcome": "compile_error", "message": "why"}])
        self.assertEqual(list(table["time_us"])[0], 2)
        self.assertTrue(math.isnan(table["time_us"][1]) and math.isnan(table["m"][1]) and math.isinf(table["m"][0]))
        self.assertEqual(list(table["message"]), ["", "why"])

    def test_a_parameter_that_is_called_as_what_is_measured(self):
        from hone import _results
        table = _results.columns([{"point": {"registers": 32, "time_us": 5}, "outcome": "ok", "resources": {"registers": 40}}])
        self.assertEqual((list(table["registers"]), list(table["registers_"]), list(table["time_us"])), ([32], [40], [5]))


@unittest.skipIf(importlib.util.find_spec("matplotlib") is None, "SKIPPED: there is no matplotlib")
class Notebook(Case):
    def test_all_cells_run(self):
        """As a notebook does it: in order, in one namespace; the last expression of a cell is shown."""
        place = self.folder / "examples" / "notebook"
        place.mkdir(parents=True)
        for name in ("configs", "cache", "templates"):
            (self.folder / name).symlink_to(COMMAND_TESTS.SOURCE / name)
        os.chdir(place)
        import matplotlib
        matplotlib.use("Agg")
        notebook = json.loads((COMMAND_TESTS.SOURCE / "examples" / "notebook" / "tuning.ipynb").read_text())
        names, shown = {}, []
        with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backend that shows nothing
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), "commit it without outputs")
                    self.run_cell("".join(cell["source"]), names, shown)
        self.assertIn("690 valid points", printed.getvalue())
        self.assertEqual(len(matplotlib.pyplot.get_fignums()), 2)
        self.assertEqual([type(one).__name__ for one in shown], ["dict", "Result", "Point", type(names["result"].records).__name__, "Report"])
        self.assertIn("#define HONE_REDUCE_BLOCK", (place / "reduce_tuned.h").read_text())
        outcomes = list(names["columns"]["outcome"])
        self.assertEqual(len(names["finished"]), len(outcomes) - outcomes.count("skipped"), "what is declined is not told")

    def run_cell(self, source, names, shown):
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
        if value is not None:
            shown.append(value)
            getattr(value, "_repr_html_", value.__repr__)()


class Launching(Case):
    tuned = None

    def setUp(self):
        super().setUp()
        hone.use_device(0)
        if Launching.tuned is None:
            hone.tune("scale.yaml", restrict=ONLY)
            hone.tune("symbols.yaml", restrict={"MISSING": 0})
            hone.tune("inputs.yaml", restrict={"BLOCK": 128})
            hone.tune("composite.yaml", restrict={"FINISH": "last_block"})
            Launching.tuned = self.cache.read_bytes()
        self.cache.write_bytes(Launching.tuned)
        self.open = hone.Cache(self.cache)
        self.x = numpy.arange(256, dtype=numpy.float32)

    def launch(self, made, *arguments, a=3.0, on=None):
        """y = a x with arrays of a class."""
        kernel = self.open.kernel("scale", n=256)
        x, y = made(self.x), made(numpy.zeros_like(self.x))
        kernel(on, x, y, a)
        numpy.testing.assert_allclose((y.array if isinstance(y, device.Tensor) else y).get(), a * self.x)
        return x

    def test_what_a_kernel_is(self):
        kernel = self.open.kernel("scale", n=24576)
        self.assertEqual((kernel.info.grade, kernel.info.problem, kernel.info.tuned_problem), ("exact", "n=24576", "n=24576"))
        self.assertIn("BLOCK=256", kernel.info.point)
        self.assertEqual([(one.name, one.type, one.need, one.bytes) for one in kernel.arguments],
                         [("x", "float32", "required", 98304), ("y", "float32", "required", 98304),
                          ("a", "float32", "optional", 4), ("n", "int32", "fixed", 4)])
        self.assertIs(self.open.kernel("scale", n=24576), kernel)
        self.assertEqual(self.open.kernel("scale", n=100).info.grade, "problem")
        self.assertEqual(self.open.kernel("scale", n=24576, objective="time", on_miss="fail").info.grade, "exact")
        with self.assertRaises(hone.LibraryError) as failed:
            self.open.kernel("scale", n=24576, objective="energy", on_miss="fail")
        self.assertEqual(failed.exception.status, "HONE_NOT_FOUND")
        raced = self.open.kernel("scale", n=100, on_miss="race", race_cache="raced.db")
        self.assertIsNot(raced, self.open.kernel("scale", n=100))
        self.assertEqual(raced.info.point, kernel.info.point)
        with self.assertRaises(hone.LibraryError) as failed:
            self.open.kernel("scale", n=100, on_miss="fail")
        self.assertEqual(failed.exception.status, "HONE_NOT_FOUND")
        with self.assertRaisesRegex(hone.LibraryError, "nothing"):
            self.open.kernel("nothing")
        with self.assertRaisesRegex(hone.LibraryError, "nowhere.db"):
            hone.Cache("nowhere.db")
        with hone.Cache(self.cache) as other:
            other.kernel("scale", n=256)
        with self.assertRaisesRegex(hone.Error, "the cache is closed"):
            other.kernel("scale", n=256)

    def test_arrays_of_all_kinds(self):
        self.launch(device.Interface)
        exchanged = self.launch(device.Exchange, on=0)
        self.assertEqual(exchanged.asked, 1)
        kernel = self.open.kernel("scale", n=256)
        x, y = device.Interface(self.x), device.Interface(self.x)
        kernel(0, x.address, y, numpy.float32(0.5))
        numpy.testing.assert_allclose(y.get(), 0.5 * self.x)
        kernel(None, y=y, a=4, x=x)
        numpy.testing.assert_allclose(y.get(), 4 * self.x)
        kernel(None, x, y)
        numpy.testing.assert_allclose(y.get(), 2.5 * self.x)
        kernel(None, x, y, n=256)

    def test_tensors(self):
        torch = types.ModuleType("torch")
        torch.float32, torch.float64, torch._C = "torch.float32", "torch.float64", types.SimpleNamespace(_cuda_getCurrentRawStream=lambda index: 0)
        torch.Tensor = device.Tensor
        sys.modules["torch"] = torch
        self.addCleanup(sys.modules.pop, "torch")
        self.launch(lambda contents: device.Tensor(device.Array(contents)))
        kernel = self.open.kernel("scale", n=256)
        good = device.Tensor(device.Array(self.x))
        for wrong, words in ((device.Tensor(device.Array(self.x), cuda=False), "'x' of scale is a tensor on cpu"),
                             (device.Tensor(device.Array(self.x), contiguous=False), "not contiguous.*pass a contiguous copy"),
                             (device.Tensor(device.Array(self.x[1:])), "of 1020 bytes, expected float32 on the device, 1024 bytes"),
                             (device.Tensor(device.Array(self.x.astype(numpy.float64))), "is of float64, expected float32")):
            with self.assertRaisesRegex(TypeError, words):
                kernel(None, wrong, good)

    def test_what_does_not_fit_is_refused(self):
        kernel = self.open.kernel("scale", n=256)
        x, y = device.Interface(self.x), device.Interface(numpy.full_like(self.x, -1))
        transposed = device.Interface(self.x.reshape(16, 16))
        transposed.strides = (4, 64)
        on_host = device.Exchange(self.x)
        on_host.device = 1
        read_only = device.Interface(self.x)
        read_only.read_only = True
        kernel(0, read_only, device.Interface(self.x))
        for call, words in ((lambda: kernel(0, self.x, y), "'x' of scale is a numpy.ndarray|on the host"),
                            (lambda: kernel(0, on_host, y), "'x' of scale is on the host"),
                            (lambda: kernel(0, device.Interface(self.x.astype(numpy.int32)), y), "is of int32, expected float32"),
                            (lambda: kernel(0, device.Exchange(self.x.astype(numpy.int32)), y), "is of int32, expected float32"),
                            (lambda: kernel(0, device.Interface(self.x[:100]), y), "of 400 bytes"),
                            (lambda: kernel(0, transposed, y), "not contiguous"),
                            (lambda: kernel(0, x, read_only), "'y' of scale is read-only, .*: the kernel writes to it"),
                            (lambda: kernel(0, x, y, 3, 4), r"takes 3 arguments by their places \(x, y, a\), found 4"),
                            (lambda: kernel(0, x, y, b=3), "has no argument 'b'; there are x, y, a, n"),
                            (lambda: kernel(0, x, y, x=x), "argument 'x' of scale is given twice"),
                            (lambda: kernel(0, x, y, "2.5"), "argument 'a' of scale is '2.5', expected a number for float32"),
                            (lambda: kernel(0, x, y, n=256.0), "argument 'n' of scale is 256.0, expected a whole number for int32"),
                            (lambda: self.open.kernel("scale", n=None), "problem value 'n' of scale is None, expected a number"),
                            (lambda: self.open.kernel("scale", n=256, trust="own"), "trust: found 'own', expected True"),
                            (lambda: kernel("stream", x, y), "found a str as stream")):
            with self.assertRaisesRegex(TypeError, words):
                call()
        with self.assertRaisesRegex(hone.LibraryError, "argument 'y' of scale is missing"):
            kernel(0, x)
        with self.assertRaisesRegex(hone.LibraryError, "is not what it is for the problem"):
            kernel(0, x, y, n=255)
        with self.assertRaisesRegex(OverflowError, "'n' of scale is 4294967296, which int32 cannot hold"):
            kernel(0, x, y, n=2**32)
        self.assertEqual(set(y.get()), {-1})

    def test_what_c_can_not_hold_is_refused(self):
        kernel = self.open.kernel("scale", n=256)
        x, y = device.Interface(self.x), device.Interface(numpy.full_like(self.x, -1))
        written_by = device.Interface(self.x, stream=-5)
        for call, words in ((lambda: self.open.kernel("scale", n=2**64 + 24576),
                             "problem value 'n' of scale is 18446744073709576192, which int64 cannot hold: -9223372036854775808 to 9223372036854775807"),
                            (lambda: self.open.kernel("scale", n=-2**63 - 1), "'n' of scale is -9223372036854775809"),
                            (lambda: hone.use_device(2**70), "the device is 1180591620717411303424, expected 0 to 2147483647"),
                            (lambda: hone.use_device(-1), "the device is -1"),
                            (lambda: kernel(-5, x, y), "the stream is -5, expected 0 to 18446744073709551615"),
                            (lambda: kernel(2**64, x, y), "the stream is 18446744073709551616"),
                            (lambda: kernel(types.SimpleNamespace(ptr=-5), x, y), "the stream is -5"),
                            (lambda: kernel(None, written_by, y), "the stream is -5"),
                            (lambda: kernel(0, written_by, y), "the stream of an array is -5"),
                            (lambda: kernel.prepare(-5), "the stream is -5"),
                            (lambda: kernel.set_symbols(2**70, a=b"1"), "the stream is"),
                            (lambda: kernel.set_symbols(0, table=-8), "the symbol 'table' of scale is -8"),
                            (lambda: kernel(0, -1, y), "argument 'x' of scale is -1, expected 0 to"),
                            (lambda: kernel(0, x, 2**64), "argument 'y' of scale is 18446744073709551616"),
                            (lambda: kernel(0, x, y, 1e300), r"argument 'a' of scale is 1e\+300, which float32 cannot hold"),
                            (lambda: kernel(0, x, y, n=2**31), "which int32 cannot hold: -2147483648 to 2147483647")):
            with self.assertRaisesRegex(OverflowError, words):
                call()
        for call, words in ((lambda: hone.Cache("tuned\0.db"), "the path of the cache has a NUL"),
                            (lambda: self.open.kernel("scale\0x", n=256), "the name of the kernel has a NUL"),
                            (lambda: self.open.kernel("scale", **{"n\0x": 256}), "the name of a problem value of scale has a NUL"),
                            (lambda: self.open.kernel("scale", n="a\0b"), "problem value 'n' of scale has a NUL"),
                            (lambda: self.open.kernel("scale", n="256"), "problem value 'n' of scale is '256', expected a number"),
                            (lambda: self.open.kernel("scale", n=256, regime="cold\0"), "regime has a NUL"),
                            (lambda: self.open.kernel("scale", n=256, tune_config="a\0"), "tune_config has a NUL"),
                            (lambda: self.open.kernel("scale", n=256, race_cache="a\0"), "race_cache has a NUL"),
                            (lambda: kernel.set_symbols(0, **{"a\0b": b"1"}), "the name of a symbol of scale has a NUL")):
            with self.assertRaisesRegex(ValueError, words):
                call()
        self.assertEqual(set(y.get()), {-1})
        self.assertIs(self.open.kernel("scale", n=numpy.int64(256)), kernel)

    def test_arrays_of_the_other_byte_order_are_refused(self):
        kernel = self.open.kernel("scale", n=256)
        swapped, y = device.Interface(self.x.astype(">f4")), device.Interface(self.x)
        with self.assertRaisesRegex(TypeError, "'x' of scale is of big-endian float32, expected float32"):
            kernel(0, swapped, y)
        with self.assertRaisesRegex(TypeError, "the symbol 'table' of scale is big-endian"):
            kernel.set_symbols(0, table=swapped)
        cupy = types.ModuleType("cupy")
        cupy.ndarray, cupy.cuda = device.Cupy, types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=0))
        sys.modules["cupy"] = cupy
        self.addCleanup(sys.modules.pop, "cupy")
        self.launch(device.Cupy)
        with self.assertRaisesRegex(TypeError, "'x' of scale is of big-endian float32, expected float32"):
            kernel(0, device.Cupy(self.x.astype(">f4")), y)

    def test_kernels_of_a_closed_cache_say_so(self):
        self.assertRegex(repr(self.open), rf"^<hone.Cache {self.cache}: open, kernels: 0>$")
        kernel = self.open.kernel("scale", n=256)
        x, y = device.Interface(self.x), device.Interface(self.x)
        kernel(None, x, y)
        self.open.close()
        for use in (lambda: kernel(None, x, y), lambda: kernel(None, x=x, y=y), kernel.prepare, lambda: kernel.symbols,
                    lambda: kernel.set_symbols(None, table=b"1")):
            with self.assertRaisesRegex(hone.Error, "the cache of kernel scale is closed: keep it open"):
                use()
        self.open.close()
        self.assertRegex(repr(self.open), r"closed>$")
        self.assertEqual(kernel.info.problem, "n=256")

    def test_streams(self):
        stream = ctypes.c_void_p()
        self.assertEqual(device.driver.cuStreamCreate(ctypes.byref(stream), 0), 0)
        mine = stream.value
        self.launch(device.Interface, on=types.SimpleNamespace(cuda_stream=mine))
        self.launch(device.Interface, on=types.SimpleNamespace(ptr=mine))
        self.launch(device.Interface, on=types.SimpleNamespace(__cuda_stream__=lambda: (0, mine)))
        self.launch(device.Interface, on=types.SimpleNamespace(handle=stream))
        # Arrays that say which stream writes them: the launch is on it, or waits for it.
        waited = []
        original = hone._arrays._driver.wait_for
        hone._arrays._driver.wait_for = lambda *streams: (waited.append(streams), original(*streams))
        self.addCleanup(setattr, hone._arrays._driver, "wait_for", original)
        self.launch(lambda contents: device.Interface(contents, stream=mine))
        self.assertEqual(waited, [])
        self.launch(lambda contents: device.Interface(contents, stream=mine), on=0)
        self.assertEqual(waited, [(0, mine), (0, mine)])

    def test_symbols_and_structures(self):
        look_up = self.open.kernel("look_up", n=5000)
        x = device.Interface(numpy.arange(5000, dtype=numpy.int32))
        y, weights = device.Interface(numpy.zeros(5000, numpy.int32)), device.Interface(numpy.full(16, 7, numpy.int32))
        self.assertEqual(look_up.symbols["offsets"], 16)
        with self.assertRaisesRegex(hone.LibraryError, "call hone_set_symbols"):
            look_up(None, x, weights, y)
        every_other = device.Interface(numpy.zeros(4, numpy.int32))
        every_other.strides = (8,)
        for wrong, words in ((device.Interface(numpy.zeros(3, numpy.int32)), "is of 12 bytes, expected 16"),
                             (every_other, "is not contiguous: pass a contiguous copy"),
                             (device.Tensor(device.Array(numpy.zeros(3, numpy.int32))), "is of 12 bytes, expected 16"),
                             (device.Tensor(device.Array(numpy.zeros(4)), cuda=False), "is a tensor on cpu")):
            with self.assertRaisesRegex(TypeError, f"the symbol 'offsets' of look_up {words}"):
                look_up.set_symbols(None, weights=weights, offsets=wrong)
        look_up.set_symbols(None, weights=weights, offsets=numpy.array([1, 2, 3, 4], numpy.int32))
        look_up(None, x, weights, y)
        self.assertEqual(y.get()[6], 3 * 7 + 3)
        inputs = self.open.kernel("inputs", n=5000, BINS=40)
        table = numpy.array([1, 10, 100, 1000, 10000, 5, 50, 500], numpy.int32)
        pairs, shorts = device.Interface(numpy.arange(6, dtype=numpy.float32)), device.Interface(numpy.array([7, 8, 9, 10], numpy.int16))
        for by_value in (table, table.tobytes()):
            inputs(None, y=y, by_value=by_value, order=x, array=pairs, bytes=shorts)
            self.assertEqual(y.get()[3], 1000 + 3 + 10 + 3)
        with self.assertRaisesRegex(TypeError, "has 28 bytes, expected 32"):
            inputs(None, y=y, by_value=table[1:], order=x, array=pairs, bytes=shorts)

    def test_what_the_library_owns_is_left_out(self):
        kernel = self.open.kernel("sum", n=4096)
        x, result = device.Interface(numpy.full(4096, 3, numpy.int32)), device.Interface(numpy.zeros(1, numpy.int32))
        kernel.prepare()
        kernel(None, x, result)
        self.assertEqual(result.get()[0], 3 * 4096)

    def test_a_thread_without_a_context_is_told_what_to_call(self):
        failures = []

        def work():
            try:
                self.open.kernel("scale", n=256)
            except hone.LibraryError as failure:
                failures.append(str(failure))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertRegex(failures[0], r"^no CUDA context is current in this thread: .* in Python hone.use_device first$")

    def test_threads_have_arguments_of_their_own(self):
        kernel = self.open.kernel("scale", n=256)
        seen = []

        def launch(handle, stream, array, count, error):
            """Takes so long that others fill in theirs meanwhile."""
            time.sleep(0.002)
            seen.append((array._obj[0].bits, array._obj[1].bits))
            return 0

        def work(number):
            for i in range(20):
                kernel(0, 1000 * number + i, 1000 * number + i, 1.0)

        kernel._launch = launch
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(seen), [(1000 * number + i,) * 2 for number in range(4) for i in range(20)])

    def test_numbers_become_bits(self):
        from hone._cache import Argument, _scalar
        for kind, value, bits in ((4, -1, 0xFF), (6, -2, 0xFFFFFFFE), (7, -1, 2**64 - 1), (8, 255, 255), (12, 1.5, 0x3FC00000),
                                  (13, -2.0, 0xC000000000000000), (14, 1.0, 0x3C00), (15, 1.0, 0x3F80), (15, 3.14159, 0x4049),
                                  (16, 1.5, 0x3C), (16, -0.0, 0x80), (16, 17, 0x58), (16, 19.0, 0x5A), (16, 2.0**-10, 0), (16, -(2.0**-9), 0x81),
                                  (16, 449.0, 0x7E), (16, float("-inf"), 0xFE), (16, float("nan"), 0x7F)):
            sizes = {4: 1, 8: 1, 6: 4, 7: 8, 12: 4, 13: 8, 14: 2, 15: 2, 16: 1}
            self.assertEqual(_scalar("k", Argument("a", "", "value", "optional", sizes[kind], kind))(value, 0), bits)
        with self.assertRaisesRegex(TypeError, "argument 'a' of k is '1', expected a number for bfloat16"):
            _scalar("k", Argument("a", "", "value", "optional", 2, 15))("1", 0)
        with self.assertRaisesRegex(TypeError, "argument 'a' of k is '1', expected a number for float8_e4m3"):
            _scalar("k", Argument("a", "", "value", "optional", 1, 16))("1", 0)


class Package(Case):
    def test_structs_are_those_of_the_header(self):
        """As the C compiler lays them out."""
        structs = {"hone_error": _library.CError, "hone_value": _library.CValue, "hone_options": _library.COptions,
                   "hone_info": _library.CInfo, "hone_argument": _library.CArgument, "hone_argument_info": _library.CArgumentInfo}
        renamed = {"value": "as", "bits": "as"}
        lines = [f'printf("%zu\\n", sizeof(struct {name}));\n' + "".join(
            f'printf("%zu\\n", offsetof(struct {name}, {renamed.get(field[0], field[0])}));\n' for field in c._fields_)
            for name, c in structs.items()]
        source = self.write("layout.c", "#include <hone.h>\n#include <stdio.h>\nint main(void) {\n" + "".join(lines) + "return 0; }\n")
        subprocess.run(["cc", source, "-I", COMMAND_TESTS.SOURCE / "runtime" / "libhone", "-I", "/usr/local/cuda/include", "-I",
                        os.environ.get("CUDA_INCLUDE", "."), "-o", self.folder / "layout"], check=True)
        found = subprocess.run([self.folder / "layout"], text=True, capture_output=True, check=True).stdout.split()
        expected = [number for c in structs.values() for number in (ctypes.sizeof(c), *(getattr(c, field[0]).offset for field in c._fields_))]
        self.assertEqual(list(map(int, found)), expected)

    @unittest.skipUnless(os.environ.get("HONE_WHEEL"), "python/wheel runs it (scripts/test --all)")
    def test_a_wheel_with_all_in_it(self):
        """Built and installed as a user would, in a fresh environment; nothing of this build is on its paths."""
        python = next((python for python in (sys.executable, "/usr/bin/python3") if subprocess.run(
            [python, "-c", "import hatchling, pip, venv"], capture_output=True).returncode == 0), None)
        if python is None:
            self.skipTest("there is no Python with hatchling, pip and venv")
        run = self.run_clean
        run("cmake", "--install", os.environ["HONE_BUILD"], "--prefix", self.folder / "prefix")
        if shutil.which("pkg-config"):
            found = run("/usr/bin/python3", "-B", "-c", "import hone._find as f; print(f.command(), f.library())", PYTHONPATH=str(PACKAGE),
                        PATH="/usr/bin:/bin", PKG_CONFIG_PATH=str(next((self.folder / "prefix").glob("lib/**/pkgconfig"))))
            command, library = map(pathlib.Path, found.split())
            self.assertEqual(command.resolve(), self.folder.resolve() / "prefix" / "bin" / "hone")
            self.assertTrue(library.is_file() and str(self.folder) in str(library), library)
        pip = (python, "-m", "pip", "--disable-pip-version-check")
        shutil.copytree(COMMAND_TESTS.SOURCE / "python", self.folder / "python")
        (self.folder / "scripts").mkdir()
        shutil.copy(COMMAND_TESTS.SOURCE / "scripts" / "wheel", self.folder / "scripts")
        shutil.copy(COMMAND_TESTS.SOURCE / "LICENSE", self.folder)
        run(self.folder / "scripts" / "wheel", python, HONE_PREFIX=str(self.folder / "prefix"), PIP_NO_INDEX="1",
            HONE_PACKAGE_URL="https://hone.example/")
        wheel, = (self.folder / "dist").iterdir()
        self.assertRegex(wheel.name, rf"^hone-0\.1\.0-py3-none-{'manylinux_2_' if shutil.which('auditwheel') else 'linux_'}\w+\.whl$")
        run(python, "-m", "venv", "--without-pip", "--system-site-packages", "fresh")
        fresh = self.folder / "fresh" / "bin" / "python"
        run(*pip, "--python", fresh, "install", "-q", "--no-deps", "--no-index", wheel)
        shutil.rmtree(self.folder / "prefix")
        about = run(*pip, "--python", fresh, "show", "-f", "hone")
        for line in ("Author: The Hone authors", "License: MIT", r"  hone-0\.1\.0\.dist-info/\S*LICENSE", r"  \S*bin/hone"):
            self.assertRegex(about, rf"(?m)^{line}$")
        metadata = run(fresh, "-c", "import importlib.metadata as m; print(m.metadata('hone')['Project-URL'])")
        self.assertEqual(metadata.strip(), "Homepage, https://hone.example/")
        command = run("hone", "--version", PATH=f"{fresh.parent}:{os.environ['PATH']}")
        self.assertEqual(command, run(COMMAND_TESTS.HONE, "--version"))
        self.assertEqual(run(fresh, "-m", "hone", "--version"), command)
        failed = subprocess.run([fresh, "-m", "hone", "nonsense"], capture_output=True, text=True)
        self.assertEqual((failed.returncode, failed.stderr.startswith("hone: ")), (2, True), failed.stderr)
        text = run(fresh, "-c", "import hone, hone._find, hone._library\n"
                   f"print(hone.tune('{CONFIGS}/reduce.yaml', problem={{'SIZE': 268435456}}, simulate='{RECORDED}').best.time_us > 0)\n"
                   "print(hone._find.command())\nprint(hone._library.version())\n")
        self.assertEqual(text.splitlines()[0], "True")
        self.assertIn("/fresh/", text.splitlines()[1])
        self.assertEqual(text.splitlines()[2], hone.__version__)

    def run_clean(self, *words, **changes):
        settings = {name: value for name, value in os.environ.items() if name not in ("HONE_COMMAND", "HONE_LIBRARY", "LD_LIBRARY_PATH", "PYTHONPATH")}
        done = subprocess.run(list(map(str, words)), cwd=self.folder, env={**settings, **changes}, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def test_where_command_and_library_are(self):
        build = pathlib.Path(os.environ["HONE_BUILD"]).resolve()
        self.assertEqual(pathlib.Path(_find.library()), build / "runtime" / "libhone" / "libhone.so.0")
        os.environ.pop("HONE_COMMAND")
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        _find._installed_command.cache_clear()
        os.environ["PATH"] = f"{build / 'tuner'}:{before}"
        self.assertEqual(_find.command(), build / "tuner" / "hone")
        os.environ["PATH"] = str(self.folder)
        with self.assertRaisesRegex(hone.Error, "the program `hone` was not found: install Hone"):
            _find.command()
