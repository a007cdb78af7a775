//! A state that threads share and wait for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A state behind a lock, and word of its changes. A thread that panicked with the lock held leaves the state
/// as it is.
#[derive(Default)]
pub(crate) struct Watched<S> {
    state: Mutex<S>,
    changed: Condvar,
}

impl<S> Watched<S> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all who wait for a change.
    pub(crate) fn tell(&self) {
        self.changed.notify_all();
    }

    /// Waits until somebody tells of a change.
    pub(crate) fn wait<'s>(&self, state: MutexGuard<'s, S>) -> MutexGuard<'s, S> {
        (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Watched::wait`], at most that long.
    pub(crate) fn wait_for<'s>(
        &self,
        state: MutexGuard<'s, S>,
        limit: Duration,
    ) -> MutexGuard<'s, S> {
        let waited = self.changed.wait_timeout(state, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
