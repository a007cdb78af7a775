//! Vibrato: a regular swing of the pitch, its rate and its depth.
//!
//! In windows of 0.6 s the contour, in cents and without its trend, is compared with sines of every
//! rate between 3 and 9 Hz; the best one that explains most of the swing is the vibrato.

use std::f64::consts::TAU;

use serde::Serialize;

/// Rates that count as vibrato, Hz.
const RATES: (f64, f64) = (3.0, 9.0);
/// Length of a window, seconds.
const WINDOW_SECONDS: f64 = 0.6;
/// Least depth, cents either way.
const LEAST_DEPTH: f64 = 10.0;
/// Least share of the swing that one sine explains.
const LEAST_SHARE: f64 = 0.6;

/// The vibrato around a frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Vibrato {
    /// Swings in a second.
    pub rate_hz: f64,
    /// Largest distance from the middle, cents.
    pub depth_cents: f64,
    /// Share of the contour's swing that the sine explains, 0 to 1.
    pub regularity: f64,
}

/// The vibrato around every frame of a track with frames `hop_seconds` apart; frequencies that are
/// not above 0 are unvoiced. `None` where there is no vibrato, or not a whole window of voice.
pub fn find_vibrato(frequencies: &[f32], hop_seconds: f64) -> Vec<Option<Vibrato>> {
    let half = (WINDOW_SECONDS / hop_seconds / 2.0).round() as usize;
    let cents: Vec<Option<f64>> = frequencies
        .iter()
        .map(|hz| (*hz > 0.0).then(|| 1200.0 * f64::from(*hz).log2()))
        .collect();
    (0..cents.len())
        .map(|frame| {
            let window = cents.get(frame.checked_sub(half)?..=frame + half)?;
            let window: Option<Vec<f64>> = window.iter().copied().collect();
            best_sine(&window?, hop_seconds)
        })
        .collect()
}

fn best_sine(cents: &[f64], hop_seconds: f64) -> Option<Vibrato> {
    let mut best = (f64::INFINITY, 0.0);
    let steps = 24;
    for step in 0..=steps {
        let rate = RATES.0 + (RATES.1 - RATES.0) * f64::from(step) / f64::from(steps);
        let (left, _) = residue(cents, rate, hop_seconds);
        if left < best.0 {
            best = (left, rate);
        }
    }
    // Golden section around the best of the grid.
    let width = (RATES.1 - RATES.0) / f64::from(steps);
    let (mut low, mut high) = (best.1 - width, best.1 + width);
    for _ in 0..18 {
        let golden = 0.381_966 * (high - low);
        let (a, b) = (low + golden, high - golden);
        if residue(cents, a, hop_seconds).0 < residue(cents, b, hop_seconds).0 {
            high = b;
        } else {
            low = a;
        }
    }
    let rate = f64::midpoint(low, high);
    let (left, depth) = residue(cents, rate, hop_seconds);
    let regularity = 1.0 - left / residue(cents, 0.0, hop_seconds).0.max(f64::MIN_POSITIVE);
    let inside = (RATES.0..=RATES.1).contains(&rate);
    (inside && depth >= LEAST_DEPTH && regularity >= LEAST_SHARE).then_some(Vibrato {
        rate_hz: rate,
        depth_cents: depth,
        regularity,
    })
}

/// What a line and a sine of `rate` leave of the contour (sum of squares), and the sine's amplitude;
/// a rate of 0 is the line alone.
fn residue(cents: &[f64], rate: f64, hop_seconds: f64) -> (f64, f64) {
    let middle = (cents.len() - 1) as f64 / 2.0;
    let columns = if rate > 0.0 { 4 } else { 2 };
    let basis = |n: usize| {
        let t = (n as f64 - middle) * hop_seconds;
        let (sin, cos) = (TAU * rate * t).sin_cos();
        [1.0, t, sin, cos]
    };
    // The normal equations of at most four unknowns, solved by elimination.
    let mut matrix = [[0.0f64; 5]; 4];
    let mean = cents.iter().sum::<f64>() / cents.len() as f64;
    for (n, y) in cents.iter().enumerate() {
        let row = basis(n);
        for (line, a) in matrix.iter_mut().zip(row).take(columns) {
            for (slot, b) in line.iter_mut().zip(row).take(columns) {
                *slot += a * b;
            }
            line[4] += a * (y - mean);
        }
    }
    let mut solution = [0.0f64; 4];
    for pivot in 0..columns {
        let divisor = matrix[pivot][pivot];
        if divisor.abs() < 1e-12 {
            continue;
        }
        let (above, below) = matrix.split_at_mut(pivot + 1);
        for line in below.iter_mut().take(columns - pivot - 1) {
            let factor = line[pivot] / divisor;
            for (slot, value) in line.iter_mut().zip(&above[pivot]).skip(pivot) {
                *slot -= factor * value;
            }
        }
    }
    for row in (0..columns).rev() {
        let known: f64 = (row + 1..columns)
            .map(|c| matrix[row][c] * solution[c])
            .sum();
        if matrix[row][row].abs() >= 1e-12 {
            solution[row] = (matrix[row][4] - known) / matrix[row][row];
        }
    }
    let left = cents
        .iter()
        .enumerate()
        .map(|(n, y)| {
            let row = basis(n);
            let fit: f64 = (0..columns).map(|c| row[c] * solution[c]).sum();
            (y - mean - fit).powi(2)
        })
        .sum();
    (left, solution[2].hypot(solution[3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contour(rate: f64, depth: f64) -> Vec<f32> {
        (0..200)
            .map(|n| {
                let t = f64::from(n) * 0.01;
                let cents = depth * (TAU * rate * t).sin() + 40.0 * t;
                (220.0 * (cents / 1200.0).exp2()) as f32
            })
            .collect()
    }

    #[test]
    fn rate_and_depth_are_those_of_the_swing() {
        for (rate, depth) in [(5.5, 100.0), (4.2, 40.0), (7.1, 25.0)] {
            let found = find_vibrato(&contour(rate, depth), 0.01);
            assert_eq!(found.len(), 200);
            assert!(found[..30].iter().all(Option::is_none));
            for vibrato in &found[30..170] {
                let vibrato = vibrato.unwrap();
                assert!((vibrato.rate_hz - rate).abs() < 0.1, "{vibrato:?}");
                assert!((vibrato.depth_cents - depth).abs() < 3.0, "{vibrato:?}");
            }
        }
    }

    #[test]
    fn steady_gliding_and_broken_tones_have_none() {
        assert!(
            find_vibrato(&contour(5.0, 4.0), 0.01)
                .iter()
                .all(Option::is_none)
        );
        assert!(
            find_vibrato(&contour(1.0, 80.0), 0.01)
                .iter()
                .all(Option::is_none)
        );
        let mut broken = contour(5.5, 100.0);
        for hz in broken.iter_mut().step_by(40) {
            *hz = 0.0;
        }
        assert!(find_vibrato(&broken, 0.01).iter().all(Option::is_none));
        assert!(find_vibrato(&[], 0.01).is_empty());
    }
}
