//! How many kernels of the suite (tiers S0 to S5) the interpreter executes in a second on one core:
//! planning, random inputs, 1,000 threads forward and backward.
//!
//! `cargo bench -p warpsmith-interpreter --bench interpret`. Needs the suite. Where `target/oracle/warp` has
//! Warp, every `WARPSMITH_SUITE_STRIDE`-th kernel (40 unless set) also runs as Warp compiles it for the
//! CPU, in the same run: the peer's time is that of its launches alone, without compiling.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "../../compiler/tests/suite/conformance.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use the rest")]
mod conformance;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use warpsmith_compiler::{Options, compile};
use warpsmith_interpreter::{Argument, Interpreter, random_arguments};
use warpsmith_ir::{FunctionKind, Module};

const LAST_TIER: u32 = 5;
const RUNS: usize = 3;
const PEER_STRIDE: usize = 40;
/// Random arguments send some loops on for ever; those kernels are left out.
const MOST_ITERATIONS: u64 = 100_000;

/// Grids of about a thousand threads, by rank.
fn grid(rank: u32) -> Vec<usize> {
    match rank {
        0 | 1 => vec![1000],
        2 => vec![32, 32],
        3 => vec![10, 10, 10],
        _ => vec![5, 5, 5, 8],
    }
}

struct Case {
    id: String,
    source: String,
    module: Module,
    dim: Vec<usize>,
}

/// Seconds spent in each stage.
#[derive(Clone, Copy, Default)]
struct Stages {
    plan: f64,
    inputs: f64,
    forward: f64,
    backward: f64,
    lane_instructions: u64,
}

impl Stages {
    fn total(&self) -> f64 {
        self.plan + self.inputs + self.forward + self.backward
    }
    fn add(&mut self, other: Self) {
        self.plan += other.plan;
        self.inputs += other.inputs;
        self.forward += other.forward;
        self.backward += other.backward;
        self.lane_instructions += other.lane_instructions;
    }
}

/// One kernel from its module to its gradients; `None` where it cannot run on random arguments.
fn execute(case: &Case) -> Option<Stages> {
    let start = Instant::now();
    let forward = Interpreter::forward(&case.module)
        .ok()?
        .with_iteration_limit(MOST_ITERATIONS);
    let backward = Interpreter::adjoint(&case.module)
        .ok()?
        .with_iteration_limit(MOST_ITERATIONS);
    let planned = Instant::now();
    let mut arguments: Vec<Argument> = random_arguments(&case.module, &case.dim, 1).ok()?;
    let made = Instant::now();
    let outcome = forward.run(&case.dim, &mut arguments).ok()?;
    let ran = Instant::now();
    let back = backward.run(&case.dim, &mut arguments).ok()?;
    let done = Instant::now();
    (outcome.findings.is_empty() && back.findings.is_empty()).then(|| Stages {
        plan: (planned - start).as_secs_f64(),
        inputs: (made - planned).as_secs_f64(),
        forward: (ran - made).as_secs_f64(),
        backward: (done - ran).as_secs_f64(),
        lane_instructions: outcome.lane_instructions + back.lane_instructions,
    })
}

