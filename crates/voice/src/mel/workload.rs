//! `voice/mel`: log-mel features of a ragged batch, from samples to decibels in one kernel; `voice/mfcc`: cepstra
//! of them.

use warpsmith_workload::{ArguedTolerance, Cost};

use super::cepstrum_cuda::CudaCepstrum;
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

/// Librosa's cepstra, whose levels lie at most 80 dB below the loudest of their file.
fn cepstrum_settings(rate: u32) -> FeatureSettings {
    let coefficients = Preset::Librosa.own_coefficients();
    FeatureSettings {
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(
            rate,
            Sizes::for_speech(rate),
            Stage::Cepstrum { coefficients },
        )
    }
}

fn cost(settings: &FeatureSettings, lengths: &[usize]) -> Cost {
    let frames: usize = lengths.iter().map(|length| settings.frames(*length)).sum();
    let points = settings.spectrum.transform as u64;
    // A real transform is 2.5·n·log2(n); window, powers and two weights to a bin follow.
    let levels = 5 * points * u64::from(points.ilog2()) / 2 + 5 * points;
    let cepstrum = settings.cepstrum.map_or(0, |cepstrum| {
        2 * (cepstrum.coefficients * settings.mel.filters) as u64
    });
    let flops = frames as u64 * (levels + cepstrum);
    frames_cost(lengths.iter().sum(), frames, settings.rows(), flops)
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
    cost,
    frames: |settings, samples| settings.spectrum.framing.count(samples),
    values: |settings, samples| settings.frames(samples) * settings.rows(),
    engine: |parameters| MelFeature::new(settings(sample_rate(parameters))),
    analyse: MelFeature::compute_into,
    on_cuda: |gpu, settings, batch| Ok(on_cuda(gpu, &settings, batch)?),
};

pub(crate) const MFCC: BatchWorkload<FeatureSettings, MelFeature> = BatchWorkload {
    about: about(
        "voice/mfcc",
        "cepstral coefficients of a ragged batch of signals",
    ),
    tolerance: |_| {
        ArguedTolerance::within(
            2e-2,
            0.0,
            "an orthonormal sum over up to 128 levels, each 2e-3 dB apart at most and most far less: \
             √128 times that if all fell the same way",
        )
    },
    plan: |parameters| Ok(cepstrum_settings(sample_rate(parameters))),
    cost,
    frames: |settings, samples| settings.spectrum.framing.count(samples),
    values: |settings, samples| settings.frames(samples) * settings.rows(),
    engine: |parameters| MelFeature::new(cepstrum_settings(sample_rate(parameters))),
    analyse: MelFeature::compute_into,
    on_cuda: |gpu, settings, batch| Ok(Box::new(CudaCepstrum::new(gpu, &settings, batch)?)),
};
