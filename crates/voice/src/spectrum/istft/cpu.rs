//! Signals from spectra on the CPU: the specification.

use warpsmith_lanes::{Blocks, Lanes, engine_for_this_machine, vectorize_method};
use warpsmith_signal::{OverlapAdd, Result, SignalError, SpectrumSettings, invertible};

use crate::spectrum::prefetch::prefetch_rows;

/// A planned inverse of [`crate::Stft`].
pub struct Istft {
    settings: SpectrumSettings,
    engine: Box<dyn IstftEngine>,
}

impl Istft {
    /// Tables for the inverse of an analysis with `settings`.
    pub fn new(settings: SpectrumSettings) -> Result<Self> {
        let settings = invertible(settings)?;
        Ok(Self {
            settings,
            engine: engine_for_this_machine!(Blocks::Wide, Engine::new(&settings)),
        })
    }

    /// The signal of `out.len()` samples whose analysis is the `[bin, frame]` matrix `spectrum`.
    pub fn reconstruct(&mut self, spectrum: &[[f32; 2]], out: &mut [f32]) -> Result<()> {
        let bins = self.settings.bins();
        let frames = spectrum.len() / bins;
        SignalError::expect_size("the spectrum", spectrum.len(), bins * frames)?;
        if frames == 0 {
            out.fill(0.0);
        }
        self.engine.reconstruct(spectrum, frames, out);
        Ok(())
    }

    /// As [`Istft::reconstruct`] for spectra that arrive: `spectrum` is that of the frames from `first` on of a signal
    /// of `samples` samples, and the samples that it completes are appended. All but the last time it has a multiple
    /// of [`Istft::TOGETHER`] frames.
    pub fn reconstruct_next(
        &mut self,
        spectrum: &[[f32; 2]],
        first: usize,
        samples: usize,
        out: &mut Vec<f32>,
    ) -> Result<()> {
        let bins = self.settings.bins();
        let (here, frames) = (spectrum.len() / bins, self.settings.framing.count(samples));
        SignalError::expect_size("the spectrum", spectrum.len(), bins * here)?;
        let is_last = first + here == frames;
        let whole = if is_last {
            here
        } else {
            here / Self::TOGETHER * Self::TOGETHER
        };
        SignalError::expect_size("the spectrum", here, whole)?;
        if here > 0 {
            self.engine
                .next(spectrum, here, (first, frames, samples), out);
        }
        Ok(())
    }

    /// Frames of which spectra that arrive have a multiple.
    pub const TOGETHER: usize = GATHERED;
}

trait IstftEngine: Send {
    fn reconstruct(&mut self, spectrum: &[[f32; 2]], frames: usize, out: &mut [f32]);
    /// Of `here` frames; `place` is the first of them, all frames and all samples.
    fn next(
        &mut self,
        spectrum: &[[f32; 2]],
        here: usize,
        place: (usize, usize, usize),
        out: &mut Vec<f32>,
    );
}

/// Frames whose bins are gathered at a time: a row of the spectrum lies pages from the next, and to
/// visit each of them for one block of frames alone costs more than the transform.
const GATHERED: usize = 64;

struct Engine<V: Lanes> {
    overlap: OverlapAdd<V>,
    /// `[block, bin]` of the frames that are gathered.
    bins: Vec<[V; 2]>,
    /// Bins of a frame.
    count: usize,
}

impl<V: Lanes> Engine<V> {
    fn new(settings: &SpectrumSettings) -> Self {
        let count = settings.bins();
        let zero = V::splat(0.0);
        Self {
            overlap: OverlapAdd::new(settings),
            bins: vec![[zero; 2]; count * GATHERED.div_ceil(V::WIDTH)],
            count,
        }
    }

    /// The bins of the frames from `start` on, as many as are gathered; frames after the last are zeros.
    #[inline(always)]
    fn gather(&mut self, spectrum: &[[f32; 2]], frames: usize, start: usize) {
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
                self.bins[block * self.count + k] = [V::load(&parts[0]), V::load(&parts[1])];
            }
        }
    }
}

