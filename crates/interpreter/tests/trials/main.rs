//! Native code against the interpreter, bit for bit, forward and backward: every kernel that the compiler is
//! tested with, and a sample of the conformance suite (all of it with `WARPSMITH_SUITE_STRIDE=1`).

#![allow(clippy::print_stderr, reason = "a trial reports what it counted")]

#[path = "../../../compiler/tests/suite/conformance.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the compiler's tests use the rest"
)]
mod conformance;
mod warp_bits;

use std::collections::BTreeMap;
use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_compiler::{Options, compile};
use warpsmith_interpreter::{Interpreter, random_arguments};
use warpsmith_ir::{FunctionKind, Module};

const LAST_TIER: u32 = 15;
const SAMPLE_STRIDE: usize = 20;
/// Random arguments send some loops on for ever.
const MOST_ITERATIONS: u64 = 2_000;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler/tests/kernels");
    let mut trials = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("a file").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".py") && !name.starts_with("error_") {
            trials.push(Trial::test(name, move || kernel_file(&path)));
        }
    }
    trials.push(Trial::test("a grid for several cores", several_cores));
    let suite = Trial::test("kernels of the suite", suite);
    trials.push(suite.with_ignored_flag(conformance::file().is_none()));
    let full = std::env::var_os("WARPSMITH_FULL").is_some_and(|value| value == "1");
    trials.extend(warp_bits::trials(full));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn kernel_file(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let module = compile(&source, &Options::default())
        .map_err(|findings| Failed::from(format!("{findings:?}")))?;
    let mut counts = BTreeMap::new();
    let wrong = compare(&module, &mut counts);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n").into())
    }
}

/// The grids of the other trials are too small to be shared among cores.
fn several_cores() -> Result<(), Failed> {
    let source = "import warp as wp\n\n@wp.kernel\n\
        def waves(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n    i = wp.tid()\n    total = float(0.0)\n    \
        for k in range(5):\n        total += wp.dot(x[i], x[i]) * float(k)\n        if total > 2.0:\n            \
        total = total - 1.0\n    y[i] = total\n";
    let module = compile(source, &Options::default())
        .map_err(|findings| Failed::from(format!("{findings:?}")))?;
    let dim = [300_001];
    for (direction, planned) in [
        ("forward", Interpreter::forward(&module)),
        ("backward", Interpreter::adjoint(&module)),
    ] {
        let interpreter = planned.map_err(|findings| Failed::from(format!("{findings:?}")))?;
        for seed in 0..3 {
            let mut arguments = random_arguments(&module, &dim, seed)?;
            let (outcome, difference) = interpreter.run_both(&dim, &mut arguments)?;
            if let Some(difference) = difference {
                return Err(format!("{direction}: {difference}").into());
            }
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            if direction == "forward" && cores > 1 && !outcome.parallel {
                return Err("it ran on one core".into());
            }
        }
    }
    Ok(())
}

fn suite() -> Result<(), Failed> {
    let file = conformance::file().ok_or("the suite is missing")?;
    let kernels = conformance::kernels(&file, LAST_TIER);
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for kernel in kernels.iter().step_by(conformance::stride(SAMPLE_STRIDE)) {
        let named = Options {
            kernel: Some(kernel.name.clone()),
            ..Options::default()
        };
        let compiled = compile(&kernel.source, &named)
            .or_else(|_| compile(&kernel.source, &Options::default()));
        let Ok(module) = compiled else {
            *counts
                .entry("refused by the compiler".to_owned())
                .or_default() += 1;
            continue;
        };
        let found = compare(&module, &mut counts);
        wrong.extend(found.into_iter().map(|it| format!("{}: {it}", kernel.id)));
    }
    for (what, count) in &counts {
        eprintln!("{count:6}  {what}");
    }
    if wrong.is_empty() && counts.contains_key("forward, native") {
        Ok(())
    } else {
        Err(wrong.join("\n").into())
    }
}

/// Grids with a last block that is not full, by rank.
fn grids(rank: u32) -> [Vec<usize>; 2] {
    match rank {
        0 | 1 => [vec![1000], vec![2500]],
        2 => [vec![31, 33], vec![50, 64]],
        3 => [vec![10, 11, 10], vec![4, 9, 64]],
        _ => [vec![5, 5, 5, 9], vec![3, 4, 2, 64]],
    }
}

/// Runs both directions on both; what differs, in words.
fn compare(module: &Module, counts: &mut BTreeMap<String, usize>) -> Vec<String> {
    let rank = match module.kernel.kind {
        FunctionKind::Kernel { launch_rank, .. } => launch_rank,
        FunctionKind::Device { .. } => 1,
    };
    let mut wrong = Vec::new();
    let mut count = |what: String| *counts.entry(what).or_default() += 1;
    for (direction, planned) in [
        ("forward", Interpreter::forward(module)),
        ("backward", Interpreter::adjoint(module)),
    ] {
        let Ok(interpreter) = planned else {
            count(format!("{direction}, not known to the interpreter"));
            continue;
        };
        let interpreter = interpreter.with_iteration_limit(MOST_ITERATIONS);
        if let Some(why) = interpreter.interpreted_because() {
            count(format!("{direction}, interpreted: {why}"));
            continue;
        }
        for (seed, dim) in grids(rank).into_iter().enumerate() {
            let Ok(mut arguments) = random_arguments(module, &dim, seed as u64) else {
                count(format!("{direction}, no random arguments"));
                break;
            };
            match interpreter.run_both(&dim, &mut arguments) {
                Err(error) => {
                    count(format!("{direction}, cannot be launched"));
                    wrong.push(format!("{direction} over {dim:?}: {error}"));
                }
                Ok((outcome, difference)) => {
                    assert!(outcome.native);
                    if let Some(difference) = difference {
                        wrong.push(format!("{direction} over {dim:?}: {difference}"));
                    }
                    if seed == 0 {
                        count(format!("{direction}, native"));
                        if !outcome.findings.is_empty() {
                            count(format!("{direction}, native, with findings"));
                        }
                    }
                }
            }
        }
    }
    wrong
}
