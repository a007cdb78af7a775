//! Cepstral peak prominence (Hillenbrand, Cleveland and Erickson 1994): how far the peak of the cepstrum
//! at the voice's period stands above the line through the cepstrum around it, dB.

use warpsmith_lanes::{One, Vector};
use warpsmith_signal::{RealBlock, Result, SignalError, Symmetry, Window};

use crate::pitch::PitchRange;

/// Tables and scratch memory for one frame length.
pub struct CepstralPeak {
    window: Vec<f32>,
    /// First and last quefrency of the search, samples.
    search: (usize, usize),
    /// From where on the line is fitted, samples: 1 ms.
    line_start: usize,
    transform: RealBlock<One>,
    bins: Vec<[One; 2]>,
    cepstrum: RealBlock<One>,
    quefrencies: Vec<[One; 2]>,
    levels: Vec<f64>,
}

impl CepstralPeak {
    /// For frames of `length` samples (40 ms or more) at `sample_rate`.
    pub fn new(sample_rate: u32, length: usize, range: PitchRange) -> Result<Self> {
        let rate = f64::from(sample_rate);
        let search = (
            (rate / range.high_hz).ceil() as usize,
            (rate / range.low_hz).floor() as usize,
        );
        let transform = length.next_power_of_two().max(2);
        let line_start = (rate / 1000.0) as usize;
        if range.low_hz.is_nan()
            || range.low_hz <= 0.0
            || search.0 < 2
            || search.1 <= search.0
            || search.1 >= transform / 2
        {
            return Err(SignalError::parameter(
                "pitch range",
                format!("{} to {} Hz", range.low_hz, range.high_hz),
                format!("its periods must fit into half of a frame of {length} samples"),
            ));
        }
        let zero = One::splat(0.0);
        Ok(Self {
            window: Window::Hamming.centred(length, length, Symmetry::Symmetric),
            search,
            line_start,
            transform: RealBlock::new(transform),
            bins: vec![[zero; 2]; transform / 2 + 1],
            cepstrum: RealBlock::new(transform),
            quefrencies: vec![[zero; 2]; transform / 2 + 1],
            levels: vec![0.0; transform / 2],
        })
    }

    /// The prominence of a frame, dB; 0 for silence.
    pub fn of_frame(&mut self, frame: &[f32]) -> Result<f64> {
        SignalError::expect_size("the frame", frame.len(), self.window.len())?;
        if frame.iter().all(|x| *x == 0.0) {
            return Ok(0.0);
        }
        let value = |part: One| {
            let mut out = [0.0];
            part.store(&mut out);
            f64::from(out[0])
        };
        for (n, slot) in self.transform.samples_mut().iter_mut().enumerate() {
            let sample = frame
                .get(n)
                .zip(self.window.get(n))
                .map_or(0.0, |(x, w)| x * w);
            *slot = One::splat(sample);
        }
        self.transform.forward(&mut self.bins);
        // The log spectrum is even: its real transform is the cepstrum.
        let length = self.cepstrum.samples_mut().len();
        for n in 0..length {
            let [re, im] = self.bins[n.min(length - n)].map(value);
            let db = 10.0 * (re * re + im * im).max(1e-20).log10();
            self.cepstrum.samples_mut()[n] = One::splat(db as f32);
        }
        self.cepstrum.forward(&mut self.quefrencies);
        for (level, [re, im]) in self.levels.iter_mut().zip(&self.quefrencies) {
            let (re, im) = (value(*re), value(*im));
            *level = 10.0
                * ((re * re + im * im) / (length * length) as f64)
                    .max(1e-20)
                    .log10();
        }
        let (first, last) = self.search;
        let mut peak = first;
        for q in first..=last {
            if self.levels[q] > self.levels[peak] {
                peak = q;
            }
        }
        let (slope, offset) = line(
            &self.levels[self.line_start.max(1)..],
            self.line_start.max(1),
        );
        Ok(self.levels[peak] - (slope * peak as f64 + offset))
    }
}

/// Least-squares line through `values`, the first of them at `start`.
fn line(values: &[f64], start: usize) -> (f64, f64) {
    let count = values.len() as f64;
    let (mut sum_x, mut sum_y, mut sum_xx, mut sum_xy) = (0.0, 0.0, 0.0, 0.0);
    for (index, y) in values.iter().enumerate() {
        let x = (start + index) as f64;
        sum_x += x;
        sum_y += y;
        sum_xx += x * x;
        sum_xy += x * y;
    }
    let slope = (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
    (slope, (sum_y - slope * sum_x) / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_voice_is_more_prominent_than_a_breathy_one_and_noise_least() {
        let rate = 16_000;
        let mut cpp = CepstralPeak::new(rate, 1024, PitchRange::VOICE).unwrap();
        let mut state = 9u32;
        let mut frame = |noise: f32| -> Vec<f32> {
            (0..1024)
                .map(|n| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let hiss = (state >> 8) as f32 / 8_388_608.0 - 1.0;
                    let voice = if n % 100 == 0 { 1.0 } else { 0.0 };
                    voice * (1.0 - noise) + 0.2 * noise * hiss
                })
                .collect()
        };
        let clear = cpp.of_frame(&frame(0.02)).unwrap();
        let breathy = cpp.of_frame(&frame(0.5)).unwrap();
        let noise = cpp.of_frame(&frame(1.0)).unwrap();
        assert!(
            clear > breathy + 3.0 && breathy > noise + 2.0,
            "{clear} {breathy} {noise}"
        );
        assert_eq!(cpp.of_frame(&[0.0; 1024]).unwrap(), 0.0);
        assert!(cpp.of_frame(&[0.0; 10]).is_err());
        assert!(CepstralPeak::new(rate, 256, PitchRange::VOICE).is_err());
    }
}
