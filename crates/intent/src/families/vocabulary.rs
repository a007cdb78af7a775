//! Options that several families share.

use crate::axis::Choice;

/// Reductions.
pub(crate) const REDUCTIONS: &[Choice] = &[
    Choice {
        name: "sum",
        words: "sum",
        formula: Some((&["a", "b"], "a + b")),
        parts: &[
            ("start", "0.0"),
            ("cuda", "0.0f"),
            ("numpy", "np.sum"),
            ("torch", "torch.sum"),
        ],
    },
    Choice {
        name: "max",
        words: "maximum",
        formula: Some((&["a", "b"], "max(a, b)")),
        parts: &[
            ("start", "-3.402823466e+38"),
            ("cuda", "-3.402823466e+38f"),
            ("numpy", "np.max"),
            ("torch", "torch.amax"),
        ],
    },
    Choice {
        name: "min",
        words: "minimum",
        formula: Some((&["a", "b"], "min(a, b)")),
        parts: &[
            ("start", "3.402823466e+38"),
            ("cuda", "3.402823466e+38f"),
            ("numpy", "np.min"),
            ("torch", "torch.amin"),
        ],
    },
];

/// Two numbers to one.
pub(crate) const COMBINATIONS: &[Choice] = &[
    combination("sum", "the sum of the two", "a + b"),
    combination("difference", "the first minus the second", "a - b"),
    combination("product", "the product of the two", "a * b"),
    combination("larger", "the larger of the two", "max(a, b)"),
    combination("smaller", "the smaller of the two", "min(a, b)"),
    combination(
        "distance",
        "the absolute difference of the two",
        "abs(a - b)",
    ),
    combination("mean", "the mean of the two", "0.5 * (a + b)"),
    combination(
        "length",
        "the square root of the sum of their squares",
        "sqrt(a * a + b * b)",
    ),
    combination(
        "ratio",
        "the first divided by one plus the absolute value of the second",
        "a / (1 + abs(b))",
    ),
];

const fn combination(name: &'static str, words: &'static str, formula: &'static str) -> Choice {
    Choice {
        name,
        words,
        formula: Some((&["a", "b"], formula)),
        parts: &[],
    }
}

/// Factors between 0 and 1, exact in binary.
pub(crate) const FRACTIONS: &[f64] = &[0.0625, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];
/// Time steps, exact in binary.
pub(crate) const TIME_STEPS: &[f64] = &[0.001953125, 0.0078125, 0.015625, 0.03125, 0.0625, 0.125];
/// Factors around 1, exact in binary.
pub(crate) const FACTORS: &[f64] = &[0.25, 0.5, 0.75, 1.25, 1.5, 2.0, 3.0, 4.0];
/// Small positive numbers that keep a quotient finite.
pub(crate) const EPSILONS: &[f64] = &[0.0009765625, 0.00390625, 0.015625, 0.0625];
