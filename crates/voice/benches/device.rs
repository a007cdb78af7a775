//! The GPU kernels: first whether they agree with the CPU on fresh inputs, then how long they take.
//!
//! `cargo bench -p warpsmith-voice --bench device` prints one line to a workload and parameters:
//! parity with its worst difference, median device time, and the share of the floor that bytes and
//! arithmetic set. Where there is no GPU it says so and measures nothing. `-- networks talk.wav` holds the
//! probabilities that `$WARPSMITH_SILERO`'s weights give for recordings against the CPU's.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::path::Path;

use warpsmith_device::{CudaDevice, Device, DeviceChoice};
use warpsmith_measure::gpu::device_timer::{CacheState, DeviceTimer};
use warpsmith_measure::random::Random;
use warpsmith_measure::{Parameters, Parity, Workload, WorkloadError, check_parity};
use warpsmith_voice::{
    Audio, CONTRAST_BANDS, ChannelChoice, Chroma, ConstantQ, ConstantQSettings, FeatureSettings,
    Framing, HqPitch, Layout, MelFeature, NeuralSettings, NeuralVad, OnsetDetector, PITCH_CLASSES,
    Padding, PeriodicityVad, PitchRange, PraatPitch, PraatSettings, Preset, Pyin, PyinAudit,
    PyinSettings, SileroNetwork, Sizes, SpectralContrast, SpectralShape, SpectralStatistics, Stage,
    Swipe, Weights, Yin, audit_pyin_on_cuda, chroma_on_cuda, constant_q_on_cuda, contrast_on_cuda,
    hq_on_cuda, mel_on_cuda, neural_vad_on_cuda, onset_strength_on_cuda, periodicity_vad_on_cuda,
    praat_on_cuda, pyin_on_cuda, speech_probabilities_on_cuda, statistics_on_cuda, swipe_on_cuda,
    yin_on_cuda,
};

/// Device timings to a line.
const SAMPLES: usize = 60;
/// A single-precision product and sum to each lane and clock: 128 lanes of a multiprocessor.
const FLOPS_PER_CLOCK: f64 = 256.0;

