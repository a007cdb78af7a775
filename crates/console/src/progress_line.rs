//! How far something long is: a line that is overwritten where somebody watches, else one now and then.

use std::time::{Duration, Instant};

use crate::global::Global;
use crate::output;

/// How often a watched line changes: more is not read.
const WATCHED: Duration = Duration::from_millis(100);
/// How often a log gets a line.
const LOGGED: Duration = Duration::from_secs(5);

/// A line about how far something is.
pub struct ProgressLine<'g> {
    global: &'g Global,
    begun: Instant,
    last: Instant,
}

impl<'g> ProgressLine<'g> {
    /// Nothing is said yet.
    pub fn new(global: &'g Global) -> Self {
        let now = Instant::now();
        Self {
            global,
            begun: now,
            last: now,
        }
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Says how far it is, where it is time to.
    pub fn update(&mut self, text: impl FnOnce() -> String) {
        let watched = output::is_watched(self.global);
        if self.last.elapsed() < if watched { WATCHED } else { LOGGED } {
            return;
        }
        self.last = Instant::now();
        match watched {
            true => output::progress(self.global, &text()),
            false => output::note(self.global, &text()),
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        output::progress(self.global, "");
    }
}
