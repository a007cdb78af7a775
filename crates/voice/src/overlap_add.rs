//! From short-time spectra back to a signal: inverse transforms, weighted and overlapped.
//!
//! Each output sample is `Σ w·y / Σ w²` over the frames that cover it, which undoes an analysis with
//! the same window exactly wherever some window is not zero. Frames are added in their order, so
//! the bits do not depend on the vector width.

use crate::error::{Result, VoiceError};
use crate::fourier::RealBlock;
use crate::frame_spectrum::SpectrumSettings;
use crate::lanes::{Blocks, Lanes, Task, engine_for_this_machine};

/// A planned inverse of [`crate::Stft`].
pub struct Istft {
    settings: SpectrumSettings,
    window: Vec<f32>,
    engine: Box<dyn IstftEngine>,
}

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
        let engine = engine_for_this_machine!(Blocks::Wide, Engine::new(length, &window));
        Ok(Self {
            settings,
            window,
            engine,
        })
    }

    /// The signal of `out.len()` samples whose analysis is the `[bin, frame]` matrix `spectrum`.
    pub fn reconstruct(&mut self, spectrum: &[[f32; 2]], out: &mut [f32]) -> Result<()> {
        let bins = self.settings.bins();
        let frames = spectrum.len() / bins;
        VoiceError::expect_size("the spectrum", spectrum.len(), bins * frames)?;
        let framing = self.settings.framing;
        let left = framing.left();
        let mut padded = vec![0.0; out.len() + left + framing.length];
        self.engine
            .overlap(spectrum, frames, framing.hop, &mut padded);
        let weights = self.overlapped_weights(frames, padded.len());
        let signal = padded[left..].iter().zip(&weights[left..]);
        for (slot, (sum, weight)) in out.iter_mut().zip(signal) {
            *slot = if *weight > f32::MIN_POSITIVE {
                sum / weight
            } else {
                *sum
            };
        }
        Ok(())
    }

    /// `Σ w²` of the frames that cover each sample.
    fn overlapped_weights(&self, frames: usize, length: usize) -> Vec<f32> {
        let mut weights = vec![0.0f32; length];
        for frame in 0..frames {
            let start = (frame * self.settings.framing.hop).min(length);
            for (slot, w) in weights[start..].iter_mut().zip(&self.window) {
                *slot += w * w;
            }
        }
        weights
    }
}

trait IstftEngine: Send {
    fn overlap(&mut self, spectrum: &[[f32; 2]], frames: usize, hop: usize, out: &mut [f32]);
}

struct Engine<V> {
    length: usize,
    /// The window over the transform's length, which the inverse leaves in its result.
    window: Vec<f32>,
    transform: RealBlock<V>,
    bins: Vec<[V; 2]>,
    samples: Vec<V>,
    /// `[sample, lane]` of one block.
    lanes: Vec<f32>,
}

impl<V: Lanes> Engine<V> {
    fn new(length: usize, window: &[f32]) -> Self {
        let zero = V::splat(0.0);
        Self {
            length,
            window: window.iter().map(|w| w / length as f32).collect(),
            transform: RealBlock::new(length),
            bins: vec![[zero; 2]; length / 2 + 1],
            samples: vec![zero; length],
            lanes: vec![0.0; length * V::WIDTH],
        }
    }

    #[inline(always)]
    fn overlap_blocks(
        &mut self,
        spectrum: &[[f32; 2]],
        frames: usize,
        hop: usize,
        out: &mut [f32],
    ) {
        let mut parts = [[0.0f32; 16]; 2];
        let mut first = 0;
        while first < frames {
            let here = V::WIDTH.min(frames - first);
            for (k, bin) in self.bins.iter_mut().enumerate() {
                let row = &spectrum[k * frames + first..][..here];
                for (lane, [re, im]) in row.iter().enumerate() {
                    parts[0][lane] = *re;
                    parts[1][lane] = *im;
                }
                *bin = [V::load(&parts[0]), V::load(&parts[1])];
            }
            self.transform.inverse(&self.bins, &mut self.samples);
            for (n, (sample, weight)) in self.samples.iter().zip(&self.window).enumerate() {
                let weighted = sample.mul(V::splat(*weight));
                weighted.store(&mut self.lanes[n * V::WIDTH..]);
            }
            for lane in 0..here {
                let start = ((first + lane) * hop).min(out.len());
                let to = &mut out[start..];
                for (n, slot) in to.iter_mut().take(self.length).enumerate() {
                    *slot += self.lanes[n * V::WIDTH + lane];
                }
            }
            first += V::WIDTH;
        }
    }
}

impl<V: Lanes> IstftEngine for Engine<V> {
    fn overlap(&mut self, spectrum: &[[f32; 2]], frames: usize, hop: usize, out: &mut [f32]) {
        V::vectorize(OverlapTask {
            engine: self,
            spectrum,
            frames,
            hop,
            out,
        });
    }
}

struct OverlapTask<'a, V> {
    engine: &'a mut Engine<V>,
    spectrum: &'a [[f32; 2]],
    frames: usize,
    hop: usize,
    out: &'a mut [f32],
}

impl<V: Lanes> Task for OverlapTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.engine
            .overlap_blocks(self.spectrum, self.frames, self.hop, self.out);
    }
}