/// What is checked, and what is timed, of each workload.
const CASES: &[(&str, &str, &str)] = &[
    ("voice/mel", "files=7 seconds=3", "files=1 seconds=60"),
    ("voice/mel", "files=2 seconds=1", "files=256 seconds=10"),
    (
        "voice/mel",
        "files=4 seconds=2 rate=44100",
        "files=1 seconds=60 rate=44100",
    ),
    ("voice/yin", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/yin",
        "files=3 seconds=1 rate=44100",
        "files=1 seconds=60 rate=44100",
    ),
    (
        "voice/spectrogram",
        "files=5 seconds=2",
        "files=1 seconds=60",
    ),
    (
        "voice/spectrogram",
        "files=5 seconds=1 kind=power rate=44100",
        "files=256 seconds=10 kind=power",
    ),
    (
        "voice/spectrogram",
        "files=2 seconds=1 kind=magnitude",
        "files=1 seconds=60 kind=power rate=44100",
    ),
    ("voice/pyin", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/pyin",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/pyin",
        "files=1 seconds=1",
        "files=1 seconds=60 rate=44100",
    ),
    ("voice/praat", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/praat",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/praat",
        "files=1 seconds=1",
        "files=1 seconds=60 rate=44100",
    ),
    ("voice/swipe", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/swipe",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/swipe",
        "files=1 seconds=1",
        "files=1 seconds=60 rate=44100",
    ),
    ("voice/hq", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/hq",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/hq",
        "files=1 seconds=1",
        "files=1 seconds=60 rate=44100",
    ),
    (
        "voice/periodicity",
        "files=5 seconds=2",
        "files=1 seconds=60",
    ),
    (
        "voice/periodicity",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/periodicity",
        "files=1 seconds=1",
        "files=1 seconds=60 rate=44100",
    ),
    ("voice/silero", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/silero",
        "files=140 seconds=1",
        "files=256 seconds=10",
    ),
    (
        "voice/silero",
        "files=300 seconds=1",
        "files=600 seconds=10",
    ),
    ("voice/istft", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/istft",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/griffin-lim",
        "files=3 seconds=2 rounds=1",
        "files=1 seconds=60 rounds=8",
    ),
    (
        "voice/griffin-lim",
        "files=2 seconds=1 rounds=4 rate=44100",
        "files=256 seconds=10 rounds=8",
    ),
    (
        "voice/griffin-lim",
        "files=3 seconds=2 rounds=8",
        "files=1 seconds=60 rounds=8 rate=44100",
    ),
    (
        "voice/resample",
        "files=5 seconds=2",
        "files=1 seconds=60 rate=44100",
    ),
    (
        "voice/resample",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    ("voice/contrast", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/contrast",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/contrast",
        "files=1 seconds=1",
        "files=1 seconds=60 rate=44100",
    ),
    (
        "voice/statistics",
        "files=5 seconds=2",
        "files=1 seconds=60",
    ),
    (
        "voice/statistics",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/statistics",
        "files=1 seconds=1 shown=rolloff",
        "files=1 seconds=60 rate=44100",
    ),
    ("voice/chroma", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/chroma",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/chroma",
        "files=1 seconds=1",
        "files=1 seconds=60 rate=44100",
    ),
    ("voice/onset", "files=5 seconds=2", "files=1 seconds=60"),
    (
        "voice/onset",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/onset",
        "files=1 seconds=1",
        "files=1 seconds=60 rate=44100",
    ),
    (
        "voice/constant-q",
        "files=5 seconds=2",
        "files=1 seconds=60",
    ),
    (
        "voice/constant-q",
        "files=3 seconds=1 rate=44100",
        "files=256 seconds=10",
    ),
    (
        "voice/constant-q",
        "files=4 seconds=1 hop=10ms",
        "files=1 seconds=60 rate=44100",
    ),
    (
        "voice/constant-q",
        "files=2 seconds=2 rate=44100 hop=10ms",
        "files=1 seconds=60 rate=44100 hop=10ms",
    ),
    (
        "training/layer-norm",
        "rows=513 width=1024",
        "rows=32768 width=1024",
    ),
    (
        "training/layer-norm",
        "rows=70 width=4096",
        "rows=8192 width=4096",
    ),
    (
        "training/layer-norm",
        "rows=70 width=1001",
        "rows=32768 width=1001",
    ),
    (
        "training/layer-norm-gelu",
        "rows=515 width=768",
        "rows=32768 width=1024",
    ),
    (
        "training/gelu",
        "rows=33 width=1001",
        "rows=32768 width=1024",
    ),
    (
        "training/gelu",
        "rows=33 width=1001 kind=tanh",
        "rows=32768 width=1024 kind=tanh",
    ),
    (
        "training/softmax",
        "rows=513 width=1000",
        "rows=32768 width=1024",
    ),
    (
        "training/softmax",
        "rows=77 width=3000",
        "rows=8192 width=4096",
    ),
    (
        "training/attention",
        "heads=3 tokens=200",
        "heads=96 tokens=1500",
    ),
    (
        "training/attention",
        "heads=2 tokens=131 width=128 mask=causal",
        "heads=48 tokens=2048 width=128 mask=causal",
    ),
    (
        "training/conv1d",
        "signals=2 out=70 length=300",
        "signals=32 in=512 out=512 length=3000 stride=2",
    ),
    (
        "training/conv1d",
        "signals=2 in=33 out=65 length=301 taps=5 stride=3 padding=4 dilation=2",
        "signals=32 in=80 out=512 length=3000",
    ),
    (
        "training/conv2d",
        "pictures=3 in=37 out=70 height=19 width=23",
        "pictures=32",
    ),
    (
        "training/conv2d",
        "pictures=2 in=1 out=64 height=80 width=101",
        "pictures=8 in=1 out=64 height=80 width=3000",
    ),
    (
        "training/conv2d",
        "pictures=2 in=12 out=10 height=21 width=20 taps_y=2 taps_x=5 stride_y=3 padding_x=4 dilation_y=2 groups=2",
        "pictures=32 in=256 out=256 height=28 width=28",
    ),
    (
        "training/conv2d",
        "pictures=1 in=300 out=130 height=7 width=7",
        "pictures=32 stride_y=2 stride_x=2",
    ),
    (
        "training/matmul",
        "m=1000 n=999 k=1001",
        "m=1000 n=999 k=1001",
    ),
    ("training/matmul", "m=1 n=3 k=5", "m=1K n=1K k=1K"),
    ("training/matmul", "m=130 n=260 k=36", "m=4K n=4K k=4K"),
    ("training/matmul", "m=300 n=1 k=2000", "m=8K n=8K k=8K"),
    (
        "training/matmul",
        "m=1000 n=999 k=1001 type=bf16",
        "m=1000 n=999 k=1001 type=bf16",
    ),
    (
        "training/matmul",
        "m=1000 n=1000 k=1000 type=bf16",
        "m=1K n=1K k=1K type=bf16",
    ),
    (
        "training/matmul",
        "m=136 n=264 k=72 type=bf16",
        "m=4K n=4K k=4K type=bf16",
    ),
    (
        "training/matmul",
        "m=1 n=8 k=8 type=bf16",
        "m=8K n=8K k=8K type=bf16",
    ),
    (
        "training/matmul",
        "m=136 n=264 k=200 type=bf16-sm80",
        "m=8K n=8K k=8K type=bf16-sm80",
    ),
    (
        "training/matmul",
        "m=136 n=264 k=200 type=bf16-sm70",
        "m=1K n=1K k=1K type=bf16-sm70",
    ),
    ("training/clip", "n=100003", "n=64M"),
    ("training/adamw", "n=100003", "n=32M"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gpu = match CudaDevice::open(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("skipped: {error}");
            return Ok(());
        }
    };
    let facts = gpu.facts();
    println!("{} ({} MHz)", facts.name, facts.sm_clock_hz / 1e6);
    let cuda = Device::Cuda(gpu.clone());
    let cpu = Device::open(DeviceChoice::Cpu)?;
    let only: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let quick = std::env::args().any(|word| word == "--parity");
    let mut failed = false;
    for (id, small, large) in CASES {
        if !only.is_empty() && !only.iter().any(|word| id.contains(word.as_str())) {
            continue;
        }
        let workloads = warpsmith_voice::workloads();
        let Some(workload) = workloads.iter().find(|workload| workload.id() == *id) else {
            println!("{id}: no such workload");
            failed = true;
            continue;
        };
        let parity = parity(&**workload, &cuda, &cpu, small);
        failed |= !parity.starts_with("agrees");
        println!("{id} {small}: {parity}");
        if !quick {
            match time(&**workload, &gpu, &cuda, large) {
                Ok(line) => println!("{id} {large}: {line}"),
                Err(error) => println!("{id} {large}: {error}"),
            }
        }
    }
    if only.is_empty() || only.iter().any(|word| word == "signals") {
        match signals_agree(&gpu) {
            Ok(lines) => println!("{lines}"),
            Err(error) => {
                println!("signals: FAILED {error}");
                failed = true;
            }
        }
    }
    if only.is_empty() || only.iter().any(|word| word == "audit") {
        match audits(&gpu) {
            Ok(lines) => println!("{lines}"),
            Err(error) => {
                println!("audit: FAILED {error}");
                failed = true;
            }
        }
    }
    if only.iter().any(|word| word == "networks") {
        let recordings = only.iter().filter(|word| word.ends_with(".wav"));
        for path in recordings {
            match speech_agrees(&gpu, Path::new(path)) {
                Ok(line) => println!("{path}: {line}"),
                Err(error) => {
                    println!("{path}: FAILED {error}");
                    failed = true;
                }
            }
        }
    }
    if failed {
        return Err("some kernel disagrees with the CPU".into());
    }
    Ok(())
}

/// Ragged signals of a user, the empty and the shortest among them, on the GPU and on the CPU.
fn signals_agree(gpu: &CudaDevice) -> Result<String, Box<dyn std::error::Error>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let mut random = Random::seeded(now.subsec_nanos().into());
    let mut lines = String::new();
    for rate in [16_000u32, 44_100] {
        let lengths = [40_000, 0, 1, 159, 160, 511, 512, 513, 12_345, 0, 16_001];
        let signals: Vec<Vec<f32>> = lengths
            .iter()
            .map(|length| {
                let base = 90.0 + 200.0 * random.unit();
                (0..*length)
                    .map(|n| {
                        let angle = std::f64::consts::TAU * base * f64::from(n) / f64::from(rate);
                        let tone: f64 = (1..7)
                            .map(|k| (f64::from(k) * angle).sin() / f64::from(k))
                            .sum();
                        (0.2 * tone + 0.02 * (random.unit() - 0.5)) as f32
                    })
                    .collect()
            })
            .collect();
        let all: Vec<&[f32]> = signals.iter().map(|signal| &signal[..]).collect();
        for stage in [Stage::LogMel, Stage::Cepstrum { coefficients: 20 }] {
            let settings = FeatureSettings {
                layout: Layout::FramesFirst,
                ..Preset::Librosa.feature(rate, Sizes::for_speech(rate), stage)
            };
            let mut feature = MelFeature::new(settings)?;
            let mut worst = 0.0f32;
            for (signal, ours) in all.iter().zip(mel_on_cuda(gpu, &settings, &all)?) {
                let expected = feature.compute(signal)?;
                if ours.len() != expected.len() {
                    return Err(format!("{} values, not {}", ours.len(), expected.len()).into());
                }
                for (a, b) in ours.iter().zip(&expected) {
                    let difference = (a - b).abs();
                    if difference.is_nan() || difference > 1e-2 {
                        return Err(format!("{stage:?}: {a}, the CPU says {b}").into());
                    }
                    worst = worst.max(difference);
                }
            }
            lines.push_str(&format!(
                "signals {rate} Hz {stage:?}: agree, worst {worst:.1e}\n"
            ));
        }
        let framing = Framing {
            length: if rate > 16_000 { 2048 } else { 1024 },
            hop: rate as usize / 100,
            padding: Padding::CentredZero,
        };
        let mut yin = Yin::new(rate, framing, PitchRange::VOICE, 0.1)?;
        let (mut off, mut frames) = (0usize, 0usize);
        for (signal, ours) in
            all.iter()
                .zip(yin_on_cuda(gpu, rate, framing, PitchRange::VOICE, &all)?)
        {
            let expected = yin.track(signal)?;
            if ours.len() != expected.len() {
                return Err(format!("{} frames, not {}", ours.len(), expected.len()).into());
            }
            frames += ours.len();
            // Frames that are mostly beyond the ends have flat minima that either rounding may choose.
            let apart = |(a, b): &(&f32, &f32)| (1200.0 * (*a / *b).log2()).abs() > 0.5;
            off += ours.iter().zip(&expected).filter(apart).count();
        }
        lines.push_str(&format!(
            "signals {rate} Hz YIN: {off} of {frames} frames apart\n"
        ));
        if off * 100 > frames {
            return Err(lines.into());
        }
        lines.push_str(&tracks_agree(gpu, rate, framing, &all)?);
        lines.push_str(&spectra_agree(gpu, rate, &all)?);
    }
    Ok(lines)
}

