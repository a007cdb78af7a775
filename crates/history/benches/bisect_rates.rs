//! Prints how many builds and measurements a search for a slow commit takes, and how often its
//! answer is right, in simulated repositories: 12 and 60 commits, steps of 3, 4 and 5 %, readings
//! with standard errors from 0.2 to 1.5 %, and builds that differ by 0.3 % for where they lie.
//!
//! `cargo bench -p warpsmith-history --bench bisect_rates -- 2000`: repositories per line.

use std::convert::Infallible;

use warpsmith_history::bisect::{Found, Reading, SearchPlan, search};
use warpsmith_workload::random::Random;

struct Repository {
    place: usize,
    step: f64,
    /// What each build adds for its placement.
    placement: Vec<f64>,
}

impl Repository {
    fn new(random: &mut Random, commits: usize, step: f64) -> Self {
        Self {
            place: random.below(commits),
            step: step.ln_1p(),
            placement: (0..commits).map(|_| 0.003 * random.normal()).collect(),
        }
    }

    fn reading(&self, random: &mut Random, index: usize, error: f64) -> Reading {
        let level = if index >= self.place { self.step } else { 0.0 };
        Reading {
            change: level + self.placement[index] + error * random.normal(),
            error,
        }
    }
}

#[allow(clippy::print_stdout)]
fn main() {
    let repeats: usize = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(500);
    println!("{repeats} repositories per line; the two ends are built and measured besides");
    println!("commits  step  error  builds (most)  measurements (most)  right  wrong  range left");
    for commits in [12, 60] {
        for step in [0.03, 0.04, 0.05] {
            for error in [0.002, 0.005, 0.010, 0.015] {
                let mut random = Random::seeded(commits as u64);
                let found: Vec<(usize, Found)> = (0..repeats)
                    .map(|_| {
                        let repository = Repository::new(&mut random, commits, step);
                        let whole = repository.reading(&mut random, commits - 1, error);
                        let Ok(found) = search::<Infallible>(
                            commits,
                            whole,
                            &SearchPlan::default(),
                            &mut |index| Ok(repository.reading(&mut random, index, error)),
                        );
                        (repository.place, found)
                    })
                    .collect();
                let mean = |of: fn(&Found) -> usize| {
                    found.iter().map(|(_, f)| of(f)).sum::<usize>() as f64 / repeats as f64
                };
                let most =
                    |of: fn(&Found) -> usize| found.iter().map(|(_, f)| of(f)).max().unwrap_or(0);
                let share = |says: &dyn Fn(usize, &Found) -> bool| {
                    let count = found.iter().filter(|(place, f)| says(*place, f)).count();
                    100.0 * count as f64 / repeats as f64
                };
                println!(
                    "{commits:7}  {:3.0} %  {:3.1} %  {:6.1} ({:4})  {:12.1} ({:4})  {:3.0} %  {:3.1} %  {:8.1} %",
                    100.0 * step,
                    100.0 * error,
                    mean(|f| f.built),
                    most(|f| f.built),
                    mean(|f| f.measured),
                    most(|f| f.measured),
                    share(&|place, f| f.is_certain() && f.first == place),
                    share(&|place, f| f.is_certain() && f.first != place),
                    share(&|_, f| !f.is_certain()),
                );
            }
        }
    }
}
