//! Opening a machine without waiting for it: NVML in a thread of its own, then each GPU in its own.
//!
//! Invariants: nothing here calls the driver from the caller's thread; a GPU that does not answer
//! keeps no other from being opened; whatever is waited for has a name.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::event::{GpuIdentity, Inventory, Unreachable};
use crate::host;
use crate::machine::{Machine, OpenError, Settings};
use crate::nvml::{GpuHandle, Library, LibraryError, Refusal};
use crate::pulse::Pulse;

/// More GPUs than any machine has: what a driver that counts more says is no count.
const MOST_GPUS: u32 = 1024;

/// What a thread has found out.
enum Arrival {
    Library(Result<Found, LibraryError>),
    Gpu(u32, Result<Box<(GpuHandle, GpuIdentity)>, Refusal>),
}

/// NVML as it answered, and the GPUs that are being opened.
struct Found {
    driver: Option<String>,
    nvml: Option<String>,
    count: u32,
    opening: Vec<(u32, Arc<Pulse>)>,
}

/// A machine that is being opened.
pub struct Opening {
    requested: Vec<u32>,
    inventory: Inventory,
    arrivals: Receiver<Arrival>,
    /// NVML's thread, until it has answered.
    library: Option<Arc<Pulse>>,
    /// GPUs that have not answered yet.
    gpus: Vec<(u32, Arc<Pulse>)>,
    opened: Vec<(GpuHandle, GpuIdentity)>,
    failure: Option<OpenError>,
}

impl Opening {
    /// Starts to open; never waits.
    pub fn begin(settings: &Settings) -> Self {
        let inventory = Inventory {
            cpu: host::cpu_name(&settings.proc_root),
            cores: host::cores(),
            host_pids: host::sees_host_pids(&settings.proc_root),
            ..Inventory::default()
        };
        let (send, arrivals) = channel();
        let pulse = Arc::new(Pulse::default());
        let (own, path, requested) = (
            Arc::clone(&pulse),
            settings.library.clone(),
            settings.gpus.clone(),
        );
        // Without a thread there is no NVML: the queue closes and says so.
        let _ = thread::Builder::new()
            .name("nvml".to_owned())
            .spawn(move || {
                own.attach();
                let found = Library::load(path.as_deref())
                    .map(|library| open_gpus(&library, &requested, &send));
                // Nobody listens any more where this fails.
                let _ = send.send(Arrival::Library(found));
            });
        Self {
            requested: settings.gpus.clone(),
            inventory,
            arrivals,
            library: Some(pulse),
            gpus: Vec::new(),
            opened: Vec::new(),
            failure: None,
        }
    }

    /// Waits until everything has answered, at most for `limit`; whether it has.
    pub fn wait(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while !self.is_complete() {
            match self
                .arrivals
                .recv_timeout(deadline - Instant::now().min(deadline))
            {
                Ok(arrival) => self.take(arrival),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => {
                    self.library = None;
                    self.gpus.clear();
                }
            }
        }
        true
    }

    /// Waits for one more answer, however long that takes; whether everything has answered.
    pub(crate) fn wait_for_one(&mut self) -> bool {
        match self.arrivals.recv() {
            Ok(arrival) => self.take(arrival),
            // Every thread has ended.
            Err(_) => (self.library, self.gpus) = (None, Vec::new()),
        }
        self.is_complete()
    }

    /// Whether everything has answered.
    pub fn is_complete(&self) -> bool {
        self.library.is_none() && self.gpus.is_empty()
    }

    /// What has not answered yet, and in which call.
    pub fn waits_for(&self) -> Vec<Unreachable> {
        let hangs = |gpu: Option<u32>, pulse: &Pulse| Unreachable {
            gpu,
            reason: match pulse.hangs_in(Duration::ZERO) {
                Some(call) => format!("{call} does not return"),
                None => "the driver does not answer".to_owned(),
            },
        };
        let library = self.library.iter().map(|pulse| hangs(None, pulse));
        let gpus = self.gpus.iter();
        library
            .chain(gpus.map(|(gpu, pulse)| hangs(Some(*gpu), pulse)))
            .collect()
    }

    /// What is known so far, with what has not answered named as unreachable.
    pub(crate) fn inventory(&self) -> Inventory {
        let mut inventory = self.inventory.clone();
        inventory.unreachable.extend(self.waits_for());
        inventory
    }

