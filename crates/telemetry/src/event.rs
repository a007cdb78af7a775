//! What a sampler says: readings with absent values, in the order in which they were taken.
//!
//! Invariants: a value that the driver does not give is `None`, never a sentinel; units stand in
//! the field's name; a string (a name, a user) travels once, not with every sample.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Micros;

/// A fixed set of optional numbers, addressable by name: what recordings store as columns.
pub trait Readings: Default {
    /// The names, in the order of [`Readings::values`].
    const NAMES: &'static [&'static str];
    /// The values.
    fn values(&self) -> Vec<Option<i64>>;
    /// Sets the value at a position of `NAMES`; positions beyond the end are ignored.
    fn set(&mut self, position: usize, value: Option<i64>);
}

macro_rules! readings {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $field: Option<i64>,)*
        }

        impl Readings for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];

            fn values(&self) -> Vec<Option<i64>> {
                vec![$(self.$field),*]
            }

            fn set(&mut self, position: usize, value: Option<i64>) {
                if let Some(slot) = [$(&mut self.$field),*].into_iter().nth(position) {
                    *slot = value;
                }
            }
        }
    };
}

readings!(/// The fast tier: what changes ten times a second.
    State {
    /// Share of the driver's last sample period with a kernel running.
    busy_percent,
    /// Share of that period in which device memory was read or written.
    memory_busy_percent,
    /// Board power, averaged by the driver (over one second from Ampere on).
    power_mw,
    /// Board power now, where the driver tells it apart.
    power_instant_mw,
    /// Core temperature; that of the hottest spot where the GPU has no other sensor.
    temperature_c,
    /// Temperature of the core's hottest spot (junction).
    hotspot_temperature_c,
    /// Memory temperature.
    memory_temperature_c,
    /// Clock of what computes: streaming multiprocessors, AMD's graphics clock, Intel's GT.
    sm_clock_mhz,
    /// Memory clock.
    memory_clock_mhz,
    /// Clocks event ("throttle") reasons now, as NVML's bits; from bit 16 on our own
    /// ([`crate::baseline::ThrottleReason::bit`]).
    event_reasons,
    /// Device memory in use, without what the driver reserves for itself.
    memory_used_bytes,
    /// Device memory that the driver keeps.
    memory_reserved_bytes,
    /// System memory that the GPU has mapped (AMD's GTT).
    shared_memory_used_bytes,
    /// Time under the software power cap since the driver was loaded.
    power_cap_ns,
    /// Time under a thermal policy.
    thermal_policy_ns,
    /// Time held back for another GPU of a sync-boost group.
    sync_boost_ns,
    /// Time under a board limit.
    board_limit_ns,
    /// Time below the highest clocks because there was little to do.
    low_utilization_ns,
    /// Time under a reliability policy.
    reliability_ns,
    /// Time under software thermal slowdown.
    software_thermal_ns,
    /// Time under hardware thermal slowdown.
    hardware_thermal_ns,
    /// Time under the hardware power brake.
    power_brake_ns,
    /// 1 while the kernel has put the GPU to sleep: it is not read then, since that would wake it.
    asleep,
});

readings!(/// The tier of a second: cheap values that need no ten a second.
    Steady {
    /// Degrees left before the GPU slows itself down (T.Limit).
    margin_c,
    /// Performance state: 0 is fastest.
    performance_state,
    /// Fan speed.
    fan_percent,
    /// Fan speed in turns a minute; of the fastest where there are several.
    fan_rpm,
    /// Encoder busy.
    encoder_percent,
    /// Decoder busy.
    decoder_percent,
    /// Video engines busy, where the driver does not tell encoding and decoding apart.
    media_percent,
    /// Share of time in which the GPU was not in its idle state (Intel's RC6).
    awake_percent,
    /// Processes that this user may not look at: whether they use the GPU is not known.
    hidden_processes,
    /// Share of time and of multiprocessors with a warp at work, in thousandths (GPM, as below).
    sm_active_permille,
    /// Warps in flight as a share of what the multiprocessors can hold.
    sm_occupancy_permille,
    /// Tensor cores at work.
    tensor_active_permille,
    /// Device memory bandwidth in use.
    dram_active_permille,
    /// Double-precision units at work.
    fp64_active_permille,
    /// Single-precision units at work.
    fp32_active_permille,
    /// Half-precision units at work.
    fp16_active_permille,
    /// Bytes a second sent over PCIe.
    pcie_sent_bytes_s,
    /// Bytes a second received over PCIe.
    pcie_received_bytes_s,
    /// Bytes a second received over NVLink.
    nvlink_received_bytes_s,
    /// Bytes a second sent over NVLink.
    nvlink_sent_bytes_s,
    /// Bytes a second read over XGMI, all links together.
    xgmi_read_bytes_s,
    /// Bytes a second written over XGMI.
    xgmi_written_bytes_s,
});

