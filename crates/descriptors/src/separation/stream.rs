//! The split of a signal of known length that is heard piece by piece: medians along time need some frames around
//! each, and no more are kept.

use std::collections::VecDeque;

use warpsmith_signal::FrameQueue;
use warpsmith_voice::{Istft, Result, SpectrumSettings, Stft, check_room};

use super::{Parts, SplitSettings, masks};

/// Frames that are split together, at least.
const TOGETHER: usize = 4 * Istft::TOGETHER;

/// A split with the bits of [`split`](super::split).
pub struct SplitStream {
    settings: SplitSettings,
    /// Samples and frames of the whole.
    samples: usize,
    frames: usize,
    queue: FrameQueue,
    stft: Stft,
    bins: usize,
    /// Spectra of the frames from number `kept_from` on, a frame's bins together.
    kept: VecDeque<Vec<[f32; 2]>>,
    kept_from: usize,
    /// Frames that are split.
    done: usize,
    harmonic: Istft,
    percussive: Istft,
}

impl SplitStream {
    /// A stream of `samples` samples, none of which was heard.
    pub fn new(sample_rate: u32, samples: usize, settings: SplitSettings) -> Result<Self> {
        settings.checked()?;
        let spectrum = settings.spectrum(sample_rate);
        let queue = FrameQueue::new(spectrum.framing)?;
        let bins = spectrum.bins();
        let most = TOGETHER + 3 * settings.harmonic_kernel + Istft::TOGETHER;
        // The spectrum, what becomes of it, its magnitude, two medians and two masks.
        check_room(
            "the spectra",
            bins.saturating_mul(most),
            9 * size_of::<f32>(),
        )?;
        Ok(Self {
            settings,
            samples,
            frames: spectrum.framing.count(samples),
            stft: Stft::new(SpectrumSettings {
                framing: queue.inner_framing(),
                ..spectrum
            })?,
            queue,
            bins,
            kept: VecDeque::new(),
            kept_from: 0,
            done: 0,
            harmonic: Istft::new(spectrum)?,
            percussive: Istft::new(spectrum)?,
        })
    }

    /// Takes the next samples; appends the samples of the parts that are known.
    pub fn process(&mut self, piece: &[f32], parts: &mut Parts) -> Result<()> {
        self.queue.push(piece);
        self.take(self.queue.ready(), parts)
    }

    /// Ends the signal; appends what is left.
    pub fn finish(mut self, parts: &mut Parts) -> Result<()> {
        let frames = self.queue.close();
        self.take(frames, parts)
    }

    /// Takes frames whose samples are there.
    fn take(&mut self, mut frames: usize, parts: &mut Parts) -> Result<()> {
        while frames > 0 {
            let here = frames.min(TOGETHER);
            let mut spectra = vec![[0.0f32; 2]; self.bins * here];
            self.stft.complex(self.queue.frames(here), &mut spectra)?;
            self.queue.remove(here);
            frames -= here;
            for frame in 0..here {
                let rows = spectra.chunks_exact(here);
                self.kept.push_back(rows.map(|row| row[frame]).collect());
            }
            while self.split_next(parts)? {}
        }
        Ok(())
    }

    /// Splits the next frames if those around them are there.
    fn split_next(&mut self, parts: &mut Parts) -> Result<bool> {
        let reach = self.settings.harmonic_kernel;
        let together = TOGETHER.max(reach.next_multiple_of(Istft::TOGETHER));
        let end = (self.done + together).min(self.frames);
        let to = (end + reach).min(self.frames);
        if self.done == end || self.kept_from + self.kept.len() < to {
            return Ok(false);
        }
        // Medians are mirrored at the ends of what they see. These are the signal's own, or too far away to matter.
        let around = to - self.kept_from;
        let mut magnitude = vec![0.0f32; self.bins * around];
        for (frame, spectrum) in self.kept.iter().take(around).enumerate() {
            let column = magnitude.iter_mut().skip(frame).step_by(around);
            for (slot, [re, im]) in column.zip(spectrum) {
                *slot = re.hypot(*im);
            }
        }
        let masks = masks(&magnitude, around, &self.settings)?;
        drop(magnitude);
        let (first, here) = (self.done - self.kept_from, end - self.done);
        for (mask, istft, samples) in [
            (&masks.harmonic, &mut self.harmonic, &mut parts.harmonic),
            (
                &masks.percussive,
                &mut self.percussive,
                &mut parts.percussive,
            ),
        ] {
            let mut masked = vec![[0.0f32; 2]; self.bins * here];
            let frames = self.kept.iter().enumerate().skip(first).take(here);
            for (frame, spectrum) in frames {
                for (bin, [re, im]) in spectrum.iter().enumerate() {
                    let share = mask[bin * around + frame];
                    masked[bin * here + frame - first] = [re * share, im * share];
                }
            }
            istft.reconstruct_next(&masked, self.done, self.samples, samples)?;
        }
        self.done = end;
        let gone = end.saturating_sub(reach).saturating_sub(self.kept_from);
        self.kept.drain(..gone);
        self.kept_from += gone;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::split;
    use super::*;

    #[test]
    fn pieces_have_the_bits_of_the_whole() {
        let signal: Vec<f32> = (0..90_011)
            .map(|n| {
                let noise = ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                let tone = (n as f32 * 0.2).sin();
                0.2 * tone + 0.1 * noise + if n % 5000 == 0 { 0.5 } else { 0.0 }
            })
            .collect();
        let small = SplitSettings {
            transform: 256,
            hop: 100,
            ..SplitSettings::default()
        };
        let wide = SplitSettings {
            harmonic_kernel: 300,
            percussive_kernel: 8,
            harmonic_margin: 2.0,
            ..small
        };
        for settings in [small, wide] {
            for length in [0, 1, 3000, 90_011] {
                let signal = &signal[..length];
                let whole = split(signal, 16_000, &settings).unwrap();
                for piece in [777, 65_536] {
                    let mut stream = SplitStream::new(16_000, length, settings).unwrap();
                    let mut parts = Parts::default();
                    for piece in signal.chunks(piece) {
                        stream.process(piece, &mut parts).unwrap();
                        assert!(stream.kept.len() <= 2 * TOGETHER + 3 * settings.harmonic_kernel);
                    }
                    stream.finish(&mut parts).unwrap();
                    assert_eq!(parts, whole, "{length} {piece}");
                }
            }
        }
    }
}
