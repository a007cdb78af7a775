//! From short-time spectra back to a signal: inverse transforms, weighted and overlapped.
//!
//! Each output sample is `Σ w·y / Σ w²` over the frames that cover it, which undoes an analysis with
//! the same window exactly wherever some window is not zero. Frames are added in their order, so
//! the bits do not depend on the vector width.
//!
//! Sample `i = q·hop + j` of frame `f` belongs to sample `j` of hop `f + q`. Sums are kept transposed,
//! hop `m` down column `m`, so that a sample of all frames of a block is added as one vector.

use crate::error::{Result, VoiceError};
use crate::fourier::RealBlock;
use crate::frame_spectrum::SpectrumSettings;
use crate::lanes::{Blocks, Lanes, Task, engine_for_this_machine, with_widest};

/// A planned inverse of [`crate::Stft`].
pub struct Istft {
    settings: SpectrumSettings,
    window: Vec<f32>,
    engine: Box<dyn IstftEngine>,
    /// The sum over frames, from before the signal's start to after its end.
    padded: Vec<f32>,
    /// `Σ w²` of so many frames, as long as `padded`.
    weights: Vec<f32>,
    weighted_frames: usize,
    /// Frames of the current signal that are in.
    added: usize,
}

/// Frames that are added at a time are a multiple of this, but for the last.
pub(crate) const FRAMES_TOGETHER: usize = 64;

impl Istft {
    /// Tables for the inverse of an analysis with `settings`.
    pub fn new(settings: SpectrumSettings) -> Result<Self> {
        let settings = settings.checked()?;
        if settings.transform != settings.framing.length {
            return Err(VoiceError::parameter(
                "transform length",
                settings.transform,
                format!(
                    "only frames as long as the transform can be inverted, these have {} samples",
                    settings.framing.length
                ),
            ));
        }
        let length = settings.framing.length;
        let window = settings
            .window
            .centred(settings.window_length, length, settings.symmetry);
        let hop = settings.framing.hop;
        let engine = engine_for_this_machine!(Blocks::Wide, Engine::new(length, hop, &window));
        Ok(Self {
            settings,
            window,
            engine,
            padded: Vec::new(),
            weights: Vec::new(),
            weighted_frames: 0,
            added: 0,
        })
    }

    /// The signal of `out.len()` samples whose analysis is the `[bin, frame]` matrix `spectrum`.
    pub fn reconstruct(&mut self, spectrum: &[[f32; 2]], out: &mut [f32]) -> Result<()> {
        let bins = self.settings.bins();
        let frames = spectrum.len() / bins;
        VoiceError::expect_size("the spectrum", spectrum.len(), bins * frames)?;
        self.begin(out.len());
        self.add(spectrum, frames, true)?;
        self.finish(out)
    }

    /// Starts a signal of `samples` samples.
    pub(crate) fn begin(&mut self, samples: usize) {
        let framing = self.settings.framing;
        self.padded.clear();
        self.padded
            .resize(samples + framing.left() + framing.length, 0.0);
        self.added = 0;
    }

    /// Adds the next `frames` frames of the `[bin, frame]` matrix: a multiple of [`FRAMES_TOGETHER`], but
    /// for the last.
    pub(crate) fn add(&mut self, spectrum: &[[f32; 2]], frames: usize, last: bool) -> Result<()> {
        let bins = self.settings.bins();
        VoiceError::expect_size("the spectrum", spectrum.len(), bins * frames)?;
        let place = (self.added, last);
        self.engine
            .overlap(spectrum, frames, place, &mut self.padded);
        self.added += frames;
        Ok(())
    }

