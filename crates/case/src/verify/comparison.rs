//! An output against what the reference says: how many elements are wrong, where, and how far.
//!
//! Where the case states no tolerance, what is allowed follows from rounding: the type's own
//! precision, a random walk over as many terms as decide an element, and how much the exact result
//! moves when its inputs move by their last bit, and what a plain loop loses that adds equal terms. So a sum that cancels may be as far off as its terms
//! are large, and a copy may not be off at all. Before that movement is known, the error of the same
//! formula in the inputs' own type stands for it.
//!
//! Elements are compared in parallel, in parts of a fixed size: sums and the first wrong element do not
//! depend on the number of threads.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use warpsmith_measure::kernel_file::Scalar;

use crate::description::StatedTolerance;
use crate::element::{epsilon, float_at, is_float, put_float, smallest_normal, ulps_from};
use crate::instance::{BoundArgument, BoundValue};
use crate::reference::Truth;
use crate::verify::pattern::pattern;

/// How an output compares with its reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputComparison {
    /// The output.
    pub name: String,
    /// Elements that were compared.
    pub compared: usize,
    /// Elements that are wrong.
    pub wrong: usize,
    /// Among them, elements that still hold what was there before the run.
    pub never_written: usize,
    /// Elements that follow what was there before the run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub follow_what_was_there: usize,
    /// Largest absolute error of a finite element.
    pub max_error: f64,
    /// Largest share of what is allowed that an error takes; above 1 it is wrong.
    pub share_of_allowed: f64,
    /// Root mean square error, divided by that of the same formula in the inputs' own precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_over_plain: Option<f64>,
    /// The first wrong element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<WrongElement>,
    /// What the wrong elements have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // The form that serde asks for.
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// An element that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrongElement {
    /// Its index along each dimension.
    pub index: Vec<usize>,
    /// What the kernel computed; as text, because JSON has no NaN.
    pub actual: String,
    /// What is right.
    pub expected: String,
    /// Representable numbers between them, where that has a meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ulps: Option<u64>,
}

impl OutputComparison {
    /// In one line: what is wrong, where, and the pattern.
    pub fn words(&self, axes: &[String]) -> String {
        let Some(first) = &self.first else {
            return format!("`{}` is right", self.name);
        };
        let place: Vec<String> = first
            .index
            .iter()
            .enumerate()
            .map(|(axis, index)| match axes.get(axis) {
                Some(name) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                    format!("{name}={index}")
                }
                _ => index.to_string(),
            })
            .collect();
        let ulps = first
            .ulps
            .map(|ulps| format!(", {ulps} ULP apart"))
            .unwrap_or_default();
        let mut words = format!(
            "{} of {} elements of `{}` are wrong, first at [{}]: {}, expected {}{ulps}",
            self.wrong,
            self.compared,
            self.name,
            place.join(", "),
            first.actual,
            first.expected,
        );
        if let Some(pattern) = &self.pattern {
            words.push_str(&format!("; pattern: {pattern}"));
        }
        if self.never_written > 0 {
            words.push_str(&format!("; {} were never written", self.never_written));
        }
        words
    }
}

/// How errors are judged.
pub(crate) struct Judge<'a> {
    pub(crate) stated: Option<&'a StatedTolerance>,
    /// Whether the reference has no rounding of its own.
    pub(crate) wide: bool,
    /// Whether the compiler may use fast approximations.
    pub(crate) fast_math: bool,
}

/// Elements that one thread compares at a time.
const PART: usize = 1 << 14;
/// Neighbours that share an estimate of their rounding.
const BLOCK: usize = 256;

/// What was found in a part of an output.
#[derive(Default)]
struct Part {
    found: OutputComparison,
    /// Which elements are wrong; empty where none is.
    wrong: Vec<bool>,
    squares: f64,
    plain_squares: f64,
}

