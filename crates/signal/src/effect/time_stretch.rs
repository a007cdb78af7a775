//! Longer or shorter at the same pitch, by a phase vocoder with librosa's conventions.

use crate::{
    Conditioning, FrameQueue, Framing, Padding, Result, SignalError, SpectrumSettings, Symmetry,
    Window, invertible,
};
use warpsmith_lanes::{Blocks, engine_for_this_machine};

use super::phase_vocoder::{Plan, Vocoder};

/// The spectra that a stretch goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StretchSettings {
    /// Points of the transform (librosa: 2048).
    pub transform: usize,
    /// Samples between frames, a quarter of the transform.
    pub hop: usize,
}

impl StretchSettings {
    /// Frames of about 64 ms, which suit voices.
    pub fn for_voice(sample_rate: u32) -> Self {
        let transform = (sample_rate as usize * 64 / 1000)
            .next_power_of_two()
            .max(64);
        Self {
            transform,
            hop: transform / 4,
        }
    }

    /// The spectra.
    pub fn spectrum(self) -> SpectrumSettings {
        SpectrumSettings {
            framing: Framing {
                length: self.transform,
                hop: self.hop,
                padding: Padding::CentredZero,
            },
            transform: self.transform,
            window: Window::Hann,
            window_length: self.transform,
            symmetry: Symmetry::Periodic,
            conditioning: Conditioning::default(),
        }
    }
}

/// A signal at so many times its speed, 2 is half as long, and as high as before: any cutting into pieces gives the
/// bits of the whole.
pub struct TimeStretchStream {
    samples: usize,
    queue: FrameQueue,
    vocoder: Box<dyn Stretch>,
}

impl TimeStretchStream {
    /// For a signal of `samples` samples.
    pub fn new(samples: usize, rate: f64, settings: StretchSettings) -> Result<Self> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(SignalError::parameter("rate", rate, "it must be above 0"));
        }
        let spectrum = invertible(settings.spectrum())?;
        let stretched = (samples as f64 / rate).round() as usize;
        let queue = FrameQueue::new(spectrum.framing)?;
        let inside = queue.inner_framing();
        let plan = Plan {
            frames: spectrum.framing.count(samples),
            rate,
            samples: stretched,
        };
        Ok(Self {
            samples: stretched,
            queue,
            vocoder: engine_for_this_machine!(Blocks::Wide, Vocoder::new(&spectrum, inside, plan)),
        })
    }

    /// Samples of the result.
    pub fn length(&self) -> usize {
        self.samples
    }

    /// Takes the next samples; appends what they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<f32>) {
        self.queue.push(chunk);
        let ready = self.queue.ready();
        self.take(ready / self.vocoder.width() * self.vocoder.width(), out);
    }

    /// What becomes of a whole signal, which nothing was heard of before.
    pub fn whole(mut self, signal: &[f32]) -> Vec<f32> {
        let mut out = Vec::with_capacity(self.length());
        // In pieces that stay in the cache.
        for piece in signal.chunks(1 << 14) {
            self.process(piece, &mut out);
        }
        self.finish(&mut out);
        out
    }

    /// Ends the signal; appends what is left.
    pub fn finish(mut self, out: &mut Vec<f32>) {
        let left = self.queue.close();
        self.take(left, out);
    }

    fn take(&mut self, frames: usize, out: &mut Vec<f32>) {
        let width = self.vocoder.width();
        for first in (0..frames).step_by(width) {
            let here = width.min(frames - first);
            self.vocoder.take(self.queue.frames(here), here, out);
            self.queue.remove(here);
        }
    }
}

/// What makes a signal longer or shorter.
pub(super) trait Stretch: Send {
    /// Frames to a block.
    fn width(&self) -> usize;
    /// Takes the samples of the next block of frames, a whole one but for the last; appends what they complete.
    fn take(&mut self, samples: &[f32], frames: usize, out: &mut Vec<f32>);
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    fn time_stretch(signal: &[f32], rate: f64, settings: StretchSettings) -> Result<Vec<f32>> {
        Ok(TimeStretchStream::new(signal.len(), rate, settings)?.whole(signal))
    }

