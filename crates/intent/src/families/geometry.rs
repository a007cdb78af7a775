//! Geometry: points, planes and shapes, with coordinates in arrays of their own.

use super::skeletons::pointwise::Pointwise;
use super::vocabulary::{FACTORS, FRACTIONS};
use crate::axis::{Axis, Choice};
use crate::family::{Contents, Family, Group};

const GROUP: Group = Group::Geometry;
const PLANE: &[(&str, Contents)] = &[("px", Contents::Any), ("py", Contents::Any)];
const SPACE: &[(&str, Contents)] = &[
    ("px", Contents::Any),
    ("py", Contents::Any),
    ("pz", Contents::Any),
];

/// Turns round the origin: of `a` and `b`, the first coordinate.
const TURNS: &[Choice] = &[
    turn(
        "steep",
        "the angle with cosine 0.6 and sine 0.8",
        "0.6 * a - 0.8 * b",
    ),
    turn(
        "shallow",
        "the angle with cosine 0.8 and sine 0.6",
        "0.8 * a - 0.6 * b",
    ),
    turn(
        "backward",
        "the angle with cosine -0.6 and sine 0.8",
        "-0.6 * a - 0.8 * b",
    ),
    turn(
        "wide",
        "the angle with cosine 0.28 and sine 0.96",
        "0.28 * a - 0.96 * b",
    ),
    turn(
        "narrow",
        "the angle with cosine 0.96 and sine 0.28",
        "0.96 * a - 0.28 * b",
    ),
    turn(
        "clockwise",
        "the angle with cosine 0.96 and sine -0.28",
        "0.96 * a + 0.28 * b",
    ),
    turn("quarter", "a quarter turn to the left", "-b"),
];

const fn turn(name: &'static str, words: &'static str, formula: &'static str) -> Choice {
    Choice {
        name,
        words,
        formula: Some((&["a", "b"], formula)),
        parts: &[],
    }
}

const NORMS: &[Choice] = &[
    norm(
        "euclidean",
        "the Euclidean length of",
        "sqrt(x * x + y * y + z * z)",
    ),
    norm(
        "city",
        "the city-block length (sum of absolute coordinates) of",
        "abs(x) + abs(y) + abs(z)",
    ),
    norm(
        "chessboard",
        "the chessboard length (largest absolute coordinate) of",
        "max(max(abs(x), abs(y)), abs(z))",
    ),
    norm(
        "squared",
        "the squared Euclidean length of",
        "x * x + y * y + z * z",
    ),
];

const fn norm(name: &'static str, words: &'static str, formula: &'static str) -> Choice {
    Choice {
        name,
        words,
        formula: Some((&["x", "y", "z"], formula)),
        parts: &[],
    }
}

