//! Steady noise taken out of a sound: in each bin a Wiener gain from the ratio of sound to noise, with
//! the decision-directed estimate of Ephraim and Malah (1984) that keeps noise from becoming chirps.
//!
//! The noise is the mean power of a stretch that the caller names, or of the quietest frames. A signal is heard up
//! to three times: where it is quiet, what the noise is, and what is left without it. Spectra are made again each
//! time: a transform costs less than to keep its result, and a long recording need not be in memory.

use std::ops::Range;

use crate::{
    FrameQueue, FrameRows, FrameSpectrum, Framing, Outlet, OverlapAdd, Result, SignalError,
    SpectrumSettings, invertible,
};
use warpsmith_lanes::{Blocks, Lanes, Task, engine_for_this_machine};

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

/// A planned denoiser of signals in memory.
pub struct Denoiser {
    sample_rate: u32,
    settings: DenoiseSettings,
}

impl Denoiser {
    /// A denoiser for signals at `sample_rate`.
    pub fn new(sample_rate: u32, settings: DenoiseSettings) -> Result<Self> {
        Frames::new(sample_rate, settings)?;
        Ok(Self {
            sample_rate,
            settings,
        })
    }

    /// `signal` without its noise; `noise` names samples that hold nothing else.
    pub fn process(&mut self, signal: &[f32], noise: Option<Range<usize>>) -> Result<Vec<f32>> {
        let (rate, settings) = (self.sample_rate, self.settings);
        if signal.is_empty() {
            return Ok(Vec::new());
        }
        // In pieces that stay in the cache.
        let pieces = || signal.chunks(1 << 14);
        let mut look = match noise {
            Some(range) => NoiseLook::of_samples(rate, settings, signal.len(), &range)?,
            None => {
                let mut search = NoiseSearch::new(rate, settings)?;
                pieces().for_each(|piece| search.hear(piece));
                search.finish()
            }
        };
        pieces().for_each(|piece| look.hear(piece));
        let mut reduction = look.finish();
        let mut out = Vec::with_capacity(signal.len());
        pieces().for_each(|piece| reduction.process(piece, &mut out));
        reduction.finish(&mut out);
        Ok(out)
    }
}

/// The frames of a signal on their way to an engine, in whole blocks but for the last.
struct Frames {
    settings: DenoiseSettings,
    framing: Framing,
    queue: FrameQueue,
    /// Frames that the engine has seen in this look.
    seen: usize,
    samples: usize,
    engine: Box<dyn DenoiseEngine>,
}

impl Frames {
    fn new(sample_rate: u32, settings: DenoiseSettings) -> Result<Self> {
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
        let queue = FrameQueue::new(spectrum.framing)?;
        let inside = queue.inner_framing();
        Ok(Self {
            settings,
            framing: spectrum.framing,
            queue,
            seen: 0,
            samples: 0,
            engine: engine_for_this_machine!(Blocks::Wide, Engine::new(&spectrum, inside)),
        })
    }

    /// The same frames for the next look, from the start of the signal.
    fn again(self) -> Self {
        Self {
            // The settings were checked by the first.
            queue: self.queue.restarted(),
            seen: 0,
            samples: 0,
            ..self
        }
    }

    /// Shows the blocks that `chunk` completes: the engine, their samples, the number of their first frame and how
    /// many frames they have.
    fn hear(&mut self, chunk: &[f32], see: impl FnMut(&mut dyn DenoiseEngine, &[f32], Block)) {
        self.samples += chunk.len();
        self.queue.push(chunk);
        let width = self.engine.width();
        self.show(self.queue.ready() / width * width, see);
    }

    /// Shows what is left at the end of the signal.
    fn finish(&mut self, see: impl FnMut(&mut dyn DenoiseEngine, &[f32], Block)) {
        let left = self.queue.close();
        self.show(left, see);
    }

    fn show(&mut self, frames: usize, mut see: impl FnMut(&mut dyn DenoiseEngine, &[f32], Block)) {
        let width = self.engine.width();
        for start in (0..frames).step_by(width) {
            let block = Block {
                first: self.seen,
                frames: width.min(frames - start),
            };
            see(&mut *self.engine, self.queue.frames(block.frames), block);
            self.queue.remove(block.frames);
            self.seen += block.frames;
        }
    }
}

/// Frames that are looked at together.
#[derive(Clone, Copy)]
struct Block {
    first: usize,
    frames: usize,
}

/// The first look at a signal: which frames are quiet.
pub struct NoiseSearch {
    frames: Frames,
    energies: Vec<f32>,
}

