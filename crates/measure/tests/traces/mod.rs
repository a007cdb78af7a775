//! Memory traces of known shape: what programs that do not leak look like. A leak is added on top.

mod development;
mod hold_outs;
mod programs;

pub(crate) use development::DEVELOPMENT;
pub(crate) use hold_outs::{FOURTH_HOLD_OUT, HOLD_OUT, SECOND_HOLD_OUT, THIRD_HOLD_OUT};
pub(crate) use programs::{FIRST_PROGRAMS, Program};
use warpsmith_workload::random::Random;

const MB: f64 = 1e6;

pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// Known to be beyond the detector: `cargo bench --bench leak_rates` prints how far.
    pub(crate) beyond: bool,
    pub(crate) make: fn(usize, &mut Random) -> Vec<f64>,
}

/// Bytes leaked per step are added to a trace of the family.
pub(crate) fn with_leak(family: &Family, steps: usize, seed: u64, bytes_per_step: f64) -> Vec<f64> {
    let mut random = Random::seeded(seed);
    let mut trace = (family.make)(steps, &mut random);
    for (step, bytes) in trace.iter_mut().enumerate() {
        *bytes += 500.0 * MB + bytes_per_step * step as f64;
    }
    trace
}

/// A trace of the program, whose leak, where it has one, is its own.
pub(crate) fn of_program(program: &Program, steps: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::seeded(seed);
    let mut trace = (program.make)(steps, &mut random);
    trace.iter_mut().for_each(|bytes| *bytes += 500.0 * MB);
    trace
}

fn autoregressive(n: usize, rho: f64, sigma: f64, random: &mut Random) -> Vec<f64> {
    let mut state = sigma * random.normal();
    let fresh = sigma * (1.0 - rho * rho).sqrt();
    (0..n)
        .map(|_| {
            state = rho * state + fresh * random.normal();
            state
        })
        .collect()
}

fn noise(n: usize, sigma: f64, random: &mut Random) -> Vec<f64> {
    (0..n).map(|_| sigma * random.normal()).collect()
}

fn between(low: f64, high: f64, random: &mut Random) -> f64 {
    low + (high - low) * random.unit()
}