/// What is made of the signals' spectra, each within a share of its largest number.
fn spectra_agree(
    gpu: &CudaDevice,
    rate: u32,
    signals: &[&[f32]],
) -> Result<String, Box<dyn std::error::Error>> {
    let sizes = Sizes::for_speech(rate);
    let (transform, hop) = (sizes.transform, sizes.hop);
    let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
    let turned = |rows: &[f32], width: usize| -> Vec<f32> {
        let frames = rows.len() / width;
        let places = (0..rows.len()).map(|at| at % width * frames + at / width);
        places.map(|place| rows[place]).collect()
    };
    let mut lines = String::new();
    let mut check = |name: &str, ours: Vec<f32>, theirs: Vec<f32>, share: f32| {
        if ours.len() != theirs.len() {
            return Err(format!(
                "{name}: {} values, not {}",
                ours.len(),
                theirs.len()
            ));
        }
        let largest = theirs.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let mut worst = 0.0f32;
        for (at, (a, b)) in ours.iter().zip(&theirs).enumerate() {
            let apart = (a - b).abs() / largest;
            if apart.is_nan() || apart > share {
                return Err(format!("{name} {at}: {a}, the CPU says {b}"));
            }
            worst = worst.max(apart);
        }
        lines.push_str(&format!(
            "signals {rate} Hz {name}: agree, worst {worst:.1e}\n"
        ));
        Ok(())
    };
    let mut contrast = SpectralContrast::new(spectrum, rate)?;
    let mut chroma = Chroma::new(spectrum, rate)?;
    let mut onsets = OnsetDetector::new(rate, transform, hop)?;
    let (mut bands, mut classes, mut strengths) = (Vec::new(), Vec::new(), Vec::new());
    for signal in signals {
        bands.extend(turned(&contrast.compute(signal)?, CONTRAST_BANDS));
        classes.extend(turned(&chroma.compute(signal)?, PITCH_CLASSES));
        strengths.extend(onsets.strength(signal)?);
    }
    let ours = contrast_on_cuda(gpu, &spectrum, rate, signals)?;
    check("contrast", ours.concat(), bands, 5e-3)?;
    let ours = chroma_on_cuda(gpu, &spectrum, rate, signals)?;
    check("chroma", ours.concat(), classes, 1e-5)?;
    let ours = onset_strength_on_cuda(gpu, rate, transform, hop, signals)?;
    check("onset strength", ours.concat(), strengths, 1e-4)?;
    let ours = statistics_on_cuda(gpu, &spectrum, rate, signals)?;
    let mut shape = SpectralShape::new(spectrum, rate)?;
    let theirs: Vec<_> = signals.iter().map(|signal| shape.measure(signal)).collect();
    type Row = fn(&SpectralStatistics) -> &[f32];
    // Where 85 % lie between two bins, rounding chooses.
    let bin = 2.1 / transform as f32;
    let rows: [(&str, Row, f32); 7] = [
        ("centroid", |all| &all.centroid, 1e-5),
        ("bandwidth", |all| &all.bandwidth, 1e-5),
        ("roll-off", |all| &all.rolloff, 2.0 * bin),
        ("flatness", |all| &all.flatness, 1e-4),
        // Of white noise it is a sum of a thousand terms that all have their share in it.
        ("entropy", |all| &all.entropy, 1e-4),
        ("flux", |all| &all.flux, 1e-5),
        ("slope", |all| &all.slope, 1e-4),
    ];
    for (name, row, share) in rows {
        let of = |all: &[SpectralStatistics]| all.iter().flat_map(row).copied().collect();
        check(name, of(&ours), of(&theirs), share)?;
    }
    for hop in [512, hop] {
        let settings = ConstantQSettings::piano(hop);
        let mut analysis = ConstantQ::new(rate, settings)?;
        let mut theirs = Vec::new();
        for signal in signals {
            let (spectra, frames) = analysis.compute(signal);
            let places =
                (0..spectra.len()).map(|at| at % settings.bins * frames + at / settings.bins);
            theirs.extend(places.flat_map(|place| spectra[place]));
        }
        let ours = constant_q_on_cuda(gpu, rate, settings, signals)?;
        check("constant Q", ours.concat().concat(), theirs, 1e-5)?;
    }
    Ok(lines)
}

