//! Mel features on the CPU: the specification.

use std::f64::consts::PI;

use warpsmith_lanes::{Blocks, Lanes, Vector, engine_for_this_machine, ln, vectorize_method};
use warpsmith_signal::{FrameSpectrum, Result, SignalError, zeros};

use super::bank::MelBank;
use super::filter_lanes::{FilterLanes, are_finite};
use super::settings::{FeatureSettings, Layout, Lifter};
use crate::memory_room::check_room;

/// A planned feature with its tables and scratch memory.
pub struct MelFeature {
    settings: FeatureSettings,
    bank: MelBank,
    engine: Box<dyn MelEngine>,
}

impl MelFeature {
    /// Tables for `settings`.
    pub fn new(settings: FeatureSettings) -> Result<Self> {
        Self::with_blocks(settings, Blocks::Wide)
    }

    /// Tables for one frame at a time: the same bits, at the latency of a stream.
    pub(crate) fn with_blocks(settings: FeatureSettings, blocks: Blocks) -> Result<Self> {
        let settings = settings.checked()?;
        if let Some(cepstrum) = settings.cepstrum {
            let cosines = cepstrum.coefficients.saturating_mul(settings.mel.filters);
            check_room("the table of cosines", cosines, size_of::<f32>())?;
        }
        let bank = MelBank::new(
            &settings.mel,
            settings.sample_rate,
            settings.spectrum.transform,
        )?;
        let engine = engine_for_this_machine!(blocks, Engine::new(&settings, &bank));
        Ok(Self {
            settings,
            bank,
            engine,
        })
    }

    /// What was planned.
    pub fn settings(&self) -> &FeatureSettings {
        &self.settings
    }

    /// The filters.
    pub fn bank(&self) -> &MelBank {
        &self.bank
    }

    /// Rows and frames of a signal of `samples` samples, whatever the layout.
    pub fn shape(&self, samples: usize) -> (usize, usize) {
        (self.settings.rows(), self.settings.frames(samples))
    }

    /// Sets the lowest compressed power, in place of one that the dynamic range would give.
    pub(crate) fn limit(&mut self, lowest: f32) {
        self.engine.limit(lowest);
    }

    /// The features of `signal` into the caller's buffer of `rows × frames` values.
    pub fn compute_into(&mut self, signal: &[f32], out: &mut [f32]) -> Result<()> {
        let (rows, frames) = self.shape(signal.len());
        SignalError::expect_size("the feature matrix", out.len(), rows * frames)?;
        self.engine.compute(signal, frames, out);
        Ok(())
    }

    /// The features of `signal` in a fresh buffer.
    pub fn compute(&mut self, signal: &[f32]) -> Result<Vec<f32>> {
        let (rows, frames) = self.shape(signal.len());
        // The dynamic range is known last: where they become cepstra, all mel powers wait for it.
        let held = match (self.settings.dynamic_range, self.settings.cepstrum) {
            (Some(_), Some(_)) => self.settings.mel.filters,
            _ => 0,
        };
        let values = frames.saturating_mul(rows + held);
        check_room("the feature matrix", values, size_of::<f32>())?;
        let mut out = zeros(rows * frames);
        self.compute_into(signal, &mut out)?;
        Ok(out)
    }
}

trait MelEngine: Send {
    /// Sets the lowest compressed power; what is below becomes it.
    fn limit(&mut self, lowest: f32);
    fn compute(&mut self, signal: &[f32], frames: usize, out: &mut [f32]);
}

/// The logarithm of powers, by its factor and floor.
#[inline(always)]
fn compressed<V: Lanes>(sum: V, (factor, floor): (f32, f32)) -> V {
    // In this order a NaN survives `max`; `sum − sum` carries it past the logarithm.
    let bounded = V::splat(floor).max(sum);
    ln(bounded).mul(V::splat(factor)).add(sum.sub(sum))
}

/// A filter's place in the flat weight table.
#[derive(Clone, Copy)]
struct Span {
    first_bin: usize,
    first_weight: usize,
    weights: usize,
}

struct Engine<V> {
    spectrum: FrameSpectrum<V>,
    spans: Vec<Span>,
    weights: Vec<f32>,
    /// The same filters in lanes, for a frame on its own.
    in_lanes: Option<FilterLanes>,
    /// Factor and floor of the logarithm.
    logarithm: Option<(f32, f32)>,
    dynamic_range: Option<f32>,
    /// The lowest compressed power, where somebody has looked at the whole signal before.
    lowest: Option<f32>,
    scale: (f32, f32),
    /// `[coefficient, filter]`, empty without a cepstrum.
    cosines: Vec<f32>,
    layout: Layout,
    power: Vec<V>,
    /// Compressed mel powers: of one block, or of all where cepstra wait for the dynamic range.
    mel: Vec<V>,
    cepstrum: Vec<V>,
}

