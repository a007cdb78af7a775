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
            see(self.frame(around));
        }
    }

    /// How similar the rises of one window are to themselves.
    fn frame(&mut self, around: &[f32]) -> &[f64] {
        self.scratch.fill(0.0);
        for (slot, (value, weight)) in self.scratch.iter_mut().zip(around.iter().zip(&self.window))
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
        let similar = &mut self.scratch[..self.window.len()];
        let largest = similar.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        if largest >= f64::MIN_POSITIVE {
            similar.iter_mut().for_each(|value| *value /= largest);
        }
        similar
    }
}

/// A tempogram of rises that arrive piece by piece: the bits of [`Tempogram::compute`].
pub struct TempogramStream {
    tempogram: Tempogram,
    /// Rises from the first that the next window needs, what leads to the first one included.
    waiting: Vec<f32>,
    arrived: usize,
    shown: usize,
}

impl TempogramStream {
    /// A stream that has seen nothing.
    pub fn new(lags: usize) -> Result<Self> {
        Ok(Self {
            tempogram: Tempogram::new(lags)?,
            waiting: Vec::new(),
            arrived: 0,
            shown: 0,
        })
    }

    /// Takes the next rises; shows the frames whose windows they complete.
    pub fn process(&mut self, strength: &[f32], mut see: impl FnMut(&[f32])) {
        if let (0, Some(first)) = (self.arrived, strength.first()) {
            let width = self.tempogram.lags() / 2;
            self.waiting = (0..width).map(|n| ramp(*first, n, width)).collect();
        }
        self.arrived += strength.len();
        self.waiting.extend_from_slice(strength);
        self.show(&mut see);
    }

    /// Ends the rises; shows the frames that are left.
    pub fn finish(mut self, mut see: impl FnMut(&[f32])) {
        if let Some(last) = self.waiting.last().copied() {
            let width = self.tempogram.lags() / 2;
            let down = (0..width).rev().map(|n| ramp(last, n, width));
            self.waiting.extend(down);
            self.show(&mut see);
        }
    }

    fn show(&mut self, see: &mut impl FnMut(&[f32])) {
        let lags = self.tempogram.lags();
        let windows = self.waiting.windows(lags).take(self.arrived - self.shown);
        let count = windows.len();
        let mut row = Vec::with_capacity(lags);
        for around in windows {
            row.clear();
            let similar = self.tempogram.frame(around).iter();
            row.extend(similar.map(|value| *value as f32));
            see(&row);
        }
        self.shown += count;
        self.waiting.drain(..count);
    }
}

/// A value on the straight line from zero to an edge.
fn ramp(edge: f32, n: usize, width: usize) -> f32 {
    (f64::from(edge) * n as f64 / width as f64) as f32
}

/// The strengths with `width` frames before and after them that fall to zero in straight lines.
fn ramped(strength: &[f32], width: usize) -> Vec<f32> {
    let (Some(first), Some(last)) = (strength.first(), strength.last()) else {
        return Vec::new();
    };
    let mut padded = Vec::with_capacity(strength.len() + 2 * width);
    padded.extend((0..width).map(|n| ramp(*first, n, width)));
    padded.extend_from_slice(strength);
    padded.extend((0..width).rev().map(|n| ramp(*last, n, width)));
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
    fn rises_that_arrive_in_pieces_have_the_frames_of_the_whole() {
        let strength: Vec<f32> = (0..97u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 20) as f32)
            .collect();
        for (lags, length) in [(7, 97), (8, 97), (60, 20), (2, 1), (5, 0)] {
            let strength = &strength[..length];
            let whole = Tempogram::new(lags).unwrap().compute(strength).unwrap();
            for piece in [1, 13, 200] {
                let mut stream = TempogramStream::new(lags).unwrap();
                let mut found = Vec::new();
                for piece in strength.chunks(piece) {
                    stream.process(piece, |row| found.extend_from_slice(row));
                    assert!(stream.waiting.len() <= lags);
                }
                stream.finish(|row| found.extend_from_slice(row));
                assert_eq!(found, whole, "{lags} {length} {piece}");
            }
        }
    }

    #[test]
    fn ramps_lead_to_the_edges() {
        assert_eq!(ramped(&[4.0, 2.0], 2), [0.0, 2.0, 4.0, 2.0, 1.0, 0.0]);
    }
}
