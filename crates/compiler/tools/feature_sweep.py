#!/usr/bin/env python3
"""One small program per feature of the language and per way of writing it, with what Warp makes of each: a
suite for `cargo xtask conformance --suite`.

    target/oracle/warp/bin/python crates/compiler/tools/feature_sweep.py > /tmp/features.jsonl
"""

from builtin_sweep import record

SCALARS = ["int", "float", "bool", "wp.int8", "wp.int16", "wp.int32", "wp.int64", "wp.uint8", "wp.uint16", "wp.uint32",
           "wp.uint64", "wp.float16", "wp.float32", "wp.float64", "wp.bool", "wp.bfloat16"]
COMPOUNDS = ["wp.vec2", "wp.vec3", "wp.vec4", "wp.vec3d", "wp.vec2i", "wp.vec4ub", "wp.vec3h", "wp.mat22", "wp.mat33",
             "wp.mat44d", "wp.quat", "wp.quatd", "wp.transform", "wp.transformd", "wp.spatial_vector", "wp.spatial_matrix",
             "wp.spatial_vectord", "wp.vec2us", "wp.vec3l", "wp.vec3ul", "wp.vec2s", "wp.vec2b", "wp.vec4ui", "wp.mat22h"]
FAMILIES = ["wp.types.vector(length=3, dtype=float)", "wp.types.vector(5, wp.float64)", "wp.types.vector(length=7, dtype=int)",
            "wp.types.matrix(shape=(2, 3), dtype=float)", "wp.types.matrix((3, 2), wp.float64)", "wp.types.vector(length=2, dtype=bool)",
            "wp.types.quaternion(dtype=float)", "wp.types.quaternion(dtype=wp.float32)", "wp.types.quaternion(dtype=wp.float64)",
            "wp.types.transformation(dtype=float)", "wp.types.transformation(dtype=wp.float32)", "wp.types.vector(length=3, dtype=wp.bfloat16)",
            "wp.types.matrix(shape=(6, 6), dtype=float)", "wp.types.vector(length=1, dtype=float)", "wp.types.matrix(shape=(1, 4), dtype=float)",
            "wp.handle", "wp.uint64", "wp.types.quaternion(dtype=wp.float16)", "wp.vec3f", "wp.quatf", "wp.transformf", "wp.mat33f"]


def kernel(body, params="x: wp.array(dtype=float), n: int", head="", options="", name="k"):
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))
    return f"import warp as wp\n\n{head}\n@wp.kernel{options}\ndef {name}({params}):\n{lines}"


