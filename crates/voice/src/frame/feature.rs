//! What workloads share that make a few numbers of every frame's spectrum.

use warpsmith_signal::{Result, SpectrumSettings};
use warpsmith_workload::{Cost, Parameters};

use crate::batch::{frames_cost, sample_rate};
use crate::mel::{Preset, Sizes, Stage};

/// The spectra that such a workload looks at.
pub(crate) struct Spectra {
    pub(crate) settings: SpectrumSettings,
    pub(crate) rate: u32,
}

impl Spectra {
    /// Of the parameters' signals.
    pub(crate) fn of(parameters: &Parameters) -> Result<Self> {
        Ok(Self {
            settings: spectrum(parameters),
            rate: sample_rate(parameters),
        })
    }

    pub(crate) fn frames(&self, samples: usize) -> usize {
        self.settings.framing.count(samples)
    }
}

/// librosa's spectra of the parameters' signals.
pub(crate) fn spectrum(parameters: &Parameters) -> SpectrumSettings {
    let rate = sample_rate(parameters);
    let sizes = Sizes::for_speech(rate);
    Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum
}

/// Rows one after the other as frames one after the other.
pub(crate) fn by_frames(rows: &[f32], width: usize, out: &mut [f32]) {
    let frames = rows.len() / width;
    for (at, slot) in out.iter_mut().enumerate() {
        *slot = rows[at % width * frames + at / width];
    }
}

/// The cost of `values` numbers to a frame, with `per_bin` operations to a bin after its power.
pub(crate) fn feature_cost(
    spectra: &Spectra,
    lengths: &[usize],
    values: usize,
    per_bin: u64,
) -> Cost {
    let frames: usize = lengths.iter().map(|length| spectra.frames(*length)).sum();
    let points = spectra.settings.transform as u64;
    // A real transform is 2.5·n·log2(n); window and powers follow.
    let transform = 5 * points * u64::from(points.ilog2()) / 2 + 3 * points;
    let feature = per_bin * spectra.settings.bins() as u64;
    let flops = frames as u64 * (transform + feature);
    frames_cost(lengths.iter().sum(), frames, values, flops)
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::Workload;

    use super::*;
    use crate::batch::computed_twice;
    use crate::chroma::CHROMA;
    use crate::constant_q::CONSTANT_Q;
    use crate::contrast::CONTRAST;
    use crate::onset::ONSET;
    use crate::statistics::STATISTICS;

    #[test]
    fn every_feature_says_something_of_both_rates_and_the_same_twice() {
        let features: [&dyn Workload; 5] = [&CONTRAST, &STATISTICS, &CHROMA, &ONSET, &CONSTANT_Q];
        for feature in features {
            for rate in ["16000", "44100"] {
                let set = [("files", "3"), ("seconds", "1"), ("rate", rate)];
                let (values, cost) = computed_twice(feature, &set);
                let id = feature.id();
                assert_eq!(values.len() as u64 % cost.units, 0, "{id} at {rate} Hz");
                assert!(values.iter().any(|x| *x > 0.0), "{id} at {rate} Hz");
            }
        }
    }

    #[test]
    fn rows_become_frames() {
        let mut out = [0.0; 6];
        by_frames(&[1.0, 2.0, 3.0, 10.0, 20.0, 30.0], 2, &mut out);
        assert_eq!(out, [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
    }
}
