"""What Warp's CPU makes of vectors, matrices and quaternions, bit for bit, as JSON.

    python record.py [SEED [THREADS]] | gzip -9n > recorded.json.gz

Needs warp-lang 1.19.0. A case is a kernel with an expression of `a`, `b` and `c`; its numbers are hexadecimal
bits, before and after: arguments, results, the results' gradients, and the arguments' gradients.
"""

import json
import linecache
import os
import sys
import tempfile
import types

os.environ.setdefault("WARP_KERNEL_CACHE", tempfile.mkdtemp())

import numpy as np
import warp as wp

HEAD = "import warp as wp\n"
# Gradients of these are the same numbers added in another order.
FORWARD = ["quat_from_matrix"]
SCALARS = {"float16": np.uint16, "float32": np.uint32, "float64": np.uint64}


def matrix(rows, cols):
    return f"wp.types.matrix(shape=({rows}, {cols}), dtype=wp.SCALAR)", rows * cols


def vector(length):
    return f"wp.types.vector(length={length}, dtype=wp.SCALAR)", length


SCALAR = "wp.SCALAR", 1
QUATERNION = "wp.types.quaternion(dtype=wp.SCALAR)", 4
TRANSFORM = "wp.types.transformation(dtype=wp.SCALAR)", 7


def cases():
    """Names, types of arguments, type of the result, expressions."""
    m, v = matrix, vector
    for r, k, c in [(2, 2, 2), (3, 3, 3), (4, 4, 4), (2, 3, 4), (5, 2, 3), (6, 6, 6)]:
        yield f"mat{r}{k} * mat{k}{c}", [m(r, k), m(k, c)], m(r, c), "a * b"
    yield "mat33 * itself", [m(3, 3)], m(3, 3), "wp.transpose(a) * a"
    for r, c in [(2, 2), (3, 3), (4, 4), (2, 3), (5, 2), (6, 6)]:
        yield f"mat{r}{c} * vec{c}", [m(r, c), v(c)], v(r), "a * b"
        yield f"vec{r} * mat{r}{c}", [v(r), m(r, c)], v(c), "a * b"
        yield f"outer of vec{r}, vec{c}", [v(r), v(c)], m(r, c), "wp.outer(a, b)"
        yield f"ddot of mat{r}{c}", [m(r, c), m(r, c)], SCALAR, "wp.ddot(a, b)"
    for n in [2, 3, 4, 5]:
        yield f"dot of vec{n}", [v(n), v(n)], SCALAR, "wp.dot(a, b)"
        yield f"length of vec{n}", [v(n)], SCALAR, "wp.length(a)"
        yield f"length_sq of vec{n}", [v(n)], SCALAR, "wp.length_sq(a)"
        yield f"normalize of vec{n}", [v(n)], v(n), "wp.normalize(a)"
        yield f"vec{n} * scalar", [v(n), SCALAR], v(n), "a * b"
        yield f"scalar * vec{n}", [SCALAR, v(n)], v(n), "a * b"
        yield f"vec{n} / scalar", [v(n), SCALAR], v(n), "a / b"
        yield f"scalar / vec{n}", [SCALAR, v(n)], v(n), "a / b"
        yield f"lerp of vec{n}", [v(n), v(n), SCALAR], v(n), "wp.lerp(a, b, c)"
        yield f"cw_mul of vec{n}", [v(n), v(n)], v(n), "wp.cw_mul(a, b)"
        yield f"cw_div of vec{n}", [v(n), v(n)], v(n), "wp.cw_div(a, b)"
    for n in [2, 3, 4]:
        yield f"determinant of mat{n}{n}", [m(n, n)], SCALAR, "wp.determinant(a)"
        yield f"inverse of mat{n}{n}", [m(n, n)], m(n, n), "wp.inverse(a)"
        yield f"trace of mat{n}{n}", [m(n, n)], SCALAR, "wp.trace(a)"
    for r, c in [(2, 2), (3, 3), (2, 3)]:
        yield f"mat{r}{c} * scalar", [m(r, c), SCALAR], m(r, c), "a * b"
        yield f"scalar * mat{r}{c}", [SCALAR, m(r, c)], m(r, c), "a * b"
        yield f"mat{r}{c} / scalar", [m(r, c), SCALAR], m(r, c), "a / b"
        yield f"scalar / mat{r}{c}", [SCALAR, m(r, c)], m(r, c), "a / b"
        yield f"lerp of mat{r}{c}", [m(r, c), m(r, c), SCALAR], m(r, c), "wp.lerp(a, b, c)"
        yield f"cw_mul of mat{r}{c}", [m(r, c), m(r, c)], m(r, c), "wp.cw_mul(a, b)"
        yield f"cw_div of mat{r}{c}", [m(r, c), m(r, c)], m(r, c), "wp.cw_div(a, b)"
    yield "cross", [v(3), v(3)], v(3), "wp.cross(a, b)"
    yield "skew", [v(3)], m(3, 3), "wp.skew(a)"
    yield "transform_point by mat44", [m(4, 4), v(3)], v(3), "wp.transform_point(a, b)"
    yield "transform_vector by mat44", [m(4, 4), v(3)], v(3), "wp.transform_vector(a, b)"
    q, t = QUATERNION, TRANSFORM
    yield "quat * quat", [q, q], q, "a * b"
    yield "quat * scalar", [q, SCALAR], q, "a * b"
    yield "quat / scalar", [q, SCALAR], q, "a / b"
    yield "dot of quats", [q, q], SCALAR, "wp.dot(a, b)"
    yield "length of a quat", [q], SCALAR, "wp.length(a)"
    yield "normalize of a quat", [q], q, "wp.normalize(a)"
    yield "quat_inverse", [q], q, "wp.quat_inverse(a)"
    yield "quat_rotate", [q, v(3)], v(3), "wp.quat_rotate(a, b)"
    yield "quat_rotate_inv", [q, v(3)], v(3), "wp.quat_rotate_inv(a, b)"
    yield "quat_to_matrix", [q], m(3, 3), "wp.quat_to_matrix(a)"
    yield "quat_from_axis_angle", [v(3), SCALAR], q, "wp.quat_from_axis_angle(a, b)"
    yield "quat_from_matrix", [m(3, 3)], q, "wp.quat_from_matrix(a)"
    yield "lerp of quats", [q, q, SCALAR], q, "wp.lerp(a, b, c)"
    yield "transform * transform", [t, t], t, "a * b"
    yield "transform_point", [t, v(3)], v(3), "wp.transform_point(a, b)"
    yield "transform_vector", [t, v(3)], v(3), "wp.transform_vector(a, b)"
    yield "transform_inverse", [t], t, "wp.transform_inverse(a)"
    yield "spatial_dot", [v(6), v(6)], SCALAR, "wp.spatial_dot(a, b)"
    yield "spatial_cross", [v(6), v(6)], v(6), "wp.spatial_cross(a, b)"
    yield "spatial_cross_dual", [v(6), v(6)], v(6), "wp.spatial_cross_dual(a, b)"


