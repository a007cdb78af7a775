//! `voice/praat`: pitch and voicing of a ragged batch by Praat's autocorrelation.

use warpsmith_workload::ArguedTolerance;

use super::cpu::{PraatPitch, PraatSettings};
use super::cuda::{CudaPraat, ID};
use crate::batch::{BatchWorkload, about, frames_cost, sample_rate};
use crate::pitch::autocorrelation::Placement;
use crate::pitch::range::PitchRange;

pub(crate) const PRAAT: BatchWorkload<Placement, PraatPitch> = BatchWorkload {
    about: about(
        ID,
        "pitch and voicing of a ragged batch of signals by Praat's autocorrelation",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            0.0,
            5.8e-5,
            "a tenth of a cent: the correlations differ by rounding, which moves an \
             interpolated top by less, and every frame of the input has one clear period",
        )
    },
    plan: |parameters| {
        let (rate, settings) = (sample_rate(parameters), PraatSettings::default());
        let (hop, range) = (rate as usize / 100, PitchRange::VOICE);
        Placement::under(settings.window, rate, hop, range, settings.periods)
    },
    cost: |placement, lengths| {
        let samples: usize = lengths.iter().sum();
        let frames = samples / placement.hop;
        // Two real transforms of three periods with as many zeros behind half of them.
        let points = (4.5 * placement.rate / PitchRange::VOICE.low_hz) as u64;
        let transforms = 5 * points * u64::from(points.max(2).ilog2());
        frames_cost(samples, frames, 2, frames as u64 * transforms)
    },
    frames: Placement::frames,
    values: Placement::frames,
    engine: |parameters| {
        let (rate, settings) = (sample_rate(parameters), PraatSettings::default());
        PraatPitch::new(rate, rate as usize / 100, PitchRange::VOICE, settings)
    },
    analyse: |praat, signal, out| {
        for (slot, hertz) in out.iter_mut().zip(&praat.track(signal).frequency) {
            *slot = *hertz;
        }
        Ok(())
    },
    on_cuda: |gpu, placement, batch| {
        let (range, settings) = (PitchRange::VOICE, PraatSettings::default());
        let praat = CudaPraat::new(gpu, placement, range, settings, batch)?;
        Ok(Box::new(praat))
    },
};
