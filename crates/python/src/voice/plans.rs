//! Plans of analyses that were made last, so that many short signals do not pay for tables again and again.

use std::sync::{Mutex, PoisonError};

/// Plans that are kept of each kind.
const KEPT: usize = 8;
/// Numbers that a kept plan may hold: 4 MiB. Beside the work of a larger one its tables cost nothing.
const SMALL: usize = 1 << 20;

/// The plans of one kind by their settings, the last one used at the end. A thread that uses a plan has it alone.
pub(super) struct Plans<S, P>(Mutex<Vec<(S, P)>>);

impl<S: PartialEq, P> Plans<S, P> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Does `task` with the plan of `settings`, which then holds about so many numbers. A plan whose work fails or
    /// is stopped is not kept.
    pub(super) fn with<T, E>(
        &self,
        settings: S,
        numbers: usize,
        make: impl FnOnce() -> Result<P, E>,
        task: impl FnOnce(&mut P) -> Result<T, E>,
    ) -> Result<T, E> {
        let kept = {
            let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = plans.iter().position(|(of, _)| *of == settings);
            place.map(|place| plans.remove(place).1)
        };
        let mut plan = match kept {
            Some(plan) => plan,
            None => make()?,
        };
        let result = task(&mut plan)?;
        if numbers <= SMALL {
            let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if plans.len() == KEPT {
                plans.remove(0);
            }
            plans.push((settings, plan));
        }
        Ok(result)
    }
}