def source_of(arguments, result, expression, scalar, number):
    """The text of one case; names end in its number, because all cases of a scalar share a module."""
    kinds = [kind for kind, _ in arguments]
    lines = [f"{name}{number} = {kind}" for name, kind in zip("ABC", kinds)]
    lines += [f"R{number} = {result[0]}", "", "", "@wp.kernel"]
    names = "abc"[: len(kinds)]
    parameters = [f"x{name}: wp.array(dtype={name.upper()}{number})" for name in names]
    lines.append(f"def k{number}({', '.join([*parameters, f'y: wp.array(dtype=R{number})'])}):")
    lines.append("    i = wp.tid()")
    lines += [f"    {name} = x{name}[i]" for name in names]
    lines.append(f"    y[i] = {expression}")
    return "\n".join(lines).replace("SCALAR", scalar) + "\n"


def load(source, name):
    module = types.ModuleType(name)
    module.__file__ = f"{name}.py"
    lines = source.splitlines(keepends=True)
    linecache.cache[module.__file__] = (len(source), None, lines, module.__file__)
    sys.modules[name] = module
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    return module


def recorded(module, case, source, scalar, random, threads, number):
    name, arguments, result, _ = case
    kernel = getattr(module, f"k{number}")
    bits = SCALARS[scalar]

    def numbers(size):
        # Of several magnitudes and both signs, so that sums round and cancel.
        values = random.uniform(-2.0, 2.0, (threads, size)) * 2.0 ** random.integers(-2, 2, (threads, size))
        return values.astype(np.dtype(scalar))

    def array(values, kind):
        shaped = values.reshape(threads) if values.shape[1] == 1 else values
        kind = getattr(module, f"{kind}{number}")
        shape = getattr(kind, "_shape_", ())
        shaped = values.reshape(threads, *shape) if len(shape) > 1 else shaped
        return wp.array(shaped, dtype=kind, device="cpu", requires_grad=True)

    values = [numbers(size) for _, size in arguments]
    seeds = numbers(result[1])
    inputs = [array(x, kind) for x, kind in zip(values, "ABC")]
    output = array(np.zeros_like(seeds), "R")
    output.grad = array(seeds, "R")
    wp.launch(kernel, dim=threads, inputs=inputs, outputs=[output], device="cpu")
    wp.launch(
        kernel,
        dim=threads,
        inputs=inputs,
        outputs=[output],
        adj_inputs=[x.grad for x in inputs],
        adj_outputs=[output.grad],
        adjoint=True,
        device="cpu",
    )

    def words(values):
        digits = 2 * np.dtype(scalar).itemsize
        return " ".join(f"{word:0{digits}x}" for word in np.ascontiguousarray(values).view(bits).ravel())

    return {
        "name": f"{name} of {scalar}",
        "scalar": scalar,
        "threads": threads,
        "source": f"{HEAD}\n{source}",
        "arguments": [words(x) for x in values],
        "result": words(output.numpy()),
        "seed": words(seeds),
        "gradients": [] if name in FORWARD else [words(x.grad.numpy()) for x in inputs],
    }


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    wp.config.quiet = True
    wp.config.log_level = wp.LOG_ERROR
    random = np.random.default_rng(seed)
    rows = []
    for scalar in SCALARS:
        chosen = list(enumerate(cases()))
        sources = [source_of(*case[1:], scalar, number) for number, case in chosen]
        module = load("\n\n".join([HEAD, *sources]), f"cases_of_{scalar}")
        for (number, case), source in zip(chosen, sources):
            rows.append(recorded(module, case, source, scalar, random, threads, number))
    print("[")
    print(",\n".join(json.dumps(row) for row in rows))
    print("]")


if __name__ == "__main__":
    main()
