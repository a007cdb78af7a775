//! Constant-Q spectra on the CPU: the specification.

use warpsmith_lanes::{Blocks, Lanes, One, Task, Vector, engine_for_this_machine};
use warpsmith_signal::{
    Conditioning, FrameSpectrum, Framing, Padding, RealBlock, Resampler, Result, SignalError,
    SpectrumSettings, Symmetry, Window,
};

use crate::memory_room::check_room;

/// Share of a filter's magnitudes that is dropped, the smallest first.
const DROPPED: f64 = 0.01;
/// Equivalent noise bandwidth of the Hann window, as the peer rounds it.
const HANN_BANDWIDTH: f64 = 1.500_183_105_468_75;

/// Where the bins lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantQSettings {
    /// Samples between frames.
    pub hop: usize,
    /// Frequency of the lowest bin, Hz.
    pub lowest_hz: f64,
    /// Bins.
    pub bins: usize,
    /// Bins to an octave.
    pub per_octave: usize,
    /// Added to every bandwidth, Hz; 0 for constant Q.
    pub gamma_hz: f64,
}

impl ConstantQSettings {
    /// Seven octaves of semitones from C1.
    pub fn piano(hop: usize) -> Self {
        Self {
            hop,
            // A4 is 440 Hz; C1 lies 45 semitones below it.
            lowest_hz: 440.0 * (-45.0f64 / 12.0).exp2(),
            bins: 84,
            per_octave: 12,
            gamma_hz: 0.0,
        }
    }

    /// Frequency of a bin, Hz.
    pub fn frequency(&self, bin: usize) -> f64 {
        self.lowest_hz * (bin as f64 / self.per_octave as f64).exp2()
    }

    /// Bandwidth over frequency.
    fn relative_bandwidth(&self) -> f64 {
        let ratio = (2.0 / self.per_octave as f64).exp2();
        (ratio - 1.0) / (ratio + 1.0)
    }

    /// Samples of a bin's filter, not rounded.
    fn length(&self, bin: usize, rate: f64) -> f64 {
        let alpha = self.relative_bandwidth();
        rate / alpha / (self.frequency(bin) + self.gamma_hz / alpha)
    }
}

/// An octave's filters.
pub(crate) struct Octave {
    pub(crate) framing: Framing,
    /// Whether the next octave down sees the signal at half the rate.
    halves: bool,
    pub(crate) first_bin: usize,
    pub(crate) filters: Vec<Vec<Weight>>,
    engine: Box<dyn OctaveEngine>,
}

/// A planned analysis.
pub struct ConstantQ {
    settings: ConstantQSettings,
    /// Conversion before the highest octave, with its scale.
    early: Option<(Resampler, f32)>,
    halving: Resampler,
    /// Highest first.
    octaves: Vec<Octave>,
    /// What each bin is multiplied with, for unit windows.
    scales: Vec<f32>,
}

impl ConstantQ {
    /// Filters for signals at `sample_rate`.
    pub fn new(sample_rate: u32, settings: ConstantQSettings) -> Result<Self> {
        let ConstantQSettings {
            bins, per_octave, ..
        } = settings;
        if bins == 0 || per_octave == 0 || settings.hop == 0 {
            return Err(SignalError::parameter(
                "bins",
                format!("{bins}, {per_octave} to an octave, hop {}", settings.hop),
                "each must be at least 1",
            ));
        }
        if !(settings.lowest_hz > 0.0 && settings.gamma_hz >= 0.0) {
            return Err(SignalError::parameter(
                "lowest frequency",
                settings.lowest_hz,
                "above 0 Hz, with a gamma of at least 0 Hz",
            ));
        }
        let mut rate = f64::from(sample_rate);
        let highest = settings.frequency(bins - 1);
        let reach = highest * (1.0 + 0.5 * HANN_BANDWIDTH * settings.relative_bandwidth())
            + 0.5 * settings.gamma_hz;
        if reach.is_nan() || reach > rate / 2.0 {
            return Err(SignalError::parameter(
                "bins",
                bins,
                format!("the highest reaches to {reach:.0} Hz, beyond half the sample rate"),
            ));
        }
        let count = bins.div_ceil(per_octave);
        let twos = settings.hop.trailing_zeros() as usize;
        let spare = ((rate / 2.0 / reach).log2().ceil() as i64 - 2).max(0) as usize;
        let early = spare.min((twos + 1).saturating_sub(count));
        let factor = 1u32 << early;
        let mut hop = settings.hop >> early;
        rate /= f64::from(factor);
        let top_rate = rate;
        let mut octaves = Vec::with_capacity(count);
        for octave in 0..count {
            let past = bins - octave * per_octave;
            let first = past.saturating_sub(per_octave);
            let halves = hop.is_multiple_of(2);
            octaves.push(Octave::new(settings, first..past, rate, top_rate, hop)?);
            if halves {
                hop /= 2;
                rate /= 2.0;
            }
        }
        Ok(Self {
            settings,
            early: (early > 0)
                .then(|| Resampler::decimation(factor))
                .transpose()?
                .map(|resampler| (resampler, f64::from(factor).sqrt() as f32)),
            halving: Resampler::decimation(2)?,
            octaves,
            scales: (0..bins)
                .map(|bin| (1.0 / settings.length(bin, top_rate).sqrt()) as f32)
                .collect(),
        })
    }

