//! The slope of marks with an interval that holds whether their noise is stationary or wanders.
//!
//! Generalised least squares with first-order autoregressive errors. Unless a Dickey–Fuller test
//! says that the noise returns to its level, it is taken as a random walk, in the spirit of Perron
//! and Yabu's test for a trend (2009): then the slope rests on the differences, and a wandering
//! floor is not mistaken for a growing one. Correlation left in the residuals widens the interval.
//!
//! A warm-up bends the marks. Bend is not correlation: where a decaying term (logarithmic,
//! algebraic or exponential) is significant it joins the model, and the slope is what remains in
//! the long run. Level shifts join as steps.

use crate::statistics::correlation::integrated_time;
use crate::statistics::distributions::{student_cdf, student_quantile};

/// A fitted trend, per mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Rise per mark in the long run.
    pub slope: f64,
    /// Standard error of the slope.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
    /// The autoregression used: 0 independent, 1 a random walk.
    pub autoregression: f64,
    /// A decaying warm-up was seen and separated.
    pub bent: bool,
}

impl Trend {
    /// Probability of a slope at least this high were the true one zero or less.
    pub fn p_growth(&self) -> f64 {
        if self.error > 0.0 {
            student_cdf(-self.slope / self.error, self.freedom)
        } else if self.slope > 0.0 {
            0.0
        } else {
            1.0
        }
    }

    /// Half the width of the interval that misses with probability `alpha`.
    pub fn reach(&self, alpha: f64) -> f64 {
        student_quantile(1.0 - 0.5 * alpha, self.freedom) * self.error
    }
}

/// A trend with the marks as they would be without warm-up and shifts.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The long-run growth.
    pub trend: Trend,
    /// The marks less everything but growth and noise.
    pub settled: Vec<f64>,
}

/// How clear a bend must be (in standard errors) before it joins the model.
const BEND: f64 = 2.5;
/// Decay times of exponential warm-ups that are tried, as shares of the marks.
const DECAYS: [f64; 14] = [
    0.02, 0.027, 0.036, 0.048, 0.064, 0.085, 0.11, 0.15, 0.2, 0.27, 0.36, 0.48, 0.64, 0.85,
];
/// Beginnings of logarithmic and algebraic warm-ups that are tried, in marks before the first step.
const BEGINNINGS: [f64; 10] = [0.25, 0.4, 0.6, 0.9, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0];
/// Powers of the time with which algebraic warm-ups fade; a cache that fills does so with 1.
const POWERS: [f64; 3] = [0.5, 1.0, 2.0];

/// The share of a warm-up's movement that may be mistaken for growth.
const MISFIT: f64 = 0.01;

/// Fits the trend of `marks`, which were met at `places`, in marks from the first; `age` is how many
/// marks' worth of steps went before those;
/// `shifts` are the marks that are first on a new level. `None` where the marks are
/// too few for the terms.
pub fn fit(marks: &[f64], places: &[f64], age: f64, shifts: &[usize]) -> Option<Fit> {
    let n = marks.len().min(places.len());
    let mut columns: Vec<Vec<f64>> = vec![places.to_vec()];
    for shift in shifts {
        columns.push((0..n).map(|i| f64::from(u8::from(i >= *shift))).collect());
    }
    let straight = gls(marks, &columns)?;
    // Each is written so that a warm-up has a positive coefficient.
    let time = |before: f64| places.iter().map(move |place| age + place + before);
    let logarithm = |before: &f64| time(*before).map(f64::ln).collect();
    let algebraic = POWERS.iter().flat_map(|power| {
        let fading = move |t: f64| -t.powf(-power);
        BEGINNINGS
            .iter()
            .map(move |before| time(*before).map(fading).collect())
    });
    let exponential = |share: &f64| {
        let decay = share * (n as f64 + age);
        places.iter().map(|place| -(-place / decay).exp()).collect()
    };
    let mut bends: Vec<(Fitted, Vec<f64>)> = BEGINNINGS
        .iter()
        .map(logarithm)
        .chain(algebraic)
        .chain(DECAYS.iter().map(exponential))
        .filter_map(|bend: Vec<f64>| {
            let mut with_bend = columns.clone();
            with_bend.push(bend);
            let fitted = gls(marks, &with_bend)?;
            let last = fitted.coefficients.len() - 2;
            let clear = fitted.coefficients[last] > BEND * fitted.errors[last];
            clear.then(|| (fitted, with_bend.pop().unwrap_or_default()))
        })
        .collect();
    bends.sort_by(|(one, _), (other, _)| one.squares.total_cmp(&other.squares));
    let trend = match bends.first() {
        None => straight.trend(false),
        Some((best, bend)) => {
            // Warm-ups that fit as well are as likely: the error reaches over their slopes.
            let plausible = best.squares * (1.0 + 4.0 / n as f64);
            let mut trend = best.trend(true);
            let (first, last) = (bend[0], bend[n - 1]);
            let moved = best.coefficients[columns.len()] * (last - first);
            // No warm-up follows its formula exactly.
            trend.error = trend.error.hypot(MISFIT * moved.abs() / n as f64);
            for (other, _) in bends.iter().filter(|(other, _)| other.squares <= plausible) {
                let apart = (other.coefficients[0] - trend.slope).abs();
                trend.error = trend.error.max(other.errors[0] + 0.5 * apart);
            }
            trend
        }
    };
    let fitted = match bends.into_iter().next() {
        None => straight,
        Some((best, bend)) => {
            columns.push(bend);
            best
        }
    };
    let settled = (0..n)
        .map(|i| {
            let moved: f64 = columns[1..]
                .iter()
                .zip(&fitted.coefficients[1..])
                .map(|(column, coefficient)| column[i] * coefficient)
                .sum();
            marks[i] - moved
        })
        .collect();
    Some(Fit { trend, settled })
}