    /// The GPUs that have answered since the last time, by index.
    pub(crate) fn take_opened(&mut self) -> Vec<(GpuHandle, GpuIdentity)> {
        let mut opened = std::mem::take(&mut self.opened);
        opened.sort_by_key(|(_, identity)| identity.index);
        opened
    }

    /// Why what was requested cannot be done, where that is certain by now.
    pub(crate) fn failure(&mut self) -> Option<OpenError> {
        let absent = || {
            Some(OpenError::NoNvml {
                asked: *self.requested.first()?,
                reason: self.inventory.nvml_absent.clone()?,
            })
        };
        self.failure.take().or_else(absent)
    }

    /// The machine with what has answered. Fails where a GPU was requested that has not.
    pub fn finish(mut self) -> Result<Machine, OpenError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        if let (Some(&asked), Some(silent)) =
            (self.requested.first(), self.waits_for().into_iter().next())
        {
            return Err(OpenError::Silent {
                asked: silent.gpu.unwrap_or(asked),
                reason: silent.reason,
            });
        }
        let mut inventory = self.inventory();
        if let Some(pulse) = &self.library {
            let call = pulse.hangs_in(Duration::ZERO).unwrap_or("the driver");
            inventory.nvml_absent = Some(format!("NVML does not answer: {call} does not return"));
        }
        let (handles, gpus) = self.take_opened().into_iter().unzip();
        inventory.gpus = gpus;
        Ok(Machine { handles, inventory })
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Library(Err(error)) => {
                if matches!(error, LibraryError::NotStarted { .. }) {
                    self.inventory.unreachable.push(Unreachable {
                        gpu: None,
                        reason: error.to_string(),
                    });
                }
                self.inventory.nvml_absent = Some(error.to_string());
                self.library = None;
            }
            Arrival::Library(Ok(found)) => {
                self.library = None;
                (self.inventory.driver, self.inventory.nvml) = (found.driver, found.nvml);
                // Threads of GPUs may have been faster than this message.
                let answered = |gpu: u32| {
                    let opened = self.opened.iter().map(|(_, identity)| identity.index);
                    let refused = self.inventory.unreachable.iter().filter_map(|one| one.gpu);
                    opened.chain(refused).any(|known| known == gpu)
                };
                let mut gpus = found.opening;
                gpus.retain(|(gpu, _)| !answered(*gpu));
                self.gpus = gpus;
                let count = found.count;
                if let Some(&asked) = self.requested.iter().find(|asked| **asked >= count) {
                    self.failure = Some(OpenError::NoSuchGpu { asked, count });
                }
            }
            Arrival::Gpu(index, opened) => {
                self.gpus.retain(|(gpu, _)| *gpu != index);
                match opened {
                    Ok(gpu) => self.opened.push(*gpu),
                    Err(refusal) => {
                        if self.failure.is_none() && self.requested.contains(&index) {
                            self.failure = Some(OpenError::Unreachable {
                                asked: index,
                                refusal,
                            });
                        }
                        self.inventory.unreachable.push(Unreachable {
                            gpu: Some(index),
                            reason: refusal.to_string(),
                        });
                    }
                }
            }
        }
    }
}

/// Asks NVML what there is, and starts to open each of the GPUs.
fn open_gpus(library: &Library, requested: &[u32], arrivals: &Sender<Arrival>) -> Found {
    let (driver, nvml) = (library.driver_version(), library.nvml_version());
    let count = library.gpu_count().unwrap_or(0).min(MOST_GPUS);
    let chosen: Vec<u32> = match requested {
        [] => (0..count).collect(),
        indices => indices.iter().copied().filter(|gpu| *gpu < count).collect(),
    };
    let start = |index: u32| {
        let pulse = Arc::new(Pulse::default());
        let (own, library, arrivals) = (Arc::clone(&pulse), library.clone(), arrivals.clone());
        let open = move || {
            own.attach();
            let opened = library.gpu(index).and_then(|handle| {
                let identity = handle.identity()?;
                Ok(Box::new((handle, identity)))
            });
            // Nobody listens any more where this fails.
            let _ = arrivals.send(Arrival::Gpu(index, opened));
        };
        // A thread that does not start leaves a pulse that never answers, which is what it is.
        let _ = thread::Builder::new()
            .name(format!("open {index}"))
            .spawn(open);
        (index, pulse)
    };
    Found {
        driver,
        nvml,
        count,
        opening: chosen.into_iter().map(start).collect(),
    }
}
