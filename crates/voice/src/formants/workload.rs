//! `voice/formants`: the resonances of a ragged batch.

use warpsmith_core::{Bytes, Flops};
use warpsmith_signal::Result;
use warpsmith_workload::{ArguedTolerance, Cost, Parameters};

use super::cpu::{Formant, FormantSettings, FormantTracker};
use super::cuda::{CudaFormants, ID};
use crate::batch::{BatchWorkload, about, sample_rate};

fn tracker(parameters: &Parameters) -> Result<FormantTracker> {
    FormantTracker::new(sample_rate(parameters), FormantSettings::default())
}

/// Values of a frame: a frequency and a width to each formant, 0 where there are fewer.
fn width() -> usize {
    2 * FormantSettings::default().count
}

pub(crate) const FORMANTS: BatchWorkload<FormantTracker, FormantTracker> = BatchWorkload {
    about: about(
        ID,
        "resonances of a ragged batch of signals by Burg's linear prediction",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            0.5,
            1e-3,
            "resampled samples differ by roundings of 2⁻²⁴ of the loudest, 80 dB below the noise \
             of the input, and a pole moves with what it is made of; all after that is in double \
             precision",
        )
    },
    plan: tracker,
    cost: |tracker, lengths| {
        let samples: usize = lengths.iter().sum();
        let frames: usize = lengths.iter().map(|length| tracker.frames(*length)).sum();
        let resampler = tracker.resampler();
        let results = lengths
            .iter()
            .map(|length| resampler.output_length(*length));
        let (outputs, taps) = (results.sum::<usize>(), resampler.polyphase().2);
        let order = width();
        // Of an order of Burg's, five products and sums to a sample; of a round for the roots, twenty to a
        // pair of them, and some ten rounds.
        let to_frame = 10 * order * tracker.window().len() + 200 * order * order;
        Cost {
            bytes: Bytes(4 * (samples + 2 * outputs + frames * width()) as u64),
            flops: Flops((2 * outputs * taps + frames * to_frame) as u64),
            units: frames as u64,
            unit: "frame",
        }
    },
    frames: FormantTracker::frames,
    values: |tracker, samples| tracker.frames(samples) * width(),
    engine: tracker,
    analyse: |tracker, signal, out| {
        for (out, formants) in out.chunks_exact_mut(width()).zip(tracker.track(signal)) {
            write(&formants, out);
        }
        Ok(())
    },
    on_cuda: |gpu, tracker, batch| {
        let formants = CudaFormants::new(gpu, &tracker, FormantSettings::default().count, batch)?;
        Ok(Box::new(formants))
    },
};

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
