#!/usr/bin/env python3
"""Changes the kernels of a suite a little and records what Warp makes of them: a suite for
`cargo xtask conformance --suite`.

    target/oracle/warp/bin/python crates/compiler/tools/suite_variants.py SUITE.jsonl.gz COUNT SEED \
        > /tmp/variants.jsonl

Types, operators, numbers and builtins are exchanged for their like, and lines are dropped, doubled or moved.
A kernel that Warp rejects has empty texts, so accepting it counts as wrong.
"""
import gzip
import json
import random
import re
import sys

from warp_text import suite_row

LAST_TIER = 8
LIKE = [
    ["wp.float16", "wp.float32", "wp.float64", "wp.int8", "wp.int16", "wp.int32", "wp.int64", "wp.uint8", "wp.uint16",
     "wp.uint32", "wp.uint64", "float", "int", "wp.bool"],
    ["wp.vec2", "wp.vec3", "wp.vec4", "wp.vec3d", "wp.vec3h", "wp.vec2i", "wp.spatial_vector", "wp.vec3f"],
    ["wp.mat22", "wp.mat33", "wp.mat44", "wp.mat33d", "wp.mat22h", "wp.spatial_matrix"],
    ["wp.quat", "wp.quatf", "wp.quatd", "wp.quath"],
    ["wp.transform", "wp.transformf", "wp.transformd"],
    ["wp.array(dtype=", "wp.array2d(dtype=", "wp.array3d(dtype=", "wp.array4d(dtype="],
    [" + ", " - ", " * ", " / ", " // ", " % ", " ** ", " @ ", " & ", " | ", " ^ ", " << ", " >> "],
    [" < ", " > ", " <= ", " >= ", " == ", " != "],
    [" and ", " or "],
    [" += ", " -= ", " *= ", " /= ", " = ", " |= ", " &= "],
    ["wp.sin(", "wp.cos(", "wp.abs(", "wp.sqrt(", "wp.floor(", "wp.exp(", "wp.sign(", "-(", "wp.length(", "wp.normalize(",
     "float(", "int(", "wp.float64(", "bool("],
    ["wp.min(", "wp.max(", "wp.pow(", "wp.atan2(", "wp.mod(", "wp.dot(", "wp.cross(", "wp.cw_mul(", "wp.cw_div("],
    ["wp.atomic_add(", "wp.atomic_sub(", "wp.atomic_min(", "wp.atomic_max(", "wp.atomic_exch("],
    ["[0]", "[1]", "[-1]", "[i]", "[tid]", "[0:2]", "[1, 0]", ".x", ".y"],
    ["True", "False"],
]
WORDS = {word: [w for w in group if w != word] for group in LIKE for word in group}
PATTERN = re.compile("|".join(sorted((re.escape(w) for w in WORDS), key=len, reverse=True)) + r"|(?<![\w.])\d+\.?\d*(?![\w.])")


def exchange(text, rng):
    found = list(PATTERN.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    word = match[0]
    if word in WORDS:
        new = rng.choice(WORDS[word])
        # Everywhere, half the time: a type is then still used consistently.
        if rng.random() < 0.5:
            return text.replace(word, new)
    elif "." in word:
        new = rng.choice(["0.0", "1.0", "-2.5", "1e-6", "3", "0.1"])
    else:
        new = rng.choice(["0", "1", "2", "3", "-1", "20", "2.0"])
    return text[: match.start()] + new + text[match.end():]


def move_line(text, rng):
    lines = text.split("\n")
    inside = [n for n, line in enumerate(lines) if line.startswith("    ") and line.strip() and not line.strip().startswith(("def", "@", '"""'))]
    if not inside:
        return text
    at = rng.choice(inside)
    choice = rng.random()
    if choice < 0.3:
        del lines[at]
    elif choice < 0.6:
        lines.insert(at, lines[at])
    elif choice < 0.8:
        lines.insert(rng.choice(inside), lines.pop(at))
    else:
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        head = rng.choice(["if True:", "for extra in range(2):", "for extra in range(20):", "while False:", "if int(1) > 0:"])
        lines[at: at + 1] = [indent + head, "    " + lines[at]]
    return "\n".join(lines)


def main():
    rng = random.Random(int(sys.argv[3]))
    rows = [json.loads(line) for line in gzip.open(sys.argv[1], "rt")]
    sources = [row["source"] for row in rows if int(row["tier"][1:]) <= LAST_TIER]
    for number in range(int(sys.argv[2])):
        source = rng.choice(sources)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            source = exchange(source, rng) if rng.random() < 0.75 else move_line(source, rng)
        print(json.dumps(suite_row(str(number), source)))


main()
