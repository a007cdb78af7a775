//! Time of one pass as a function of size: straight lines between measurements in log-log.
//!
//! Invariants: sizes rise strictly, all numbers are positive and finite. Below the first point the
//! time stays what it was there (latency), above the last one it grows in proportion to the size.

use super::error::ChooserError;

/// More points than a calibration takes.
const MOST: usize = 24;

/// A curve through measurements; it lives on the stack, so that looking up allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Natural logarithms of size and seconds.
    points: [(f64, f64); MOST],
    length: usize,
}

impl Curve {
    /// A curve through `(size, seconds)` with rising sizes.
    pub fn through(points: &[(f64, f64)]) -> Result<Self, ChooserError> {
        let bad = |problem| ChooserError::Number {
            what: format!("a curve through {} points", points.len()),
            problem,
        };
        if points.is_empty() || points.len() > MOST {
            return Err(bad("it takes one to 24 points"));
        }
        let number = |value: f64| value.is_finite() && value > 0.0;
        if !points
            .iter()
            .all(|&(size, seconds)| number(size) && number(seconds))
        {
            return Err(bad("sizes and times must be above zero"));
        }
        if !points.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(bad("sizes must rise"));
        }
        let mut curve = Self {
            points: [(0.0, 0.0); MOST],
            length: points.len(),
        };
        for (place, &(size, seconds)) in curve.points.iter_mut().zip(points) {
            *place = (size.ln(), seconds.ln());
        }
        Ok(curve)
    }

    /// The same time at every size.
    pub fn constant(seconds: f64) -> Self {
        // Beyond the last point a curve rises, so that point lies where no size does.
        Self::one_point(f64::MAX, seconds)
    }

    /// `seconds` up to `size`, then in proportion to the size.
    pub fn rising_from(size: f64, seconds: f64) -> Self {
        Self::one_point(size, seconds)
    }

    fn one_point(size: f64, seconds: f64) -> Self {
        let mut curve = Self {
            points: [(0.0, 0.0); MOST],
            length: 1,
        };
        let positive = |value: f64| {
            if value > 0.0 {
                value
            } else {
                f64::MIN_POSITIVE
            }
        };
        curve.points[0] = (positive(size).ln(), positive(seconds).ln());
        curve
    }

    /// Seconds of a pass over `size`.
    pub fn seconds(&self, size: f64) -> f64 {
        let points = &self.points[..self.length];
        let at = size.max(f64::MIN_POSITIVE).ln();
        let above = points.partition_point(|&(size, _)| size <= at);
        let value = match (above.checked_sub(1), points.get(above)) {
            (None, Some(&(_, first))) => first,
            (Some(last), None) => points[last].1 + (at - points[last].0),
            (Some(below), Some(&(x1, y1))) => {
                let (x0, y0) = points[below];
                y0 + (at - x0) / (x1 - x0) * (y1 - y0)
            }
            (None, None) => return f64::INFINITY,
        };
        value.exp()
    }

    /// The measurements.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points[..self.length]
            .iter()
            .map(|&(size, seconds)| (size.exp(), seconds.exp()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_curve_goes_through_its_points_and_on_sensibly() {
        let curve = Curve::through(&[(10.0, 1e-6), (1000.0, 1e-5), (1e5, 1e-3)]).unwrap();
        let close = |size: f64, seconds: f64| {
            assert!((curve.seconds(size) / seconds - 1.0).abs() < 1e-9, "{size}");
        };
        close(10.0, 1e-6);
        close(1000.0, 1e-5);
        close(100.0, 10f64.powf(-5.5));
        close(1.0, 1e-6);
        close(1e6, 1e-2);
        assert!((Curve::constant(2.0).seconds(1e30) / 2.0 - 1.0).abs() < 1e-9);
        assert!((Curve::rising_from(8.0, 2.0).seconds(16.0) / 4.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_measurement_is_refused() {
        for points in [
            &[][..],
            &[(1.0, 0.0)],
            &[(1.0, f64::NAN)],
            &[(2.0, 1.0), (1.0, 2.0)],
            &[(1.0, 1.0), (1.0, 2.0)],
            &[(-1.0, 1.0)],
            &[(1.0, 1.0); 25],
        ] {
            assert!(Curve::through(points).is_err(), "{points:?}");
        }
    }

    proptest! {
        #[test]
        fn between_two_points_the_time_is_between_theirs(
            x in 1.0f64..100.0, dx in 1.0f64..100.0, a in 1e-9f64..1.0, b in 1e-9f64..1.0, t in 0.0f64..1.0,
        ) {
            let curve = Curve::through(&[(x, a), (x + dx, b)]).unwrap();
            let value = curve.seconds(x + t * dx);
            prop_assert!(value >= 0.999_999 * a.min(b) && value <= 1.000_001 * a.max(b));
        }
    }
}
