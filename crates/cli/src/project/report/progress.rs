//! The report's progress bar: how much of the planned time has passed, and how much is left.
//!
//! Invariant: the bar never runs ahead of the work: a part counts at most its own share until it is
//! done, and what earlier parts took longer or shorter corrects the time that is left.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::parts::{PARTS, Part};
use crate::global::Global;
use crate::output;

pub(crate) struct Bar<'a> {
    global: &'a Global,
    quick: bool,
    done: f64,
    total: f64,
    started: Instant,
}

impl<'a> Bar<'a> {
    pub(crate) fn new(global: &'a Global, quick: bool) -> Self {
        let total = PARTS.iter().map(|part| planned(part, quick)).sum();
        Self {
            global,
            quick,
            done: 0.0,
            total,
            started: Instant::now(),
        }
    }

    /// Draws while `work` makes `part`.
    pub(crate) fn during<T>(&mut self, part: &Part, work: impl FnOnce() -> T) -> T {
        let share = planned(part, self.quick);
        let start = Instant::now();
        let (finish, finished) = mpsc::channel::<()>();
        let made = thread::scope(|scope| {
            let bar = &*self;
            scope.spawn(move || {
                loop {
                    let passed = start.elapsed().as_secs_f64().min(0.98 * share);
                    output::progress(bar.global, &bar.line(part.title, bar.done + passed));
                    let tick = finished.recv_timeout(Duration::from_millis(250));
                    if tick != Err(mpsc::RecvTimeoutError::Timeout) {
                        break;
                    }
                }
            });
            let made = work();
            drop(finish);
            made
        });
        self.done += share;
        made
    }

    pub(crate) fn finish(self) {
        output::progress(self.global, "");
    }

    fn line(&self, title: &str, passed: f64) -> String {
        const WIDTH: usize = 30;
        let filled = (passed / self.total * WIDTH as f64) as usize;
        format!(
            "[{}{}] {:.0} s, about {:.0} s left  {title}",
            "#".repeat(filled),
            "-".repeat(WIDTH - filled.min(WIDTH)),
            self.started.elapsed().as_secs_f64(),
            self.total - passed,
        )
    }
}

fn planned(part: &Part, quick: bool) -> f64 {
    if quick {
        part.seconds.0
    } else {
        part.seconds.1
    }
}
