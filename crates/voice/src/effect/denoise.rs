//! Steady noise taken out of a sound: in each bin a Wiener gain from the ratio of sound to noise, with
//! the decision-directed estimate of Ephraim and Malah (1984) that keeps noise from becoming chirps.
//!
//! The noise is the mean power of a stretch that the caller names, or of the quietest frames.

use std::ops::Range;

use super::time_stretch::StretchSettings;
use crate::columns::{Column, ROWS, column, put_column};
use crate::error::{Result, VoiceError};
use crate::lanes::{Task, with_widest};
use crate::overlap_add::Istft;
use crate::spectrum::Stft;

/// Share of the frames that are taken for noise where the caller names none.
const QUIETEST: f64 = 0.1;
/// How much of the last frame's estimate is kept.
const MEMORY: f64 = 0.98;

/// The choices of a denoiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DenoiseSettings {
    /// The most that a bin is lowered, dB.
    pub reduction_db: f64,
    /// Noise is taken to be this much stronger than measured, dB: more removes more, of the sound too.
    pub margin_db: f64,
}

impl Default for DenoiseSettings {
    fn default() -> Self {
        Self {
            reduction_db: 20.0,
            margin_db: 2.0,
        }
    }
}

/// A planned denoiser.
pub struct Denoiser {
    settings: DenoiseSettings,
    stft: Stft,
    istft: Istft,
    hop: usize,
    /// The spectra of the last signal, kept for their memory.
    spectrum: Vec<[f32; 2]>,
}

impl Denoiser {
    /// A denoiser for signals at `sample_rate`.
    pub fn new(sample_rate: u32, settings: DenoiseSettings) -> Result<Self> {
        if !(settings.reduction_db > 0.0 && settings.margin_db.is_finite()) {
            return Err(VoiceError::parameter(
                "reduction",
                settings.reduction_db,
                "it must be above 0 dB, and the margin a number",
            ));
        }
        // 32 ms: short enough for consonants.
        let voice = StretchSettings::for_voice(sample_rate);
        let short = StretchSettings {
            transform: voice.transform / 2,
            hop: voice.transform / 8,
        };
        Ok(Self {
            settings,
            stft: Stft::new(short.spectrum())?,
            istft: Istft::new(short.spectrum())?,
            hop: short.hop,
            spectrum: Vec::new(),
        })
    }

    /// `signal` without its noise; `noise` names samples that hold nothing else.
    pub fn process(&mut self, signal: &[f32], noise: Option<Range<usize>>) -> Result<Vec<f32>> {
        let (bins, frames) = self.stft.shape(signal.len());
        if frames == 0 {
            return Ok(Vec::new());
        }
        self.spectrum.resize(bins * frames, [0.0; 2]);
        self.stft.complex(signal, &mut self.spectrum)?;
        let chosen = match noise {
            Some(range) => self.frames_inside(&range, frames)?,
            None => quietest_frames(&self.spectrum, frames),
        };
        with_widest(Gains {
            spectrum: &mut self.spectrum,
            frames,
            chosen: &chosen,
            floor: 10f64.powf(-self.settings.reduction_db / 20.0),
            margin: 10f64.powf(self.settings.margin_db / 10.0),
        });
        let mut out = vec![0.0; signal.len()];
        self.istft.reconstruct(&self.spectrum, &mut out)?;
        Ok(out)
    }

    /// The frames whose centres lie in `range`.
    fn frames_inside(&self, range: &Range<usize>, frames: usize) -> Result<Vec<usize>> {
        let chosen: Vec<usize> = (0..frames)
            .filter(|frame| range.contains(&(frame * self.hop)))
            .collect();
        if chosen.is_empty() {
            return Err(VoiceError::parameter(
                "noise",
                format!("samples {} to {}", range.start, range.end),
                "no frame lies inside; name a longer stretch of the signal",
            ));
        }
        Ok(chosen)
    }
}

/// Lowers the bins by their gains.
struct Gains<'a> {
    spectrum: &'a mut [[f32; 2]],
    frames: usize,
    /// Frames of noise.
    chosen: &'a [usize],
    floor: f64,
    margin: f64,
}

