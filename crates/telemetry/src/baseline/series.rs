//! A quantity over the time of a baseline: the raw samples that every figure is derived from.

use serde::{Deserialize, Serialize};

/// Samples in the order of their time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Milliseconds since the baseline's start.
    pub at_ms: Vec<u32>,
    /// The values; as many as times.
    pub values: Vec<f64>,
}

impl Series {
    /// Adds a sample.
    pub fn push(&mut self, at_ms: u32, value: f64) {
        self.at_ms.push(at_ms);
        self.values.push(value);
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether a reader may trust it: times rise, values are numbers, both are as many.
    pub fn is_sound(&self) -> bool {
        self.at_ms.len() == self.values.len()
            && self.at_ms.windows(2).all(|pair| pair[0] <= pair[1])
            && self.values.iter().all(|value| value.is_finite())
    }

    /// How many samples `span_ms` holds, going by the median distance between two; at least one.
    pub fn samples_in(&self, span_ms: u32) -> usize {
        let mut gaps: Vec<u32> = self
            .at_ms
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]))
            .collect();
        gaps.sort_unstable();
        match gaps.get(gaps.len() / 2) {
            Some(&gap) if gap > 0 => (span_ms / gap).max(1) as usize,
            _ => 1,
        }
    }

    /// The integral over `from_ms..=to_ms` in value times seconds, by trapezoids; the ends are
    /// level. `None` where fewer than two samples lie inside.
    pub fn integral(&self, from_ms: u32, to_ms: u32) -> Option<f64> {
        let inside: Vec<(f64, f64)> = self
            .at_ms
            .iter()
            .zip(&self.values)
            .filter(|(at, _)| (from_ms..=to_ms).contains(at))
            .map(|(at, value)| (f64::from(*at), *value))
            .collect();
        let (first, last) = (*inside.first()?, *inside.last()?);
        if inside.len() < 2 {
            return None;
        }
        let middle: f64 = inside
            .windows(2)
            .map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0)
            .sum();
        let ends = (first.0 - f64::from(from_ms)) * first.1 + (f64::from(to_ms) - last.0) * last.1;
        Some((middle + ends) / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_of_a_ramp_is_its_triangle() {
        let mut ramp = Series::default();
        for n in 0..=100u32 {
            ramp.push(n * 100, f64::from(n));
        }
        assert!((ramp.integral(0, 10_000).unwrap() - 500.0).abs() < 1e-9);
        assert_eq!(ramp.integral(20_000, 30_000), None);
        assert_eq!(ramp.samples_in(5_000), 50);
    }
}
