//! How memory grows with size: m = a + b·f(N), by the same laws as time.

use serde::Serialize;

use crate::scaling::{Law, SizePoint, fit_resolved};

/// The peak memory at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryPoint {
    /// N.
    pub size: u64,
    /// Largest resident set.
    pub bytes: u64,
}

/// What peak memory over sizes says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryScaling {
    /// The points, by rising size.
    pub points: Vec<MemoryPoint>,
    /// The simplest law that fits as well as any.
    pub law: Law,
    /// Other laws that fit as well.
    pub rivals: Vec<Law>,
    /// Bytes that do not depend on the size.
    pub base_bytes: f64,
    /// Bytes per f(N).
    pub coefficient: f64,
    /// Root of the mean squared relative residual.
    pub relative_error: f64,
    /// Log-log slope over the upper half of the sizes, with a 95 % interval.
    pub exponent: (f64, f64, f64),
    /// The sizes are too few or too close for any law to be trusted.
    pub too_narrow: bool,
}

/// The kernel counts pages per core in batches of 32 (128 KiB), for each of two kinds: a smaller
/// difference between two readings means nothing.
const READING_ERROR: f64 = 262_144.0;

/// Fits the laws to peak memory; `None` below five points with different sizes above 1.
pub fn fit_memory(points: &[MemoryPoint]) -> Option<MemoryScaling> {
    let least = points.iter().map(|point| point.bytes).min()? as f64;
    let as_amounts: Vec<SizePoint> = points
        .iter()
        .map(|point| SizePoint {
            size: point.size as f64,
            seconds: point.bytes as f64,
        })
        .collect();
    // Below a megabyte the error is as large as the reading: at most a quarter counts.
    let resolution = (READING_ERROR / least).min(0.25);
    let fitted = fit_resolved(&as_amounts, resolution)?;
    let mut points = points.to_vec();
    points.sort_unstable_by_key(|point| point.size);
    Some(MemoryScaling {
        points,
        law: fitted.chosen.law,
        rivals: fitted.rivals,
        base_bytes: fitted.chosen.overhead,
        coefficient: fitted.chosen.coefficient,
        relative_error: fitted.chosen.relative_error,
        exponent: fitted.exponent,
        too_narrow: fitted.too_narrow,
    })
}

impl MemoryScaling {
    /// Whether one law stands alone over enough sizes.
    pub fn is_certain(&self) -> bool {
        self.rivals.is_empty() && !self.too_narrow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(bytes: impl Fn(u64) -> u64) -> Vec<MemoryPoint> {
        (10..20)
            .map(|power| 1u64 << power)
            .map(|size| MemoryPoint {
                size,
                bytes: bytes(size),
            })
            .collect()
    }

    #[test]
    fn an_interpreter_and_its_array_are_a_base_and_a_line() {
        let fitted = fit_memory(&points(|n| 13_000_000 + 800 * n)).unwrap();
        assert_eq!(fitted.law, Law::Linear);
        assert!(fitted.is_certain(), "{fitted:?}");
        assert!((fitted.coefficient - 800.0).abs() < 1.0);
        assert!((fitted.base_bytes - 13e6).abs() < 1e5);
    }

    #[test]
    fn what_the_reading_cannot_resolve_is_constant() {
        // 8 bytes an element beside 13 MB: less than a batch of pages up to 16 Ki elements.
        let small: Vec<MemoryPoint> = (1..9)
            .map(|k| MemoryPoint {
                size: 100 * k,
                bytes: 13_000_000 + 8 * 100 * k,
            })
            .collect();
        assert_eq!(fit_memory(&small).unwrap().law, Law::Constant);
        assert_eq!(fit_memory(&[]), None);
    }

    #[test]
    fn a_table_of_pairs_is_quadratic() {
        let fitted = fit_memory(&points(|n| 2_000_000 + n * n / 4)).unwrap();
        assert_eq!(fitted.law, Law::Quadratic);
    }
}