/// Pitch of the signals, with pauses cut into them. pYIN's tracks are the CPU's, but in signals with a frame
/// that rounding decides. Of Praat's, the voicing is the CPU's and the frequency within a tenth of a cent in all
/// frames but one in two hundred; of `hq`, within half a cent in all but one in a thousand.
fn tracks_agree(
    gpu: &CudaDevice,
    rate: u32,
    framing: Framing,
    signals: &[&[f32]],
) -> Result<String, Box<dyn std::error::Error>> {
    let pauses: Vec<Vec<f32>> = signals
        .iter()
        .map(|signal| {
            let quiet = |n: usize| n / (rate as usize / 5) % 3 == 2;
            let samples = signal.iter().enumerate();
            samples
                .map(|(n, x)| if quiet(n) { x * 0.001 } else { *x })
                .collect()
        })
        .collect();
    let signals: Vec<&[f32]> = pauses.iter().map(|signal| &signal[..]).collect();
    let range = PitchRange::VOICE;
    let (audit, mut lines) = audited(gpu, rate, framing, &signals)?;
    let settings = PyinSettings::default();
    let mut pyin = Pyin::new(rate, framing, range, settings)?;
    let ours = pyin_on_cuda(gpu, rate, framing, range, settings, &signals)?;
    for (signal, (ours, samples)) in ours.into_iter().zip(&signals).enumerate() {
        let theirs = pyin.track(samples);
        let same = ours.frequency == theirs.frequency && ours.voiced == theirs.voiced;
        if !same && !audit.undecided.iter().any(|frame| frame.signal == signal) {
            return Err(
                format!("signal {signal}: another track, and every decision is clear").into(),
            );
        }
        for (frame, (a, b)) in ours.frequency.iter().zip(&theirs.frequency).enumerate() {
            if a != b {
                lines.push_str(&format!(
                    "  signal {signal} of {} samples, frame {frame}: {a} Hz, on the CPU {b}\n",
                    samples.len()
                ));
            }
        }
    }
    let settings = PraatSettings::default();
    let mut praat = PraatPitch::new(rate, framing.hop, range, settings)?;
    let ours = praat_on_cuda(gpu, rate, framing.hop, range, settings, &signals)?;
    let mut pairs = Vec::new();
    for (ours, samples) in ours.into_iter().zip(&signals) {
        pairs.push((ours.frequency, praat.track(samples).frequency));
    }
    lines.push_str(&agreement(&format!("{rate} Hz Praat"), &pairs, 0.1, 200)?);
    for noise in [0.0, 0.1, 0.5] {
        lines.push_str(&hq_agrees(gpu, rate, noise)?);
    }
    let threshold = Swipe::THRESHOLD;
    let mut swipe = Swipe::new(rate, framing.hop, range, threshold)?;
    let ours = swipe_on_cuda(gpu, rate, framing.hop, range, threshold, &signals)?;
    let mut pairs = Vec::new();
    for (ours, samples) in ours.into_iter().zip(&signals) {
        pairs.push((ours.frequency, swipe.track(samples).frequency));
    }
    // A step of its grid.
    lines.push_str(&agreement(&format!("{rate} Hz SWIPE'"), &pairs, 1.6, 200)?);
    let mut vad = PeriodicityVad::new(rate)?;
    let ours = periodicity_vad_on_cuda(gpu, rate, &signals)?;
    let same = signals
        .iter()
        .zip(&ours)
        .filter(|(signal, ours)| vad.decide(signal) == **ours);
    let (same, all) = (same.count(), ours.len());
    lines.push_str(&format!(
        "signals {rate} Hz periodicity: {same} of {all} signals have the CPU's decisions\n"
    ));
    if same + 1 < all {
        return Err(lines.into());
    }
    Ok(lines)
}