impl<V: Lanes> IstftEngine for Engine<V> {
    fn reconstruct(&mut self, spectrum: &[[f32; 2]], frames: usize, out: &mut [f32]) {
        for start in (0..frames).step_by(GATHERED) {
            vectorize_method!(V: self => Engine::gather(
                spectrum: &'a [[f32; 2]],
                frames: usize,
                start: usize,
            ));
            let end = frames.min(start + GATHERED);
            let next = end..frames.min(end + GATHERED);
            let blocks = (start..end).step_by(V::WIDTH);
            let shares = blocks.len();
            for (number, first) in blocks.enumerate() {
                prefetch_rows(spectrum, frames, next.clone(), (number, shares));
                let bins = &self.bins[number * self.count..][..self.count];
                self.overlap.add(bins, (first, frames), out);
            }
        }
    }

    fn next(
        &mut self,
        spectrum: &[[f32; 2]],
        here: usize,
        (place, all, samples): (usize, usize, usize),
        out: &mut Vec<f32>,
    ) {
        for start in (0..here).step_by(GATHERED) {
            let frames = here;
            vectorize_method!(V: self => Engine::gather(
                spectrum: &'a [[f32; 2]],
                frames: usize,
                start: usize,
            ));
            let blocks = (start..here.min(start + GATHERED)).step_by(V::WIDTH);
            for (number, first) in blocks.enumerate() {
                let bins = &self.bins[number * self.count..][..self.count];
                self.overlap
                    .add_next(bins, (place + first, all), samples, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectrum::stft::Stft;
    use warpsmith_signal::{Conditioning, Framing, Padding, Symmetry, Window};

    fn settings(length: usize, hop: usize, padding: Padding) -> SpectrumSettings {
        SpectrumSettings {
            framing: Framing {
                length,
                hop,
                padding,
            },
            transform: length,
            window: Window::Hamming,
            window_length: length,
            symmetry: Symmetry::Periodic,
            conditioning: Conditioning::default(),
        }
    }

    /// Whether some frame covers a sample.
    fn covered(framing: Framing, samples: usize, at: usize) -> bool {
        let position = at + framing.left();
        (0..framing.count(samples))
            .any(|f| (f * framing.hop..f * framing.hop + framing.length).contains(&position))
    }

    #[test]
    fn the_inverse_of_an_analysis_is_the_signal_wherever_a_frame_was() {
        let shapes = [(16, 4), (16, 16), (30, 7), (15, 5), (12, 20), (64, 3)];
        for (length, hop) in shapes {
            for padding in [Padding::Inside, Padding::CentredZero] {
                for samples in [0, 1, 13, 64, 257, 1000, 2049] {
                    let settings = settings(length, hop, padding);
                    let signal: Vec<f32> = (0..samples)
                        .map(|n| ((n * n + 5 * n) as f32 * 0.37).sin())
                        .collect();
                    let mut stft = Stft::new(settings).unwrap();
                    let (bins, frames) = stft.shape(samples);
                    let mut spectrum = vec![[0.0; 2]; bins * frames];
                    stft.complex(&signal, &mut spectrum).unwrap();
                    let mut back = vec![f32::NAN; samples];
                    let mut istft = Istft::new(settings).unwrap();
                    istft.reconstruct(&spectrum, &mut back).unwrap();
                    for (n, (a, b)) in signal.iter().zip(&back).enumerate() {
                        let expected = if covered(settings.framing, samples, n) {
                            *a
                        } else {
                            0.0
                        };
                        assert!(
                            (expected - b).abs() < 2e-6,
                            "{length}/{hop}, {padding:?}, {samples}: sample {n} is {b}, not {a}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn spectra_of_other_sizes_are_refused() {
        let settings = settings(16, 4, Padding::Inside);
        let mut istft = Istft::new(settings).unwrap();
        assert!(istft.reconstruct(&[[0.0; 2]; 10], &mut [0.0; 4]).is_err());
        let longer = SpectrumSettings {
            transform: 32,
            ..settings
        };
        assert!(Istft::new(longer).is_err());
    }
}
