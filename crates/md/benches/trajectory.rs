//! Lennard-Jones steps per CPU-second against the peers that are installed, in one run.
//!
//! `cargo bench -p warpsmith-md --bench trajectory [-- --python PYTHON] [--rounds N]`
//! runs our engine and `benches/peers.py` in turn, `N` rounds, and keeps the best of each: on a
//! shared machine the best is the one that was disturbed least. Peers that are missing are named.
//!
//! `-- --million` runs a million steps of 500 atoms instead, and says what memory and energy did.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench is a program"
)]

use std::collections::BTreeMap;
use std::path::Path;

use warpsmith_device::CpuDevice;
use warpsmith_md::{
    Atoms, Engine, ForceNetwork, InstructionSet, PEERS, Real, Settings, Simulation, Truncation,
};
use warpsmith_measure::leak::resident::resident_bytes;
use warpsmith_measure::peers::{Peer, time_peers};
use warpsmith_workload::random::Random;

/// Unit cells to a side: 4,000, 16,384 and 32,000 atoms.
const SIZES: [usize; 3] = [10, 16, 20];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    if arguments.iter().any(|argument| argument == "--million") {
        million_steps::<f64>();
        million_steps::<f32>();
        return;
    }
    let rounds: usize = option("--rounds")
        .and_then(|text| text.parse().ok())
        .unwrap_or(3);
    let skin = option("--skin").and_then(|text| text.parse().ok());
    let mut best: BTreeMap<(String, usize), f64> = BTreeMap::new();
    let mut keep = |name: &str, atoms: usize, rate: f64| {
        let slot = best.entry((name.to_owned(), atoms)).or_insert(0.0);
        *slot = slot.max(rate);
    };
    for round in 0..rounds {
        for cells in SIZES {
            let atoms = 4 * cells * cells * cells;
            keep(
                "warpsmith f32",
                atoms,
                steps_per_cpu_second::<f32>(cells, skin),
            );
            keep(
                "warpsmith f64",
                atoms,
                steps_per_cpu_second::<f64>(cells, skin),
            );
            let Some(python) = option("--python") else {
                continue;
            };
            let peers = match time_peers(Path::new(&python), PEERS, &["lj", &atoms.to_string()]) {
                Ok(peers) => peers,
                Err(error) => {
                    eprintln!("peers: `{python}`: {error}");
                    continue;
                }
            };
            for Peer {
                name,
                cpu_seconds,
                missing,
                ..
            } in peers
            {
                if let Some(seconds) = cpu_seconds {
                    keep(&name, atoms, 1.0 / seconds);
                } else if round == 0 {
                    println!("{name}, {atoms} atoms: {}", missing.unwrap_or_default());
                }
            }
        }
    }
    for atoms in [100, 1000] {
        let microseconds = 1e6 * network_seconds(atoms);
        println!("network, {atoms} atoms, 128 hidden: {microseconds:.1} CPU-us a call, one thread");
    }
    println!(
        "{:24} {:>8} {:>14} {:>16} {:>8}",
        "engine", "atoms", "steps/CPU-s", "Matom-steps/CPU-s", "ratio"
    );
    for ((name, atoms), rate) in &best {
        let ours = best[&("warpsmith f32".to_owned(), *atoms)];
        println!(
            "{name:24} {atoms:>8} {rate:>14.1} {:>16.2} {:>8.2}",
            rate * *atoms as f64 / 1e6,
            ours / rate
        );
    }
}

/// CPU seconds of one call of the small network, best of many.
fn network_seconds(atoms: usize) -> f64 {
    let network = ForceNetwork::random(128, 1).expect("a network");
    let mut random = Random::seeded(1);
    let species: Vec<u8> = (0..atoms).map(|_| random.below(10) as u8).collect();
    let positions: Vec<[f32; 3]> = (0..atoms)
        .map(|_| std::array::from_fn(|_| random.normal() as f32))
        .collect();
    let (mut scratch, mut forces) = (network.scratch(), vec![[0.0; 3]; atoms]);
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let begin = cpu_seconds();
        for _ in 0..10 {
            let instructions = InstructionSet::widest();
            network.evaluate(
                &species,
                &positions,
                &mut scratch,
                &mut forces,
                instructions,
            );
        }
        best = best.min((cpu_seconds() - begin) / 10.0);
    }
    best
}

/// LAMMPS' `bench/in.lj` on one thread: 50 steps melt the lattice, then steps are counted.
fn steps_per_cpu_second<R: Real>(cells: usize, skin: Option<f64>) -> f64 {
    let cpu = CpuDevice::with_threads(1).expect("one thread");
    let atoms = Atoms::lattice(cells, 0.8442, 1.44, 1).expect("a lattice");
    let mut settings = Settings::standard();
    settings.skin = skin.unwrap_or(settings.skin);
    let mut simulation = Simulation::<R>::new(&cpu, &atoms, settings).expect("a start");
    simulation.advance(50).expect("a melt");
    let steps = 6_400_000 / atoms.len() as u64;
    let begin = cpu_seconds();
    simulation.advance(steps).expect("steps");
    steps as f64 / (cpu_seconds() - begin)
}

/// Memory and total energy along a million steps without thermostat, force-shifted.
fn million_steps<R: Real>() {
    let cpu = CpuDevice::with_threads(1).expect("one thread");
    let atoms = Atoms::lattice(5, 0.8442, 1.44, 1).expect("a lattice");
    let mut settings = Settings::standard();
    settings.potential.truncation = Truncation::ForceShift;
    settings.time_step = 0.004;
    let mut simulation = Simulation::<R>::new(&cpu, &atoms, settings).expect("a start");
    simulation.advance(5000).expect("a melt");
    let mean_energy = |simulation: &mut Simulation<R>| {
        // Means over a time in which the oscillation of the integrator averages out.
        let mut sum = 0.0;
        for _ in 0..100 {
            simulation.advance(100).expect("steps");
            sum += simulation.thermodynamics().expect("figures").total / 100.0;
        }
        sum
    };
    let (first, held, resident) = (
        mean_energy(&mut simulation),
        simulation.memory_bytes(),
        resident_bytes(None).unwrap_or(0),
    );
    simulation.advance(980_000).expect("steps");
    let last = mean_energy(&mut simulation);
    println!(
        "{}: {} steps, {} lists; held {} bytes before and {} after, resident {:+} bytes; energy per atom {first:.7} \
         and {last:.7}, relative drift {:.1e}",
        R::NAME,
        simulation.step(),
        simulation.rebuilds(),
        held,
        simulation.memory_bytes(),
        resident_bytes(None).unwrap_or(0).cast_signed() - resident.cast_signed(),
        (last - first) / first.abs(),
    );
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
