# SPDX-License-Identifier: MIT
"""hone inputs: what it writes is what kernels get. On the double, and with HONE_GPU=1 on a real GPU."""

import ast
import json
import os
import shutil
import struct

import double

FILLS = ["uniform(-1, 1)", "normal(3, 2)", "iota(1, 2)", "arange", "constant(7)", "permutation()", "skewed(100, 0.25)",
         "zipf(100, 1.1)", "sorted(-5, 5)", "transposed(w, 16)"]


def read_npy(path):
    """The type, shape and bytes of an array."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length, = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10:10 + length].decode())
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], data[10 + length:]


class Inputs(double.Case):
    def copying(self, fill):
        """y = x, where x is what the fill says and y has to be what was written of it."""
        text = (double.DATA / "scale.yaml").read_text().replace("value: 2.5", "value: 1").replace("n: 24576", "n: 4096")
        text = text.replace("uniform(-1, 1)", fill).replace("arguments:\n", 'arguments:\n  - &w {name: w, type: float32, count: n}\n')
        text = text.replace("launch:\n", "launch:\n  arguments: [x, y, a, n]\n")
        start, end = text.index("reference:"), text.index("compare:")
        self.config.write_text(text[:start] + "reference: {files: {y: in/x.npy}}\ncompare: exact\n")

    def test_kernels_get_what_is_written(self):
        for fill in FILLS:
            with self.subTest(fill):
                self.copying(fill)
                self.hone("inputs", self.config, "-o", "in", "--seed", "7")
                result = self.hone("run", self.config, "--seed", "7", "--verify-only", "--json")
                problem, = json.loads(result.stdout)["problems"]
                self.assertEqual((problem["record"]["outcome"], problem["record"]["verdict"]["compared"]), ("ok", 4096))
        self.copying("uniform(-1, 1)")
        self.hone("inputs", self.config, "-o", "in", "--seed", "8")
        self.hone("run", self.config, "--seed", "7", "--verify-only", expect=3)

    def test_a_replay_beside_files_has_their_inputs(self):
        """The record was raced on others, beside a kernel."""
        self.copying("uniform(-1, 1)")
        files = self.config.read_text()
        self.config.write_text(files.replace("{files: {y: in/x.npy}}", "{template: scale_reference.cu, entry: scale_reference, arguments: [x, y, a, n], block: 256, grid: 16}"))
        self.tune("-s", "BLOCK=128,ITEMS=4")
        self.config.write_text(files)
        self.hone("inputs", self.config, "-o", "in")
        self.assertIn("  verdict   holds", self.hone("replay", self.config, "--max-slowdown", "100%").stdout)

    def test_data_files_are_not_overwritten(self):
        self.hone("inputs", self.config, "-o", "in", "-p", "n=8")
        before = (self.folder / "in/x.npy").read_bytes()
        self.spoil(self.config, 'fill: "uniform(-1, 1)"', "file: in/x.npy")
        self.fails(2, "hone: -o: 'in/x.npy' is read by this command, and is not overwritten; name another file",
                   "inputs", self.config, "-o", "in", "-p", "n=8")
        self.assertEqual((self.folder / "in/x.npy").read_bytes(), before)

    def test_arrays_have_types_and_shapes(self):
        self.write("x.bin", "0123456789abcdef")
        self.config.write_text(self.config.read_text().replace("arguments:\n", """arguments:
  - {name: rows, type: int16, width: 5, height: 3, pitch: device}
  - {name: vectors, type: float32x4, count: 6, role: inout}
  - {name: halves, type: bfloat16, count: 4}
  - {name: bytes, type: uint8, file: x.bin, count: 16}
  - {name: index, type: int32, count: 4, fill: arange}
  - {name: starts, type: int32, count: 11, fill: "csr_rows(3, 0.5)"}
  - {name: columns, type: int32, count: 30, fill: "csr_columns(starts, 7)"}
