//! Short-time spectra on the CPU: the specification.

use warpsmith_lanes::{Blocks, Lanes, engine_for_this_machine, vectorize_method};
use warpsmith_signal::{FrameSpectrum, Outlet, Result, SignalError, SpectrumSettings};

use crate::memory_room::check_room;
use crate::spectrum::prefetch::prefetch_rows;

/// What becomes of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Density {
    /// `|X|²`.
    Power,
    /// `|X|`.
    Magnitude,
}

/// Short-time Fourier analysis with its tables and scratch memory.
pub struct Stft {
    settings: SpectrumSettings,
    engine: Box<dyn StftEngine>,
}

impl Stft {
    /// Tables for `settings`.
    pub fn new(settings: SpectrumSettings) -> Result<Self> {
        Self::with_blocks(settings, Blocks::Wide)
    }

    /// Tables for one frame at a time, for streams, or for many.
    pub(crate) fn with_blocks(settings: SpectrumSettings, blocks: Blocks) -> Result<Self> {
        let settings = settings.checked()?;
        Ok(Self {
            settings,
            engine: engine_for_this_machine!(blocks, Engine::new(settings)),
        })
    }

    /// Bins and frames of a signal of `samples` samples.
    pub fn shape(&self, samples: usize) -> (usize, usize) {
        (self.settings.bins(), self.settings.framing.count(samples))
    }

    /// Fails where memory has no room for `bytes_each` bytes of every bin of a signal of `samples` samples.
    pub fn check_room(&self, samples: usize, bytes_each: usize) -> Result<()> {
        let (bins, frames) = self.shape(samples);
        check_room("the spectrogram", bins.saturating_mul(frames), bytes_each)
    }

    /// The complex spectra, `[bin, frame]`, into `out`.
    pub fn complex(&mut self, signal: &[f32], out: &mut [[f32; 2]]) -> Result<()> {
        let (bins, frames) = self.shape(signal.len());
        SignalError::expect_size("the spectrum", out.len(), bins * frames)?;
        self.engine.complex(signal, frames, out);
        Ok(())
    }

    /// Power or magnitude, `[bin, frame]`, into `out`.
    pub fn density(&mut self, signal: &[f32], density: Density, out: &mut [f32]) -> Result<()> {
        let (bins, frames) = self.shape(signal.len());
        SignalError::expect_size("the spectrogram", out.len(), bins * frames)?;
        self.engine.density(signal, frames, density, out);
        Ok(())
    }
}

trait StftEngine: Send {
    fn complex(&mut self, signal: &[f32], frames: usize, out: &mut [[f32; 2]]);
    fn density(&mut self, signal: &[f32], frames: usize, density: Density, out: &mut [f32]);
}

/// Frames whose values are gathered before they go to their rows: a row of the result lies pages from
/// the next, and to visit each of them for one block of frames alone costs more than the transform.
const GATHERED: usize = 128;

struct Engine<V> {
    spectrum: FrameSpectrum<V>,
    /// `[bin, gathered frame]`.
    complex: Vec<[f32; 2]>,
    density: Vec<f32>,
}

/// How many frames are gathered of `frames`, in blocks of `block`.
#[inline(always)]
fn gathered(frames: usize, block: usize) -> usize {
    GATHERED.min(frames.next_multiple_of(block)).max(1)
}

/// Copies the first `here` of the frames gathered in `rows` to the rows of `out`, from `first` on.
#[inline(always)]
fn spread<'a, T: Copy + 'a>(
    rows: impl Iterator<Item = &'a [T]>,
    (first, here): (usize, usize),
    frames: usize,
    out: &mut [T],
) {
    for (row, out) in rows.zip(out.chunks_exact_mut(frames)) {
        out[first..first + here].copy_from_slice(&row[..here]);
    }
}

/// Some neighbouring columns of the gathered rows, which have `width` values each.
struct Columns<'a, T> {
    rows: &'a mut [T],
    width: usize,
}

impl<V: Lanes> Outlet<[V; 2]> for Columns<'_, [f32; 2]> {
    #[inline(always)]
    fn put(&mut self, bin: usize, [re, im]: [V; 2]) {
        let mut lanes = [[0.0f32; 16]; 2];
        re.store(&mut lanes[0]);
        im.store(&mut lanes[1]);
        // A constant trip count lets the interleaving become two shuffles.
        let row = &mut self.rows[bin * self.width..][..V::WIDTH];
        for (lane, slot) in row.iter_mut().enumerate() {
            *slot = [lanes[0][lane], lanes[1][lane]];
        }
    }
}

/// The densities of bins to such columns.
struct Densities<'a> {
    columns: Columns<'a, f32>,
    magnitude: bool,
}

impl<V: Lanes> Outlet<[V; 2]> for Densities<'_> {
    #[inline(always)]
    fn put(&mut self, bin: usize, [re, im]: [V; 2]) {
        let mut value = im.mul_add(im, re.mul(re));
        if self.magnitude {
            value = value.sqrt();
        }
        value.store(&mut self.columns.rows[bin * self.columns.width..]);
    }
}

impl<V: Lanes> Engine<V> {
    fn new(settings: SpectrumSettings) -> Self {
        Self {
            spectrum: FrameSpectrum::new(settings),
            complex: Vec::new(),
            density: Vec::new(),
        }
    }

    #[inline(always)]
    fn complex_blocks(&mut self, signal: &[f32], frames: usize, out: &mut [[f32; 2]]) {
        let bins = out.len() / frames.max(1);
        let width = gathered(frames, V::WIDTH);
        self.complex.resize(bins * width, [0.0; 2]);
        for start in (0..frames).step_by(width) {
            let here = width.min(frames - start);
            let blocks = here.div_ceil(V::WIDTH);
            for (number, at) in (0..here).step_by(V::WIDTH).enumerate() {
                prefetch_rows(out, frames, start..start + here, (number, blocks));
                let rows = Columns {
                    rows: &mut self.complex[at..],
                    width,
                };
                self.spectrum.block_to(signal, start + at, rows);
            }
            spread(self.complex.chunks_exact(width), (start, here), frames, out);
        }
    }

    #[inline(always)]
    fn density_blocks(&mut self, signal: &[f32], frames: usize, magnitude: bool, out: &mut [f32]) {
        let bins = out.len() / frames.max(1);
        let width = gathered(frames, V::WIDTH);
        self.density.resize(bins * width, 0.0);
        for start in (0..frames).step_by(width) {
            let here = width.min(frames - start);
            let blocks = here.div_ceil(V::WIDTH);
            for (number, at) in (0..here).step_by(V::WIDTH).enumerate() {
                prefetch_rows(out, frames, start..start + here, (number, blocks));
                let columns = Columns {
                    rows: &mut self.density[at..],
                    width,
                };
                let outlet = Densities { columns, magnitude };
                self.spectrum.block_to(signal, start + at, outlet);
            }
            spread(self.density.chunks_exact(width), (start, here), frames, out);
        }
    }
}

impl<V: Lanes> StftEngine for Engine<V> {
    fn complex(&mut self, signal: &[f32], frames: usize, out: &mut [[f32; 2]]) {
        vectorize_method!(V: self => Engine::complex_blocks(
            signal: &'a [f32],
            frames: usize,
            out: &'a mut [[f32; 2]],
        ));
    }

    fn density(&mut self, signal: &[f32], frames: usize, density: Density, out: &mut [f32]) {
        let magnitude = density == Density::Magnitude;
        vectorize_method!(V: self => Engine::density_blocks(
            signal: &'a [f32],
            frames: usize,
            magnitude: bool,
            out: &'a mut [f32],
        ));
    }
}
