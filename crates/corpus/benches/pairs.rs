//! Pairs per second, shapes, builtins and memory.
//!
//! ```text
//! cargo bench -p warpsmith-corpus --bench pairs
//! cargo bench -p warpsmith-corpus --bench pairs -- cores compiled gpu million ten-million
//! ```
//! CPU time is what counts, so that other work on the machine does not. The peer of generation is the
//! figure of the pipeline that this crate replaces, about 210 pairs per CPU-second on a 2-core virtual
//! Xeon; it is not measured here.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;
use warpsmith_compiler::{Compiler, Options, Target, emit, emit_both};
use warpsmith_corpus::{
    CORE_BUILTINS, Category, Check, Compression, Executor, Fingerprint, Level, Origin, Record,
    RecordBuilder, Selection, Settings, ShapeSet, SplitRule, Tools, Verifier, Wanted, draft,
    generate, unused_builtins, write_draft,
};

/// The figure of the pipeline that this crate replaces, in pairs per CPU-second.
const PEER: f64 = 210.0;

fn main() {
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let figures: [(&str, bool, fn()); 11] = [
        ("stages", true, stages),
        ("forward", true, forward_only),
        ("written", true, written),
        ("executed", true, executed),
        ("builtins", true, builtins),
        ("cores", false, cores),
        ("once", false, once),
        ("compiled", false, compiled),
        ("gpu", false, on_gpu),
        ("million", false, || shapes(1_000_000)),
        ("ten-million", false, || memory(10_000_000)),
    ];
    for (name, by_default, figure) in figures {
        if asked.iter().any(|word| word == name) || by_default && asked.is_empty() {
            figure();
        }
    }
}

/// CPU seconds of this process, all threads: of its own code, and of the system on its behalf.
#[derive(Clone, Copy)]
struct Cpu {
    user: f64,
    system: f64,
}

impl Cpu {
    fn since(self, before: Self) -> Self {
        Self {
            user: self.user - before.user,
            system: self.system - before.system,
        }
    }

    fn seconds(self) -> f64 {
        self.user + self.system
    }
}

fn cpu() -> Cpu {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = after
        .split_whitespace()
        .filter_map(|f| f.parse().ok())
        .collect();
    // Fields 14 and 15 of the whole line, in hundredths; the state before them is no number.
    let hundredths = |field: usize| fields.get(field).map_or(f64::NAN, |time| time / 100.0);
    Cpu {
        user: hundredths(10),
        system: hundredths(11),
    }
}

/// What the pairs follow from; `WARPSMITH_SEED` says otherwise.
fn seed(otherwise: u64) -> u64 {
    let given = std::env::var("WARPSMITH_SEED").ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}

/// Runs `work` on one thread; gives its CPU seconds.
fn on_one_core(work: impl FnOnce() + Send) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let before = cpu();
    if let Ok(pool) = pool {
        pool.install(work);
    }
    cpu().since(before).seconds()
}