impl<V: Lanes> Engine<V> {
    fn new(settings: &FeatureSettings, bank: &MelBank) -> Self {
        let zero = V::splat(0.0);
        let (mut spans, mut weights) = (Vec::new(), Vec::new());
        let power_gain = settings.gain * settings.gain;
        for filter in bank.filters() {
            spans.push(Span {
                first_bin: filter.first,
                first_weight: weights.len(),
                weights: filter.weights.len(),
            });
            // A power of two scales without rounding, so the gain may sit in the weights.
            weights.extend(filter.weights.iter().map(|weight| weight * power_gain));
        }
        let rows = settings.rows();
        let in_lanes =
            (V::WIDTH == 1).then(|| FilterLanes::new(bank, power_gain, settings.spectrum.bins()));
        Self {
            spectrum: FrameSpectrum::new(settings.spectrum),
            spans,
            weights,
            in_lanes,
            logarithm: settings.compression.logarithm(),
            dynamic_range: settings.dynamic_range,
            lowest: None,
            scale: settings.scale,
            cosines: cosines(settings),
            layout: settings.layout,
            power: vec![zero; settings.spectrum.bins()],
            mel: Vec::new(),
            cepstrum: vec![zero; if settings.cepstrum.is_some() { rows } else { 0 }],
        }
    }

    #[inline(always)]
    fn compute_blocks(&mut self, signal: &[f32], frames: usize, out: &mut [f32]) {
        let filters = self.spans.len();
        let blocks = frames.div_ceil(V::WIDTH);
        // Powers that wait for the dynamic range do so in their places, unless cepstra are made of them.
        let in_place = self.dynamic_range.is_some() && self.cosines.is_empty();
        let waits = self.dynamic_range.is_some() && !in_place;
        let held = if waits { blocks } else { 1 };
        self.mel.resize(held * filters, V::splat(0.0));
        let mut largest = f32::NEG_INFINITY;
        for block in 0..blocks {
            let first = block * V::WIDTH;
            let at = if waits { block * filters } else { 0 };
            self.compressed_mel(signal, first, at);
            let here = V::WIDTH.min(frames - first);
            if self.dynamic_range.is_some() {
                largest = largest.max(largest_lane(&self.mel[at..at + filters], here));
            }
            if in_place {
                let place = Place {
                    first,
                    here,
                    frames,
                    layout: self.layout,
                };
                place.put(&self.mel, (1.0, 0.0), out);
            } else if !waits {
                self.finish(at, self.lowest, first, here, frames, out);
            }
        }
        let Some(range) = self.dynamic_range else {
            return;
        };
        if in_place {
            bound_and_scale::<V>(out, largest - range, self.scale);
            return;
        }
        for block in 0..blocks {
            let first = block * V::WIDTH;
            let here = V::WIDTH.min(frames - first);
            self.finish(
                block * filters,
                Some(largest - range),
                first,
                here,
                frames,
                out,
            );
        }
    }

    /// The compressed mel powers of the block at frame `first`, into `self.mel[at..]`.
    #[inline(always)]
    fn compressed_mel(&mut self, signal: &[f32], first: usize, at: usize) {
        let bins = self.spectrum.block(signal, first);
        for (power, [re, im]) in self.power.iter_mut().zip(bins) {
            *power = im.mul_add(*im, re.mul(*re));
        }
        match &self.in_lanes {
            Some(filters)
                if const { V::WIDTH == 1 } && are_finite::<V::Points>(V::floats(&self.power)) =>
            {
                let mel = V::floats_mut(&mut self.mel[at..at + self.spans.len()]);
                filters.sum::<V::Points>(V::floats(&self.power), mel);
            }
            _ => self.sum_filters(at),
        }
        let Some(logarithm) = self.logarithm else {
            return;
        };
        let mel = &mut self.mel[at..at + self.spans.len()];
        if const { V::WIDTH == 1 } {
            // The filters of a frame on its own fill vectors, but for the last few.
            let width = <V::Points as Vector>::WIDTH;
            let whole = mel.len() / width * width;
            let (eights, rest) = mel.split_at_mut(whole);
            for values in V::floats_mut(eights).chunks_exact_mut(width) {
                compressed(<V::Points as Vector>::load(values), logarithm).store(values);
            }
            for value in rest {
                *value = compressed(*value, logarithm);
            }
        } else {
            for value in mel {
                *value = compressed(*value, logarithm);
            }
        }
    }

