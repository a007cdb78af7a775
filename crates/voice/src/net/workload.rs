//! `voice/net`: pitch, voicing and speech of a ragged batch by our own network.

use warpsmith_workload::{ArguedTolerance, ParameterSpec};

use super::cuda::{CudaNet, ID, RESULT, frames};
use super::tables::{CHANNELS, MELS, PITCHES, WINDOW};
use super::track::NetResults;
use super::weights::{LISTENING, WIDTH};
use crate::batch::{BatchWorkload, PARAMETERS, about_with, frames_cost};
use crate::pitch::PitchRange;

/// The network hears 16 kHz only.
static SPECIFICATION: [ParameterSpec; 2] = [PARAMETERS[0], PARAMETERS[1]];

pub(crate) const NET: BatchWorkload<(), NetResults> = BatchWorkload {
    about: about_with(
        ID,
        "pitch, voicing and speech of a ragged batch of signals by our own network",
        &SPECIFICATION,
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            2e-3,
            1e-3,
            "sums of hundreds of products in another order, of spectra that differ by rounding; a pitch is a mean \
             over neighbours, off by less than two cents, and no decision looks at the third digit of a probability",
        )
    },
    plan: |_| Ok(()),
    cost: |(), lengths| {
        let samples: usize = lengths.iter().sum();
        let count = lengths.iter().map(|length| frames(*length)).sum();
        let over_pitches = PITCHES * WIDTH * (5 * CHANNELS + 36 * WIDTH + 1);
        let whole = 2 * WIDTH + MELS;
        let over_frames = WIDTH * (11 * WIDTH + 1) + LISTENING * (whole + 21 * LISTENING + 1);
        // Two windows, there and back: four real transforms.
        let transforms = 4 * 5 * WINDOW * 10;
        let flops = count * (2 * (over_pitches + over_frames) + transforms);
        frames_cost(samples, count, RESULT, flops as u64)
    },
    frames: |(), samples| frames(samples),
    values: |(), samples| RESULT * frames(samples),
    engine: |_| Ok(NetResults(PitchRange::VOICE)),
    analyse: NetResults::of,
    on_cuda: |gpu, (), batch| Ok(Box::new(CudaNet::new(gpu, PitchRange::VOICE, batch)?)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::computed_twice;

    #[test]
    fn the_cpu_hears_a_pitch_in_every_frame() {
        let (values, cost) = computed_twice(&NET, &[("files", "3"), ("seconds", "1")]);
        assert_eq!(values.len(), RESULT * cost.units as usize);
        for frame in values.as_chunks::<RESULT>().0 {
            let [hertz, voiced, speech] = *frame;
            assert!((60.0..400.0).contains(&hertz), "{hertz}");
            assert!((0.0..=1.0).contains(&voiced) && (0.0..=1.0).contains(&speech));
        }
    }
}
