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
    tolerance: |parameters| {
        // Emulated in NumPy over four inputs of 2,996 frames at 44.1 kHz beside double precision: such sums move the
        // top of the lowest voice by 6.4e-5, those of a transform in f32, as on the CPU, by 1.9e-5.
        ArguedTolerance::within(
            0.0,
            5.8e-5 * f64::from(sample_rate(parameters)) / 16_000.0,
            "a tenth of a cent at 16 kHz and 0.28 cents at 44.1 kHz: the GPU sums a window's products, 740 and 2,035, \
             one after the other in f32, so that rounding grows with the window, and moves an interpolated top by \
             less; every frame of the input has one clear period",
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
