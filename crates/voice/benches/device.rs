//! The GPU kernels: first whether they agree with the CPU on fresh inputs, then how long they take.
//!
//! `cargo bench -p warpsmith-voice --bench device` prints one line to a workload and parameters:
//! parity with its worst difference, median device time, and the share of the floor that bytes and
//! arithmetic set. Where there is no GPU it says so and measures nothing.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use warpsmith_device::{CudaDevice, Device, DeviceChoice};
use warpsmith_measure::gpu::device_timer::{CacheState, DeviceTimer};
use warpsmith_measure::random::Random;
use warpsmith_measure::{Parameters, Parity, Workload, WorkloadError, check_parity};
use warpsmith_voice::{
    FeatureSettings, Framing, HqPitch, Layout, MelFeature, Padding, PeriodicityVad, PitchRange,
    PraatPitch, PraatSettings, Preset, Pyin, PyinAudit, PyinSettings, Sizes, Stage, Yin,
    audit_pyin_on_cuda, hq_on_cuda, mel_on_cuda, periodicity_vad_on_cuda, praat_on_cuda,
    pyin_on_cuda, yin_on_cuda,
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
    agreement(&format!("{rate} Hz hq, noise {noise}"), &pairs, 0.5, 1000)
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
