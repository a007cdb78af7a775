//! Steady noise taken out of a sound: in each bin a Wiener gain from the ratio of sound to noise, with
//! the decision-directed estimate of Ephraim and Malah (1984) that keeps noise from becoming chirps.
//!
//! The noise is the mean power of a stretch that the caller names, or of the quietest frames. Spectra are made
//! again each time that they are looked at: a transform costs less than to keep its result.

use std::ops::Range;

use warpsmith_lanes::{Blocks, Lanes, Task, engine_for_this_machine};
use warpsmith_signal::{
    FrameRows, FrameSpectrum, Framing, Outlet, OverlapAdd, Result, SignalError, SpectrumSettings,
    invertible,
};

use super::time_stretch::StretchSettings;

/// Share of the frames that are taken for noise where the caller names none.
const QUIETEST: f64 = 0.1;
/// How much of the last frame's estimate is kept.
const MEMORY: f32 = 0.98;
/// Less than this of the noise's power is nothing. In the course of some frames of noise the estimate would
/// otherwise come down to subnormal numbers, which cost a processor a hundred times what others do.
const NOTHING: f32 = 1e-16;

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
    framing: Framing,
    engine: Box<dyn DenoiseEngine>,
}

impl Denoiser {
    /// A denoiser for signals at `sample_rate`.
    pub fn new(sample_rate: u32, settings: DenoiseSettings) -> Result<Self> {
        if !(settings.reduction_db > 0.0 && settings.margin_db.is_finite()) {
            return Err(SignalError::parameter(
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
        let spectrum = invertible(short.spectrum())?;
        Ok(Self {
            settings,
            framing: spectrum.framing,
            engine: engine_for_this_machine!(Blocks::Wide, Engine::new(&spectrum)),
        })
    }

    /// `signal` without its noise; `noise` names samples that hold nothing else.
    pub fn process(&mut self, signal: &[f32], noise: Option<Range<usize>>) -> Result<Vec<f32>> {
        let frames = self.framing.count(signal.len());
        if frames == 0 {
            return Ok(Vec::new());
        }
        let chosen = match noise {
            Some(range) => self.frames_inside(&range, frames)?,
            None => quietest(&self.engine.energies(signal, frames)),
        };
        let margin = 10f64.powf(self.settings.margin_db / 10.0);
        self.engine.learn_noise(signal, &chosen, margin as f32);
        let floor = 10f64.powf(-self.settings.reduction_db / 20.0);
        let mut out = vec![0.0; signal.len()];
        self.engine.reduce(signal, frames, floor as f32, &mut out);
        Ok(out)
    }

    /// The frames whose centres lie in `range`, in their order.
    fn frames_inside(&self, range: &Range<usize>, frames: usize) -> Result<Vec<usize>> {
        let chosen: Vec<usize> = (0..frames)
            .filter(|frame| range.contains(&(frame * self.framing.hop)))
            .collect();
        if chosen.is_empty() {
            return Err(SignalError::parameter(
                "noise",
                format!("samples {} to {}", range.start, range.end),
                "no frame lies inside; name a longer stretch of the signal",
            ));
        }
        Ok(chosen)
    }
}

/// The quietest tenth of the frames, at least one, in their order. Digital silence counts: a recording
/// that has it has no noise in it.
fn quietest(energies: &[f32]) -> Vec<usize> {
    let count = ((energies.len() as f64 * QUIETEST) as usize).max(1);
    let mut frames: Vec<usize> = (0..energies.len()).collect();
    let by_energy = |a: &usize, b: &usize| energies[*a].total_cmp(&energies[*b]).then(a.cmp(b));
    frames.select_nth_unstable_by(count - 1, by_energy);
    frames.truncate(count);
    frames.sort_unstable();
    frames
}

trait DenoiseEngine: Send {
    /// The energy of every frame.
    fn energies(&mut self, signal: &[f32], frames: usize) -> Vec<f32>;
    /// Takes the mean power of the chosen frames, which ascend, times `margin` for the noise.
    fn learn_noise(&mut self, signal: &[f32], chosen: &[usize], margin: f32);
    /// The signal with every bin lowered by its gain, which is at least `floor`.
    fn reduce(&mut self, signal: &[f32], frames: usize, floor: f32, out: &mut [f32]);
}

struct Engine<V: Lanes> {
    analysis: FrameSpectrum<V>,
    rows: FrameRows<V>,
    overlap: OverlapAdd<V>,
    /// One over the power of the noise.
    inverse_noise: Vec<V>,
    /// What the last frame's gain left of each bin, in units of the noise.
    kept: Vec<V>,
}

impl<V: Lanes> Engine<V> {
    fn new(settings: &SpectrumSettings) -> Self {
        let rows = FrameRows::new(settings.bins());
        let none = vec![V::splat(0.0); rows.vectors()];
        Self {
            analysis: FrameSpectrum::new(*settings),
            rows,
            overlap: OverlapAdd::new(settings),
            inverse_noise: none.clone(),
            kept: none,
        }
    }
}

impl<V: Lanes> DenoiseEngine for Engine<V> {
    fn energies(&mut self, signal: &[f32], frames: usize) -> Vec<f32> {
        let mut energies = vec![0.0; frames.next_multiple_of(V::WIDTH)];
        let blocks = energies.chunks_exact_mut(V::WIDTH).enumerate();
        for (block, energies) in blocks {
            let mut energy = V::splat(0.0);
            let outlet = Energy(&mut energy);
            self.analysis.block_to(signal, block * V::WIDTH, outlet);
            energy.store(energies);
        }
        energies.truncate(frames);
        energies
    }

    fn learn_noise(&mut self, signal: &[f32], chosen: &[usize], margin: f32) {
        let mut sums = vec![V::splat(0.0); self.rows.vectors()];
        for block in chosen.chunk_by(|a, b| a / V::WIDTH == b / V::WIDTH) {
            let first = block[0] / V::WIDTH * V::WIDTH;
            self.rows.take(self.analysis.block(signal, first));
            for frame in block {
                V::vectorize(PowerTask {
                    frame: self.rows.frame(frame - first),
                    sums: &mut sums,
                });
            }
        }
        let scale = margin / chosen.len() as f32;
        let noise = V::floats(&sums).iter().map(|sum| scale * sum);
        for (slot, noise) in V::floats_mut(&mut self.inverse_noise).iter_mut().zip(noise) {
            // 200 dB below full scale is no noise at all; less would overflow the ratio.
            *slot = 1.0 / noise.max(1e-20);
        }
    }

    fn reduce(&mut self, signal: &[f32], frames: usize, floor: f32, out: &mut [f32]) {
        self.kept.fill(V::splat(0.0));
        for first in (0..frames).step_by(V::WIDTH) {
            let here = V::WIDTH.min(frames - first);
            let bins = self.analysis.block(signal, first);
            self.rows.take(bins);
            for frame in 0..here {
                V::vectorize(GainTask {
                    frame: self.rows.frame_mut(frame),
                    inverse_noise: &self.inverse_noise,
                    kept: &mut self.kept,
                    floor,
                });
            }
            self.rows.give(here, bins);
            self.overlap.add(bins, (first, frames), out);
        }
    }
}

/// Adds up the power of the bins of frames in the lanes.
struct Energy<'a, V>(&'a mut V);

impl<V: Lanes> Outlet<[V; 2]> for Energy<'_, V> {
    #[inline(always)]
    fn put(&mut self, _: usize, [re, im]: [V; 2]) {
        *self.0 = self.0.add(power(re, im));
    }
}

/// Adds the power of a frame's bins.
struct PowerTask<'a, V> {
    frame: [&'a [V]; 2],
    sums: &'a mut [V],
}

impl<V: Lanes> Task for PowerTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let [re, im] = self.frame;
        for ((sum, re), im) in self.sums.iter_mut().zip(re).zip(im) {
            *sum = sum.add(power(*re, *im));
        }
    }
}

