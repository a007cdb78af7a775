//! Where a thread is that may be inside of the driver: in which call, and since when.
//!
//! A call of the driver can hang for ever, and no thread can be made to come back from it. So each
//! thread that calls has a pulse, which others read: they say what it waits for, and go on without
//! it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What one thread does.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    inside: Mutex<Option<(&'static str, Instant)>>,
    rounds: AtomicU64,
    ended: AtomicBool,
}

thread_local! {
    static OWN: RefCell<Option<Arc<Pulse>>> = const { RefCell::new(None) };
}

impl Pulse {
    /// Makes this the pulse of the calling thread.
    pub(crate) fn attach(self: &Arc<Self>) {
        OWN.set(Some(Arc::clone(self)));
    }

    fn set(&self, inside: Option<(&'static str, Instant)>) {
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) = inside;
    }

    /// The call that has taken longer than `limit`.
    pub(crate) fn hangs_in(&self, limit: Duration) -> Option<&'static str> {
        let inside = *self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.and_then(|(call, since)| (since.elapsed() > limit).then_some(call))
    }

    /// Counts one round of readings.
    pub(crate) fn count_round(&self) {
        self.rounds.fetch_add(1, Ordering::Release);
    }

    /// Rounds so far.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Acquire)
    }

    /// Says that the thread has taken its last readings.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Whether it has.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// Makes a call of the driver, for everybody to see who reads this thread's pulse.
pub(crate) fn inside<T>(call: &'static str, make: impl FnOnce() -> T) -> T {
    OWN.with_borrow(|pulse| {
        if let Some(pulse) = pulse {
            pulse.set(Some((call, Instant::now())));
        }
    });
    let made = make();
    OWN.with_borrow(|pulse| {
        if let Some(pulse) = pulse {
            pulse.set(None);
        }
    });
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_seen_while_it_lasts() {
        let pulse = Arc::new(Pulse::default());
        pulse.attach();
        let seen = inside("nvmlInit_v2", || pulse.hangs_in(Duration::ZERO));
        assert_eq!(seen, Some("nvmlInit_v2"));
        assert_eq!(pulse.hangs_in(Duration::ZERO), None, "it came back");
        let patient = inside("nvmlInit_v2", || pulse.hangs_in(Duration::MAX));
        assert_eq!(patient, None, "not long enough");
    }
}