fn main() {
    let Some(path) = conformance::file() else {
        println!("skipped: the suite is not there");
        return;
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("one thread starts");
    pool.install(|| bench(&path));
}

fn bench(path: &std::path::Path) {
    let mut cases = Vec::new();
    let (mut seen, mut reasons) = (0, BTreeMap::<&str, usize>::new());
    for kernel in conformance::kernels(path, LAST_TIER) {
        seen += 1;
        let options = Options {
            kernel: Some(kernel.name.clone()),
            ..Options::default()
        };
        let compiled = compile(&kernel.source, &options)
            .or_else(|_| compile(&kernel.source, &Options::default()));
        let Ok(module) = compiled else {
            *reasons.entry("refused by the compiler").or_default() += 1;
            continue;
        };
        let FunctionKind::Kernel { launch_rank, .. } = module.kernel.kind else {
            continue;
        };
        let case = Case {
            id: kernel.id,
            source: kernel.source,
            dim: grid(launch_rank),
            module,
        };
        if execute(&case).is_some() {
            cases.push(case);
        } else {
            *reasons
                .entry("not known, or out of bounds on random arguments")
                .or_default() += 1;
        }
    }
    println!(
        "{} of {seen} kernels of S0-S{LAST_TIER} run; the rest: {reasons:?}",
        cases.len()
    );
    let mut best: Vec<Stages> = Vec::new();
    for case in &cases {
        let runs = (0..RUNS).filter_map(|_| execute(case));
        let fastest = runs.min_by(|a, b| a.total().total_cmp(&b.total()));
        best.push(fastest.unwrap_or_default());
    }
    let mut sum = Stages::default();
    best.iter().for_each(|stages| sum.add(*stages));
    let each = 1e6 / cases.len().max(1) as f64;
    println!(
        "one core, about 1,000 threads, best of {RUNS}: {:.0} kernels/s forward and backward",
        cases.len() as f64 / sum.total()
    );
    println!(
        "per kernel: planning {:.1} us, inputs {:.1} us, forward {:.1} us, backward {:.1} us; {:.2} ns per lane-instruction",
        sum.plan * each,
        sum.inputs * each,
        sum.forward * each,
        sum.backward * each,
        (sum.forward + sum.backward) * 1e9 / sum.lane_instructions.max(1) as f64
    );
    let mut slowest: Vec<usize> = (0..cases.len()).collect();
    slowest.sort_by(|a, b| best[*b].total().total_cmp(&best[*a].total()));
    if let Some(median) = slowest.get(slowest.len() / 2) {
        println!(
            "the median kernel takes {:.0} us",
            best[*median].total() * 1e6
        );
    }
    for n in slowest.into_iter().take(5) {
        println!(
            "  slowest: {} {:.0} us, planning {:.0} us",
            cases[n].id,
            best[n].total() * 1e6,
            best[n].plan * 1e6
        );
    }
    peer(&cases, &best);
}

/// The same kernels as Warp runs them on the CPU, on arrays of the same shapes.
fn peer(cases: &[Case], best: &[Stages]) {
    let python = conformance::oracle("warp/bin/python");
    if !python.is_file() {
        println!("peer skipped: no Warp in {}", python.display());
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for the peer");
    let manifest: String = cases
        .iter()
        .zip(best)
        .step_by(conformance::stride(PEER_STRIDE))
        .map(|(case, stages)| {
            let ours = stages.forward + stages.backward;
            let whole = stages.total();
            json!({"id": case.id, "source": case.source, "dim": case.dim, "ours": ours, "whole": whole})
                .to_string()
                + "\n"
        })
        .collect();
    let file = folder.path().join("manifest.jsonl");
    std::fs::write(&file, manifest).expect("the manifest is written");
    let script = conformance::root().join("crates/interpreter/benches/interpret_peer.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&file)
        .env("WARP_KERNEL_CACHE", folder.path().join("cache"))
        .output()
        .expect("Python starts");
    let rows: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_f64()).sum::<f64>();
    if rows.is_empty() {
        println!("peer skipped: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    println!(
        "Warp's CPU launches of {} of these kernels, compiled beforehand: {:.1} us per kernel forward and backward; the interpreter {:.1} us ({:.2} times Warp's time), with planning and inputs {:.1} us; Warp compiles {:.0} ms before the first launch",
        rows.len(),
        sum("warp") * 1e6 / rows.len() as f64,
        sum("ours") * 1e6 / rows.len() as f64,
        sum("ours") / sum("warp"),
        sum("whole") * 1e6 / rows.len() as f64,
        sum("compiling") * 1e3 / rows.len() as f64
    );
}
