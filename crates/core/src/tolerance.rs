//! When two results agree: absolute, relative and ULP bounds, and what is said when they do not.
//!
//! Invariants: NaN never agrees, not even with NaN; an infinity agrees only with itself; results
//! of different lengths never agree; an empty comparison agrees and says so with `compared == 0`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A pair agrees when it is inside any one of the bounds: `|a−b| ≤ abs`, `|a−b| ≤ rel·|expected|`,
/// or at most `ulp` representable numbers apart. Zero turns a bound off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Bound on the absolute difference.
    pub abs: f64,
    /// Bound on the difference relative to the expected value.
    pub rel: f64,
    /// Bound in units in the last place of the element type.
    pub ulp: u64,
}

impl Tolerance {
    /// The same bits, except that `0.0` equals `-0.0`.
    pub const EXACT: Self = Self {
        abs: 0.0,
        rel: 0.0,
        ulp: 0,
    };

    /// Compares `actual` with `expected`, element by element.
    pub fn compare<T: Real>(&self, actual: &[T], expected: &[T]) -> Agreement {
        let mut agreement = Agreement {
            compared: actual.len().min(expected.len()),
            lengths: (actual.len(), expected.len()),
            ..Agreement::default()
        };
        for (index, (&a, &e)) in actual.iter().zip(expected).enumerate() {
            let (actual, expected) = (a.to_f64(), e.to_f64());
            let difference = (actual - expected).abs();
            let ulps = T::ulps_apart(a, e);
            if difference.is_finite() {
                agreement.max_abs = agreement.max_abs.max(difference);
                if expected != 0.0 {
                    agreement.max_rel = agreement.max_rel.max(difference / expected.abs());
                }
                agreement.max_ulp = agreement.max_ulp.max(ulps.unwrap_or(u64::MAX));
            }
            let agrees = actual == expected
                || (difference.is_finite()
                    && (difference <= self.abs
                        || difference <= self.rel * expected.abs()
                        || ulps.is_some_and(|ulps| ulps <= self.ulp)));
            if !agrees {
                agreement.disagreeing += 1;
                agreement.first.get_or_insert(Disagreement {
                    index,
                    actual,
                    expected,
                });
            }
        }
        agreement
    }
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Pairs looked at.
    pub compared: usize,
    /// Lengths of the actual and the expected result.
    pub lengths: (usize, usize),
    /// Pairs outside every bound.
    pub disagreeing: usize,
    /// Largest absolute difference among finite pairs.
    pub max_abs: f64,
    /// Largest relative difference among finite pairs with a non-zero expected value.
    pub max_rel: f64,
    /// Largest distance in representable numbers among finite pairs.
    pub max_ulp: u64,
    /// The first pair outside every bound.
    pub first: Option<Disagreement>,
}

/// One pair that does not agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disagreement {
    /// Where.
    pub index: usize,
    /// What was computed.
    #[serde(with = "lossless")]
    pub actual: f64,
    /// What the reference says.
    #[serde(with = "lossless")]
    pub expected: f64,
}

impl Agreement {
    /// Whether every pair agreed and the lengths were the same.
    pub fn holds(&self) -> bool {
        self.disagreeing == 0 && self.lengths.0 == self.lengths.1
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lengths.0 != self.lengths.1 {
            return write!(
                f,
                "{} elements, expected {}",
                self.lengths.0, self.lengths.1
            );
        }
        match &self.first {
            None => write!(
                f,
                "{} elements agree (max abs {:.1e}, {} ULP)",
                self.compared, self.max_abs, self.max_ulp
            ),
            Some(first) => write!(
                f,
                "{} of {} elements disagree, first at {}: {:?}, expected {:?}",
                self.disagreeing, self.compared, first.index, first.actual, first.expected
            ),
        }
    }
}

/// A floating-point or integer element that results are made of.
pub trait Real: Copy {
    /// The value as f64; every f32 and every 32-bit integer is exact.
    fn to_f64(self) -> f64;
    /// How many representable numbers lie between the two, or `None` where that has no meaning.
    fn ulps_apart(a: Self, b: Self) -> Option<u64>;
}

macro_rules! real_float {
    ($float:ty, $bits:ty, $signed:ty) => {
        impl Real for $float {
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn ulps_apart(a: Self, b: Self) -> Option<u64> {
                // Maps the bit patterns to integers that rise with the value, so that the distance
                // between neighbours is one across zero too.
                let rising = |x: $float| {
                    let bits = x.to_bits() as $signed;
                    if bits < 0 {
                        <$signed>::MIN.wrapping_sub(bits)
                    } else {
                        bits
                    }
                };
                (!a.is_nan() && !b.is_nan()).then(|| u64::from(rising(a).abs_diff(rising(b))))
            }
        }
    };
}
real_float!(f32, u32, i32);
real_float!(f64, u64, i64);

