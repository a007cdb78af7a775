//! The board in Prometheus' text format.
//!
//! Invariants: base units (bytes, seconds, ratios, joules, hertz); a value that is not known has no
//! line; GPU series are labelled by index and uuid only, names stand in the info series; process
//! series are off unless requested, bounded, and never hold a command line; a GPU that does not answer
//! has no readings, because those of the past would be taken for those of now.

use super::pod_resources::Pods;
use super::text_format::{Head, Series};
use crate::baseline::ThrottleReason;
use crate::board::{Board, GpuBoard};
use crate::event::Presence;
use crate::{GpuIdentity, Micros};

/// Whether each process has its own series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessSeries {
    /// Only their number per GPU.
    #[default]
    Off,
    /// The largest of each GPU, with pid, program and user.
    On,
}

/// Most process series per GPU.
const PROCESSES_PER_GPU: usize = 32;

/// A metric of a GPU, and how its value is found.
struct Family {
    head: Head,
    value: fn(&GpuIdentity, &GpuBoard, Micros) -> Option<f64>,
}

macro_rules! families {
    ($($name:tt $kind:literal $help:tt $value:expr;)*) => {
        &[$(Family { head: Head::new($name, $kind, $help, "gpu, uuid"), value: $value }),*]
    };
}

fn ratio(percent: Option<i64>) -> Option<f64> {
    percent.map(|percent| percent as f64 / 100.0)
}

pub(super) fn scaled(value: Option<i64>, scale: f64) -> Option<f64> {
    value.map(|value| value as f64 * scale)
}

const UP: &str = "warpsmith_gpu_up";
const UP_HELP: &str =
    "1 while the GPU answers, 0 while a call hangs, after it was lost, and where it does not open.";

/// What is known of a GPU that does not answer.
const STATES: [&str; 5] = [
    UP,
    "warpsmith_gpu_lost",
    "warpsmith_gpu_hung",
    "warpsmith_gpu_sample_age_seconds",
    "warpsmith_gpu_samples_total",
];

