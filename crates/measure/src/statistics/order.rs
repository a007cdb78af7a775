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
        let order = rising_order(samples);
        let mut ranks = vec![0.0; samples.len()];
        let mut start = 0;
        let sorted: Vec<f64> = order.iter().map(|at| samples[*at as usize]).collect();
        while start < sorted.len() {
            let mut end = start + 1;
            while end < sorted.len() && sorted[end] == sorted[start] {
                end += 1;
            }
            // Ties share their mean rank.
            let rank = 0.5 * (start + end - 1) as f64;
            for at in &order[start..end] {
                ranks[*at as usize] = rank;
            }
            start = end;
        }
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

/// The places of `samples` in rising order, ties in the order taken.
///
/// The 32 leading bits in which the samples differ and the place make one word, so that a million samples
/// are three passes over eight megabytes; what those bits do not tell apart is sorted afterwards.
fn rising_order(samples: &[f64]) -> Vec<u32> {
    let keys = || samples.iter().map(|sample| rising_bits(*sample));
    let lowest = keys().min().unwrap_or(0);
    let spread = keys().max().unwrap_or(0) - lowest;
    let shift = (64 - spread.leading_zeros()).saturating_sub(32);
    let mut words: Vec<u64> = keys()
        .enumerate()
        .map(|(place, key)| ((key - lowest) >> shift) << 32 | place as u64)
        .collect();
    sort_words(&mut words);
    let mut order: Vec<u32> = words.iter().map(|word| *word as u32).collect();
    if shift > 0 {
        let mut start = 0;
        for run in words.chunk_by(|one, next| one >> 32 == next >> 32) {
            let run = &mut order[start..start + run.len()];
            start += run.len();
            if run.len() > 1 {
                run.sort_by_key(|place| rising_bits(samples[*place as usize]));
            }
        }
    }
    order
}

/// Sorts words whose lower halves rise already, by their upper halves.
fn sort_words(words: &mut Vec<u64>) {
    const DIGIT: u32 = 11;
    const FEW: usize = 1 << 14;
    if words.len() < FEW {
        return words.sort_unstable();
    }
    let mut spare = vec![0; words.len()];
    for pass in 0..3 {
        let digit = |word: u64| (word >> (32 + pass * DIGIT)) as usize & ((1 << DIGIT) - 1);
        let mut starts = [0usize; 1 << DIGIT];
        words.iter().for_each(|word| starts[digit(*word)] += 1);
        let mut before = 0;
        for start in &mut starts {
            before += std::mem::replace(start, before);
        }
        for word in words.iter() {
            let place = &mut starts[digit(*word)];
            spare[*place] = *word;
            *place += 1;
        }
        std::mem::swap(words, &mut spare);
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

/// The median of values in any order; NaN for none.
pub fn median_of(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    if values.is_empty() {
        return f64::NAN;
    }
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if even => 0.5 * (lower + *upper),
        _ => *upper,
    }
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
    fn many_samples_are_ordered_as_few_are() {
        let mut random = warpsmith_workload::random::Random::seeded(8);
        // Ties, an outlier that leaves few bits to the rest, both signs, and values a bit apart.
        let mut samples: Vec<f64> = (0..40_000)
            .map(|i| match i % 4 {
                0 => f64::from(i % 400),
                1 => -random.unit(),
                2 => 1e-9 * f64::from_bits(1.0f64.to_bits() + random.below(9) as u64),
                _ => random.normal(),
            })
            .collect();
        samples[77] = 1e300;
        let mut expected: Vec<u32> = (0..40_000).collect();
        expected.sort_by(|a, b| samples[*a as usize].total_cmp(&samples[*b as usize]));
        let order = rising_order(&samples);
        let values = |order: &[u32]| -> Vec<f64> {
            order.iter().map(|place| samples[*place as usize]).collect()
        };
        assert_eq!(values(&order), values(&expected));
        assert_eq!(order, expected);
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
