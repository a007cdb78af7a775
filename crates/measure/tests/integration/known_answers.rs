//! Known answers: seeded simulations whose truth is set, compared with the error rates that the
//! statistics promise.

use std::convert::Infallible;
use std::time::Duration;

use rayon::prelude::*;
use warpsmith_measure::comparison::evaluation::Verdict;
use warpsmith_measure::comparison::paired_rounds::{ComparisonPlan, Side, run};
use warpsmith_measure::leak::detector::{LeakPlan, LeakVerdict, judge};
use warpsmith_measure::measurement::{Measurement, Sample};
use warpsmith_measure::scaling::{self, Law, SizePoint};
use warpsmith_measure::statistics::quantile::estimate;
use warpsmith_measure::statistics::stop_rule::{MedianStop, StopPlan, StopReason};
use warpsmith_workload::random::Random;

use crate::noise::{NOISES, Noise};
use crate::traces;

/// Share of `repeats` seeds for which `holds`.
fn share(repeats: u64, holds: impl Fn(u64) -> bool + Sync) -> f64 {
    let held = (0..repeats)
        .into_par_iter()
        .filter(|seed| holds(*seed))
        .count();
    held as f64 / repeats as f64
}

#[test]
fn quantile_intervals_cover_the_truth() {
    // Log-normal with 2 % spikes of ×5 to ×15: the true quantiles from ten million draws.
    let draw = |random: &mut Random| {
        let spike = if random.unit() < 0.02 {
            5.0 + 10.0 * random.unit()
        } else {
            1.0
        };
        spike * (0.05 * random.normal()).exp()
    };
    let mut random = Random::seeded(99);
    let mut truth: Vec<f64> = (0..2_000_000).map(|_| draw(&mut random)).collect();
    truth.sort_unstable_by(f64::total_cmp);
    for (n, p) in [
        (100usize, 0.5),
        (100, 0.95),
        (500, 0.99),
        (1000, 0.95),
        (5000, 0.999),
    ] {
        let expected = truth[(truth.len() as f64 * p) as usize];
        let covered = share(1500, |seed| {
            let mut random = Random::seeded(seed);
            let mut samples: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
            samples.sort_unstable_by(f64::total_cmp);
            let q = estimate(&samples, n as f64, p, 0.95);
            q.low.unwrap() <= expected && expected <= q.high.unwrap()
        });
        assert!((0.935..=0.995).contains(&covered), "P{p} of {n}: {covered}");
    }
}

/// Runs the stop rule over simulated samples of `seconds` each with 60 µs of overhead.
fn stopped(noise: &Noise, seconds: f64, seed: u64) -> (usize, f64, bool, StopReason) {
    let mut source = noise.start(seed);
    let mut stop = MedianStop::new(StopPlan::default());
    let mut samples = Vec::new();
    loop {
        samples.push(seconds * source.next());
        let elapsed = Duration::from_secs_f64(samples.len() as f64 * (seconds + 60e-6));
        if stop.is_due(samples.len(), elapsed)
            && let Some(reason) = stop.look(&samples, elapsed)
        {
            let interval = stop.interval().unwrap();
            let truth = seconds * noise.median;
            let error = (interval.median / truth - 1.0).abs();
            let held = interval.low <= truth && truth <= interval.high;
            return (samples.len(), error, held, reason);
        }
    }
}

#[test]
fn the_stop_rule_covers_and_meets_its_target() {
    for noise in NOISES {
        for (seconds, repeats) in [(10e-6, 60u64), (1e-3, 60)] {
            let runs: Vec<_> = (0..repeats)
                .into_par_iter()
                .map(|seed| stopped(noise, seconds, seed))
                .collect();
            let covered = runs.iter().filter(|run| run.2).count() as f64 / repeats as f64;
            // 60 repeats of a true 0.95 fall below 0.88 in 1 % of cases.
            assert!(
                covered >= 0.90,
                "{} at {seconds}: covered {covered}",
                noise.name
            );
            let mut reached: Vec<f64> = runs
                .iter()
                .filter(|run| run.3 == StopReason::IntervalReached)
                .map(|run| run.1)
                .collect();
            reached.sort_unstable_by(f64::total_cmp);
            if let Some(error) = reached.get(reached.len() * 95 / 100) {
                assert!(*error <= 0.005, "{} at {seconds}: {error}", noise.name);
            }
        }
    }
}

#[test]
fn a_quiet_short_kernel_needs_fewer_than_1500_samples() {
    let runs: Vec<_> = (0..60u64)
        .into_par_iter()
        .map(|seed| stopped(&NOISES[0], 10e-6, seed))
        .collect();
    assert!(runs.iter().all(|run| run.0 <= 1500));
    let long: Vec<_> = (0..60u64)
        .into_par_iter()
        .map(|seed| stopped(&NOISES[0], 1e-3, seed))
        .collect();
    let mut counts: Vec<usize> = long.iter().map(|run| run.0).collect();
    counts.sort_unstable();
    assert!(counts[30] <= 160, "{}", counts[30]);
}

fn compared(noise: &Noise, effect: f64, seed: u64, plan: &ComparisonPlan) -> Verdict {
    let mut source = noise.start(seed);
    let empty = |name| Measurement::imported(name, Vec::new());
    let taken = run::<Infallible>(
        &ComparisonPlan {
            seed: seed ^ 0x5eed,
            ..*plan
        },
        empty("a"),
        empty("b"),
        &mut |side| {
            let level = if side == Side::B { 1.0 + effect } else { 1.0 };
            Ok(Sample::of_seconds(level * source.next()))
        },
        &mut |_| {},
    );
    let Ok(comparison) = taken;
    comparison.evaluation.verdict
}

