//! The lattice on one core and on all: `cargo bench -p warpsmith-lattice --bench lattice_cpu`, with
//! `rd`, `catalytic`, `xor`, `bfs` or `peers` behind it for a part.
//!
//! Prints time per cell and step, the copy rate of the same run beside it, and, where a Python with
//! NumPy (and SciPy, Numba, PyTorch) is named by `WARPSMITH_PEER_PYTHON`, the peers of
//! `benches/peers.py` on the same problems. Times are the best of several by the CPU time of this thread, because shared
//! machines stretch wall time.

#![allow(clippy::print_stdout)] // A bench prints its figures.

use std::hint::black_box;
use std::time::{Duration, Instant};

use warpsmith_device::CpuDevice;
use warpsmith_lattice::bfs::{Maze, QueueSearch, TileSearch};
use warpsmith_lattice::catalytic::{CpuBorrow, Walks};
use warpsmith_lattice::rd::{CpuForm, CpuRun, Field, Rule};
use warpsmith_lattice::xor::Key;
use warpsmith_lattice::{Cell, InstructionSet, PEERS, Shape};
use warpsmith_measure::cpu::thread_usage::ThreadUsage;
use warpsmith_measure::peers::time_peers;

/// Best of several runs: CPU seconds of this thread, and wall seconds.
fn best(mut work: impl FnMut()) -> (f64, f64) {
    work();
    let (mut cpu, mut wall) = (f64::INFINITY, f64::INFINITY);
    let begun = Instant::now();
    let mut runs = 0;
    while runs < 5 || (begun.elapsed() < Duration::from_millis(1500) && runs < 200) {
        let before = ThreadUsage::read();
        let start = Instant::now();
        work();
        wall = wall.min(start.elapsed().as_secs_f64());
        if let Some((before, after)) = before.zip(ThreadUsage::read()) {
            cpu = cpu.min((after.cpu_time - before.cpu_time).as_secs_f64());
        }
        runs += 1;
    }
    (cpu, wall)
}

fn main() {
    let cpu = CpuDevice::open().expect("the CPU is always there");
    let one = CpuDevice::with_threads(1).expect("one thread");
    println!(
        "{}, {} cores\n",
        cpu.facts().model,
        cpu.facts().usable_cores
    );
    let copy = copy_rate();
    println!(
        "copy of 64 MiB to 64 MiB, one thread: {:.2} GB/s (read and write)\n",
        copy / 1e9
    );
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|word| word == part);
    if wanted("rd") {
        reaction_diffusion(&one, &cpu);
    }
    if wanted("catalytic") {
        catalytic(&one, copy);
    }
    if wanted("xor") {
        xor(copy);
    }
    if wanted("bfs") {
        paths();
    }
    if wanted("peers") {
        peers(&one);
    }
}

fn copy_rate() -> f64 {
    let source = vec![1u8; 64 << 20];
    let mut target = vec![0u8; 64 << 20];
    let (seconds, _) = best(|| black_box(&mut target).copy_from_slice(black_box(&source)));
    2.0 * source.len() as f64 / seconds
}

fn reaction_diffusion(one: &CpuDevice, all: &CpuDevice) {
    println!("rd: ns per cell and step, by CPU time on one thread, by wall time on all");
    for (n, steps) in [(64, 50), (100, 10), (128, 30), (256, 8)] {
        let shape = Shape::cube(n).expect("a cube");
        let field = Field::noise(shape, 1234).expect("it fits");
        let cell_steps = (shape.cells() * steps) as f64;
        let mut forms = vec![];
        for set in InstructionSet::present() {
            forms.extend([1, 2, 4].map(|depth| CpuForm::Blocked { set, depth }));
        }
        for form in forms {
            let mut run = CpuRun::new(one, Rule::usual(shape), form, field.clone()).expect("fits");
            let (seconds, _) = best(|| run.advance(steps));
            println!(
                "  {n}^3 x{steps:<3} {form:?}: {:.3} ns",
                seconds / cell_steps * 1e9
            );
        }
        let set = InstructionSet::widest();
        let form = CpuForm::Threads { set };
        let mut run = CpuRun::new(all, Rule::usual(shape), form, field.clone()).expect("fits");
        let (_, wall) = best(|| run.advance(steps));
        println!(
            "  {n}^3 x{steps:<3} {form:?}: {:.3} ns wall",
            wall / cell_steps * 1e9
        );
    }
}

