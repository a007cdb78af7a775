//! How similar the rises around a frame are to themselves some frames later.

use warpsmith_voice::signal::PreciseTransform;
use warpsmith_voice::{Result, SignalError, Symmetry, Window, check_room};

/// A planned tempogram: windows of `lags` frames around every frame.
pub struct Tempogram {
    window: Vec<f64>,
    transform: PreciseTransform,
    scratch: Vec<f64>,
}

/// The tempo of a repetition after `lag` frames, beats per minute; infinite at lag 0.
pub fn lag_bpm(lag: usize, sample_rate: u32, hop: usize) -> f64 {
    60.0 * f64::from(sample_rate) / (hop as f64 * lag as f64)
}

impl Tempogram {
    /// Tables for windows of `lags` frames.
    pub fn new(lags: usize) -> Result<Self> {
        if lags < 2 {
            return Err(SignalError::parameter(
                "tempogram window",
                lags,
                "at least 2 frames are needed",
            ));
        }
        check_room("the tempogram's window", 4 * lags, size_of::<f64>())?;
        // So long that the end of a window does not meet its beginning.
        let points = (2 * lags).next_power_of_two().max(4);
        Ok(Self {
            window: Window::Hann.values(lags, Symmetry::Periodic),
            transform: PreciseTransform::new(points),
            scratch: vec![0.0; points],
        })
    }

    /// Lags of a frame.
    pub fn lags(&self) -> usize {
        self.window.len()
    }

    /// `[frame, lag]`: every frame scaled so that its largest is 1; one without rises is 0.
    pub fn compute(&mut self, strength: &[f32]) -> Result<Vec<f32>> {
        let values = strength.len().saturating_mul(self.lags());
        check_room("the tempogram", values, size_of::<f32>())?;
        let mut all = Vec::with_capacity(values);
        self.each_frame(strength, |frame| {
            all.extend(frame.iter().map(|value| *value as f32));
        });
        Ok(all)
    }

    /// The mean over all frames, one number to a lag.
    pub fn mean(&mut self, strength: &[f32]) -> Vec<f64> {
        let mut sums = vec![0.0f64; self.lags()];
        self.each_frame(strength, |frame| {
            for (sum, value) in sums.iter_mut().zip(frame) {
                *sum += value;
            }
        });
        let frames = strength.len().max(1) as f64;
        sums.iter_mut().for_each(|sum| *sum /= frames);
        sums
    }

    fn each_frame(&mut self, strength: &[f32], mut see: impl FnMut(&[f64])) {
        let lags = self.lags();
        let padded = ramped(strength, lags / 2);
        for around in padded.windows(lags).take(strength.len()) {
            self.scratch.fill(0.0);
            for (slot, (value, weight)) in
                self.scratch.iter_mut().zip(around.iter().zip(&self.window))
            {
                *slot = f64::from(*value) * weight;
            }
            self.transform.forward(&mut self.scratch);
            let (ends, between) = self.scratch.split_at_mut(2);
            ends.iter_mut().for_each(|value| *value *= *value);
            for pair in between.chunks_exact_mut(2) {
                pair[0] = pair[0] * pair[0] + pair[1] * pair[1];
                pair[1] = 0.0;
            }
            self.transform.inverse(&mut self.scratch);
            let similar = &mut self.scratch[..lags];
            let largest = similar.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            if largest >= f64::MIN_POSITIVE {
                similar.iter_mut().for_each(|value| *value /= largest);
            }
            see(similar);
        }
    }
}

/// The strengths with `width` frames before and after them that fall to zero in straight lines.
fn ramped(strength: &[f32], width: usize) -> Vec<f32> {
    let (Some(first), Some(last)) = (strength.first(), strength.last()) else {
        return Vec::new();
    };
    let ramp = |edge: f32, n: usize| (f64::from(edge) * n as f64 / width as f64) as f32;
    let mut padded = Vec::with_capacity(strength.len() + 2 * width);
    padded.extend((0..width).map(|n| ramp(*first, n)));
    padded.extend_from_slice(strength);
    padded.extend((0..width).rev().map(|n| ramp(*last, n)));
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeating_rise_is_most_like_itself_a_period_later() {
        let strength: Vec<f32> = (0..400).map(|n| f32::from(u8::from(n % 25 == 3))).collect();
        let mean = Tempogram::new(100).unwrap().mean(&strength);
        let best = (10..100).max_by(|a, b| mean[*a].total_cmp(&mean[*b]));
        assert_eq!(best, Some(25));
        assert!((lag_bpm(25, 1000, 10) - 240.0).abs() < 1e-12);
    }

    #[test]
    fn silence_and_nothing_are_zeros() {
        let mut tempogram = Tempogram::new(7).unwrap();
        assert!(tempogram.compute(&[]).unwrap().is_empty());
        assert_eq!(tempogram.compute(&[0.0; 3]).unwrap(), [0.0; 21]);
        assert_eq!(tempogram.mean(&[]), [0.0; 7]);
        assert!(Tempogram::new(1).is_err());
    }

    #[test]
    fn ramps_lead_to_the_edges() {
        assert_eq!(ramped(&[4.0, 2.0], 2), [0.0, 2.0, 4.0, 2.0, 1.0, 0.0]);
    }
}