const FAMILIES: &[Family] = families![
    UP "gauge" UP_HELP
        |_, gpu, _| Some(f64::from(u8::from(gpu.presence == Presence::Live)));
    "warpsmith_gpu_lost" "gauge" "1 after the driver said that the GPU fell off the bus."
        |_, gpu, _| Some(f64::from(u8::from(gpu.presence == Presence::Lost)));
    "warpsmith_gpu_hung" "gauge" "1 while a call of the driver does not return."
        |_, gpu, _| Some(f64::from(u8::from(gpu.presence == Presence::Stale)));
    "warpsmith_gpu_sample_age_seconds" "gauge" "Time since the state was last read."
        |_, gpu, now| gpu.state_at.map(|at| now.since(at).as_secs_f64());
    "warpsmith_gpu_samples_total" "counter" "States read."
        |_, gpu, _| Some(gpu.samples as f64);
    "warpsmith_gpu_busy_ratio" "gauge" "Share of time with a kernel running (not how much of the GPU it used)."
        |_, gpu, _| ratio(gpu.state.busy_percent);
    "warpsmith_gpu_memory_busy_ratio" "gauge" "Share of time in which device memory was read or written."
        |_, gpu, _| ratio(gpu.state.memory_busy_percent);
    "warpsmith_gpu_power_watts" "gauge" "Board power, as averaged by the driver."
        |_, gpu, _| scaled(gpu.state.power_mw, 1e-3);
    "warpsmith_gpu_power_limit_watts" "gauge" "Power limit in force."
        |_, gpu, _| scaled(gpu.slow.power_limit_mw, 1e-3);
    "warpsmith_gpu_energy_joules_total" "counter" "Energy since the driver was loaded."
        |_, gpu, _| scaled(gpu.energy_mj, 1e-3);
    "warpsmith_gpu_asleep" "gauge" "1 while the kernel has put the GPU to sleep, in which it is not read."
        |_, gpu, _| scaled(gpu.state.asleep, 1.0);
    "warpsmith_gpu_temperature_celsius" "gauge" "Core temperature; the hottest spot's where the GPU has no other sensor."
        |_, gpu, _| scaled(gpu.state.temperature_c, 1.0);
    "warpsmith_gpu_hotspot_temperature_celsius" "gauge" "Temperature of the core's hottest spot."
        |_, gpu, _| scaled(gpu.state.hotspot_temperature_c, 1.0);
    "warpsmith_gpu_memory_temperature_celsius" "gauge" "Memory temperature."
        |_, gpu, _| scaled(gpu.state.memory_temperature_c, 1.0);
    "warpsmith_gpu_thermal_margin_celsius" "gauge" "Degrees left before the GPU slows itself down (T.Limit; on others to the sensor's limit)."
        |_, gpu, _| scaled(gpu.steady.margin_c, 1.0);
    "warpsmith_gpu_sm_clock_hertz" "gauge" "Clock of what computes: SM, AMD's graphics clock, Intel's GT."
        |_, gpu, _| scaled(gpu.state.sm_clock_mhz, 1e6);
    "warpsmith_gpu_memory_clock_hertz" "gauge" "Memory clock."
        |_, gpu, _| scaled(gpu.state.memory_clock_mhz, 1e6);
    "warpsmith_gpu_clocks_locked" "gauge" "1 while clocks are set by an application or an administrator."
        |_, gpu, _| gpu.state.event_reasons.map(|bits| f64::from(u8::from(bits & 0x2 != 0)));
    "warpsmith_gpu_hardware_slowdown" "gauge" "1 while the hardware slows the GPU down."
        |_, gpu, _| gpu.state.event_reasons.map(|bits| f64::from(u8::from(bits & 0x8 != 0)));
    "warpsmith_gpu_memory_used_bytes" "gauge" "Device memory in use by programs."
        |_, gpu, _| scaled(gpu.state.memory_used_bytes, 1.0);
    "warpsmith_gpu_memory_reserved_bytes" "gauge" "Device memory that the driver keeps."
        |_, gpu, _| scaled(gpu.state.memory_reserved_bytes, 1.0);
    "warpsmith_gpu_memory_total_bytes" "gauge" "Device memory."
        |identity, _, _| scaled(identity.memory_total_bytes, 1.0);
    "warpsmith_gpu_shared_memory_used_bytes" "gauge" "System memory that the GPU has mapped."
        |_, gpu, _| scaled(gpu.state.shared_memory_used_bytes, 1.0);
    "warpsmith_gpu_shared_memory_total_bytes" "gauge" "System memory that the GPU may map."
        |identity, _, _| scaled(identity.shared_memory_total_bytes, 1.0);
    "warpsmith_gpu_ecc_corrected_errors_total" "counter" "Memory errors corrected since the driver was loaded."
        |_, gpu, _| scaled(gpu.slow.ecc_corrected, 1.0);
    "warpsmith_gpu_ecc_uncorrected_errors_total" "counter" "Memory errors that could not be corrected since the driver was loaded."
        |_, gpu, _| scaled(gpu.slow.ecc_uncorrected, 1.0);
    "warpsmith_gpu_row_remap_pending" "gauge" "1 while a memory row waits for a reset to be replaced."
        |_, gpu, _| scaled(gpu.slow.remap_pending, 1.0);
    "warpsmith_gpu_row_remap_failed" "gauge" "1 when a memory row could not be replaced."
        |_, gpu, _| scaled(gpu.slow.remap_failed, 1.0);
    "warpsmith_gpu_pcie_generation" "gauge" "PCIe generation now."
        |_, gpu, _| scaled(gpu.slow.pcie_generation, 1.0);
    "warpsmith_gpu_pcie_generation_max" "gauge" "Highest PCIe generation of GPU and slot."
        |identity, _, _| scaled(identity.pcie_generation_max, 1.0);
    "warpsmith_gpu_pcie_width" "gauge" "PCIe lanes now."
        |_, gpu, _| scaled(gpu.slow.pcie_width, 1.0);
    "warpsmith_gpu_pcie_width_max" "gauge" "Most PCIe lanes of GPU and slot."
        |identity, _, _| scaled(identity.pcie_width_max, 1.0);
    "warpsmith_gpu_pcie_sent_bytes_total" "counter" "Bytes sent over PCIe."
        |_, gpu, _| scaled(gpu.slow.pcie_sent_bytes, 1.0);
    "warpsmith_gpu_pcie_received_bytes_total" "counter" "Bytes received over PCIe."
        |_, gpu, _| scaled(gpu.slow.pcie_received_bytes, 1.0);
    "warpsmith_gpu_pcie_replays_total" "counter" "PCIe packets sent again."
        |_, gpu, _| scaled(gpu.slow.pcie_replays, 1.0);
    "warpsmith_gpu_fan_ratio" "gauge" "Fan speed as a share of its nominal highest."
        |_, gpu, _| ratio(gpu.steady.fan_percent);
    "warpsmith_gpu_fan_rpm" "gauge" "Fan speed in turns a minute, of the fastest fan."
        |_, gpu, _| scaled(gpu.steady.fan_rpm, 1.0);
    "warpsmith_gpu_encoder_busy_ratio" "gauge" "Share of time with the encoder busy."
        |_, gpu, _| ratio(gpu.steady.encoder_percent);
    "warpsmith_gpu_decoder_busy_ratio" "gauge" "Share of time with the decoder busy."
        |_, gpu, _| ratio(gpu.steady.decoder_percent);
    "warpsmith_gpu_media_busy_ratio" "gauge" "Share of time with the video engines busy, where encoding and decoding are not told apart."
        |_, gpu, _| ratio(gpu.steady.media_percent);
    "warpsmith_gpu_awake_ratio" "gauge" "Share of time in which the GPU was not in its idle state."
        |_, gpu, _| ratio(gpu.steady.awake_percent);
    "warpsmith_gpu_sm_active_ratio" "gauge" "Share of time and multiprocessors with a warp at work."
        |_, gpu, _| scaled(gpu.steady.sm_active_permille, 1e-3);
    "warpsmith_gpu_sm_occupancy_ratio" "gauge" "Warps in flight as a share of what the multiprocessors can hold."
        |_, gpu, _| scaled(gpu.steady.sm_occupancy_permille, 1e-3);
    "warpsmith_gpu_tensor_active_ratio" "gauge" "Share of time with the tensor cores at work."
        |_, gpu, _| scaled(gpu.steady.tensor_active_permille, 1e-3);
    "warpsmith_gpu_dram_active_ratio" "gauge" "Share of the device memory's bandwidth in use."
        |_, gpu, _| scaled(gpu.steady.dram_active_permille, 1e-3);
    "warpsmith_gpu_fp64_active_ratio" "gauge" "Share of time with the double-precision units at work."
        |_, gpu, _| scaled(gpu.steady.fp64_active_permille, 1e-3);
    "warpsmith_gpu_fp32_active_ratio" "gauge" "Share of time with the single-precision units at work."
        |_, gpu, _| scaled(gpu.steady.fp32_active_permille, 1e-3);
    "warpsmith_gpu_fp16_active_ratio" "gauge" "Share of time with the half-precision units at work."
        |_, gpu, _| scaled(gpu.steady.fp16_active_permille, 1e-3);
    "warpsmith_gpu_nvlink_received_bytes_per_second" "gauge" "Bytes a second received over NVLink."
        |_, gpu, _| scaled(gpu.steady.nvlink_received_bytes_s, 1.0);
    "warpsmith_gpu_nvlink_sent_bytes_per_second" "gauge" "Bytes a second sent over NVLink."
        |_, gpu, _| scaled(gpu.steady.nvlink_sent_bytes_s, 1.0);
    "warpsmith_gpu_xgmi_read_bytes_per_second" "gauge" "Bytes a second read over XGMI."
        |_, gpu, _| scaled(gpu.steady.xgmi_read_bytes_s, 1.0);
    "warpsmith_gpu_xgmi_written_bytes_per_second" "gauge" "Bytes a second written over XGMI."
        |_, gpu, _| scaled(gpu.steady.xgmi_written_bytes_s, 1.0);
    "warpsmith_gpu_performance_state" "gauge" "Performance state; 0 is fastest."
        |_, gpu, _| scaled(gpu.steady.performance_state, 1.0);
    "warpsmith_gpu_processes" "gauge" "Processes on the GPU."
        |_, gpu, _| gpu.processes.as_ref().map(|list| list.len() as f64);
    "warpsmith_gpu_hidden_processes" "gauge" "Processes that the exporter may not look at: whether they use the GPU is not known."
        |_, gpu, _| scaled(gpu.steady.hidden_processes, 1.0);
];