fn catalytic(one: &CpuDevice, copy: f64) {
    println!("\ncatalytic: one pass, 12 bytes to a cell");
    for n in [64, 128, 256] {
        let shape = Shape::cube(n).expect("a cube");
        let walks = Walks {
            shape,
            steps: 1,
            source: Cell([0, 0, 0]),
            tap: Cell([0, 0, 1]),
            obstacles: None,
        };
        let borrow = CpuBorrow::new(one, InstructionSet::widest(), false, shape);
        let source = vec![7u32; shape.cells()];
        let mut target = vec![9u32; shape.cells()];
        let (seconds, _) = best(|| borrow.pass_forward(&walks, &source, &mut target));
        let rate = 12.0 * shape.cells() as f64 / seconds;
        println!(
            "  {n}^3: {:.3} ns per cell-pass, {:.2} GB/s, {:.0} % of copy",
            seconds / shape.cells() as f64 * 1e9,
            rate / 1e9,
            100.0 * rate / copy
        );
    }
}

fn xor(copy: f64) {
    let key = Key::new(&[1, 2, 3, 4, 5, 6, 7]).expect("a key");
    let mut data = vec![3u8; 64 << 20];
    let (seconds, _) = best(|| key.apply(InstructionSet::widest(), &mut data));
    let rate = 2.0 * data.len() as f64 / seconds;
    println!(
        "\nxor: 64 MiB in place, {:.2} GB/s, {:.0} % of copy",
        rate / 1e9,
        100.0 * rate / copy
    );
}

fn paths() {
    println!("\nbfs: from a corner, 30 % blocked, one thread, CPU time");
    for n in [64, 128, 256] {
        let shape = Shape::cube(n).expect("a cube");
        let maze = Maze::random(shape, 30.0, 7).expect("a maze");
        let mut tiles = TileSearch::new(maze.clone()).expect("it fits");
        let mut reach = None;
        let (seconds, _) = best(|| reach = Some(tiles.run(Cell([0, 0, 0]), None)));
        let bits = 8.0 * tiles.state_bytes() as f64 / shape.cells() as f64;
        let cpu = CpuDevice::open().expect("the CPU is always there");
        let mut threads = TileSearch::on_threads(&cpu, maze.clone()).expect("it fits");
        let (_, shared) = best(|| {
            black_box(threads.run(Cell([0, 0, 0]), None)).expect("the corner is free");
        });
        let mut queue = QueueSearch::new(maze).expect("it fits");
        let (slow, _) = best(|| {
            black_box(queue.run(Cell([0, 0, 0]))).expect("the corner is free");
        });
        println!(
            "  {n}^3: tiles {:.2} ms ({bits:.2} bits per cell), on {} threads {:.2} ms of wall time, \
             queue {:.2} ms, ratio {:.1}; {reach:?}",
            seconds * 1e3,
            cpu.threads(),
            shared * 1e3,
            slow * 1e3,
            slow / seconds
        );
    }
}

/// Ours and the peers' on the same problems, in turn.
fn peers(one: &CpuDevice) {
    let Some(python) = std::env::var_os("WARPSMITH_PEER_PYTHON") else {
        println!("\npeers: skipped: WARPSMITH_PEER_PYTHON names no interpreter");
        return;
    };
    println!("\npeers, CPU time of all threads:");
    let set = InstructionSet::widest();
    for (n, steps) in [(64, 50), (100, 10), (128, 30)] {
        let shape = Shape::cube(n).expect("a cube");
        let field = Field::noise(shape, 1234).expect("it fits");
        let form = CpuForm::Blocked { set, depth: 2 };
        let mut run = CpuRun::new(one, Rule::usual(shape), form, field).expect("fits");
        let (ours, _) = best(|| run.advance(steps));
        let problem = ["rd", &n.to_string(), &steps.to_string()];
        beside(&python, &problem, ours, (shape.cells() * steps) as f64);
    }
    let shape = Shape::cube(128).expect("a cube");
    let maze = Maze::random(shape, 30.0, 7).expect("a maze");
    let mut tiles = TileSearch::new(maze).expect("it fits");
    let (ours, _) = best(|| {
        black_box(tiles.run(Cell([0, 0, 0]), None)).expect("the corner is free");
    });
    beside(&python, &["bfs", "128"], ours, shape.cells() as f64);
}

fn beside(python: &std::ffi::OsStr, problem: &[&str], ours: f64, units: f64) {
    let line = |name: &str, seconds: f64| {
        println!(
            "  {} {name}: {:.3} ns per cell, {:.2} ms, {:.2} times ours",
            problem.join(" "),
            seconds / units * 1e9,
            seconds * 1e3,
            seconds / ours
        );
    };
    line("Warpsmith, one thread", ours);
    match time_peers(python.as_ref(), PEERS, problem) {
        Ok(peers) => {
            for peer in &peers {
                line(&peer.name, peer.cpu_seconds.unwrap_or(f64::NAN));
            }
        }
        Err(error) => println!("  peers: {error}"),
    }
}