    /// The signal of the frames that were added, into `out`, as long as was said.
    pub(crate) fn finish(&mut self, out: &mut [f32]) -> Result<()> {
        let framing = self.settings.framing;
        let left = framing.left();
        let samples = self.padded.len().saturating_sub(left + framing.length);
        VoiceError::expect_size("the signal", out.len(), samples)?;
        if self.weighted_frames != self.added || self.weights.len() != self.padded.len() {
            self.overlap_weights(self.added);
        }
        with_widest(Quotients {
            sums: &self.padded[left..],
            weights: &self.weights[left..],
            out,
        });
        Ok(())
    }

    /// `Σ w²` of the frames that cover each sample.
    fn overlap_weights(&mut self, frames: usize) {
        let length = self.padded.len();
        self.weights.clear();
        self.weights.resize(length, 0.0);
        let hop = self.settings.framing.hop;
        let reach = self.window.len().div_ceil(hop);
        // From the first hop that all frames reach which ever do, to the last, weights repeat.
        let (first, end) = (reach - 1, frames.max(reach));
        for (number, weights) in self.weights.chunks_mut(hop).enumerate() {
            if number > first && number < end {
                continue;
            }
            let covering = (number + 1).saturating_sub(reach)..frames.min(number + 1);
            for frame in covering {
                let window = self.window.chunks(hop).nth(number - frame).unwrap_or(&[]);
                for (slot, w) in weights.iter_mut().zip(window) {
                    *slot += w * w;
                }
            }
        }
        let pattern = (first * hop).min(length)..((first + 1) * hop).min(length);
        let middle = ((first + 1) * hop).min(length)..(end * hop).min(length);
        for start in middle.clone().step_by(hop) {
            let count = hop.min(middle.end - start);
            self.weights
                .copy_within(pattern.start..pattern.start + count, start);
        }
        self.weighted_frames = frames;
    }
}

/// Sums over their weights, where there are any.
struct Quotients<'a> {
    sums: &'a [f32],
    weights: &'a [f32],
    out: &'a mut [f32],
}

impl Task for Quotients<'_> {
    #[inline(always)]
    fn run(self) {
        let signal = self.sums.iter().zip(self.weights);
        for (slot, (sum, weight)) in self.out.iter_mut().zip(signal) {
            let none = *weight <= f32::MIN_POSITIVE;
            *slot = sum / if none { 1.0 } else { *weight };
        }
    }
}

trait IstftEngine: Send {
    /// Adds frames, of which the first is number `place.0` of the signal; `place.1` is whether none follow.
    fn overlap(
        &mut self,
        spectrum: &[[f32; 2]],
        frames: usize,
        place: (usize, bool),
        out: &mut [f32],
    );
}

/// Frames whose bins are gathered at a time: a row of the spectrum lies pages from the next, and to
/// visit each of them for one block of frames alone costs more than the transform.
const GATHERED: usize = FRAMES_TOGETHER;

struct Engine<V> {
    hop: usize,
    /// The window over the transform's length, which the inverse leaves in its result.
    window: Vec<f32>,
    transform: RealBlock<V>,
    /// `[block, bin]` of the frames that are gathered.
    bins: Vec<[V; 2]>,
    samples: Vec<V>,
    /// `[sample of a hop, hop]`: sums of the hops that a block reaches.
    sums: Vec<f32>,
    columns: usize,
}

impl<V: Lanes> Engine<V> {
    fn new(length: usize, hop: usize, window: &[f32]) -> Self {
        let zero = V::splat(0.0);
        let columns = V::WIDTH + length.div_ceil(hop);
        let rows = hop.min(length);
        Self {
            hop,
            window: window.iter().map(|w| w / length as f32).collect(),
            transform: RealBlock::new(length),
            bins: vec![[zero; 2]; (length / 2 + 1) * GATHERED.div_ceil(V::WIDTH)],
            samples: vec![zero; length],
            sums: vec![0.0; rows * columns],
            columns,
        }
    }