readings!(/// A critical error that the driver reported.
    Xid {
    /// NVIDIA's number for it.
    code,
});

readings!(/// The slow tier: counters and limits.
    Slow {
    /// Memory errors corrected since the last driver load.
    ecc_corrected,
    /// Memory errors that could not be corrected since the last driver load.
    ecc_uncorrected,
    /// Uncorrectable memory errors over the GPU's life.
    ecc_uncorrected_lifetime,
    /// Rows replaced after correctable errors.
    remapped_corrected_rows,
    /// Rows replaced after uncorrectable errors.
    remapped_uncorrected_rows,
    /// 1 when a row waits for a reset to be replaced.
    remap_pending,
    /// 1 when a row could not be replaced.
    remap_failed,
    /// Bytes sent over PCIe (counts on from the driver's start).
    pcie_sent_bytes,
    /// Bytes received over PCIe.
    pcie_received_bytes,
    /// PCIe packets sent again.
    pcie_replays,
    /// PCIe generation now.
    pcie_generation,
    /// PCIe lanes now.
    pcie_width,
    /// Power limit in force.
    power_limit_mw,
});

readings!(/// The energy counter.
    Energy {
    /// Energy since the driver was loaded.
    energy_mj,
});

readings!(/// The host beside the GPUs.
    HostState {
    /// Share of all cores busy since the sample before, in thousandths.
    cpu_busy_permille,
    /// Share of time in which some core waited for a disk, in thousandths.
    cpu_io_wait_permille,
    /// Runnable processes per core over a minute, in thousandths.
    load_per_core_permille,
    /// Memory that can still be had without swapping.
    memory_available_bytes,
    /// All memory.
    memory_total_bytes,
    /// Swap in use.
    swap_used_bytes,
});

/// One value from a ring that the driver keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingSample {
    /// The driver's time stamp.
    pub at: Micros,
    /// Milliwatts or percent, by the ring.
    pub value: i64,
}

/// A process on a GPU at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Process id in the driver's pid namespace.
    pub pid: u32,
    /// Device memory that it holds; absent where the driver does not say.
    pub memory_bytes: Option<i64>,
    /// Whether it is there to compute; a display server is not.
    pub compute: bool,
    /// Share of time in which its kernels ran; absent where it was not requested or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_percent: Option<i64>,
    /// The GPU instance that it runs on, in MIG mode, by the driver's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_instance: Option<u32>,
}

/// Who a process is; looked up once per process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: u32,
    /// Program name; absent where this process may not look (another pid namespace).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Container, by the end of its control group's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The pod's uid, where it runs in one of Kubernetes'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// Command line; only kept where it was requested, since it can hold secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    /// Seconds since 1970 when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_unix: Option<u64>,
    /// Hundredths of a second from the system's start to its own: with the pid, it names a process
    /// until the system ends, whatever happens to the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ticks: Option<u64>,
    /// The process that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
}

/// A slice of a GPU in MIG mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigInstance {
    /// Position under its GPU.
    pub index: u32,
    /// The driver's number of its GPU instance, which its processes carry too; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_instance: Option<u32>,
    /// Stable name.
    pub uuid: String,
    /// What the driver calls it.
    pub name: String,
    /// Memory in use.
    pub memory_used_bytes: Option<i64>,
    /// Memory in all.
    pub memory_total_bytes: Option<i64>,
}

/// Whether a GPU answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// It answers.
    #[default]
    Live,
    /// A call has not come back for longer than the watchdog allows.
    Stale,
    /// The driver says that it fell off the bus.
    Lost,
}

/// Whose GPU it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// NVIDIA, read through NVML. Recordings that name no vendor are of its GPUs.
    #[default]
    Nvidia,
    /// AMD, read through `amdgpu`.
    Amd,
    /// Intel, read through `i915` or `xe`.
    Intel,
}