    /// The filters' sums, one filter after the other.
    #[inline(always)]
    fn sum_filters(&mut self, at: usize) {
        for (span, slot) in self.spans.iter().zip(&mut self.mel[at..]) {
            let weights = &self.weights[span.first_weight..][..span.weights];
            let power = &self.power[span.first_bin..][..span.weights];
            let mut sum = V::splat(0.0);
            for (weight, power) in weights.iter().zip(power) {
                sum = power.mul_add(V::splat(*weight), sum);
            }
            *slot = sum;
        }
    }

    /// Lower bound, cepstrum and scale of one block, and its way out.
    #[inline(always)]
    fn finish(
        &mut self,
        at: usize,
        lowest: Option<f32>,
        first: usize,
        here: usize,
        frames: usize,
        out: &mut [f32],
    ) {
        let filters = self.spans.len();
        let mel = &mut self.mel[at..at + filters];
        if let Some(lowest) = lowest {
            let lowest = V::splat(lowest);
            for value in mel.iter_mut() {
                *value = lowest.max(*value);
            }
        }
        let values: &[V] = if self.cosines.is_empty() {
            mel
        } else {
            // Four coefficients at a time: their sums do not wait for each other.
            let (fours, rest) = self.cepstrum.as_chunks_mut::<4>();
            let (cosines, last) = self.cosines.split_at(4 * fours.len() * filters);
            for (slots, cosines) in fours.iter_mut().zip(cosines.chunks_exact(4 * filters)) {
                *slots = coefficients(mel, cosines);
            }
            for (slot, cosines) in rest.iter_mut().zip(last.chunks_exact(filters)) {
                [*slot] = coefficients(mel, cosines);
            }
            &self.cepstrum
        };
        let place = Place {
            first,
            here,
            frames,
            layout: self.layout,
        };
        place.put(values, self.scale, out);
    }
}

/// Where the rows of a block lie in the result.
struct Place {
    /// The block's first frame, and its frames.
    first: usize,
    here: usize,
    /// Frames of the result.
    frames: usize,
    layout: Layout,
}

impl Place {
    /// Scales a block's rows and takes them there.
    #[inline(always)]
    fn put<V: Lanes>(&self, rows: &[V], scale: (f32, f32), out: &mut [f32]) {
        let Self {
            first,
            here,
            frames,
            layout,
        } = *self;
        if const { V::WIDTH == 1 } && scale == (1.0, 0.0) && layout == Layout::FramesFirst {
            out[first * rows.len()..][..rows.len()].copy_from_slice(V::floats(rows));
            return;
        }
        let mut lanes = [0.0f32; 16];
        for (row, value) in rows.iter().enumerate() {
            let value = scaled(*value, scale);
            if layout == Layout::RowsFirst && here == V::WIDTH {
                value.store(&mut out[row * frames + first..][..V::WIDTH]);
                continue;
            }
            value.store(&mut lanes);
            for (lane, value) in lanes[..here].iter().enumerate() {
                let place = match layout {
                    Layout::RowsFirst => row * frames + first + lane,
                    Layout::FramesFirst => (first + lane) * rows.len() + row,
                };
                out[place] = *value;
            }
        }
    }
}

/// The lower bound and the scale of values that lie in their places.
#[inline(always)]
fn bound_and_scale<V: Lanes>(values: &mut [f32], lowest: f32, scale: (f32, f32)) {
    let lowest = V::splat(lowest);
    let mut blocks = values.chunks_exact_mut(V::WIDTH);
    for block in &mut blocks {
        scaled(lowest.max(V::load(block)), scale).store(block);
    }
    let rest = blocks.into_remainder();
    let mut lanes = [0.0f32; 16];
    lanes[..rest.len()].copy_from_slice(rest);
    scaled(lowest.max(V::load(&lanes[..V::WIDTH])), scale).store(&mut lanes);
    rest.copy_from_slice(&lanes[..rest.len()]);
}

#[inline(always)]
fn scaled<V: Lanes>(value: V, (factor, offset): (f32, f32)) -> V {
    if (factor, offset) == (1.0, 0.0) {
        value
    } else {
        value.mul_add(V::splat(factor), V::splat(offset))
    }
}

impl<V: Lanes> MelEngine for Engine<V> {
    fn limit(&mut self, lowest: f32) {
        self.lowest = Some(lowest);
    }

    fn compute(&mut self, signal: &[f32], frames: usize, out: &mut [f32]) {
        vectorize_method!(V: self => Engine::compute_blocks(
            signal: &'a [f32],
            frames: usize,
            out: &'a mut [f32],
        ));
    }
}

