//! Code generation speed: kernels per second on one core, over the tiers S0 to S5 of the development
//! suite, and the ratio to Warp's own code generation on the same kernels in the same run.
//!
//! ```text
//! cargo bench -p warpsmith-compiler --bench codegen
//! ```
//! Warp is called through the reference oracle where a Python with `warp-lang==1.19.0` is found at
//! `target/oracle/warp/bin/python` (or `$WARPSMITH_WARP_PYTHON`); that part is reported as skipped elsewhere.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use warpsmith_compiler::{Compiler, Options, Target, emit};

fn beside_workspace(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/tools/warp")
        .join(path)
}

/// The sources of the tiers S0 to S5.
fn sources() -> Option<Vec<String>> {
    let path = std::env::var_os("WARPSMITH_CONFORMANCE").map_or_else(
        || beside_workspace("conformance-dev.jsonl.gz"),
        PathBuf::from,
    );
    let reader = BufReader::new(flate2::read::GzDecoder::new(File::open(path).ok()?));
    let mut sources = Vec::new();
    for line in reader.lines() {
        let row: Value = serde_json::from_str(&line.ok()?).ok()?;
        let tier: usize = row["tier"].as_str()?.trim_start_matches('S').parse().ok()?;
        if tier <= 5 {
            sources.push(row["source"].as_str()?.to_owned());
        }
    }
    Some(sources)
}

/// Peak resident memory of this process in MB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace()
        .nth(1)?
        .parse::<u64>()
        .ok()
        .map(|kb| kb / 1024)
}

/// Time that this thread has spent on a core, so that other work on the machine does not count; wall time
/// where the system does not tell.
fn cpu_time(start: Instant) -> Duration {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Times one pass over all sources; gives kernels accepted and bytes written.
fn pass(sources: &[String], targets: &[Target]) -> (Duration, usize, usize) {
    let mut compiler = Compiler::new();
    let options = Options::default();
    let mut out = String::with_capacity(1 << 20);
    let (mut accepted, mut bytes) = (0, 0);
    let start = Instant::now();
    let before = cpu_time(start);
    for source in sources {
        let Ok(module) = compiler.compile(source, &options) else {
            continue;
        };
        out.clear();
        for target in targets {
            emit(&module, *target, &mut out);
        }
        black_box(&out);
        accepted += 1;
        bytes += out.len();
        compiler.recycle(module);
    }
    (cpu_time(start) - before, accepted, bytes)
}

/// Seconds per kernel of Warp's own code generation, forward and backward for CUDA, importing and
/// start-up left out.
fn warp_seconds(sources: &[String]) -> Option<f64> {
    let python = std::env::var_os("WARPSMITH_WARP_PYTHON").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/oracle/warp/bin/python"),
        PathBuf::from,
    );
    let oracle = beside_workspace("oracle.py");
    if !python.exists() || !oracle.exists() {
        return None;
    }
    let directory = std::env::temp_dir().join(format!("warpsmith-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).ok()?;
    let input = directory.join("kernels.jsonl");
    let mut file = File::create(&input).ok()?;
    let sample: Vec<&String> = sources.iter().step_by(7).collect();
    for (id, source) in sample.iter().enumerate() {
        let row = serde_json::json!({ "id": id.to_string(), "source": source });
        writeln!(file, "{row}").ok()?;
    }
    drop(file);
    let program = "
import sys, time, json
sys.path.insert(0, sys.argv[1])
import oracle
rows = [json.loads(line)['source'] for line in open(sys.argv[2])]
total = 0.0
for text in rows:
    start = time.process_time()
    try:
        mod, wmod = oracle.load_source(text, 'kernels.py')
        for kernel in oracle.iter_kernels(mod, wmod):
            oracle.build_module_source([kernel], 'cuda')
    finally:
        total += time.process_time() - start
    oracle.forget(wmod)
print(total / len(rows))
";
    let output = Command::new(python)
        .args(["-c", program])
        .arg(oracle.parent()?)
        .arg(&input)
        .output()
        .ok()?;
    let _ = std::fs::remove_dir_all(&directory);
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().last()?.trim().parse().ok()
}

#[allow(clippy::print_stdout)]
fn main() {
    let Some(sources) = sources() else {
        println!("skipped: the development suite is missing");
        return;
    };
    let mut best = [f64::INFINITY; 2];
    for _ in 0..9 {
        for (slot, targets) in best
            .iter_mut()
            .zip([&[Target::Cuda][..], &[Target::Cuda, Target::Cpu][..]])
        {
            let (elapsed, accepted, bytes) = pass(&sources, targets);
            let per_kernel = elapsed.as_secs_f64() / accepted as f64;
            if per_kernel < *slot {
                *slot = per_kernel;
                println!(
                    "{} target(s): {:.0} kernels per CPU-second, {:.2} us each, {:.1} kB each, {:.0} MB/s",
                    targets.len(),
                    1.0 / per_kernel,
                    per_kernel * 1e6,
                    bytes as f64 / accepted as f64 / 1e3,
                    bytes as f64 / elapsed.as_secs_f64() / 1e6
                );
            }
        }
    }
    if let Some(memory) = peak_memory() {
        println!("peak memory with the suite's sources loaded: {memory} MB");
    }
    match warp_seconds(&sources) {
        Some(seconds) => println!(
            "warp-lang 1.19.0, CUDA forward+backward: {:.0} kernels per CPU-second; ratio {:.0}x",
            1.0 / seconds,
            seconds / best[0]
        ),
        None => println!("skipped: no Python with warp-lang 1.19.0"),
    }
}
