#!/usr/bin/env python3
"""Calls every builtin over every kind of type, in every way that a call is written, and records what Warp
makes of it: a suite for `cargo xtask conformance --suite`.

    target/oracle/warp/bin/python crates/compiler/tools/builtin_sweep.py BUILTINS.json SEED \
        > /tmp/sweep.jsonl

A kernel that Warp rejects has empty texts, so accepting it counts as wrong.
"""
import json
import random
import re
import sys

from warp_text import suite_row

SCALARS = {"b": "wp.bool", "i1": "wp.int8", "i2": "wp.int16", "i4": "int", "i8": "wp.int64", "u1": "wp.uint8",
           "u2": "wp.uint16", "u4": "wp.uint32", "u8": "wp.uint64", "f2": "wp.float16", "f4": "float",
           "f8": "wp.float64", "bf2": "wp.bfloat16"}
FAMILIES = {"s?": list(SCALARS)[1:], "f?": ["f2", "f4", "f8", "bf2"],
            "i?": ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]}


class Choice:
    """One concrete choice for the generic parts of a signature."""

    def __init__(self, rng, consistent):
        self.rng, self.consistent, self.made = rng, consistent, {}

    def take(self, key, options):
        if not self.consistent:
            return self.rng.choice(options)
        if key not in self.made:
            self.made[key] = self.rng.choice(options)
        return self.made[key]

    def scalar(self, code):
        if code in FAMILIES:
            return self.take("s", FAMILIES[code])
        return code

    def type(self, code):
        """The annotation of a type code, or None where the sweep does not go."""
        rng = self.rng
        if code == "?":
            return self.type(self.take("?", ["f4", "i4", "v3f4", "m33f4", "qf4", "f8", "u1", "b", "v2i4", "tf4"]))
        if code in SCALARS or code in FAMILIES:
            scalar = self.scalar(code)
            name = SCALARS[scalar]
            return rng.choice(["wp.float32", "float"]) if scalar == "f4" else name
        if m := re.fullmatch(r"v(\d|\?)(.+)", code):
            length = self.take("n", [2, 3, 4, 5, 6]) if m[1] == "?" else int(m[1])
            scalar = SCALARS[self.scalar(m[2])]
            short = {"float": "", "wp.float64": "d", "wp.float16": "h", "int": "i", "wp.uint8": "ub"}
            if length <= 4 and scalar in short and rng.random() < 0.7:
                return f"wp.vec{length}{short[scalar]}"
            return f"wp.types.vector(length={length}, dtype={scalar})"
        if m := re.fullmatch(r"m(\d|\?)(\d|\?)(.+)", code):
            rows = self.take("n", [2, 3, 4, 5]) if m[1] == "?" else int(m[1])
            cols = rows if m[2] == "?" and rng.random() < 0.6 else self.take("c", [2, 3, 4]) if m[2] == "?" else int(m[2])
            scalar = SCALARS[self.scalar(m[3])]
            short = {"float": "", "wp.float64": "d", "wp.float16": "h"}
            if rows == cols and rows <= 4 and scalar in short and rng.random() < 0.7:
                return f"wp.mat{rows}{cols}{short[scalar]}"
            return f"wp.types.matrix(shape=({rows}, {cols}), dtype={scalar})"
        if m := re.fullmatch(r"q(f2|f4|f8|f\?)", code):
            return {"f2": "wp.quath", "f4": "wp.quat", "f8": "wp.quatd"}.get(self.scalar(m[1]), "wp.quatf")
        if m := re.fullmatch(r"t(f2|f4|f8|f\?)", code):
            return {"f2": "wp.transformh", "f4": "wp.transform", "f8": "wp.transformd"}.get(self.scalar(m[1]), "wp.transformf")
        if m := re.fullmatch(r"a1(.+)", code):
            element = self.type(m[1])
            return f"wp.array(dtype={element})" if element else None
        return None


def literal(annotation, rng):
    return {"float": lambda: rng.choice(["0.5", "1.0", "-2.25", "1e-3", "3.0"]), "int": lambda: rng.choice(["0", "1", "2", "-3"]),
            "wp.float32": lambda: "0.25", "wp.bool": lambda: rng.choice(["True", "False"])}.get(annotation)


def call(name, row, rng):
    choice = Choice(rng, rng.random() < 0.9)
    params, args = [], []
    named = False
    defaults = row.get("defaults", {}) or {}
    for at, (label, code) in enumerate(row["args"].items()):
        if label.startswith("*"):
            continue
        if label in defaults and rng.random() < 0.6:
            named = True
            continue
        if code == "str":
            args.append('"text"')
            continue
        annotation = choice.type(code)
        if annotation is None:
            return None
        is_array = annotation.startswith("wp.array(")
        make = literal(annotation, rng)
        roll = rng.random()
        if make and roll < 0.3:
            value = make()
        elif is_array or roll < 0.65:
            params.append(f"p{at}: {annotation}")
            value = f"p{at}"
        else:
            params.append(f"p{at}: wp.array(dtype={annotation})")
            value = f"p{at}[i]"
        if named or rng.random() < 0.15:
            named = True
            value = f"{label}={value}"
        args.append(value)
    if row.get("variadic"):
        for extra in range(rng.randint(0, 4)):
            annotation = choice.type(rng.choice(["f4", "i4", "v3f4", "f8"]))
            params.append(f"e{extra}: {annotation}")
            args.append(f"e{extra}")
    ret = row.get("ret")
    target = "r"
    if isinstance(ret, list) and len(ret) > 1:
        target = ", ".join(f"r{k}" for k in range(len(ret)))
    prefix = rng.choice(["wp.", "wp.", "wp.", ""])
    expression = f"{prefix}{name}({', '.join(args)})"
    lines = ["i = wp.tid()"]
    if ret is None and row["ret_rule"] == "fixed":
        lines.append(expression)
    else:
        lines.append(f"{target} = {expression}")
        if target == "r" and rng.random() < 0.3:
            lines.append("r = r")
    params.append("o: wp.array(dtype=float)")
    text = "".join(f"    {line}\n" for line in lines)
    return f"import warp as wp\n\n\n@wp.kernel\ndef k({', '.join(params)}):\n{text}"


def record(ident, source):
    print(json.dumps(suite_row(ident, source)))


def main():
    table = json.load(open(sys.argv[1]))
    rng = random.Random(int(sys.argv[2]))
    per_row = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    skipped = ("tile", "bvh", "mesh", "hash_grid", "volume", "texture", "untile", "static", "breakpoint")
    for name, rows in table.items():
        if isinstance(rows, dict) or name.startswith(skipped):
            continue
        for number, row in enumerate(rows):
            for copy in range(per_row if len(rows) < 20 else 1):
                source = call(name, row, rng)
                if source:
                    record(f"{name}.{number}.{copy}", source)


if __name__ == "__main__":
    main()
