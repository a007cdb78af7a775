//! The board under the names, labels and units of NVIDIA's dcgm-exporter, for dashboards and alerts
//! that were written for it.
//!
//! The names are those of its default list and of the fields that are usually added to it. Where it
//! writes a sentinel for what it does not know, there is no line here. A GPU that several containers
//! share has a line for each of them, as there. A MIG instance has lines of its own beside those of its
//! GPU: its memory, which is what NVML knows of it.

use super::metrics_text::scaled;
use super::pod_resources::{Assignment, Pods};
use super::text_format::{Head, Series};
use crate::board::{Board, GpuBoard};
use crate::event::{Presence, Vendor};
use crate::{GpuIdentity, MigInstance};

struct Family {
    head: Head,
    value: fn(&GpuIdentity, &GpuBoard) -> Option<f64>,
}

const LABELS: &str = "gpu, UUID, pci_bus_id, device, modelName, GPU_I_PROFILE, GPU_I_ID, Hostname, DCGM_FI_DRIVER_VERSION, container, namespace, pod";
const MEBIBYTE: f64 = 1.0 / 1_048_576.0;

macro_rules! families {
    ($($name:literal $kind:literal $help:literal $value:expr;)*) => {
        &[$(Family {
            head: Head::new(concat!("DCGM_FI_", $name), $kind, $help, LABELS),
            value: $value,
        }),*]
    };
}

