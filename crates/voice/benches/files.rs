//! How many seconds of audio one core takes from a file to features in a second of its time.
//!
//! `cargo bench -p warpsmith-voice --bench files` writes a WAV file of 300 s at 16 kHz and reads it again for
//! every figure. Files named after `--` are decoded too. Where `$WARPSMITH_PEER_PYTHON` or
//! `target/voice-oracle` has soundfile and librosa, they run on the same files in the same run.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod processor_clock;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpsmith_formats::wav::{SampleFormat, WavFormat};
use warpsmith_voice::signal::LoudnessMeter;
use warpsmith_voice::{
    Audio, Density, FeatureSettings, Layout, MelFeature, Preset, Sizes, Stage, Stft,
    integrated_loudness,
};

use processor_clock::processor_seconds;

const RATE: u32 = 16_000;
const SECONDS: f64 = 300.0;

/// A tone with vibrato and noise, in 16 bits.
fn wav() -> Vec<u8> {
    let samples = (SECONDS * f64::from(RATE)) as usize;
    let format = WavFormat {
        sample_rate: RATE,
        channels: 1,
        samples: SampleFormat::Integer16,
    };
    let mut bytes = format.head(samples as u64);
    let mut noise = 1u32;
    for n in 0..samples {
        let t = n as f64 / f64::from(RATE);
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let tone = (880.0 * t + 3.0 * (30.0 * t).sin()).sin();
        let sample = 9_000.0 * tone + f64::from(noise >> 22) - 512.0;
        bytes.extend((sample as i16).to_le_bytes());
    }
    bytes
}

/// Prints times real time, of the shortest of eleven runs.
fn report(name: &str, seconds: f64, mut work: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..11 {
        let start = processor_seconds();
        work();
        best = best.min(processor_seconds() - start);
    }
    println!("{name}\twarpsmith\t{:.0}", seconds / best);
}

fn features(path: &Path) {
    let sizes = Sizes::for_speech(RATE);
    let settings = FeatureSettings {
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(RATE, sizes, Stage::LogMel)
    };
    let mut mel = MelFeature::new(settings).unwrap();
    let mut out = Vec::new();
    report("log-mel", SECONDS, || {
        let audio = Audio::read(path).unwrap();
        let (rows, frames) = mel.shape(audio.frames());
        out.resize(rows * frames, 0.0);
        mel.compute_into(&audio.channels[0], &mut out).unwrap();
        black_box(&out);
    });
    let mut stft = Stft::new(settings.spectrum).unwrap();
    report("spectrogram", SECONDS, || {
        let audio = Audio::read(path).unwrap();
        let (bins, frames) = stft.shape(audio.frames());
        out.resize(bins * frames, 0.0);
        stft.density(&audio.channels[0], Density::Magnitude, &mut out)
            .unwrap();
        black_box(&out);
    });
    report("integrated loudness", SECONDS, || {
        let audio = Audio::read(path).unwrap();
        black_box(integrated_loudness(&audio).unwrap());
    });
    report("loudness with range and true peak", SECONDS, || {
        let mut meter = LoudnessMeter::new(RATE, 1).unwrap();
        Audio::each_piece_of(path, &mut |piece| {
            meter.push(&[&piece.channels[0]]);
            Ok(())
        })
        .unwrap();
        black_box(meter.finish().unwrap());
    });
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tone.wav");
    std::fs::write(&path, wav()).unwrap();
    println!("times real time, one core's own time, shortest of 11 runs");
    features(&path);
    let named = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let mut files: Vec<PathBuf> = named.map(PathBuf::from).collect();
    files.insert(0, path);
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut seconds = 0.0;
        Audio::each_piece_of(file, &mut |piece| {
            seconds += piece.seconds();
            Ok(())
        })
        .unwrap();
        report(&format!("decode {name}"), seconds, || {
            Audio::each_piece_of(file, &mut |piece| {
                black_box(piece);
                Ok(())
            })
            .unwrap();
        });
    }
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/voice-oracle/bin/python");
    let python = std::env::var_os("WARPSMITH_PEER_PYTHON").map_or(oracle, PathBuf::from);
    let peers = Command::new(python)
        .args(["-c", include_str!("files_peers.py")])
        .args(&files)
        .output();
    match peers {
        Ok(peers) => print!("{}", String::from_utf8_lossy(&peers.stdout)),
        Err(error) => println!("skipped: the peers ({error})"),
    }
}
