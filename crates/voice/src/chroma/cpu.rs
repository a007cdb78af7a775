//! Chroma on the CPU: the specification.

use warpsmith_lanes::{Blocks, Task, with_widest};
use warpsmith_signal::{FrameQueue, Result, SignalError, SpectrumSettings};

use crate::spectrum::{Density, Stft};

/// Pitch classes; 0 is C.
pub const PITCH_CLASSES: usize = 12;

/// A planned chroma analysis.
pub struct Chroma {
    stft: Stft,
    /// `[class, bin]`.
    filters: Vec<f32>,
    /// `[bin, frame]` of the signal in work.
    power: Vec<f32>,
}

impl Chroma {
    /// Filters over the spectra of a signal at `sample_rate`.
    pub fn new(settings: SpectrumSettings, sample_rate: u32) -> Result<Self> {
        Self::tuned(settings, sample_rate, 0.0)
    }

    /// The same for music that is tuned `tuning` semitones above A4 = 440 Hz; see
    /// [`estimate_tuning`](crate::estimate_tuning).
    pub fn tuned(settings: SpectrumSettings, sample_rate: u32, tuning: f64) -> Result<Self> {
        Self::with_blocks(settings, sample_rate, tuning, Blocks::Wide)
    }

    fn with_blocks(
        settings: SpectrumSettings,
        sample_rate: u32,
        tuning: f64,
        blocks: Blocks,
    ) -> Result<Self> {
        if !tuning.is_finite() {
            return Err(SignalError::parameter(
                "tuning",
                tuning,
                "a number of semitones",
            ));
        }
        Ok(Self {
            filters: filters(sample_rate, settings.transform, tuning),
            stft: Stft::with_blocks(settings, blocks)?,
            power: Vec::new(),
        })
    }

    /// `[class, frame]`: each frame scaled so that its largest class is 1; a silent one is 0.
    pub fn compute(&mut self, signal: &[f32]) -> Result<Vec<f32>> {
        let (_, frames) = self.stft.shape(signal.len());
        self.stft.check_room(signal.len(), size_of::<f32>())?;
        let mut chroma = vec![0.0f32; PITCH_CLASSES * frames];
        self.compute_into(signal, &mut chroma)?;
        Ok(chroma)
    }

    /// [`Chroma::compute`] into `chroma`, which is as long as that and holds zeros.
    fn compute_into(&mut self, signal: &[f32], chroma: &mut [f32]) -> Result<()> {
        let (bins, frames) = self.stft.shape(signal.len());
        if frames == 0 {
            return Ok(());
        }
        self.power.resize(bins * frames, 0.0);
        self.stft.density(signal, Density::Power, &mut self.power)?;
        with_widest(Classes {
            chroma,
            power: &self.power,
            filters: &self.filters,
            frames,
        });
        for frame in 0..frames {
            let classes = || (0..PITCH_CLASSES).map(|class| class * frames + frame);
            let largest = classes().map(|at| chroma[at]).fold(0.0, f32::max);
            if largest > f32::MIN_POSITIVE {
                for at in classes() {
                    chroma[at] /= largest;
                }
            }
        }
        Ok(())
    }
}

/// The sums of all classes.
struct Classes<'a> {
    chroma: &'a mut [f32],
    power: &'a [f32],
    filters: &'a [f32],
    frames: usize,
}

impl Task for Classes<'_> {
    #[inline(always)]
    fn run(self) {
        let frames = self.frames;
        let bins = self.power.len() / frames;
        // A stretch of frames at a time, so that its powers stay in a near cache while all classes
        // take from them. A class adds its bins from the lowest up whatever the stretch.
        for from in (0..frames).step_by(STRETCH) {
            let to = (from + STRETCH).min(frames);
            for (row, weights) in self
                .chroma
                .chunks_exact_mut(frames)
                .zip(self.filters.chunks_exact(bins))
            {
                for (power, weight) in self.power.chunks_exact(frames).zip(weights) {
                    for (sum, power) in row[from..to].iter_mut().zip(&power[from..to]) {
                        *sum += weight * power;
                    }
                }
            }
        }
    }
}

/// Frames whose powers stay in a near cache: 64 KiB of them at 257 bins.
const STRETCH: usize = 64;

/// Chroma of a stream: any cutting into chunks gives the bits of the whole.
pub struct ChromaStream {
    queue: FrameQueue,
    chroma: Chroma,
}