impl Task for Gains<'_> {
    #[inline(always)]
    fn run(self) {
        let (frames, floor) = (self.frames, self.floor);
        for rows in self.spectrum.chunks_mut(ROWS * frames) {
            let mut sums = [0.0f64; ROWS];
            for frame in self.chosen {
                let column = column(rows, frames, *frame);
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum += power(&column, row);
                }
            }
            // 200 dB below full scale is no noise at all; less would overflow the ratio.
            let noise = sums.map(|sum| (self.margin * sum / self.chosen.len() as f64).max(1e-20));
            let mut kept = [0.0f64; ROWS];
            for frame in 0..frames {
                let mut column = column(rows, frames, frame);
                for row in 0..ROWS {
                    let posterior = power(&column, row) / noise[row];
                    let prior = MEMORY * kept[row] + (1.0 - MEMORY) * (posterior - 1.0).max(0.0);
                    // The estimate lags one frame behind a sudden sound; its own frame then decides.
                    let prior = prior.max(0.5 * (posterior - 10.0));
                    let gain = prior / (1.0 + prior);
                    kept[row] = gain * gain * posterior;
                    let gain = gain.max(floor);
                    column[0][row] = (f64::from(column[0][row]) * gain) as f32;
                    column[1][row] = (f64::from(column[1][row]) * gain) as f32;
                }
                put_column(rows, frames, frame, &column);
            }
        }
    }
}

#[inline(always)]
fn power(column: &Column, row: usize) -> f64 {
    let (re, im) = (f64::from(column[0][row]), f64::from(column[1][row]));
    re * re + im * im
}

/// The energy of every frame.
struct Energies<'a> {
    spectrum: &'a [[f32; 2]],
    energy: &'a mut [f64],
}

impl Task for Energies<'_> {
    #[inline(always)]
    fn run(self) {
        for row in self.spectrum.chunks_exact(self.energy.len()) {
            for (energy, [re, im]) in self.energy.iter_mut().zip(row) {
                *energy += f64::from(*re).powi(2) + f64::from(*im).powi(2);
            }
        }
    }
}

/// The quietest tenth of the frames, at least one. Digital silence counts: a recording that has it
/// has no noise in it.
fn quietest_frames(spectrum: &[[f32; 2]], frames: usize) -> Vec<usize> {
    let mut energy = vec![0.0f64; frames];
    with_widest(Energies {
        spectrum,
        energy: &mut energy,
    });
    let mut order: Vec<usize> = (0..frames).collect();
    order.sort_by(|a, b| energy[*a].total_cmp(&energy[*b]));
    order.truncate(((frames as f64 * QUIETEST) as usize).max(1));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Syllables of a voice with pauses, and noise 10 dB below their level.
    fn scene() -> (Vec<f32>, Vec<f32>) {
        let mut state = 1u32;
        let clean: Vec<f32> = (0..48_000)
            .map(|n| {
                let t = n as f32 / 16_000.0;
                let on = (t * 2.5).fract() < 0.6;
                let tone: f32 = (1..10)
                    .map(|k| (std::f32::consts::TAU * 140.0 * k as f32 * t).sin() / k as f32)
                    .sum();
                if on { 0.2 * tone } else { 0.0 }
            })
            .collect();
        let noise = (0..48_000)
            .map(|_| {
                let mut sum = 0.0;
                for _ in 0..4 {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    sum += (state >> 8) as f32 / 16_777_216.0 - 0.5;
                }
                0.07 * sum
            })
            .collect();
        (clean, noise)
    }

    fn snr(clean: &[f32], found: &[f32]) -> f64 {
        let power = |x: f32| f64::from(x).powi(2);
        let signal: f64 = clean.iter().map(|x| power(*x)).sum();
        let error: f64 = clean.iter().zip(found).map(|(a, b)| power(a - b)).sum();
        10.0 * (signal / error).log10()
    }

    #[test]
    fn the_ratio_of_sound_to_noise_rises() {
        let (clean, noise) = scene();
        let noisy: Vec<f32> = clean.iter().zip(&noise).map(|(a, b)| a + b).collect();
        let mut denoiser = Denoiser::new(16_000, DenoiseSettings::default()).unwrap();
        let blind = denoiser.process(&noisy, None).unwrap();
        let told = denoiser.process(&noisy, Some(4000..6200)).unwrap();
        let before = snr(&clean, &noisy);
        for (name, out) in [("blind", blind), ("told", told)] {
            let after = snr(&clean, &out);
            assert!(after > before + 5.0, "{name}: {before} to {after} dB");
        }
    }

    #[test]
    fn a_clean_sound_stays_and_silence_stays_silent() {
        let (clean, _) = scene();
        let mut denoiser = Denoiser::new(16_000, DenoiseSettings::default()).unwrap();
        let out = denoiser.process(&clean, None).unwrap();
        assert!(snr(&clean, &out) > 20.0, "{}", snr(&clean, &out));
        assert!(
            denoiser
                .process(&[0.0; 4000], None)
                .unwrap()
                .iter()
                .all(|x| *x == 0.0)
        );
        assert!(denoiser.process(&[], None).unwrap().is_empty());
        assert!(denoiser.process(&clean, Some(3..4)).is_err());
    }
}
