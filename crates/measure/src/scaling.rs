//! How time grows with size: t = a + b·f(N), the law chosen by AICc, with the rivals that cannot be
//! told from it.
//!
//! Invariants: a and b are never negative (overhead and work are not); residuals are relative, as
//! timing noise is; a law is only named when sizes suffice, and rivals within 2 AICc are named too.

use serde::{Deserialize, Serialize};

use crate::statistics::distributions::student_quantile;

/// How the work grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Law {
    /// Not at all.
    #[serde(rename = "1")]
    Constant,
    /// With the logarithm.
    #[serde(rename = "log N")]
    Logarithmic,
    /// In proportion.
    #[serde(rename = "N")]
    Linear,
    /// As sorting does.
    #[serde(rename = "N log N")]
    Linearithmic,
    /// With the power 1.5.
    #[serde(rename = "N^1.5")]
    ThreeHalves,
    /// With the square.
    #[serde(rename = "N^2")]
    Quadratic,
    /// With the cube.
    #[serde(rename = "N^3")]
    Cubic,
}

impl Law {
    /// From the slowest growth to the fastest.
    pub const ALL: [Self; 7] = [
        Self::Constant,
        Self::Logarithmic,
        Self::Linear,
        Self::Linearithmic,
        Self::ThreeHalves,
        Self::Quadratic,
        Self::Cubic,
    ];

    /// f(N).
    pub fn value(self, n: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Logarithmic => n.ln(),
            Self::Linear => n,
            Self::Linearithmic => n * n.ln(),
            Self::ThreeHalves => n.powf(1.5),
            Self::Quadratic => n * n,
            Self::Cubic => n * n * n,
        }
    }

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "1",
            Self::Logarithmic => "log N",
            Self::Linear => "N",
            Self::Linearithmic => "N log N",
            Self::ThreeHalves => "N^1.5",
            Self::Quadratic => "N^2",
            Self::Cubic => "N^3",
        }
    }
}

/// One size with its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizePoint {
    /// N.
    pub size: f64,
    /// Median time.
    pub seconds: f64,
}

/// One law fitted to the points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LawFit {
    /// Which.
    pub law: Law,
    /// Seconds that do not depend on the size.
    pub overhead: f64,
    /// Seconds per f(N).
    pub coefficient: f64,
    /// Root of the mean squared relative residual.
    pub relative_error: f64,
    /// Corrected Akaike criterion; smaller is better.
    pub aicc: f64,
}

impl LawFit {
    /// Time at size `n`.
    pub fn seconds(&self, n: f64) -> f64 {
        self.overhead + self.coefficient * self.law.value(n)
    }
}

/// What a scaling study says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The points, by rising size.
    pub points: Vec<SizePoint>,
    /// The simplest law within 2 AICc of the best.
    pub chosen: LawFit,
    /// Other laws within 2 AICc of the best: these sizes cannot tell them apart.
    pub rivals: Vec<Law>,
    /// Log-log slope over the upper half of the sizes, with a 95 % interval.
    pub exponent: (f64, f64, f64),
    /// Size at which work and overhead take as long: below it a GPU is launch-bound.
    pub balance_size: Option<f64>,
    /// The sizes are too few or too close for any law to be trusted.
    pub too_narrow: bool,
}

impl Scaling {
    /// Whether one law stands alone over enough sizes.
    pub fn is_certain(&self) -> bool {
        self.rivals.is_empty() && !self.too_narrow
    }
}

/// Points below which no law is fitted.
pub const FEWEST_POINTS: usize = 5;
/// Points from which laws are told apart reliably…
const ENOUGH_POINTS: usize = 8;
/// …when the largest size is this many times the smallest.
const ENOUGH_RATIO: f64 = 100.0;

/// Clocks resolve no better than this share of a time: an exact fit must not win by an infinite
/// margin.
const CLOCK_RESOLUTION: f64 = 1e-6;

/// Fits the laws; `None` below five points with different sizes above 1 and positive times.
pub fn fit(points: &[SizePoint]) -> Option<Scaling> {
    fit_resolved(points, CLOCK_RESOLUTION)
}

/// As [`fit`], where readings are no finer than the share `resolution` of themselves: laws that
/// fit better than that are equally good.
pub(crate) fn fit_resolved(points: &[SizePoint], resolution: f64) -> Option<Scaling> {
    let mut points: Vec<SizePoint> = points.to_vec();
    points.sort_by(|a, b| a.size.total_cmp(&b.size));
    points.dedup_by_key(|point| point.size);
    // Logarithms are no scale at 1.
    points.retain(|point| point.size > 1.0);
    let usable = |point: &SizePoint| {
        point.size.is_finite() && point.seconds > 0.0 && point.seconds.is_finite()
    };
    if points.len() < FEWEST_POINTS || !points.iter().all(usable) {
        return None;
    }
    let fits: Vec<LawFit> = Law::ALL
        .iter()
        .map(|law| fit_law(*law, &points, resolution))
        .collect();
    let best = fits
        .iter()
        .map(|fit| fit.aicc)
        .fold(f64::INFINITY, f64::min);
    // A law whose coefficient vanished is the constant law again.
    let mut close = fits.iter().filter(|fit| {
        fit.aicc <= best + 2.0 && (fit.law == Law::Constant || fit.coefficient > 0.0)
    });
    let chosen = *close.next()?;
    let ratio = points[points.len() - 1].size / points[0].size;
    Some(Scaling {
        chosen,
        rivals: close.map(|fit| fit.law).collect(),
        exponent: exponent(&points[points.len() / 2..]),
        balance_size: balance_size(&chosen),
        too_narrow: points.len() < ENOUGH_POINTS || ratio < ENOUGH_RATIO,
        points,
    })
}

