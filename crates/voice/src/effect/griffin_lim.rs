//! A signal for a spectrogram without phases: Griffin and Lim's alternation, with the momentum of
//! Perraudin, Balazs and Søndergaard (2013).

use crate::error::{Result, VoiceError};
use crate::frame_spectrum::SpectrumSettings;
use crate::lanes::{Task, with_widest};
use crate::overlap_add::{FRAMES_TOGETHER, Istft};
use crate::spectrum::Stft;

/// The choices of a reconstruction; the default is librosa's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GriffinLim {
    /// Rounds.
    pub iterations: usize,
    /// 0 is the plain alternation; below 1.
    pub momentum: f32,
    /// What the first phases follow from.
    pub seed: u64,
}

impl Default for GriffinLim {
    fn default() -> Self {
        Self {
            iterations: 32,
            momentum: 0.99,
            seed: 1,
        }
    }
}

impl GriffinLim {
    /// The signal of `samples` samples whose magnitudes are near the `[bin, frame]` matrix.
    pub fn reconstruct(
        &self,
        magnitudes: &[f32],
        settings: SpectrumSettings,
        samples: usize,
    ) -> Result<Vec<f32>> {
        let mut stft = Stft::new(settings)?;
        let mut istft = Istft::new(settings)?;
        let (bins, frames) = stft.shape(samples);
        VoiceError::expect_size("the spectrogram", magnitudes.len(), bins * frames)?;
        let (mut signal, mut next) = (vec![0.0; samples], vec![0.0; samples]);
        // Frames in groups, so that a round goes over memory once, from one end to the other.
        let wanted = in_groups(magnitudes, frames);
        let mut before = vec![[0.0f32; 2]; wanted.len()];
        let mut rebuilt = vec![[0.0f32; 2]; bins * FRAMES_TOGETHER];
        let mut spectrum = rebuilt.clone();
        let inertia = self.momentum / (1.0 + self.momentum);
        for round in 0..=self.iterations {
            istft.begin(samples);
            for first in (0..frames).step_by(FRAMES_TOGETHER) {
                let here = FRAMES_TOGETHER.min(frames - first);
                let place = bins * first..bins * (first + here);
                let (wanted, before) = (&wanted[place.clone()], &mut before[place]);
                let (spectrum, rebuilt) =
                    (&mut spectrum[..bins * here], &mut rebuilt[..bins * here]);
                if round == 0 {
                    self.guess(wanted, (first, frames), spectrum);
                } else {
                    stft.complex_frames(&signal, (first, here), rebuilt)?;
                    with_widest(Round {
                        spectrum,
                        now: rebuilt,
                        before,
                        magnitudes: wanted,
                        inertia,
                    });
                }
                istft.add(spectrum, here, first + here == frames)?;
            }
            istft.finish(&mut next)?;
            std::mem::swap(&mut signal, &mut next);
        }
        Ok(signal)
    }

    /// Phases drawn evenly, the same for the same seed: those of the frames of a group that begins with
    /// frame `place.0` of `place.1`.
    fn guess(&self, magnitudes: &[f32], place: (usize, usize), spectrum: &mut [[f32; 2]]) {
        let here = FRAMES_TOGETHER.min(place.1 - place.0);
        for (n, (slot, magnitude)) in spectrum.iter_mut().zip(magnitudes).enumerate() {
            let number = (n / here * place.1 + place.0 + n % here) as u64;
            // SplitMix64: one multiplication chain to a number, every seed good.
            let mut z = self
                .seed
                .wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let turn = ((z ^ (z >> 31)) >> 40) as f32 / (1u32 << 24) as f32;
            let (sin, cos) = (std::f32::consts::TAU * turn).sin_cos();
            *slot = [magnitude * cos, magnitude * sin];
        }
    }
}

