//! Simulated projects that use `history` as a gate: sixty commits, one of them 3 % slower, now and
//! then an outlier, and somebody who accepts the change when the gate names it.

use warpsmith_history::detectors::{stands_out, suspects};
use warpsmith_history::gate::changes;
use warpsmith_history::store::{Accepted, Point};
use warpsmith_workload::random::Random;

const COMMITS: usize = 60;
pub(crate) const PROJECTS: usize = 14;

/// The medians of one project's commits.
pub(crate) struct Project {
    pub(crate) medians: Vec<f64>,
    /// The commit that is 3 % slower than the one before it.
    pub(crate) step_at: usize,
}

/// Fourteen projects; another seed gives fourteen others.
pub(crate) fn projects(seed: u64) -> Vec<Project> {
    (0..PROJECTS as u64)
        .map(|index| project(&mut Random::seeded(0x9e37 + 1000 * seed + index)))
        .collect()
}

fn project(random: &mut Random) -> Project {
    let step_at = 15 + random.below(36);
    // What the median of a stored result varies by on a machine that others use, too.
    let noise = 0.003 + 0.007 * random.unit();
    let mut medians: Vec<f64> = Vec::new();
    for commit in 0..COMMITS {
        let level = if commit >= step_at { 1.03 } else { 1.0 };
        let mut measure = || {
            let outlier = match random.unit() < 0.05 {
                true => 1.05 + 0.25 * random.unit(),
                false => 1.0,
            };
            level * outlier * (1.0 + noise * random.normal())
        };
        medians.push(measure());
        // What stands out is measured twice more, as `history check` asks for.
        if stands_out(&medians) {
            let mut three = [medians[commit], measure(), measure()];
            three.sort_unstable_by(f64::total_cmp);
            medians[commit] = three[1];
        }
    }
    Project { medians, step_at }
}

/// What happened to those who watched a project.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// The gate's first red: after how many commits of the new level, and how many commits beside
    /// the right one it pointed.
    pub(crate) alarm: Option<(usize, usize)>,
    /// Reds before the step.
    pub(crate) false_alarms: usize,
    /// Looks with a second slower suspect.
    pub(crate) second_suspects: usize,
    /// Reds after the change had been accepted.
    pub(crate) red_after_accept: usize,
    /// How many commits beside the right one the suspect is when all commits are there.
    pub(crate) finally_off: Option<usize>,
}

/// Runs the gate after every commit; the first change that it names is accepted.
pub(crate) fn watch(project: &Project) -> Watched {
    let points: Vec<Point> = (0..COMMITS)
        .map(|index| Point {
            id: index as i64,
            commit: format!("commit-{index:04}"),
            at: index as i64,
            median: project.medians[index],
            low: project.medians[index],
            high: project.medians[index],
            count: 10,
            runs: 1,
        })
        .collect();
    let mut accepted: Vec<Accepted> = Vec::new();
    let mut watched = Watched::default();
    for seen in 10..=COMMITS {
        let found = suspects(&project.medians[..seen]);
        let slower = found.iter().filter(|suspect| suspect.change > 0.0);
        watched.second_suspects += usize::from(slower.count() > 1);
        let judged = changes(&points[..seen], &found, &accepted, "b", None);
        for change in judged.iter().filter(|change| change.judged) {
            let index = change.suspect.index;
            if seen <= project.step_at {
                watched.false_alarms += 1;
            } else if accepted.is_empty() {
                watched.alarm = Some((seen - project.step_at, index.abs_diff(project.step_at)));
                accepted.push(Accepted {
                    code: "M040".into(),
                    commit: points[index].commit.clone(),
                    benchmark: None,
                    reason: "wanted".into(),
                    at: 0,
                });
            } else {
                watched.red_after_accept += 1;
            }
        }
        if seen == COMMITS {
            let places = found.iter().filter(|suspect| suspect.change > 0.0);
            watched.finally_off = places
                .map(|suspect| suspect.index.abs_diff(project.step_at))
                .min();
        }
    }
    watched
}