macro_rules! real_integer {
    ($($integer:ty),*) => {$(
        impl Real for $integer {
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn ulps_apart(a: Self, b: Self) -> Option<u64> {
                Some(u64::from(a.abs_diff(b)))
            }
        }
    )*};
}
real_integer!(i8, u8, i16, u16, i32, u32, i64, u64);

/// JSON has no NaN or infinity; a disagreement is where they matter most, so they travel as text.
mod lossless {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            serializer.serialize_f64(*value)
        } else {
            serializer.serialize_str(&value.to_string())
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum NumberOrText {
            Number(f64),
            Text(String),
        }
        match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Number(value) => Ok(value),
            NumberOrText::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nan_never_agrees_not_even_with_nan() {
        let generous = Tolerance {
            abs: 1e30,
            rel: 1e30,
            ulp: u64::MAX,
        };
        assert!(!generous.compare(&[f32::NAN], &[f32::NAN]).holds());
        assert!(!generous.compare(&[1.0], &[f32::NAN]).holds());
        assert!(!generous.compare(&[f64::NAN], &[1.0]).holds());
    }

    #[test]
    fn an_infinity_agrees_only_with_itself() {
        let generous = Tolerance {
            abs: 1e30,
            rel: 1e30,
            ulp: u64::MAX,
        };
        assert!(generous.compare(&[f32::INFINITY], &[f32::INFINITY]).holds());
        assert!(
            !generous
                .compare(&[f32::INFINITY], &[f32::NEG_INFINITY])
                .holds()
        );
        assert!(!generous.compare(&[f32::MAX], &[f32::INFINITY]).holds());
    }

    #[test]
    fn lengths_must_match() {
        assert!(!Tolerance::EXACT.compare(&[1.0f32], &[1.0, 2.0]).holds());
        assert!(Tolerance::EXACT.compare::<f32>(&[], &[]).holds());
    }

    #[test]
    fn zeros_of_both_signs_are_neighbours() {
        assert!(Tolerance::EXACT.compare(&[0.0f32], &[-0.0]).holds());
        assert_eq!(f32::ulps_apart(0.0, -0.0), Some(0));
        assert_eq!(
            f32::ulps_apart(f32::from_bits(1), -f32::from_bits(1)),
            Some(2)
        );
        assert_eq!(f64::ulps_apart(1.0, 1.0 + f64::EPSILON), Some(1));
    }

    #[test]
    fn any_one_bound_is_enough() {
        let tolerance = Tolerance {
            abs: 1e-3,
            rel: 0.0,
            ulp: 0,
        };
        assert!(tolerance.compare(&[1e-4f32], &[0.0]).holds());
        let tolerance = Tolerance {
            abs: 0.0,
            rel: 1e-3,
            ulp: 0,
        };
        assert!(tolerance.compare(&[1000.5f32], &[1000.0]).holds());
        assert!(!tolerance.compare(&[1e-4f32], &[0.0]).holds());
    }

    #[test]
    fn the_first_disagreement_is_named_and_survives_json() {
        let agreement = Tolerance::EXACT.compare(&[1.0f32, f32::NAN, 3.0], &[1.0, 2.0, 4.0]);
        assert_eq!(agreement.disagreeing, 2);
        assert_eq!(
            agreement.to_string(),
            "2 of 3 elements disagree, first at 1: NaN, expected 2.0"
        );
        let json = serde_json::to_string(&agreement).unwrap();
        let back: Agreement = serde_json::from_str(&json).unwrap();
        assert!(back.first.unwrap().actual.is_nan());
    }

    proptest! {
        #[test]
        fn a_number_agrees_exactly_with_itself(x in any::<f64>().prop_filter("NaN", |x| !x.is_nan())) {
            prop_assert!(Tolerance::EXACT.compare(&[x], &[x]).holds());
        }

        #[test]
        fn steps_between_floats_are_counted(x in -1e30f32..1e30, steps in 0u32..1000) {
            let mut y = x;
            for _ in 0..steps {
                y = y.next_up();
            }
            prop_assert_eq!(f32::ulps_apart(x, y), Some(u64::from(steps)));
            let tolerance = Tolerance { ulp: u64::from(steps), ..Tolerance::EXACT };
            prop_assert!(tolerance.compare(&[y], &[x]).holds());
        }
    }
}
