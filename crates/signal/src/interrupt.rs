//! Long work that somebody may want to stop: loops over frames pass [`checkpoint`], and whoever started
//! them in [`interruptible`] is asked now and then whether to go on.
//!
//! An analysis has no half result to return, so it is left by unwinding; plans that it borrowed are not to be
//! used again.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// How often the question is put: often enough for a person who waits.
const EVERY: Duration = Duration::from_millis(50);

/// The work of this thread that can be stopped.
struct Watch {
    asked: Instant,
    goes_on: Box<dyn FnMut() -> bool>,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// What unwinds.
struct Interrupted;

/// Does `work`; `None` where `goes_on`, which is asked every 50 ms or less often, says no.
pub fn interruptible<T>(
    goes_on: impl FnMut() -> bool + 'static,
    work: impl FnOnce() -> T,
) -> Option<T> {
    let watch = Watch {
        asked: Instant::now(),
        goes_on: Box::new(goes_on),
    };
    let outer = WATCH.replace(Some(watch));
    let done = catch_unwind(AssertUnwindSafe(work));
    WATCH.set(outer);
    match done {
        Ok(value) => Some(value),
        Err(reason) if reason.is::<Interrupted>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// A place at which long work can end. Costs a few nanoseconds.
#[inline(never)]
pub fn checkpoint() {
    let due = WATCH.with_borrow_mut(|watch| watch.take_if(|watch| watch.asked.elapsed() >= EVERY));
    // Whoever is asked may do such work itself, so the watch is put aside.
    if let Some(mut watch) = due {
        let goes_on = (watch.goes_on)();
        watch.asked = Instant::now();
        WATCH.set(Some(watch));
        if !goes_on {
            resume_unwind(Box::new(Interrupted));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_when_it_is_told_to_and_only_then() {
        let start = Instant::now();
        let endless = interruptible(
            || false,
            || {
                loop {
                    checkpoint();
                }
            },
        );
        assert_eq!(endless, None::<()>);
        assert!(start.elapsed() >= EVERY);
        let asked = std::rc::Rc::new(std::cell::Cell::new(0));
        let count = std::rc::Rc::clone(&asked);
        let patient = interruptible(
            move || {
                count.set(count.get() + 1);
                true
            },
            || {
                while start.elapsed() < 4 * EVERY {
                    checkpoint();
                }
                7
            },
        );
        assert_eq!(patient, Some(7));
        assert!((1..=4).contains(&asked.get()), "{}", asked.get());
        // Outside of any such work nothing happens.
        checkpoint();
    }

    #[test]
    fn a_panic_stays_one() {
        let panic = catch_unwind(|| interruptible(|| true, || panic!("a defect")));
        assert!(panic.is_err());
        checkpoint();
    }
}