/// The trend of marks that have been settled already.
pub fn fit_straight(marks: &[f64], places: &[f64]) -> Option<Trend> {
    Some(gls(marks, &[places.to_vec()])?.trend(false))
}

struct Fitted {
    /// Of the columns, then of the constant (absent over a random walk, which has no level: NaN).
    coefficients: Vec<f64>,
    errors: Vec<f64>,
    freedom: f64,
    autoregression: f64,
    /// Squared residuals of plain least squares, which models are compared by.
    squares: f64,
}

impl Fitted {
    fn trend(&self, bent: bool) -> Trend {
        Trend {
            slope: self.coefficients[0],
            error: self.errors[0],
            freedom: self.freedom,
            autoregression: self.autoregression,
            bent,
        }
    }
}

/// Regression on `columns` and a constant with autoregressive errors.
fn gls(marks: &[f64], columns: &[Vec<f64>]) -> Option<Fitted> {
    let count = marks.len();
    if count < columns.len() + 6 {
        return None;
    }
    let rows: Vec<Vec<f64>> = (0..count)
        .map(|i| columns.iter().map(|c| c[i]).chain([1.0]).collect())
        .collect();
    let plain = least_squares(&rows, marks)?;
    let off = residuals(&rows, marks, &plain.coefficients);
    let squares: f64 = off.iter().map(|r| r * r).sum();
    let autoregression = autoregression(&off, columns.len());
    let walk = autoregression == 1.0;
    // A constant has no difference: over a random walk it leaves the model.
    let width = if walk {
        columns.len()
    } else {
        columns.len() + 1
    };
    let mut changed_rows = Vec::with_capacity(count);
    let mut changed = Vec::with_capacity(count);
    if !walk {
        let scale = (1.0 - autoregression * autoregression).sqrt();
        changed_rows.push(rows[0].iter().map(|x| x * scale).collect::<Vec<_>>());
        changed.push(marks[0] * scale);
    }
    for i in 1..count {
        changed_rows.push(
            (0..width)
                .map(|c| rows[i][c] - autoregression * rows[i - 1][c])
                .collect(),
        );
        changed.push(marks[i] - autoregression * marks[i - 1]);
    }
    let fitted = least_squares(&changed_rows, &changed)?;
    let left = residuals(&changed_rows, &changed, &fitted.coefficients);
    let freedom = changed.len() as f64 - width as f64;
    let variance = left.iter().map(|r| r * r).sum::<f64>() / freedom * integrated_time(&left);
    let mut errors: Vec<f64> = fitted
        .inverse_diagonal
        .iter()
        .map(|d| (d * variance).max(0.0).sqrt())
        .collect();
    let mut coefficients = fitted.coefficients;
    coefficients.resize(columns.len() + 1, f64::NAN);
    errors.resize(columns.len() + 1, f64::NAN);
    Some(Fitted {
        coefficients,
        errors,
        freedom,
        autoregression,
        squares,
    })
}

/// The autoregression of residuals from a fit of `columns` terms and a constant: 1 unless a
/// Dickey–Fuller test rejects a random walk.
fn autoregression(residuals: &[f64], columns: usize) -> f64 {
    let n = residuals.len() as f64;
    let squares: f64 = residuals[..residuals.len() - 1].iter().map(|r| r * r).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = products / squares;
    let left: f64 = residuals
        .windows(2)
        .map(|pair| (pair[1] - raw * pair[0]).powi(2))
        .sum();
    let error = (left / (n - 2.0) / squares).sqrt();
    // 5 % point of the test with a linear trend (MacKinnon 2010: −3.41 − 4.04/n), lower by about
    // 0.4 for each further term that the residuals were made flat with.
    let critical = -3.41 - 4.04 / n - 0.4 * (columns as f64 - 1.0);
    if raw - 1.0 > critical * error {
        return 1.0;
    }
    // Detrending biases the estimate down.
    let terms = columns as f64 + 1.0;
    let corrected = (raw + terms / n) / (1.0 - 2.0 * terms / n);
    corrected.clamp(0.0, 0.99)
}

