//! Opening a machine without waiting for it: NVML in a thread of its own, then each GPU in its own.
//!
//! Invariants: nothing here calls a driver from the caller's thread; a GPU that does not answer
//! keeps no other from being opened; whatever is waited for has a name. NVML's GPUs are counted first,
//! those of the kernel's cards behind them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::event::{GpuIdentity, Inventory, Unreachable};
use crate::host;
use crate::machine::{Machine, OpenError, Settings};
use crate::pulse::Pulse;
use crate::source::cards::{self, Cards};
use crate::source::nvidia::{Library, LibraryError};
use crate::source::{Gpu, Reading, Refusal, Source};

/// Whose GPU it is, and which of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    Nvml(u32),
    Card(u32),
}

/// An open GPU with what it is.
type Opened = (Box<dyn Gpu>, GpuIdentity);

/// What a thread has found out.
enum Arrival {
    Library(Result<Found, LibraryError>),
    Gpu(Slot, Reading<Box<Opened>>),
}

/// NVML as it answered, and the GPUs that are being opened.
struct Found {
    driver: Option<String>,
    nvml: Option<String>,
    count: u32,
    opening: Vec<(Slot, Arc<Pulse>)>,
}

/// A machine that is being opened.
pub struct Opening {
    requested: Vec<u32>,
    inventory: Inventory,
    arrivals: Receiver<Arrival>,
    /// NVML's thread, until it has answered.
    library: Option<Arc<Pulse>>,
    /// Why there is no NVML, and whether the library is simply not there.
    absent: Option<(String, bool)>,
    /// GPUs that NVML counts, once it has answered.
    nvml_count: Option<u32>,
    card_count: u32,
    sys_root: PathBuf,
    /// The kernel's driver of each card that is open.
    card_drivers: BTreeMap<Slot, String>,
    /// GPUs that have not answered yet.
    gpus: Vec<(Slot, Arc<Pulse>)>,
    opened: Vec<(Slot, Opened)>,
    refused: Vec<(Slot, Refusal)>,
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
        // How many of the cards come first is known when NVML has counted: all of them are opened.
        let cards = Cards::list(&settings.sys_root, &settings.proc_root);
        let card_count = cards.count();
        let cards: Arc<dyn Source> = Arc::new(cards);
        let gpus = (0..card_count)
            .map(|nth| open(&cards, Slot::Card(nth), nth, &send))
            .collect();
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
                    .map(|library| open_gpus(library, &requested, &send));
                // Nobody listens any more where this fails.
                let _ = send.send(Arrival::Library(found));
            });
        Self {
            requested: settings.gpus.clone(),
            inventory,
            arrivals,
            library: Some(pulse),
            absent: None,
            nvml_count: None,
            card_count,
            sys_root: settings.sys_root.clone(),
            card_drivers: BTreeMap::new(),
            gpus,
            opened: Vec::new(),
            refused: Vec::new(),
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

    /// The place of a GPU among all of the machine. While NVML does not answer, its GPUs are those that
    /// the PCI bus has.
    fn index(&self, slot: Slot) -> u32 {
        match slot {
            Slot::Nvml(nth) => nth,
            Slot::Card(nth) => {
                let before = self.nvml_count;
                nth + before.unwrap_or_else(|| cards::nvidia_devices(&self.sys_root))
            }
        }
    }

    fn is_wanted(&self, slot: Slot) -> bool {
        self.requested.is_empty() || self.requested.contains(&self.index(slot))
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
        let gpus = self.gpus.iter().filter(|(slot, _)| self.is_wanted(*slot));
        library
            .chain(gpus.map(|(slot, pulse)| hangs(Some(self.index(*slot)), pulse)))
            .collect()
    }

    /// What is known so far, with what has not answered named as unreachable.
    pub(crate) fn inventory(&self) -> Inventory {
        let mut inventory = self.inventory.clone();
        if inventory.driver.is_none() && !self.card_drivers.is_empty() {
            let mut drivers: Vec<&str> = self.card_drivers.values().map(String::as_str).collect();
            drivers.dedup();
            inventory.driver = Some(drivers.join("; "));
        }
        if let Some((reason, only_missing)) = &self.absent {
            // Who has another GPU does not miss NVML.
            if !(*only_missing && self.card_count > 0) {
                inventory.nvml_absent = Some(reason.clone());
            }
        }
        let refused = self.refused.iter();
        let refused = refused.filter(|(slot, _)| self.is_wanted(*slot));
        inventory
            .unreachable
            .extend(refused.map(|(slot, refusal)| Unreachable {
                gpu: Some(self.index(*slot)),
                reason: refusal.to_string(),
            }));
        inventory.unreachable.extend(self.waits_for());
        inventory
    }

    /// The GPUs that have answered since the last time, by index.
    pub(crate) fn take_opened(&mut self) -> Vec<Opened> {
        let mut opened = std::mem::take(&mut self.opened);
        opened.retain(|(slot, _)| self.is_wanted(*slot));
        opened.sort_by_key(|(slot, _)| *slot);
        opened
            .into_iter()
            .map(|(slot, (gpu, identity))| {
                let index = self.index(slot);
                (gpu, GpuIdentity { index, ..identity })
            })
            .collect()
    }

    /// Why what was requested cannot be done, where that is certain by now.
    pub(crate) fn failure(&self) -> Option<OpenError> {
        let refused = self.refused.iter().find_map(|(slot, refusal)| {
            let asked = self.index(*slot);
            self.requested
                .contains(&asked)
                .then_some(OpenError::Unreachable {
                    asked,
                    refusal: *refusal,
                })
        });
        let count = self.nvml_count? + self.card_count;
        let beyond = self.requested.iter().find(|asked| **asked >= count);
        let beyond = beyond.map(|asked| match &self.absent {
            Some((reason, _)) if count == 0 => OpenError::NoNvml {
                asked: *asked,
                reason: reason.clone(),
            },
            _ => OpenError::NoSuchGpu {
                asked: *asked,
                count,
            },
        });
        beyond.or(refused)
    }

    /// The machine with what has answered. Fails where a GPU was requested that has not.
    pub fn finish(mut self) -> Result<Machine, OpenError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let answered = |asked: &&u32| {
            let mut opened = self.opened.iter();
            opened.any(|(slot, _)| self.index(*slot) == **asked)
        };
        let missing = self.requested.iter().find(|asked| !answered(asked));
        if let (Some(&asked), Some(silent)) = (missing, self.waits_for().into_iter().next()) {
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
        let (handles, gpus): (Vec<_>, Vec<GpuIdentity>) = self.take_opened().into_iter().unzip();
        inventory.gpus = gpus;
        Ok(Machine { handles, inventory })
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Library(Err(error)) => {
                let started = !matches!(error, LibraryError::NotStarted { .. });
                if !started {
                    self.inventory.unreachable.push(Unreachable {
                        gpu: None,
                        reason: error.to_string(),
                    });
                }
                let mut reason = error.to_string();
                if started && self.card_count == 0 {
                    reason.push_str(
                        "; no card of amdgpu, i915 or xe either: only the host is sampled",
                    );
                }
                self.absent = Some((reason, started));
                self.nvml_count = Some(0);
                self.library = None;
            }
            Arrival::Library(Ok(found)) => {
                self.library = None;
                self.nvml_count = Some(found.count);
                (self.inventory.driver, self.inventory.nvml) = (found.driver, found.nvml);
                // Threads of GPUs may have been faster than this message.
                let answered = |slot: Slot| {
                    let opened = self.opened.iter().map(|(slot, _)| *slot);
                    let refused = self.refused.iter().map(|(slot, _)| *slot);
                    opened.chain(refused).any(|known| known == slot)
                };
                let waiting = found.opening.into_iter();
                let waiting: Vec<_> = waiting.filter(|(slot, _)| !answered(*slot)).collect();
                self.gpus.extend(waiting);
            }
            Arrival::Gpu(slot, opened) => {
                self.gpus.retain(|(gpu, _)| *gpu != slot);
                match opened {
                    Ok(gpu) => {
                        let driver = gpu.1.driver.clone();
                        self.card_drivers
                            .extend(driver.map(|driver| (slot, driver)));
                        self.opened.push((slot, *gpu));
                    }
                    Err(refusal) => self.refused.push((slot, refusal)),
                }
            }
        }
    }
}

