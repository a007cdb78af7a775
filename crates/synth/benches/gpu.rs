//! Parity with the CPU on fresh notes, then figures: the phrase, many streams, warm-up.

#![allow(clippy::print_stdout)] // a program whose output is its purpose

use std::time::Instant;

use warpsmith_device::{CudaDevice, Device, DeviceChoice};
use warpsmith_measure::check_parity;
use warpsmith_synth::{
    BlockSettings, Blocks, CpuVoices, CudaVoices, DryEngine, DryRequest, Formulas, Params, Phrase,
    PhraseRenderer, Preset, Saw, Stream, StreamSettings, compose, workloads,
};
use warpsmith_workload::random::Random;
use warpsmith_workload::{Parameters, Workload};

/// Quantiles of times in milliseconds.
fn line(name: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] * 1e3;
    println!(
        "{name:58} p50 {:8.4} ms  p95 {:8.4}  p99 {:8.4}  min {:8.4}  n {}",
        at(0.5),
        at(0.95),
        at(0.99),
        at(0.0),
        times.len()
    );
}

fn workload(id: &str) -> Box<dyn Workload> {
    let found = workloads().into_iter().find(|workload| workload.id() == id);
    found.expect("the workload exists")
}

fn time(device: &Device, id: &str, settings: &[(&str, &str)], runs: usize) {
    let given: Vec<(String, String)> = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let workload = workload(id);
    let parameters = Parameters::resolve(workload.parameters(), &given).unwrap();
    let mut prepared = match workload.prepare(device, &parameters, 1) {
        Ok(prepared) => prepared,
        Err(error) => {
            println!("{id} {settings:?}: {error}");
            return;
        }
    };
    let mut run = || {
        let start = Instant::now();
        prepared.run_once().unwrap();
        if let Some(stream) = prepared.stream() {
            stream.synchronize().unwrap();
        }
        start.elapsed().as_secs_f64()
    };
    let first = run();
    for _ in 0..20 {
        run();
    }
    let times = (0..runs).map(|_| run()).collect();
    let said: Vec<_> = settings.iter().map(|(a, b)| format!("{a}={b}")).collect();
    line(
        &format!("{id} {} (first {:.2} ms)", said.join(" "), first * 1e3),
        times,
    );
}

/// GPU against CPU on composed music, as decibels of the difference.
fn composed_parity(gpu: &CudaDevice, seed: u64, formulas: Formulas) {
    let mut random = Random::seeded(seed);
    let streams: Vec<Vec<_>> = (0..7)
        .map(|_| {
            let mut params = Params::preset(Preset::ALL[random.below(4)]);
            params.intensity = random.unit() as f32;
            compose(random.bits(), &params, 44_100, 44_100 * 9)
        })
        .collect();
    let frames = 44_100 * 9;
    let slices: Vec<&[_]> = streams.iter().map(Vec::as_slice).collect();
    let settings = BlockSettings {
        frames,
        sample_rate: 44_100,
        formulas,
        saw: Saw::Spline,
        overlap: true,
    };
    let mut blocks = Blocks::new(gpu, &slices, settings).unwrap();
    blocks.poison().unwrap();
    gpu.synchronize().unwrap();
    blocks.queue(0).unwrap();
    let out = blocks.last().unwrap();
    let (mut signal, mut noise, mut worst) = (0.0f64, 0.0f64, 0);
    for (notes, out) in streams.iter().zip(out.chunks(2 * frames)) {
        let phrase = Phrase {
            sample_rate: 44_100,
            frames,
            notes: notes.clone(),
        };
        let settings = StreamSettings {
            formulas,
            ..StreamSettings::default()
        };
        let mut expected = vec![0i16; 2 * frames];
        PhraseRenderer::new(phrase, settings, None)
            .unwrap()
            .render_pcm16(&mut expected);
        for (a, b) in expected.iter().zip(out) {
            let difference = i32::from(*a) - i32::from(*b);
            worst = worst.max(difference.abs());
            signal += f64::from(*a).powi(2);
            noise += f64::from(difference).powi(2);
        }
    }
    println!(
        "parity, composed, seed {seed}, {formulas:?}: {:.1} dB, at most {worst} of 32767",
        10.0 * (noise.max(1e-9) / signal).log10()
    );
}

