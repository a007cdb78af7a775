//! A recording for tests of the voice verbs; the trials with networks take it, too.

use std::path::{Path, PathBuf};

use warpsmith_voice::Audio;

/// Two seconds of a 220 Hz tone with harmonics between a second of silence on each side.
pub(crate) fn tone(folder: &Path) -> PathBuf {
    let rate = 16_000;
    let mut seed = 1u64;
    let signal = (0..4 * rate)
        .map(|n| {
            let phase = n as f32 / rate as f32 * 220.0 * std::f32::consts::TAU;
            let on = (rate..3 * rate).contains(&n);
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let hiss = (seed >> 40) as f32 / 16_777_216.0 - 0.5;
            let voice = (1..6)
                .map(|k| (k as f32 * phase).sin() / k as f32)
                .sum::<f32>();
            0.0005 * hiss + if on { 0.2 * voice } else { 0.0 }
        })
        .collect();
    let audio = Audio {
        sample_rate: rate as u32,
        channels: vec![signal],
    };
    let path = folder.join("tone.wav");
    let mut bytes = Vec::new();
    audio.write_wav(&mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}
