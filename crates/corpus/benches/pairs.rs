//! Pairs per second, shapes, builtins and memory.
//!
//! ```text
//! cargo bench -p warpsmith-corpus --bench pairs
//! cargo bench -p warpsmith-corpus --bench pairs -- compiled gpu million ten-million
//! ```
//! CPU time is what counts, so that other work on the machine does not. The peer of generation is the
//! figure of the pipeline that this crate replaces, about 210 pairs per CPU-second on a 2-core virtual
//! Xeon; it is not measured here.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use warpsmith_compiler::{Compiler, Options, Target, emit};
use warpsmith_corpus::{
    CORE_BUILTINS, Category, Fingerprint, Level, Selection, Settings, ShapeSet, Tools, Verifier,
    Wanted, draft, generate, unused_builtins,
};

/// The figure of the pipeline that this crate replaces, in pairs per CPU-second.
const PEER: f64 = 210.0;

fn main() {
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let figures: [(&str, bool, fn()); 9] = [
        ("stages", true, stages),
        ("forward", true, forward_only),
        ("written", true, written),
        ("executed", true, executed),
        ("builtins", true, builtins),
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

/// CPU seconds of this process, all threads.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = after
        .split_whitespace()
        .filter_map(|f| f.parse().ok())
        .collect();
    // Fields 14 and 15 of the whole line, in hundredths; the state before them is no number.
    match (fields.get(10), fields.get(11)) {
        (Some(user), Some(system)) => (user + system) / 100.0,
        _ => f64::NAN,
    }
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
    let before = cpu_seconds();
    if let Ok(pool) = pool {
        pool.install(work);
    }
    cpu_seconds() - before
}

/// What each step of a pair costs.
fn stages() {
    const PAIRS: u64 = 20_000;
    let wanted = Wanted::default();
    let mut drafts = Vec::new();
    let seconds = on_one_core(|| drafts = (0..PAIRS).map(|n| draft(&wanted, 1, n, 0)).collect());
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
        (
            "compile, CUDA and CPU text",
            &[Target::Cuda, Target::Cpu][..],
        ),
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
}

/// CUDA forward only, kernels like those of the six categories that the peer has.
fn forward_only() {
    const PAIRS: u64 = 100_000;
    let wanted = Wanted {
        categories: vec![
            Category::Arithmetic,
            Category::Math,
            Category::Vector,
            Category::Matrix,
            Category::ControlFlow,
            Category::Atomic,
        ],
        difficulties: vec![1],
    };
    let mut bytes = 0;
    let seconds = on_one_core(|| {
        let mut compiler = Compiler::new();
        let mut out = String::new();
        for index in 0..PAIRS {
            let mut draft = draft(&wanted, 1, index, 0);
            draft.source = draft
                .source
                .replace("@wp.kernel\n", "@wp.kernel(enable_backward=False)\n");
            if let Ok(module) = compiler.compile(&draft.source, &Options::default()) {
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

/// Everything: four texts, hashes, deduplication, Parquet with zstd.
fn written() {
    const PAIRS: u64 = 60_000;
    let settings = Settings {
        count: PAIRS,
        ..Settings::default()
    };
    let mut rates = Vec::new();
    for threads in [1, 2] {
        let Ok(folder) = tempfile::tempdir() else {
            return;
        };
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else {
            return;
        };
        let (before, start) = (cpu_seconds(), Instant::now());
        let made = pool.install(|| {
            generate(
                &settings,
                (0, 1),
                folder.path(),
                &Verifier::default(),
                &mut |_| {},
            )
        });
        let (cpu, wall) = (cpu_seconds() - before, start.elapsed().as_secs_f64());
        let Ok(manifest) = made else {
            println!("generation failed");
            return;
        };
        let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
        println!(
            "all four texts, hashes, deduplication, Parquet, {threads} threads: {:.0} pairs/s, {:.0} per CPU-second, {} bytes each on disk, peak {:.0} MB",
            PAIRS as f64 / wall,
            PAIRS as f64 / cpu,
            bytes / PAIRS,
            peak_megabytes()
        );
        rates.push(PAIRS as f64 / wall);
    }
    println!(
        "from 1 to 2 threads: {:.2}x in wall time",
        rates[1] / rates[0]
    );
}

/// Forward and backward over a thousand threads, in the interpreter.
fn executed() {
    const PAIRS: u64 = 2000;
    let settings = Settings {
        count: PAIRS,
        verify: vec![Level::Text, Level::Executed],
        ..Settings::default()
    };
    let (Ok(folder), Ok(verifier)) = (
        tempfile::tempdir(),
        Verifier::new(&settings.verify, &Tools::default(), 1),
    ) else {
        return;
    };
    let mut passed = String::new();
    let seconds = on_one_core(|| {
        if let Ok(manifest) = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {}) {
            let counts = &manifest.tally.levels["executed"];
            passed = format!(
                "{} passed, {} skipped, {} failed",
                counts.passed, counts.skipped, counts.failed
            );
        }
    });
    println!(
        "executed, about 1000 threads, forward and backward: {:.0} pairs per CPU-second ({passed})",
        PAIRS as f64 / seconds
    );
}

/// PTX, forward and backward, batched; `WARPSMITH_NVRTC` names the library.
fn compiled() {
    const PAIRS: u64 = 400;
    let tools = Tools {
        nvrtc: std::env::var_os("WARPSMITH_NVRTC").map(Into::into),
        ..Tools::default()
    };
    checked("compiled", Level::Compiled, PAIRS, &tools);
}

/// The GPU against the interpreter, forward and backward, on random inputs.
fn on_gpu() {
    // Every pair is a translation unit of its own here: 144 are eight of each category.
    checked("gpu", Level::Gpu, 144, &Tools::default());
}

fn checked(name: &str, level: Level, pairs: u64, tools: &Tools) {
    let settings = Settings {
        seed: 5,
        count: pairs,
        verify: vec![Level::Text, level],
        ..Settings::default()
    };
    let verifier = match Verifier::new(&settings.verify, tools, 1) {
        Ok(verifier) => verifier,
        Err(error) => {
            println!("{name}: skipped: {error}");
            return;
        }
    };
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let (before, start) = (cpu_seconds(), Instant::now());
    let made = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {});
    let (cpu, wall) = (cpu_seconds() - before, start.elapsed().as_secs_f64());
    match made {
        Ok(manifest) => {
            let counts = &manifest.tally.levels[name];
            println!(
                "{name}: {} passed, {} skipped, {} failed; {:.4} CPU-s a pair, {:.1} pairs/s in wall time",
                counts.passed,
                counts.skipped,
                counts.failed,
                cpu / pairs as f64,
                pairs as f64 / wall
            );
            for reason in &counts.reasons {
                println!("  {reason}");
            }
        }
        Err(error) => println!("{name}: failed: {error}"),
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

/// Distinct shapes among first drafts, nothing drawn again.
fn shapes(count: u64) {
    let mut set = ShapeSet::with_room_for(count as usize);
    let mut selection = Selection::new(Wanted::default(), 1, false, 0);
    let mut start = 0;
    while start < count {
        let end = (start + 50_000).min(count);
        for selected in selection.take(start..end) {
            set.insert(selected.fingerprint.shape);
        }
        start = end;
    }
    println!(
        "distinct shapes among the first {count} drafts: {}",
        set.len()
    );
}

/// Memory of selecting very many pairs.
fn memory(count: u64) {
    let mut selection = Selection::new(Wanted::default(), 1, true, count);
    let start = Instant::now();
    selection.skip(0..count);
    println!(
        "{count} pairs selected in {:.0} s: table of {} MB, peak {:.0} MB",
        start.elapsed().as_secs_f64(),
        selection.bytes() >> 20,
        peak_megabytes()
    );
}