#[test]
fn comparisons_are_rarely_false_and_mostly_find_three_percent() {
    for noise in NOISES.iter().filter(|noise| noise.for_comparison) {
        let plan = ComparisonPlan::default();
        // At the margin itself the promise is 2.5 % to a side; 300 repeats add their own noise.
        for (effect, most) in [(0.0, 0.01), (0.01, 0.055)] {
            let wrong = share(300, |seed| {
                matches!(
                    compared(noise, effect, seed, &plan),
                    Verdict::Slower | Verdict::Faster
                )
            });
            assert!(wrong <= most, "{} at {effect}: false {wrong}", noise.name);
        }
        for effect in [0.03, 0.05] {
            let found = share(200, |seed| {
                compared(noise, effect, seed, &plan) == Verdict::Slower
            });
            assert!(found >= 0.85, "{} at {effect}: found {found}", noise.name);
            let same = share(200, |seed| {
                compared(noise, effect, seed, &plan) == Verdict::Same
            });
            assert!(
                same <= 0.005,
                "{} at {effect}: wrongly the same {same}",
                noise.name
            );
        }
    }
}

#[test]
fn more_samples_never_lower_the_power() {
    let mut last = 0.0;
    for rounds in [6usize, 12, 24, 48, 96] {
        let plan = ComparisonPlan {
            rounds,
            maximum_rounds: rounds,
            pairs: 4,
            ..ComparisonPlan::default()
        };
        let found = share(400, |seed| {
            compared(&NOISES[1], 0.02, seed, &plan) == Verdict::Slower
        });
        // Two standard errors of a share of 400 repeats.
        assert!(
            found >= last - 0.05,
            "{rounds} rounds: {found} after {last}"
        );
        last = found;
    }
    assert!(last > 0.98, "{last}");
}

#[test]
#[ignore = "slow: thousands of long traces"]
fn leaks_are_found_and_rarely_invented() {
    let families = traces::DEVELOPMENT
        .iter()
        .chain(traces::HOLD_OUT)
        .chain(traces::SECOND_HOLD_OUT)
        .chain(traces::THIRD_HOLD_OUT)
        .chain(traces::FOURTH_HOLD_OUT)
        .filter(|family| !family.beyond);
    for family in families {
        let verdicts = |rate: f64| -> Vec<LeakVerdict> {
            let judged = (0..24u64).into_par_iter().map(|seed| {
                let trace = traces::with_leak(family, 20_000, seed, rate);
                judge(&trace, &LeakPlan::default()).verdict
            });
            judged.collect()
        };
        let count = |verdicts: &[LeakVerdict], wanted| {
            verdicts
                .iter()
                .filter(|verdict| **verdict == wanted)
                .count()
        };
        // Of 24, a true rate of 0.05 gives 4 or more in 3 % of cases; the rates themselves are
        // printed by `cargo bench --bench leak_rates`.
        let invented = count(&verdicts(0.0), LeakVerdict::Leak);
        assert!(invented <= 3, "{}: invented {invented} of 24", family.name);
        let leaking = verdicts(10_000.0);
        let found = count(&leaking, LeakVerdict::Leak);
        assert!(found >= 22, "{}: found {found} of 24", family.name);
        let passed = count(&leaking, LeakVerdict::Ok);
        assert_eq!(
            passed, 0,
            "{}: ten times the budget was passed",
            family.name
        );
    }
}

#[test]
#[ignore = "slow: hundreds of long traces"]
fn programs_that_leak_are_told_from_those_that_do_not() {
    for program in traces::FIRST_PROGRAMS {
        let judged: Vec<LeakVerdict> = (0..24u64)
            .into_par_iter()
            .map(|seed| {
                let trace = traces::of_program(program, 20_000, seed);
                judge(&trace, &LeakPlan::default()).verdict
            })
            .collect();
        let leaks = judged.iter().filter(|seen| **seen == LeakVerdict::Leak);
        let leaks = leaks.count();
        match program.leaks {
            true => assert!(leaks >= 23, "{}: found {leaks} of 24", program.name),
            false => assert!(leaks <= 1, "{}: invented {leaks} of 24", program.name),
        }
    }
}

#[test]
fn scaling_laws_are_recognised_with_eight_sizes() {
    let sizes: Vec<f64> = (8..16).map(|power| f64::from(1 << power)).collect();
    // Launch overhead that the largest size outgrows, as on a GPU.
    for (law, overhead) in [
        (Law::Constant, 0.0),
        (Law::Logarithmic, 0.0),
        (Law::Linear, 0.0),
        (Law::Linear, 10e-6),
        (Law::Linearithmic, 0.0),
        (Law::Quadratic, 10e-6),
        (Law::Cubic, 0.0),
    ] {
        for sigma in [0.01, 0.03] {
            let right = share(300, |seed| {
                let mut random = Random::seeded(seed);
                let points: Vec<SizePoint> = sizes
                    .iter()
                    .map(|size| {
                        let work = 100e-6 * law.value(*size) / law.value(sizes[7]);
                        let seconds = (overhead + work) * (1.0 + sigma * random.normal());
                        SizePoint {
                            size: *size,
                            seconds,
                        }
                    })
                    .collect();
                scaling::fit(&points).unwrap().chosen.law == law
            });
            assert!(
                right >= 0.95,
                "{} + {overhead} at {sigma}: {right}",
                law.name()
            );
        }
    }
}