impl Judge<'_> {
    /// What an element may be off by; `noise` is what rounding moves its neighbours by.
    fn allowed(&self, scalar: Scalar, truth: &Truth, index: usize, noise: f64) -> f64 {
        let expected = truth.values[index].abs();
        let epsilon = epsilon(scalar);
        if epsilon == 0.0 {
            return 0.0;
        }
        let walk = truth.fan_in.sqrt();
        let mut relative = (8.0 + 2.0 * walk) * epsilon;
        if self.fast_math {
            relative *= 8.0;
        }
        if !self.wide {
            // The reference rounds as well.
            relative *= 2.0;
        }
        let moved = match &truth.spread {
            // The spread was measured with movements of 2⁻²³.
            Some(spread) if spread[index].is_finite() => spread[index] * epsilon * 2f64.powi(23),
            Some(_) => 0.0,
            None => noise.max(own_noise(scalar, truth, index)),
        };
        // Twice, because the kernel's own terms may round another way.
        let in_turn = truth.in_turn.as_ref().map_or(0.0, |lost| lost[index]);
        let in_turn = if in_turn.is_finite() {
            2.0 * in_turn
        } else {
            0.0
        };
        relative * expected + 8.0 * walk * moved + in_turn + smallest_normal(scalar)
    }

    /// Compares the bytes of an output with the truth; `poison` is what every byte held before.
    pub(crate) fn compare(
        &self,
        argument: &BoundArgument,
        actual: &[u8],
        truth: &Truth,
        poison: Option<u8>,
    ) -> OutputComparison {
        let count = truth.values.len();
        let parts: Vec<Part> = (0..count.div_ceil(PART))
            .into_par_iter()
            .map(|part| {
                let range = part * PART..((part + 1) * PART).min(count);
                self.part(argument, actual, truth, poison, range)
            })
            .collect();
        let mut result = OutputComparison {
            name: argument.name.clone(),
            compared: count,
            ..OutputComparison::default()
        };
        let (mut squares, mut plain_squares) = (0.0, 0.0);
        let mut wrong = Vec::new();
        for (at, part) in parts.into_iter().enumerate() {
            squares += part.squares;
            plain_squares += part.plain_squares;
            let found = part.found;
            result.wrong += found.wrong;
            result.never_written += found.never_written;
            result.max_error = result.max_error.max(found.max_error);
            result.share_of_allowed = result.share_of_allowed.max(found.share_of_allowed);
            result.first = result.first.or(found.first);
            if !part.wrong.is_empty() {
                wrong.resize(count, false);
                wrong[at * PART..at * PART + part.wrong.len()].copy_from_slice(&part.wrong);
            }
        }
        if self.wide && plain_squares > 0.0 {
            result.error_over_plain = Some((squares / plain_squares).sqrt());
        }
        if let (BoundValue::Array { shape, axes, .. }, false) = (&argument.value, wrong.is_empty())
        {
            result.pattern = pattern(&wrong, shape, axes);
        }
        result
    }

    fn part(
        &self,
        argument: &BoundArgument,
        actual: &[u8],
        truth: &Truth,
        poison: Option<u8>,
        range: Range<usize>,
    ) -> Part {
        let scalar = argument.scalar;
        let mut part = Part::default();
        let mut noise = 0.0;
        for index in range.clone() {
            if index.is_multiple_of(BLOCK) {
                noise = block_noise(scalar, truth, index..(index + BLOCK).min(range.end));
            }
            let value = float_at(scalar, actual, index);
            let expected = representable(scalar, truth.values[index]);
            let found = &mut part.found;
            let right = self.element(scalar, actual, index, value, expected, truth, noise, found);
            let difference = value - truth.values[index];
            if difference.is_finite() {
                part.squares += difference * difference;
                if let Some(plain) = &truth.plain {
                    let difference = plain[index] - truth.values[index];
                    part.plain_squares += if difference.is_finite() {
                        difference * difference
                    } else {
                        0.0
                    };
                }
            }
            if right {
                continue;
            }
            part.wrong.resize(range.len(), false);
            part.wrong[index - range.start] = true;
            found.wrong += 1;
            let bytes = &actual[index * scalar.bytes()..(index + 1) * scalar.bytes()];
            if poison.is_some_and(|poison| bytes.iter().all(|byte| *byte == poison)) {
                found.never_written += 1;
            }
            if found.first.is_none() {
                found.first = Some(WrongElement {
                    index: coordinates(index, argument),
                    actual: number(scalar, value),
                    expected: number(scalar, expected),
                    ulps: ulps_from(scalar, actual, index, expected)
                        .filter(|_| value.is_finite() && expected.is_finite()),
                });
            }
        }
        part
    }

    #[allow(clippy::too_many_arguments)] // One element's facts; a struct would be read once.
    fn element(
        &self,
        scalar: Scalar,
        actual: &[u8],
        index: usize,
        value: f64,
        expected: f64,
        truth: &Truth,
        noise: f64,
        result: &mut OutputComparison,
    ) -> bool {
        if value.is_nan() || expected.is_nan() {
            return value.is_nan() && expected.is_nan();
        }
        if value.is_infinite() || expected.is_infinite() {
            // At the edge of the type rounding decides between the largest number and infinity.
            return value == expected || near_the_edge(scalar, value, truth.values[index]);
        }
        if let (Some(whole), false) = (&truth.whole, is_float(scalar)) {
            let at = index * scalar.bytes();
            let exact = whole[index].to_le_bytes();
            let same = actual[at..at + scalar.bytes()] == exact[..scalar.bytes()];
            let error = (value - expected).abs();
            result.max_error = result.max_error.max(error);
            return same || self.stated.is_some_and(|stated| error <= stated.bounds.abs);
        }
        let error = (value - truth.values[index]).abs();
        result.max_error = result.max_error.max(error);
        let allowed = match self.stated {
            Some(stated) => {
                let bounds = &stated.bounds;
                let in_ulps = bounds.ulp > 0
                    && ulps_from(scalar, actual, index, expected)
                        .is_some_and(|ulps| ulps <= bounds.ulp);
                if in_ulps || value == expected {
                    return true;
                }
                bounds.abs.max(bounds.rel * expected.abs())
            }
            None => self.allowed(scalar, truth, index, noise),
        };
        let share = match allowed > 0.0 {
            true => error / allowed,
            false if error == 0.0 => 0.0,
            false => f64::MAX,
        };
        result.share_of_allowed = result.share_of_allowed.max(share.min(f64::MAX));
        share <= 1.0
    }
}

