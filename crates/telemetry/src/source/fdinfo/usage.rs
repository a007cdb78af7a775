//! From counters to shares: how busy each process kept a card between two looks.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::client::Engine;
use super::scan::{Clients, Look};
use crate::Micros;
use crate::event::ProcessUse;

/// Below this distance two looks say nothing: counters move in steps.
const NEAREST_MICROS: u64 = 50_000;

/// The use of one card.
pub(crate) struct Usage {
    clients: Arc<Clients>,
    /// PCI address.
    device: String,
    /// When the counters below were read.
    at: Option<Micros>,
    before: BTreeMap<(u64, String), (u64, u64)>,
    last: Option<Looked>,
}

/// The use of a card between the last two looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Looked {
    /// Its processes, by pid.
    pub(crate) processes: Vec<ProcessUse>,
    /// Share of its busiest engine, of all visible clients; absent at the first look.
    pub(crate) busy_percent: Option<i64>,
    /// Share of its busiest video engine.
    pub(crate) media_percent: Option<i64>,
    /// Bytes of its own memory that visible clients hold; absent where the driver does not say.
    pub(crate) device_bytes: Option<i64>,
    /// Bytes of system memory that they hold for it.
    pub(crate) system_bytes: Option<i64>,
    /// Processes that this user may not look at.
    pub(crate) hidden: i64,
}

/// Whether an engine is for pictures in motion: by the names of `amdgpu`, `i915` and `xe`.
fn is_media(engine: &str) -> bool {
    const NAMES: [&str; 6] = ["video", "vcs", "vecs", "enc", "dec", "jpeg"];
    NAMES.iter().any(|name| engine.starts_with(name)) || engine.contains("vcn")
}

/// Whether an engine computes and does nothing else.
fn is_compute(engine: &str) -> bool {
    engine.starts_with("compute") || engine.starts_with("ccs")
}

impl Usage {
    pub(crate) fn new(clients: Arc<Clients>, device: String) -> Self {
        Self {
            clients,
            device,
            at: None,
            before: BTreeMap::new(),
            last: None,
        }
    }

    /// Where all clients are found.
    pub(crate) fn clients(&self) -> Arc<Clients> {
        Arc::clone(&self.clients)
    }

    /// The use until `now`; what was found before where the last look is too near. `computing` adds the
    /// processes that compute without the driver's engines, with the device memory that they hold.
    pub(crate) fn look(&mut self, now: Micros, computing: &BTreeMap<u32, i64>) -> Looked {
        let look = self.clients.look(now);
        if self.at == Some(look.at)
            && let Some(last) = &self.last
        {
            return last.clone();
        }
        let looked = self.of(&look, computing);
        self.last = Some(looked.clone());
        looked
    }

    fn of(&mut self, look: &Look, computing: &BTreeMap<u32, i64>) -> Looked {
        let span = self.at.map(|at| look.at.0.saturating_sub(at.0));
        let span = span.filter(|span| *span >= NEAREST_MICROS);
        let mut counters = BTreeMap::new();
        // By engine, each client once; by process and engine, each of its clients.
        let mut engines: BTreeMap<&str, f64> = BTreeMap::new();
        let mut processes: BTreeMap<u32, OfProcess<'_>> = BTreeMap::new();
        let (mut device_bytes, mut system_bytes) = (None, None);
        let own = look.clients.iter();
        for (pid, client) in own.filter(|(_, client)| client.device == self.device) {
            let process = processes.entry(*pid).or_default();
            add(&mut process.device_bytes, client.device_bytes);
            add(&mut process.system_bytes, client.system_bytes);
            let mut first_time = false;
            for engine in &client.engines {
                process.worked |= engine.busy > 0;
                process.compute |= engine.busy > 0 && is_compute(&engine.name);
                let key = (client.id, engine.name.clone());
                let share = self.share(&key, engine, span);
                let shares = process.shares.entry(&engine.name).or_default();
                *shares += share.unwrap_or(0.0);
                if let Entry::Vacant(place) = counters.entry(key) {
                    first_time = true;
                    *engines.entry(&engine.name).or_default() += share.unwrap_or(0.0);
                    let before = self.before.get(place.key());
                    let before = before.map_or(0, |before| before.0);
                    let passed = engine.cycles.unwrap_or(0);
                    place.insert((engine.busy.max(before), passed));
                }
            }
            if first_time || client.engines.is_empty() {
                add(&mut device_bytes, client.device_bytes);
                add(&mut system_bytes, client.system_bytes);
            }
        }
        self.before = counters;
        self.at = Some(look.at);
        for (pid, bytes) in computing {
            let process = processes.entry(*pid).or_default();
            (process.compute, process.worked) = (true, true);
            // Its queues bypass the engines that are counted.
            process.untimed = true;
            let bytes = u64::try_from(*bytes).unwrap_or(0);
            process.device_bytes = process.device_bytes.max(Some(bytes));
        }
        let most = |wanted: fn(&str) -> bool| {
            let shares = engines.iter().filter(|(name, _)| wanted(name));
            let most = shares.map(|(_, share)| *share).fold(0.0, f64::max);
            span.map(|_| percent(most))
        };
        Looked {
            busy_percent: most(|_| true),
            media_percent: most(is_media),
            device_bytes: device_bytes.map(signed),
            system_bytes: system_bytes.map(signed),
            hidden: look.hidden.into(),
            processes: processes
                .into_iter()
                .filter(|(_, process)| process.matters())
                .map(|(pid, process)| process.in_use(pid, span.is_some()))
                .collect(),
        }
    }

