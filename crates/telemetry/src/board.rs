//! What is known right now: the latest of every reading, and a few minutes of history for plots.
//! Fed by events, read by the screen and by the exporter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::Micros;
use crate::event::{
    Event, GpuIdentity, Happening, HostState, Inventory, MigInstance, Presence, ProcessIdentity,
    ProcessUse, Slow, State, Steady,
};
use crate::pulse::Pulse;

/// Points of history kept: five minutes at two a second.
const HISTORY: usize = 600;
/// Distance between two points of history.
const HISTORY_STEP_MICROS: u64 = 500_000;

/// A point of a GPU's history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HistoryPoint {
    /// When.
    pub at: Micros,
    /// Share of time with a kernel running.
    pub busy_percent: Option<i64>,
    /// Power.
    pub power_mw: Option<i64>,
    /// Memory in use.
    pub memory_used_bytes: Option<i64>,
    /// Core temperature.
    pub temperature_c: Option<i64>,
}

/// One GPU now.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GpuBoard {
    /// When the state was read; `None` before the first.
    pub state_at: Option<Micros>,
    /// Fast tier.
    pub state: State,
    /// Tier of a second.
    pub steady: Steady,
    /// Slow tier.
    pub slow: Slow,
    /// Energy counter.
    pub energy_mj: Option<i64>,
    /// Whether it answers.
    pub presence: Presence,
    /// The call of the driver that does not return, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hangs_in: Option<&'static str>,
    /// Who is on it; `None` where the driver does not list processes.
    pub processes: Option<Vec<ProcessUse>>,
    /// MIG instances.
    pub mig: Vec<MigInstance>,
    /// Critical errors that the driver reported, by number: how often, and when last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub xids: BTreeMap<i64, (u64, Micros)>,
    /// States read so far.
    pub samples: u64,
    /// The past, oldest first.
    #[serde(skip)]
    pub history: VecDeque<HistoryPoint>,
}

/// The machine now.
#[derive(Clone, Debug, Serialize)]
pub struct Board {
    /// What there is.
    pub inventory: Inventory,
    /// The GPUs, in the inventory's order.
    pub gpus: Vec<GpuBoard>,
    /// The host.
    pub host: HostState,
    /// Processes by pid.
    pub identities: BTreeMap<u32, ProcessIdentity>,
}

impl Board {
    /// A board on which nothing has happened yet.
    pub fn new(inventory: Inventory) -> Self {
        Self {
            gpus: vec![GpuBoard::default(); inventory.gpus.len()],
            inventory,
            host: HostState::default(),
            identities: BTreeMap::new(),
        }
    }

    /// Takes a GPU in that was opened after the others.
    pub(crate) fn join(&mut self, identity: GpuIdentity) {
        self.inventory.gpus.push(identity);
        self.gpus.push(GpuBoard::default());
    }

    /// Takes an event in.
    pub fn apply(&mut self, event: Event) {
        if let Happening::Host(host) = event.what {
            self.host = host;
            return;
        }
        if let Happening::Process(identity) = event.what {
            self.identities.insert(identity.pid, identity);
            return;
        }
        let Some(gpu) = self.gpus.get_mut(usize::from(event.gpu)) else {
            return;
        };
        match event.what {
            Happening::State(state) => gpu.take_state(state, event.at),
            Happening::Steady(steady) => gpu.steady = steady,
            Happening::Slow(slow) => gpu.slow = slow,
            Happening::Energy(energy) => gpu.energy_mj = energy.energy_mj.or(gpu.energy_mj),
            Happening::Processes(list) => gpu.processes = Some(list),
            Happening::Mig(instances) => gpu.mig = instances,
            Happening::Presence(presence) => gpu.presence = presence,
            Happening::Xid(xid) => {
                if let Some(code) = xid.code {
                    let seen = gpu.xids.entry(code).or_insert((0, event.at));
                    *seen = (seen.0 + 1, event.at);
                }
            }
            // Plots are drawn from polled states: the rings arrive seconds late.
            Happening::PowerRing(_) | Happening::BusyRing(_) | Happening::MemoryBusyRing(_) => {}
            Happening::Process(_) | Happening::Host(_) => {}
        }
    }

    /// Forgets processes that are neither on a GPU any more nor above one that is, so that a long run
    /// does not pile them up.
    fn forget_ended(&mut self) {
        let lists = self.gpus.iter().filter_map(|gpu| gpu.processes.as_ref());
        let mut wanted = BTreeSet::new();
        for process in lists.flatten() {
            let mut next = Some(process.pid);
            while let Some(pid) = next.filter(|pid| wanted.insert(*pid)) {
                next = self.identities.get(&pid).and_then(|known| known.parent);
            }
        }
        self.identities.retain(|pid, _| wanted.contains(pid));
    }
}

impl GpuBoard {
    fn take_state(&mut self, state: State, at: Micros) {
        self.state = state;
        self.state_at = Some(at);
        self.samples += 1;
        let due = self
            .history
            .back()
            .is_none_or(|last| at.0 >= last.at.0 + HISTORY_STEP_MICROS);
        if due {
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back(HistoryPoint {
                at,
                busy_percent: state.busy_percent,
                power_mw: state.power_mw,
                memory_used_bytes: state.memory_used_bytes,
                temperature_c: state.temperature_c,
            });
        }
    }
}

/// A board with the events that wait for it. Whoever reads it brings it up to date first, so that
/// no thread has to wake for every sample.
pub struct LiveBoard {
    board: Mutex<Board>,
    events: Mutex<Receiver<Event>>,
    /// What the GPUs' threads do, where the events come from this machine.
    pulses: Mutex<Vec<Arc<Pulse>>>,
}

impl LiveBoard {
    /// A board for these events.
    pub fn new(inventory: Inventory, events: Receiver<Event>) -> Self {
        Self {
            board: Mutex::new(Board::new(inventory)),
            events: Mutex::new(events),
            pulses: Mutex::default(),
        }
    }

    /// Takes what was found out about the machine in; GPUs that are sampled stay.
    pub(crate) fn learn(&self, inventory: Inventory) {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let gpus = std::mem::take(&mut board.inventory.gpus);
        board.inventory = Inventory { gpus, ..inventory };
    }

    /// Takes a GPU in; `sample` starts its thread.
    pub(crate) fn join(&self, identity: GpuIdentity, sample: impl FnOnce() -> Arc<Pulse>) {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.join(identity);
        // The board has its place before the first event can come.
        let pulse = sample();
        let mut pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        pulses.push(pulse);
    }

    /// The board with everything that has happened until now; never waits for the driver.
    pub fn now(&self) -> MutexGuard<'_, Board> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lists = false;
        for event in events.try_iter() {
            lists |= matches!(event.what, Happening::Processes(_));
            board.apply(event);
        }
        if lists {
            board.forget_ended();
        }
        let pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        for (gpu, pulse) in board.gpus.iter_mut().zip(&*pulses) {
            gpu.hangs_in = match gpu.presence {
                Presence::Stale => pulse.hangs_in(Duration::ZERO),
                Presence::Live | Presence::Lost => None,
            };
        }
        board
    }
}
