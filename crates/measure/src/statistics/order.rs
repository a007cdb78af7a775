//! Samples in order: sorted values with the rank of every sample, made once and shared by the
//! figures that need them.
//!
//! Invariant: a sample is finite; the constructor refuses others, so nothing downstream meets NaN.

/// Sorted samples and the rank of each in the order taken.
#[derive(Clone, Debug)]
pub struct Ordered {
    sorted: Vec<f64>,
    ranks: Vec<f64>,
}

impl Ordered {
    /// Sorts `samples`; `None` if one of them is not finite.
    pub fn new(samples: &[f64]) -> Option<Self> {
        if !samples.iter().all(|sample| sample.is_finite()) || u32::try_from(samples.len()).is_err()
        {
            return None;
        }
        // Keys that rise with the value sort as integers, which is twice as fast as `total_cmp`.
        let mut keys: Vec<(u64, u32)> = samples
            .iter()
            .enumerate()
            .map(|(index, sample)| (rising_bits(*sample), index as u32))
            .collect();
        keys.sort_unstable();
        let mut ranks = vec![0.0; samples.len()];
        let mut start = 0;
        while start < keys.len() {
            let mut end = start + 1;
            while end < keys.len() && keys[end].0 == keys[start].0 {
                end += 1;
            }
            // Ties share their mean rank.
            let rank = 0.5 * (start + end - 1) as f64;
            for (_, index) in &keys[start..end] {
                ranks[*index as usize] = rank;
            }
            start = end;
        }
        let sorted = keys
            .iter()
            .map(|(_, index)| samples[*index as usize])
            .collect();
        Some(Self { sorted, ranks })
    }

    /// The samples in rising order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The rank of each sample, in the order taken, from 0; ties share their mean.
    pub fn ranks(&self) -> &[f64] {
        &self.ranks
    }
}

/// Bits that compare as the numbers do.
fn rising_bits(value: f64) -> u64 {
    // Adding zero turns −0 into +0, so that the two are a tie.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// The median of a few values; NaN for none.
pub fn median_of(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The median of sorted values; NaN for none.
pub fn median_of_sorted(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// The median absolute deviation from `centre`, unscaled; NaN for no values.
pub fn mad_about(values: &[f64], centre: f64) -> f64 {
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median_of(&deviations)
}

/// What makes a MAD estimate the standard deviation of normal samples.
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_order_taken_and_ties_share() {
        let ordered = Ordered::new(&[3.0, -1.0, 3.0, 0.0, -0.0]).unwrap();
        assert_eq!(ordered.sorted(), [-1.0, 0.0, 0.0, 3.0, 3.0]);
        assert_eq!(ordered.ranks(), [3.5, 0.0, 3.5, 1.5, 1.5]);
    }

    #[test]
    fn a_sample_that_is_not_finite_is_refused() {
        assert!(Ordered::new(&[1.0, f64::NAN]).is_none());
        assert!(Ordered::new(&[f64::INFINITY]).is_none());
    }

    #[test]
    fn medians_of_odd_even_and_nothing() {
        assert_eq!(median_of(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median_of(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median_of(&[]).is_nan());
        assert_eq!(mad_about(&[1.0, 2.0, 3.0, 100.0], 2.5), 1.0);
    }
}
