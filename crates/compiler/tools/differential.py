#!/usr/bin/env python3
"""Generates kernels and what Warp makes of them, as a suite for `cargo xtask conformance --suite`.

    target/oracle/warp/bin/python crates/compiler/tools/differential.py COUNT SEED > /tmp/suite.jsonl
    cargo xtask conformance --suite /tmp/suite.jsonl

The Python needs warp-lang 1.19.0. A kernel that Warp rejects has empty
texts, so accepting it counts as wrong: the two must agree on what is a program.
"""
import json
import random
import sys

from warp_text import suite_row

HEAD = '''import warp as wp

GAIN = wp.constant(2.5)
STEPS = 3
OFFSET = wp.vec3(0.1, 0.2, 0.3)


@wp.struct
class Body:
    pos: wp.vec3
    mass: float
    tag: int


@wp.func
def scale(v: wp.vec3, s: float = 2.0):
    return v * s


@wp.func
def split(x: float):
    if x > 1.0:
        return x, -x
    return wp.sin(x), wp.cos(x)


@wp.func
def pick(b: Body, k: int) -> float:
    if k == 0:
        return b.mass
    return b.pos[k]


'''
PARAMS = ("x: wp.array(dtype=float), y: wp.array2d(dtype=float), n: wp.array(dtype=int), "
          "p: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat33), bs: wp.array(dtype=Body), "
          "s: float, k: int, g: Body, d: wp.array(dtype=wp.float64)")


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.vars = {"f": ["s"], "i": ["i", "k"], "v": [], "m": [], "b": ["g"], "t": []}
        self.fresh = 0

    def pick(self, *options):
        return self.rng.choice(options)

    def expr(self, kind, depth):
        r = self.rng
        if depth <= 0 or r.random() < 0.25:
            return self.leaf(kind)
        e = lambda k: self.expr(k, depth - 1)  # noqa: E731
        if kind == "f":
            return self.pick(
                lambda: f"{e('f')} {self.pick('+', '-', '*', '/')} {e('f')}",
                lambda: f"({e('f')} {self.pick('+', '-', '*')} {e('f')})",
                lambda: f"wp.{self.pick('sin', 'sqrt', 'exp', 'abs', 'floor', 'tanh')}({e('f')})",
                lambda: f"wp.{self.pick('min', 'max', 'atan2', 'pow')}({e('f')}, {e('f')})",
                lambda: f"float({e('i')})",
                lambda: f"wp.dot({e('v')}, {e('v')})",
                lambda: f"wp.length({e('v')})",
                lambda: f"-{self.leaf('f')}",
                lambda: f"({e('f')} if {e('c')} else {e('f')})",
                lambda: f"wp.clamp({e('f')}, {e('f')}, GAIN)",
                lambda: f"pick({self.pick(*self.vars['b'])}, {e('i')})",
                lambda: f"wp.where({e('c')}, {e('f')}, {e('f')})",
            )()
        if kind == "i":
            return self.pick(
                lambda: f"{e('i')} {self.pick('+', '-', '*', '//', '%', '&', '|', '^', '<<', '>>')} {self.leaf('i')}",
                lambda: f"int({e('f')})",
                lambda: f"wp.{self.pick('min', 'max')}({e('i')}, {e('i')})",
                lambda: f"~{self.leaf('i')}",
                lambda: "y.shape[1]",
                lambda: "len(x)",
                lambda: f"len({self.leaf('v')})",
            )()
        if kind == "v":
            return self.pick(
                lambda: f"{e('v')} {self.pick('+', '-')} {e('v')}",
                lambda: f"{self.leaf('v')} * {e('f')}",
                lambda: f"{self.leaf('f')} * {e('v')}",
                lambda: f"wp.vec3({e('f')}, {e('f')}, {e('f')})",
                lambda: f"wp.normalize({e('v')})",
                lambda: f"wp.cross({e('v')}, {e('v')})",
                lambda: f"{e('m')} * {self.leaf('v')}",
                lambda: f"scale({e('v')})",
                lambda: f"scale({e('v')}, s={e('f')})",
                lambda: f"{e('m')}[{self.pick(0, 1, 2)}]",
            )()
        if kind == "m":
            return self.pick(
                lambda: f"{self.leaf('m')} {self.pick('+', '-', '@', '*')} {e('m')}",
                lambda: f"wp.transpose({e('m')})",
                lambda: "wp.identity(n=3, dtype=float)",
                lambda: f"wp.diag({e('v')})",
                lambda: f"wp.outer({e('v')}, {e('v')})",
                lambda: f"wp.matrix_from_rows({e('v')}, {e('v')}, {e('v')})",
            )()
        if kind == "c":
            return self.pick(
                lambda: f"{e('f')} {self.pick('<', '>', '<=', '>=', '==', '!=')} {e('f')}",
                lambda: f"{e('i')} {self.pick('<', '>', '==')} {e('i')}",
                lambda: f"{e('c')} {self.pick('and', 'or')} {e('c')}",
                lambda: f"not {e('c')}",
                lambda: f"0 < {self.leaf('i')} < {self.leaf('i')}",
            )()
        return self.leaf(kind)

    def leaf(self, kind):
        r = self.rng
        names = self.vars.get(kind, [])
        if names and r.random() < 0.5:
            return r.choice(names)
        if kind == "f":
            return self.pick("x[i]", "y[i, k]", "y[i][0]", f"{r.randint(0, 9)}.{r.randint(0, 99)}", "GAIN", "wp.pi",
                             "p[i].x", "p[i][1]", "m[i][0, 1]", "g.mass", "bs[i].mass", "bs[i].pos.y", "OFFSET[0]",
                             "1e-7", "1.0", "OFFSET.z", "g.pos[2]")
        if kind == "i":
            return self.pick("n[i]", str(r.randint(0, 40)), "STEPS", "i", "k", "n[k]", "bs[k].tag", "-3")
        if kind == "v":
            return self.pick("p[i]", "OFFSET", "g.pos", "bs[i].pos", "wp.vec3()", "wp.vec3(1.0)", "m[i][1]")
        if kind == "m":
            return self.pick("m[i]", "wp.mat33(1.0)", "m[0]")
        if kind == "b":
            return "g"
        return self.pick("x[i] > 0.5", "n[i] == 2", "True", "k > 1")

    def name(self, kind):
        self.fresh += 1
        return f"{kind}{self.fresh}"

    def block(self, depth, loop, size):
        saved = {k: list(v) for k, v in self.vars.items()}
        lines = [line for _ in range(self.rng.randint(1, size)) for line in self.statement(depth, loop)]
        self.vars = saved
        return ["    " + line for line in lines]

    def statement(self, depth, loop):
        r = self.rng
        kind = self.pick("f", "f", "i", "v", "m")
        choice = r.random()
        if choice < 0.28:
            name = self.name(kind)
            value = self.expr(kind, 2)
            if kind in "fi" and r.random() < 0.4:
                value = f"{'float' if kind == 'f' else 'int'}({value})"
            self.vars[kind].append(name)
            return [f"{name} = {value}"]
        if choice < 0.42:
            old = [v for v in self.vars[kind] if v[1:].isdigit()]
            if old:
                target = r.choice(old)
                op = self.pick("=", "+=", "-=") if kind != "m" else "="
                return [f"{target} {op} {self.expr(kind, 2)}"]
        if choice < 0.62:
            return [self.pick(
                lambda: f"x[i] {self.pick('=', '+=', '-=', '*=')} {self.expr('f', 2)}",
                lambda: f"y[i, k] {self.pick('=', '+=', '/=')} {self.expr('f', 2)}",
                lambda: f"n[i] {self.pick('=', '+=', '|=', '^=')} {self.expr('i', 2)}",
                lambda: f"p[i] {self.pick('=', '+=')} {self.expr('v', 2)}",
                lambda: f"p[i].{self.pick('x', 'y')} {self.pick('=', '+=')} {self.expr('f', 1)}",
                lambda: f"p[i][{self.pick('0', 'k')}] {self.pick('=', '-=')} {self.expr('f', 1)}",
                lambda: f"m[i][1, 2] = {self.expr('f', 1)}",
                lambda: f"m[i][1] = {self.expr('v', 1)}",
                lambda: f"bs[i].mass {self.pick('=', '+=')} {self.expr('f', 1)}",
                lambda: f"bs[i].pos = {self.expr('v', 1)}",
                lambda: f"bs[i].pos.z = {self.expr('f', 1)}",
                lambda: f"wp.atomic_add(x, {self.expr('i', 1)}, {self.expr('f', 1)})",
                lambda: f"d[i] = wp.float64({self.pick('0.1', '3', 'x[i]', 'GAIN')})",
                lambda: f"g.mass = {self.expr('f', 1)}",
                lambda: f"print({self.expr('f', 1)})",
            )()]
        if choice < 0.68:
            a, b = self.name("f"), self.name("f")
            line = f"{a}, {b} = split({self.expr('f', 1)})"
            self.vars["f"] += [a, b]
            return [line]
        if choice < 0.72 and [v for v in self.vars["v"] if v[1:].isdigit()]:
            v = r.choice([v for v in self.vars["v"] if v[1:].isdigit()])
            return [self.pick(f"{v}[1] = {self.expr('f', 1)}", f"{v}.x += {self.expr('f', 1)}",
                              f"{v}[k] += {self.expr('f', 1)}")]
        if depth <= 0:
            return [self.pick("pass", "return")] if r.random() < 0.3 else [f"x[k] = {self.expr('f', 1)}"]
        if choice < 0.84:
            lines = [f"if {self.expr('c', 2)}:"] + self.block(depth - 1, loop, 3)
            if r.random() < 0.3:
                lines += [f"elif {self.expr('c', 1)}:"] + self.block(depth - 1, loop, 2)
            if r.random() < 0.5:
                lines += ["else:"] + self.block(depth - 1, loop, 3)
            return lines
        if choice < 0.95:
            name = self.name("i")
            bounds = self.pick("3", "STEPS", "2, 5", "5, 0, -2", "20", "0, 40, 3", "k", "1, n[i]", "i, k, 2", "n[i]")
            self.vars["i"].append(name)
            lines = [f"for {name} in range({bounds}):"] + self.block(depth - 1, True, 3)
            if r.random() < 0.35:
                lines += [f"    if {self.expr('c', 1)}:", f"        {self.pick('break', 'continue')}"]
                lines += self.block(0, True, 1)
            return lines
        c = self.name("i")
        lines = [f"{c} = int(0)"]
        self.vars["i"].append(c)
        return lines + [f"while {c} < k:"] + self.block(depth - 1, True, 2) + [f"    {c} += 1"]


def program(rng):
    maker = Maker(rng)
    body = ["i = wp.tid()"] + [line for _ in range(rng.randint(2, 9)) for line in maker.statement(2, False)]
    options = rng.choice(["", "", "", "(enable_backward=False)"])
    return HEAD + f"@wp.kernel{options}\ndef k{rng.randint(0, 99)}({PARAMS}):\n" + "".join(f"    {line}\n" for line in body)


def main():
    rng = random.Random(int(sys.argv[2]))
    for number in range(int(sys.argv[1])):
        print(json.dumps(suite_row(str(number), program(rng))))


main()
