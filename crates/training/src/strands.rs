//! Sums and largest values over rows in sixteen strands that are joined at the end: a vector loop,
//! in the same order with every instruction set.

const STRANDS: usize = 16;

/// The sum of `of` every number, in f64.
#[inline(always)]
pub(crate) fn sum(values: &[f32], of: impl Fn(f64) -> f64) -> f64 {
    let mut strands = [0.0f64; STRANDS];
    let (blocks, rest) = values.as_chunks::<STRANDS>();
    for block in blocks {
        for (strand, value) in strands.iter_mut().zip(block) {
            *strand += of(f64::from(*value));
        }
    }
    for (strand, value) in strands.iter_mut().zip(rest) {
        *strand += of(f64::from(*value));
    }
    strands.iter().sum()
}

/// The sum of products, in f64.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut strands = [0.0f64; STRANDS];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<STRANDS>(), b.as_chunks::<STRANDS>());
    for (a, b) in a.iter().zip(b) {
        for (strand, (a, b)) in strands.iter_mut().zip(a.iter().zip(b)) {
            *strand += f64::from(*a) * f64::from(*b);
        }
    }
    for (strand, (a, b)) in strands.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *strand += f64::from(*a) * f64::from(*b);
    }
    strands.iter().sum()
}

/// The largest number; negative infinity where there is none but NaN.
#[inline(always)]
pub(crate) fn largest(values: &[f32]) -> f32 {
    let mut strands = [f32::NEG_INFINITY; STRANDS];
    let (blocks, rest) = values.as_chunks::<STRANDS>();
    for block in blocks {
        for (strand, value) in strands.iter_mut().zip(block) {
            *strand = if *value > *strand { *value } else { *strand };
        }
    }
    let joined = strands.iter().chain(rest).copied();
    joined.fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_counts_once_whatever_the_length() {
        for length in 0..70usize {
            let values: Vec<f32> = (0..length).map(|n| n as f32 - 31.0).collect();
            let exact: f64 = values.iter().map(|x| f64::from(*x)).sum();
            let squares: f64 = values.iter().map(|x| f64::from(x * x)).sum();
            assert_eq!(sum(&values, |x| x), exact);
            assert_eq!(dot(&values, &values), squares);
            let expected = values.last().copied().unwrap_or(f32::NEG_INFINITY);
            assert_eq!(largest(&values), expected);
            let backwards: Vec<f32> = values.iter().rev().copied().collect();
            assert_eq!(largest(&backwards), expected);
        }
        assert_eq!(largest(&[f32::NAN, 2.0, f32::NAN]), 2.0);
    }
}
