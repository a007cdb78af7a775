//! Prints, for each family of traces, how often a leak is called where there is none, how often
//! one of 1 and 10 KB per step is found, and how often the interval holds the truth. A star marks
//! families that are known to be beyond the detector. Programs that leak by themselves, or not, come
//! first; `cargo bench --bench leak_rates -- programs` prints them alone.

use rayon::prelude::*;
use warpsmith_measure::leak::detector::{LeakPlan, LeakVerdict, judge};

#[path = "../tests/traces/mod.rs"]
mod traces;

#[allow(clippy::print_stdout)]
fn main() {
    let repeats: u64 = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(120);
    programs(repeats);
    if std::env::args().any(|argument| argument == "programs") {
        return;
    }
    for steps in [5000usize, 20_000] {
        println!("{steps} steps, {repeats} traces each: LEAK / OK shares");
        println!(
            " {:38} {:>13} {:>13} {:>13} {:>9} {:>14}",
            "family", "no leak", "1 KB/step", "10 KB/step", "coverage", "median error"
        );
        for family in traces::DEVELOPMENT
            .iter()
            .chain(traces::HOLD_OUT)
            .chain(traces::SECOND_HOLD_OUT)
            .chain(traces::THIRD_HOLD_OUT)
            .chain(traces::FOURTH_HOLD_OUT)
        {
            let mark = if family.beyond { '*' } else { ' ' };
            let mut line = format!("{mark}{:38}", family.name);
            let mut held = 0;
            let mut errors = Vec::new();
            for rate in [0.0, 1000.0, 10_000.0] {
                let reports: Vec<_> = (0..repeats)
                    .into_par_iter()
                    .map(|seed| {
                        let trace = traces::with_leak(family, steps, seed + 1000, rate);
                        judge(&trace, &LeakPlan::default())
                    })
                    .collect();
                let share = |verdict| {
                    reports.iter().filter(|r| r.verdict == verdict).count() as f64 / repeats as f64
                };
                held += reports
                    .iter()
                    .filter(|r| r.low <= rate && rate <= r.high)
                    .count();
                errors.extend(reports.iter().map(|r| (r.bytes_per_step - rate).abs()));
                line += &format!(
                    "   {:.2} / {:.2}",
                    share(LeakVerdict::Leak),
                    share(LeakVerdict::Ok)
                );
            }
            errors.sort_unstable_by(f64::total_cmp);
            println!(
                "{line} {:>9.2} {:>10.0} B/step",
                held as f64 / (3 * repeats) as f64,
                errors[errors.len() / 2]
            );
        }
    }
}

/// Programs that leak by themselves, or not.
#[allow(clippy::print_stdout)]
fn programs(repeats: u64) {
    for (set, name) in [(traces::FIRST_PROGRAMS, "first programs")] {
        for steps in [5000usize, 20_000] {
            println!("{name}, {steps} steps, {repeats} traces each: LEAK / OK / INCONCLUSIVE");
            for program in set {
                let verdicts: Vec<LeakVerdict> = (0..repeats)
                    .into_par_iter()
                    .map(|seed| {
                        let trace = traces::of_program(program, steps, seed + 1000);
                        judge(&trace, &LeakPlan::default()).verdict
                    })
                    .collect();
                let share = |wanted| {
                    verdicts.iter().filter(|seen| **seen == wanted).count() as f64 / repeats as f64
                };
                println!(
                    " {:45} {:8}  {:.3} / {:.3} / {:.3}",
                    program.name,
                    if program.leaks { "leaks" } else { "innocent" },
                    share(LeakVerdict::Leak),
                    share(LeakVerdict::Ok),
                    share(LeakVerdict::Inconclusive)
                );
            }
        }
    }
}