/// The sums of `mel` under each of `N` rows of cosines, even and odd filters apart.
#[inline(always)]
fn coefficients<V: Lanes, const N: usize>(mel: &[V], cosines: &[f32]) -> [V; N] {
    let filters = mel.len();
    let (pairs, odd) = mel.as_chunks::<2>();
    let mut sums = [[V::splat(0.0); 2]; N];
    for (m, [even, odd]) in pairs.iter().enumerate() {
        for (row, sums) in sums.iter_mut().enumerate() {
            let cosines = &cosines[row * filters + 2 * m..][..2];
            sums[0] = even.mul_add(V::splat(cosines[0]), sums[0]);
            sums[1] = odd.mul_add(V::splat(cosines[1]), sums[1]);
        }
    }
    if let [last] = odd {
        for (row, sums) in sums.iter_mut().enumerate() {
            sums[0] = last.mul_add(V::splat(cosines[row * filters + filters - 1]), sums[0]);
        }
    }
    sums.map(|[even, odd]| even.add(odd))
}

/// The largest value among the first `here` lanes.
#[inline(always)]
fn largest_lane<V: Lanes>(values: &[V], here: usize) -> f32 {
    let mut largest = V::splat(f32::NEG_INFINITY);
    for value in values {
        largest = value.max(largest);
    }
    let mut lanes = [0.0f32; 16];
    largest.store(&mut lanes);
    lanes[..here]
        .iter()
        .copied()
        .fold(f32::NEG_INFINITY, f32::max)
}

/// What follows the compressed mel powers of a whole signal, `[frame, filter]`: the limit of the dynamic
/// range, the cepstrum, the scale, and the layout that `settings` asks for.
pub(crate) fn finish_frames(settings: &FeatureSettings, mut mel: Vec<f32>) -> Vec<f32> {
    if let Some(range) = settings.dynamic_range {
        let largest = mel.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for value in &mut mel {
            *value = value.max(largest - range);
        }
    }
    let filters = settings.mel.filters;
    let cosines = cosines(settings);
    if !cosines.is_empty() {
        mel = mel
            .chunks_exact(filters)
            .flat_map(|frame| {
                cosines.chunks_exact(filters).map(move |row| {
                    let products = row.iter().zip(frame).map(|(a, b)| a * b);
                    products.sum::<f32>()
                })
            })
            .collect();
    }
    let (factor, offset) = settings.scale;
    if settings.scale != (1.0, 0.0) {
        for value in &mut mel {
            *value = value.mul_add(factor, offset);
        }
    }
    match settings.layout {
        Layout::FramesFirst => mel,
        Layout::RowsFirst => {
            let rows = settings.rows();
            let frames = mel.len() / rows;
            (0..rows * frames)
                .map(|at| mel[at % frames * rows + at / frames])
                .collect()
        }
    }
}

/// The orthonormal DCT-II with the lifter's weights, `[coefficient, filter]`.
pub(super) fn cosines(settings: &FeatureSettings) -> Vec<f32> {
    let Some(cepstrum) = settings.cepstrum else {
        return Vec::new();
    };
    let filters = settings.mel.filters;
    let mut cosines = Vec::with_capacity(cepstrum.coefficients * filters);
    for k in 0..cepstrum.coefficients {
        let norm = if k == 0 { 1.0 } else { 2.0 } / filters as f64;
        let lift = match cepstrum.lifter {
            Lifter::None => 1.0,
            Lifter::FromOne { length } => 1.0 + length / 2.0 * (PI * (k + 1) as f64 / length).sin(),
            Lifter::FromZero { length } => 1.0 + length / 2.0 * (PI * k as f64 / length).sin(),
        };
        for m in 0..filters {
            let angle = PI * k as f64 * (m as f64 + 0.5) / filters as f64;
            cosines.push((norm.sqrt() * lift * angle.cos()) as f32);
        }
    }
    cosines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mel::preset::{Preset, Sizes, Stage};

    #[test]
    fn finishing_frames_apart_gives_what_the_engine_gives() {
        let signal: Vec<f32> = (0..9000)
            .map(|n| (n as f32 * 0.05).sin() * (n as f32 / 9000.0))
            .collect();
        for stage in [Stage::LogMel, Stage::Cepstrum { coefficients: 13 }] {
            for preset in [Preset::Librosa, Preset::Whisper] {
                let sizes = Sizes::for_speech(16_000);
                let settings = preset.feature(16_000, sizes, stage);
                let whole = MelFeature::new(settings).unwrap().compute(&signal).unwrap();
                let plain = FeatureSettings {
                    dynamic_range: None,
                    cepstrum: None,
                    scale: (1.0, 0.0),
                    layout: Layout::FramesFirst,
                    ..settings
                };
                let mel = MelFeature::new(plain).unwrap().compute(&signal).unwrap();
                let finished = finish_frames(&settings, mel);
                assert_eq!(finished.len(), whole.len());
                for (a, b) in finished.iter().zip(&whole) {
                    assert!((a - b).abs() <= 1e-3, "{preset} {a} {b}");
                }
            }
        }
    }
}