/// The probabilities and decisions of the trained network for a recording.
fn speech_agrees(gpu: &CudaDevice, path: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let weights =
        std::env::var_os("WARPSMITH_SILERO").ok_or("$WARPSMITH_SILERO names no weights")?;
    let network = SileroNetwork::new(&Weights::read(Path::new(&weights))?)?;
    let audio = Audio::read(path)?;
    let (signal, rate) = (&audio.signal(ChannelChoice::Mix)?[..], audio.sample_rate);
    let settings = NeuralSettings::default();
    let mut vad = NeuralVad::new(&network, rate, settings)?;
    let decisions = neural_vad_on_cuda(gpu, &network, rate, settings, &[signal])?;
    if decisions != [vad.decide(signal)] {
        return Err("other decisions than the CPU's".into());
    }
    let mut line = format!("{} decisions are the CPU's", decisions[0].len());
    if rate == 16_000 {
        let theirs = vad.probabilities(signal);
        let ours = speech_probabilities_on_cuda(gpu, &network, &[signal])?;
        let apart = ours[0].iter().zip(&theirs).map(|(a, b)| (a - b).abs());
        let worst = apart.fold(0.0, f32::max);
        if ours[0].len() != theirs.len() || worst > 1e-4 {
            return Err(format!("probabilities differ by {worst:.1e}").into());
        }
        line.push_str(&format!(
            ", {} probabilities within {worst:.1e}",
            theirs.len()
        ));
    }
    Ok(line)
}