"""))
        found = json.loads(self.hone("inputs", self.config, "-o", "in", "--json", "-p", "n=8").stdout)
        self.assertEqual((found["seed"], found["problems"][0]["problem"]), (1, {"n": 8}))
        files = {file["argument"]: file for file in found["problems"][0]["files"]}
        self.assertEqual(files["vectors"], {"argument": "vectors", "file": "in/vectors.npy", "type": "float32", "shape": [6, 4]})
        expected = {"rows": ("<i2", (3, 5)), "vectors": ("<f4", (6, 4)), "halves": ("<u2", (4,)), "bytes": ("|u1", (16,)),
                    "index": ("<i4", (4,)), "starts": ("<i4", (11,)), "columns": ("<i4", (30,)), "x": ("<f4", (8,))}
        self.assertEqual(set(files), set(expected))
        arrays = {name: read_npy(self.folder / "in" / f"{name}.npy") for name in expected}
        self.assertEqual({name: array[:2] for name, array in arrays.items()}, expected)
        self.assertEqual(arrays["bytes"][2], b"0123456789abcdef")
        self.assertEqual(arrays["index"][2], struct.pack("<4i", 0, 1, 2, 3))
        starts, columns = struct.unpack("<11i", arrays["starts"][2]), struct.unpack("<30i", arrays["columns"][2])
        self.assertEqual((starts[0], starts[-1], list(starts)), (0, 30, sorted(starts)))
        for begin, end in zip(starts, starts[1:]):
            row = columns[begin:end]
            self.assertEqual(list(row), sorted(set(row)))
            self.assertTrue(all(0 <= column < 7 for column in row))

    def test_types_that_are_values_are_those_of_the_problem(self):
        self.config.write_text(self.config.read_text().replace("problem: {", "problem: {T: [float, __nv_fp8_e4m3], ").replace(
            "arguments:\n", "arguments:\n  - {name: typed, type: T, count: 16, fill: \"constant(-1.5)\"}\n"))
        self.hone("inputs", self.config, "-o", "in", "-p", "n=8", "-p", "T=__nv_fp8_e4m3")
        self.assertEqual(read_npy(self.folder / "in" / "typed.npy"), ("|u1", (16,), b"\xbc" * 16))

    def test_defaults_of_a_large_space(self):
        """The first valid point that has them is looked for: the 64 million of the space are not numbered for it."""
        more = "".join(f"  P{i}: {{range: [1, 24], step: 1}}\n" for i in range(5))
        self.spoil(self.config, "  FAULT: [0]\n", f"  FAULT: [0]\n{more}")
        self.spoil(self.config, "defaults: {BLOCK: 128, ITEMS: 1, FAULT: 0}",
                   "defaults: {BLOCK: 128}\nconstraints: [(P0 + P1 + P2 + P3 + P4 + BLOCK + ITEMS) % 3 == 0]")
        process = self.start("inputs", self.config, "-o", "in", "--quiet")
        _, status, usage = os.wait4(process.pid, 0)
        self.assertEqual(status, 0)
        self.assertLess(usage.ru_maxrss, 200 << 10, "KiB; with numbers it would be 490 MiB")

    def test_results_are_named_for_whoever_computes_them(self):
        self.config.write_text(self.config.read_text().replace("{name: y, type: float32, count: n",
                                                               "{name: y, type: float32x2, count: n / 2"))
        problem, = json.loads(self.hone("inputs", self.config, "-o", "in", "--json", "-p", "n=8").stdout)["problems"]
        self.assertEqual(problem["results"], [{"argument": "y", "type": "float32", "shape": [4, 2]}])

    def test_a_tune_takes_what_was_computed(self):
        self.copying("uniform(-1, 1)")
        self.config.write_text(self.config.read_text().replace("{files: {y: in/x.npy}}", "{files: {y: nowhere.npy}}")
                               .replace("n: 4096", "n: [64, 4096]"))
        self.hone("inputs", self.config, "-o", "in")
        for n in (64, 4096):
            (self.folder / f"y-{n}.npy").write_bytes((self.folder / "in" / f"n={n}" / "x.npy").read_bytes())
        only = ("-s", "BLOCK=256", "-s", "ITEMS=4", "--quiet")
        self.hone("tune", self.config, *only, expect=2)
        found = json.loads(self.hone("tune", self.config, *only, "--json", "--reference", "y=y-{n}.npy").stdout)
        self.assertEqual([one["best"]["verdict"]["kind"] for one in found], ["verified", "verified"])
        # The config's own reference is another one, and no news.
        shutil.copy(self.folder / "y-64.npy", self.folder / "nowhere.npy")
        self.assertNotIn("stale", self.hone("export", "scale", "-o", "scale.h").stderr)
        self.hone("tune", self.config, *only, "--json", "--reference", "y=y-{n}.npy", "--seed", "2",
                  "--cache", "other.db", expect=3)
        for words, message in ((("y",), "--reference: found 'y', expected NAME=FILE"),
                               (("x=a.npy",), "--reference: there is no result 'x'"),
                               (("y=a.npy", "y=b.npy"), "--reference: 'y' is given twice"),
                               (("y=y-64.npy",), "y-64.npy")):
            options = [word for assignment in words for word in ("--reference", assignment)]
            self.assertIn(message, self.hone("tune", self.config, *only, *options, expect=2).stderr)
        self.assertIn("--reference: a capture has its own",
                      self.hone("tune", "--capture", "nowhere", "--reference", "y=y.npy", expect=2).stderr)

    def test_data_files_are_read_or_refused(self):
        data = struct.pack("<6f", 1, 2, 3, 4, 5, 6)

        def npy(description, order, shape, version=1, data=data, rest=", }"):
            header = f"{{'descr': {description}, 'fortran_order': {order}, 'shape': {shape}{rest}".encode()
            return start + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data

        start, type_, none = b"\x93NUMPY", "found elements of type '%s', expected %s, little endian", "found no shape in the header"
        whole = self.config.read_text()
        for element, count, contents, message in (
                ("float32", 6, data, None), ("int16", 12, data, None),
                ("float32", 5, data, "found 24 bytes of data, expected 20 (5 elements of float32)"),
                ("float64", 6, data, "found 24 bytes of data, expected 48 (6 elements of float64)"),
                *(("float32", 6, npy("'<f4'", False, (2, 3), version, rest=", }      \n"), None) for version in (1, 2, 3)),
                ("bfloat16", 12, npy("'|V2'", True, (12,)), None), ("float16", 12, npy("'|V2'", True, (12,)), type_ % ("|V2", "float16")),
                ("float16", 12, npy("'<f2'", True, (12, 1)), None), ("uint8", 1, npy("'|u1'", False, (), data=data[:1]), None),
                ("float8_e4m3", 1, npy("'|u1'", False, (), data=data[:1]), None),
                ("float32", 6, npy("'<f8'", False, (6,)), type_ % ("<f8", "float32")),
                ("float32", 6, npy("'>f4'", False, (6,)), type_ % (">f4", "float32")),
                ("float32", 6, npy([("x", "<f4")], False, (6,)), "found no plain type in the header, expected float32"),
                ("float32", 6, npy("'<f4'", True, (2, 3)),
                 "found an array that is stored column by column; save numpy.ascontiguousarray of it"),
                ("float32", 6, npy("'<f4'", False, (7,)), "found an array of 7 elements, expected 6"),
                *(("float32", 6, npy("'<f4'", False, shape), none) for shape in ((99999999999999999999,), (1 << 40, 1 << 40), (-1,))),
                ("float32", 6, npy("'<f4'", False, "(6", rest=""), none),
                ("float32", 6, start + b"\x01\x00\x18\x00{'descr': '<f4', 'x': 1}" + data, none),
                ("float32", 6, start + b"\x01\x00\x00\x00" + data, "found no plain type in the header, expected float32"),
                ("float32", 6, npy("'<f4'", False, (6,), data=data[:20]), "found 20 bytes of data, expected 24 (6 elements of float32)"),
                ("float32", 6, start + b"\x01\x00\xff", "the header is cut off"),
                ("float32", 6, start + b"\x02\x00\xff\xff\xff\xff", "the header is longer than 64 KiB")):
            path = self.folder / "data.npy"
            path.write_bytes(contents)
            self.config.write_text(whole.replace("arguments:\n", "arguments:\n  - {name: d, file: data.npy, "
                                                 f"type: {element}, count: {count}}}\n"))
            result = self.hone("inputs", self.config, "-o", "in", "-q", expect=0 if message is None else 2)
            if message is None:
                self.assertEqual(read_npy(self.folder / "in" / "d.npy")[2], contents[-len(data):] if count > 1 else data[:1])
            else:
                self.assertIn(f"data file {path}: {message}\n", result.stderr)

    def test_several_problems_have_folders(self):
        self.config.write_text(self.config.read_text().replace("n: 24576", "n: [8, 16]"))
        result = self.hone("inputs", self.config, "-o", "in")
        self.assertEqual(result.stdout, "in/n=8/x.npy: float32 8\nin/n=16/x.npy: float32 16\n")
        self.assertEqual(read_npy(self.folder / "in" / "n=16" / "x.npy")[1], (16,))
        self.assertEqual(self.hone("inputs", self.config, "-o", "in", "--quiet").stdout, "")

    def test_what_can_not_be_written_is_said(self):
        for words, code, message in (((self.config,), 2, "expected a CONFIG, and a folder to write to: -o DIR"),
                                     ((self.config, "-o", "no/in"), 1, "cannot make the folder 'no/in': No such file"),
                                     ((self.config, "-o", "in", "--seed", "x"), 2, "--seed: found 'x'"),
                                     ((self.config, "-o", "bad", "-p", "n=0"), 2, "argument 'x' has a count of 0; expected 1 to "),
                                     (("inputs.yaml", "-o", "bad", "-p", "BINS=0"), 2, "argument 'weights': found 'zipf', expected ")):
            self.assertIn(message, self.hone("inputs", *words, expect=code).stderr)
        self.write("in", "a file")
        self.assertIn("cannot write 'in/x.npy': ", self.hone("inputs", self.config, "-o", "in", expect=1).stderr)
