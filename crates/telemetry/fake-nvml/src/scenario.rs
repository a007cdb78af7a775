//! The scenario file: which GPUs there are, what they do over time, and what goes wrong.

use std::path::PathBuf;

use serde::Deserialize;

use crate::wave::Wave;

/// A machine over time.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// Driver version; decides which field numbers the throttle counters have.
    pub driver: String,
    /// What `nvmlInit` answers.
    pub init_code: u32,
    /// The GPUs.
    pub gpus: Vec<Gpu>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Time that every device call burns, in microseconds: the price of a real driver's.
    pub busy_us: u64,
}

/// A GPU, or `count` equal ones.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gpu {
    /// How many of these.
    pub count: u32,
    /// Readings come from this recording's first GPU instead of the waves below.
    pub recording: Option<PathBuf>,
    /// Product name.
    pub name: String,
    /// Device memory.
    pub memory_total_mb: f64,
    /// Memory that the driver keeps.
    pub memory_reserved_mb: f64,
    /// Memory in use.
    pub memory_used_mb: Wave,
    /// Percent of time with a kernel running.
    pub busy: Wave,
    /// Percent of time with memory traffic.
    pub memory_busy: Wave,
    /// Power.
    pub power_w: Wave,
    /// Core temperature.
    pub temperature_c: Wave,
    /// Memory temperature; 0 is how a GPU without the sensor answers.
    pub memory_temperature_c: Wave,
    /// Temperature at which the margin is zero; `null` on cards without T.Limit.
    pub margin_reference_c: Option<f64>,
    /// Slowdown threshold of older cards.
    pub slowdown_c: Option<u32>,
    /// SM clock.
    pub sm_clock_mhz: Wave,
    /// Highest SM clock.
    pub sm_clock_max_mhz: u32,
    /// Memory clock.
    pub memory_clock_mhz: Wave,
    /// Clocks event reasons.
    pub reasons: Wave,
    /// Share of time (0 to 1) under each reason; the counters are their integrals.
    pub throttle: Throttle,
    /// Counters start here.
    pub counter_start: u64,
    /// Energy counter's start in millijoules.
    pub energy_start_mj: u64,
    /// Power limit in force.
    pub power_limit_w: f64,
    /// Factory power limit.
    pub power_limit_default_w: f64,
    /// Corrected memory errors.
    pub ecc_corrected: Wave,
    /// Uncorrectable memory errors.
    pub ecc_uncorrected: Wave,
    /// Remapped rows: corrected, uncorrected, pending, failed.
    pub remapped: [u32; 4],
    /// PCIe: generation, highest generation, width, greatest width.
    pub pcie: [u32; 4],
    /// PCIe bytes per second each way.
    pub pcie_bytes_per_s: f64,
    /// Where the PCIe byte counters start; they wrap at 2^32.
    pub pcie_start: u64,
    /// PCIe replays.
    pub pcie_replays: Wave,
    /// Processes.
    pub processes: Vec<Process>,
    /// Percent of multiprocessors at work; `null` on GPUs without such counters (GPM).
    pub sm_active: Option<Wave>,
    /// Percent of the memory bandwidth in use.
    pub dram_active: Wave,
    /// Percent of time with the tensor cores at work.
    pub tensor_active: Wave,
    /// Critical errors as `[second, number]`.
    pub xids: Vec<[f64; 2]>,
    /// MIG instances; any puts the GPU into MIG mode.
    pub mig: Vec<Mig>,
    /// Functions (`nvmlDeviceGetFanSpeed`), fields (`field:185`) and rings (`ring:0`) that answer
    /// "not supported".
    pub not_supported: Vec<String>,
}

/// Share of time under each throttle reason.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // The names are the reasons.
pub struct Throttle {
    pub power_cap: Wave,
    pub thermal_policy: Wave,
    pub sync_boost: Wave,
    pub board_limit: Wave,
    pub software_thermal: Wave,
    pub hardware_thermal: Wave,
    pub power_brake: Wave,
}

