//! Prints what measuring itself costs: a stored sample, an empty closure's reading, a summary of a
//! million samples, a trace of a million events.

use std::time::Instant;

use warpsmith_measure::cpu::closure::{ClosurePlan, ClosureSampler};
use warpsmith_measure::random::Random;
use warpsmith_measure::statistics::order::median_of;
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_measure::statistics::summary::Summary;
use warpsmith_measure::trace::TraceWriter;

#[allow(clippy::print_stdout)]
fn main() {
    let mut readings = Vec::new();
    let mut costs = Vec::new();
    for _ in 0..7 {
        let sampler = ClosureSampler::calibrate();
        let stop = StopPlan {
            target: 0.0,
            maximum_count: 200_000,
            ..StopPlan::default()
        };
        // The wall time of the loop itself, without the looks, which grow apart from each other.
        let plan = ClosurePlan {
            stop: StopPlan {
                minimum_count: 200_000,
                ..stop
            },
            inner: Some(1),
        };
        let mut calls = 0u64;
        let begun = Instant::now();
        let measurement = sampler.measure("empty", &mut || calls += 1, &plan, &mut |_| {});
        let took = begun.elapsed().as_secs_f64() - 0.1;
        let samples = measurement.seconds.len();
        let summarised = Instant::now();
        std::hint::black_box(measurement.basis());
        let look = summarised.elapsed().as_secs_f64();
        costs.push((took - look).max(0.0) / samples as f64);
        readings.push(median_of(&measurement.seconds));
    }
    let nanoseconds = |values: &[f64]| median_of(values) * 1e9;
    println!(
        "stored sample, with tags and the final look: {:.1} ns",
        nanoseconds(&costs)
    );
    println!(
        "clock reading alone: {:.1} ns",
        ClosureSampler::calibrate().cost().sample * 1e9
    );
    let worst = readings.iter().map(|r| r.abs()).fold(0.0, f64::max);
    println!(
        "empty closure reads: {:.2} ns median of 7, worst {:.2} ns",
        nanoseconds(&readings),
        worst * 1e9
    );

    let mut random = Random::seeded(1);
    let million: Vec<f64> = (0..1_000_000)
        .map(|_| 1e-5 * (1.0 + 0.01 * random.normal()))
        .collect();
    let times: Vec<f64> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(Summary::of(&million));
            begun.elapsed().as_secs_f64()
        })
        .collect();
    println!(
        "summary of 1,000,000 samples: {:.0} ms",
        median_of(&times) * 1e3
    );

    let begun = Instant::now();
    let mut trace = TraceWriter::new(std::io::sink()).expect("a sink takes everything");
    for event in 0..1_000_000u32 {
        let at = f64::from(event) * 1e-6;
        trace
            .span(1, 1, "step", at, 1e-6)
            .expect("a sink takes everything");
    }
    println!(
        "trace of 1,000,000 events: {:.2} s",
        begun.elapsed().as_secs_f64()
    );
}