const BUILD: Head = Head::new(
    "warpsmith_build_info",
    "gauge",
    "The exporter's version, and what it was built for.",
    "version, os, arch",
);
const DRIVER: Head = Head::new(
    "warpsmith_driver_info",
    "gauge",
    "Versions of NVIDIA's driver and of NVML; the kernel's driver where there is no NVML.",
    "driver, nvml",
);
const GPUS: Head = Head::new("warpsmith_gpus", "gauge", "GPUs that are sampled.", "");
const UNREACHABLE: Head = Head::new(
    "warpsmith_gpus_unreachable",
    "gauge",
    "GPUs that the driver counts and does not open.",
    "",
);
const INFO: Head = Head::new(
    "warpsmith_gpu_info",
    "gauge",
    "What the GPU is.",
    "gpu, uuid, name, vendor, driver, pci_bus_id, mig",
);
const DOWN: Head = Head::new(
    "warpsmith_gpu_down_info",
    "gauge",
    "Why a GPU does not answer.",
    "gpu, uuid, reason",
);
const THROTTLE: Head = Head::new(
    "warpsmith_gpu_throttle_seconds_total",
    "counter",
    "Time held back, by reason.",
    "gpu, uuid, reason",
);
const XIDS: Head = Head::new(
    "warpsmith_gpu_xid_errors_total",
    "counter",
    "Critical errors that the driver reported, by number.",
    "gpu, uuid, xid",
);
const XID_LAST: Head = Head::new(
    "warpsmith_gpu_xid_last_timestamp_seconds",
    "gauge",
    "When the driver last reported this critical error.",
    "gpu, uuid, xid",
);
const MIG_USED: Head = Head::new(
    "warpsmith_mig_memory_used_bytes",
    "gauge",
    "Memory in use of a MIG instance.",
    "gpu, uuid, profile",
);
const MIG_TOTAL: Head = Head::new(
    "warpsmith_mig_memory_total_bytes",
    "gauge",
    "Memory of a MIG instance.",
    "gpu, uuid, profile",
);
const PROCESS_MEMORY: Head = Head::new(
    "warpsmith_gpu_process_memory_bytes",
    "gauge",
    "Device memory held by a process (`--processes`).",
    "gpu, uuid, pid, program, user, container, pod_uid",
);
const KUBELET: Head = Head::new(
    "warpsmith_kubelet_up",
    "gauge",
    "1 while the kubelet tells which pod has which GPU (`--kubernetes`).",
    "",
);
const POD: Head = Head::new(
    "warpsmith_gpu_pod_info",
    "gauge",
    "A container that was given the GPU or a share of it (`--kubernetes`).",
    "gpu, uuid, namespace, pod, container",
);
const HOST: [Head; 4] = [
    Head::new(
        "warpsmith_host_cpu_busy_ratio",
        "gauge",
        "Share of the host's cores that are busy.",
        "",
    ),
    Head::new(
        "warpsmith_host_memory_available_bytes",
        "gauge",
        "Host memory available without swapping.",
        "",
    ),
    Head::new(
        "warpsmith_host_memory_total_bytes",
        "gauge",
        "Host memory.",
        "",
    ),
    Head::new(
        "warpsmith_host_swap_used_bytes",
        "gauge",
        "Host swap in use.",
        "",
    ),
];

