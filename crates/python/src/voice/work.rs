//! Work outside the interpreter's lock, which Ctrl-C ends.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use warpsmith_voice::SignalError;
use warpsmith_voice::signal::interruptible;

use super::refused;

thread_local! {
    /// What tells this thread to stop beside Ctrl-C, which only the main thread hears.
    static SIGN: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Tells the threads that watch it to stop.
#[pyclass(frozen)]
#[derive(Default)]
pub(crate) struct StopSign(Arc<AtomicBool>);

#[pymethods]
impl StopSign {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Makes the calling thread stop what it does once the sign is raised.
    fn watch(&self) {
        SIGN.set(Some(Arc::clone(&self.0)));
    }

    /// Ends the work of all threads that watch.
    fn raise_(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `task` while other threads of the interpreter go on; ends it when the user presses Ctrl-C.
pub(super) fn work<T: Send>(
    py: Python<'_>,
    task: impl FnOnce() -> Result<T, SignalError> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let seen = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&seen);
        let sign = SIGN.with_borrow(Clone::clone);
        let goes_on = move || {
            if sign
                .as_ref()
                .is_some_and(|sign| sign.load(Ordering::Relaxed))
            {
                return false;
            }
            match Python::attach(|py| py.check_signals()) {
                Ok(()) => true,
                Err(raised) => {
                    slot.replace(Some(raised));
                    false
                }
            }
        };
        match interruptible(goes_on, task) {
            Some(done) => done.map_err(refused),
            None => Err(seen
                .take()
                .unwrap_or_else(|| PyKeyboardInterrupt::new_err("stopped"))),
        }
    })
}
