//! How long a run on the CPU would have taken, had its threads not waited for cores that others used.
//!
//! Short runs need nothing of the kind: among several there is one that nobody interrupted. A run
//! longer than a time slice is interrupted every time on a busy machine. The scheduler counts what
//! each thread ran, and a run cannot take less than its busiest thread; on a quiet machine it takes
//! little more.

use std::fs;
use std::time::Instant;

/// Runs below this many seconds fit between two interruptions.
const SHORT: f64 = 1e-3;

/// A run being timed.
pub(crate) struct Stopwatch {
    begun: Instant,
    before: Vec<(String, u64)>,
}

impl Stopwatch {
    /// Starts; `expected` is what the run took before, in seconds. Counters are read for long runs
    /// only: reading them takes some microseconds.
    pub(crate) fn start(expected: f64) -> Self {
        let before = if expected > SHORT {
            thread_nanoseconds()
        } else {
            Vec::new()
        };
        Self {
            begun: Instant::now(),
            before,
        }
    }

    /// Seconds since the start, less what threads waited for cores.
    pub(crate) fn stop(self) -> f64 {
        let wall = self.begun.elapsed().as_secs_f64();
        if self.before.is_empty() {
            return wall;
        }
        let since = |(thread, now): (String, u64)| {
            let known = self.before.iter().find(|(name, _)| *name == thread);
            now.saturating_sub(known.map_or(0, |(_, before)| *before))
        };
        let busiest = thread_nanoseconds().into_iter().map(since).max();
        undisturbed(wall, busiest.unwrap_or(0) as f64 / 1e9)
    }
}

/// A run whose threads hardly ran was not waiting for cores but for something else.
fn undisturbed(wall: f64, busiest: f64) -> f64 {
    if busiest > 0.05 * wall {
        wall.min(busiest)
    } else {
        wall
    }
}

/// What each thread of this process has run so far, by its number; empty where nobody counts.
fn thread_nanoseconds() -> Vec<(String, u64)> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks
        .flatten()
        .filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            let ran = text.split_whitespace().next()?.parse().ok()?;
            Some((task.file_name().to_string_lossy().into_owned(), ran))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn waiting_for_a_core_is_taken_off_and_waiting_for_a_device_is_not() {
        assert_eq!(undisturbed(0.010, 0.004), 0.004);
        assert_eq!(undisturbed(0.010, 0.011), 0.010);
        assert_eq!(undisturbed(0.010, 0.000_1), 0.010);
    }

    #[test]
    fn a_run_takes_no_less_than_what_its_busiest_thread_ran() {
        let watch = Stopwatch::start(1.0);
        let begun = Instant::now();
        let spin = || {
            let before = thread_nanoseconds().len();
            while begun.elapsed() < Duration::from_millis(20) {}
            before
        };
        let threads = std::thread::scope(|scope| {
            let other = scope.spawn(spin);
            other.join().unwrap()
        });
        let wall = begun.elapsed().as_secs_f64();
        let seconds = watch.stop();
        assert!(threads >= 2, "the kernel counts threads");
        assert!(
            seconds > 0.0 && seconds <= wall * 1.5,
            "{seconds} of {wall}"
        );
        // Nothing is read for a short run.
        assert!(Stopwatch::start(1e-6).before.is_empty());
    }
}