/// What each step of a pair costs.
fn stages() {
    const PAIRS: u64 = 20_000;
    let seed = seed(1);
    let wanted = Wanted::default();
    let mut drafts = Vec::new();
    let seconds = on_one_core(|| drafts = (0..PAIRS).map(|n| draft(&wanted, seed, n, 0)).collect());
    let each = |name: &str, seconds: f64| {
        println!("  {name}: {:.2} us a pair", seconds * 1e6 / PAIRS as f64)
    };
    let bytes: usize = drafts.iter().map(|draft| draft.source.len()).sum();
    println!(
        "stages over {PAIRS} pairs, {} bytes of Python each",
        bytes / drafts.len()
    );
    each("draft", seconds);
    each(
        "hashes",
        on_one_core(|| {
            for draft in &drafts {
                black_box(Fingerprint::of(&draft.source));
            }
        }),
    );
    for (name, targets) in [
        ("compile", &[][..]),
        ("compile and CUDA text", &[Target::Cuda][..]),
    ] {
        let mut written = 0;
        let seconds = on_one_core(|| {
            let mut compiler = Compiler::new();
            let mut out = String::new();
            for draft in &drafts {
                if let Ok(module) = compiler.compile(&draft.source, &Options::default()) {
                    out.clear();
                    for target in targets {
                        emit(&module, *target, &mut out);
                    }
                    written += black_box(&out).len();
                    compiler.recycle(module);
                }
            }
        });
        each(
            &format!("{name} ({} bytes)", written / drafts.len()),
            seconds,
        );
    }
    let mut written = 0;
    let seconds = on_one_core(|| {
        let mut compiler = Compiler::new();
        let (mut cuda, mut cpu) = (String::new(), String::new());
        for draft in &drafts {
            if let Ok(module) = compiler.compile(&draft.source, &Options::default()) {
                cuda.clear();
                cpu.clear();
                emit_both(&module, &mut cuda, &mut cpu);
                written += black_box(&cuda).len() + black_box(&cpu).len();
                compiler.recycle(module);
            }
        }
    });
    each(
        &format!("compile, both texts ({} bytes)", written / drafts.len()),
        seconds,
    );
    let pages = pages(PAIRS);
    let mut zstd = zstd::bulk::Compressor::new(1).ok();
    let mut written = 0;
    let seconds = on_one_core(|| {
        for page in &pages {
            let frame = zstd.as_mut().and_then(|zstd| zstd.compress(page).ok());
            written += frame.map_or(0, |frame| frame.len());
        }
    });
    each(
        &format!("zstd alone ({} bytes)", written / drafts.len()),
        seconds,
    );
}

/// The five texts of pairs, in pages as large as a file's.
fn pages(pairs: u64) -> Vec<Vec<u8>> {
    let texts: [fn(&Record) -> &str; 5] = [
        |record| &record.draft.source,
        Record::cuda_forward,
        Record::cuda_backward,
        Record::cpu_forward,
        Record::cpu_backward,
    ];
    let mut open: [Vec<u8>; 5] = Default::default();
    let mut closed = Vec::new();
    let mut records = RecordBuilder::new();
    for index in 0..pairs {
        let selected = write_draft(&Wanted::default(), 1, index, 0);
        if let Ok((record, module)) = records.build(selected, &SplitRule::default()) {
            for (page, text) in open.iter_mut().zip(texts) {
                page.extend_from_slice(text(&record).as_bytes());
                if page.len() >= 256 << 10 {
                    closed.push(std::mem::take(page));
                }
            }
            records.recycle(module);
        }
    }
    closed.extend(open);
    closed
}

/// CUDA forward only, kernels like those of the six categories that the peer has.
fn forward_only() {
    const PAIRS: u64 = 100_000;
    let wanted = like_the_peer();
    let options = Options::default();
    let mut bytes = 0;
    let seconds = on_one_core(|| {
        let mut compiler = Compiler::new();
        let mut out = String::new();
        for index in 0..PAIRS {
            let mut source = draft(&wanted, 1, index, 0).source;
            if let Some(at) = source.find("@wp.kernel\n") {
                source.insert_str(at + "@wp.kernel".len(), "(enable_backward=False)");
            }
            if let Ok(module) = compiler.compile(&source, &options) {
                out.clear();
                emit(&module, Target::Cuda, &mut out);
                bytes += black_box(&out).len();
                compiler.recycle(module);
            }
        }
    });
    let rate = PAIRS as f64 / seconds;
    println!(
        "CUDA forward only, difficulty 1: {rate:.0} pairs per CPU-second, {} bytes each, {:.0}x the peer's {PEER}",
        bytes / PAIRS as usize,
        rate / PEER
    );
}