    /// Frequencies of the bins, Hz.
    pub fn frequencies(&self) -> Vec<f64> {
        (0..self.settings.bins)
            .map(|bin| self.settings.frequency(bin))
            .collect()
    }

    /// How many bins there are, and what each is multiplied with.
    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// Frames of a signal of `samples` samples.
    pub fn frames(&self, samples: usize) -> usize {
        let mut length = match &self.early {
            Some((resampler, _)) => resampler.output_length(samples),
            None => samples,
        };
        let mut frames = usize::MAX;
        for octave in &self.octaves {
            frames = frames.min(octave.framing.count(length));
            if octave.halves {
                length = self.halving.output_length(length);
            }
        }
        frames
    }

    /// Samples on either side of a frame's place that it depends on, or a few less.
    pub(super) fn reach(&self) -> usize {
        let taps = |resampler: &Resampler| resampler.polyphase().2;
        let (mut before, mut factor) = match &self.early {
            Some((resampler, _)) => (taps(resampler), resampler.polyphase().1),
            None => (0, 1),
        };
        let mut reach = 0;
        for octave in &self.octaves {
            reach = reach.max(before + (octave.framing.length / 2 + 1) * factor);
            if octave.halves {
                before += taps(&self.halving) * factor;
                factor *= 2;
            }
        }
        reach
    }

    /// The octaves, highest first, each with the conversion before it and its scale, where there is one.
    pub(crate) fn octaves(&self) -> impl Iterator<Item = (&Octave, Option<(&Resampler, f32)>)> {
        let early = self.early.as_ref();
        let early = early.map(|(resampler, scale)| (resampler, *scale));
        let half = (&self.halving, std::f32::consts::SQRT_2);
        let after = move |octave: &Octave| octave.halves.then_some(half);
        let before = std::iter::once(early).chain(self.octaves.iter().map(after));
        self.octaves.iter().zip(before)
    }

    /// Fails where memory has no room for the spectra of a signal of `samples` samples.
    pub fn check_room(&self, samples: usize) -> Result<()> {
        let values = self.settings.bins.saturating_mul(self.frames(samples));
        check_room("the spectra", values, size_of::<[f32; 2]>())
    }

    /// The complex spectra, `[bin, frame]`, and the number of frames.
    pub fn compute(&mut self, signal: &[f32]) -> (Vec<[f32; 2]>, usize) {
        let frames = self.frames(signal.len());
        let mut samples = match &self.early {
            Some((resampler, scale)) => scaled(resampler.process(signal), *scale),
            None => signal.to_vec(),
        };
        let mut out = vec![[0.0; 2]; self.settings.bins * frames];
        if frames == 0 {
            return (out, 0);
        }
        for octave in &mut self.octaves {
            let rows = &mut out[octave.first_bin * frames..][..octave.filters.len() * frames];
            let scales = &self.scales[octave.first_bin..];
            octave.engine.compute(&samples, scales, frames, rows);
            if octave.halves && octave.first_bin > 0 {
                samples = scaled(self.halving.process(&samples), std::f32::consts::SQRT_2);
            }
        }
        (out, frames)
    }
}

