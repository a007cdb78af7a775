//! Twenty kernels forward and backward: native code, the interpreter, and Warp's CPU build beside them.
//!
//! `cargo bench -p warpsmith-interpreter --bench native [-- THREADS ROUNDS]`. Where `target/oracle/warp` has
//! Warp, it runs the same kernels in the same run; times are the least of all rounds, without compiling.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use warpsmith_compiler::{Options, compile};
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter, random_arguments};

const THREADS: usize = 1 << 17;
const ROUNDS: usize = 40;
const SIDE: usize = 1024;

/// The kernels' names, in the order of the file.
fn names(source: &str) -> Vec<String> {
    let lines = source.lines().filter_map(|line| line.strip_prefix("def "));
    lines
        .filter_map(|line| line.split_once('('))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Random arguments for as many threads; counts and limits as the peer has them.
fn arguments(
    interpreter: &Interpreter<'_>,
    threads: usize,
    dim: &[usize],
    made: Vec<Argument>,
) -> Vec<Argument> {
    let parameters = interpreter.parameters().map(|(name, _)| name.to_owned());
    parameters
        .zip(made)
        .map(|(name, argument)| match (name.as_str(), argument) {
            ("n", _) => Argument::int(16),
            ("ends", _) => {
                let mut word = 1_u64;
                let ends = (0..2 * threads).flat_map(|_| {
                    word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (((word >> 33) as usize % threads) as i32).to_le_bytes()
                });
                Argument::Array(ArrayArgument {
                    shape: vec![2 * threads],
                    data: ends.collect(),
                    gradient: None,
                })
            }
            (_, Argument::Array(array)) if array.shape.len() == 1 || dim.len() == 2 => {
                Argument::Array(array)
            }
            (_, argument) => argument,
        })
        .collect()
}

fn least(rounds: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

struct Times {
    planning: f64,
    native: [f64; 2],
    one_core: [f64; 2],
    interpreted: [f64; 2],
}

fn measure(source: &str, name: &str, threads: usize, rounds: usize) -> Result<Times, String> {
    let options = Options {
        kernel: Some(name.to_owned()),
        ..Options::default()
    };
    let module = compile(source, &options).map_err(|found| format!("{name}: {found:?}"))?;
    let dim = if name == "laplacian" {
        vec![threads / SIDE, SIDE]
    } else {
        vec![threads]
    };
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|it| it.to_string())?;
    let mut times = Times {
        planning: 0.0,
        native: [0.0; 2],
        one_core: [0.0; 2],
        interpreted: [0.0; 2],
    };
    for (n, backward) in [false, true].into_iter().enumerate() {
        let start = Instant::now();
        let planned = if backward {
            Interpreter::adjoint(&module)
        } else {
            Interpreter::forward(&module)
        };
        let interpreter = planned.map_err(|found| format!("{name}: {found:?}"))?;
        let native = interpreter.interpreted_because().is_none();
        times.planning += start.elapsed().as_secs_f64();
        if !native {
            return Err(format!("{name}: not native"));
        }
        let made = random_arguments(&module, &dim, 1)?;
        let mut given = arguments(&interpreter, threads, &dim, made);
        let mut run = || {
            interpreter
                .run_native(&dim, &mut given)
                .expect("the arguments fit");
        };
        run();
        times.native[n] = least(rounds, &mut run);
        times.one_core[n] = one.install(|| least(rounds, &mut run));
        times.interpreted[n] = least(rounds.div_ceil(10), || {
            interpreter
                .run(&dim, &mut given)
                .expect("the arguments fit");
        });
    }
    Ok(times)
}

fn main() {
    let mut given = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok());
    let (threads, rounds) = (
        given.next().unwrap_or(THREADS),
        given.next().unwrap_or(ROUNDS),
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let source =
        std::fs::read_to_string(folder.join("native_kernels.py")).expect("the kernels are there");
    let peer = peer(&folder, threads, rounds);
    println!(
        "{threads} threads, least of {rounds} rounds, {} cores; milliseconds",
        rayon::current_num_threads()
    );
    println!(
        "{:18} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8} {:>6}",
        "kernel",
        "forward",
        "1 core",
        "backward",
        "1 core",
        "interp. f",
        "interp. b",
        "Warp f",
        "Warp b",
        "ratio"
    );
    let mut ratios = Vec::new();
    for name in names(&source) {
        let times = match measure(&source, &name, threads, rounds) {
            Ok(times) => times,
            Err(why) => {
                println!("{why}");
                continue;
            }
        };
        let row = peer.iter().find(|row| row["kernel"] == name.as_str());
        let warp = |key: &str| row.and_then(|row| row[key].as_f64());
        let (forward, backward) = (warp("forward"), warp("backward"));
        let whole = forward
            .zip(backward)
            .map(|(f, b)| (times.native[0] + times.native[1]) / (f + b));
        ratios.extend(whole);
        let show =
            |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{:.3}", it * 1e3));
        println!(
            "{name:18} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>9.3} {:>9.3} {:>8} {:>8} {:>6}",
            times.native[0] * 1e3,
            times.one_core[0] * 1e3,
            times.native[1] * 1e3,
            times.one_core[1] * 1e3,
            times.interpreted[0] * 1e3,
            times.interpreted[1] * 1e3,
            show(forward),
            show(backward),
            whole.map_or("–".to_owned(), |it| format!("{it:.2}"))
        );
        if let Some(numpy) = warp("numpy") {
            println!("{:18} {:>8.3}", "  NumPy", numpy * 1e3);
        }
        println!("{:18} {:>8.3}", "  planning", times.planning * 1e3);
    }
    ratios.sort_by(f64::total_cmp);
    if let Some(median) = ratios.get(ratios.len() / 2) {
        println!(
            "time over Warp's, forward and backward: median {median:.2} of {} kernels",
            ratios.len()
        );
    }
}

/// Warp's times, one row for each kernel; none where it is not there.
fn peer(folder: &Path, threads: usize, rounds: usize) -> Vec<Value> {
    let python = folder.join("../../../target/oracle/warp/bin/python");
    if !python.is_file() {
        println!("peer skipped: no Warp in {}", python.display());
        return Vec::new();
    }
    let output = Command::new(python)
        .arg(folder.join("native_peer.py"))
        .args([threads.to_string(), rounds.to_string()])
        .output()
        .expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
