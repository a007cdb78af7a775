//! Onset strength and its peaks on the CPU: the specification.

use std::collections::VecDeque;

use warpsmith_signal::Result;

use crate::mel::{FeatureSettings, Layout, MelFeature, MelStream, Preset, Sizes, Stage};

/// A planned onset detector.
pub struct OnsetDetector {
    mel: MelFeature,
    hop: usize,
    transform: usize,
    sample_rate: u32,
}

impl OnsetDetector {
    /// A detector with librosa's 128 bands and its range of 80 dB below the loudest.
    pub fn new(sample_rate: u32, transform: usize, hop: usize) -> Result<Self> {
        Self::of(levels(sample_rate, transform, hop), sample_rate)
    }

    /// As [`OnsetDetector::new`], with levels down to −100 dB whatever the loudest is: what
    /// [`OnsetStream`] computes.
    pub fn unlimited(sample_rate: u32, transform: usize, hop: usize) -> Result<Self> {
        let settings = FeatureSettings {
            dynamic_range: None,
            ..levels(sample_rate, transform, hop)
        };
        Self::of(settings, sample_rate)
    }

    fn of(settings: FeatureSettings, sample_rate: u32) -> Result<Self> {
        let (transform, hop) = (settings.spectrum.transform, settings.spectrum.framing.hop);
        Ok(Self {
            mel: MelFeature::new(settings)?,
            hop,
            transform,
            sample_rate,
        })
    }

    /// How much each frame rises above the one before: the mean over bands of the rise in dB, moved
    /// by half a frame so that it peaks where the sound begins.
    pub fn strength(&mut self, signal: &[f32]) -> Result<Vec<f32>> {
        let (bands, frames) = self.mel.shape(signal.len());
        let levels = self.mel.compute(signal)?;
        let mut strength = vec![0.0f32; frames];
        let shift = shift(self.transform, self.hop);
        for (frame, pair) in levels.windows(2 * bands).step_by(bands).enumerate() {
            let (before, here) = pair.split_at(bands);
            if let Some(slot) = strength.get_mut(frame + shift) {
                *slot = rise(before, here);
            }
        }
        Ok(strength)
    }

    /// The frames in which sounds begin.
    pub fn onsets(&mut self, signal: &[f32]) -> Result<Vec<usize>> {
        let strength = self.strength(signal)?;
        Ok(onset_frames(&strength, self.sample_rate, self.hop))
    }
}

/// The frames, `hop` samples apart, in which sounds begin, by the strengths of all of them.
pub fn onset_frames(strength: &[f32], sample_rate: u32, hop: usize) -> Vec<usize> {
    let least = strength.iter().copied().fold(f32::INFINITY, f32::min);
    let most = strength.iter().copied().fold(0.0, f32::max) - least;
    // Level noise is not an onset, however it is scaled.
    if most.is_nan() || most <= 0.0 {
        return Vec::new();
    }
    let scaled = strength
        .iter()
        .map(|value| (value - least) / (most + f32::MIN_POSITIVE));
    let frames = |seconds: f64| (seconds * f64::from(sample_rate)) as usize / hop;
    Peaks {
        before_max: frames(0.03),
        after_max: 1,
        before_mean: frames(0.1),
        after_mean: frames(0.1) + 1,
        wait: frames(0.03),
        rise: 0.07,
    }
    .pick(&scaled.collect::<Vec<_>>())
}

/// Levels in dB that rise where a sound begins.
pub(crate) fn levels(sample_rate: u32, transform: usize, hop: usize) -> FeatureSettings {
    let sizes = Sizes {
        transform,
        hop,
        filters: 128,
    };
    FeatureSettings {
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(sample_rate, sizes, Stage::LogMel)
    }
}

/// Frames by which a rise is moved: from the end of a window to its middle.
pub(crate) fn shift(transform: usize, hop: usize) -> usize {
    1 + transform / (2 * hop)
}

/// The mean over bands of how much the level rises.
fn rise(before: &[f32], here: &[f32]) -> f32 {
    let rises = here.iter().zip(before).map(|(a, b)| (a - b).max(0.0));
    rises.sum::<f32>() / here.len() as f32
}

/// Onset strength of a stream: any cutting into chunks gives the bits of
/// [`OnsetDetector::unlimited`] on the whole.
pub struct OnsetStream {
    mel: MelStream,
    rises: Rises,
}

impl OnsetStream {
    /// A stream with librosa's 128 bands.
    pub fn new(sample_rate: u32, transform: usize, hop: usize) -> Result<Self> {
        let settings = FeatureSettings {
            dynamic_range: None,
            ..levels(sample_rate, transform, hop)
        };
        Ok(Self::of(MelStream::new(settings)?, &settings))
    }

