//! A baseline as data: what is written to JSON, read back for comparison, and judged by rules.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::series::Series;
use super::statistics::Summary;
use super::thermal::ThermalBand;
use super::throttle::ThrottleShare;
use crate::event::{GpuIdentity, MigInstance, Presence, ProcessIdentity};

/// Whether a machine is in a state to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Nothing speaks against it.
    Fit,
    /// Something does.
    NotFit,
    /// What would tell is missing.
    CannotTell,
    /// There are too few samples to say anything.
    NotMeasured,
}

impl fmt::Display for Fitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fit => "fit for a baseline",
            Self::NotFit => "not fit for a baseline",
            Self::CannotTell => "cannot tell",
            Self::NotMeasured => "not measured",
        })
    }
}

/// A quantity with its figures and its raw samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Derived from the samples.
    pub summary: Summary,
    /// The samples.
    pub series: Series,
}

/// Energy of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyUse {
    /// By the GPU's own counter.
    pub counter_joules: f64,
    /// Seconds between the counter's two readings.
    pub seconds: f64,
    /// Counter over time.
    pub mean_watts: f64,
    /// Integral of the power samples over the same time: an estimate, for comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_joules: Option<f64>,
}

/// A process that was on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessSeen {
    /// Who.
    #[serde(flatten)]
    pub identity: ProcessIdentity,
    /// Most memory that it held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<i64>,
    /// Whether it was there to compute.
    pub compute: bool,
    /// Share of the process lists that it was on, 0 to 1.
    pub presence: f64,
}

/// One GPU's baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuBaseline {
    /// Which GPU.
    pub gpu: GpuIdentity,
    /// The verdict.
    pub fitness: Fitness,
    /// Quantities by name: `busy_percent`, `power_w`, `temperature_c`, …
    pub metrics: BTreeMap<String, Metric>,
    /// Energy, where the GPU counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyUse>,
    /// Smallest margin to slowdown, in degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_min_c: Option<f64>,
    /// The temperature's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal: Option<ThermalBand>,
    /// Time held back, by reason.
    pub throttle: Vec<ThrottleShare>,
    /// Share of samples with clocks set by an application or an administrator, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks_locked_share: Option<f64>,
    /// Share of samples with the hardware slowdown bit, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_slowdown_share: Option<f64>,
    /// Processes, the largest first; absent where the driver does not list them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<Vec<ProcessSeen>>,
    /// Median memory in use that no listed process holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ghost_memory_bytes: Option<i64>,
    /// PCIe generation while sampled: the lowest seen on a busy GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_generation: Option<i64>,
    /// PCIe lanes: the fewest seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_width: Option<i64>,
    /// PCIe bytes sent and received per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_bytes_per_second: Option<(f64, f64)>,
    /// PCIe replays during the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_replays: Option<i64>,
    /// Power limit in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
    /// Corrected memory errors: during the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc_corrected_during: Option<i64>,
    /// Uncorrectable memory errors: during the baseline, and in all since the driver's load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc_uncorrected: Option<(i64, i64)>,
    /// Rows that wait to be replaced, and rows that could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remap_pending_failed: Option<(i64, i64)>,
    /// MIG instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mig: Vec<MigInstance>,
    /// Critical errors that the driver reported during the baseline: how often, by number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub xids: BTreeMap<i64, u64>,
    /// The worst that was seen of its presence.
    pub worst_presence: Presence,
    /// State samples taken.
    #[serde(default)]
    pub states: usize,
    /// Share of samples in which the kernel had put the GPU to sleep, where there were any, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep_share: Option<f64>,
    /// Processes that whoever measured may not look at, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_processes: Option<i64>,
    /// State samples taken over state samples due, 0 to 1.
    pub coverage: f64,
    /// Rules that could not be applied, with what they miss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<(String, String)>,
}

/// The host's baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostBaseline {
    /// Quantities by name: `cpu_busy_percent`, `memory_used_percent`, …
    pub metrics: BTreeMap<String, Metric>,
    /// Most swap in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap_used_bytes: Option<i64>,
}

/// What `warpsmith baseline` has to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineBody {
    /// Seconds from the first to the last sample.
    pub seconds: f64,
    /// Whether load was expected.
    pub expect_load: bool,
    /// The verdict over all GPUs and the host.
    pub fitness: Fitness,
    /// The GPUs.
    pub gpus: Vec<GpuBaseline>,
    /// The host.
    pub host: HostBaseline,
}