    #[inline(always)]
    fn overlap_blocks(
        &mut self,
        spectrum: &[[f32; 2]],
        frames: usize,
        (before, last): (usize, bool),
        out: &mut [f32],
    ) {
        if before == 0 {
            self.sums.fill(0.0);
        }
        let bins = self.window.len() / 2 + 1;
        for start in (0..frames).step_by(GATHERED) {
            self.gather(spectrum, frames, start);
            for first in (start..frames.min(start + GATHERED)).step_by(V::WIDTH) {
                let block = &self.bins[(first - start) / V::WIDTH * bins..][..bins];
                self.transform.inverse(block, &mut self.samples);
                self.add_samples();
                let done = if first + V::WIDTH >= frames && last {
                    self.columns
                } else {
                    V::WIDTH
                };
                self.put_out(before + first, done, out);
            }
        }
    }

    /// The bins of the frames from `start` on, as many as are gathered; frames after the last add nothing.
    #[inline(always)]
    fn gather(&mut self, spectrum: &[[f32; 2]], frames: usize, start: usize) {
        let bins = self.window.len() / 2 + 1;
        for (k, row) in spectrum.chunks_exact(frames).enumerate() {
            let row = &row[start..frames.min(start + GATHERED)];
            for (block, row) in row.chunks(V::WIDTH).enumerate() {
                let mut parts = [[0.0f32; 16]; 2];
                if row.len() == V::WIDTH {
                    // A constant trip count makes shuffles of this.
                    for (lane, [re, im]) in row[..V::WIDTH].iter().enumerate() {
                        (parts[0][lane], parts[1][lane]) = (*re, *im);
                    }
                } else {
                    for (lane, [re, im]) in row.iter().enumerate() {
                        (parts[0][lane], parts[1][lane]) = (*re, *im);
                    }
                }
                self.bins[block * bins + k] = [V::load(&parts[0]), V::load(&parts[1])];
            }
        }
    }

    /// Adds the windowed samples of a block's frames to the sums. Of those that meet in an output the
    /// latest of its frame, which belongs to the first frame, comes first; a hop lies between two that
    /// meet, so that none waits for the one before.
    #[inline(always)]
    fn add_samples(&mut self) {
        let hops = self
            .samples
            .chunks(self.hop)
            .zip(self.window.chunks(self.hop));
        for (hop, (samples, window)) in hops.enumerate().rev() {
            let rows = self.sums.chunks_exact_mut(self.columns);
            for ((sums, sample), weight) in rows.zip(samples).zip(window) {
                let sums = &mut sums[hop..][..V::WIDTH];
                V::load(sums).add(sample.mul(V::splat(*weight))).store(sums);
            }
        }
    }

    /// Writes the sums of the first `done` hops, of which `first` is the signal's number of the first,
    /// and moves the others to their place.
    #[inline(always)]
    fn put_out(&mut self, first: usize, done: usize, out: &mut [f32]) {
        let start = (first * self.hop).min(out.len());
        let out = &mut out[start..];
        for (j, row) in self.sums.chunks_exact_mut(self.columns).enumerate() {
            let slots = out.iter_mut().skip(j).step_by(self.hop);
            for (slot, sum) in slots.zip(&row[..done]) {
                *slot = *sum;
            }
            row.copy_within(done.., 0);
            let left = row.len() - done;
            row[left..].fill(0.0);
        }
    }
}

impl<V: Lanes> IstftEngine for Engine<V> {
    fn overlap(
        &mut self,
        spectrum: &[[f32; 2]],
        frames: usize,
        place: (usize, bool),
        out: &mut [f32],
    ) {
        V::vectorize(OverlapTask {
            engine: self,
            spectrum,
            frames,
            place,
            out,
        });
    }
}

struct OverlapTask<'a, V> {
    engine: &'a mut Engine<V>,
    spectrum: &'a [[f32; 2]],
    frames: usize,
    place: (usize, bool),
    out: &'a mut [f32],
}

impl<V: Lanes> Task for OverlapTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.engine
            .overlap_blocks(self.spectrum, self.frames, self.place, self.out);
    }
}