/// The error of the same formula in the inputs' own type, at one element.
fn own_noise(scalar: Scalar, truth: &Truth, index: usize) -> f64 {
    let Some(plain) = &truth.plain else {
        return 0.0;
    };
    let error = (plain[index] - truth.values[index]).abs();
    // `bf16` travels as `f32`, so that the plain formula rounds 16 bits later than the kernel does.
    let scale = if scalar == Scalar::Bf16 { 65536.0 } else { 1.0 };
    if error.is_finite() {
        error * scale
    } else {
        0.0
    }
}

/// The same as root mean square over neighbours: one element's own error may be small by chance.
fn block_noise(scalar: Scalar, truth: &Truth, range: Range<usize>) -> f64 {
    if truth.spread.is_some() || truth.plain.is_none() {
        return 0.0;
    }
    let count = range.len().max(1) as f64;
    let squares = range.map(|index| own_noise(scalar, truth, index).powi(2));
    (squares.sum::<f64>() / count).sqrt()
}

/// The nearest number of the type.
fn representable(scalar: Scalar, value: f64) -> f64 {
    let mut bytes = [0u8; 8];
    put_float(scalar, value, &mut bytes[..scalar.bytes()]);
    float_at(scalar, &bytes, 0)
}

fn near_the_edge(scalar: Scalar, value: f64, truth: f64) -> bool {
    let largest = match scalar {
        Scalar::F32 | Scalar::Bf16 => f64::from(f32::MAX),
        Scalar::F16 => 65504.0,
        _ => f64::MAX,
    };
    let close = truth.abs() > largest * 0.999 && truth.abs() < largest * 1.001;
    close && value.signum() == truth.signum() && value.abs() > largest * 0.99
}

fn number(scalar: Scalar, value: f64) -> String {
    match scalar {
        Scalar::F32 => format!("{:?}", value as f32),
        _ if is_float(scalar) => format!("{value:?}"),
        _ => format!("{value}"),
    }
}

/// The index along each dimension.
fn coordinates(index: usize, argument: &BoundArgument) -> Vec<usize> {
    let BoundValue::Array { shape, .. } = &argument.value else {
        return Vec::new();
    };
    let mut rest = index;
    let mut coordinates: Vec<usize> = shape
        .iter()
        .rev()
        .map(|extent| {
            let coordinate = rest % (*extent).max(1);
            rest /= (*extent).max(1);
            coordinate
        })
        .collect();
    coordinates.reverse();
    coordinates
}

#[cfg(test)]
mod tests {
    use warpsmith_measure::kernel_file::Direction;

    use super::*;
    use crate::description::Fill;

    fn output(scalar: Scalar, shape: &[usize]) -> BoundArgument {
        BoundArgument {
            name: "y".into(),
            scalar,
            value: BoundValue::Array {
                direction: Direction::Out,
                shape: shape.to_vec(),
                axes: vec!["rows".into(), "cols".into()],
                fill: Fill::Zeros,
            },
        }
    }

    fn truth(values: &[f64]) -> Truth {
        Truth {
            values: values.to_vec(),
            whole: None,
            plain: None,
            spread: None,
            in_turn: None,
            fan_in: 1.0,
        }
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    const DERIVED: Judge<'static> = Judge {
        stated: None,
        wide: true,
        fast_math: false,
    };