fn residuals(rows: &[Vec<f64>], values: &[f64], coefficients: &[f64]) -> Vec<f64> {
    rows.iter()
        .zip(values)
        .map(|(row, value)| {
            value
                - row
                    .iter()
                    .zip(coefficients)
                    .map(|(x, c)| x * c)
                    .sum::<f64>()
        })
        .collect()
}

struct Solved {
    coefficients: Vec<f64>,
    inverse_diagonal: Vec<f64>,
}

/// Least squares by the normal equations; columns are scaled first, and a handful of them keep the
/// conditioning far from trouble. `None` where the columns do not differ.
fn least_squares(rows: &[Vec<f64>], values: &[f64]) -> Option<Solved> {
    let width = rows.first()?.len();
    let scale: Vec<f64> = (0..width)
        .map(|c| rows.iter().map(|row| row[c] * row[c]).sum::<f64>().sqrt())
        .collect();
    if scale.contains(&0.0) {
        return None;
    }
    // [XᵀX | Xᵀy | I], reduced in place.
    let mut matrix = vec![vec![0.0; 2 * width + 1]; width];
    for (r, line) in matrix.iter_mut().enumerate() {
        for c in 0..width {
            line[c] = rows.iter().map(|row| row[r] * row[c]).sum::<f64>() / (scale[r] * scale[c]);
        }
        line[width] = rows
            .iter()
            .zip(values)
            .map(|(row, y)| row[r] * y)
            .sum::<f64>()
            / scale[r];
        line[width + 1 + r] = 1.0;
    }
    for pivot in 0..width {
        let best = (pivot..width)
            .max_by(|a, b| matrix[*a][pivot].abs().total_cmp(&matrix[*b][pivot].abs()))?;
        matrix.swap(pivot, best);
        let divisor = matrix[pivot][pivot];
        if divisor.abs() < 1e-12 {
            return None;
        }
        matrix[pivot].iter_mut().for_each(|x| *x /= divisor);
        let source = matrix[pivot].clone();
        for (r, line) in matrix.iter_mut().enumerate() {
            let factor = line[pivot];
            if r != pivot && factor != 0.0 {
                line.iter_mut()
                    .zip(&source)
                    .for_each(|(x, s)| *x -= factor * s);
            }
        }
    }
    Some(Solved {
        coefficients: (0..width).map(|r| matrix[r][width] / scale[r]).collect(),
        inverse_diagonal: (0..width)
            .map(|r| matrix[r][width + 1 + r] / (scale[r] * scale[r]))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    fn fit_evenly(marks: &[f64], age: f64) -> Option<Fit> {
        let places: Vec<f64> = (0..marks.len()).map(|i| i as f64).collect();
        fit(marks, &places, age, &[])
    }

    fn simulate(seed: u64, slope: f64, rho: f64) -> Vec<f64> {
        let mut random = Random::seeded(seed);
        let mut state = 0.0;
        (0..60)
            .map(|i| {
                state = rho * state + random.normal();
                slope * f64::from(i) + state
            })
            .collect()
    }

    #[test]
    fn growth_is_rarely_seen_where_there_is_none_even_in_a_random_walk() {
        for rho in [0.0, 0.5, 0.9, 0.97, 1.0] {
            let called = (0..1000)
                .filter(|seed| {
                    let trend = fit_evenly(&simulate(*seed, 0.0, rho), 10.0).unwrap().trend;
                    trend.p_growth() < 0.005
                })
                .count();
            assert!(called <= 30, "ρ {rho}: {called} of 1000");
        }
    }

    #[test]
    fn intervals_hold_the_slope() {
        for rho in [0.0, 0.6, 1.0] {
            let held = (0..600)
                .filter(|seed| {
                    let trend = fit_evenly(&simulate(*seed, 0.7, rho), 10.0).unwrap().trend;
                    (trend.slope - 0.7).abs() <= trend.reach(0.05)
                })
                .count();
            assert!(held >= 540, "ρ {rho}: {held} of 600");
        }
    }

    #[test]
    fn an_exact_line_has_its_slope_and_no_error() {
        let line: Vec<f64> = (0..40).map(|i| 3.0 + 2.0 * f64::from(i)).collect();
        let trend = fit_evenly(&line, 5.0).unwrap().trend;
        assert!((trend.slope - 2.0).abs() < 1e-9 && trend.p_growth() < 1e-9);
        assert!(fit_evenly(&line[..6], 5.0).is_none());
    }

    #[test]
    fn a_logarithmic_warm_up_is_bend_not_growth() {
        let mut random = Random::seeded(3);
        let marks: Vec<f64> = (0..60)
            .map(|i| 100.0 * f64::from(i + 7).ln() + 0.2 * random.normal())
            .collect();
        let trend = fit_evenly(&marks, 6.0).unwrap().trend;
        assert!(trend.bent && trend.p_growth() > 0.005, "{trend:?}");
    }
}
