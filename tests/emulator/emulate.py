# SPDX-License-Identifier: MIT
"""Runs templates on the CPU and compares them with their references: emulate.py HONE CONFIGS [--points N] [KERNEL...]

Each config is emulated at its ladder and at N random points (default 4) of small problems, which no tile divides, built
with g++ from device.hpp. Expressions are evaluated by Python, whose syntax they have. Exit code 77: no PyYAML here."""

import argparse
import concurrent.futures
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import problems

try:
    import yaml
except ImportError:
    print("SKIPPED: needs PyYAML (Debian: python3-yaml)")
    sys.exit(77)

MOST_LISTED = 20000
HERE = pathlib.Path(__file__).resolve().parent
TYPES = {f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
TYPES |= {"float32": "float", "float64": "double"}
SIZES = {name: int(re.sub(r"\D", "", name)) // 8 for name in TYPES}
TYPES |= {"__nv_bfloat16": "__nv_bfloat16", "half": "__half"}
SIZES |= {"__nv_bfloat16": 2, "half": 2}
SIZES |= {f"{name}x{n}": size * n for name, size in list(SIZES.items()) for n in (2, 4)}


def words_of(config):
    """Name to words, in declared order: words of the problem are known from the values at hand."""
    return {name: values for name, values in config["parameters"].items()
            if isinstance(values, list) and isinstance(values[0], str)}


class Names(dict):
    """What an expression sees: an unknown name is a word."""

    def __missing__(self, name):
        return name


def evaluate(expression, names):
    if not isinstance(expression, str):
        return expression
    functions = {"ceil_div": lambda a, b: -(-a // b), "log2": math.log2, "min": min, "max": max, "abs": abs,
                 "is_power_of_2": lambda n: n > 0 and n & (n - 1) == 0, "sizeof": SIZES.__getitem__}
    return eval(expression, {"__builtins__": {}}, Names(names | functions))  # the project's own configs


def integer(expression, names):
    value = evaluate(expression, names)
    if value != int(value):
        raise ValueError(f"{expression} is {value}")
    return int(value)


def listed(value):
    return value if isinstance(value, list) else [value]


def frozen_names(config, point):
    """Of problem values; a reference, whose point has not all parameters, sees all that can be."""
    freeze = config.get("freeze", [])
    if isinstance(freeze, list):
        return freeze
    whole = point.keys() >= config["parameters"].keys()
    return freeze["values"] if not whole or evaluate(freeze["if"], point) else []


def prelude(config, problem, point):
    lines = []
    words = words_of(config)
    frozen = {k: v for k, v in problem.items() if isinstance(v, str) or k in frozen_names(config, point)}
    for name, value in (frozen | point).items():
        if isinstance(value, str):
            known = words.get(name) or problems.WORDS[name]
            lines += [f"#define {name}_{word} {i + 1}" for i, word in enumerate(known)]
            value = f"{name}_{value}"
        lines.append(f"#define {name} {int(value) if isinstance(value, bool) else value}")
    return "\n".join(lines) + "\n"


def template_text(path):
    """With the templates that it includes; device.hpp has CUDA's types."""
    text = re.sub(r'#include "(\w+\.cu)"', lambda found: (pathlib.Path(path).parent / found[1]).read_text(),
                  re.sub(r"#include <cuda_\w+\.h>\n", "", pathlib.Path(path).read_text()))
    return re.sub(r"extern __shared__ (?:__align__\(\w+\) )?([\w ]+?) (\w+)\[\];", r"\1 *const \2 = (\1 *)emulator::shared;",
                  text)


def fill_call(argument, name, count, names):
    fill = argument.get("fill", "uniform(-1, 1)" if argument["type"].startswith("float") else "uniform(0, 100)")
    kind, numbers = re.fullmatch(r"(\w+)\s*(?:\((.*)\))?", fill).groups()
    if kind == "constant":
        kind, numbers = "iota", f"{numbers}, 0"
    values = [str(evaluate(number, names)) for number in numbers.split(",")] if numbers else []
    return f"emulator::fill_{kind}({', '.join([name, str(count), *values])});"


def passed_as(argument):
    name = f"argument_{argument['name']}"
    if "texture" in argument:
        return f"&{name}"
    if "tensor_map" in argument:
        return name
    if "from" in argument:
        return f"emulator::any_value{{argument_{argument['from']}}}"
    return name if "value" in argument else f"emulator::any_pointer{{{name}}}"


def launch_call(step, config, names, arguments):
    grid = [integer(e, names) for e in listed(step.get("grid", 1))]
    block = [integer(e, names) for e in listed(step["block"])]
    entry = step.get("entry", config.get("entry"))
    ways = {a["name"]: passed_as(a) for a in arguments}
    passed = [ways[name] for name in step.get("arguments", ways)]
    dims = ", ".join("{" + ", ".join(map(str, size)) + "}" for size in (grid, block))
    return f"    emulator::launch({dims}, [] {{ {entry}({', '.join(passed)}); }});\n"


DEVICE_PITCH = 512
EMULATED_TEXTURE = {"dimensions", "address", "name", "texture", "type", "type_c"}


def pitches(config, names):
    """What expressions know as the pitch of an argument: bytes from one row to the next."""
    found = {}
    for a in config["arguments"]:
        if "width" in a:
            row = integer(a["width"], names) * SIZES[a["type"]]
            device = -(-row // DEVICE_PITCH) * DEVICE_PITCH
            found[f"{a['name']}_pitch"] = device if a.get("pitch") == "device" else integer(a.get("pitch", row), names)
    return found


def elements(argument, names):
    """Of a buffer, with those between its rows."""
    if "count" in argument:
        return integer(argument["count"], names)
    return names[f"{argument['name']}_pitch"] // SIZES[argument["type"]] * integer(argument["height"], names)


def texture_of(texture, arguments, names):
    """C++ for a texture over what is allocated by then; they read floats and clamp."""
    if texture.keys() - EMULATED_TEXTURE or texture.get("address", "clamp") != "clamp":
        raise ValueError(f"the emulator has no such texture: {texture}")
    of = next(a for a in arguments if a["name"] == texture["texture"])
    fields = [f"argument_{of['name']}", elements(of, names)]
    if "width" in of and texture.get("dimensions") != 1:
        fields += [integer(of["width"], names), integer(of["height"], names), names[f"{of['name']}_pitch"]]
    return f"    argument_{texture['name']} = {{{', '.join(map(str, fields))}}};\n"


def map_of(tensor, arguments, names):
    """C++ for a tensor map over what is allocated by then: of a matrix, read as zero outside."""
    of = next(a for a in arguments if a["name"] == tensor["tensor_map"])
    dims, strides, box = ([integer(e, names) for e in listed(tensor[key])] for key in ("dims", "strides", "box"))
    if len(dims) != 2 or tensor.get("oob_fill", "zeros") != "zeros" or tensor.keys() & {"interleave", "element_strides"}:
        raise ValueError(f"the emulator has no such map: {tensor}")
    fields = [f"(unsigned char *)argument_{of['name']}", "{%d, %d}" % tuple(dims), strides[0], "{%d, %d}" % tuple(box),
              SIZES[of["type"]], integer(tensor.get("swizzle", 0), names)]
    return f"    argument_{tensor['name']} = {{{', '.join(map(str, fields))}}};\n"


def declare(arguments, names):
    """C++ for the arguments: globals, what is done to them once, and what before every launch."""
    code, once, before, textures = [], [], [], []
    for number, a in enumerate(arguments):
        name = f"argument_{a['name']}"
        if "value" in a:
            code.append(f"static const {a['type_c']} {name} = ({a['type_c']})({evaluate(a['value'], names)});\n")
        if "texture" in a:
            code.append(f"static emulator::texture {name};\n")
            textures.append(texture_of(a, arguments, names))
        if "tensor_map" in a:
            code.append(f"static emulator::tensor_map {name};\n")
            textures.append(map_of(a, arguments, names))
        if "count" not in a and "width" not in a:
            continue
        count, role = elements(a, names), a.get("role", "input")
        code.append(f"static {a['type_c']} *{name};\n")
        once.append(f"    {name} = ({a['type_c']} *)emulator::allocate({count}ull * sizeof *{name});\n")
        if role in ("input", "inout"):
            fill = f"    emulator::random_state = {number + 1};\n    {fill_call(a, name, count, names)}\n"
            if "width" in a:
                sizes = [evaluate(e, names) for e in (a["width"], a["height"], f"{a['name']}_pitch")]
                fill += f"    emulator::pad_rows({name}, {', '.join(map(str, sizes))});\n"
            (once if role == "input" else before).append(fill)
        if role in ("counter", "metric"):  # these templates leave their counters as they found them
            once.append(f"    std::memset({name}, 0, {count}ull * sizeof *{name});\n")
        if role == "output":
            before.append(f"    std::memset({name}, 0xFF, {count}ull * sizeof *{name});\n")
    return "".join(code), "".join(once + textures), "".join(before)


def results_of(arguments):
    return [a for a in arguments if a.get("role") in ("output", "inout")]


def save_results(arguments, names, results):
    return "".join(f'    emulator::save("{results}.{a["name"]}", argument_{a["name"]}, '
                   f"{elements(a, names)}ull * sizeof *argument_{a['name']});\n" for a in results_of(arguments))


def compare_results(config, arguments, names, results):
    code = []
    for a in results_of(arguments):
        name, count = f"argument_{a['name']}", elements(a, names)
        compare = a.get("compare", config.get("compare", {"relative": 1e-5}))
        compare = compare if isinstance(compare, dict) else {"mode": compare}
        mode = compare.get("mode")
        if mode == "multiset" and evaluate(problems.ORDERED.get(config["kernel"], False), names):
            mode = "exact"
        exact = a["type"].startswith(("int", "uint")) or mode in ("exact", "multiset")
        bounds = [0 if exact else evaluate(compare.get(bound, 0), names) for bound in ("relative", "absolute")]
        length = f"(size_t)argument_{a['length']}[0]" if "length" in a else f"{count}ull"
        code.append(f'    emulator::compare("{a["name"]}", {name}, emulator::load<{a["type_c"]}>("{results}.{a["name"]}", '
                    f"{count}ull), {length}, {bounds[0]}, {bounds[1]}, {str(mode == 'multiset').lower()});\n"
                    f'    emulator::check_slack((unsigned char *){name}, {count}ull * sizeof *{name}, "{a["name"]}");\n')
    return "".join(code)


def program(config, problem, point, steps, text, results, check):
    """A C++ program that fills the arguments and launches the steps: to write the results, or to check against them."""
    names = {**problem, **config.get("defaults", {}), **point}
    for name, expression in config.get("let", {}).items():
        names[name] = evaluate(expression, names)
    names |= pitches(config, names)
    if "pipeline" in config:  # as a whole
        names |= {"chunk_begin": 0, "chunk_count": integer(config["pipeline"]["over"], names), "chunk_index": 0}
    arguments = [dict(a, type=problem.get(a.get("type"), a.get("type", "float32"))) for a in config["arguments"]]
    arguments = [dict(a, type_c=TYPES[a["type"]]) for a in arguments]
    code, once, before = declare(arguments, names)
    for symbol in config.get("symbols", []) if check else []:
        if evaluate(symbol.get("if", True), names):
            before += f"    std::memcpy(&{symbol['name']}, argument_{symbol['from']}, sizeof {symbol['name']});\n"
    steps = [step for step in steps if "copy" not in step and evaluate(step.get("if", True), names)]
    launch = "".join(launch_call(step, config, names, arguments) for step in steps)
    if check:  # twice: what a launch leaves behind must not disturb the next
        work = 2 * (before + launch + compare_results(config, arguments, names, results))
    else:
        work = before + launch + save_results(arguments, names, results)
    return "".join(['#include "host.hpp"\n', text, "\n", code, "int main()\n{\n", once, work,
                    '    std::puts("ok");\n    return 0;\n}\n'])


COMPILE = ["g++", "-std=c++20", "-O1", "-w", "-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"]


def run(code, name, folder):
    source = folder / f"{name}.cpp"
    source.write_text(code)
    command = [*COMPILE, f"-I{folder}", f"-I{folder}/reference", str(source), "-o", str(folder / name)]
    built = subprocess.run(command, text=True, capture_output=True)
    if built.returncode != 0:
        return "does not compile: " + "\n".join(built.stderr.splitlines()[:4])
    try:
        done = subprocess.run([str(folder / name)], text=True, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "runs for more than 120 s"
    finally:
        os.unlink(folder / name)
    if done.returncode == 0 and done.stdout.strip().endswith("ok"):
        return None
    signal = {-11: "memory out of bounds", -4: "a misaligned address", -7: "memory out of bounds"}
    return done.stdout.strip() or signal.get(done.returncode, f"exit code {done.returncode}")


def copy_headers(templates, folder):
    """Headers with instructions that only a GPU has give way to those beside this file; ours are compiled once."""
    (folder / "reference").mkdir(exist_ok=True)
    for header in [*templates.glob("*.cuh"), *HERE.glob("*.cuh"), *HERE.glob("*.hpp")]:
        (folder / header.name).write_text(header.read_text())
    subprocess.run([*COMPILE, "-x", "c++-header", str(folder / "host.hpp"), "-o", str(folder / "host.hpp.gch")], check=True)


def space(hone, path, problem, restrictions, *options):
    """Lines of `hone space` for a problem."""
    command = [hone, "space", str(path), *(o for k, v in problem.items() for o in ("-p", f"{k}={v}"))]
    result = subprocess.run([*command, *(o for r in restrictions if r for o in ("-s", r)), *options], text=True,
                            capture_output=True)
    if result.returncode not in (0, 3):
        raise RuntimeError(result.stderr)
    return [line for line in result.stdout.splitlines() if line]


def points_of(hone, path, config, problem, restrict, count):
    """All points of a small space; of a large one, the ladder's and so many others."""
    restrictions = [restrict, problems.EMULATED.get(config["kernel"], "")]

    def points(lines):
        return [dict((k, yaml.safe_load(v)) for k, v in (pair.split("=") for pair in line.split()[0].split(",")))
                for line in lines]

    counted = "".join(space(hone, path, problem, restrictions, "--count")[:1]).split("\t")[0]
    if counted.isdigit() and int(counted) <= MOST_LISTED:
        return points(space(hone, path, problem, restrictions, "--list", "all"))
    found = points(space(hone, path, problem, restrictions, "--sample", str(count)))
    for step in config.get("ladder", []):
        point = {**config.get("defaults", {}), **step}
        fixed = [f"{k}={v}" for k, v in point.items()]
        if not any(r and r.split("=")[0] in step for r in restrictions):
            found += points(space(hone, path, problem, fixed, "--list", "all"))
    return found


def chosen_points(config, points, count, quick):
    if quick:
        return random.Random(1).sample(points, min(count, len(points)))
    defaults = config.get("defaults", {})
    ladder = [{**defaults, **step} for step in config.get("ladder", [])]
    chosen = [p for p in points if any(p == {**p, **step} for step in ladder)]
    others = [p for p in points if p not in chosen]
    return chosen + random.Random(1).sample(others, min(count, len(others)))


def check_problem(hone, path, config, overrides, folder, pool, options):
    problem = config["problem"][0] if isinstance(config["problem"], list) else dict(config["problem"])
    problem = {k: v[0] if isinstance(v, list) else v for k, v in problem.items()} | overrides
    reference = config["reference"]
    reference_text = template_text(path.parent / reference["template"])
    points = points_of(hone, path, config, problem, options.set, options.points)
    made, jobs = {}, []
    tag = f"{config['kernel']}-{abs(hash(str(problem))) % 10**8}"
    for i, point in enumerate(chosen_points(config, points, options.points, options.quick)):
        depends = {k: point[k] for k in listed(reference.get("depends", []))}
        key = str(depends)
        if key not in made:
            results = folder / f"{tag}-reference-{len(made)}"
            code = program(config, problem, depends, [reference],
                           prelude(config, problem, depends) + reference_text, results, False)
            failure = run(code, results.name, folder)
            if failure:
                return [f"reference: {failure}"], 0
            made[key] = results
        launch = config["launch"]
        text = prelude(config, problem, point) + template_text(path.parent / config["template"])
        code = program(config, problem, point, launch if isinstance(launch, list) else [launch], text, made[key], True)
        jobs.append((point, pool.submit(run, code, f"{tag}-{i}", folder)))
    failures = [f"{point}: {job.result()}" for point, job in jobs if job.result()]
    return failures, len(jobs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hone")
    parser.add_argument("configs", type=pathlib.Path)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--points", type=int, default=4)
    parser.add_argument("--set", default="", help="only points with these values, as hone takes them")
    parser.add_argument("--quick", action="store_true", help="without the ladder, and only the first problem of each")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    failed = passed = 0
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = options.keep or pathlib.Path(temporary)
        copy_headers(options.configs / ".." / "templates", folder)
        for kernel in options.kernels or problems.SMALL:
            path = options.configs / f"{kernel}.yaml"
            config = yaml.safe_load(path.read_text())
            if isinstance(config.get("defaults"), list):  # of several the last is for all problems
                config["defaults"] = config["defaults"][-1]
            for overrides in problems.SMALL[kernel][:1 if options.quick else None]:
                failures, count = check_problem(options.hone, path, config, overrides, folder, pool, options)
                print(f"{kernel} {overrides}: {count - len(failures)} of {count} points agree", flush=True)
                for failure in failures[:5]:
                    print(f"  {failure}")
                failed += len(failures) + (count == 0)
                passed += count - len(failures)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