/// Lowers a frame's bins by their gains.
struct GainTask<'a, V> {
    frame: [&'a mut [V]; 2],
    inverse_noise: &'a [V],
    kept: &'a mut [V],
    floor: f32,
}

impl<V: Lanes> Task for GainTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let [zero, one] = [V::splat(0.0), V::splat(1.0)];
        let (memory, fresh) = (V::splat(MEMORY), V::splat(1.0 - MEMORY));
        let floor = V::splat(self.floor);
        let [re, im] = self.frame;
        let state = self.kept.iter_mut().zip(self.inverse_noise);
        for ((re, im), (kept, inverse_noise)) in re.iter_mut().zip(im).zip(state) {
            // The bound is no bound for sounds, and leaves the quotient below defined.
            let posterior = power(*re, *im).mul(*inverse_noise).min(V::splat(1e30));
            let prior = fresh.mul_add(posterior.sub(one).max(zero), memory.mul(*kept));
            // The estimate lags one frame behind a sudden sound; its own frame then decides.
            let prior = prior.max(V::splat(0.5).mul(posterior.sub(V::splat(10.0))));
            let gain = prior.div(prior.add(one));
            *kept = gain.mul(gain).mul(posterior).max(V::splat(NOTHING));
            let gain = gain.max(floor);
            (*re, *im) = (re.mul(gain), im.mul(gain));
        }
    }
}

#[inline(always)]
fn power<V: Lanes>(re: V, im: V) -> V {
    im.mul_add(im, re.mul(re))
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
        for samples in [1, 100, 3000] {
            let out = denoiser.process(&clean[..samples], None).unwrap();
            assert_eq!(out.len(), samples);
            assert!(out.iter().all(|x| x.is_finite()));
        }
        assert!(denoiser.process(&clean, Some(3..4)).is_err());
    }
}
