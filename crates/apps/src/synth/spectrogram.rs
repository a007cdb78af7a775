//! A mel spectrogram as a PNG picture.

use anyhow::Result;
use warpsmith_formats::png;
use warpsmith_voice::{Layout, MelFeature, Preset, Sizes, Stage};

/// Columns at most.
const WIDTH: usize = 1600;
/// Rows: mel bands.
const HEIGHT: usize = 256;
/// Decibels from black to white.
const RANGE_DB: f32 = 80.0;

/// The picture of `signal`: time to the right, frequency up, louder is brighter.
pub(super) fn picture(signal: &[f32], sample_rate: u32) -> Result<Vec<u8>> {
    let hop = (signal.len() / WIDTH).max(512);
    let sizes = Sizes {
        transform: 8192,
        hop,
        filters: HEIGHT,
    };
    let mut settings = Preset::Librosa.feature(sample_rate, sizes, Stage::LogMel);
    settings.layout = Layout::FramesFirst;
    let levels = MelFeature::new(settings)?.compute(signal)?;
    let loudest = levels.iter().copied().fold(f32::MIN, f32::max);
    let width = levels.len() / HEIGHT;
    let mut pixels = Vec::with_capacity(width * HEIGHT);
    for band in (0..HEIGHT).rev() {
        for column in 0..width {
            let level = levels[column * HEIGHT + band] - loudest;
            pixels.push(colour(1.0 + level / RANGE_DB));
        }
    }
    Ok(png::encode_rgb(width, &pixels)?)
}

/// Black, violet, orange, white.
fn colour(level: f32) -> [u8; 3] {
    let level = level.clamp(0.0, 1.0);
    let ramp = |from: f32, to: f32| (255.0 * ((level - from) / (to - from)).clamp(0.0, 1.0)) as u8;
    let blue = if level < 0.5 {
        ramp(0.0, 0.5)
    } else {
        255 - ramp(0.5, 0.75).min(255 - ramp(0.75, 1.0))
    };
    [ramp(0.15, 0.7), ramp(0.5, 1.0), blue]
}