fn scaled(mut samples: Vec<f32>, scale: f32) -> Vec<f32> {
    for x in &mut samples {
        *x *= scale;
    }
    samples
}

impl Octave {
    fn new(
        settings: ConstantQSettings,
        bins: std::ops::Range<usize>,
        rate: f64,
        top_rate: f64,
        hop: usize,
    ) -> Result<Self> {
        let longest = settings.length(bins.start, rate);
        let transform = (longest.ceil() as usize)
            .checked_next_power_of_two()
            .unwrap_or(usize::MAX);
        let framing = Framing {
            length: transform,
            hop,
            padding: Padding::CentredZero,
        };
        let spectrum = SpectrumSettings {
            framing,
            transform,
            window: Window::Rectangular,
            window_length: transform,
            symmetry: Symmetry::Periodic,
            conditioning: Conditioning::default(),
        }
        .checked()?;
        // What is left of a filter's spectrum is a fraction of its bins, or all of them at worst.
        let weights = bins.len().saturating_mul(spectrum.bins());
        check_room("the filters of an octave", weights, size_of::<Weight>())?;
        let gain = (top_rate / rate).sqrt();
        let filters: Vec<Vec<Weight>> = bins
            .clone()
            .map(|bin| {
                let length = settings.length(bin, rate);
                sparse_filter(settings.frequency(bin) / rate, length, transform, gain)
            })
            .collect();
        Ok(Self {
            framing,
            halves: hop.is_multiple_of(2),
            first_bin: bins.start,
            engine: engine_for_this_machine!(Blocks::Wide, Engine::new(spectrum, filters.clone())),
            filters,
        })
    }

    /// What filter `number` multiplies the samples of a frame by: its spectrum times that of the frame, as a
    /// sum over the frame.
    pub(crate) fn over_samples(&self, number: usize) -> Vec<[f64; 2]> {
        let length = self.framing.length;
        let turns = |n: usize| {
            let angle = std::f64::consts::TAU * n as f64 / length as f64;
            [angle.cos(), -angle.sin()]
        };
        let roots: Vec<[f64; 2]> = (0..length).map(turns).collect();
        let mut sums = vec![[0.0; 2]; length];
        for weight in &self.filters[number] {
            let [a, b] = weight.value.map(f64::from);
            for (n, sum) in sums.iter_mut().enumerate() {
                let [re, im] = roots[n * weight.bin as usize % length];
                sum[0] += a * re - b * im;
                sum[1] += a * im + b * re;
            }
        }
        sums
    }
}

/// A value of a filter's spectrum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    bin: u32,
    value: [f32; 2],
}

/// The spectrum of a Hann-windowed oscillation of `turns` per sample, `length` samples long and of unit
/// sum, centred in the transform, without its smallest values.
fn sparse_filter(turns: f64, length: f64, transform: usize, gain: f64) -> Vec<Weight> {
    let first = (-length / 2.0).floor();
    let count = ((length / 2.0).floor() - first) as usize;
    let window = Window::Hann.values(count, Symmetry::Periodic);
    let norm = window.iter().sum::<f64>();
    let scale = gain * length / transform as f64 / norm;
    let left = (transform - count) / 2;
    let mut block = RealBlock::<One>::new(transform);
    let mut part = |quadrature: fn(f64) -> f64| {
        let samples = block.samples_mut();
        samples.fill(One::splat(0.0));
        for (n, weight) in window.iter().enumerate() {
            let angle = std::f64::consts::TAU * turns * (first + n as f64);
            samples[left + n] = One::splat((scale * weight * quadrature(angle)) as f32);
        }
        let mut bins = vec![[One::splat(0.0); 2]; transform / 2 + 1];
        block.forward(&mut bins);
        bins
    };
    let (real, imaginary) = (part(f64::cos), part(f64::sin));
    let lane = |value: One| {
        let mut lanes = [0.0f32; 1];
        value.store(&mut lanes);
        lanes[0]
    };
    let values: Vec<[f32; 2]> = real
        .iter()
        .zip(&imaginary)
        .map(|(a, b)| [lane(a[0]) - lane(b[1]), lane(a[1]) + lane(b[0])])
        .collect();
    let magnitude = |value: &[f32; 2]| f64::from(value[0]).hypot(f64::from(value[1]));
    let mut sorted: Vec<f64> = values.iter().map(magnitude).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let total: f64 = sorted.iter().sum();
    let mut sum = 0.0;
    let least = sorted
        .iter()
        .find(|magnitude| {
            sum += **magnitude;
            sum / total >= DROPPED
        })
        .copied()
        .unwrap_or(0.0);
    values
        .iter()
        .enumerate()
        .filter(|(_, value)| magnitude(value) >= least)
        .map(|(bin, value)| Weight {
            bin: bin as u32,
            value: *value,
        })
        .collect()
}

