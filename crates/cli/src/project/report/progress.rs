//! The progress line: what is measured, and how much of its time has passed.
//!
//! It never counts down below what is left: a section that overruns its time says so, and what it is
//! finishing.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::job::Job;
use warpsmith_console::global::Global;
use warpsmith_console::output;

/// Draws while `work` runs the section `title`, which may take `budget`.
pub(crate) fn during<T>(
    global: &Global,
    job: &Job,
    title: &str,
    budget: Duration,
    work: impl FnOnce() -> T,
) -> T {
    if !output::is_watched(global) {
        return work();
    }
    let start = Instant::now();
    let (finish, finished) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            loop {
                let line = line(title, &job.current_step(), start.elapsed(), budget);
                output::progress(global, &line);
                let tick = finished.recv_timeout(Duration::from_millis(250));
                if tick != Err(mpsc::RecvTimeoutError::Timeout) {
                    break;
                }
            }
        });
        let made = work();
        drop(finish);
        made
    })
}

fn line(title: &str, step: &str, passed: Duration, budget: Duration) -> String {
    let times = format!(
        "{:.0} s of {:.0} s",
        passed.as_secs_f64(),
        budget.as_secs_f64()
    );
    match (step.is_empty(), passed > budget) {
        (true, _) => format!("{title} · {times}"),
        (false, false) => format!("{title} {step} · {times}"),
        (false, true) => format!("{title} · {times}, finishing {step}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_that_overruns_says_what_it_is_finishing() {
        let seconds = Duration::from_secs;
        assert_eq!(
            line("workloads", "12 of 16: md/lj", seconds(21), seconds(25)),
            "workloads 12 of 16: md/lj · 21 s of 25 s"
        );
        assert_eq!(
            line("workloads", "12 of 16: md/lj", seconds(31), seconds(25)),
            "workloads · 31 s of 25 s, finishing 12 of 16: md/lj"
        );
        assert_eq!(
            line("project", "", seconds(1), seconds(3)),
            "project · 1 s of 3 s"
        );
    }
}
