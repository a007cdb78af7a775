//! Audio: samples by themselves, and filters without memory of their results.

use super::skeletons::pointwise::Pointwise;
use super::skeletons::stencil::Stencil;
use super::vocabulary::{FACTORS, FRACTIONS};
use crate::axis::Axis;
use crate::family::{Contents, Family, Group};

const GROUP: Group = Group::Audio;

pub(crate) fn families() -> Vec<Family> {
    let samples = [
        Pointwise {
            name: "mid_side",
            group: GROUP,
            title: "mid_side_$f.name_$g.name",
            axes: vec![
                Axis::constants("width", FACTORS),
                Axis::function("f"),
                Axis::function("g"),
            ],
            inputs: &[("left", Contents::Any), ("right", Contents::Any)],
            outputs: &["new_left", "new_right"],
            steps: &[
                ("m", "0.5 * (left + right)"),
                ("d", "$width * 0.5 * (left - right)"),
                ("mid", "$f(m)"),
                ("side", "$g(d)"),
                ("new_left", "mid + side"),
                ("new_right", "mid - side"),
            ],
            phrasings: &[
                "Change the width of a stereo signal by $width. The middle is half of the sum and the side half of the difference times $width. Map the middle ($f.words) and the side ($g.words); their sum is the new left channel, their difference the new right one.",
                "Let m be $f.of((left + right) / 2) and s be $g.of($width * (left - right) / 2). new_left = m + s, new_right = m - s.",
                "Mid-side processing with width $width. On the middle signal, $f.words; on the side signal, $g.words; then back to left and right.",
            ],
        },
        Pointwise {
            name: "ring_modulation",
            group: GROUP,
            title: "ring_modulation_$f.name",
            axes: vec![
                Axis::constants("rate", TURNS),
                Axis::constants("depth", FRACTIONS),
                Axis::function("f"),
            ],
            inputs: &[
                ("sample", Contents::Any),
                ("phase", Contents::Uniform(0.0, 6.25)),
            ],
            outputs: &["out"],
            steps: &[
                ("carrier", "sin($rate * phase)"),
                ("v", "sample * (1 - $depth + $depth * carrier)"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Ring modulation: multiply each sample by (1 - $depth + $depth * sin($rate * phase[i])). Then $f.words.",
                "`out[i]` is $f.of(sample[i] * (1 - $depth + $depth * sin($rate * phase[i]))).",
                "Modulate the amplitude with a sine of $rate times the phase, at depth $depth; on each sample, $f.words.",
            ],
        },
        Pointwise {
            name: "soft_limiter",
            group: GROUP,
            title: "soft_limiter_$f.name",
            axes: vec![
                Axis::constants("drive", FACTORS),
                Axis::constants("threshold", FRACTIONS),
                Axis::function("f"),
            ],
            inputs: &[
                ("sample", Contents::Any),
                ("gain", Contents::Uniform(0.25, 2.0)),
            ],
            outputs: &["out"],
            steps: &[
                ("v", "$drive * gain * sample"),
                ("size", "abs(v)"),
                (
                    "v",
                    "where(size < $threshold, v, v * ($threshold + (1 - $threshold) * tanh((size - $threshold) / (1 - $threshold))) / max(size, 0.0009765625))",
                ),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Drive each sample by $drive times its gain. Below $threshold it stays; above, its size bends to $threshold + (1 - $threshold) * tanh((size - $threshold) / (1 - $threshold)) and its sign stays. Then $f.words.",
                "With u = $drive * gain[i] * sample[i]: if |u| < $threshold keep u, else replace |u| by $threshold + (1 - $threshold) * tanh((|u| - $threshold) / (1 - $threshold)). `out[i]` is $f.of(the result).",
                "A soft-knee limiter with threshold $threshold and ceiling 1 after a drive of $drive times the gain; on each sample, $f.words.",
            ],
        },
        Pointwise {
            name: "crossfade",
            group: GROUP,
            title: "crossfade_$f.name_$g.name",
            axes: vec![
                Axis::constants("level", FACTORS),
                Axis::function("f"),
                Axis::function("g"),
            ],
            inputs: &[
                ("fading", Contents::Any),
                ("rising", Contents::Any),
                ("fade", Contents::Uniform(0.0, 1.0)),
            ],
            outputs: &["out"],
            steps: &[
                ("a", "$f(fading)"),
                ("b", "$g(rising)"),
                ("out", "$level * (sqrt(1 - fade) * a + sqrt(fade) * b)"),
            ],
            phrasings: &[
                "An equal-power crossfade at level $level: the old signal counts sqrt(1 - fade), the new one sqrt(fade). Before mixing, map the old signal ($f.words) and the new one ($g.words).",
                "With a being $f.of(`fading[i]`) and b being $g.of(`rising[i]`): out[i] = $level * (sqrt(1 - fade[i]) * a + sqrt(fade[i]) * b).",
                "Fade from `fading` to `rising` with constant power, times $level. Treat the old signal like this: $f.words. And the new one like this: $g.words.",
            ],
        },
    ];
    let filters = [Stencil {
        name: "echo_filter",
        group: GROUP,
        title: "echo_filter_$f.name",
        axes: vec![
            Axis::constants("direct", FRACTIONS),
            Axis::constants("near", FRACTIONS),
            Axis::constants("far", FRACTIONS),
            Axis::function("f"),
        ],
        rank: 1,
        beside: &[],
        steps: &[
            ("v", "$direct * c + $near * l1 - $far * l2"),
            ("v", "$f(v)"),
        ],
        phrasings: &[
            "A causal filter of three taps over the signal `x`: $direct times the sample plus $near times the one before minus $far times the one before that. Then $f.words. At the ends, $edge.words.",
            "Let s = $direct * x[i] + $near * x[i-1] - $far * x[i-2], where $edge.words. `out[i]` is $f.of(s).",
            "A finite impulse response with the coefficients $direct, $near and -$far; on each output, $f.words. Beyond the ends of the signal, $edge.words.",
        ],
    }];
    let samples = samples.into_iter().map(Pointwise::family);
    samples
        .chain(filters.into_iter().map(Stencil::family))
        .collect()
}

/// Turns of a carrier for each turn of its phase.
const TURNS: &[f64] = &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0];