/// Everything that [`metrics_text`] can have a line for, in its order.
pub(super) fn heads() -> impl Iterator<Item = &'static Head> {
    [&BUILD, &DRIVER, &GPUS, &UNREACHABLE, &INFO]
        .into_iter()
        .chain(FAMILIES.iter().map(|family| &family.head))
        .chain([&DOWN, &XIDS, &XID_LAST, &THROTTLE, &MIG_USED, &MIG_TOTAL])
        .chain([&PROCESS_MEMORY])
        .chain(&HOST)
        .chain([&KUBELET, &POD])
}

/// The whole page, appended to `out`.
pub fn metrics_text(board: &Board, now: Micros, processes: ProcessSeries, out: &mut String) {
    series(board, now, processes, out);
}

/// Every series of the machine.
pub(super) fn series(board: &Board, now: Micros, processes: ProcessSeries, out: &mut dyn Series) {
    let inventory = &board.inventory;
    out.head(&BUILD);
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("os", std::env::consts::OS),
        ("arch", std::env::consts::ARCH),
    ];
    out.line(BUILD.name, &labels, 1.0);
    if let Some(driver) = &inventory.driver {
        out.head(&DRIVER);
        let nvml = inventory.nvml.as_deref().unwrap_or("");
        out.line(DRIVER.name, &[("driver", driver), ("nvml", nvml)], 1.0);
    }
    out.head(&GPUS);
    out.line(GPUS.name, &[], inventory.gpus.len() as f64);
    out.head(&UNREACHABLE);
    let unreachable_gpus = inventory.unreachable.len() as f64;
    out.line(UNREACHABLE.name, &[], unreachable_gpus);
    let mut gpus: Vec<(String, &GpuIdentity, &GpuBoard)> = inventory
        .gpus
        .iter()
        .zip(&board.gpus)
        .map(|(identity, gpu)| (identity.index.to_string(), identity, gpu))
        .collect();
    if !gpus.is_empty() {
        out.head(&INFO);
        for (index, identity, _) in &gpus {
            let labels = [
                ("gpu", index.as_str()),
                ("uuid", &identity.uuid),
                ("name", &identity.name),
                ("vendor", identity.vendor.name()),
                ("driver", identity.driver.as_deref().unwrap_or("")),
                ("pci_bus_id", identity.pci_bus_id.as_deref().unwrap_or("")),
                ("mig", if identity.mig { "1" } else { "0" }),
            ];
            out.line(INFO.name, &labels, 1.0);
        }
    }
    for family in FAMILIES {
        let mut said = false;
        if family.head.name == UP {
            unreachable(out, board);
            said = !inventory.unreachable.is_empty();
        }
        for (index, identity, gpu) in &gpus {
            if gpu.presence != Presence::Live && !STATES.contains(&family.head.name) {
                continue;
            }
            if let Some(value) = (family.value)(identity, gpu, now) {
                if !said {
                    out.head(&family.head);
                    said = true;
                }
                out.line(
                    family.head.name,
                    &[("gpu", index), ("uuid", &identity.uuid)],
                    value,
                );
            }
        }
    }
    down_reasons(out, board, &gpus);
    xids(out, &gpus);
    gpus.retain(|(_, _, gpu)| gpu.presence == Presence::Live);
    throttle(out, &gpus);
    mig(out, &gpus);
    if processes == ProcessSeries::On {
        process_series(out, board, &gpus);
    }
    host(out, board);
}