impl ChromaStream {
    /// A stream of chroma; the padding is zeros or none.
    pub fn new(settings: SpectrumSettings, sample_rate: u32) -> Result<Self> {
        Self::tuned(settings, sample_rate, 0.0)
    }

    /// The same, tuned so many semitones above A4 = 440 Hz.
    pub fn tuned(settings: SpectrumSettings, sample_rate: u32, tuning: f64) -> Result<Self> {
        let queue = FrameQueue::new(settings.framing)?;
        let inner = SpectrumSettings {
            framing: queue.inner_framing(),
            ..settings
        };
        Ok(Self {
            chroma: Chroma::with_blocks(inner, sample_rate, tuning, Blocks::Single)?,
            queue,
        })
    }

    /// Takes the next samples; appends the classes of each frame that they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<[f32; PITCH_CLASSES]>) -> Result<()> {
        self.queue.push(chunk);
        self.emit(self.queue.ready(), out)
    }

    /// Ends the signal; appends the frames that reach beyond its end.
    pub fn finish(mut self, out: &mut Vec<[f32; PITCH_CLASSES]>) -> Result<()> {
        let frames = self.queue.close();
        self.emit(frames, out)
    }

    fn emit(&mut self, frames: usize, out: &mut Vec<[f32; PITCH_CLASSES]>) -> Result<()> {
        for _ in 0..frames {
            let mut classes = [0.0; PITCH_CLASSES];
            self.chroma
                .compute_into(self.queue.frames(1), &mut classes)?;
            out.push(classes);
            self.queue.remove(1);
        }
        Ok(())
    }
}

/// Bells around every octave of a class, as wide as the bins lie apart, each bin's weights scaled to a
/// unit vector and then by a broad bell around the fifth octave.
pub(crate) fn filters(sample_rate: u32, transform: usize, tuning: f64) -> Vec<f32> {
    let classes = PITCH_CLASSES as f64;
    let bins = transform / 2 + 1;
    let hertz = |bin: usize| f64::from(sample_rate) * bin as f64 / transform as f64;
    // In semitones over the A of octave 0 as it is tuned; bin 0 is put one and a half octaves below bin 1.
    let place = |bin: usize| {
        if bin == 0 {
            classes * ((hertz(1) / 27.5).log2() - 1.5) - tuning
        } else {
            classes * (hertz(bin) / 27.5).log2() - tuning
        }
    };
    let mut filters = vec![0.0f32; PITCH_CLASSES * bins];
    for bin in 0..bins {
        let width = (place(bin + 1) - place(bin)).max(1.0);
        let mut weights = [0.0f64; PITCH_CLASSES];
        for (class, weight) in weights.iter_mut().enumerate() {
            let distance = (place(bin) - class as f64 + 6.0).rem_euclid(classes) - 6.0;
            *weight = (-0.5 * (2.0 * distance / width).powi(2)).exp();
        }
        let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        let octave = place(bin) / classes;
        let bell = (-0.5 * ((octave - 5.0) / 2.0).powi(2)).exp();
        for (class, weight) in weights.iter().enumerate() {
            // Counted from A; C is three classes on.
            let from_c = (class + PITCH_CLASSES - 3) % PITCH_CLASSES;
            filters[from_c * bins + bin] = (weight / norm * bell) as f32;
        }
    }
    filters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mel::{Preset, Sizes, Stage};

    #[test]
    fn a_note_lights_its_own_class_in_every_octave() {
        let rate = 22_050;
        let sizes = Sizes {
            transform: 4096,
            hop: 512,
            filters: 80,
        };
        let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
        let mut chroma = Chroma::new(spectrum, rate).unwrap();
        for (hertz, class) in [
            (261.63, 0),
            (440.0, 9),
            (880.0, 9),
            (1567.98, 7),
            (369.99, 6),
        ] {
            let signal: Vec<f32> = (0..rate)
                .map(|n| {
                    (std::f64::consts::TAU * hertz * f64::from(n) / f64::from(rate)).sin() as f32
                })
                .collect();
            let out = chroma.compute(&signal).unwrap();
            let frames = out.len() / PITCH_CLASSES;
            for (c, row) in out.chunks_exact(frames).enumerate() {
                let middle = row[frames / 2];
                assert!(
                    (middle == 1.0) == (c == class),
                    "{hertz} Hz, class {c}: {middle}"
                );
            }
        }
        assert!(chroma.compute(&[]).unwrap().is_empty());
        assert!(
            chroma
                .compute(&[0.0; 9000])
                .unwrap()
                .iter()
                .all(|x| *x == 0.0)
        );
    }
}