/// The `[bin, frame]` matrix as one such matrix after the other, each of [`FRAMES_TOGETHER`] frames or of
/// what is left.
fn in_groups(magnitudes: &[f32], frames: usize) -> Vec<f32> {
    let mut groups = Vec::with_capacity(magnitudes.len());
    for first in (0..frames).step_by(FRAMES_TOGETHER) {
        let end = frames.min(first + FRAMES_TOGETHER);
        for row in magnitudes.chunks_exact(frames) {
            groups.extend_from_slice(&row[first..end]);
        }
    }
    groups
}

/// The next spectrum: the magnitudes that are wanted, in the directions of where the last two rounds lead.
struct Round<'a> {
    spectrum: &'a mut [[f32; 2]],
    now: &'a [[f32; 2]],
    /// Of the round before; becomes that of this one.
    before: &'a mut [[f32; 2]],
    magnitudes: &'a [f32],
    inertia: f32,
}

impl Task for Round<'_> {
    #[inline(always)]
    fn run(self) {
        let parts = self.now.iter().zip(self.before).zip(self.magnitudes);
        for (slot, ((now, before), magnitude)) in self.spectrum.iter_mut().zip(parts) {
            let re = now[0] - self.inertia * before[0];
            let im = now[1] - self.inertia * before[1];
            // Squares of f32 neither overflow nor vanish in f64.
            let length = (f64::from(re).powi(2) + f64::from(im).powi(2)).sqrt() as f32;
            let scale = magnitude / (length + f32::MIN_POSITIVE);
            *slot = [re * scale, im * scale];
            *before = *now;
        }
    }
}

/// How far the magnitudes of `signal` are from `magnitudes`: `20·log10(‖|X| − S‖/‖S‖)`.
pub fn spectral_convergence_db(
    signal: &[f32],
    magnitudes: &[f32],
    settings: SpectrumSettings,
) -> Result<f64> {
    let mut stft = Stft::new(settings)?;
    let (bins, frames) = stft.shape(signal.len());
    VoiceError::expect_size("the spectrogram", magnitudes.len(), bins * frames)?;
    let mut found = vec![0.0f32; bins * frames];
    stft.density(signal, crate::spectrum::Density::Magnitude, &mut found)?;
    let (mut distance, mut total) = (0.0f64, 0.0f64);
    for (a, b) in found.iter().zip(magnitudes) {
        distance += f64::from(a - b).powi(2);
        total += f64::from(*b).powi(2);
    }
    Ok(10.0 * (distance / total.max(f64::MIN_POSITIVE)).log10())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::StretchSettings;
    use crate::spectrum::Density;

    #[test]
    fn rounds_bring_the_magnitudes_closer() {
        let settings = StretchSettings {
            transform: 512,
            hop: 128,
        }
        .spectrum();
        let signal: Vec<f32> = (0..8000)
            .map(|n| {
                let t = n as f32 / 16_000.0;
                let sweep = 300.0 * t + 400.0 * t * t;
                (1..8)
                    .map(|k| (std::f32::consts::TAU * sweep * k as f32).sin() / k as f32)
                    .sum::<f32>()
                    * 0.2
            })
            .collect();
        let mut stft = Stft::new(settings).unwrap();
        let (bins, frames) = stft.shape(signal.len());
        let mut magnitudes = vec![0.0; bins * frames];
        stft.density(&signal, Density::Magnitude, &mut magnitudes)
            .unwrap();
        let after = |iterations: usize, momentum: f32| {
            let out = GriffinLim {
                iterations,
                momentum,
                seed: 7,
            }
            .reconstruct(&magnitudes, settings, signal.len())
            .unwrap();
            spectral_convergence_db(&out, &magnitudes, settings).unwrap()
        };
        let (start, plain, fast) = (after(0, 0.0), after(32, 0.0), after(32, 0.99));
        assert!(plain < start - 5.0, "{start} {plain}");
        assert!(fast < plain - 2.0, "{plain} {fast}");
    }
}
