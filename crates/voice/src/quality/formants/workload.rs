//! `voice/formants`: the resonances of a ragged batch.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::Device;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Parameters, Prepared, Workload, WorkloadError,
};

use super::cpu::{Formant, FormantSettings, FormantTracker};
use super::cuda::CudaFormants;
use crate::batch::{Batch, PARAMETERS, lengths, sample_rate};
use crate::batch::{CpuFiles, failed};

pub(crate) struct Formants;

fn tracker(parameters: &Parameters) -> crate::Result<FormantTracker> {
    FormantTracker::new(sample_rate(parameters), FormantSettings::default())
}

/// Values of a frame: a frequency and a width to each formant, 0 where there are fewer.
fn width() -> usize {
    2 * FormantSettings::default().count
}

impl Workload for Formants {
    fn about(&self) -> About {
        About::new(
            "voice/formants",
            "resonances of a ragged batch of signals by Burg's linear prediction",
            PARAMETERS,
        )
        .sizes("seconds", &["2", "4", "15", "60", "240", "600"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let lengths = lengths(parameters);
        let samples: usize = lengths.iter().sum();
        let Ok(tracker) = tracker(parameters) else {
            return Cost::default();
        };
        let frames: usize = lengths.iter().map(|length| tracker.frames(*length)).sum();
        let outputs: usize = lengths
            .iter()
            .map(|length| tracker.resampler().output_length(*length))
            .sum();
        let (order, taps) = (width(), tracker.resampler().polyphase().2);
        // Of an order of Burg's, five products and sums to a sample; of a round for the roots, twenty to a
        // pair of them, and some ten rounds.
        let to_frame = 10 * order * tracker.window().len() + 200 * order * order;
        Cost {
            bytes: Bytes(4 * (samples + 2 * outputs + frames * width()) as u64),
            flops: Flops((2 * outputs * taps + frames * to_frame) as u64),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 0.5,
                rel: 1e-3,
                ulp: 0,
            },
            because: "resampled samples differ by roundings of 2⁻²⁴ of the loudest, 80 dB below the noise \
                      of the input, and a pole moves with what it is made of; all after that is in double \
                      precision",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let plan = || tracker(parameters);
        let tracker = plan().map_err(|error| failed(self.id(), &error))?;
        let batch = Batch::voices(parameters, |samples| tracker.frames(samples), seed);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                plan,
                |tracker, samples| tracker.frames(samples) * width(),
                |tracker, signal, out| {
                    for (out, formants) in out.chunks_exact_mut(width()).zip(tracker.track(signal))
                    {
                        write(&formants, out);
                    }
                    Ok(())
                },
            )?),
            Device::Cuda(gpu) => Box::new(CudaFormants::new(
                gpu,
                &tracker,
                FormantSettings::default().count,
                &batch,
            )?),
        })
    }
}

/// A frame's formants as the kernel writes them.
fn write(formants: &[Formant], out: &mut [f32]) {
    out.fill(0.0);
    for (out, formant) in out.chunks_exact_mut(2).zip(formants) {
        out.copy_from_slice(&[formant.frequency, formant.bandwidth]);
    }
}

/// The formants that the kernel wrote of a frame.
pub(super) fn read(values: &[f32]) -> Vec<Formant> {
    let pairs = values.as_chunks::<2>().0.iter();
    pairs
        .filter(|[frequency, _]| *frequency > 0.0)
        .map(|[frequency, bandwidth]| Formant {
            frequency: *frequency,
            bandwidth: *bandwidth,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formants_are_read_as_they_were_written() {
        let formants = [500.0, 1500.0].map(|frequency| Formant {
            frequency,
            bandwidth: 80.0,
        });
        let mut values = [f32::NAN; 10];
        write(&formants, &mut values);
        assert_eq!(read(&values), formants);
        assert_eq!(values[4..], [0.0; 6]);
    }
}