const FAMILIES: &[Family] = families![
    "DEV_SM_CLOCK" "gauge" "SM clock in MHz." |_, gpu| scaled(gpu.state.sm_clock_mhz, 1.0);
    "DEV_MEM_CLOCK" "gauge" "Memory clock in MHz." |_, gpu| scaled(gpu.state.memory_clock_mhz, 1.0);
    "DEV_MEMORY_TEMP" "gauge" "Memory temperature in °C." |_, gpu| scaled(gpu.state.memory_temperature_c, 1.0);
    "DEV_GPU_TEMP" "gauge" "Core temperature in °C." |_, gpu| scaled(gpu.state.temperature_c, 1.0);
    "DEV_POWER_USAGE" "gauge" "Board power in W." |_, gpu| scaled(gpu.state.power_mw, 1e-3);
    "DEV_POWER_MGMT_LIMIT" "gauge" "Power limit in W." |_, gpu| scaled(gpu.slow.power_limit_mw, 1e-3);
    "DEV_TOTAL_ENERGY_CONSUMPTION" "counter" "Energy since the driver was loaded, in mJ." |_, gpu| scaled(gpu.energy_mj, 1.0);
    "DEV_PCIE_REPLAY_COUNTER" "counter" "PCIe packets sent again." |_, gpu| scaled(gpu.slow.pcie_replays, 1.0);
    "DEV_PCIE_LINK_GEN" "gauge" "PCIe generation now." |_, gpu| scaled(gpu.slow.pcie_generation, 1.0);
    "DEV_PCIE_MAX_LINK_GEN" "gauge" "Highest PCIe generation." |identity, _| scaled(identity.pcie_generation_max, 1.0);
    "DEV_PCIE_LINK_WIDTH" "gauge" "PCIe lanes now." |_, gpu| scaled(gpu.slow.pcie_width, 1.0);
    "DEV_PCIE_MAX_LINK_WIDTH" "gauge" "Most PCIe lanes." |identity, _| scaled(identity.pcie_width_max, 1.0);
    "DEV_GPU_UTIL" "gauge" "Time with a kernel running, in %." |_, gpu| scaled(gpu.state.busy_percent, 1.0);
    "DEV_MEM_COPY_UTIL" "gauge" "Time in which memory was read or written, in %." |_, gpu| scaled(gpu.state.memory_busy_percent, 1.0);
    "DEV_ENC_UTIL" "gauge" "Encoder utilisation in %." |_, gpu| scaled(gpu.steady.encoder_percent, 1.0);
    "DEV_DEC_UTIL" "gauge" "Decoder utilisation in %." |_, gpu| scaled(gpu.steady.decoder_percent, 1.0);
    "DEV_FAN_SPEED" "gauge" "Fan speed in %." |_, gpu| scaled(gpu.steady.fan_percent, 1.0);
    "DEV_PSTATE" "gauge" "Performance state; 0 is fastest." |_, gpu| scaled(gpu.steady.performance_state, 1.0);
    "DEV_XID_ERRORS" "gauge" "Number of the last Xid, 0 where there was none."
        |_, gpu| Some(gpu.xids.iter().max_by_key(|(_, (_, at))| *at).map_or(0.0, |(code, _)| *code as f64));
    "DEV_POWER_VIOLATION" "counter" "Time under the power cap, in ns." |_, gpu| scaled(gpu.state.power_cap_ns, 1.0);
    "DEV_THERMAL_VIOLATION" "counter" "Time under a thermal limit, in ns." |_, gpu| scaled(gpu.state.thermal_policy_ns, 1.0);
    "DEV_SYNC_BOOST_VIOLATION" "counter" "Time held back by sync boost, in ns." |_, gpu| scaled(gpu.state.sync_boost_ns, 1.0);
    "DEV_BOARD_LIMIT_VIOLATION" "counter" "Time under a board limit, in ns." |_, gpu| scaled(gpu.state.board_limit_ns, 1.0);
    "DEV_LOW_UTIL_VIOLATION" "counter" "Time at lower clocks for little work, in ns." |_, gpu| scaled(gpu.state.low_utilization_ns, 1.0);
    "DEV_RELIABILITY_VIOLATION" "counter" "Time under a reliability limit, in ns." |_, gpu| scaled(gpu.state.reliability_ns, 1.0);
    "DEV_FB_FREE" "gauge" "Free device memory in MiB."
        |identity, gpu| {
            let used = gpu.state.memory_used_bytes? + gpu.state.memory_reserved_bytes.unwrap_or(0);
            scaled(Some((identity.memory_total_bytes? - used).max(0)), MEBIBYTE).map(f64::floor)
        };
    "DEV_FB_USED" "gauge" "Device memory in use, in MiB." |_, gpu| scaled(gpu.state.memory_used_bytes, MEBIBYTE).map(f64::floor);
    "DEV_FB_RESERVED" "gauge" "Device memory that the driver keeps, in MiB." |_, gpu| scaled(gpu.state.memory_reserved_bytes, MEBIBYTE).map(f64::floor);
    "DEV_FB_TOTAL" "gauge" "Device memory in MiB." |identity, _| scaled(identity.memory_total_bytes, MEBIBYTE).map(f64::floor);
    "DEV_ECC_SBE_VOL_TOTAL" "counter" "Memory errors corrected since the driver was loaded." |_, gpu| scaled(gpu.slow.ecc_corrected, 1.0);
    "DEV_ECC_DBE_VOL_TOTAL" "counter" "Memory errors not corrected since the driver was loaded." |_, gpu| scaled(gpu.slow.ecc_uncorrected, 1.0);
    "DEV_UNCORRECTABLE_REMAPPED_ROWS" "counter" "Rows replaced after uncorrectable errors." |_, gpu| scaled(gpu.slow.remapped_uncorrected_rows, 1.0);
    "DEV_CORRECTABLE_REMAPPED_ROWS" "counter" "Rows replaced after correctable errors." |_, gpu| scaled(gpu.slow.remapped_corrected_rows, 1.0);
    "DEV_ROW_REMAP_FAILURE" "gauge" "1 when a row could not be replaced." |_, gpu| scaled(gpu.slow.remap_failed, 1.0);
    "DEV_ROW_REMAP_PENDING" "gauge" "1 while a row waits for a reset." |_, gpu| scaled(gpu.slow.remap_pending, 1.0);
    "PROF_SM_ACTIVE" "gauge" "Share of time and multiprocessors with a warp at work." |_, gpu| scaled(gpu.steady.sm_active_permille, 1e-3);
    "PROF_SM_OCCUPANCY" "gauge" "Warps in flight as a share of what fits." |_, gpu| scaled(gpu.steady.sm_occupancy_permille, 1e-3);
    "PROF_PIPE_TENSOR_ACTIVE" "gauge" "Share of time with the tensor cores at work." |_, gpu| scaled(gpu.steady.tensor_active_permille, 1e-3);
    "PROF_DRAM_ACTIVE" "gauge" "Share of the memory bandwidth in use." |_, gpu| scaled(gpu.steady.dram_active_permille, 1e-3);
    "PROF_PIPE_FP64_ACTIVE" "gauge" "Share of time with the double-precision units at work." |_, gpu| scaled(gpu.steady.fp64_active_permille, 1e-3);
    "PROF_PIPE_FP32_ACTIVE" "gauge" "Share of time with the single-precision units at work." |_, gpu| scaled(gpu.steady.fp32_active_permille, 1e-3);
    "PROF_PIPE_FP16_ACTIVE" "gauge" "Share of time with the half-precision units at work." |_, gpu| scaled(gpu.steady.fp16_active_permille, 1e-3);
    "PROF_PCIE_TX_BYTES" "gauge" "Bytes a second sent over PCIe." |_, gpu| scaled(gpu.steady.pcie_sent_bytes_s, 1.0);
    "PROF_PCIE_RX_BYTES" "gauge" "Bytes a second received over PCIe." |_, gpu| scaled(gpu.steady.pcie_received_bytes_s, 1.0);
    "PROF_NVLINK_TX_BYTES" "gauge" "Bytes a second sent over NVLink." |_, gpu| scaled(gpu.steady.nvlink_sent_bytes_s, 1.0);
    "PROF_NVLINK_RX_BYTES" "gauge" "Bytes a second received over NVLink." |_, gpu| scaled(gpu.steady.nvlink_received_bytes_s, 1.0);
];

