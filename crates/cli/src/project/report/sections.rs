//! The sections of a run, in the order in which they are measured, with their budgets.

use std::time::{Duration, Instant};

use anyhow::Result;
use warpsmith_report::Facts;
use warpsmith_report::document::{SectionRun, Status};

use super::collect;
use super::job::Job;
use super::progress;
use warpsmith_console::global::Global;

/// A section of a run.
pub(crate) struct Section {
    id: &'static str,
    title: &'static str,
    /// Seconds that it may take in a quick and in a full run.
    budget: (f64, f64),
    /// Fills in facts; returns why there was nothing to do, where that is so.
    collect: fn(&Job, &mut Facts) -> Result<Option<String>>,
}

/// The sections. The machine at rest comes before anything that heats it; what tells most comes
/// before what may be left out.
const SECTIONS: &[Section] = &[
    Section {
        id: "environment",
        title: "environment",
        budget: (2.0, 5.0),
        collect: collect::environment::collect,
    },
    Section {
        id: "rest",
        title: "machine at rest",
        budget: (5.0, 30.0),
        collect: collect::rest::collect,
    },
    Section {
        id: "project",
        title: "project",
        budget: (3.0, 10.0),
        collect: collect::project::collect,
    },
    Section {
        id: "numbers",
        title: "machine numbers",
        budget: (6.0, 15.0),
        collect: collect::numbers::collect,
    },
    Section {
        id: "latency",
        title: "workloads",
        budget: (11.0, 120.0),
        collect: collect::latency::collect,
    },
    Section {
        id: "sweeps",
        title: "sizes",
        budget: (6.0, 130.0),
        collect: collect::sweeps::collect,
    },
    Section {
        id: "leak",
        title: "memory over a trajectory",
        budget: (2.0, 20.0),
        collect: collect::leak::collect,
    },
    Section {
        id: "matrix",
        title: "techniques",
        budget: (7.0, 100.0),
        collect: collect::matrix::collect,
    },
    Section {
        id: "parity",
        title: "GPU compared with CPU",
        budget: (4.0, 30.0),
        collect: collect::parity::collect,
    },
    Section {
        id: "corpus",
        title: "data set",
        budget: (2.0, 8.0),
        collect: collect::corpus::collect,
    },
    Section {
        id: "ladder",
        title: "other programs",
        budget: (0.0, 60.0),
        collect: collect::ladder::collect,
    },
    Section {
        id: "sound",
        title: "sound",
        budget: (0.0, 3.0),
        collect: collect::sound::collect,
    },
    Section {
        id: "noise",
        title: "noise",
        budget: (0.5, 1.0),
        collect: collect::noise::collect,
    },
];

/// Seconds that a run may take in all.
pub(crate) fn allowed_seconds(job: &Job) -> f64 {
    job.pick(60.0, 600.0)
}

/// Runs every section within its budget and within the run's.
pub(crate) fn run(global: &Global, job: &mut Job, facts: &mut Facts) {
    let started = Instant::now();
    let end = started + Duration::from_secs_f64(allowed_seconds(job));
    for section in SECTIONS {
        let budget = job.pick(section.budget.0, section.budget.1);
        let now = Instant::now();
        job.until = (now + Duration::from_secs_f64(budget)).min(end);
        job.step("");
        let allowed = Duration::from_secs_f64(budget);
        let status = if budget == 0.0 {
            Status::Skipped("only in `--full`".to_owned())
        } else if job.interruption.came() {
            Status::Interrupted
        } else if now >= end {
            let why = format!("{}: the run's time was up", section.title);
            facts.left_out.push(why);
            Status::Skipped("the run's time was up".to_owned())
        } else {
            let job = &*job;
            let collect = || (section.collect)(job, facts);
            match progress::during(global, job, section.title, allowed, collect) {
                Ok(None) if job.interruption.came() => Status::Interrupted,
                Ok(None) => Status::Done,
                Ok(Some(why)) => Status::Skipped(why),
                Err(error) => Status::Failed(format!("{error:#}")),
            }
        };
        facts.sections.push(SectionRun {
            id: section.id.to_owned(),
            title: section.title.to_owned(),
            status,
            seconds: now.elapsed().as_secs_f64(),
            budget_seconds: budget,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budgets_fit_into_the_run() {
        let sum = |pick: fn(&Section) -> f64| SECTIONS.iter().map(pick).sum::<f64>();
        assert!(sum(|section| section.budget.0) < 52.0);
        assert!(sum(|section| section.budget.1) < 600.0);
    }
}