    #[test]
    fn rounding_is_allowed_and_half_precision_is_not() {
        let y = output(Scalar::F32, &[1, 3]);
        let right = truth(&[1.0, 1.0 / 3.0, 1_000.123_456_789]);
        let rounded = bytes(&[1.0, 1.0 / 3.0, 1_000.123_5]);
        let compared = DERIVED.compare(&y, &rounded, &right, None);
        assert_eq!(compared.wrong, 0, "{compared:?}");
        let half = bytes(&[1.0, 0.333_25, 1000.0]);
        let compared = DERIVED.compare(&y, &half, &right, None);
        assert_eq!(compared.wrong, 2);
        assert_eq!(compared.first.unwrap().index, [0, 1]);
        assert_eq!(compared.pattern.as_deref(), Some("cols ≥ 1"));
    }

    #[test]
    fn a_sum_that_cancels_may_be_off_by_its_terms() {
        let y = output(Scalar::F32, &[1, 1]);
        let mut right = truth(&[0.0]);
        right.fan_in = 1000.0;
        assert_eq!(DERIVED.compare(&y, &bytes(&[1e-4]), &right, None).wrong, 1);
        right.spread = Some(vec![1e-5]);
        assert_eq!(DERIVED.compare(&y, &bytes(&[1e-4]), &right, None).wrong, 0);
    }

    #[test]
    fn the_error_of_the_plain_formula_stands_for_the_movement() {
        let y = output(Scalar::F32, &[1, 3]);
        let mut right = truth(&[0.0, 1.0, 1.0]);
        assert_eq!(
            DERIVED
                .compare(&y, &bytes(&[2e-6, 1.0, 1.0]), &right, None)
                .wrong,
            1
        );
        // The neighbours' errors say that terms are large here.
        right.plain = Some(vec![0.0, 1.0 + 1e-6, 1.0 - 1e-6]);
        assert_eq!(
            DERIVED
                .compare(&y, &bytes(&[2e-6, 1.0, 1.0]), &right, None)
                .wrong,
            0
        );
        // What was measured goes before what was guessed.
        right.spread = Some(vec![0.0; 3]);
        assert_eq!(
            DERIVED
                .compare(&y, &bytes(&[2e-6, 1.0, 1.0]), &right, None)
                .wrong,
            1
        );
    }

    #[test]
    fn parts_are_put_together() {
        let count = 3 * PART + 5;
        let y = output(Scalar::F32, &[1, count]);
        let right = truth(&vec![1.0; count]);
        let mut values = vec![1.0f32; count];
        values[2 * PART + 7] = 2.0;
        values[3 * PART + 1] = f32::from_bits(u32::MAX);
        let compared = DERIVED.compare(&y, &bytes(&values), &right, Some(0xFF));
        assert_eq!((compared.wrong, compared.never_written), (2, 1));
        assert_eq!(compared.first.unwrap().index, [0, 2 * PART + 7]);
    }

    #[test]
    fn special_values_are_equal_to_themselves_alone() {
        let y = output(Scalar::F32, &[1, 4]);
        let right = truth(&[f64::NAN, f64::INFINITY, 1e60, 1.0]);
        let same = bytes(&[f32::NAN, f32::INFINITY, f32::INFINITY, 1.0]);
        assert_eq!(DERIVED.compare(&y, &same, &right, None).wrong, 0);
        let other = bytes(&[0.0, f32::NEG_INFINITY, f32::MAX, f32::NAN]);
        assert_eq!(DERIVED.compare(&y, &other, &right, None).wrong, 4);
    }

    #[test]
    fn what_was_never_written_is_said() {
        let y = output(Scalar::I32, &[1, 4]);
        let right = Truth {
            whole: Some(vec![1, 2, 3, -1]),
            ..truth(&[1.0, 2.0, 3.0, -1.0])
        };
        let actual: Vec<u8> = [1i32, 2, -1, -1]
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let compared = DERIVED.compare(&y, &actual, &right, Some(0xFF));
        assert_eq!((compared.wrong, compared.never_written), (1, 1));
        let words = compared.words(&["rows".into(), "cols".into()]);
        assert_eq!(
            words,
            "1 of 4 elements of `y` are wrong, first at [rows=0, cols=2]: -1, expected 3, 4 ULP apart; \
             pattern: one element alone; 1 were never written"
        );
    }

    #[test]
    fn the_error_is_told_beside_that_of_a_plain_run() {
        let y = output(Scalar::F32, &[1, 2]);
        let mut right = truth(&[1.0, 2.0]);
        right.plain = Some(vec![1.0 + 1e-7, 2.0]);
        let compared = DERIVED.compare(&y, &bytes(&[1.0 + 2.4e-7, 2.0]), &right, None);
        let ratio = compared.error_over_plain.unwrap();
        assert!((2.0..2.6).contains(&ratio), "{ratio}");
    }
}