/// Every metric of this page, in its order.
pub(super) fn heads() -> impl Iterator<Item = &'static Head> {
    FAMILIES.iter().map(|family| &family.head)
}

/// What is known of a MIG instance, under the names of [`FAMILIES`].
fn of_instance(name: &str, instance: &MigInstance) -> Option<f64> {
    let (used, total) = (instance.memory_used_bytes, instance.memory_total_bytes);
    let bytes = match name {
        "DCGM_FI_DEV_FB_USED" => used?,
        "DCGM_FI_DEV_FB_TOTAL" => total?,
        "DCGM_FI_DEV_FB_FREE" => (total? - used?).max(0),
        _ => return None,
    };
    scaled(Some(bytes), MEBIBYTE).map(f64::floor)
}

/// A GPU with the texts of its labels.
struct Gpu<'a> {
    index: String,
    device: String,
    identity: &'a GpuIdentity,
    board: &'a GpuBoard,
}

/// The page, appended to `out`. `pods` are absent where the kubelet is not asked.
pub(super) fn dcgm_text(board: &Board, pods: Option<&Pods>, hostname: &str, out: &mut dyn Series) {
    let driver = board.inventory.driver.as_deref().unwrap_or("");
    let gpus: Vec<Gpu<'_>> = board
        .inventory
        .gpus
        .iter()
        .zip(&board.gpus)
        .filter(|(_, gpu)| gpu.presence == Presence::Live)
        .map(|(identity, board)| {
            let index = identity.index.to_string();
            let device = match identity.vendor {
                Vendor::Nvidia => format!("nvidia{index}"),
                Vendor::Amd | Vendor::Intel => format!("gpu{index}"),
            };
            Gpu {
                index,
                device,
                identity,
                board,
            }
        })
        .collect();
    for family in FAMILIES {
        let mut said = false;
        let mut line = |gpu: &Gpu<'_>, instance: Option<&MigInstance>, value: f64| {
            if !said {
                out.head(&family.head);
                said = true;
            }
            let number = instance.and_then(|instance| instance.gpu_instance);
            let number = number.map_or_else(String::new, |number| number.to_string());
            let identity = gpu.identity;
            let mut labels = vec![
                ("gpu", gpu.index.as_str()),
                ("UUID", &identity.uuid),
                ("pci_bus_id", identity.pci_bus_id.as_deref().unwrap_or("")),
                ("device", &gpu.device),
                ("modelName", &identity.name),
            ];
            if let Some(instance) = instance {
                labels.push(("GPU_I_PROFILE", profile(instance)));
                labels.push(("GPU_I_ID", &number));
            }
            labels.push(("Hostname", hostname));
            labels.push(("DCGM_FI_DRIVER_VERSION", driver));
            let owners = pods.map(|pods| match instance {
                Some(instance) => pods.owners(&instance.uuid, &instance.uuid),
                None => pods.owners(&identity.uuid, &gpu.index),
            });
            owned(family.head.name, &mut labels, owners, value, out);
        };
        for gpu in &gpus {
            if let Some(value) = (family.value)(gpu.identity, gpu.board) {
                line(gpu, None, value);
            }
            for instance in &gpu.board.mig {
                if let Some(value) = of_instance(family.head.name, instance) {
                    line(gpu, Some(instance), value);
                }
            }
        }
    }
}

/// What the driver calls an instance ends in its profile: `NVIDIA H200 MIG 1g.18gb`.
fn profile(instance: &MigInstance) -> &str {
    instance.name.rsplit(' ').next().unwrap_or("")
}

/// A line for each container that has it; one without a container where nobody has.
fn owned<'a>(
    name: &str,
    labels: &mut Vec<(&'a str, &'a str)>,
    owners: Option<Vec<&'a Assignment>>,
    value: f64,
    out: &mut dyn Series,
) {
    let Some(owners) = owners else {
        return out.line(name, labels, value);
    };
    let own = labels.len();
    let places = owners
        .iter()
        .map(|owner| [&*owner.container, &owner.namespace, &owner.pod]);
    let nobody = owners.is_empty().then_some([""; 3]);
    // Shares of one GPU in one container are one line.
    for [container, namespace, pod] in places.chain(nobody) {
        labels.truncate(own);
        labels.extend([
            ("container", container),
            ("namespace", namespace),
            ("pod", pod),
        ]);
        out.line(name, labels, value);
    }
}

/// The name of this machine, as its exporter's lines carry it: the node's where Kubernetes gives one.
pub(super) fn hostname() -> String {
    let node = std::env::var("NODE_NAME")
        .ok()
        .filter(|name| !name.is_empty());
    node.unwrap_or_else(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim().to_owned()
    })
}