/// Which pod has which GPU, appended to `out`.
pub(super) fn pods_text(board: &Board, pods: &Pods, out: &mut dyn Series) {
    out.head(&KUBELET);
    let up = f64::from(u8::from(pods.failure.is_none()));
    out.line(KUBELET.name, &[], up);
    let mut said = false;
    for identity in &board.inventory.gpus {
        let index = identity.index.to_string();
        for owner in pods.owners(&identity.uuid, &index) {
            if !said {
                out.head(&POD);
                said = true;
            }
            let labels = [
                ("gpu", index.as_str()),
                ("uuid", &identity.uuid),
                ("namespace", &owner.namespace),
                ("pod", &owner.pod),
                ("container", &owner.container),
            ];
            out.line(POD.name, &labels, 1.0);
        }
    }
}

/// The label of a GPU that was not opened; `all` is a driver that does not answer.
fn label(gpu: Option<u32>) -> String {
    gpu.map_or_else(|| "all".to_owned(), |gpu| gpu.to_string())
}

/// The lines of GPUs that have no board.
fn unreachable(out: &mut dyn Series, board: &Board) {
    for (nth, one) in board.inventory.unreachable.iter().enumerate() {
        if nth == 0 {
            out.head(&FAMILIES[0].head);
        }
        out.line(UP, &[("gpu", &label(one.gpu)), ("uuid", "")], 0.0);
    }
}

/// Why a GPU is down.
fn down_reasons(out: &mut dyn Series, board: &Board, gpus: &[(String, &GpuIdentity, &GpuBoard)]) {
    let unreachable = board.inventory.unreachable.iter();
    let unreachable = unreachable.map(|one| (label(one.gpu), "", one.reason.clone()));
    let down = gpus.iter().filter_map(|(index, identity, gpu)| {
        let reason = match (gpu.presence, gpu.hangs_in) {
            (Presence::Live, _) => return None,
            (Presence::Lost, _) => "the driver lost the GPU".to_owned(),
            (Presence::Stale, Some(call)) => format!("{call} does not return"),
            (Presence::Stale, None) => "the driver does not answer".to_owned(),
        };
        Some((index.clone(), identity.uuid.as_str(), reason))
    });
    for (nth, (gpu, uuid, reason)) in unreachable.chain(down).enumerate() {
        if nth == 0 {
            out.head(&DOWN);
        }
        let labels = [("gpu", gpu.as_str()), ("uuid", uuid), ("reason", &reason)];
        out.line(DOWN.name, &labels, 1.0);
    }
}