/// The `hq` tracks of voices that glide and pause, under noise of this amplitude.
fn hq_agrees(
    gpu: &CudaDevice,
    rate: u32,
    noise: f64,
) -> Result<String, Box<dyn std::error::Error>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let mut random = Random::seeded(now.subsec_nanos().into());
    let voices: Vec<Vec<f32>> = (0..10)
        .map(|_| {
            let base = 80.0 + 300.0 * random.unit();
            let (width, speed) = (0.5 * random.unit(), 1.0 + 5.0 * random.unit());
            let mut phase = 0.0;
            (0..4 * rate)
                .map(|n| {
                    let t = f64::from(n) / f64::from(rate);
                    phase += base * (width * (speed * t).sin()).exp2() / f64::from(rate);
                    let angle = std::f64::consts::TAU * phase;
                    let tone: f64 = (1..7)
                        .map(|k| (f64::from(k) * angle).sin() / f64::from(k))
                        .sum();
                    let loud = if t % 0.9 < 0.6 { 0.2 } else { 0.0002 };
                    (loud * tone + noise * (random.unit() - 0.5)) as f32
                })
                .collect()
        })
        .collect();
    let signals: Vec<&[f32]> = voices.iter().map(|signal| &signal[..]).collect();
    let (hop, range) = (rate as usize / 100, PitchRange::VOICE);
    let mut hq = HqPitch::new(rate, hop, range)?;
    let ours = hq_on_cuda(gpu, rate, hop, range, &signals)?;
    let mut pairs = Vec::new();
    for (ours, samples) in ours.into_iter().zip(&signals) {
        pairs.push((ours.frequency, hq.track(samples).frequency));
    }
    // Which of two looks is believed is decided at thresholds, and in steep glides they lie a few cents apart:
    // rounding decided eight of 3,950 such frames.
    agreement(&format!("{rate} Hz hq, noise {noise}"), &pairs, 0.5, 200)
}

