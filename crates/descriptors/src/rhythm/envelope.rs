//! How much the level rises in every frame: librosa's onset strength, averaged over bands in one of
//! two ways.

use warpsmith_voice::{
    FeatureSettings, Layout, MelFeature, OnsetDetector, Preset, Result, Sizes, Stage,
};

use super::settings::RhythmSettings;

/// Bands of the levels.
const BANDS: usize = 128;

/// How the rises of the bands become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Their mean: what librosa's tempogram and tempo start from.
    Mean,
    /// Their median: what its beat tracker starts from, and does not mind one loud band.
    Median,
}

/// The rise of every frame, moved by half a frame so that it peaks where a sound begins.
pub fn envelope(
    signal: &[f32],
    sample_rate: u32,
    settings: &RhythmSettings,
    over: Over,
) -> Result<Vec<f32>> {
    let RhythmSettings { transform, hop, .. } = *settings;
    if over == Over::Mean {
        return OnsetDetector::new(sample_rate, transform, hop)?.strength(signal);
    }
    let sizes = Sizes {
        transform,
        hop,
        filters: BANDS,
    };
    let mut mel = MelFeature::new(FeatureSettings {
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(sample_rate, sizes, Stage::LogMel)
    })?;
    let (_, frames) = mel.shape(signal.len());
    let levels = mel.compute(signal)?;
    let shift = 1 + transform / (2 * hop);
    let mut strength = vec![0.0f32; frames];
    let mut rises = [0.0f32; BANDS];
    for (frame, pair) in levels.windows(2 * BANDS).step_by(BANDS).enumerate() {
        let Some(slot) = strength.get_mut(frame + shift) else {
            break;
        };
        let (before, here) = pair.split_at(BANDS);
        for (rise, (here, before)) in rises.iter_mut().zip(here.iter().zip(before)) {
            *rise = (here - before).max(0.0);
        }
        rises.sort_unstable_by(f32::total_cmp);
        *slot = f32::midpoint(rises[BANDS / 2 - 1], rises[BANDS / 2]);
    }
    Ok(strength)
}
