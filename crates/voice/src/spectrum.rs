//! Short-time spectra as `[bin, frame]` matrices: complex, power or magnitude.
//!
//! Output buffers belong to the caller: a page fault per output page costs more than the transform.

use crate::error::{Result, VoiceError};
use crate::frame_spectrum::{FrameSpectrum, SpectrumSettings};
use crate::lanes::{Blocks, Lanes, Task, engine_for_this_machine};

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

    /// The complex spectra, `[bin, frame]`, into `out`.
    pub fn complex(&mut self, signal: &[f32], out: &mut [[f32; 2]]) -> Result<()> {
        let (bins, frames) = self.shape(signal.len());
        VoiceError::expect_size("the spectrum", out.len(), bins * frames)?;
        self.engine.complex(signal, frames, out);
        Ok(())
    }

    /// Power or magnitude, `[bin, frame]`, into `out`.
    pub fn density(&mut self, signal: &[f32], density: Density, out: &mut [f32]) -> Result<()> {
        let (bins, frames) = self.shape(signal.len());
        VoiceError::expect_size("the spectrogram", out.len(), bins * frames)?;
        self.engine.density(signal, frames, density, out);
        Ok(())
    }
}

trait StftEngine: Send {
    fn complex(&mut self, signal: &[f32], frames: usize, out: &mut [[f32; 2]]);
    fn density(&mut self, signal: &[f32], frames: usize, density: Density, out: &mut [f32]);
}

struct Engine<V> {
    spectrum: FrameSpectrum<V>,
}

impl<V: Lanes> Engine<V> {
    fn new(settings: SpectrumSettings) -> Self {
        Self {
            spectrum: FrameSpectrum::new(settings),
        }
    }

    #[inline(always)]
    fn complex_blocks(&mut self, signal: &[f32], frames: usize, out: &mut [[f32; 2]]) {
        let mut lanes = [[0.0f32; 16]; 2];
        let mut first = 0;
        while first < frames {
            let here = V::WIDTH.min(frames - first);
            for (bin, [re, im]) in self.spectrum.block(signal, first).iter().enumerate() {
                re.store(&mut lanes[0]);
                im.store(&mut lanes[1]);
                let row = &mut out[bin * frames + first..][..here];
                if here == V::WIDTH {
                    // A constant trip count lets the interleaving become two shuffles.
                    for (lane, slot) in row[..V::WIDTH].iter_mut().enumerate() {
                        *slot = [lanes[0][lane], lanes[1][lane]];
                    }
                } else {
                    for (lane, slot) in row.iter_mut().enumerate() {
                        *slot = [lanes[0][lane], lanes[1][lane]];
                    }
                }
            }
            first += V::WIDTH;
        }
    }

    #[inline(always)]
    fn density_blocks(&mut self, signal: &[f32], frames: usize, magnitude: bool, out: &mut [f32]) {
        let mut lanes = [0.0f32; 16];
        let mut first = 0;
        while first < frames {
            let here = V::WIDTH.min(frames - first);
            for (bin, [re, im]) in self.spectrum.block(signal, first).iter().enumerate() {
                let mut value = im.mul_add(*im, re.mul(*re));
                if magnitude {
                    value = value.sqrt();
                }
                let row = &mut out[bin * frames + first..][..here];
                if here == V::WIDTH {
                    value.store(row);
                } else {
                    value.store(&mut lanes);
                    row.copy_from_slice(&lanes[..here]);
                }
            }
            first += V::WIDTH;
        }
    }
}

impl<V: Lanes> StftEngine for Engine<V> {
    fn complex(&mut self, signal: &[f32], frames: usize, out: &mut [[f32; 2]]) {
        V::vectorize(ComplexTask {
            engine: self,
            signal,
            frames,
            out,
        });
    }

    fn density(&mut self, signal: &[f32], frames: usize, density: Density, out: &mut [f32]) {
        V::vectorize(DensityTask {
            engine: self,
            signal,
            frames,
            density,
            out,
        });
    }
}

struct ComplexTask<'a, V> {
    engine: &'a mut Engine<V>,
    signal: &'a [f32],
    frames: usize,
    out: &'a mut [[f32; 2]],
}

impl<V: Lanes> Task for ComplexTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.engine
            .complex_blocks(self.signal, self.frames, self.out);
    }
}

struct DensityTask<'a, V> {
    engine: &'a mut Engine<V>,
    signal: &'a [f32],
    frames: usize,
    density: Density,
    out: &'a mut [f32],
}

impl<V: Lanes> Task for DensityTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let magnitude = self.density == Density::Magnitude;
        self.engine
            .density_blocks(self.signal, self.frames, magnitude, self.out);
    }
}
