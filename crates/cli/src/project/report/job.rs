//! What the sections of a report are made from.

use warpsmith_device::Device;

/// What the sections are made from.
pub(crate) struct Job {
    /// Where the workloads run.
    pub(crate) device: Device,
    /// Short runs, so that everything is done within a minute.
    pub(crate) quick: bool,
}

impl Job {
    /// Operations and bytes that one run of a workload may take, so that a section keeps its time.
    pub(super) fn run_budget(&self) -> f64 {
        match (self.device.cuda(), self.quick) {
            (Some(_), _) => 1e10,
            (None, true) => 5e7,
            (None, false) => 1e9,
        }
    }
}
