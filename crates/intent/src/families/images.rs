//! Images: colours pixel by pixel, and filters over neighbours.

use super::skeletons::pointwise::Pointwise;
use super::skeletons::stencil::Stencil;
use super::vocabulary::{FACTORS, FRACTIONS};
use crate::axis::{Axis, Choice};
use crate::family::{Contents, Family, Group};

const GROUP: Group = Group::Images;
const COLOUR: Contents = Contents::Uniform(0.0, 1.0);
const SQUARE: &[&str] = &["nw", "n", "ne", "w", "c", "e", "sw", "s", "se"];

/// Filters over a pixel and its eight neighbours.
const FILTERS: &[Choice] = &[
    filter(
        "box_blur",
        "the mean of the nine pixels of the 3 × 3 neighbourhood",
        "(nw + n + ne + w + c + e + sw + s + se) / 9",
    ),
    filter(
        "gaussian_blur",
        "the 3 × 3 binomial blur (weights 1 2 1, 2 4 2, 1 2 1, divided by 16)",
        "0.0625 * (nw + ne + sw + se) + 0.125 * (n + w + e + s) + 0.25 * c",
    ),
    filter(
        "sharpening",
        "five times the pixel minus its four direct neighbours",
        "5 * c - n - w - e - s",
    ),
    filter(
        "laplacian",
        "the sum of the four direct neighbours minus four times the pixel",
        "n + w + e + s - 4 * c",
    ),
    filter(
        "sobel_across",
        "the Sobel derivative from left to right (weights -1 0 1, -2 0 2, -1 0 1)",
        "ne + 2 * e + se - nw - 2 * w - sw",
    ),
    filter(
        "sobel_down",
        "the Sobel derivative from top to bottom (weights -1 -2 -1, 0 0 0, 1 2 1)",
        "sw + 2 * s + se - nw - 2 * n - ne",
    ),
    filter(
        "emboss",
        "the emboss filter (weights -2 -1 0, -1 1 1, 0 1 2)",
        "2 * se + e + s + c - 2 * nw - n - w",
    ),
    filter(
        "dilation",
        "the largest of the nine pixels of the 3 × 3 neighbourhood",
        "max(max(max(max(nw, n), max(ne, w)), max(max(c, e), max(sw, s))), se)",
    ),
    filter(
        "erosion",
        "the smallest of the nine pixels of the 3 × 3 neighbourhood",
        "min(min(min(min(nw, n), min(ne, w)), min(min(c, e), min(sw, s))), se)",
    ),
];

const fn filter(name: &'static str, words: &'static str, formula: &'static str) -> Choice {
    Choice {
        name,
        words,
        formula: Some((SQUARE, formula)),
        parts: &[],
    }
}

