//! Prints, for several thresholds of the fast detector, how many suspects a hundred commits raise
//! where nothing happened, and how many steps of 3 % are missed after four and after eight commits.
//!
//! `cargo bench -p warpsmith-history --bench history_rates -- 1000`: histories per figure.

use rayon::prelude::*;
use warpsmith_history::detectors::FAST_THRESHOLD;

#[path = "../tests/histories/mod.rs"]
mod histories;

use histories::{Kind, STEP_AT, found, history, raised};

#[allow(clippy::print_stdout)]
fn main() {
    let repeats: u64 = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(400);
    let thresholds = [2.45, 2.55, 2.65, 2.75, 2.85, 2.95, 3.05];
    for (name, outliers, again) in [
        ("no outliers", 0.0, false),
        ("no outliers, measured again", 0.0, true),
        ("5 % outliers", 0.05, false),
        ("5 % outliers, measured again", 0.05, true),
    ] {
        let kind = Kind { outliers, again };
        println!("{name}, {repeats} histories each (in use: {FAST_THRESHOLD})");
        println!("  threshold   false per 100   3 % missed after 4   after 8");
        for threshold in thresholds {
            let false_ones: usize = (0..repeats)
                .into_par_iter()
                .map(|seed| raised(&history(seed, 100, 0.0, kind), threshold).len())
                .sum();
            let missed = |after: usize| {
                let count = (0..repeats)
                    .into_par_iter()
                    .filter(|seed| {
                        let medians = history(seed + 77_000, STEP_AT + after, 0.03, kind);
                        !found(&medians, threshold)
                    })
                    .count();
                100.0 * count as f64 / repeats as f64
            };
            println!(
                "  {threshold:9.2} {:15.3} {:18.2} % {:7.2} %",
                false_ones as f64 / repeats as f64,
                missed(4),
                missed(8)
            );
        }
    }
}
