"""Runs kernels as Warp compiles them for the CPU, on random arguments, and prints what went in and what
came out, one JSON line per kernel: `dim`, `arguments` (a tree of values, arrays and structs, bytes in
hexadecimal), and the bytes of every array and its gradient after the forward and the backward pass.

    python interpreter_oracle.py manifest.jsonl

Each line of the manifest has `id`, `source` (Python) and `rank` (of the launch grid). Each kernel runs in
a child process: one that crashes costs its own line.
"""

import json
import zlib

import numpy as np
import warp as wp
import warp._src.types as wtypes
from warp._src.codegen import Struct
from warp_cpu_oracle import PAD, SHAPES, THREADS, Arguments, answers, captured, is_plain_array, load


def inner(dtype, content):
    """The bytes of an array without the padding around it."""
    element = wtypes.type_size_in_bytes(dtype)
    pad = -(-PAD // element) * element
    return content[pad : len(content) - pad].tobytes().hex()


def number(value):
    """A plain number from one of Python's, NumPy's or Warp's."""
    value = getattr(value, "value", value)
    return value.item() if hasattr(value, "item") else value


def describe(kind, value, buffers):
    if is_plain_array(kind):
        (_, dtype, data), (_, _, gradient) = next(buffers), next(buffers)
        return {"shape": SHAPES[kind.ndim], "data": inner(dtype, data), "gradient": inner(dtype, gradient)}
    if isinstance(kind, Struct):
        return {"struct": [describe(f.type, getattr(value, n), buffers) for n, f in kind.vars.items()]}
    shape = getattr(kind, "_shape_", ()) if hasattr(kind, "_wp_scalar_type_") else ()
    if len(shape) == 2:
        return {"value": [number(value[i, j]) for i in range(shape[0]) for j in range(shape[1])]}
    if shape:
        return {"value": [number(value[i]) for i in range(shape[0])]}
    return {"value": [number(value)]}


def observe(case):
    kernel = load(case["source"], f"case_{case['id']}")
    arguments = Arguments(kernel, zlib.crc32(case["id"].encode()))
    dim = THREADS[case["rank"]]
    buffers = iter(arguments.buffers)
    tree = [describe(a.type, v, buffers) for a, v in zip(kernel.adj.args, arguments.values)]

    def launch(backward):
        extra = {"adj_inputs": arguments.adjoints(kernel), "adjoint": True} if backward else {}
        wp.launch(kernel, dim, inputs=arguments.values, device="cpu", block_dim=1, **extra)

    def state():
        return [inner(dtype, content) for _, dtype, content in arguments.buffers]

    output = captured(lambda: launch(False))
    result = {"dim": dim, "arguments": tree, "forward": state(), "complains": "rror" in output}
    backward = kernel.options.get("enable_backward", kernel.module.options.get("enable_backward", True))
    if backward:
        captured(lambda: launch(True))
        result["backward"] = state()
    return result


def write_observation(case, pipe):
    try:
        answer = json.dumps(observe(case))
    except BaseException as error:
        answer = json.dumps({"not_run": f"{type(error).__name__}: {error}"[:300]})
    pipe.write(answer.encode())


def main():
    for case, answer, status in answers(write_observation):
        result = json.loads(answer) if answer else {"not_run": f"ends with status {status}"}
        print(json.dumps({"id": case["id"], **result}), flush=True)


if __name__ == "__main__":
    main()
