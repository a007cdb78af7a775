"""Runs the CUDA kernels of tasks on the CPU and compares them with their references.

    python prove.py FOLDER [ID ...]

A task's kernels are compiled by the C++ compiler with `cuda_on_host.h`, at small sizes, in several orders of
the threads. Outputs must agree with the reference in float64, within a rounding that follows from how far the
reference in float32 and the inputs' last bits move it. Prints one line of JSON for each kernel.
"""

import ctypes
import importlib.util
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import numpy as np

HERE = pathlib.Path(__file__).parent
TYPES = {"f32": (np.float32, "float"), "i32": (np.int32, "int")}
EXPRESSIONS = {"ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}
SIZES = [1, 2, 5, 31, 33, 67, 100, 257]


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


def library(folder, case, kernels):
    """Compiles all kernels of a task into one library."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="prove"))
    text = [f'#include "{HERE / "cuda_on_host.h"}"']
    parameters, names = [], []
    for argument in case["arguments"]:
        kind = TYPES[argument["type"]][1]
        parameters.append(f'{kind}{"*" if "direction" in argument else ""} {argument["name"]}')
        names.append(argument["name"])
    for kernel in kernels:
        name = kernel["variant"]
        source = (folder / f"{name}.cu").read_text().replace('extern "C" ', "")
        text.append(f"namespace {name}_variant {{\n{source}\n}}")
        text.append(
            f'extern "C" void run_{name}(unsigned* shape, unsigned seed, {", ".join(parameters)}) {{\n'
            f"    dim3 grid, block; grid.x = shape[0]; grid.y = shape[1]; grid.z = shape[2];\n"
            f"    block.x = shape[3]; block.y = shape[4]; block.z = shape[5];\n"
            f'    host::launch(grid, block, seed, [=] {{ {name}_variant::{case["kernel"]}({", ".join(names)}); }});\n}}'
        )
    (scratch / "all.cpp").write_text("\n".join(text))
    command = ["g++", "-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-w", "-shared", "-fPIC"]
    subprocess.run([*command, str(scratch / "all.cpp"), "-o", str(scratch / "all.so")], check=True)
    return ctypes.CDLL(str(scratch / "all.so"))


def sizes_of(case, rng):
    names = list(case["sizes"])
    if len(names) == 1:
        return [{names[0]: size} for size in [1, 2, 3, 5, 33, 257, 1000, 1030]]
    picked = [{name: 1 for name in names}]
    for _ in range(5):
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


def prove(folder):
    case = tomllib.loads((folder / "case.toml").read_text())
    kernels = json.loads((folder / "launches.json").read_text())
    spec = importlib.util.spec_from_file_location("reference", folder / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(7)
    exact = case.get("tolerance", {}).get("rel") == 0
    try:
        code = library(folder, case, kernels)
    except subprocess.CalledProcessError:
        return [{"id": folder.name, "kernel": "all", "right": False, "detail": "does not compile"}]
    verdicts = {kernel["variant"]: None for kernel in kernels}
    for round, size in enumerate(sizes_of(case, rng)):
        arrays = {}
        for argument in case["arguments"]:
            if "direction" in argument:
                shape = [int(eval(str(one), {}, size)) for one in argument["shape"]]
                arrays[argument["name"]] = fill(rng, argument, shape, round)
        truth, plain, moved = answers(module.reference, case, arrays, size)
        for kernel in kernels:
            for seed in (0, 1 + round):
                if verdicts[kernel["variant"]] is None:
                    verdicts[kernel["variant"]] = once(code, case, kernel, size, arrays, truth, plain, moved, seed, exact)
    return [{"id": folder.name, "kernel": name, "right": detail is None, "detail": detail} for name, detail in verdicts.items()]


def once(code, case, kernel, size, arrays, truth, plain, moved, seed, exact):
    numbers = [int(eval(str(one), EXPRESSIONS, size)) for one in kernel["grid"]]
    numbers += [1] * (3 - len(numbers)) + kernel["block"] + [1] * (3 - len(kernel["block"]))
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
    getattr(code, f'run_{kernel["variant"]}')((ctypes.c_uint * 6)(*numbers), ctypes.c_uint(seed), *given)
    outputs = []
    for argument, raw, start, view in held:
        if (raw[:start] != 0xA9).any() or (raw[start + view.nbytes:] != 0xA9).any():
            return f'{size}: writes outside of `{argument["name"]}`'
        if argument["direction"] == "in" and (view != arrays[argument["name"]]).any():
            return f'{size}: changes `{argument["name"]}`'
        if argument["direction"] != "in":
            outputs.append((argument["name"], view))
    for (name, got), right, own, move in zip(outputs, truth, plain, moved):
        scale = np.abs(right.astype(np.float64))
        spread = np.abs(own.astype(np.float64) - right)
        terms = math.sqrt(max(size.values()))
        allowed = 0 if exact else 1.2e-7 * 8 * (scale + 1e-30) * terms + 16 * move + 8 * spread + 1e-35 + 1e-6 * np.max(scale, initial=0) * terms * 0.1
        off = np.abs(got.astype(np.float64) - right)
        bad = ~(off <= allowed)
        if bad.any():
            at = tuple(int(one) for one in np.argwhere(bad)[0])
            return f"{size}, order {seed}: `{name}`{list(at)} is {got[at]!r}, not {right[at]!r}; {int(bad.sum())} of {bad.size} wrong"
    return None


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    chosen = [folder / name for name in sys.argv[2:]] or sorted(path.parent for path in folder.rglob("case.toml"))
    wrong = 0
    for one in chosen:
        for verdict in prove(one):
            wrong += not verdict["right"]
            print(json.dumps(verdict), flush=True)
    sys.exit(1 if wrong else 0)
