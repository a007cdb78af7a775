//! Code generation speed: kernels per second on one core, over the tiers S0 to S5 of the conformance
//! suite, and the ratio to Warp's own code generation on the same kernels in the same run.
//!
//! ```text
//! cargo bench -p warpsmith-compiler --bench codegen
//! ```
//! `cargo xtask conformance` makes the suite, and installs `warp-lang==1.19.0` in `target/oracle/warp`;
//! `$WARPSMITH_WARP_PYTHON` names another Python that has it. Without it that part is skipped.

#[path = "../tests/suite/conformance.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use the rest")]
mod conformance;

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use warpsmith_compiler::{Compiler, Options, Target, emit};

/// The last tier whose sources are compiled.
const LAST_TIER: u32 = 5;

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
    let python = std::env::var_os("WARPSMITH_WARP_PYTHON")
        .map_or_else(|| conformance::oracle("warp/bin/python"), PathBuf::from);
    if !python.exists() {
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
import warp_text
rows = [json.loads(line)['source'] for line in open(sys.argv[2])]
total = 0.0
for text in rows:
    start = time.process_time()
    with warp_text.Program(text) as program:
        for kernel in program.kernels():
            warp_text.module_text(kernel, 'cuda')
    total += time.process_time() - start
print(total / len(rows))
";
    let output = Command::new(python)
        .args(["-c", program])
        .arg(conformance::root().join("crates/compiler/tools"))
        .arg(&input)
        .output()
        .ok()?;
    let _ = std::fs::remove_dir_all(&directory);
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().last()?.trim().parse().ok()
}

#[allow(clippy::print_stdout)]
fn main() {
    let Some(path) = conformance::file() else {
        println!("skipped: the suite is missing; `cargo xtask conformance` makes it");
        return;
    };
    let sources: Vec<String> = conformance::kernels(&path, LAST_TIER)
        .into_iter()
        .map(|kernel| kernel.source)
        .collect();
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
