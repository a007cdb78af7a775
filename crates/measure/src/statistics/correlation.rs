//! How much samples repeat each other: the integrated autocorrelation time, by which the number of
//! samples is divided to count independent ones.
//!
//! Geyer's initial monotone sequence: autocovariances are added in adjacent pairs, none larger than
//! the one before, until a pair is not positive. Users pass ranks, so that one spike does not decide.

/// The integrated autocorrelation time of `series`, at least 1; 1 for a constant series.
///
/// `n / τ` is the number of independent samples that determine the mean as well.
pub fn integrated_time(series: &[f64]) -> f64 {
    let centred = centre(series);
    let variance = autocovariance(&centred, 0);
    if variance <= 0.0 || variance.is_nan() {
        return 1.0;
    }
    (long_run_variance(&centred) / variance).max(1.0)
}

/// The correlation of neighbours; 0 for a constant series.
pub fn lag_one(series: &[f64]) -> f64 {
    let centred = centre(series);
    let variance = autocovariance(&centred, 0);
    if variance > 0.0 {
        autocovariance(&centred, 1) / variance
    } else {
        0.0
    }
}

pub(crate) fn centre(series: &[f64]) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
    series.iter().map(|value| value - mean).collect()
}

pub(crate) fn autocovariance(centred: &[f64], lag: usize) -> f64 {
    if lag >= centred.len() {
        return 0.0;
    }
    let products = centred[..centred.len() - lag].iter().zip(&centred[lag..]);
    products.map(|(a, b)| a * b).sum::<f64>() / centred.len() as f64
}

/// n · Var(mean) of a centred series.
fn long_run_variance(centred: &[f64]) -> f64 {
    /// Beyond this lag a long series is averaged over blocks first, which keeps n · Var(mean) and
    /// bounds the work: a million samples with a correlation time of thousands stay cheap.
    const DIRECT_LAGS: usize = 256;
    const BLOCK: usize = 8;
    let mut sum = 0.0;
    let mut lag = 0;
    let mut previous = f64::INFINITY;
    while lag + 1 < centred.len() {
        let pair = autocovariance(centred, lag) + autocovariance(centred, lag + 1);
        if pair <= 0.0 {
            break;
        }
        // Without this the noise of the far pairs that happen to be positive piles up.
        previous = pair.min(previous);
        sum += previous;
        lag += 2;
        if lag >= DIRECT_LAGS && centred.len() >= 16 * DIRECT_LAGS * BLOCK {
            let blocks: Vec<f64> = centred
                .chunks_exact(BLOCK)
                .map(|block| block.iter().sum::<f64>() / BLOCK as f64)
                .collect();
            return BLOCK as f64 * long_run_variance(&centre(&blocks));
        }
    }
    2.0 * sum - autocovariance(centred, 0)
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    fn autoregressive(n: usize, rho: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::seeded(seed);
        let mut state = random.normal();
        let fresh = (1.0 - rho * rho).sqrt();
        (0..n)
            .map(|_| {
                state = rho * state + fresh * random.normal();
                state
            })
            .collect()
    }

    #[test]
    fn independent_samples_have_a_time_near_one() {
        let tau = integrated_time(&autoregressive(20_000, 0.0, 1));
        assert!((1.0..1.15).contains(&tau), "{tau}");
    }

    #[test]
    fn an_autoregression_has_its_textbook_time() {
        for (rho, n) in [(0.5, 40_000), (0.9, 100_000), (0.99, 400_000)] {
            let expected = (1.0 + rho) / (1.0 - rho);
            let tau = integrated_time(&autoregressive(n, rho, 2));
            assert!(
                (tau / expected - 1.0).abs() < 0.2,
                "{rho}: {tau} for {expected}"
            );
        }
    }

    #[test]
    fn a_constant_series_counts_every_sample() {
        assert_eq!(integrated_time(&[5.0; 100]), 1.0);
        assert_eq!(lag_one(&[5.0; 100]), 0.0);
        assert_eq!(integrated_time(&[]), 1.0);
    }

    #[test]
    fn alternation_is_negative_correlation_and_never_counts_below_one() {
        let series: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(integrated_time(&series), 1.0);
        assert!(lag_one(&series) < -0.95);
    }
}
