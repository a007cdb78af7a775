//! SM clocks kept at one frequency while something is measured.
//!
//! Invariants: the driver is called from threads of their own, one for each GPU, and no wait for them is
//! without a limit; what was locked is given back when this value is dropped, also where another GPU
//! refused or hangs, and also where a call comes back after it was given up. A process that is killed
//! drops nothing: whoever must be sure of it holds this in a second process that outlives the first.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::pulse::Pulse;
use crate::source::Refusal;
use crate::source::nvidia::{Library, LibraryError};

/// More GPUs than any machine has: what a driver that counts more says is no count.
const MOST_GPUS: u32 = 1024;
/// What a drop waits for the driver.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Clocks that are locked, or about to be; they are given back with this value.
pub struct ClockLock {
    arrivals: Receiver<Arrival>,
    end: Arc<End>,
    /// NVML's thread, until it has answered.
    library: Option<Arc<Pulse>>,
    gpus: Vec<Gpu>,
    failure: Option<LockError>,
}

/// A GPU and its thread.
struct Gpu {
    pulse: Arc<Pulse>,
    /// MHz, once it is locked.
    mhz: Option<u32>,
    /// Whether its thread may still call the driver.
    alive: bool,
}

/// What a thread has to say.
enum Arrival {
    Library(Result<Vec<Arc<Pulse>>, LibraryError>),
    Locked(usize, u32),
    Refused(usize, LockError),
    /// It calls the driver no more.
    Ended(usize),
}

/// Tells every thread that the clocks are to be given back.
#[derive(Default)]
struct End {
    come: Mutex<bool>,
    changed: Condvar,
}

impl End {
    fn has_come(&self) -> bool {
        *self.come.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        *self.come.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let mut come = self.come.lock().unwrap_or_else(PoisonError::into_inner);
        while !*come {
            come = self
                .changed
                .wait(come)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Why clocks were not locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// There is no NVML.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// NVML knows no GPU.
    #[error("there is no GPU whose clocks could be locked")]
    NoGpu,
    /// A call of the driver does not return.
    #[error("cannot lock clocks: the driver does not answer within {seconds} s ({waits_for})")]
    Silent {
        /// How long it was given.
        seconds: u64,
        /// What was waited for.
        waits_for: String,
    },
    /// The driver does not let this user lock clocks.
    #[error("GPU {gpu}: the driver does not permit locking clocks (hint: run as root, or `sudo nvidia-smi -lgc {}` before)", .mhz.map_or("MHZ".to_owned(), |mhz| mhz.to_string()))]
    NotPermitted {
        /// Which GPU.
        gpu: u32,
        /// The frequency that was requested.
        mhz: Option<u32>,
    },
    /// The frequency is above the GPU's highest.
    #[error("GPU {gpu} has no clock of {mhz} MHz")]
    NoSuchClock {
        /// Which GPU.
        gpu: u32,
        /// The frequency that was requested.
        mhz: u32,
    },
    /// Anything else.
    #[error("GPU {gpu}: cannot lock clocks: {refusal}")]
    Refused {
        /// Which GPU.
        gpu: u32,
        /// What the driver said.
        refusal: Refusal,
    },
}

impl ClockLock {
    /// Starts to lock every GPU's SM clock at `mhz`, or each at its highest; never waits.
    pub fn begin(mhz: Option<u32>) -> Self {
        let (send, arrivals) = channel();
        let end = Arc::new(End::default());
        let pulse = Arc::new(Pulse::default());
        let (own, own_end) = (Arc::clone(&pulse), Arc::clone(&end));
        // Without a thread the queue closes, and says so.
        let _ = thread::Builder::new()
            .name("clocks".to_owned())
            .spawn(move || {
                own.attach();
                match Library::load(None) {
                    Ok(library) => each(&library, mhz, &own_end, &send),
                    Err(error) => tell(&send, Arrival::Library(Err(error))),
                }
            });
        Self {
            arrivals,
            end,
            library: Some(pulse),
            gpus: Vec::new(),
            failure: None,
        }
    }

    /// Waits until every GPU has answered, at most for `limit`; whether they have.
    pub fn wait(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while !self.is_complete() {
            if !self.take_one(until) {
                return false;
            }
        }
        true
    }

    fn is_complete(&self) -> bool {
        let answered = |gpu: &Gpu| gpu.mhz.is_some() || !gpu.alive;
        self.library.is_none() && (self.failure.is_some() || self.gpus.iter().all(answered))
    }

    /// What has not answered yet, and in which call.
    pub fn waits_for(&self) -> String {
        let names = |pulse: &Pulse| match pulse.hangs_in(Duration::ZERO) {
            Some(call) => format!("{call} does not return"),
            None => "nothing comes back".to_owned(),
        };
        if let Some(pulse) = &self.library {
            return names(pulse);
        }
        let waiting = self.gpus.iter().enumerate();
        let waiting = waiting.filter(|(_, gpu)| gpu.alive && gpu.mhz.is_none());
        let waiting: Vec<String> = waiting
            .map(|(nth, gpu)| format!("GPU {nth}: {}", names(&gpu.pulse)))
            .collect();
        waiting.join("; ")
    }

    /// The frequency of each GPU in MHz, after a wait of `waited` in all.
    pub fn locked(&mut self, waited: Duration) -> Result<Vec<u32>, LockError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if !self.is_complete() {
            return Err(LockError::Silent {
                seconds: waited.as_secs(),
                waits_for: self.waits_for(),
            });
        }
        match self.gpus.is_empty() {
            true => Err(LockError::NoGpu),
            false => Ok(self.gpus.iter().filter_map(|gpu| gpu.mhz).collect()),
        }
    }

    /// Gives the clocks back and waits for it, at most for `limit`; whether the driver took them all.
    pub fn give_back(&mut self, limit: Duration) -> bool {
        self.end.announce();
        let until = Instant::now() + limit;
        while self.library.is_some() || self.gpus.iter().any(|gpu| gpu.alive) {
            if !self.take_one(until) {
                return false;
            }
        }
        true
    }

    /// Takes one arrival in; whether there was one in time.
    fn take_one(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        match self.arrivals.recv_timeout(left) {
            Ok(arrival) => self.take(arrival),
            Err(RecvTimeoutError::Timeout) => return false,
            // Every thread has ended.
            Err(RecvTimeoutError::Disconnected) => {
                self.library = None;
                self.gpus.iter_mut().for_each(|gpu| gpu.alive = false);
            }
        }
        true
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Library(Ok(pulses)) => {
                self.library = None;
                let gpus = pulses.into_iter().map(|pulse| Gpu {
                    pulse,
                    mhz: None,
                    alive: true,
                });
                self.gpus = gpus.collect();
            }
            Arrival::Library(Err(error)) => {
                self.library = None;
                self.failure = Some(error.into());
            }
            Arrival::Locked(nth, mhz) => self.gpus[nth].mhz = Some(mhz),
            Arrival::Refused(nth, error) => {
                self.gpus[nth].alive = false;
                self.failure.get_or_insert(error);
            }
            Arrival::Ended(nth) => self.gpus[nth].alive = false,
        }
    }
}