trait OctaveEngine: Send {
    fn compute(&mut self, signal: &[f32], scales: &[f32], frames: usize, out: &mut [[f32; 2]]);
}

struct Engine<V> {
    spectrum: FrameSpectrum<V>,
    filters: Vec<Vec<Weight>>,
}

impl<V: Lanes> Engine<V> {
    fn new(settings: SpectrumSettings, filters: Vec<Vec<Weight>>) -> Self {
        Self {
            spectrum: FrameSpectrum::new(settings),
            filters,
        }
    }
}

impl<V: Lanes> OctaveEngine for Engine<V> {
    fn compute(&mut self, signal: &[f32], scales: &[f32], frames: usize, out: &mut [[f32; 2]]) {
        V::vectorize(OctaveTask {
            engine: self,
            signal,
            scales,
            frames,
            out,
        });
    }
}

struct OctaveTask<'a, V> {
    engine: &'a mut Engine<V>,
    signal: &'a [f32],
    scales: &'a [f32],
    frames: usize,
    out: &'a mut [[f32; 2]],
}

impl<V: Lanes> Task for OctaveTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let Engine { spectrum, filters } = self.engine;
        let mut lanes = [[0.0f32; 16]; 2];
        for first in (0..self.frames).step_by(V::WIDTH) {
            let here = V::WIDTH.min(self.frames - first);
            let bins = spectrum.block(self.signal, first);
            for ((row, filter), scale) in self
                .out
                .chunks_exact_mut(self.frames)
                .zip(filters.iter())
                .zip(self.scales)
            {
                let mut sum = [V::splat(0.0); 2];
                for weight in filter {
                    let [re, im] = bins[weight.bin as usize];
                    let (a, b) = (V::splat(weight.value[0]), V::splat(weight.value[1]));
                    sum[0] = im.neg_mul_add(b, re.mul_add(a, sum[0]));
                    sum[1] = im.mul_add(a, re.mul_add(b, sum[1]));
                }
                let scale = V::splat(*scale);
                sum[0].mul(scale).store(&mut lanes[0]);
                sum[1].mul(scale).store(&mut lanes[1]);
                for (frame, slot) in row[first..first + here].iter_mut().enumerate() {
                    *slot = [lanes[0][frame], lanes[1][frame]];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_loudest_in_its_own_bin_in_every_octave() {
        for (rate, hop) in [(16_000u32, 160), (22_050, 512), (44_100, 441)] {
            let mut cqt = ConstantQ::new(rate, ConstantQSettings::piano(hop)).unwrap();
            let frequencies = cqt.frequencies();
            for bin in [5, 20, 33, 46, 57, 69, 83] {
                let hertz = frequencies[bin];
                let signal: Vec<f32> = (0..2 * rate)
                    .map(|n| {
                        let turns = hertz * f64::from(n) / f64::from(rate);
                        (std::f64::consts::TAU * turns.fract()).sin() as f32
                    })
                    .collect();
                let (out, frames) = cqt.compute(&signal);
                let size = |bin: usize| {
                    let [re, im] = out[bin * frames + frames / 2];
                    re.hypot(im)
                };
                let loudest = (0..84).max_by(|a, b| size(*a).total_cmp(&size(*b)));
                assert_eq!(loudest, Some(bin), "{rate} Hz, {hertz} Hz");
            }
            assert_eq!(cqt.compute(&[]).1, 0);
            assert!(
                cqt.compute(&[0.5])
                    .0
                    .iter()
                    .flatten()
                    .all(|x| x.is_finite())
            );
        }
        assert!(ConstantQ::new(8_000, ConstantQSettings::piano(80)).is_err());
    }
}
