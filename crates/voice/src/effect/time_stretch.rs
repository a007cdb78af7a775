//! Longer or shorter at the same pitch, by a phase vocoder with librosa's conventions.

use std::ops::Range;

use crate::columns::{Column, ROWS, column, put_column};
use crate::error::{Result, VoiceError};
use crate::frame_spectrum::{Conditioning, SpectrumSettings};
use crate::framing::{Framing, Padding};
use crate::lanes::{Task, with_widest};
use crate::overlap_add::{FRAMES_TOGETHER, Istft};
use crate::spectrum::Stft;
use crate::window::{Symmetry, Window};

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

    pub(super) fn spectrum(self) -> SpectrumSettings {
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

/// `signal` at `rate` times its speed: 2 is half as long, and as high as before.
pub fn time_stretch(signal: &[f32], rate: f64, settings: StretchSettings) -> Result<Vec<f32>> {
    if !(rate > 0.0 && rate.is_finite()) {
        return Err(VoiceError::parameter("rate", rate, "it must be above 0"));
    }
    let spectrum = settings.spectrum();
    let mut stft = Stft::new(spectrum)?;
    let (bins, frames) = stft.shape(signal.len());
    if frames == 0 {
        return Ok(Vec::new());
    }
    let mut istft = Istft::new(spectrum)?;
    let steps = (frames as f64 / rate).ceil() as usize;
    let mut out = vec![0.0; (signal.len() as f64 / rate).round() as usize];
    istft.begin(out.len());
    let mut turns = vec![[[0.0; ROWS]; 2]; bins.div_ceil(ROWS)];
    let (mut from, mut to) = (Vec::new(), Vec::new());
    // So many steps at a time that their spectra stay near.
    for step in (0..steps).step_by(FRAMES_TOGETHER) {
        let here = FRAMES_TOGETHER.min(steps - step);
        let first = (step as f64 * rate) as usize;
        let last = ((step + here - 1) as f64 * rate) as usize + 1;
        let count = frames.min(last + 1) - first;
        from.resize(bins * count, [0.0; 2]);
        stft.complex_frames(signal, (first, count), &mut from)?;
        to.resize(bins * here, [0.0; 2]);
        with_widest(Vocoder {
            from: &from,
            frames: first..first + count,
            to: &mut to,
            steps: step..step + here,
            rate,
            turns: &mut turns,
        });
        istft.add(&to, here, step + here == steps)?;
    }
    istft.finish(&mut out)?;
    Ok(out)
}

/// Reads the `[bin, frame]` matrix of the signal at steps of `rate` frames: magnitudes are interpolated,
/// phases go on by what they did between the two frames that are read.
///
/// The advance of a bin's phase, unwrapped around the bin's frequency, is the difference of the two
/// phases and whole turns, which a rotation does not see: no angle is ever computed. In f64, for
/// errors of the rotation add up over the signal.
struct Vocoder<'a> {
    from: &'a [[f32; 2]],
    /// The frames that `from` holds; beyond the signal's last there is silence.
    frames: Range<usize>,
    to: &'a mut [[f32; 2]],
    /// The steps that are taken.
    steps: Range<usize>,
    rate: f64,
    /// The direction that each bin has come to.
    turns: &'a mut [[[f64; ROWS]; 2]],
}

impl Task for Vocoder<'_> {
    #[inline(always)]
    fn run(self) {
        let (frames, steps) = (self.frames.len(), self.steps.len());
        let groups = self.from.chunks(ROWS * frames).zip(self.turns);
        for ((from, turn), to) in groups.zip(self.to.chunks_mut(ROWS * steps)) {
            let at = |frame: usize| Polar::of(&column(from, frames, frame - self.frames.start));
            let mut pair = (
                self.frames.start,
                at(self.frames.start),
                at(self.frames.start + 1),
            );
            if self.steps.start == 0 {
                *turn = pair.1.direction;
            }
            for step in self.steps.clone() {
                let position = step as f64 * self.rate;
                let frame = position as usize;
                let share = position - frame as f64;
                if frame != pair.0 {
                    let low = if frame == pair.0 + 1 {
                        pair.2
                    } else {
                        at(frame)
                    };
                    pair = (frame, low, at(frame + 1));
                }
                let (_, low, high) = &pair;
                let mut out = [[0.0; ROWS]; 2];
                for row in 0..ROWS {
                    let magnitude =
                        (1.0 - share) * low.magnitude[row] + share * high.magnitude[row];
                    let here = [turn[0][row], turn[1][row]];
                    let [re, im] = here.map(|part| (magnitude * part) as f32);
                    (out[0][row], out[1][row]) = (re, im);
                    let back = [low.direction[0][row], -low.direction[1][row]];
                    let forth = [high.direction[0][row], high.direction[1][row]];
                    let [re, im] = rotate(here, rotate(forth, back));
                    (turn[0][row], turn[1][row]) = (re, im);
                }
                put_column(to, steps, step - self.steps.start, &out);
            }
        }
    }
}

/// The magnitudes of bins and their directions in the plane, which for silence is that of 1.
#[derive(Clone, Copy)]
struct Polar {
    magnitude: [f64; ROWS],
    direction: [[f64; ROWS]; 2],
}

impl Polar {
    #[inline(always)]
    fn of(column: &Column) -> Self {
        let mut polar = Self {
            magnitude: [0.0; ROWS],
            direction: [[0.0; ROWS]; 2],
        };
        for (row, (re, im)) in column[0].iter().zip(&column[1]).enumerate() {
            // Squares of f32 neither overflow nor vanish in f64.
            let (re, im) = (f64::from(*re), f64::from(*im));
            let magnitude = (re * re + im * im).sqrt();
            let silent = magnitude == 0.0;
            let scale = 1.0 / if silent { 1.0 } else { magnitude };
            polar.magnitude[row] = magnitude;
            polar.direction[0][row] = if silent { 1.0 } else { re * scale };
            polar.direction[1][row] = if silent { 0.0 } else { im * scale };
        }
        polar
    }
}

#[inline(always)]
fn rotate([a, b]: [f64; 2], [c, d]: [f64; 2]) -> [f64; 2] {
    [a * c - b * d, a * d + b * c]
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

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
}