/// Everything: four texts, hashes, deduplication, Parquet, with and without zstd in turns.
fn written() {
    for (name, wanted) in [
        ("all", Wanted::default()),
        ("like the peer's", like_the_peer()),
    ] {
        let bytes = text_bytes(&wanted);
        let settings = Settings {
            count: 60_000,
            categories: wanted.categories,
            difficulties: wanted.difficulties,
            ..Settings::default()
        };
        println!(
            "all four texts, hashes, deduplication, Parquet; kernels: {name}, {bytes:.0} bytes of text each"
        );
        let plain = Settings {
            compression: Compression::None,
            ..settings.clone()
        };
        for _ in 0..3 {
            for settings in [&settings, &plain] {
                written_with(settings, 1);
            }
        }
        let rates: Vec<f64> = [1, 2, 1, 2]
            .into_iter()
            .filter_map(|threads| written_with(&settings, threads))
            .collect();
        if let [one, two, one_again, two_again] = rates[..] {
            println!(
                "  text: {:.0} and {:.0} MB/s on one thread",
                one * bytes / 1e6,
                one_again * bytes / 1e6
            );
            println!(
                "  from 1 to 2 threads: {:.2}x, {:.2}x in wall time",
                two / one,
                two_again / one_again
            );
        }
    }
}

/// Bytes of Python, CUDA and CPU text in a pair: the mean of some.
fn text_bytes(wanted: &Wanted) -> f64 {
    const PAIRS: u64 = 2000;
    let mut records = RecordBuilder::new();
    let mut bytes = 0;
    for index in 0..PAIRS {
        let selected = write_draft(wanted, 1, index, 0);
        if let Ok((record, module)) = records.build(selected, &SplitRule::default()) {
            bytes += record.draft.source.len() + record.cuda.len() + record.cpu.len();
            records.recycle(module);
        }
    }
    bytes as f64 / PAIRS as f64
}

/// Pairs per second of wall time.
fn written_with(settings: &Settings, threads: usize) -> Option<f64> {
    let folder = tempfile::tempdir().ok()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (before, start) = (cpu(), Instant::now());
    let made = pool.ok()?.install(|| {
        generate(
            settings,
            (0, 1),
            folder.path(),
            &Verifier::default(),
            &mut |_| {},
        )
    });
    let (cpu, wall) = (cpu().since(before), start.elapsed().as_secs_f64());
    let Ok(manifest) = made else {
        println!("  generation failed");
        return None;
    };
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let pairs = manifest.tally.pairs as f64;
    println!(
        "  {threads} threads, {}: {:.0} pairs/s, {:.0} per CPU-second, {:.0} per user second, {} bytes each on disk, peak {:.0} MB",
        settings.compression,
        pairs / wall,
        pairs / cpu.seconds(),
        pairs / cpu.user,
        bytes / manifest.tally.pairs,
        peak_megabytes()
    );
    Some(pairs / wall)
}

/// One or two cores that all of a process runs on, writing and fsync included, in turns.
fn cores() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let mut cpus = Vec::new();
    for range in allowed.unwrap_or_default().trim().split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(from), Ok(to)) = (from.parse::<u32>(), to.parse::<u32>()) {
            cpus.extend(from..=to);
        }
    }
    let [first, second, ..] = cpus[..] else {
        println!("cores: skipped: one core");
        return;
    };
    let rate = |list: String, threads: &str| -> Option<f64> {
        let program = std::env::current_exe().ok()?;
        let out = std::process::Command::new("taskset")
            .args(["-c", &list])
            .arg(program)
            .arg("once")
            .env("WARPSMITH_THREADS", threads)
            .output();
        let text = String::from_utf8(out.ok()?.stdout).ok()?;
        text.split_whitespace().nth(3)?.parse().ok()
    };
    println!("pairs/s of wall time, kernels: all");
    for _ in 0..3 {
        let one = rate(first.to_string(), "1");
        let two = rate(format!("{first},{second}"), "2");
        match (one, two) {
            (Some(one), Some(two)) => {
                println!("  1 core {one:.0}, 2 cores {two:.0}: {:.2}x", two / one);
            }
            _ => println!("  skipped: no `taskset`"),
        }
    }
}

/// A data set with `WARPSMITH_THREADS` threads.
fn once() {
    let threads = std::env::var("WARPSMITH_THREADS").ok();
    let compression = std::env::var("WARPSMITH_COMPRESSION").ok();
    let settings = Settings {
        seed: seed(0),
        count: pairs(40_000),
        compression: compression
            .and_then(|name| name.parse().ok())
            .unwrap_or_default(),
        ..Settings::default()
    };
    written_with(&settings, threads.and_then(|n| n.parse().ok()).unwrap_or(1));
}