    /// Share of one engine of its kind since the look before.
    fn share(&self, key: &(u64, String), engine: &Engine, span: Option<u64>) -> Option<f64> {
        let (busy, cycles) = self.before.get(key)?;
        let worked = engine.busy.saturating_sub(*busy) as f64;
        let passed = match engine.cycles {
            Some(now) => now.saturating_sub(*cycles) as f64,
            None => span? as f64 * 1e3,
        };
        (passed > 0.0).then(|| worked / passed / engine.capacity as f64)
    }
}

/// What is added up of a process.
#[derive(Default)]
struct OfProcess<'l> {
    shares: BTreeMap<&'l str, f64>,
    device_bytes: Option<u64>,
    system_bytes: Option<u64>,
    compute: bool,
    worked: bool,
    untimed: bool,
}

impl OfProcess<'_> {
    /// Many programs open a card only to ask what it is.
    fn matters(&self) -> bool {
        let holds = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes > 0);
        self.worked || holds(self.device_bytes) || holds(self.system_bytes)
    }

    fn in_use(self, pid: u32, timed: bool) -> ProcessUse {
        let most = self.shares.values().copied().fold(0.0, f64::max);
        // A card without memory of its own uses the system's.
        let bytes = self.device_bytes.filter(|bytes| *bytes > 0);
        ProcessUse {
            pid,
            memory_bytes: bytes
                .or(self.system_bytes)
                .or(self.device_bytes)
                .map(signed),
            compute: self.compute,
            busy_percent: (timed && !self.untimed).then(|| percent(most)),
            gpu_instance: None,
        }
    }
}

fn percent(share: f64) -> i64 {
    (share * 100.0).round().clamp(0.0, 100.0) as i64
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Client;
    use super::*;

    const CARD: &str = "0000:03:00.0";

    fn client(id: u64, engines: &[(&str, u64, Option<u64>, u64)], bytes: u64) -> Client {
        Client {
            device: CARD.into(),
            id,
            engines: engines
                .iter()
                .map(|(name, busy, cycles, capacity)| Engine {
                    name: (*name).into(),
                    busy: *busy,
                    cycles: *cycles,
                    capacity: *capacity,
                })
                .collect(),
            device_bytes: Some(bytes),
            system_bytes: None,
        }
    }

    fn usage() -> Usage {
        let clients = Clients::new(std::path::Path::new("/nonexistent"));
        Usage::new(Arc::new(clients), CARD.into())
    }

    fn look(seconds: u64, clients: Vec<(u32, Client)>) -> Look {
        Look {
            at: Micros(seconds * 1_000_000),
            clients,
            hidden: 0,
        }
    }

    #[test]
    fn shares_are_of_the_time_between_two_looks() {
        let mut usage = usage();
        let none = BTreeMap::new();
        let at = |second: u64, gfx: u64, video: u64| {
            let engines = [("gfx", gfx, None, 1), ("video", video, None, 2)];
            look(second, vec![(7, client(1, &engines, 4096))])
        };
        let first = usage.of(&at(1, 1_000, 0), &none);
        assert_eq!(first.busy_percent, None);
        assert_eq!(first.processes[0].busy_percent, None);
        assert_eq!(first.device_bytes, Some(4096));
        let second = usage.of(&at(3, 500_001_000, 2_000_000_000), &none);
        assert_eq!(second.busy_percent, Some(50), "one of two video engines");
        assert_eq!(second.media_percent, Some(50));
        assert_eq!(second.processes[0].busy_percent, Some(50));
        // A counter that falls is no work, and no more work than there was when it rises again.
        let third = usage.of(&at(5, 0, 2_000_000_000), &none);
        assert_eq!(third.busy_percent, Some(0));
        let fourth = usage.of(&at(7, 500_001_000, 2_000_000_000), &none);
        assert_eq!(fourth.busy_percent, Some(0));
    }

    #[test]
    fn cycles_are_of_cycles_and_a_shared_client_counts_once() {
        let mut usage = usage();
        let none = BTreeMap::new();
        let at = |second: u64, busy: u64| {
            let engines = [("ccs", busy, Some(second * 1000), 1)];
            let own = client(1, &engines, 100);
            look(second, vec![(7, own.clone()), (8, own)])
        };
        usage.of(&at(1, 0), &none);
        let looked = usage.of(&at(2, 300), &none);
        assert_eq!(looked.busy_percent, Some(30));
        assert_eq!(looked.device_bytes, Some(100));
        assert_eq!(looked.processes.len(), 2);
        assert!(looked.processes.iter().all(|process| process.compute));
    }

    #[test]
    fn programs_that_only_asked_are_left_out_and_computing_ones_are_added() {
        let mut usage = usage();
        let idle = client(1, &[("gfx", 0, None, 1)], 0);
        let looked = usage.of(
            &look(1, vec![(7, idle)]),
            &BTreeMap::from([(4711, 1 << 30)]),
        );
        let pids: Vec<u32> = looked.processes.iter().map(|process| process.pid).collect();
        assert_eq!(pids, [4711]);
        assert_eq!(looked.processes[0].memory_bytes, Some(1 << 30));
        assert!(looked.processes[0].compute);
        let looked = usage.of(&look(3, Vec::new()), &BTreeMap::from([(4711, 1 << 30)]));
        assert_eq!(looked.busy_percent, Some(0), "of the engines that count");
        assert_eq!(looked.processes[0].busy_percent, None, "nobody counts it");
    }
}
