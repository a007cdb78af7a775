//! The thread pool that CPU work runs on.
//!
//! One pool for the process, as wide as affinity and container quota allow: more threads than
//! quota make a container's scheduler stop all of them for the rest of its period.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::CpuFacts;
use crate::error::DeviceError;

/// The CPU as a device.
#[derive(Clone, Debug)]
pub struct CpuDevice {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    facts: CpuFacts,
    pool: ThreadPool,
}

thread_local! {
    static POOL_WAITS: Cell<u64> = const { Cell::new(0) };
}

static SHARED: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

impl CpuDevice {
    /// Opens the CPU; the pool is made by the first call.
    pub fn open() -> Result<Self, DeviceError> {
        let mut slot = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = &*slot {
            return Ok(Self {
                shared: Arc::clone(shared),
            });
        }
        let facts = CpuFacts::read();
        let pool = pool_of(facts.usable_cores)?;
        let shared = Arc::new(Shared { facts, pool });
        *slot = Some(Arc::clone(&shared));
        Ok(Self { shared })
    }

    /// A CPU device of its own with `threads` workers, for scaling studies.
    pub fn with_threads(threads: usize) -> Result<Self, DeviceError> {
        let pool = pool_of(threads)?;
        Ok(Self {
            shared: Arc::new(Shared {
                facts: CpuFacts::read(),
                pool,
            }),
        })
    }

    /// What the CPU is.
    pub fn facts(&self) -> &CpuFacts {
        &self.shared.facts
    }

    /// How many workers the pool has.
    pub fn threads(&self) -> usize {
        self.shared.pool.current_num_threads()
    }

    /// Runs `work` on the pool; parallel iterators of rayon inside it use this pool's workers.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        POOL_WAITS.set(POOL_WAITS.get() + 1);
        self.shared.pool.install(work)
    }

    /// Wakes every worker once.
    pub fn warm_up(&self) {
        self.shared.pool.broadcast(|_| ());
    }
}

/// How often this thread has waited for a pool to do its work. Where that happened, the thread's own
/// CPU time says nothing about the work.
pub fn pool_waits() -> u64 {
    POOL_WAITS.get()
}

fn pool_of(threads: usize) -> Result<ThreadPool, DeviceError> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("warpsmith-{index}"))
        .build()
        .map_err(|error| DeviceError::NoThreads {
            threads,
            seen: error.to_string(),
        })
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn the_pool_is_made_once_and_as_wide_as_allowed() {
        let (a, b) = (CpuDevice::open().unwrap(), CpuDevice::open().unwrap());
        assert!(Arc::ptr_eq(&a.shared, &b.shared));
        assert_eq!(a.threads(), a.facts().usable_cores);
    }

    #[test]
    fn parallel_work_runs_on_this_pool() {
        let cpu = CpuDevice::with_threads(3).unwrap();
        let widest = cpu.run(|| {
            (0..64)
                .into_par_iter()
                .map(|_| rayon::current_num_threads())
                .max()
        });
        assert_eq!(widest, Some(3));
    }
}