impl NoiseSearch {
    /// For a signal at `sample_rate`.
    pub fn new(sample_rate: u32, settings: DenoiseSettings) -> Result<Self> {
        Ok(Self {
            frames: Frames::new(sample_rate, settings)?,
            energies: Vec::new(),
        })
    }

    /// Hears the next samples.
    pub fn hear(&mut self, chunk: &[f32]) {
        let energies = &mut self.energies;
        self.frames.hear(chunk, |engine, samples, block| {
            engine.energies(samples, block.frames, energies);
        });
    }

    /// Ends the signal.
    pub fn finish(mut self) -> NoiseLook {
        let energies = &mut self.energies;
        self.frames.finish(|engine, samples, block| {
            engine.energies(samples, block.frames, energies);
        });
        NoiseLook {
            samples: self.frames.samples,
            chosen: quietest(&self.energies),
            heard: 0,
            frames: self.frames.again(),
        }
    }
}

/// The second look: what the noise is.
pub struct NoiseLook {
    frames: Frames,
    samples: usize,
    /// The frames that hold nothing but noise, in their order, and how many of them were heard.
    chosen: Vec<usize>,
    heard: usize,
}

impl NoiseLook {
    /// For a signal of `samples` samples, of which those in `noise` hold nothing else.
    pub fn of_samples(
        sample_rate: u32,
        settings: DenoiseSettings,
        samples: usize,
        noise: &Range<usize>,
    ) -> Result<Self> {
        let frames = Frames::new(sample_rate, settings)?;
        let Framing { hop, .. } = frames.framing;
        // The frames whose centres lie there.
        let chosen: Vec<usize> = (0..frames.framing.count(samples))
            .filter(|frame| noise.contains(&(frame * hop)))
            .collect();
        if chosen.is_empty() {
            return Err(SignalError::parameter(
                "noise",
                format!("samples {} to {}", noise.start, noise.end),
                "no frame lies inside; name a longer stretch of the signal",
            ));
        }
        Ok(Self {
            frames,
            samples,
            chosen,
            heard: 0,
        })
    }

    /// Hears the next samples.
    pub fn hear(&mut self, chunk: &[f32]) {
        let (chosen, heard) = (&self.chosen[..], &mut self.heard);
        self.frames.hear(chunk, |engine, samples, block| {
            *heard += learn(engine, samples, block, &chosen[*heard..]);
        });
    }

    /// Ends the signal.
    pub fn finish(mut self) -> NoiseReduction {
        let (chosen, heard) = (&self.chosen[..], &mut self.heard);
        self.frames.finish(|engine, samples, block| {
            *heard += learn(engine, samples, block, &chosen[*heard..]);
        });
        let mut frames = self.frames.again();
        let DenoiseSettings {
            reduction_db,
            margin_db,
        } = frames.settings;
        let margin = 10f64.powf(margin_db / 10.0) as f32;
        frames.engine.learned(margin / self.chosen.len() as f32);
        NoiseReduction {
            total: (frames.framing.count(self.samples), self.samples),
            floor: 10f64.powf(-reduction_db / 20.0) as f32,
            frames,
        }
    }
}

/// Shows an engine the noise of a block; says how many of the frames that were chosen and are still to come lie in
/// it.
fn learn(engine: &mut dyn DenoiseEngine, samples: &[f32], block: Block, chosen: &[usize]) -> usize {
    let end = block.first + block.frames;
    let here = chosen.partition_point(|frame| *frame < end);
    if here > 0 {
        engine.learn(samples, block.first, &chosen[..here]);
    }
    here
}

/// The third look: the signal without its noise.
pub struct NoiseReduction {
    frames: Frames,
    /// Frames and samples of the signal.
    total: (usize, usize),
    floor: f32,
}

impl NoiseReduction {
    /// Takes the next samples; appends those that they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<f32>) {
        let (total, floor) = (self.total, self.floor);
        self.frames.hear(chunk, |engine, samples, block| {
            engine.reduce(samples, block, total, floor, out);
        });
    }

    /// Ends the signal; appends what is left.
    pub fn finish(mut self, out: &mut Vec<f32>) {
        let (total, floor) = (self.total, self.floor);
        self.frames.finish(|engine, samples, block| {
            engine.reduce(samples, block, total, floor, out);
        });
    }
}

/// The quietest tenth of the frames, at least one, in their order. Digital silence counts: a recording
/// that has it has no noise in it.
fn quietest(energies: &[f32]) -> Vec<usize> {
    let count = ((energies.len() as f64 * QUIETEST) as usize).max(1);
    let mut frames: Vec<usize> = (0..energies.len()).collect();
    if frames.is_empty() {
        return frames;
    }
    let by_energy = |a: &usize, b: &usize| energies[*a].total_cmp(&energies[*b]).then(a.cmp(b));
    frames.select_nth_unstable_by(count - 1, by_energy);
    frames.truncate(count);
    frames.sort_unstable();
    frames
}

