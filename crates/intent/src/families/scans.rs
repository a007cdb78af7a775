//! Scans: each result of a row follows from the one before.

use super::skeletons::recurrence::Recurrence;
use super::vocabulary::FRACTIONS;
use crate::axis::Axis;
use crate::family::{Family, Group};

const LEAST: [&str; 2] = ["-3.402823466e+38", "-3.402823466e+38f"];
const MOST: [&str; 2] = ["3.402823466e+38", "3.402823466e+38f"];
const ZERO: [&str; 2] = ["0.0", "0.0f"];

pub(crate) fn families() -> Vec<Family> {
    let families = [
        Recurrence {
            name: "running_sum",
            group: Group::Scans,
            title: "running_sum_of_$f.name_$h.name",
            axes: vec![Axis::chain("f"), Axis::function("h")],
            before: &[("v", "x"), ("v", "$f(v)")],
            join: "p + q",
            keep: "1",
            start: ZERO,
            after: &[("v", "$h(v)")],
            backwards: false,
            phrasings: &[
                "Along each row of `x`, keep the running sum (each element included) after this map: $f.words. Of each sum, write: $h.of(the sum).",
                "Let s[i, j] be the sum over t from 0 to j of $f.of(`x[i, t]`). `out[i, j]` is $h.of(s[i, j]).",
                "An inclusive prefix sum of every row: map the elements ($f.words), add them up from left to right, and at each place $h.words before storing it.",
            ],
        },
        Recurrence {
            name: "suffix_sum",
            group: Group::Scans,
            title: "suffix_sum_of_$f.name",
            axes: vec![Axis::chain("f")],
            before: &[("v", "x"), ("v", "$f(v)")],
            join: "p + q",
            keep: "1",
            start: ZERO,
            after: &[],
            backwards: true,
            phrasings: &[
                "For each place of a row, add up everything from there to the end of the row, after this map: $f.words.",
                "`out[i, j]` is the sum over t >= j of $f.of(`x[i, t]`).",
                "A prefix sum of every row from right to left, each element included. Before adding an element, $f.words.",
            ],
        },
        Recurrence {
            name: "running_maximum",
            group: Group::Scans,
            title: "running_maximum_of_$f.name_$h.name",
            axes: vec![Axis::function("f"), Axis::function("h")],
            before: &[("v", "x"), ("v", "$f(v)")],
            join: "max(p, q)",
            keep: "1",
            start: LEAST,
            after: &[("v", "$h(v)")],
            backwards: false,
            phrasings: &[
                "Along each row, keep the largest value so far, after this map of the elements: $f.words. Of each maximum, write: $h.of(the maximum).",
                "Let m[i, j] be the maximum over t <= j of $f.of(`x[i, t]`). `out[i, j]` is $h.of(m[i, j]).",
                "A running maximum of every row from left to right. Before comparing an element, $f.words. Before storing a maximum, $h.words.",
            ],
        },
        Recurrence {
            name: "remaining_minimum",
            group: Group::Scans,
            title: "remaining_minimum_of_$f.name_$h.name",
            axes: vec![Axis::function("f"), Axis::function("h")],
            before: &[("v", "x"), ("v", "$f(v)")],
            join: "min(p, q)",
            keep: "1",
            start: MOST,
            after: &[("v", "$h(v)")],
            backwards: true,
            phrasings: &[
                "For each place of a row find the smallest value from there to the end, after this map of the elements: $f.words. Of each minimum, write: $h.of(the minimum).",
                "Let m[i, j] be the minimum over t >= j of $f.of(`x[i, t]`). `out[i, j]` is $h.of(m[i, j]).",
                "A running minimum of every row from right to left. Before comparing an element, $f.words. Before storing a minimum, $h.words.",
            ],
        },
        Recurrence {
            name: "one_pole_filter",
            group: Group::Audio,
            title: "one_pole_filter_$f.name_$h.name",
            axes: vec![
                Axis::constants("keep", FRACTIONS),
                Axis::function("f"),
                Axis::function("h"),
            ],
            before: &[("v", "x"), ("v", "$f(v)"), ("v", "(1 - $keep) * v")],
            join: "p + q",
            keep: "$keep",
            start: ZERO,
            after: &[("v", "$h(v)")],
            backwards: false,
            phrasings: &[
                "Each row of `x` is a signal. Smooth it with a one-pole low-pass filter that starts at 0: the state becomes $keep times itself plus (1 - $keep) times the sample, where the sample is first mapped ($f.words). Output is $h.of(the state).",
                "y[j] = $keep * y[j-1] + (1 - $keep) * u[j] along each row with y = 0 before it, and u[j] is $f.of(`x[i, j]`). `out[i, j]` is $h.of(y[j]).",
                "An exponential moving average of every row, which keeps $keep of its past. Before averaging, take a sample and $f.words; before storing an average, $h.words.",
            ],
        },
        Recurrence {
            name: "leaky_integrator",
            group: Group::Audio,
            title: "leaky_integrator_$f.name",
            axes: vec![Axis::constants("keep", FRACTIONS), Axis::chain("f")],
            before: &[("v", "x"), ("v", "$f(v)")],
            join: "p + q",
            keep: "$keep",
            start: ZERO,
            after: &[],
            backwards: false,
            phrasings: &[
                "Integrate each row with a leak: the state, 0 at first, becomes $keep times itself plus the sample, where a sample is first mapped ($f.words). Write the state at every place.",
                "out[i, j] = $keep * out[i, j-1] + u, with out = 0 before the row, and u is $f.of(`x[i, j]`).",
                "A discounted running sum of every row with the factor $keep. Before adding a sample, $f.words.",
            ],
        },
        Recurrence {
            name: "peak_envelope",
            group: Group::Audio,
            title: "peak_envelope_$h.name",
            axes: vec![
                Axis::constants("keep", FRACTIONS),
                Axis::constants("gain", &[0.5, 1.5, 2.0, 3.0]),
                Axis::function("h"),
            ],
            before: &[("v", "x"), ("v", "$gain * abs(v)")],
            join: "max(p, q)",
            keep: "$keep",
            start: ZERO,
            after: &[("v", "$h(v)")],
            backwards: false,
            phrasings: &[
                "Follow the peaks of each row: the envelope, 0 at first, is the larger of $keep times itself and $gain times the absolute sample. Output is $h.of(the envelope).",
                "e[j] = max($keep * e[j-1], $gain * |x[i, j]|) along each row with e = 0 before it. `out[i, j]` is $h.of(e[j]).",
                "A peak follower with instant attack and release factor $keep on the rectified signal times $gain. Before storing the envelope, $h.words.",
            ],
        },
    ];
    families.into_iter().map(Recurrence::family).collect()
}
