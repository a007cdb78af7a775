//! Recursive filters of any order, by their coefficients.

use crate::error::{Result, SignalError};

/// The most coefficients of a side: sums of more in a chain lose what filters of high order are for.
const MOST: usize = 1024;

/// `Σ a[i]·y[n−i] = Σ b[i]·x[n−i]` in place, from silence on.
///
/// Transposed direct form II in double precision: its state is one sum to a coefficient, and rounding to
/// `f32` happens once to a sample.
///
/// # Errors
/// Where a side has no coefficient, more than 1024 or one that is not finite, and where `a[0]` is 0.
pub fn filter_recursively(signal: &mut [f32], a: &[f64], b: &[f64]) -> Result<()> {
    let usable = |side: &[f64]| {
        (1..=MOST).contains(&side.len()) && side.iter().all(|value| value.is_finite())
    };
    if !usable(a) || !usable(b) || a[0] == 0.0 {
        return Err(SignalError::parameter(
            "the filter's coefficients",
            format!("{} and {}", a.len(), b.len()),
            format!("1 to {MOST} finite numbers on each side, and an a[0] that is not 0"),
        ));
    }
    let order = a.len().max(b.len());
    let scaled = |side: &[f64]| {
        let mut all: Vec<f64> = side.iter().map(|value| value / a[0]).collect();
        all.resize(order, 0.0);
        all
    };
    let (a, b) = (scaled(a), scaled(b));
    // One state more than the order, always 0, so that the last sum needs no case of its own.
    let mut state = vec![0.0; order];
    for sample in signal {
        let x = f64::from(*sample);
        let y = b[0].mul_add(x, state[0]);
        for i in 1..order {
            let next = state.get(i).copied().unwrap_or(0.0);
            state[i - 1] = b[i].mul_add(x, (-a[i]).mul_add(y, next));
        }
        *sample = y as f32;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_its_equation() {
        let (a, b) = ([2.0, -0.6, 0.3, 0.1], [0.5, 0.25]);
        let signal: Vec<f32> = (0..200).map(|n| (n as f32 * 0.7).sin()).collect();
        let mut found = signal.clone();
        filter_recursively(&mut found, &a, &b).unwrap();
        let mut wanted: Vec<f64> = Vec::new();
        for n in 0..signal.len() {
            let fed: f64 = (0..b.len().min(n + 1))
                .map(|i| b[i] * f64::from(signal[n - i]))
                .sum();
            let back: f64 = (1..a.len().min(n + 1)).map(|i| a[i] * wanted[n - i]).sum();
            wanted.push((fed - back) / a[0]);
        }
        for (one, other) in found.iter().zip(&wanted) {
            assert!((f64::from(*one) - other).abs() < 1e-6);
        }
    }

    #[test]
    fn a_gain_has_no_state_and_bad_coefficients_are_refused() {
        let mut signal = [1.0, -2.0];
        filter_recursively(&mut signal, &[2.0], &[1.0]).unwrap();
        assert_eq!(signal, [0.5, -1.0]);
        for (a, b) in [
            (vec![], vec![1.0]),
            (vec![1.0], vec![]),
            (vec![0.0, 1.0], vec![1.0]),
            (vec![1.0, f64::NAN], vec![1.0]),
            (vec![1.0; 1025], vec![1.0]),
        ] {
            assert!(filter_recursively(&mut signal, &a, &b).is_err());
        }
    }
}