/// The voices of a server's streams, all in one launch: against the CPU, and how long they take.
fn served_voices(gpu: &CudaDevice, count: u64) {
    let mut streams: Vec<Stream> = (0..count)
        .map(|seed| Stream::new(seed, Params::default()).unwrap())
        .collect();
    let mut batch: Vec<DryRequest> = streams.iter().map(|_| DryRequest::default()).collect();
    let mut engine = CudaVoices::new(gpu).unwrap();
    let (mut times, mut worst) = (Vec::new(), 0f32);
    let mut out = vec![0i16; 2 * 4_800];
    for block in 0..60 {
        for (stream, request) in streams.iter_mut().zip(&mut batch) {
            assert!(stream.send_away());
            stream.ask(4_800, request);
        }
        let start = Instant::now();
        engine.render(&mut batch).unwrap();
        if block >= 10 {
            times.push(start.elapsed().as_secs_f64());
        }
        if block % 20 == 19 {
            let mut expected = batch.clone();
            CpuVoices.render(&mut expected).unwrap();
            for (a, b) in batch.iter().zip(&expected) {
                let pairs = a.samples.iter().zip(&b.samples);
                worst = pairs.map(|(a, b)| (a - b).abs()).fold(worst, f32::max);
            }
        }
        for (stream, request) in streams.iter_mut().zip(&batch) {
            stream.render_dry_into(request, &mut out);
        }
    }
    line(
        &format!("voices of {count} served streams, 100 ms, from notes to host"),
        times,
    );
    let db = 20.0 * worst.max(1e-12).log10();
    println!("  largest difference from the CPU {db:.1} dB of full scale");
    assert!(db < -100.0);
}

fn main() {
    let begun = Instant::now();
    let device = match Device::open(DeviceChoice::Cuda(0)) {
        Ok(device) => device,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    let gpu = device.cuda().expect("a GPU was opened").clone();
    println!(
        "{}: context {:.1} ms",
        device.name(),
        begun.elapsed().as_secs_f64() * 1e3
    );
    let quick = std::env::args().any(|argument| argument == "--small");
    let phrase = workload("synth/phrase");
    let loaded = Instant::now();
    let defaults = Parameters::resolve(phrase.parameters(), &[]).unwrap();
    let mut prepared = phrase.prepare(&device, &defaults, 1).unwrap();
    println!(
        "module, tables, graph {:.1} ms",
        loaded.elapsed().as_secs_f64() * 1e3
    );
    let first = Instant::now();
    prepared.run_once().unwrap();
    gpu.synchronize().unwrap();
    println!(
        "first render {:.2} ms; from nothing {:.1} ms",
        first.elapsed().as_secs_f64() * 1e3,
        begun.elapsed().as_secs_f64() * 1e3
    );
    for kernel in gpu.loaded_kernels() {
        println!(
            "  {} from {:?} in {:.1} ms",
            kernel.entry(),
            kernel.loaded_from(),
            kernel.load_time().0 * 1e3
        );
    }
    let cpu = Device::open(DeviceChoice::Cpu).unwrap();
    // Fresh notes every time.
    let seed = u64::from(begun.elapsed().subsec_nanos());
    for formulas in [Formulas::ClickFree, Formulas::Original] {
        composed_parity(&gpu, seed, formulas);
    }
    for (name, value) in [
        ("launch", "phrase"),
        ("launch", "voice"),
        ("launch", "operator"),
        ("out", "f32"),
        ("saw", "naive"),
        ("formulas", "click-free"),
    ] {
        let given = [(name.to_owned(), value.to_owned())];
        let parameters = Parameters::resolve(phrase.parameters(), &given).unwrap();
        match check_parity(phrase.as_ref(), &device, &cpu, &parameters, &[5, seed]) {
            Ok(parity) => println!("parity {name}={value}: {parity:?}"),
            Err(error) => println!("parity {name}={value}: {error}"),
        }
    }
    if quick {
        return;
    }
    for settings in [
        &[][..],
        &[("saw", "naive")],
        &[("graph", "off")],
        &[("host", "pageable")],
        &[("alloc", "per-render")],
        &[("out", "i16-mono")],
        &[("out", "f32")],
        &[("launch", "voice")],
        &[("launch", "voice"), ("graph", "off")],
        &[("launch", "operator")],
        &[("launch", "operator"), ("graph", "off")],
    ] {
        time(&device, "synth/phrase", settings, 500);
    }
    for streams in ["1", "10", "100", "1000", "4000", "10000"] {
        time(&device, "synth/streams", &[("streams", streams)], 200);
    }
    let mut random = Random::seeded(1);
    let tables: Vec<Vec<_>> = (0..10_000)
        .map(|_| {
            let notes = compose(random.bits(), &Params::default(), 44_100, 44_100 * 8);
            notes.into_iter().take(6).collect()
        })
        .collect();
    let slices: Vec<&[_]> = tables.iter().map(Vec::as_slice).collect();
    let settings = BlockSettings {
        frames: 4410,
        sample_rate: 44_100,
        formulas: Formulas::ClickFree,
        saw: Saw::Spline,
        overlap: true,
    };
    let mut blocks = Blocks::new(&gpu, &slices, settings).unwrap();
    let mut times = Vec::new();
    for block in 0..60u64 {
        let start = Instant::now();
        blocks.queue(block * 4410).unwrap();
        if block > 0 {
            std::hint::black_box(blocks.before_last().unwrap()[0]);
        }
        if block >= 10 {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    line(
        "10,000 composed streams, 100 ms, two blocks under way",
        times,
    );
    let kernel_only = Instant::now();
    let voices = compose(3, &Params::default(), 44_100, 44_100);
    println!(
        "composed {} notes in {:.3} ms",
        voices.len(),
        kernel_only.elapsed().as_secs_f64() * 1e3
    );
    for count in [1, 100, 1_000] {
        served_voices(&gpu, count);
    }
}