/// Forward and backward over a thousand threads, in the interpreter.
fn executed() {
    let (pairs, seed) = (pairs(2000), seed(1));
    let wanted = Wanted::default();
    let mut compiler = Compiler::new();
    let executor = Executor::default();
    let modules: Vec<_> = (0..pairs)
        .filter_map(|index| {
            let source = draft(&wanted, seed, index, 0).source;
            Some((index, compiler.compile(&source, &Options::default()).ok()?))
        })
        .collect();
    // Of the run, and of the gradients against differences: passed, skipped, failed.
    let mut counts = [[0; 3]; 2];
    let mut reasons = Vec::new();
    let seconds = on_one_core(|| {
        for (index, module) in &modules {
            let origin = Origin {
                seed,
                index: *index,
                attempt: 0,
            };
            let execution = executor.execute(module, origin, index.is_multiple_of(8));
            let checks = [execution.executed, execution.gradient];
            for (check, counts) in checks.into_iter().zip(&mut counts) {
                match check {
                    Check::NotRun => {}
                    Check::Passed => counts[0] += 1,
                    Check::Skipped(_) => counts[1] += 1,
                    Check::Failed(reason) => {
                        counts[2] += 1;
                        reasons.push(format!("  {index}: {reason}"));
                    }
                }
            }
        }
    });
    println!(
        "executed, about 1000 threads, forward and backward: {:.0} pairs per CPU-second; {}",
        modules.len() as f64 / seconds,
        ["executed", "gradients"]
            .iter()
            .zip(counts)
            .map(|(name, [passed, skipped, failed])| format!(
                "{name}: {passed} passed, {skipped} skipped, {failed} failed"
            ))
            .collect::<Vec<_>>()
            .join("; ")
    );
    reasons.iter().take(9).for_each(|line| println!("{line}"));
}

/// Settings for kernels like those of the six categories that the peers' figures are of.
fn like_the_peer() -> Wanted {
    Wanted {
        categories: vec![
            Category::Arithmetic,
            Category::Math,
            Category::Vector,
            Category::Matrix,
            Category::ControlFlow,
            Category::Atomic,
        ],
        difficulties: vec![1],
    }
}

/// How many pairs a figure takes; `WARPSMITH_PAIRS` says otherwise.
fn pairs(otherwise: u64) -> u64 {
    let given = std::env::var("WARPSMITH_PAIRS").ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// PTX, forward and backward, batched; `WARPSMITH_NVRTC` names the library. Warp's own batched NVRTC path
/// takes 0.067 CPU-seconds a kernel like the peer's, with a precompiled header and units of 100; where
/// `WARPSMITH_WARP_PYTHON` names a Python with Warp, it compiles the same kernels in the same run.
fn compiled() {
    let tools = Tools {
        nvrtc: std::env::var_os("WARPSMITH_NVRTC").map(Into::into),
        ..Tools::default()
    };
    for (name, wanted) in [
        ("like the peer's", like_the_peer()),
        ("all", Wanted::default()),
    ] {
        println!("{name}:");
        let count = pairs(400);
        let theirs = warp_seconds(&wanted, count);
        if let Some(seconds) = checked("compiled", Level::Compiled, count, wanted, &tools) {
            println!("  Warp's 0.067 CPU-s a kernel: {:.2}x", 0.067 / seconds);
            if let Some(theirs) = theirs {
                println!(
                    "  Warp on the same kernels, {theirs:.4} CPU-s each: {:.2}x",
                    theirs / seconds
                );
            }
        }
    }
}

/// CPU-seconds that Warp takes for each of the first kernels, in units of 100.
fn warp_seconds(wanted: &Wanted, count: u64) -> Option<f64> {
    let python = std::env::var_os("WARPSMITH_WARP_PYTHON")?;
    let sources: Vec<String> = (0..count)
        .map(|index| draft(wanted, 5, index, 0).source)
        .collect();
    let folder = tempfile::tempdir().ok()?;
    let list = folder.path().join("sources.json");
    std::fs::write(&list, serde_json::to_vec(&sources).ok()?).ok()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/warp_batches.py");
    let mut command = std::process::Command::new(python);
    let out = command.arg(script).arg(&list).arg("80").output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    let figures: serde_json::Value = serde_json::from_str(text.lines().last()?).ok()?;
    Some(figures["seconds"].as_f64()? / figures["kernels"].as_f64()?)
}

/// The GPU against the interpreter, forward and backward, on random inputs.
fn on_gpu() {
    // Every pair is a translation unit of its own here: 144 are eight of each category.
    let tools = Tools::default();
    checked("gpu", Level::Gpu, pairs(144), Wanted::default(), &tools);
}

/// Makes pairs and checks them at a level; CPU seconds of each.
fn checked(name: &str, level: Level, count: u64, wanted: Wanted, tools: &Tools) -> Option<f64> {
    let settings = Settings {
        seed: 5,
        count,
        verify: vec![Level::Text, level],
        categories: wanted.categories,
        difficulties: wanted.difficulties,
        ..Settings::default()
    };
    let verifier = match Verifier::new(&settings.verify, tools, 1) {
        Ok(verifier) => verifier,
        Err(error) => {
            println!("{name}: skipped: {error}");
            return None;
        }
    };
    let folder = tempfile::tempdir().ok()?;
    let (before, start) = (cpu(), Instant::now());
    let made = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {});
    let cpu = cpu().since(before).seconds();
    let wall = start.elapsed().as_secs_f64();
    match made {
        Ok(manifest) => {
            let counts = &manifest.tally.levels[name];
            println!(
                "{name}: {} passed, {} skipped, {} failed; {:.4} CPU-s a pair, {:.1} pairs/s in wall time",
                counts.passed,
                counts.skipped,
                counts.failed,
                cpu / count as f64,
                count as f64 / wall
            );
            for reason in &counts.reasons {
                println!("  {reason}");
            }
            Some(cpu / count as f64)
        }
        Err(error) => {
            println!("{name}: failed: {error}");
            None
        }
    }
}

