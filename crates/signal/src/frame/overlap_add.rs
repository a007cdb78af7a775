//! From the spectra of blocks of frames back to a signal: inverse transforms, windowed and overlapped.
//!
//! Each output sample is `Σ w·y / Σ w²` over the frames that cover it, which undoes an analysis with
//! the same window exactly wherever some window is not zero. Frames are added in their order, so
//! the bits do not depend on the vector width.
//!
//! Sample `i = q·hop + j` of frame `f` belongs to sample `j` of hop `f + q`. Sums are kept transposed,
//! hop `m` down column `m`, so that a sample of all frames of a block is added as one vector.

use std::ops::Range;

use warpsmith_lanes::{Lanes, Task, Vector};

use super::framing::Framing;
use super::hop_weights::HopWeights;
use super::spectrum::SpectrumSettings;
use super::tile::transpose_into;
use crate::error::{Result, SignalError};
use crate::fourier::{Outlet, RealBlock};

/// Lanes that change places together.
const EIGHT: usize = 8;

/// Tables and sums for signals from the spectra of `V::WIDTH` frames at a time.
pub struct OverlapAdd<V: Lanes> {
    framing: Framing,
    /// The window over the transform's length, which the inverse leaves in its result.
    window: Vec<f32>,
    weights: HopWeights,
    transform: RealBlock<V>,
    /// Where the sums of a frame's samples start, a lane to a frame.
    offsets: Vec<u32>,
    /// `[sample of a hop, hop]`: sums of the hops that a block reaches.
    sums: Vec<f32>,
    /// Hops that a block reaches, in whole eights.
    columns: usize,
    /// `[hop, sample of a hop]`: sums that are complete.
    complete: Vec<f32>,
}

/// Settings whose analysis can be undone.
pub fn invertible(settings: SpectrumSettings) -> Result<SpectrumSettings> {
    let settings = settings.checked()?;
    if settings.transform != settings.framing.length {
        return Err(SignalError::parameter(
            "transform length",
            settings.transform,
            format!(
                "only frames as long as the transform can be inverted, these have {} samples",
                settings.framing.length
            ),
        ));
    }
    Ok(settings)
}

impl<V: Lanes> OverlapAdd<V> {
    /// Tables for [`invertible`] settings.
    pub fn new(settings: &SpectrumSettings) -> Self {
        let length = settings.framing.length;
        let window = settings
            .window
            .centred(settings.window_length, length, settings.symmetry);
        let weights = HopWeights::new(settings, &window);
        let columns = (V::WIDTH - 1 + weights.reach()).next_multiple_of(EIGHT);
        let hop = settings.framing.hop;
        let rows = hop.min(length);
        let offsets = (0..length).map(|i| (i % hop * columns + i / hop) as u32);
        Self {
            framing: settings.framing,
            window: window.iter().map(|w| w / length as f32).collect(),
            weights,
            transform: RealBlock::new(length),
            offsets: offsets.collect(),
            sums: vec![0.0; rows * columns],
            columns,
            complete: vec![0.0; rows * columns],
        }
    }

    /// Adds the frames from `first` on of a signal of `frames`, whose samples `out` are: blocks in their
    /// order, from the first to the last. Lanes after the last frame hold zeros.
    pub fn add(&mut self, bins: &[[V; 2]], block: (usize, usize), out: &mut [f32]) {
        let samples = out.len();
        let done = self.done_by(block, samples);
        self.add_to(bins, block, samples, done.start, &mut out[done]);
    }

    /// As [`Self::add`] for a signal of `samples` samples that is not there as a whole: appends those that the block
    /// completes.
    pub fn add_next(
        &mut self,
        bins: &[[V; 2]],
        block: (usize, usize),
        samples: usize,
        out: &mut Vec<f32>,
    ) {
        let done = self.done_by(block, samples);
        let at = out.len();
        out.resize(at + done.len(), 0.0);
        self.add_to(bins, block, samples, done.start, &mut out[at..]);
    }

    /// The samples of a signal of `samples` that the block from `first` on completes; the last one of `frames`
    /// completes all that are left.
    fn done_by(&self, (first, frames): (usize, usize), samples: usize) -> Range<usize> {
        let Framing { hop, .. } = self.framing;
        let sample = |frame: usize| {
            (frame * hop)
                .saturating_sub(self.framing.left())
                .min(samples)
        };
        let next = first + V::WIDTH;
        let end = if next >= frames {
            samples
        } else {
            sample(next)
        };
        sample(first)..end
    }

