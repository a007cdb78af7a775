//! Workloads that make a few numbers of every frame's spectrum, over a ragged batch.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, CudaDevice, Device};
use warpsmith_signal::SpectrumSettings;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterSpec, Parameters, Prepared, Workload, WorkloadError,
};

use crate::batch::{Batch, lengths, sample_rate};
use crate::mel::{Preset, Sizes, Stage};

/// A batch prepared on a device.
type Made = Result<Box<dyn Prepared>, WorkloadError>;

pub(crate) struct FrameFeature {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [ParameterSpec],
    /// Numbers to a frame.
    pub(crate) values: usize,
    /// Operations to a bin after its power.
    pub(crate) per_bin: u64,
    pub(crate) tolerance: fn(&Parameters) -> ArguedTolerance,
    pub(crate) on_cpu: fn(&CpuDevice, &Parameters, Batch) -> Made,
    pub(crate) on_cuda: fn(&CudaDevice, &Parameters, &Batch) -> Made,
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

impl Workload for FrameFeature {
    fn about(&self) -> About {
        About::new(self.id, self.summary, self.parameters)
            .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let spectrum = spectrum(parameters);
        let lengths = lengths(parameters);
        let samples: usize = lengths.iter().sum();
        let frames: usize = lengths
            .iter()
            .map(|length| spectrum.framing.count(*length))
            .sum();
        let points = spectrum.transform as u64;
        // A real transform is 2.5·n·log2(n); window and powers follow.
        let transform = 5 * points * u64::from(points.ilog2()) / 2 + 3 * points;
        let feature = self.per_bin * spectrum.bins() as u64;
        Cost {
            bytes: Bytes(4 * (samples + frames * self.values) as u64),
            flops: Flops(frames as u64 * (transform + feature)),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        (self.tolerance)(parameters)
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Made {
        let framing = spectrum(parameters).framing;
        let batch = Batch::voices(parameters, |samples| framing.count(samples), seed);
        match device {
            Device::Cpu(cpu) => (self.on_cpu)(cpu, parameters, batch),
            Device::Cuda(gpu) => (self.on_cuda)(gpu, parameters, &batch),
        }
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::Output;

    use super::*;
    use crate::chroma::CHROMA;
    use crate::constant_q::ConstantQWorkload;
    use crate::contrast::CONTRAST;
    use crate::onset::ONSET;
    use crate::statistics::STATISTICS;

    #[test]
    fn every_feature_says_something_of_both_rates_and_the_same_twice() {
        let device = Device::Cpu(CpuDevice::with_threads(2).unwrap());
        let features: [&dyn Workload; 5] =
            [&CONTRAST, &STATISTICS, &CHROMA, &ONSET, &ConstantQWorkload];
        for feature in features {
            for rate in ["16000", "44100"] {
                let set = [("files", "3"), ("seconds", "1"), ("rate", rate)]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()));
                let parameters = Parameters::resolve(feature.parameters(), &set).unwrap();
                let mut prepared = feature.prepare(&device, &parameters, 5).unwrap();
                let mut run = || {
                    prepared.poison().unwrap();
                    prepared.run_once().unwrap();
                    match prepared.output().unwrap() {
                        Output::F32(values) => values,
                        other => panic!("{other:?}"),
                    }
                };
                let (first, second) = (run(), run());
                let id = feature.id();
                assert!(first.iter().all(|x| x.is_finite()), "{id} at {rate} Hz");
                assert!(first.iter().any(|x| *x > 0.0), "{id} at {rate} Hz");
                assert_eq!(first, second, "{id} at {rate} Hz");
                let cost = feature.cost(&parameters);
                assert_eq!(first.len() as u64 % cost.units, 0, "{id} at {rate} Hz");
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
