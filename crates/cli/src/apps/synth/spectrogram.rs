//! A mel spectrogram as a PNG picture.

use std::io::Write;

use anyhow::Result;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use warpsmith_voice::{Layout, MelFeature, Preset, Sizes, Stage};

/// Columns at most.
const WIDTH: usize = 1600;
/// Rows: mel bands.
const HEIGHT: usize = 256;
/// Decibels from black to white.
const RANGE_DB: f32 = 80.0;

/// The picture of `signal`: time to the right, frequency up, louder is brighter.
pub(super) fn png(signal: &[f32], sample_rate: u32) -> Result<Vec<u8>> {
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
    let mut rows = Vec::with_capacity((width * 3 + 1) * HEIGHT);
    for band in (0..HEIGHT).rev() {
        rows.push(0);
        for column in 0..width {
            let level = levels[column * HEIGHT + band] - loudest;
            rows.extend_from_slice(&colour(1.0 + level / RANGE_DB));
        }
    }
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(&rows)?;
    let mut head = Vec::new();
    head.extend_from_slice(&(width as u32).to_be_bytes());
    head.extend_from_slice(&(HEIGHT as u32).to_be_bytes());
    // Eight bits, colour, the only compression, filter and order that there are.
    head.extend_from_slice(&[8, 2, 0, 0, 0]);
    let pixels = zlib.finish()?;
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let chunks: [(&[u8; 4], &[u8]); 3] = [(b"IHDR", &head), (b"IDAT", &pixels), (b"IEND", &[])];
    for (kind, data) in chunks {
        let mut chunk = kind.to_vec();
        chunk.extend_from_slice(data);
        let mut crc = flate2::Crc::new();
        crc.update(&chunk);
        file.extend_from_slice(&(data.len() as u32).to_be_bytes());
        file.extend_from_slice(&chunk);
        file.extend_from_slice(&crc.sum().to_be_bytes());
    }
    Ok(file)
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