def cases():
    # Types in every place that a type is written.
    for ty in SCALARS + COMPOUNDS + FAMILIES:
        yield kernel("i = wp.tid()\na[i] = b", f"a: wp.array(dtype={ty}), b: {ty}")
        yield kernel("i, j = wp.tid()\na[i, j] = a[j, i]", f"a: wp.array2d(dtype={ty})")
        yield kernel("i = wp.tid()\nv = a[i]\na[i] = s.f", f"a: wp.array(dtype={ty}), s: S", f"@wp.struct\nclass S:\n    f: {ty}\n    g: wp.array(dtype={ty})\n")
        yield kernel("i = wp.tid()\ns = a[i]\ns.f = s.f\na[i] = s\na[i].f = s.f", "a: wp.array(dtype=S)", f"@wp.struct\nclass S:\n    n: int\n    f: {ty}\n")
        yield kernel("i = wp.tid()\na[i] = f(a[i])", f"a: wp.array(dtype={ty})", f"T = {ty}\n\n@wp.func\ndef f(v: T) -> T:\n    return v\n")
        yield kernel("i = wp.tid()\nv = T()\na[i] = v", f"a: wp.array(dtype=T)", f"T = {ty}\n")
        yield kernel("i = wp.tid()\nv = T(0)\na[i] = v", f"a: wp.array(dtype=T)", f"T = {ty}\n")
        yield kernel("i = wp.tid()\nv = T(1.5)\na[i] = v", f"a: wp.array(dtype=T)", f"T = {ty}\n")
        yield kernel("i = wp.tid()\nv = a[i]\nw = v\nv = w + w\na[i] = v - w\na[i] += w", f"a: wp.array(dtype={ty})")
        yield kernel("i = wp.tid()\nv = wp.zeros(shape=(3,), dtype=T)\nv[0] = a[i]\na[i] = v[1]", f"a: wp.array(dtype=T)", f"T = {ty}\n")
        yield kernel("i = wp.tid()\nv = a[i]\nfor j in range(n):\n    v = v + a[j]\na[i] = v", f"a: wp.array(dtype={ty}), n: int")
        yield kernel("i = wp.tid()\nif a[i] == b:\n    a[i] = b\nelse:\n    a[i] = -b", f"a: wp.array(dtype={ty}), b: {ty}")
        yield kernel("i = wp.tid()\nprint(a[i])\nprint(b)", f"a: wp.array(dtype={ty}), b: {ty}")
        yield kernel("i = wp.tid()\na[i] = wp.where(n > 1, a[0], b)\na[i] = a[1] if n > 2 else b", f"a: wp.array(dtype={ty}), b: {ty}, n: int")
        yield kernel("i = wp.tid()\nc = C\na[i] = c", f"a: wp.array(dtype={ty})", f"C = wp.constant({ty}(1))\n")
        yield kernel("i = wp.tid()\na[i] = C + C", f"a: wp.array(dtype={ty})", f"C = {ty}(2.5)\n")
        yield kernel("i = wp.tid()\na[i] = f(b)", f"a: wp.array(dtype={ty}), b: {ty}", "from typing import Any\n\n@wp.func\ndef f(v: Any):\n    return v\n")
        yield kernel("i = wp.tid()\na[i] = b", "a: wp.array(dtype=Any), b: Any", "from typing import Any\n") + f"\n\nwp.overload(k, [wp.array(dtype={ty}), {ty}])\n"
        yield kernel("i = wp.tid()\na[i] = a[i]", "a: wp.array(dtype=Any)", "from typing import Any\n") + f"\n\nwp.overload(k, {{\"a\": wp.array(dtype={ty})}})\n"
        for op in ["add", "sub", "min", "max", "exch"]:
            yield kernel(f"i = wp.tid()\nr = wp.atomic_{op}(a, i, b)", f"a: wp.array(dtype={ty}), b: {ty}")
        yield kernel("i = wp.tid()\nr = wp.atomic_cas(a, i, b, b)\nwp.expect_eq(a[i], b)", f"a: wp.array(dtype={ty}), b: {ty}")
        for index in range(2):
            yield kernel(f"i = wp.tid()\nv = b\nv[{index}] = v[0]\nx = b[{index}]\na[i] = v\na[i][{index}] = x", f"a: wp.array(dtype={ty}), b: {ty}")
        yield kernel("i = wp.tid()\nv = b\nv[0] += v[1]\nv[1] -= v[0]\nv[0] *= v[0]\na[i] = v\na[i][0] += v[1]", f"a: wp.array(dtype={ty}), b: {ty}")
        yield kernel("i = wp.tid()\nv = b\nv[n] = v[n]\nx = a[i][n]\nv[0, 1] = v[1, 0]\ny = a[i][0, 1]\na[i][1, 1] = y", f"a: wp.array(dtype={ty}), b: {ty}, n: int")
        yield kernel("i = wp.tid()\nv = b\nx = v.x\nv.y = x\nv.x += x\na[i].y = x\na[i].x += x\na[i].x -= x", f"a: wp.array(dtype={ty}), b: {ty}")
        yield kernel("i = wp.tid()\nv = b\nx = v[0:2]\nv[0:2] = x\ny = v[:1]\nz = v[1:]\nw = v[::-1]\nu = v[-1]\na[i] = v", f"a: wp.array(dtype={ty}), b: {ty}")
    # Casts of everything to everything.
    for to in SCALARS:
        for source in SCALARS:
            yield kernel(f"i = wp.tid()\na[i] = {to}(b[i])\nc = {to}(d)", f"a: wp.array(dtype={to}), b: wp.array(dtype={source}), d: {source}")
        for literal in ["0", "1", "-1", "2.5", "-0.5", "True", "False", "1e-7", "1e20", "255", "3000000000", "NAME", "wp.pi", "COUNT", "0xff", "1e16", "123456789.125"]:
            yield kernel(f"i = wp.tid()\nv = {to}({literal})\na[i] = v", f"a: wp.array(dtype={to})", "NAME = 2.5\nCOUNT = wp.constant(7)\n")
            yield kernel(f"i = wp.tid()\na[i] = {to}({literal}) * {to}(3)\nv = NAME", f"a: wp.array(dtype={to})", "NAME = 2.5\nCOUNT = wp.constant(7)\n")
    # Operators on every scalar type, plain and augmented, on names, elements, components.
    for ty in SCALARS + ["wp.vec3", "wp.mat22", "wp.quat", "wp.transform", "wp.vec2i"]:
        for op in ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "@"]:
            yield kernel(f"i = wp.tid()\nv = a[i] {op} b\na[i] = v {op} v", f"a: wp.array(dtype={ty}), b: {ty}")
            yield kernel(f"i = wp.tid()\nv = b\nv {op}= b\na[i] = v\na[i] {op}= b", f"a: wp.array(dtype={ty}), b: {ty}")
            yield kernel(f"i = wp.tid()\ns = a[i]\ns.f {op}= b\na[i] = s\na[i].f {op}= b", f"a: wp.array(dtype=S), b: {ty}", f"@wp.struct\nclass S:\n    f: {ty}\n")
        for op in ["-", "+", "~", "not "]:
            yield kernel(f"i = wp.tid()\nv = {op}b\nw = {op}a[i]", f"a: wp.array(dtype={ty}), b: {ty}")
        for op in ["<", "<=", "==", "!=", ">", ">="]:
            yield kernel(f"i = wp.tid()\nc = a[i] {op} b\nif b {op} a[i]:\n    a[i] = b\nd = b {op} b {op} a[i]", f"a: wp.array(dtype={ty}), b: {ty}")
        yield kernel("i = wp.tid()\nif b:\n    a[i] = b\nif not b:\n    a[i] = b\nif a[i] and b:\n    return\nwhile b:\n    break", f"a: wp.array(dtype={ty}), b: {ty}")
    # Scalars with compounds.
    for ty in ["wp.vec3", "wp.vec2d", "wp.mat33", "wp.mat22d", "wp.quat", "wp.transform", "wp.spatial_vector", "wp.spatial_matrix", "wp.vec3i"]:
        for s in ["float", "int", "wp.float64"]:
            for e in ["v * s", "s * v", "v / s", "s / v", "v + s", "v % s", "v // s", "2.0 * v", "v * 2", "v / 2.0"]:
                yield kernel(f"i = wp.tid()\nv = a[i]\na[i] = {e}\nw = {e.replace('v', 'a[0]')}", f"a: wp.array(dtype={ty}), s: {s}")
    for left in ["wp.mat33", "wp.mat22", "wp.vec3", "wp.vec2", "wp.types.matrix(shape=(2, 3), dtype=float)", "wp.types.matrix(shape=(3, 2), dtype=float)", "wp.quat", "wp.transform", "wp.mat44", "wp.vec4"]:
        for right in ["wp.mat33", "wp.mat22", "wp.vec3", "wp.vec2", "wp.types.matrix(shape=(2, 3), dtype=float)", "wp.quat", "wp.transform", "wp.mat44", "wp.vec4"]:
            for op in ["*", "@", "+"]:
                yield kernel(f"i = wp.tid()\nv = a {op} b[i]", f"a: {left}, b: wp.array(dtype={right})")
    # Arrays of every rank, by every kind of index.
    for rank in [1, 2, 3, 4]:
        names = ["i", "j", "k", "l"][:rank]
        target = ", ".join(names)
        index = ", ".join(names)
        for annotation in [f"wp.array(dtype=float, ndim={rank})", f"wp.array{rank}d(dtype=float)", f"wp.array{rank}d[float]", f"wp.array(dtype=wp.vec3, ndim={rank})"]:
            yield kernel(f"{target} = wp.tid()\nv = a[{index}]\na[{index}] = v\na[{index}] += v\na[{index}] *= 2.0", f"a: {annotation}")
            yield kernel(f"{target} = wp.tid()\nv = a{''.join(f'[{n}]' for n in names)}\na{''.join(f'[{n}]' for n in names)} = v", f"a: {annotation}")
            yield kernel(f"{target} = wp.tid()\nn = a.shape[0]\nm = a.shape[{rank - 1}]\no[0] = n + m + len(a)", f"a: {annotation}, o: wp.array(dtype=int)")
            yield kernel(f"{target} = wp.tid()\nv = a[i]\nw = a[1:3]\nu = a[-1]\nz = a[::2]\nb = w[0]", f"a: {annotation}")
            yield kernel(f"{target} = wp.tid()\nv = a[i, 1:]\nw = a[:, j]\no[0] = w.shape[0]", f"a: {annotation}, o: wp.array(dtype=int)")
            yield kernel(f"{target} = wp.tid()\no[0] = f(a)", f"a: {annotation}, o: wp.array(dtype=int)", f"@wp.func\ndef f(a: {annotation}):\n    return a.shape[0]\n")
            yield kernel(f"{target} = wp.tid()\ng(a[0])", f"a: {annotation}", f"@wp.func\ndef g(a: wp.array(dtype=float)):\n    a[0] = 1.0\n")
            yield kernel(f"{target} = wp.tid()\nwp.atomic_add(a, {index}, a[{index}])\nr = wp.atomic_max(a, {index}, a[{index}])", f"a: {annotation}")
            yield kernel(f"{target} = wp.tid()\nif a:\n    a[{index}] = a[{index}]", f"a: {annotation}")
        yield kernel(f"{target} = wp.tid()\nx[i] = float({names[-1]})")
    for shape in ["3", "(3,)", "(2, 3)", "(2, 2, 2)", "N", "(N, 2)", "shape=(4,)", "shape=4", "shape=(2, N)"]:
        for ty in ["float", "int", "wp.vec3", "wp.float64", "wp.mat22"]:
            yield kernel(f"i = wp.tid()\nv = wp.zeros({shape}, dtype={ty})\nv[0] = v[1]\nw = v.shape[0]\nx[i] = float(len(v))", head="N = 5\n")
            yield kernel(f"i = wp.tid()\nv = wp.zeros({shape}, dtype={ty})\nfor j in range(n):\n    v[j] = v[0]\nf(v)", head=f"N = wp.constant(5)\n\n@wp.func\ndef f(a: wp.array(dtype={ty})):\n    b = a[0]\n")
            yield kernel(f"i = wp.tid()\nv = wp.zeros({shape}, dtype={ty})\nv[0, 1] = v[1, 0]\nv[i, i] += v[1, 0]", head="N = 5\n")


def program(*parts):
    return "import warp as wp\n" + "\n\n".join(parts) + "\n"


HAND = open(__file__.replace("feature_sweep.py", "feature_programs.txt")).read().split("\n=====\n")


def main():
    number = 0
    for source in HAND:
        record(f"hand.{number}", source.strip("\n") + "\n")
        number += 1
    for source in cases():
        record(f"feature.{number}", source)
        number += 1


main()