fn throttle(out: &mut dyn Series, gpus: &[(String, &GpuIdentity, &GpuBoard)]) {
    let mut said = false;
    for (index, identity, gpu) in gpus {
        for reason in ThrottleReason::ALL {
            if let Some(value) = scaled(reason.counter_ns(&gpu.state), 1e-9) {
                if !said {
                    out.head(&THROTTLE);
                    said = true;
                }
                let labels = [
                    ("gpu", index.as_str()),
                    ("uuid", &identity.uuid),
                    ("reason", reason.label()),
                ];
                out.line(THROTTLE.name, &labels, value);
            }
        }
    }
}

fn xids(out: &mut dyn Series, gpus: &[(String, &GpuIdentity, &GpuBoard)]) {
    type Pick = fn(&(u64, Micros)) -> f64;
    let families: [(&Head, Pick); 2] = [
        (&XIDS, |(count, _)| *count as f64),
        (&XID_LAST, |(_, last)| last.as_seconds()),
    ];
    for (family, pick) in families {
        let mut said = false;
        for (index, identity, gpu) in gpus {
            for (code, seen) in &gpu.xids {
                if !said {
                    out.head(family);
                    said = true;
                }
                let code = code.to_string();
                let labels = [
                    ("gpu", index.as_str()),
                    ("uuid", &identity.uuid),
                    ("xid", &code),
                ];
                out.line(family.name, &labels, pick(seen));
            }
        }
    }
}

fn mig(out: &mut dyn Series, gpus: &[(String, &GpuIdentity, &GpuBoard)]) {
    type Pick = fn(&crate::MigInstance) -> Option<i64>;
    let families: [(&Head, Pick); 2] = [
        (&MIG_USED, |instance| instance.memory_used_bytes),
        (&MIG_TOTAL, |instance| instance.memory_total_bytes),
    ];
    for (family, pick) in families {
        let mut said = false;
        for (index, _, gpu) in gpus {
            for instance in &gpu.mig {
                if let Some(value) = scaled(pick(instance), 1.0) {
                    if !said {
                        out.head(family);
                        said = true;
                    }
                    let labels = [
                        ("gpu", index.as_str()),
                        ("uuid", &instance.uuid),
                        ("profile", &instance.name),
                    ];
                    out.line(family.name, &labels, value);
                }
            }
        }
    }
}

fn process_series(out: &mut dyn Series, board: &Board, gpus: &[(String, &GpuIdentity, &GpuBoard)]) {
    let mut said = false;
    for (index, identity, gpu) in gpus {
        let mut list: Vec<_> = gpu.processes.iter().flatten().collect();
        list.sort_by_key(|process| (std::cmp::Reverse(process.memory_bytes), process.pid));
        for process in list.into_iter().take(PROCESSES_PER_GPU) {
            let Some(value) = scaled(process.memory_bytes, 1.0) else {
                continue;
            };
            if !said {
                out.head(&PROCESS_MEMORY);
                said = true;
            }
            let known = board.identities.get(&process.pid);
            let name = known.and_then(|known| known.name.as_deref()).unwrap_or("");
            let user = known.and_then(|known| known.user.as_deref()).unwrap_or("");
            let container = known
                .and_then(|known| known.container.as_deref())
                .unwrap_or("");
            let pod = known.and_then(|known| known.pod.as_deref()).unwrap_or("");
            let pid = process.pid.to_string();
            let labels = [
                ("gpu", index.as_str()),
                ("uuid", &identity.uuid),
                ("pid", &pid),
                ("program", name),
                ("user", user),
                ("container", container),
                ("pod_uid", pod),
            ];
            out.line(PROCESS_MEMORY.name, &labels, value);
        }
    }
}

fn host(out: &mut dyn Series, board: &Board) {
    let host = &board.host;
    let values = [
        scaled(host.cpu_busy_permille, 1e-3),
        scaled(host.memory_available_bytes, 1.0),
        scaled(host.memory_total_bytes, 1.0),
        scaled(host.swap_used_bytes, 1.0),
    ];
    for (family, value) in HOST.iter().zip(values) {
        if let Some(value) = value {
            out.head(family);
            out.line(family.name, &[], value);
        }
    }
}