    fn tone(hertz: f64, samples: usize) -> Vec<f32> {
        (0..samples)
            .map(|n| (0.5 * (TAU * hertz * n as f64 / 16_000.0).sin()) as f32)
            .collect()
    }

    /// Frequency by the number of rising zero crossings between two samples.
    fn frequency(signal: &[f32]) -> f64 {
        let rising: Vec<f64> = (1..signal.len())
            .filter(|n| signal[n - 1] < 0.0 && signal[*n] >= 0.0)
            .map(|n| n as f64 - f64::from(signal[n] / (signal[n] - signal[n - 1])))
            .collect();
        16_000.0 * (rising.len() - 1) as f64 / (rising[rising.len() - 1] - rising[0])
    }

    #[test]
    fn a_stretched_tone_keeps_its_pitch_and_level() {
        let settings = StretchSettings::for_voice(16_000);
        for rate in [0.5, 0.8, 1.0, 1.37, 2.0] {
            let out = time_stretch(&tone(330.0, 32_000), rate, settings).unwrap();
            assert_eq!(out.len(), (32_000.0 / rate).round() as usize);
            let middle = &out[out.len() / 4..out.len() * 3 / 4];
            let cents = 1200.0 * (frequency(middle) / 330.0).log2();
            assert!(cents.abs() < 0.5, "rate {rate}: {cents} cents");
            // Neighbouring bins drift apart in phase, which costs a phase vocoder a decibel or so.
            let peak = middle.iter().fold(0.0f32, |peak, x| peak.max(x.abs()));
            assert!((peak - 0.5).abs() < 0.08, "rate {rate}: {peak}");
        }
    }

    #[test]
    fn the_same_speed_is_the_same_sound() {
        let signal = tone(200.0, 8000);
        let out = time_stretch(&signal, 1.0, StretchSettings::for_voice(16_000)).unwrap();
        for (a, b) in signal.iter().zip(&out) {
            assert!((a - b).abs() < 1e-5);
        }
        assert!(time_stretch(&signal, 0.0, StretchSettings::for_voice(16_000)).is_err());
        assert!(
            time_stretch(&[], 2.0, StretchSettings::for_voice(16_000))
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn signals_shorter_than_a_frame_have_their_length_too() {
        let settings = StretchSettings::for_voice(16_000);
        for samples in [1, 5, 300, 1500] {
            for rate in [0.05, 0.7, 1.0, 7.3, 1000.0] {
                let out = time_stretch(&tone(900.0, samples), rate, settings).unwrap();
                assert_eq!(out.len(), (samples as f64 / rate).round() as usize);
                assert!(out.iter().all(|x| x.abs() < 1.0), "{samples} at {rate}");
            }
        }
    }

    #[test]
    fn any_cutting_gives_the_bits_of_the_whole() {
        let settings = StretchSettings::for_voice(16_000);
        for samples in [0, 1, 700, 30_011] {
            let signal = tone(523.0, samples);
            for rate in [0.3, 1.0, 1.7, 3.0, 40.0] {
                let whole = time_stretch(&signal, rate, settings).unwrap();
                for size in [1, 999, 16_384, 40_000] {
                    let mut stream = TimeStretchStream::new(samples, rate, settings).unwrap();
                    assert_eq!(stream.length(), whole.len());
                    let mut out = Vec::new();
                    for chunk in signal.chunks(size) {
                        stream.process(chunk, &mut out);
                    }
                    stream.finish(&mut out);
                    assert_eq!(out, whole, "{samples} at {rate} in chunks of {size}");
                }
            }
        }
    }

    #[test]
    fn a_sound_after_silence_is_not_lost() {
        let mut signal = vec![0.0; 16_000];
        signal.extend(tone(440.0, 16_000));
        let out = time_stretch(&signal, 0.8, StretchSettings::for_voice(16_000)).unwrap();
        assert!(out[..18_000].iter().all(|x| *x == 0.0));
        let peak = out[24_000..36_000]
            .iter()
            .fold(0.0f32, |peak, x| peak.max(x.abs()));
        assert!((peak - 0.5).abs() < 0.08, "{peak}");
    }
}