/// Holds tracks of GPU and CPU against each other: at most one frame in `rarely` may differ in voicing, and one
/// by more than `bound` cents.
fn agreement(
    name: &str,
    pairs: &[(Vec<f32>, Vec<f32>)],
    bound: f32,
    rarely: usize,
) -> Result<String, Box<dyn std::error::Error>> {
    let (mut frames, mut voicing, mut apart, mut worst) = (0, 0, 0, 0.0f32);
    let mut places = String::new();
    for (signal, (ours, theirs)) in pairs.iter().enumerate() {
        if ours.len() != theirs.len() {
            return Err(format!("{name} has another number of frames").into());
        }
        for (frame, (a, b)) in ours.iter().zip(theirs).enumerate() {
            frames += 1;
            if (*a > 0.0) != (*b > 0.0) {
                voicing += 1;
            } else {
                let cents = if *a > 0.0 {
                    (1200.0 * (a / b).log2()).abs()
                } else {
                    0.0
                };
                if cents <= bound {
                    worst = worst.max(cents);
                    continue;
                }
                apart += 1;
            }
            places.push_str(&format!(
                "  signal {signal}, frame {frame} of {}: {a} Hz, on the CPU {b}\n",
                ours.len()
            ));
        }
    }
    let line = format!(
        "signals {name}: of {frames} frames {voicing} differ in voicing, {apart} by more than {bound} \
         cents, the others by at most {worst:.4}\n{places}"
    );
    if voicing * rarely > frames || apart * rarely > frames {
        return Err(line.into());
    }
    Ok(line)
}

/// Every frame whose candidates differ between GPU and CPU, with the decision that rounding turned. A frame
/// without such a decision, and a state off the best path, are errors.
fn audited(
    gpu: &CudaDevice,
    rate: u32,
    framing: Framing,
    signals: &[&[f32]],
) -> Result<(PyinAudit, String), Box<dyn std::error::Error>> {
    let (range, settings) = (PitchRange::VOICE, PyinSettings::default());
    let audit = audit_pyin_on_cuda(gpu, rate, framing, range, settings, signals)?;
    let mut lines = format!(
        "audit {rate} Hz pYIN: {} frames on the best path, {} of {} pieces walked again; {} frames that \
         rounding decides\n",
        audit.frames,
        audit.repaired,
        audit.pieces,
        audit.undecided.len()
    );
    for frame in audit.undecided.iter().take(6) {
        let close = frame.close;
        lines.push_str(&format!(
            "  signal {} frame {}: {:?} at lag {}, margin {:.1e} of {:.1e}; on the GPU {:?}, on the CPU \
             {:?}\n",
            frame.signal,
            frame.frame,
            close.decision,
            close.lag,
            close.margin,
            close.bound,
            frame.on_gpu,
            frame.on_cpu
        ));
    }
    Ok((audit, lines))
}

