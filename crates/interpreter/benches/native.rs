//! Twenty kernels forward and backward: native code, the interpreter, and Warp's CPU build beside them.
//!
//! `cargo bench -p warpsmith-interpreter --bench native [-- THREADS ROUNDS KERNEL…]`. Where
//! `target/oracle/warp` has Warp, it runs the same kernels in turns with ours, so that a busy machine is
//! busy for both; times are the least of all rounds, without compiling.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use warpsmith_compiler::{Options, compile};
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter, random_arguments};

const THREADS: usize = 1 << 17;
const ROUNDS: usize = 40;
const SIDE: usize = 1024;
/// How often native code and the peer take turns at a kernel.
const TURNS: usize = 4;

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

/// Keeps the lesser of each pair of times.
fn keep_least(best: &mut [f64; 2], n: usize, time: f64) {
    best[n] = best[n].min(time);
}

/// Measures a kernel; the peer takes its turn between ours.
fn measure(
    source: &str,
    name: &str,
    (threads, rounds): (usize, usize),
    mut peer: impl FnMut(),
) -> Result<Times, String> {
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
        native: [f64::INFINITY; 2],
        one_core: [f64::INFINITY; 2],
        interpreted: [f64::INFINITY; 2],
    };
    let mut passes = Vec::new();
    for backward in [false, true] {
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
        let given = arguments(&interpreter, threads, &dim, made);
        passes.push((interpreter, given));
    }
    for _ in 0..TURNS {
        peer();
        for (n, (interpreter, given)) in passes.iter_mut().enumerate() {
            let mut run = || {
                interpreter
                    .run_native(&dim, given)
                    .expect("the arguments fit");
            };
            run();
            let rounds = rounds.div_ceil(TURNS);
            keep_least(&mut times.native, n, least(rounds, &mut run));
            keep_least(
                &mut times.one_core,
                n,
                one.install(|| least(rounds, &mut run)),
            );
        }
    }
    for (n, (interpreter, given)) in passes.iter_mut().enumerate() {
        times.interpreted[n] = least(rounds.div_ceil(10), || {
            interpreter.run(&dim, given).expect("the arguments fit");
        });
    }
    Ok(times)
}

fn main() {
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| !text.starts_with('-'))
        .collect();
    let mut numbers = given.iter().filter_map(|text| text.parse().ok());
    let (threads, rounds) = (
        numbers.next().unwrap_or(THREADS),
        numbers.next().unwrap_or(ROUNDS),
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let source =
        std::fs::read_to_string(folder.join("native_kernels.py")).expect("the kernels are there");
    let mut chosen = names(&source);
    if given.iter().any(|text| chosen.contains(text)) {
        chosen.retain(|name| given.contains(name));
    }
    let mut peer = Peer::start(&folder, threads, rounds.div_ceil(TURNS));
    println!(
        "{threads} threads, least of {rounds} rounds, {} cores; milliseconds",
        rayon::current_num_threads()
    );
    println!(
        "{:18} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8} {:>6} {:>6}",
        "kernel",
        "forward",
        "1 core",
        "backward",
        "1 core",
        "interp. f",
        "interp. b",
        "Warp f",
        "Warp b",
        "ratio",
        "1 core"
    );
    let (mut ratios, mut alone) = (Vec::new(), Vec::new());
    for name in chosen {
        let mut best = BTreeMap::new();
        let mut turn = || {
            let times = peer.as_mut().map(|peer| peer.times(&name));
            for (key, time) in times.into_iter().flatten() {
                let least = best.entry(key).or_insert(f64::INFINITY);
                *least = least.min(time);
            }
        };
        let times = match measure(&source, &name, (threads, rounds), &mut turn) {
            Ok(times) => times,
            Err(why) => {
                println!("{why}");
                continue;
            }
        };
        let warp = |key: &str| best.get(key).copied();
        let (forward, backward) = (warp("forward"), warp("backward"));
        let over = |times: [f64; 2]| Some((times[0] + times[1]) / (forward? + backward?));
        let (whole, one_core) = (over(times.native), over(times.one_core));
        ratios.extend(whole);
        alone.extend(one_core);
        let show =
            |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{:.3}", it * 1e3));
        let ratio = |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{it:.2}"));
        println!(
            "{name:18} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>9.3} {:>9.3} {:>8} {:>8} {:>6} {:>6}",
            times.native[0] * 1e3,
            times.one_core[0] * 1e3,
            times.native[1] * 1e3,
            times.one_core[1] * 1e3,
            times.interpreted[0] * 1e3,
            times.interpreted[1] * 1e3,
            show(forward),
            show(backward),
            ratio(whole),
            ratio(one_core)
        );
        if let Some(numpy) = warp("numpy") {
            println!("{:18} {:>8.3}", "  NumPy", numpy * 1e3);
        }
        println!("{:18} {:>8.3}", "  planning", times.planning * 1e3);
    }
    for (ratios, what) in [(ratios, ""), (alone, ", on one core")] {
        if let Some(median) = median(ratios) {
            println!("time over Warp's, forward and backward{what}: median {median:.2}");
        }
    }
}

/// The median; of an even number the mean of the two in the middle.
fn median(mut of: Vec<f64>) -> Option<f64> {
    of.sort_by(f64::total_cmp);
    let upper = of.get(of.len() / 2)?;
    let lower = of.get((of.len() - 1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

/// Warp in a process of its own, which measures a kernel whenever it reads its name.
struct Peer {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts Warp; nothing where it is not there.
    fn start(folder: &Path, threads: usize, rounds: usize) -> Option<Self> {
        let python = folder.join("../../../target/oracle/warp/bin/python");
        if !python.is_file() {
            println!("peer skipped: no Warp in {}", python.display());
            return None;
        }
        let mut process = Command::new(python)
            .arg(folder.join("native_peer.py"))
            .args([threads.to_string(), rounds.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let (to, from) = (process.stdin.take(), process.stdout.take());
        let from = from.expect("the output is a pipe");
        Some(Self {
            process,
            to,
            from: BufReader::new(from),
        })
    }

    /// The least seconds of a kernel, by what was timed.
    fn times(&mut self, name: &str) -> Vec<(String, f64)> {
        let asked = self.to.as_mut().map(|to| writeln!(to, "{name}"));
        if asked.is_none_or(|written| written.is_err()) {
            return Vec::new();
        }
        // Warp has lines of its own to say.
        let mut lines = self.from.by_ref().lines().map_while(Result::ok);
        lines
            .find_map(|line| serde_json::from_str::<BTreeMap<String, f64>>(&line).ok())
            .map(|times| times.into_iter().collect())
            .unwrap_or_default()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends when there is nothing left to read.
        drop(self.to.take());
        let _ = self.process.wait();
    }
}