    /// Adds a block; `out` are the samples from `start` on of `samples` that it completes.
    fn add_to(
        &mut self,
        bins: &[[V; 2]],
        (first, frames): (usize, usize),
        samples: usize,
        start: usize,
        out: &mut [f32],
    ) {
        if first == 0 {
            self.sums.fill(0.0);
        }
        let sums = Sums {
            sums: &mut self.sums,
            offsets: &self.offsets,
            window: &self.window,
        };
        self.transform.inverse_to(bins, sums);
        V::vectorize(CompleteTask {
            overlap: self,
            first,
            frames,
            samples,
            start,
            out,
        });
    }

    /// Brings the first `count` hops into the order of time and moves the others to their place.
    #[inline(always)]
    fn complete(&mut self, count: usize) {
        let columns = self.columns;
        let rows = self.sums.len() / columns;
        let whole = rows / EIGHT * EIGHT;
        let shape = (count, whole);
        transpose_into::<V::Points>(&self.sums, columns, shape, &mut self.complete, rows);
        for row in whole..rows {
            for hop in 0..count {
                self.complete[hop * rows + row] = self.sums[row * columns + hop];
            }
        }
        let none = <V::Points as Vector>::splat(0.0);
        for row in self.sums.chunks_exact_mut(columns) {
            for at in (0..columns).step_by(EIGHT) {
                let from = row.get(at + count..);
                let value = from.filter(|from| !from.is_empty());
                value
                    .map_or(none, <V::Points as Vector>::load)
                    .store(&mut row[at..]);
            }
        }
    }

    /// Writes the complete hops, of which `first` is the number of the first, to the samples from `from` on.
    #[inline(always)]
    fn put_out(
        &mut self,
        (first, count): (usize, usize),
        (frames, samples): (usize, usize),
        from: usize,
        out: &mut [f32],
    ) {
        let (hop, left) = (self.framing.hop, self.framing.left());
        let rows = self.complete.len() / self.columns;
        for (number, sums) in (first..first + count).zip(self.complete.chunks_exact(rows)) {
            let (start, end) = (number * hop, (number + 1) * hop);
            if end <= left || start >= left + samples {
                continue;
            }
            let before = left.saturating_sub(start);
            let end = (end - left).min(samples);
            let out = &mut out[start + before - left - from..end - from];
            let weights = self.weights.of(number, frames);
            let covered = out.len().min(rows.saturating_sub(before));
            let (inside, between) = out.split_at_mut(covered);
            let sums = sums.iter().zip(weights).skip(before);
            for (slot, (sum, weight)) in inside.iter_mut().zip(sums) {
                *slot = sum * weight;
            }
            // Frames further apart than they are long leave silence between them.
            between.fill(0.0);
        }
    }
}

/// Adds the windowed samples of a block's frames to the sums. Of those that meet in an output the latest of its
/// frame, which belongs to the first frame, comes first; a hop lies between two that meet, so that none waits
/// for the one before.
struct Sums<'a> {
    sums: &'a mut [f32],
    offsets: &'a [u32],
    window: &'a [f32],
}

impl<V: Lanes> Outlet<V> for Sums<'_> {
    #[inline(always)]
    fn put(&mut self, sample: usize, value: V) {
        let sums = &mut self.sums[self.offsets[sample] as usize..][..V::WIDTH];
        let windowed = value.mul(V::splat(self.window[sample]));
        V::load(sums).add(windowed).store(sums);
    }
}

struct CompleteTask<'a, V: Lanes> {
    overlap: &'a mut OverlapAdd<V>,
    first: usize,
    frames: usize,
    samples: usize,
    start: usize,
    out: &'a mut [f32],
}

impl<V: Lanes> Task for CompleteTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let Self {
            overlap,
            first,
            frames,
            samples,
            start,
            out,
        } = self;
        let last = first + V::WIDTH >= frames;
        let count = if last { overlap.columns } else { V::WIDTH };
        overlap.complete(count);
        overlap.put_out((first, count), (frames, samples), start, out);
        if last {
            let framing = overlap.framing;
            let end = ((first + count) * framing.hop).saturating_sub(framing.left());
            let end = end.clamp(start, samples);
            out[end - start..].fill(0.0);
        }
    }
}