impl Drop for ClockLock {
    fn drop(&mut self) {
        // Nothing better can be done about a driver that takes nothing back.
        let _ = self.give_back(LAST_WAIT);
    }
}

/// Says it; where nobody listens any more there is nothing to say.
fn tell(arrivals: &Sender<Arrival>, arrival: Arrival) {
    let _ = arrivals.send(arrival);
}

/// Starts a thread for each GPU.
fn each(library: &Library, mhz: Option<u32>, end: &Arc<End>, arrivals: &Sender<Arrival>) {
    let count = library.gpu_count().unwrap_or(0).min(MOST_GPUS);
    let pulses: Vec<_> = (0..count).map(|_| Arc::new(Pulse::default())).collect();
    // Their places are known before the first of them can say something.
    tell(arrivals, Arrival::Library(Ok(pulses.clone())));
    for (gpu, own) in (0..count).zip(pulses) {
        let (library, end, arrivals) = (library.clone(), Arc::clone(end), arrivals.clone());
        let keep = move || {
            own.attach();
            keep_locked(&library, gpu, mhz, &end, &arrivals);
        };
        // A thread that does not start leaves a pulse that never answers, which is what it is.
        let _ = thread::Builder::new()
            .name(format!("clock {gpu}"))
            .spawn(keep);
    }
}

/// Locks a GPU's clock, waits for the end and gives it back.
fn keep_locked(
    library: &Library,
    gpu: u32,
    mhz: Option<u32>,
    end: &End,
    arrivals: &Sender<Arrival>,
) {
    let refused = |refusal| match (refusal, mhz) {
        (Refusal::NoPermission, _) => LockError::NotPermitted { gpu, mhz },
        (Refusal::OutOfRange, Some(mhz)) => LockError::NoSuchClock { gpu, mhz },
        _ => LockError::Refused { gpu, refusal },
    };
    let nth = gpu as usize;
    let handle = match library.gpu(gpu) {
        // Given up while the driver was silent: nobody wants it locked any more.
        Ok(_) if end.has_come() => return tell(arrivals, Arrival::Ended(nth)),
        Ok(handle) => handle,
        Err(refusal) => return tell(arrivals, Arrival::Refused(nth, refused(refusal))),
    };
    match handle.lock_clocks(mhz) {
        Ok(set) => tell(arrivals, Arrival::Locked(nth, set)),
        Err(refusal) => return tell(arrivals, Arrival::Refused(nth, refused(refusal))),
    }
    end.wait();
    // Nothing better can be done about a driver that takes nothing back.
    let _ = handle.unlock_clocks();
    tell(arrivals, Arrival::Ended(nth));
}