    /// The levels whose largest a second look needs.
    pub fn first_look(sample_rate: u32, transform: usize, hop: usize) -> Result<MelStream> {
        MelStream::first_look(levels(sample_rate, transform, hop))
    }

    /// A stream for a second look at a signal: the bits of [`OnsetDetector::new`] on the whole.
    pub fn second_look(
        sample_rate: u32,
        transform: usize,
        hop: usize,
        largest: f32,
    ) -> Result<Self> {
        let settings = levels(sample_rate, transform, hop);
        Ok(Self::of(
            MelStream::second_look(settings, largest)?,
            &settings,
        ))
    }

    fn of(mel: MelStream, settings: &FeatureSettings) -> Self {
        let (transform, hop) = (settings.spectrum.transform, settings.spectrum.framing.hop);
        Self {
            mel,
            rises: Rises {
                bands: settings.rows(),
                levels: Vec::new(),
                begun: false,
                waiting: VecDeque::from(vec![0.0; shift(transform, hop)]),
            },
        }
    }

    /// Takes the next samples; appends the strength of each frame that they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<f32>) -> Result<()> {
        self.mel.process(chunk, &mut self.rises.levels)?;
        self.rises.emit(out);
        Ok(())
    }

    /// Ends the signal; appends the frames that reach beyond its end.
    pub fn finish(mut self, out: &mut Vec<f32>) -> Result<()> {
        self.mel.finish(&mut self.rises.levels)?;
        self.rises.emit(out);
        Ok(())
    }
}

/// Rises between the frames of a stream.
struct Rises {
    bands: usize,
    /// Levels of the frame before, once there is one, and of the frames that have just arrived.
    levels: Vec<f32>,
    begun: bool,
    /// Rises that wait for the frame that they are moved to; zeros before the first.
    waiting: VecDeque<f32>,
}

impl Rises {
    fn emit(&mut self, out: &mut Vec<f32>) {
        let rows = self.levels.len() / self.bands;
        for row in usize::from(self.begun)..rows {
            if row > 0 {
                let pair = &self.levels[(row - 1) * self.bands..][..2 * self.bands];
                let (before, here) = pair.split_at(self.bands);
                self.waiting.push_back(rise(before, here));
            }
            out.extend(self.waiting.pop_front());
        }
        self.begun |= rows > 0;
        self.levels.drain(..rows.saturating_sub(1) * self.bands);
    }
}

/// What makes a peak: frames around it that it is the largest of, frames around it whose mean it
/// exceeds by `rise`, and frames after one in which there is no other.
struct Peaks {
    before_max: usize,
    after_max: usize,
    before_mean: usize,
    after_mean: usize,
    wait: usize,
    rise: f32,
}

impl Peaks {
    fn pick(&self, values: &[f32]) -> Vec<usize> {
        let around = |at: usize, before: usize, after: usize| {
            &values[at.saturating_sub(before)..(at + after).min(values.len())]
        };
        let mut peaks = Vec::new();
        let mut at = 0;
        while at < values.len() {
            let here = values[at];
            let largest = around(at, self.before_max, self.after_max)
                .iter()
                .copied()
                .fold(f32::NEG_INFINITY, f32::max);
            let near = around(at, self.before_mean, self.after_mean);
            let mean = near.iter().sum::<f32>() / near.len().max(1) as f32;
            if here >= largest && here >= mean + self.rise {
                peaks.push(at);
                at += self.wait;
            }
            at += 1;
        }
        peaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clicks_are_found_within_10_ms_and_nothing_else() {
        let rate = 16_000;
        let mut signal = vec![0.0f32; 32_000];
        let places = [3210usize, 8000, 12_345, 20_000, 26_001];
        for place in places {
            for (n, x) in signal[place..place + 400].iter_mut().enumerate() {
                *x = 0.5 * (-(n as f32) / 60.0).exp() * (n as f32 * 1.3).sin();
            }
        }
        let hop = 80;
        let found = OnsetDetector::new(rate, 512, hop)
            .unwrap()
            .onsets(&signal)
            .unwrap();
        assert_eq!(found.len(), places.len(), "{found:?}");
        for (frame, place) in found.iter().zip(places) {
            let distance = (frame * hop).abs_diff(place);
            assert!(distance <= 320, "{frame}: {distance} samples away");
        }
        let mut detector = OnsetDetector::new(rate, 512, hop).unwrap();
        assert!(detector.onsets(&[0.0; 8000]).unwrap().is_empty());
        assert!(detector.onsets(&[]).unwrap().is_empty());
    }
}