/// One law's best fit to points, whatever else fits.
pub fn fit_of(law: Law, points: &[SizePoint]) -> LawFit {
    fit_law(law, points, CLOCK_RESOLUTION)
}

/// Least squares of relative residuals with a, b ≥ 0.
fn fit_law(law: Law, points: &[SizePoint], resolution: f64) -> LawFit {
    // Each row divided by its time: minimise Σ (1 − a/t − b·f/t)².
    let (mut s11, mut s12, mut s22, mut s1, mut s2) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for point in points {
        let (x1, x2) = (1.0 / point.seconds, law.value(point.size) / point.seconds);
        s11 += x1 * x1;
        s12 += x1 * x2;
        s22 += x2 * x2;
        s1 += x1;
        s2 += x2;
    }
    let determinant = s11 * s22 - s12 * s12;
    let (mut overhead, mut coefficient) = (s1 / s11, 0.0);
    if law != Law::Constant && determinant > 1e-12 * s11 * s22 {
        let a = (s22 * s1 - s12 * s2) / determinant;
        let b = (s11 * s2 - s12 * s1) / determinant;
        if b > 0.0 && a >= 0.0 {
            (overhead, coefficient) = (a, b);
        } else if b > 0.0 {
            (overhead, coefficient) = (0.0, s2 / s22);
        }
    }
    let n = points.len() as f64;
    let squares: f64 = points
        .iter()
        .map(|p| (1.0 - (overhead + coefficient * law.value(p.size)) / p.seconds).powi(2))
        .sum();
    let mean_square = (squares / n).max(resolution * resolution);
    let parameters = if law == Law::Constant { 2.0 } else { 3.0 };
    LawFit {
        law,
        overhead: if law == Law::Constant { 0.0 } else { overhead },
        coefficient: if law == Law::Constant {
            overhead
        } else {
            coefficient
        },
        relative_error: mean_square.sqrt(),
        aicc: n * mean_square.ln()
            + 2.0 * parameters
            + 2.0 * parameters * (parameters + 1.0) / (n - parameters - 1.0),
    }
}

/// Slope of ln t over ln N with a Student interval.
fn exponent(points: &[SizePoint]) -> (f64, f64, f64) {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points
        .iter()
        .map(|p| (p.size.ln(), p.seconds.ln()))
        .collect();
    let (mx, my) = (
        logs.iter().map(|(x, _)| x).sum::<f64>() / n,
        logs.iter().map(|(_, y)| y).sum::<f64>() / n,
    );
    let sxx: f64 = logs.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    let slope = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / sxx;
    let squares: f64 = logs
        .iter()
        .map(|(x, y)| (y - my - slope * (x - mx)).powi(2))
        .sum();
    let freedom = n - 2.0;
    let error = (squares / freedom / sxx).sqrt();
    let reach = student_quantile(0.975, freedom) * error;
    (slope, slope - reach, slope + reach)
}

/// f⁻¹(a/b), by bisection since every law but the constant rises.
fn balance_size(fit: &LawFit) -> Option<f64> {
    if fit.law == Law::Constant || fit.overhead <= 0.0 {
        return None;
    }
    let wanted = fit.overhead / fit.coefficient;
    let (mut low, mut high) = (1.0f64, 1e18f64);
    if fit.law.value(high) < wanted {
        return None;
    }
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if fit.law.value(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    fn points(sizes: &[f64], law: Law, overhead: f64, coefficient: f64) -> Vec<SizePoint> {
        sizes
            .iter()
            .map(|size| SizePoint {
                size: *size,
                seconds: overhead + coefficient * law.value(*size),
            })
            .collect()
    }

    const SIZES: [f64; 8] = [256., 512., 1024., 2048., 4096., 8192., 16384., 32768.];

    #[test]
    fn exact_points_give_their_law_back() {
        for law in Law::ALL {
            let scaling = fit(&points(&SIZES, law, 1e-6, 1e-9)).unwrap();
            assert_eq!(scaling.chosen.law, law);
            assert!(scaling.is_certain(), "{scaling:?}");
        }
    }

    #[test]
    fn the_balance_size_is_where_work_equals_overhead() {
        let scaling = fit(&points(&SIZES, Law::Linear, 10e-6, 5e-9)).unwrap();
        assert!((scaling.balance_size.unwrap() - 2000.0).abs() < 1.0);
        assert!(
            fit(&points(&SIZES, Law::Linear, 0.0, 5e-9))
                .unwrap()
                .balance_size
                .is_none()
        );
    }

    #[test]
    fn few_close_sizes_cannot_tell() {
        let mut random = Random::seeded(2);
        let mut told = 0;
        for _ in 0..100 {
            let mut noisy = points(&[50., 100., 200., 500., 1000.], Law::Linear, 5e-6, 1e-8);
            for point in &mut noisy {
                point.seconds *= 1.0 + 0.03 * random.normal();
            }
            let scaling = fit(&noisy).unwrap();
            assert!(scaling.too_narrow);
            told += usize::from(scaling.is_certain());
        }
        assert_eq!(told, 0);
    }

    #[test]
    fn nonsense_is_not_fitted() {
        assert!(fit(&points(&SIZES[..4], Law::Linear, 0.0, 1.0)).is_none());
        assert!(fit(&points(&[0., 1., 2., 3., 4., 5.], Law::Linear, 1.0, 1.0)).is_none());
        assert!(fit(&points(&SIZES, Law::Linear, 0.0, -1.0)).is_none());
        assert!(
            fit(&[SizePoint {
                size: 8.0,
                seconds: 1.0
            }; 9])
            .is_none()
        );
    }
}