pub(crate) fn families() -> Vec<Family> {
    let pixels = [
        Pointwise {
            name: "luminance",
            group: GROUP,
            title: "luminance_$f.name",
            axes: vec![
                Axis::constants("wr", &[0.21875, 0.25, 0.296875, 0.3125]),
                Axis::constants("wb", &[0.0625, 0.078125, 0.109375, 0.125]),
                Axis::chain("f"),
            ],
            inputs: &[("red", COLOUR), ("green", COLOUR), ("blue", COLOUR)],
            outputs: &["out"],
            steps: &[
                ("v", "$wr * red + (1 - $wr - $wb) * green + $wb * blue"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Turn colours to grey: $wr of red, $wb of blue and the rest of the weight, 1 - $wr - $wb, of green. Then $f.words.",
                "Let l = $wr * red + (1 - $wr - $wb) * green + $wb * blue. `out[i]` is $f.of(l).",
                "The luma of every pixel with the weights $wr for red, $wb for blue and what is left of 1 for green; on each, $f.words.",
            ],
        },
        Pointwise {
            name: "compositing",
            group: GROUP,
            title: "compositing_$f.name",
            axes: vec![Axis::constants("opacity", FRACTIONS), Axis::chain("f")],
            inputs: &[("front", COLOUR), ("alpha", COLOUR), ("back", COLOUR)],
            outputs: &["out"],
            steps: &[
                ("cover", "$opacity * alpha"),
                ("v", "cover * front + (1 - cover) * back"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Lay `front` over `back`: its coverage is `alpha` times the layer's opacity $opacity. Then $f.words.",
                "With a = $opacity * alpha[i], `out[i]` is $f.of((a * front[i] + (1 - a) * back[i])).",
                "Alpha compositing of a layer with opacity $opacity; on each blended pixel, $f.words.",
            ],
        },
        Pointwise {
            name: "levels",
            group: GROUP,
            title: "levels_$f.name",
            axes: vec![
                Axis::constants("black", &[0.0625, 0.125, 0.1875, 0.25]),
                Axis::constants("gain", FACTORS),
                Axis::chain("f"),
            ],
            inputs: &[("pixel", COLOUR)],
            outputs: &["out"],
            steps: &[
                ("v", "clamp((pixel - $black) * $gain, 0, 1)"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Set the black point to $black and the gain to $gain: (pixel - $black) * $gain, limited to the range from 0 to 1. Then $f.words.",
                "Let l = clamp((pixel[i] - $black) * $gain, 0, 1). `out[i]` is $f.of(l).",
                "A levels adjustment (black point $black, gain $gain, saturating); on each pixel, $f.words.",
            ],
        },
        Pointwise {
            name: "tone_mapping",
            group: GROUP,
            title: "tone_mapping_$f.name",
            axes: vec![
                Axis::constants("exposure", FACTORS),
                Axis::constants("white", &[2.0, 4.0, 8.0, 16.0]),
                Axis::function("f"),
            ],
            inputs: &[("radiance", Contents::Uniform(0.0, 40.0))],
            outputs: &["out"],
            steps: &[
                ("l", "$exposure * radiance"),
                ("v", "l * (1 + l / ($white * $white)) / (1 + l)"),
                ("v", "$f(v)"),
                ("out", "v"),
            ],
            phrasings: &[
                "Extended Reinhard tone mapping with exposure $exposure and white point $white: with l the exposed radiance, l * (1 + l / $white^2) / (1 + l). Then $f.words.",
                "Let l = $exposure * radiance[i] and t = l * (1 + l / ($white * $white)) / (1 + l). `out[i]` is $f.of(t).",
                "Compress high dynamic range by Reinhard's curve (exposure $exposure, white at $white); on each value, $f.words.",
            ],
        },
    ];
    let filters = [
        Stencil {
            name: "image_filter",
            group: GROUP,
            title: "$f.name_$filter.name",
            axes: vec![Axis::options("filter", FILTERS), Axis::chain("f")],
            rank: 2,
            beside: &[],
            steps: &[
                ("v", "$filter(nw, n, ne, w, c, e, sw, s, se)"),
                ("v", "$f(v)"),
            ],
            phrasings: &[
                "For each pixel of the image `x` take $filter.words; then $f.words. At the border, $edge.words.",
                "`out[i, j]` is $f.of(s), where s is $filter.words, around `x[i, j]`; beyond the border, $edge.words.",
                "Filter the image: $filter.words. Map each result: $f.words. For neighbours outside, $edge.words.",
            ],
        },
        Stencil {
            name: "edge_strength",
            group: GROUP,
            title: "edge_strength_$f.name",
            axes: vec![Axis::constants("gain", FACTORS), Axis::chain("f")],
            rank: 2,
            beside: &[],
            steps: &[
                ("across", "ne + 2 * e + se - nw - 2 * w - sw"),
                ("down", "sw + 2 * s + se - nw - 2 * n - ne"),
                ("v", "$gain * sqrt(across * across + down * down)"),
                ("v", "$f(v)"),
            ],
            phrasings: &[
                "The strength of edges: the length of the Sobel gradient of each pixel times $gain; then $f.words. At the border, $edge.words.",
                "With gx and gy the two 3 × 3 Sobel derivatives of `x`, `out` is $f.of($gain * sqrt(gx * gx + gy * gy)); beyond the border, $edge.words.",
                "Sobel edge detection with gain $gain; on each magnitude, $f.words. For neighbours outside, $edge.words.",
            ],
        },
        Stencil {
            name: "unsharp_mask",
            group: GROUP,
            title: "unsharp_mask_$f.name",
            axes: vec![Axis::constants("amount", FACTORS), Axis::function("f")],
            rank: 2,
            beside: &["mask"],
            steps: &[
                ("soft", "0.125 * (n + w + e + s) + 0.5 * c"),
                ("m", "mask"),
                ("m", "$f(m)"),
                ("v", "c + $amount * m * (c - soft)"),
            ],
            phrasings: &[
                "Sharpen the image `x` by $amount times its difference to a blur (half the pixel plus an eighth of each direct neighbour), weighted pixel by pixel with a mask that is $f.of(`mask[i, j]`). At the border, $edge.words.",
                "Let b = 0.5 * x + 0.125 * (sum of the four direct neighbours), where $edge.words, and m be $f.of(`mask[i, j]`). `out` = x + $amount * m * (x - b).",
                "Unsharp masking of strength $amount with a five-point blur. Where the mask says: take `mask` and $f.words. For neighbours outside, $edge.words.",
            ],
        },
    ];
    let pixels = pixels.into_iter().map(Pointwise::family);
    pixels
        .chain(filters.into_iter().map(Stencil::family))
        .collect()
}