impl Vendor {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "NVIDIA",
            Self::Amd => "AMD",
            Self::Intel => "Intel",
        }
    }

    /// What the vendor's own tools call the clock of what computes.
    pub fn core_clock(self) -> &'static str {
        match self {
            Self::Nvidia => "SM",
            Self::Amd => "gfx",
            Self::Intel => "GT",
        }
    }
}

/// What stays the same about a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuIdentity {
    /// NVML's index, and from its last one on the others by PCI address; not stable across reboots.
    pub index: u32,
    /// Stable name.
    pub uuid: String,
    /// Product name.
    pub name: String,
    /// Whose it is.
    #[serde(default)]
    pub vendor: Vendor,
    /// The kernel's driver and its version, where it is not NVIDIA's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// PCI address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_bus_id: Option<String>,
    /// Memory in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_total_bytes: Option<i64>,
    /// System memory that the GPU may map (AMD's GTT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory_total_bytes: Option<i64>,
    /// Highest streaming multiprocessor clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_max_mhz: Option<i64>,
    /// Highest PCIe generation of this GPU in this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_generation_max: Option<i64>,
    /// Most PCIe lanes of this GPU in this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_width_max: Option<i64>,
    /// Factory power limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_default_mw: Option<i64>,
    /// Temperature at which it slows itself down; absent where only a margin is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown_temperature_c: Option<i64>,
    /// What of the driver's answers this program cannot read, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Whether it is cut into MIG instances.
    #[serde(default)]
    pub mig: bool,
}

/// What cannot be sampled, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenUnreachable")]
pub struct Unreachable {
    /// The GPU's index; absent where it is the driver itself.
    pub gpu: Option<u32>,
    /// What the driver said, or the call that does not return.
    pub reason: String,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gpu {
            Some(gpu) => write!(f, "GPU {gpu}: {}", self.reason),
            None => write!(f, "NVML: {}", self.reason),
        }
    }
}

/// As it stands in a recording; those of version 0.2 have a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenUnreachable {
    Text(String),
    Parts { gpu: Option<u32>, reason: String },
}

impl From<WrittenUnreachable> for Unreachable {
    fn from(written: WrittenUnreachable) -> Self {
        match written {
            WrittenUnreachable::Parts { gpu, reason } => Self { gpu, reason },
            WrittenUnreachable::Text(text) => {
                let parts = text
                    .strip_prefix("GPU ")
                    .and_then(|rest| rest.split_once(": "));
                let gpu = parts.and_then(|(gpu, _)| gpu.parse().ok());
                let reason = parts
                    .filter(|_| gpu.is_some())
                    .map(|(_, reason)| reason.to_owned());
                Self {
                    gpu,
                    reason: reason.unwrap_or(text),
                }
            }
        }
    }
}

/// What there is to sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// Version of NVIDIA's driver; the kernel's driver where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// NVML version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvml: Option<String>,
    /// Why there is no NVML, where there is none and no other GPU either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvml_absent: Option<String>,
    /// The GPUs that are sampled.
    pub gpus: Vec<GpuIdentity>,
    /// GPUs that the driver counts but does not open, and a driver that does not answer at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable: Vec<Unreachable>,
    /// CPU model.
    pub cpu: String,
    /// Cores.
    pub cores: usize,
    /// Whether this process sees the host's processes; `None` where that cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_pids: Option<bool>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// Fast tier.
    State(State),
    /// Tier of a second.
    Steady(Steady),
    /// Slow tier.
    Slow(Slow),
    /// Energy counter.
    Energy(Energy),
    /// New samples of the driver's power ring, in milliwatts.
    PowerRing(Vec<RingSample>),
    /// New samples of the driver's utilisation ring, in percent.
    BusyRing(Vec<RingSample>),
    /// New samples of the driver's memory utilisation ring, in percent.
    MemoryBusyRing(Vec<RingSample>),
    /// The processes on a GPU.
    Processes(Vec<ProcessUse>),
    /// A process seen for the first time.
    Process(ProcessIdentity),
    /// The MIG instances of a GPU.
    Mig(Vec<MigInstance>),
    /// A GPU stopped or began to answer.
    Presence(Presence),
    /// The driver reported a critical error.
    Xid(Xid),
    /// The host.
    Host(HostState),
}

/// Something that happened on a GPU or on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Micros,
    /// Which GPU, by its position in [`Inventory::gpus`]; the host's events carry 0.
    pub gpu: u16,
    /// What.
    pub what: Happening,
}