pub(crate) fn families() -> Vec<Family> {
    let families = [
        Pointwise {
            name: "length",
            group: GROUP,
            title: "$norm.name_length_$f.name",
            axes: vec![Axis::options("norm", NORMS), Axis::chain("f")],
            inputs: SPACE,
            outputs: &["out"],
            steps: &[
                ("x", "px"),
                ("y", "py"),
                ("z", "pz"),
                ("v", "$norm(x, y, z)"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "For each vector (px, py, pz), take $norm.words it; then $f.words.",
                "Let l be $norm.words (px[i], py[i], pz[i]). `out[i]` is $f.of(l).",
                "Measure $norm.words every vector, whose coordinates are in three arrays, and map it: $f.words.",
            ],
        },
        Pointwise {
            name: "plane_distance",
            group: GROUP,
            title: "plane_distance_$f.name",
            axes: vec![
                Axis::constants("a", FRACTIONS),
                Axis::constants("b", FACTORS),
                Axis::constants("d", FACTORS),
                Axis::function("f"),
            ],
            inputs: SPACE,
            outputs: &["out"],
            steps: &[
                ("v", "$a * px + $b * py + pz - $d"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "On which side of the plane $a x + $b y + z = $d is each point, and how far in the units of the equation? Take $a * px + $b * py + pz - $d, then $f.words.",
                "`out[i]` is $f.of($a * px[i] + $b * py[i] + pz[i] - $d).",
                "Evaluate the plane equation with normal ($a, $b, 1) and offset $d at every point; on each value, $f.words.",
            ],
        },
        Pointwise {
            name: "ball_distance",
            group: GROUP,
            title: "ball_distance_$f.name",
            axes: vec![
                Axis::constants("radius", FACTORS),
                Axis::constants("center", FACTORS),
                Axis::chain("f"),
            ],
            inputs: SPACE,
            outputs: &["out"],
            steps: &[
                ("x", "px - $center"),
                ("y", "py"),
                ("z", "pz"),
                ("v", "sqrt(x * x + y * y + z * z) - $radius"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "The signed distance of each point to a ball of radius $radius around ($center, 0, 0), negative inside; then $f.words.",
                "Let d = |p - ($center, 0, 0)| - $radius. `out[i]` is $f.of(d).",
                "Evaluate the distance field of a ball (centre ($center, 0, 0), radius $radius) at every point, and map it: $f.words.",
            ],
        },
        Pointwise {
            name: "box_distance",
            group: GROUP,
            title: "box_distance_$f.name",
            axes: vec![
                Axis::constants("width", FACTORS),
                Axis::constants("height", FACTORS),
                Axis::function("f"),
            ],
            inputs: PLANE,
            outputs: &["out"],
            steps: &[
                ("x", "abs(px) - $width"),
                ("y", "abs(py) - $height"),
                (
                    "outside",
                    "sqrt(max(x, 0) * max(x, 0) + max(y, 0) * max(y, 0))",
                ),
                ("v", "outside + min(max(x, y), 0)"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "The signed distance of each point (px, py) to a rectangle around the origin with half width $width and half height $height, negative inside; then $f.words.",
                "With x = |px| - $width and y = |py| - $height, let d = length of (max(x, 0), max(y, 0)) plus min(max(x, y), 0). `out[i]` is $f.of(d).",
                "Evaluate the distance field of an axis-aligned rectangle (half sizes $width and $height) at every point, and map it: $f.words.",
            ],
        },
        Pointwise {
            name: "rotation",
            group: GROUP,
            title: "rotation_$turn.name_$f.name_$g.name",
            axes: vec![
                Axis::options("turn", TURNS),
                Axis::function("f"),
                Axis::function("g"),
            ],
            inputs: PLANE,
            outputs: &["qx", "qy"],
            steps: &[
                ("x", "px"),
                ("y", "py"),
                ("opposite", "-x"),
                ("u", "$turn(x, y)"),
                ("w", "$turn(y, opposite)"),
                ("qx", "$f(u)"),
                ("qy", "$g(w)"),
            ],
            phrasings: &[
                "Turn each point (px, py) round the origin by $turn.words. Of the new first coordinate write to `qx`: $f.of(it); of the second write to `qy`: $g.of(it).",
                "Let (u, w) be (px, py) rotated by $turn.words. `qx` is $f.of(u), and `qy` is $g.of(w).",
                "A rotation of the plane by $turn.words, followed by a map of the first coordinate ($f.words) and one of the second ($g.words).",
            ],
        },
        Pointwise {
            name: "triangle_area",
            group: GROUP,
            title: "triangle_area_$f.name",
            axes: vec![Axis::constants("weight", FACTORS), Axis::chain("f")],
            inputs: &[
                ("ax", Contents::Any),
                ("ay", Contents::Any),
                ("bx", Contents::Any),
                ("by", Contents::Any),
            ],
            outputs: &["out"],
            steps: &[
                ("v", "$weight * 0.5 * (ax * by - ay * bx)"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Two edges (ax, ay) and (bx, by) leave one corner of a triangle. Take its signed area times $weight, then $f.words.",
                "Let s = $weight * (ax * by - ay * bx) / 2. `out[i]` is $f.of(s).",
                "Half of the cross product of two edge vectors, weighted with $weight; on each signed area, $f.words.",
            ],
        },
    ];
    families.into_iter().map(Pointwise::family).collect()
}
