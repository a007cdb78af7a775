//! `voice/mel`: log-mel features of a ragged batch, from samples to decibels in one kernel.

use warpsmith_workload::ArguedTolerance;

use super::cpu::MelFeature;
use super::cuda::{ID, on_cuda};
use super::preset::{Preset, Sizes, Stage};
use super::settings::{FeatureSettings, Layout};
use crate::batch::{BatchWorkload, about, frames_cost, sample_rate};

fn settings(rate: u32) -> FeatureSettings {
    FeatureSettings {
        dynamic_range: None,
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(rate, Sizes::for_speech(rate), Stage::LogMel)
    }
}

pub(crate) const MEL: BatchWorkload<FeatureSettings, MelFeature> = BatchWorkload {
    about: about(ID, "log-mel features of a ragged batch of signals"),
    tolerance: |_| {
        ArguedTolerance::within(
            2e-3,
            0.0,
            "two f32 transforms differ by some 2e-7 of the loudest bin; the quietest band \
             of the input is 40 dB below it, where that is 2e-4 of a power, or 1e-3 dB",
        )
    },
    plan: |parameters| Ok(settings(sample_rate(parameters))),
    cost: |settings, lengths| {
        let frames: usize = lengths.iter().map(|length| settings.frames(*length)).sum();
        let points = settings.spectrum.transform as u64;
        // A real transform is 2.5·n·log2(n); window, powers and two weights to a bin follow.
        let per_frame = 5 * points * u64::from(points.ilog2()) / 2 + 5 * points;
        let flops = frames as u64 * per_frame;
        frames_cost(lengths.iter().sum(), frames, settings.rows(), flops)
    },
    frames: |settings, samples| settings.spectrum.framing.count(samples),
    values: |settings, samples| settings.frames(samples) * settings.rows(),
    engine: |parameters| MelFeature::new(settings(sample_rate(parameters))),
    analyse: MelFeature::compute_into,
    on_cuda: |gpu, settings, batch| Ok(on_cuda(gpu, &settings, batch)?),
};
