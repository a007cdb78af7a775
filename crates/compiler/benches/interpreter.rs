//! How many threads of a kernel the interpreter runs in a second, on all cores and on one.
//!
//! `cargo bench -p warpsmith-compiler --bench interpreter`. The peer is the same arithmetic as a plain
//! Rust loop on one core, in the same run.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use warpsmith_compiler::{Argument, ArrayArgument, Interpreter, compile};

const THREADS: usize = 1 << 20;
const RUNS: usize = 7;

const KERNELS: [(&str, &str); 2] = [
    ("saxpy", "    y[i] = a * x[i] + y[i]\n"),
    (
        "polynomial",
        "    s = float(0.0)\n    for j in range(32):\n        s = s * x[i] + a\n    y[i] = wp.sqrt(wp.abs(s))\n",
    ),
];

/// The fastest of several runs.
fn seconds(mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..RUNS).map(time).fold(f64::INFINITY, f64::min)
}

fn main() {
    let x: Vec<f32> = (0..THREADS).map(|i| (i % 1000) as f32 * 1e-3).collect();
    for (name, body) in KERNELS {
        let source = format!(
            "import warp as wp\n\n@wp.kernel\ndef {name}(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):\n    i = wp.tid()\n{body}"
        );
        let module = compile(&source, &Default::default()).expect("the kernel compiles");
        let forward = Interpreter::forward(&module).expect("the kernel is planned");
        let backward = Interpreter::adjoint(&module).expect("the adjoint is planned");
        let array = |values: &[f32]| {
            Argument::Array(
                ArrayArgument::from_f32(values).with_gradient_f32(&vec![1.0; values.len()]),
            )
        };
        let mut arguments = [array(&x), array(&x), Argument::float(0.5)];
        for (direction, interpreter) in [("forward", &forward), ("backward", &backward)] {
            let elapsed = seconds(|| {
                interpreter
                    .run(&[THREADS], &mut arguments)
                    .expect("the arguments fit");
            });
            println!(
                "{name} {direction}: {:.1} million threads/s ({} instructions, {THREADS} threads, best of {RUNS}, {} cores)",
                THREADS as f64 / elapsed / 1e6,
                interpreter.instructions(),
                rayon::current_num_threads()
            );
        }
    }
    let mut y = x.clone();
    let elapsed = seconds(|| {
        for (y, x) in y.iter_mut().zip(black_box(&x)) {
            *y += 0.5 * x;
        }
    });
    println!(
        "saxpy as a Rust loop: {:.1} million threads/s on one core",
        THREADS as f64 / elapsed / 1e6
    );
}