trait DenoiseEngine: Send {
    /// Frames to a block.
    fn width(&self) -> usize;
    /// Appends the energy of every frame of a block.
    fn energies(&mut self, samples: &[f32], frames: usize, energies: &mut Vec<f32>);
    /// Adds up the power of the chosen frames of the block from `first` on.
    fn learn(&mut self, samples: &[f32], first: usize, chosen: &[usize]);
    /// Takes the power of all that was learnt, times `scale`, for the noise.
    fn learned(&mut self, scale: f32);
    /// Appends the samples that a block completes with every bin lowered by its gain, which is at least `floor`;
    /// `total` counts frames and samples.
    fn reduce(
        &mut self,
        samples: &[f32],
        block: Block,
        total: (usize, usize),
        floor: f32,
        out: &mut Vec<f32>,
    );
}

struct Engine<V: Lanes> {
    analysis: FrameSpectrum<V>,
    rows: FrameRows<V>,
    overlap: OverlapAdd<V>,
    /// The power of the noise while it is added up, then one over it.
    noise: Vec<V>,
    /// What the last frame's gain left of each bin, in units of the noise.
    kept: Vec<V>,
}

impl<V: Lanes> Engine<V> {
    /// For frames of `settings` that lie inside what it is given.
    fn new(settings: &SpectrumSettings, inside: Framing) -> Self {
        let rows = FrameRows::new(settings.bins());
        let none = vec![V::splat(0.0); rows.vectors()];
        Self {
            analysis: FrameSpectrum::new(SpectrumSettings {
                framing: inside,
                ..*settings
            }),
            rows,
            overlap: OverlapAdd::new(settings),
            noise: none.clone(),
            kept: none,
        }
    }
}

impl<V: Lanes> DenoiseEngine for Engine<V> {
    fn width(&self) -> usize {
        V::WIDTH
    }

    fn energies(&mut self, samples: &[f32], frames: usize, energies: &mut Vec<f32>) {
        let mut energy = V::splat(0.0);
        self.analysis.block_to(samples, 0, Energy(&mut energy));
        energies.extend_from_slice(&V::floats(&[energy])[..frames]);
    }

    fn learn(&mut self, samples: &[f32], first: usize, chosen: &[usize]) {
        self.rows.take(self.analysis.block(samples, 0));
        for frame in chosen {
            V::vectorize(PowerTask {
                frame: self.rows.frame(frame - first),
                sums: &mut self.noise,
            });
        }
    }

    fn learned(&mut self, scale: f32) {
        for noise in V::floats_mut(&mut self.noise) {
            // 200 dB below full scale is no noise at all; less would overflow the ratio.
            *noise = 1.0 / (scale * *noise).max(1e-20);
        }
    }

    fn reduce(
        &mut self,
        samples: &[f32],
        Block {
            first,
            frames: here,
        }: Block,
        (frames, length): (usize, usize),
        floor: f32,
        out: &mut Vec<f32>,
    ) {
        let bins = self.analysis.block(samples, 0);
        self.rows.take(bins);
        for frame in 0..here {
            V::vectorize(GainTask {
                frame: self.rows.frame_mut(frame),
                inverse_noise: &self.noise,
                kept: &mut self.kept,
                floor,
            });
        }
        self.rows.give(here, bins);
        self.overlap.add_next(bins, (first, frames), length, out);
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

    #[test]
    fn any_cutting_gives_the_bits_of_the_whole() {
        let (clean, noise) = scene();
        let noisy: Vec<f32> = clean.iter().zip(&noise).map(|(a, b)| a + b).collect();
        let settings = DenoiseSettings::default();
        for range in [None, Some(4000..6200)] {
            let mut denoiser = Denoiser::new(16_000, settings).unwrap();
            let whole = denoiser.process(&noisy, range.clone()).unwrap();
            for size in [7, 1000, 30_000] {
                let mut look = match &range {
                    Some(range) => {
                        NoiseLook::of_samples(16_000, settings, noisy.len(), range).unwrap()
                    }
                    None => {
                        let mut search = NoiseSearch::new(16_000, settings).unwrap();
                        noisy.chunks(size).for_each(|chunk| search.hear(chunk));
                        search.finish()
                    }
                };
                noisy.chunks(size).for_each(|chunk| look.hear(chunk));
                let (mut reduction, mut out) = (look.finish(), Vec::new());
                for chunk in noisy.chunks(size) {
                    reduction.process(chunk, &mut out);
                }
                reduction.finish(&mut out);
                assert_eq!(out, whole, "in chunks of {size}");
            }
        }
    }
}