/// pYIN of noise, of long silence, of pauses and of a minute of voice, frame by frame.
fn audits(gpu: &CudaDevice) -> Result<String, Box<dyn std::error::Error>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let mut random = Random::seeded(now.subsec_nanos().into());
    let mut lines = String::new();
    for rate in [16_000u32, 44_100] {
        let seconds = |count: usize| count * rate as usize;
        let noise: Vec<f32> = (0..seconds(20))
            .map(|_| random.unit() as f32 - 0.5)
            .collect();
        let mut phase = 0.0f64;
        let voice: Vec<f32> = (0..seconds(60))
            .map(|n| {
                let t = n as f64 / f64::from(rate);
                phase += (150.0 + 60.0 * (0.7 * t).sin()) / f64::from(rate);
                let angle = std::f64::consts::TAU * phase;
                let tone: f64 = (1..9)
                    .map(|k| (f64::from(k) * angle).sin() / f64::from(k))
                    .sum();
                let loud = if t % 2.3 < 1.6 { 0.3 } else { 0.0005 };
                (loud * tone + 0.002 * (random.unit() - 0.5)) as f32
            })
            .collect();
        let mut silence = voice.clone();
        silence[seconds(5)..seconds(35)].fill(0.0);
        let framing = Framing {
            length: if rate > 16_000 { 2048 } else { 1024 },
            hop: rate as usize / 100,
            padding: Padding::CentredZero,
        };
        for (name, signal) in [("noise", &noise), ("voice", &voice), ("silence", &silence)] {
            let (_, line) = audited(gpu, rate, framing, &[signal])?;
            lines.push_str(&format!("{name}: {line}"));
        }
    }
    Ok(lines)
}

fn resolve(workload: &dyn Workload, text: &str) -> Result<Parameters, WorkloadError> {
    let given: Vec<(String, String)> = text
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Ok(Parameters::resolve(workload.parameters(), &given)?)
}

fn parity(workload: &dyn Workload, cuda: &Device, cpu: &Device, text: &str) -> String {
    // Other inputs each time.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = now.map_or(1, |now| now.subsec_nanos()).into();
    let checked = resolve(workload, text).and_then(|parameters| {
        check_parity(
            workload,
            cuda,
            cpu,
            &parameters,
            &[seed, seed + 1, seed + 2],
        )
    });
    match checked {
        Ok(Parity::Agrees { worst, .. }) => {
            format!(
                "agrees, worst {:.2e} abs {:.2e} rel",
                worst.max_abs, worst.max_rel
            )
        }
        Ok(other) => format!("DISAGREES {other:?}"),
        Err(error) => format!("FAILED {error}"),
    }
}

fn time(
    workload: &dyn Workload,
    gpu: &CudaDevice,
    cuda: &Device,
    text: &str,
) -> Result<String, WorkloadError> {
    let parameters = resolve(workload, text)?;
    let mut prepared = workload.prepare(cuda, &parameters, 1)?;
    let stream = gpu.stream().clone();
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    let mut samples = Vec::with_capacity(SAMPLES);
    for sample in 0..SAMPLES + 5 {
        let seconds = timer.time(&stream, &mut || prepared.run_once())?;
        if sample >= 5 {
            samples.push(seconds.seconds * 1e6);
        }
    }
    samples.sort_by(f64::total_cmp);
    let median = samples[SAMPLES / 2];
    let cost = workload.cost(&parameters);
    let facts = gpu.facts();
    let bytes = cost.bytes.0 as f64 / facts.memory_bandwidth * 1e6;
    let rate = f64::from(facts.multiprocessors) * FLOPS_PER_CLOCK * facts.sm_clock_hz;
    let flops = cost.flops.0 as f64 / rate * 1e6;
    Ok(format!(
        "{median:.1} us (least {:.1}, most {:.1}); floor {:.1} us by bytes, {:.1} us by arithmetic: \
         {:.0} % of the larger",
        samples[0],
        samples[SAMPLES - 1],
        bytes,
        flops,
        100.0 * bytes.max(flops) / median,
    ))
}
