//! The GPU kernels: first whether they agree with the CPU on fresh inputs, then how long they take.
//!
//! `cargo bench -p warpsmith-voice --bench device` prints one line to a workload and parameters:
//! parity with its worst difference, median device time, and the share of the floor that bytes and
//! arithmetic set. Where there is no GPU it says so and measures nothing. `-- networks talk.wav` holds the
//! probabilities that `$WARPSMITH_SILERO`'s weights give for recordings against the CPU's.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod audit;
mod networks;
mod signals;
mod tracks;

use std::path::Path;

use warpsmith_device::{CudaDevice, Device, DeviceChoice};
use warpsmith_measure::gpu::device_timer::{CacheState, DeviceTimer};
use warpsmith_measure::{Parity, check_parity};
use warpsmith_workload::{Parameters, Workload, WorkloadError};

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
    ("voice/crepe", "files=3 seconds=1", "files=1 seconds=60"),
    (
        "voice/crepe",
        "files=2 seconds=2 kernel=sm80",
        "files=256 seconds=10",
    ),
    (
        "voice/crepe",
        "files=2 seconds=1 network=full",
        "files=1 seconds=60 network=full",
    ),
    (
        "voice/crepe-path",
        "files=5 seconds=2",
        "files=1 seconds=60",
    ),
    (
        "voice/crepe-path",
        "files=2 seconds=1",
        "files=256 seconds=10",
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
        "training/attention",
        "heads=3 tokens=200 type=bf16",
        "heads=96 tokens=1500 type=bf16",
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
        "pictures=3 in=37 out=70 height=19 width=23 type=f32-sm70",
        "pictures=32 type=f32-sm70",
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
        "m=300 n=200 k=100 infinite=150",
        "m=1K n=1K k=1K infinite=10",
    ),
    (
        "training/matmul",
        "m=300 n=201 k=101 type=f32-sm70",
        "m=4K n=4K k=4K type=f32-sm70",
    ),
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
        "m=1201 n=1203 k=77 type=bf16",
        "m=1280 n=1280 k=1280 type=bf16",
    ),
    (
        "training/matmul",
        "m=2056 n=2043 k=70 type=bf16",
        "m=4095 n=4095 k=4095 type=bf16",
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
        match signals::agree(&gpu) {
            Ok(lines) => println!("{lines}"),
            Err(error) => {
                println!("signals: FAILED {error}");
                failed = true;
            }
        }
    }
    if only.is_empty() || only.iter().any(|word| word == "audit") {
        match audit::of_long_signals(&gpu) {
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
            match networks::speech_agrees(&gpu, Path::new(path)) {
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
