//! What a section works with: the device, how thorough to be, and how long it may take.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use warpsmith_device::{Device, VulkanKind};
use warpsmith_report::document::RunKind;

use warpsmith_console::global::Global;
use warpsmith_console::interruption::Interruption;

/// What the sections of one run share.
pub(crate) struct Job {
    /// The options of the call.
    pub(crate) global: Global,
    /// Where the workloads run.
    pub(crate) device: Device,
    /// Quick or full.
    pub(crate) kind: RunKind,
    /// Ctrl-C ends the section that runs and leaves out the rest.
    pub(crate) interruption: Interruption,
    /// When the current section has to end.
    pub(crate) until: Instant,
    step: Mutex<String>,
}

impl Job {
    pub(crate) fn new(
        global: &Global,
        device: Device,
        kind: RunKind,
        interruption: Interruption,
    ) -> Self {
        Self {
            global: global.clone(),
            device,
            kind,
            interruption,
            until: Instant::now(),
            step: Mutex::new(String::new()),
        }
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.kind == RunKind::Quick
    }

    /// One of two values, for a quick and for a full run.
    pub(crate) fn pick<T>(&self, quick: T, full: T) -> T {
        match self.kind {
            RunKind::Quick => quick,
            RunKind::Full => full,
        }
    }

    /// Whether the section's time is up or the user wants to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.interruption.came() || Instant::now() >= self.until
    }

    /// What is left of the section's time.
    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// An even share of what is left among `count` pieces of work, within `bounds` in seconds.
    pub(crate) fn share(&self, count: usize, bounds: (f64, f64)) -> Duration {
        let share = self.left().as_secs_f64() / count.max(1) as f64;
        Duration::from_secs_f64(share.clamp(bounds.0, bounds.1))
    }

    /// Says what is being done, for the progress line.
    pub(crate) fn step(&self, text: impl Into<String>) {
        if let Ok(mut step) = self.step.lock() {
            *step = text.into();
        }
    }

    /// What is being done.
    pub(crate) fn current_step(&self) -> String {
        self.step.lock().map_or(String::new(), |step| step.clone())
    }

    /// Operations and bytes that one run of a workload may take, so that a section keeps its time.
    pub(crate) fn run_budget(&self) -> f64 {
        let hardware = match &self.device {
            Device::Cuda(_) => true,
            Device::Vulkan(device) => device.facts().kind != VulkanKind::Software,
            Device::Cpu(_) => false,
        };
        match (hardware, self.kind) {
            (true, _) => 1e10,
            (false, RunKind::Quick) => 5e7,
            (false, RunKind::Full) => 1e9,
        }
    }

    /// How long a workload may take to settle: on a busy machine it never does.
    pub(crate) fn settle(&self) -> Duration {
        self.pick(Duration::from_millis(100), Duration::from_secs(1))
    }
}
