"""Runs CUDA kernels on the CPU and compares them with their references.

    python prove.py CANDIDATES.jsonl

Candidates are lines as `warpsmith judge` reads them: `id`, `file`, `case` and `launch`. All are compiled by the C++
compiler with `cuda_on_host.h` and run at small sizes, with threads in order and out of order. Outputs must agree with the
reference in float64, within a rounding that follows from how far the reference in float32 and the inputs' last bits
move it. Prints one line of JSON for each candidate: `right`, or the first wrong element.
Calls happen in child processes.
"""

import ctypes
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import numpy as np

HERE = pathlib.Path(__file__).parent
TYPES = {"f32": (np.float32, "float"), "i32": (np.int32, "int")}
EXPRESSIONS = {"ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}
SIZES = [1, 2, 5, 31, 33, 67, 130]


def fill(rng, argument, shape, round):
    fill = argument.get("fill")
    dtype = TYPES[argument["type"]][0]
    if fill == "zeros":
        return np.zeros(shape, dtype)
    if isinstance(fill, dict) and "integers" in fill:
        low, high = fill["integers"]
        return rng.integers(low, high + 1, shape).astype(dtype)
    if isinstance(fill, dict):
        return rng.uniform(*fill["uniform"], shape).astype(dtype)
    values = rng.normal(size=shape) * [1, 30, 1][round % 3]
    return (abs(values) if round % 3 == 2 else values).astype(dtype)


def aligned(array):
    """A copy that begins at 16 bytes, as arrays on a GPU do, between guards."""
    guard = 64
    raw = np.full(array.nbytes + 2 * guard + 16, 0xA9, np.uint8)
    start = guard + (-(raw.ctypes.data + guard)) % 16
    view = raw[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return raw, start, view


def library(candidates, scratch):
    """Compiles all candidates into one library; number n is `run_n`."""
    text = [f'#include "{HERE / "cuda_on_host.h"}"']
    for number, (candidate, case) in enumerate(candidates):
        parameters, names = [], []
        for argument in case["arguments"]:
            pointer = "*" if "direction" in argument else ""
            parameters.append(f'{TYPES[argument["type"]][1]}{pointer} {argument["name"]}')
            names.append(argument["name"])
        source = candidate["text"].replace('extern "C" ', "")
        text.append(f"namespace of_{number} {{\n{source}\n}}")
        text.append(
            f'extern "C" void run_{number}(unsigned* shape, unsigned seed, {", ".join(parameters)}) {{\n'
            f"    dim3 grid, block; grid.x = shape[0]; grid.y = shape[1]; grid.z = shape[2];\n"
            f"    block.x = shape[3]; block.y = shape[4]; block.z = shape[5];\n"
            f'    host::launch(grid, block, seed, [=] {{ of_{number}::{case["kernel"]}({", ".join(names)}); }});\n}}'
        )
    (scratch / "all.cpp").write_text("\n".join(text))
    command = ["g++", "-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-w", "-shared", "-fPIC"]
    subprocess.run([*command, str(scratch / "all.cpp"), "-o", str(scratch / "all.so")], check=True)
    return ctypes.CDLL(str(scratch / "all.so"))


def sizes_of(case, rng):
    names = list(case["sizes"])
    if len(names) == 1:
        return [{names[0]: size} for size in [1, 2, 3, 33, 257, 1030]]
    picked = [{name: 1 for name in names}]
    for _ in range(4):
        picked.append({name: int(rng.choice(SIZES)) for name in names})
    return picked


def answers(reference, case, arrays, size):
    """The outputs in float64, in float32, and how far the inputs' last bits move them."""
    def call(convert):
        given = {}
        for name in reference.__code__.co_varnames[: reference.__code__.co_argcount]:
            given[name] = size[name] if name in size else convert(arrays[name])
        with np.errstate(all="ignore"):
            got = reference(**given)
        return [np.asarray(one) for one in (got if isinstance(got, tuple) else (got,))]

    wide = lambda array: array.astype(np.float64) if array.dtype == np.float32 else array
    truth = call(wide)
    plain = call(lambda array: array)
    moved = [np.zeros(one.shape) for one in truth]
    for up in (np.inf, -np.inf):
        other = call(lambda array: wide(np.nextafter(array, np.float32(up))) if array.dtype == np.float32 else array)
        moved = [np.maximum(old, abs(new - one)) for old, new, one in zip(moved, other, truth)]
    return truth, plain, moved


def prove(code, case_path, numbered):
    """The first wrong element of each candidate of one case; `None` where there is none."""
    case = numbered[0][1][1]
    name, function = case["reference"].split(":")
    spec = importlib.util.spec_from_file_location("reference", case_path.parent / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reference = getattr(module, function)
    rng = np.random.default_rng(7)
    exact = case.get("tolerance", {}).get("rel") == 0
    wrong = {number: None for number, _ in numbered}
    for round, size in enumerate(sizes_of(case, rng)):
        arrays = {}
        for argument in case["arguments"]:
            if "direction" in argument:
                shape = [int(eval(str(one), {}, size)) for one in argument["shape"]]
                arrays[argument["name"]] = fill(rng, argument, shape, round)
        expected = answers(reference, case, arrays, size)
        for number, (candidate, _) in numbered:
            # Threads in their order, and in others.
            order = round if round % 2 else 0
            if wrong[number] is None:
                run = getattr(code, f"run_{number}")
                wrong[number] = once(run, case, candidate["launch"], size, arrays, expected, order, exact)
    return wrong


def once(run, case, launch, size, arrays, expected, order, exact):
    numbers = [int(eval(str(one), EXPRESSIONS, size)) for one in launch["grid"]]
    numbers += [1] * (3 - len(numbers)) + launch["block"] + [1] * (3 - len(launch["block"]))
    given, held = [], []
    for argument in case["arguments"]:
        if "direction" not in argument:
            given.append(ctypes.c_int(size[argument["name"]]))
            continue
        content = arrays[argument["name"]]
        if argument["direction"] == "out":
            content = np.full(content.shape, 777, content.dtype)
        raw, start, view = aligned(content)
        held.append((argument, raw, start, view))
        given.append(ctypes.c_void_p(view.ctypes.data))
    run((ctypes.c_uint * 6)(*numbers), ctypes.c_uint(order), *given)
    outputs = []
    for argument, raw, start, view in held:
        if (raw[:start] != 0xA9).any() or (raw[start + view.nbytes:] != 0xA9).any():
            return {"size": size, "output": argument["name"], "outside": True}
        if argument["direction"] == "in" and (view != arrays[argument["name"]]).any():
            return {"size": size, "output": argument["name"], "input_changed": True}
        if argument["direction"] != "in":
            outputs.append((argument["name"], view))
    for (name, got), right, own, move in zip(outputs, *expected):
        scale = np.abs(right.astype(np.float64))
        allowed = 0.0
        if not exact:
            terms = math.sqrt(max(size.values()))
            spread = np.abs(own.astype(np.float64) - right)
            allowed = 1.2e-7 * terms * (8 * scale + np.max(scale, initial=0)) + 16 * move + 8 * spread + 1e-35
        wrong = ~(np.abs(got.astype(np.float64) - right) <= allowed)
        if wrong.any():
            at = tuple(int(one) for one in np.argwhere(wrong)[0])
            first = {"size": size, "order": order, "output": name, "index": list(at)}
            return {**first, "got": float(got[at]), "expected": float(right[at]), "wrong": int(wrong.sum()), "of": wrong.size}
    return None


def apart(code, case_path, numbered):
    """The same in a child process, because a wrong kernel may end it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writing, "w") as pipe:
            json.dump(list(prove(code, case_path, numbered).items()), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if text:
        return dict(json.loads(text))
    if len(numbered) == 1:
        return {numbered[0][0]: {"crashed": True}}
    found = {}
    for one in numbered:
        found.update(apart(code, case_path, [one]))
    return found


def main():
    path = pathlib.Path(sys.argv[1])
    candidates, by_case = [], {}
    for line in path.read_text().splitlines():
        candidate = json.loads(line)
        candidate["text"] = candidate.get("source") or (path.parent / candidate["file"]).read_text()
        case_path = path.parent / candidate["case"]
        by_case.setdefault(case_path, []).append(len(candidates))
        candidates.append((candidate, tomllib.loads(case_path.read_text())))
    failed = False
    with tempfile.TemporaryDirectory(prefix="prove") as scratch:
        code = library(candidates, pathlib.Path(scratch))
        for case_path, numbers in by_case.items():
            wrong = apart(code, case_path, [(number, candidates[number]) for number in numbers])
            for number, first in wrong.items():
                failed |= first is not None
                print(json.dumps({"id": candidates[number][0]["id"], "right": first is None, "first": first}), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
