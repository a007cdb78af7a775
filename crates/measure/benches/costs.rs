//! Prints what measuring itself costs: a stored sample, an empty closure's reading, a summary of a
//! million samples, a trace of a million events.

use std::time::Instant;

use warpsmith_measure::cpu::closure::{ClosurePlan, ClosureSampler};
use warpsmith_measure::cpu::thread_usage::ThreadUsage;
use warpsmith_measure::statistics::order::median_of;
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_measure::statistics::summary::Summary;
use warpsmith_measure::trace::TraceWriter;
use warpsmith_workload::random::Random;

/// CPU seconds of this thread: other work on the machine is not ours.
fn busy() -> f64 {
    ThreadUsage::read().map_or(0.0, |usage| usage.cpu_time.as_secs_f64())
}

#[allow(clippy::print_stdout)]
fn main() {
    let mut readings = Vec::new();
    let mut costs = Vec::new();
    for _ in 0..9 {
        let sampler = ClosureSampler::calibrate();
        let stop = StopPlan {
            target: 0.0,
            minimum_count: 200_000,
            maximum_count: 200_000,
            ..StopPlan::default()
        };
        let plan = ClosurePlan {
            stop,
            inner: Some(1),
        };
        let mut calls = 0u64;
        let mut sampling = 0.0;
        let measurement = sampler.measure("empty", &mut || calls += 1, &plan, &mut |progress| {
            // Told before the look at the samples, which is no part of taking them.
            sampling = progress.elapsed.as_secs_f64() / progress.count as f64;
        });
        costs.push(sampling);
        readings.push(median_of(&measurement.seconds));
    }
    // A busy machine only ever adds: the least disturbed of nine.
    costs.sort_unstable_by(f64::total_cmp);
    let nanoseconds = |values: &[f64]| median_of(values) * 1e9;
    println!(
        "stored sample, tags included: {:.1} ns best of 9, {:.1} ns median",
        costs[0] * 1e9,
        nanoseconds(&costs)
    );
    println!(
        "clock reading alone: {:.1} ns",
        ClosureSampler::calibrate().cost().sample * 1e9
    );
    let worst = readings.iter().map(|r| r.abs()).fold(0.0, f64::max);
    println!(
        "empty closure reads: {:.2} ns median of 9, worst {:.2} ns",
        nanoseconds(&readings),
        worst * 1e9
    );

    let mut random = Random::seeded(1);
    let million: Vec<f64> = (0..1_000_000)
        .map(|_| 1e-5 * (1.0 + 0.01 * random.normal()))
        .collect();
    let times: Vec<f64> = (0..5)
        .map(|_| {
            let begun = busy();
            std::hint::black_box(Summary::of(&million));
            busy() - begun
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