/// Asks NVML what there is, and starts to open each of the GPUs.
fn open_gpus(library: Library, requested: &[u32], arrivals: &Sender<Arrival>) -> Found {
    let (driver, nvml) = (library.driver_version(), library.nvml_version());
    let count = library.count();
    let library: Arc<dyn Source> = Arc::new(library);
    let chosen: Vec<u32> = match requested {
        [] => (0..count).collect(),
        indices => indices.iter().copied().filter(|gpu| *gpu < count).collect(),
    };
    let start = |nth: u32| open(&library, Slot::Nvml(nth), nth, arrivals);
    Found {
        driver,
        nvml,
        count,
        opening: chosen.into_iter().map(start).collect(),
    }
}

/// Starts to open one GPU.
fn open(
    source: &Arc<dyn Source>,
    slot: Slot,
    nth: u32,
    arrivals: &Sender<Arrival>,
) -> (Slot, Arc<Pulse>) {
    let pulse = Arc::new(Pulse::default());
    let (own, source, arrivals) = (Arc::clone(&pulse), Arc::clone(source), arrivals.clone());
    let work = move || {
        own.attach();
        let opened = source.open(nth).map(Box::new);
        // Nobody listens any more where this fails.
        let _ = arrivals.send(Arrival::Gpu(slot, opened));
    };
    // A thread that does not start leaves a pulse that never answers, which is what it is.
    let _ = thread::Builder::new()
        .name(format!("open {nth}"))
        .spawn(work);
    (slot, pulse)
}
