//! Where readings come from: one folder for each kind of driver.
//!
//! NVIDIA's GPUs answer through NVML, those of `amdgpu`, `i915` and `xe` through files of the kernel.
//! Whatever the source, a quantity has one name and one unit ([`crate::event`]), and what a driver does
//! not say is absent.

pub(crate) mod amd;
pub(crate) mod cards;
mod fdinfo;
mod intel;
pub(crate) mod nvidia;
mod refusal;
mod sysfs;

use std::collections::BTreeMap;

pub use fdinfo::{Client as DrmClient, Engine as DrmEngine};
pub(crate) use refusal::{Reading, Refusal};

use crate::Micros;
use crate::event::{Energy, GpuIdentity, MigInstance, ProcessUse, RingSample, Slow, State, Steady};

/// A driver and the GPUs that it counts.
pub(crate) trait Source: Send + Sync {
    /// How many there are, whether or not they can be opened.
    fn count(&self) -> u32;

    /// Opens one of them. Its place among all GPUs of the machine is the caller's to say.
    fn open(&self, nth: u32) -> Reading<(Box<dyn Gpu>, GpuIdentity)>;
}

/// An open GPU: its tiers of readings. What a GPU has no counterpart of is empty by default.
pub(crate) trait Gpu: Send {
    /// Opens the same GPU again after it was lost.
    fn reopen(&mut self) -> Reading<()>;

    /// The fast tier at `at`.
    fn state(&mut self, at: Micros, wanted: Wanted) -> Reading<State>;

    /// The tier of a second at `at`.
    fn steady(&mut self, at: Micros, wanted: SteadyWanted) -> Reading<Steady>;

    /// The slow tier.
    fn slow(&mut self) -> Reading<Slow>;

    /// The energy counter.
    fn energy(&mut self) -> Reading<Energy>;

    /// The processes on the GPU at `at`, by pid; `None` where the driver does not list them.
    fn processes(&mut self, at: Micros) -> Reading<Option<Vec<ProcessUse>>>;

    /// How busy each process kept the GPU since `after`, by pid, and when that was read; `None` where
    /// the list of processes says so itself, or nobody does.
    fn process_use(&mut self, _after: Micros) -> Reading<Option<(BTreeMap<u32, i64>, Micros)>> {
        Ok(None)
    }

    /// What a ring of the driver's holds after `after`.
    fn ring(&mut self, _ring: Ring, _after: Micros) -> Reading<Vec<RingSample>> {
        Ok(Vec::new())
    }

    /// The driver's critical errors since the last time.
    fn xids(&mut self) -> Vec<i64> {
        Vec::new()
    }

    /// The MIG instances.
    fn mig_instances(&mut self) -> Vec<MigInstance> {
        Vec::new()
    }

    /// Whether some readings are differences between two looks, so that one look has none of them.
    fn takes_two_looks(&self) -> bool {
        false
    }
}

/// How much of the fast tier is read from the driver again; the rest is as it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Which counters.
    pub(crate) depth: Depth,
    /// Utilisation.
    pub(crate) busy: bool,
    /// Temperature and memory clock.
    pub(crate) temperature: bool,
}

/// Which counters are worth their price this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// None: what changes ten times a second.
    Values,
    /// Memory and cheap counters.
    Counters,
    /// Everything.
    All,
}

/// How much of the tier of a second is read from the driver again; the rest is as it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SteadyWanted {
    /// The thermal margin.
    pub(crate) margin: bool,
    /// What seldom changes.
    pub(crate) seldom: bool,
    /// How much of the GPU works.
    pub(crate) activity: bool,
}

/// Which ring of the driver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// Board power, milliwatts.
    Power = 0,
    /// Utilisation, percent.
    Busy = 1,
    /// Memory utilisation, percent.
    MemoryBusy = 2,
}
