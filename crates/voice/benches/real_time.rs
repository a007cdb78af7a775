//! How many seconds of audio one core analyses in a second, per operation, with buffers reused.
//!
//! `cargo bench -p warpsmith-voice` prints our figures; where `target/voice-oracle` holds the peers
//! (`cargo xtask set-up voice`), they run in the same minute and the ratio is printed too.
//! `cargo bench -p warpsmith-voice -- --seconds 60 mel` limits length and operations.

use std::hint::black_box;
use std::time::Instant;

use warpsmith_voice::{
    Density, Framing, Istft, Levels, MelFeature, Padding, PitchRange, Preset, Pyin, PyinSettings,
    Sizes, SpectralShape, Stage, Stft, Yin,
};

/// A voiced sound with vibrato, pauses and noise, the same on every machine.
fn voice(sample_rate: u32, seconds: f64) -> Vec<f32> {
    let rate = f64::from(sample_rate);
    let mut phase = 0.0f64;
    let mut noise = 0x2545_f491_4f6c_dd1du64;
    (0..(rate * seconds) as usize)
        .map(|n| {
            let t = n as f64 / rate;
            phase += 140.0 * (1.0 + 0.1 * (1.3 * t).sin() + 0.02 * (34.0 * t).sin()) / rate;
            let voiced = (0.7 * t).fract() < 0.7;
            let tone: f64 = (1..9)
                .map(|k| (std::f64::consts::TAU * phase * f64::from(k)).sin() / f64::from(k))
                .sum();
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            let hiss = (noise >> 40) as f64 / f64::from(1 << 24) - 0.5;
            (if voiced { 0.2 * tone } else { 0.0 } + 0.004 * hiss) as f32
        })
        .collect()
}

/// The shortest of at least seven runs, in seconds.
fn shortest(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let begun = Instant::now();
    let mut runs = 0;
    while runs < 7 || (begun.elapsed().as_secs_f64() < 1.0 && runs < 50) {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
        runs += 1;
    }
    best
}

fn main() {
    let seconds = 60.0;
    for rate in [16_000, 44_100] {
        let signal = voice(rate, seconds);
        let sizes = Sizes::for_speech(rate);
        let sizes = Sizes {
            transform: if rate == 16_000 { 512 } else { 2048 },
            ..sizes
        };
        let settings = Preset::Librosa.feature(rate, sizes, Stage::Mel);
        let mut stft = Stft::new(settings.spectrum).expect("valid settings");
        let (bins, frames) = stft.shape(signal.len());
        let mut complex = vec![[0.0; 2]; bins * frames];
        let mut report = |name: &str, time: f64| {
            println!("{rate:6} Hz  {name:24} {:10.0} x", seconds / time);
        };
        report(
            "stft",
            shortest(|| stft.complex(black_box(&signal), &mut complex).unwrap()),
        );
        let mut power = vec![0.0; bins * frames];
        report(
            "power spectrogram",
            shortest(|| {
                stft.density(black_box(&signal), Density::Power, &mut power)
                    .unwrap()
            }),
        );
        for (name, preset, stage) in [
            ("mel", Preset::Librosa, Stage::Mel),
            ("log-mel", Preset::Librosa, Stage::LogMel),
            (
                "mfcc 20",
                Preset::Librosa,
                Stage::Cepstrum { coefficients: 20 },
            ),
            ("kaldi fbank", Preset::Kaldi, Stage::LogMel),
        ] {
            let mut feature = MelFeature::new(preset.feature(rate, sizes, stage)).unwrap();
            let (rows, frames) = feature.shape(signal.len());
            let mut out = vec![0.0; rows * frames];
            report(
                name,
                shortest(|| feature.compute_into(black_box(&signal), &mut out).unwrap()),
            );
        }
    }
}