/// A process on a GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id, or the first of `count`.
    pub pid: u32,
    /// How many such processes, with pids counting up.
    #[serde(default = "one")]
    pub count: u32,
    /// Memory each; `null` answers "not available".
    pub memory_mb: Option<f64>,
    /// Second of its start.
    #[serde(default)]
    pub from_s: f64,
    /// Second of its end.
    #[serde(default = "for_ever")]
    pub until_s: f64,
    /// Whether it has a graphics instead of a compute context.
    #[serde(default)]
    pub graphics: bool,
    /// Percent of time with its kernels running, each; an equal part of the GPU's where it is left out.
    #[serde(default)]
    pub busy: Option<f64>,
    /// The MIG instance that it runs on, counted from 0.
    #[serde(default)]
    pub mig: Option<u32>,
}

/// The driver's number for the nth MIG instance. Not its position: a GPU of seven parts numbers them from 7 on.
pub(crate) fn instance_number(nth: u32) -> u32 {
    nth + 7
}

/// A MIG instance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mig {
    /// Its name.
    pub name: String,
    /// Its memory.
    pub memory_total_mb: f64,
    /// Memory in use.
    pub memory_used_mb: f64,
}

/// Something that goes wrong for a while.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Which GPU.
    #[serde(default)]
    pub gpu: u32,
    /// Which function; `*` is every one.
    pub call: String,
    /// From this second on.
    #[serde(default)]
    pub from_s: f64,
    /// Until this second.
    #[serde(default = "for_ever")]
    pub until_s: f64,
    /// What it answers; 0 goes on normally.
    #[serde(default)]
    pub code: u32,
    /// How long it hangs before that.
    #[serde(default)]
    pub hang_s: f64,
}

impl Fault {
    /// Whether it lasts at this second.
    pub(crate) fn is_due(&self, second: f64) -> bool {
        (self.from_s..self.until_s).contains(&second)
    }
}

fn one() -> u32 {
    1
}

fn for_ever() -> f64 {
    f64::INFINITY
}

impl Default for Throttle {
    fn default() -> Self {
        let none = || Wave::Constant(0.0);
        Self {
            power_cap: none(),
            thermal_policy: none(),
            sync_boost: none(),
            board_limit: none(),
            software_thermal: none(),
            hardware_thermal: none(),
            power_brake: none(),
        }
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            driver: "580.159.04".into(),
            init_code: 0,
            gpus: vec![Gpu::default()],
            faults: Vec::new(),
            busy_us: 0,
        }
    }
}

/// An idle H200, as read on one (driver 580.159.04).
impl Default for Gpu {
    fn default() -> Self {
        Self {
            count: 1,
            recording: None,
            name: "NVIDIA H200".into(),
            memory_total_mb: 143_771.0,
            memory_reserved_mb: 619.0,
            memory_used_mb: Wave::Constant(0.0),
            busy: Wave::Constant(0.0),
            memory_busy: Wave::Constant(0.0),
            power_w: Wave::Points {
                points: vec![[0.0, 76.0]],
                noise: 0.4,
            },
            temperature_c: Wave::Constant(34.0),
            memory_temperature_c: Wave::Constant(37.0),
            margin_reference_c: Some(87.0),
            slowdown_c: None,
            sm_clock_mhz: Wave::Constant(345.0),
            sm_clock_max_mhz: 1980,
            memory_clock_mhz: Wave::Constant(3201.0),
            reasons: Wave::Constant(1.0),
            throttle: Throttle::default(),
            counter_start: 8_700_000_000,
            energy_start_mj: 123_456_789,
            power_limit_w: 700.0,
            power_limit_default_w: 700.0,
            ecc_corrected: Wave::Constant(0.0),
            ecc_uncorrected: Wave::Constant(0.0),
            remapped: [0; 4],
            pcie: [5, 5, 16, 16],
            pcie_bytes_per_s: 1e5,
            pcie_start: 0,
            pcie_replays: Wave::Constant(0.0),
            processes: Vec::new(),
            sm_active: Some(Wave::Constant(0.0)),
            dram_active: Wave::Constant(0.0),
            tensor_active: Wave::Constant(0.0),
            xids: Vec::new(),
            mig: Vec::new(),
            not_supported: vec!["nvmlDeviceGetFanSpeed".into()],
        }
    }
}
