//! Stencils: an element and its neighbours, on a line or in a grid.

use super::skeletons::stencil::Stencil;
use super::vocabulary::{FRACTIONS, TIME_STEPS};
use crate::axis::{Axis, Choice};
use crate::family::{Family, Group};

const TAPS: &[Choice] = &[
    taps(
        "smoothed",
        "0.25 times the left neighbour plus 0.5 times the element plus 0.25 times the right neighbour",
        "0.25 * l + 0.5 * c + 0.25 * r",
    ),
    taps(
        "slope",
        "half of the right neighbour minus the left one",
        "0.5 * (r - l)",
    ),
    taps(
        "curvature",
        "the left neighbour minus twice the element plus the right neighbour",
        "l - 2 * c + r",
    ),
    taps(
        "backward_difference",
        "the element minus its left neighbour",
        "c - l",
    ),
    taps(
        "forward_difference",
        "the right neighbour minus the element",
        "r - c",
    ),
    taps(
        "peak",
        "the largest of the element and its two neighbours",
        "max(c, max(l, r))",
    ),
    taps(
        "valley",
        "the smallest of the element and its two neighbours",
        "min(c, min(l, r))",
    ),
    taps(
        "median",
        "the median of the element and its two neighbours",
        "max(min(l, c), min(max(l, c), r))",
    ),
    taps(
        "sharpened",
        "twice the element minus half of the sum of its neighbours",
        "2 * c - 0.5 * (l + r)",
    ),
];

const fn taps(name: &'static str, words: &'static str, formula: &'static str) -> Choice {
    Choice {
        name,
        words,
        formula: Some((&["l", "c", "r"], formula)),
        parts: &[],
    }
}

pub(crate) fn families() -> Vec<Family> {
    let families = [
        Stencil {
            name: "line_stencil",
            group: Group::Stencils,
            title: "$f.name_$taps.name",
            axes: vec![Axis::options("taps", TAPS), Axis::chain("f")],
            rank: 1,
            beside: &[],
            steps: &[("v", "$taps(l1, c, r1)"), ("v", "$f(v)")],
            phrasings: &[
                "For each element of `x`, form $taps.words; then $f.words. At the ends, $edge.words.",
                "`out[i]` is $f.of(s), where s is $taps.words, around `x[i]`. Beyond the ends of `x`, $edge.words.",
                "Slide a window of three over `x`: $taps.words. Map each result: $f.words. In the window, $edge.words.",
            ],
        },
        Stencil {
            name: "wide_stencil",
            group: Group::Stencils,
            title: "wide_$f.name",
            axes: vec![
                Axis::constants("near", FRACTIONS),
                Axis::constants("far", &[0.0625, 0.125, 0.25, 0.3125]),
                Axis::function("f"),
            ],
            rank: 1,
            beside: &[],
            steps: &[
                ("v", "c + $near * (l1 + r1) + $far * (l2 + r2)"),
                ("v", "$f(v)"),
            ],
            phrasings: &[
                "For each element add $near times the sum of its two direct neighbours and $far times the sum of the two behind them; then $f.words. At the ends, $edge.words.",
                "Let s = x[i] + $near * (x[i-1] + x[i+1]) + $far * (x[i-2] + x[i+2]), where $edge.words. `out[i]` is $f.of(s).",
                "A symmetric window of five with the weights $far, $near, 1, $near, $far; then $f.words. Outside of `x`, $edge.words.",
            ],
        },
        Stencil {
            name: "heat_step",
            group: Group::Stencils,
            title: "heat_step_$f.name",
            axes: vec![
                Axis::constants("rate", &[0.03125, 0.0625, 0.125, 0.1875, 0.25]),
                Axis::function("f"),
            ],
            rank: 2,
            beside: &["source"],
            steps: &[
                ("flow", "n + s + w + e - 4 * c"),
                ("gain", "source"),
                ("gain", "$f(gain)"),
                ("v", "c + $rate * flow + gain"),
            ],
            phrasings: &[
                "One explicit step of heat flow on a grid: add $rate times (the sum of the four neighbours minus four times the element), and add the source, which is $f.of(`source[i, j]`). At the border, $edge.words.",
                "Let L be the five-point Laplacian of `x`, where $edge.words. `out` = x + $rate * L + g, and g is $f.of(`source[i, j]`).",
                "Diffuse the grid `x` for one step at rate $rate with the four direct neighbours ($edge.words). To each element add a source term: $f.of(its element of `source`).",
            ],
        },
        Stencil {
            name: "wave_step",
            group: Group::Physics,
            title: "wave_step_$f.name",
            axes: vec![
                Axis::constants("speed", &[0.0625, 0.125, 0.1875, 0.25, 0.375]),
                Axis::constants("damping", TIME_STEPS),
                Axis::function("f"),
            ],
            rank: 2,
            beside: &["before"],
            steps: &[
                ("pull", "n + s + w + e - 4 * c"),
                ("v", "c + (1 - $damping) * (c - before) + $speed * pull"),
                ("v", "$f(v)"),
            ],
            phrasings: &[
                "One step of the wave equation on a grid. `x` is the height now and `before` the height one step earlier. The new height is x + (1 - $damping) * (x - before) + $speed * (sum of the four neighbours - 4 x); then $f.words. At the border, $edge.words.",
                "Let h = x + (1 - $damping) * (x - before) + $speed * L, with L the five-point Laplacian of `x`, where $edge.words. `out` is $f.of(h).",
                "Advance a damped wave (damping $damping, squared Courant number $speed) by one step from `before` and `x`; then $f.words. For neighbours beyond the border, $edge.words.",
            ],
        },
        Stencil {
            name: "upwind_step",
            group: Group::Physics,
            title: "upwind_step_$f.name",
            axes: vec![Axis::constants("step", TIME_STEPS), Axis::function("f")],
            rank: 1,
            beside: &["wind"],
            steps: &[
                ("u", "wind"),
                ("u", "$f(u)"),
                ("back", "c - l1"),
                ("ahead", "r1 - c"),
                ("v", "c - $step * (max(u, 0) * back + min(u, 0) * ahead)"),
            ],
            phrasings: &[
                "Transport `x` by one upwind step of length $step. The wind u is $f.of(`wind[i]`). Where u is positive the difference to the left neighbour counts, where it is negative the difference to the right one. At the ends, $edge.words.",
                "With u being $f.of(`wind[i]`): out[i] = x[i] - $step * (max(u, 0) * (x[i] - x[i-1]) + min(u, 0) * (x[i+1] - x[i])), where $edge.words.",
                "First-order upwind advection with time step $step. Before use, take the wind and $f.words. Beyond the ends, $edge.words.",
            ],
        },
    ];
    families.into_iter().map(Stencil::family).collect()
}