/// Which builtins 100,000 pairs use.
fn builtins() {
    const PAIRS: u64 = 100_000;
    let folder = tempfile::tempdir();
    let settings = Settings {
        count: PAIRS,
        ..Settings::default()
    };
    let path = folder
        .as_ref()
        .map_or(Path::new("."), |folder| folder.path());
    match generate(&settings, (0, 1), path, &Verifier::default(), &mut |_| {}) {
        Ok(manifest) => {
            let tally = &manifest.tally;
            let unused = unused_builtins(|name| tally.builtins.contains_key(name));
            println!(
                "builtins in {PAIRS} pairs: {} of {} core ones, {} in all; refused {}; not used: {}",
                CORE_BUILTINS.len() - unused.len(),
                CORE_BUILTINS.len(),
                tally.builtins.len(),
                tally.refused,
                unused.join(", ")
            );
        }
        Err(error) => println!("generation failed: {error}"),
    }
}

/// Shapes of the first drafts of a range, on all cores.
fn shapes_of(range: std::ops::Range<u64>) -> Vec<u64> {
    let wanted = Wanted::default();
    let shape = |index| write_draft(&wanted, 1, index, 0).fingerprint.shape;
    range.into_par_iter().map(shape).collect()
}

/// Distinct shapes among first drafts, nothing drawn again.
fn shapes(count: u64) {
    let mut set = ShapeSet::with_room_for(count as usize);
    for start in (0..count).step_by(50_000) {
        for shape in shapes_of(start..(start + 50_000).min(count)) {
            set.insert(shape);
        }
    }
    println!(
        "distinct shapes among the first {count} drafts: {}",
        set.len()
    );
}

/// Memory of deduplicating very many pairs; what is written besides does not grow with their number.
fn memory(count: u64) {
    let mut selection = Selection::new(Wanted::default(), 1, true, count);
    let start = Instant::now();
    for first in (0..count).step_by(50_000) {
        selection.remember(first, &shapes_of(first..(first + 50_000).min(count)));
    }
    println!(
        "{count} pairs selected in {:.0} s: table of {} MB, peak {:.0} MB",
        start.elapsed().as_secs_f64(),
        selection.bytes() >> 20,
        peak_megabytes()
    );
}
