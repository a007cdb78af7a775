//! Prints, for several thresholds of the fast detector, how many suspects a hundred commits raise
//! where nothing happened, and how many steps of 3 % are missed after four and after eight commits.
//!
//! Then fourteen simulated projects use the gate; Apache Otava is shown the same results where
//! `WARPSMITH_PEER_PYTHON` names a Python that has it (`pip install apache-otava`).
//!
//! `cargo bench -p warpsmith-history --bench history_rates -- 1000`: histories per figure.

use rayon::prelude::*;
use warpsmith_history::detectors::FAST_THRESHOLD;

#[path = "../tests/histories/mod.rs"]
mod histories;

use histories::projects::{Project, Watched, projects, watch};
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
    let sets: u64 = (repeats / 20).max(1);
    let all: Vec<Project> = (0..sets).flat_map(projects).collect();
    ours(&all);
    otava(&all);
}

/// What the gate did to those who used it.
#[allow(clippy::print_stdout)]
fn ours(all: &[Project]) {
    let watched: Vec<Watched> = all.par_iter().map(watch).collect();
    let sum = |count: fn(&Watched) -> usize| watched.iter().map(count).sum::<usize>();
    let off = |at: usize| watched.iter().filter(|w| w.finally_off == Some(at)).count();
    let mut delays: Vec<usize> = watched
        .iter()
        .filter_map(|w| w.alarm)
        .map(|a| a.0)
        .collect();
    delays.sort_unstable();
    println!(
        "{} projects of 60 commits, a step of 3 %, 5 % outliers, {} looks",
        all.len(),
        51 * all.len()
    );
    println!(
        "  ours:  {} named (median delay {} commits); at the end the right commit {}, one beside {}, \
         none or farther {}; false alarms {}; looks with a second suspect {}; red after accept {}",
        delays.len(),
        delays.get(delays.len() / 2).copied().unwrap_or(0),
        off(0),
        off(1),
        all.len() - off(0) - off(1),
        sum(|w| w.false_alarms),
        sum(|w| w.second_suspects),
        sum(|w| w.red_after_accept),
    );
}

/// The same results shown to Apache Otava.
#[allow(clippy::print_stdout)]
fn otava(all: &[Project]) {
    let Some(python) = std::env::var_os("WARPSMITH_PEER_PYTHON") else {
        println!("  Otava: not run; WARPSMITH_PEER_PYTHON names no Python");
        return;
    };
    let rows: Vec<(usize, &[f64])> = all.iter().map(|p| (p.step_at, &p.medians[..])).collect();
    let mut child = std::process::Command::new(python)
        .args(["-c", include_str!("otava_projects.py")])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("the Python that was named starts");
    let input = child.stdin.take().expect("piped");
    serde_json::to_writer(input, &rows).expect("Otava reads its input");
    let status = child.wait().expect("it ends");
    if !status.success() {
        println!("  Otava: {status}");
    }
}
