//! Trajectories and the small network on a GPU, in device time and from call to result.
//!
//! `cargo bench -p warpsmith-md --bench device`; `benches/network_torch.py` is the same network in
//! PyTorch, to run beside it. Says so and stops where there is no GPU.

#![allow(clippy::print_stdout, reason = "a bench is a program")]

use std::time::Instant;

use warpsmith_device::{CudaDevice, DeviceError, Event, Stream};
use warpsmith_md::{Atoms, CudaNetwork, CudaSimulation, Engine, ForceNetwork, MdError, Settings};
use warpsmith_workload::random::Random;

fn main() {
    let gpu = match CudaDevice::open(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    println!("on {}", gpu.facts().name);
    println!(
        "{:>9} {:>6} {:>5} {:>12} {:>10} {:>12} {:>10}",
        "atoms", "graph", "skin", "us/step", "spread", "Gatom-st/s", "rebuild"
    );
    for (cells, steps, graph, skin) in [
        (10, 4000, true, 0.4),
        (10, 4000, true, 0.6),
        (10, 4000, true, 0.8),
        (10, 4000, false, 0.6),
        (20, 3000, true, 0.6),
        (40, 1000, true, 0.6),
        (64, 300, true, 0.4),
        (64, 300, true, 0.6),
        (64, 300, true, 0.8),
    ] {
        if let Err(error) = trajectory(&gpu, cells, steps, graph, skin) {
            println!("{cells} cells: {error}");
        }
    }
    for (atoms, hidden) in [(100, 128), (100, 64), (100, 256), (1000, 128)] {
        if let Err(error) = network(&gpu, atoms, hidden) {
            println!("network of {atoms} atoms: {error}");
        }
    }
}

/// Device seconds of `work`, between two events.
fn device_seconds(
    gpu: &CudaDevice,
    stream: &Stream,
    work: impl FnOnce() -> Result<(), DeviceError>,
) -> Result<f64, DeviceError> {
    let (begin, end) = (Event::new(gpu)?, Event::new(gpu)?);
    stream.record(&begin)?;
    work()?;
    stream.record(&end)?;
    end.synchronize()?;
    Ok(end.since(&begin)?.0)
}

fn trajectory(
    gpu: &CudaDevice,
    cells: usize,
    steps: u64,
    graph: bool,
    skin: f64,
) -> Result<(), MdError> {
    let atoms = Atoms::lattice(cells, 0.8442, 1.44, 1)?;
    let settings = Settings {
        skin,
        ..Settings::standard()
    };
    let mut simulation = CudaSimulation::new(gpu, &atoms, settings, graph)?;
    simulation.advance(300)?;
    let stream = simulation.stream().clone();
    let before = simulation.rebuilds()?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let seconds = device_seconds(gpu, &stream, || simulation.queue(steps))?;
        times.push(seconds / steps as f64);
    }
    simulation.check()?;
    times.sort_by(f64::total_cmp);
    let rebuilds = simulation.rebuilds()? - before;
    println!(
        "{:>9} {graph:>6} {skin:>5} {:>12.2} {:>9.1}% {:>12.3} {:>10.1}",
        atoms.len(),
        1e6 * times[2],
        100.0 * (times[4] - times[0]) / times[2],
        atoms.len() as f64 / times[2] / 1e9,
        (5 * steps) as f64 / rebuilds as f64,
    );
    Ok(())
}

fn network(gpu: &CudaDevice, atoms: usize, hidden: usize) -> Result<(), MdError> {
    let network = ForceNetwork::random(hidden, 1)?;
    let mut random = Random::seeded(2);
    let species: Vec<u8> = (0..atoms).map(|_| random.below(10) as u8).collect();
    let positions: Vec<[f32; 3]> = (0..atoms)
        .map(|_| std::array::from_fn(|_| random.normal() as f32))
        .collect();
    let mut call = CudaNetwork::new(gpu, &network, &species, &positions)?;
    let stream = call.stream().clone();
    let many = 200;
    let graph = stream.capture(|_| (0..many).try_for_each(|_| call.queue()))?;
    let mut device: Vec<f64> = Vec::new();
    for _ in 0..20 {
        device.push(device_seconds(gpu, &stream, || graph.launch(&stream))? / f64::from(many));
    }
    let mut single: Vec<f64> = Vec::new();
    let mut whole: Vec<f64> = Vec::new();
    for _ in 0..500 {
        single.push(device_seconds(gpu, &stream, || call.queue())?);
        let begin = Instant::now();
        call.queue()?;
        stream.synchronize()?;
        whole.push(begin.elapsed().as_secs_f64());
    }
    let mut read: Vec<f64> = Vec::new();
    for _ in 0..500 {
        let begin = Instant::now();
        call.queue()?;
        call.results()?;
        read.push(begin.elapsed().as_secs_f64());
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        1e6 * values[values.len() / 2]
    };
    println!(
        "network {atoms} atoms, {hidden} hidden: {:.2} us device in a graph of {many}, {:.2} us between two \
         events, {:.2} us call to end of wait, {:.2} us call to results on the host (medians)",
        median(&mut device),
        median(&mut single),
        median(&mut whole),
        median(&mut read),
    );
    Ok(())
}
