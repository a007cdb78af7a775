//! Pre-emphasis: the tilt that makes a voice's high frequencies as loud as its low ones.

/// `x[n] − coefficient·x[n−1]` in place; `before` is the sample before the first, 0 at a start.
/// Returns the last sample of the input, which is `before` of the next chunk.
pub fn preemphasise(signal: &mut [f32], coefficient: f32, before: f32) -> f32 {
    let mut previous = before;
    for x in signal {
        let current = *x;
        *x = (-coefficient).mul_add(previous, current);
        previous = current;
    }
    previous
}

/// The inverse of [`preemphasise`] in place; `before` is the sample of the result before the first.
pub fn deemphasise(signal: &mut [f32], coefficient: f32, before: f32) -> f32 {
    let mut previous = before;
    for x in signal {
        previous = coefficient.mul_add(previous, *x);
        *x = previous;
    }
    previous
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emphasis_is_undone_and_chunks_do_not_matter() {
        let signal: Vec<f32> = (0..200).map(|n| (n as f32 * 0.3).sin()).collect();
        let mut whole = signal.clone();
        preemphasise(&mut whole, 0.97, 0.0);
        assert_eq!(whole[0], signal[0]);
        assert!((whole[1] - (signal[1] - 0.97 * signal[0])).abs() < 1e-7);
        let mut chunked = signal.clone();
        let mut before = 0.0;
        for chunk in chunked.chunks_mut(7) {
            before = preemphasise(chunk, 0.97, before);
        }
        assert_eq!(whole, chunked);
        deemphasise(&mut whole, 0.97, 0.0);
        for (a, b) in whole.iter().zip(&signal) {
            assert!((a - b).abs() < 1e-5);
        }
    }
}
