//! What an exporter's page says about its host: this exporter's names, and those of dcgm-exporter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::exposition::{Sample, lines};

/// Most GPUs of one host; a page with more is not a GPU exporter's.
const MOST_GPUS: usize = 256;

/// A GPU as its exporter sees it now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuReading {
    /// The driver's index.
    pub gpu: String,
    /// Stable name.
    pub uuid: String,
    /// Product name.
    pub name: String,
    /// Why it does not answer, where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<String>,
    /// Share of time with a kernel running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_ratio: Option<f64>,
    /// Board power.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_watts: Option<f64>,
    /// Power limit in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_watts: Option<f64>,
    /// Core temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
    /// Memory temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_temperature_celsius: Option<f64>,
    /// Streaming multiprocessor clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<f64>,
    /// Memory clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<f64>,
    /// Device memory in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_used_bytes: Option<f64>,
    /// PCIe generation now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_generation: Option<f64>,
    /// Highest PCIe generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_generation_max: Option<f64>,
    /// PCIe lanes now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_width: Option<f64>,
    /// Most PCIe lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_width_max: Option<f64>,
    /// Memory errors that could not be corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc_uncorrected: Option<f64>,
    /// 1 while a memory row waits for a reset to be replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_remap_pending: Option<f64>,
    /// 1 when a memory row could not be replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_remap_failed: Option<f64>,
    /// Critical errors by number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub xids: BTreeMap<String, f64>,
    /// Share of the time between two readings in which it was held back, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub held_back: BTreeMap<String, f64>,
    /// The counters behind these shares.
    #[serde(skip)]
    pub(super) held_back_seconds: BTreeMap<String, f64>,
}

/// A host as its exporter sees it now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostReading {
    /// Where it was read.
    pub host: String,
    /// Why there is nothing to read, where there is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<String>,
    /// How long the answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Driver version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Exporter's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exporter: Option<String>,
    /// Its GPUs.
    pub gpus: Vec<GpuReading>,
}

type Slot = fn(&mut GpuReading) -> &mut Option<f64>;

/// Gauges: their names, where they go, and what they are multiplied by.
const GAUGES: &[(&str, Slot, f64)] = &[
    ("warpsmith_gpu_busy_ratio", |gpu| &mut gpu.busy_ratio, 1.0),
    ("DCGM_FI_DEV_GPU_UTIL", |gpu| &mut gpu.busy_ratio, 0.01),
    ("warpsmith_gpu_power_watts", |gpu| &mut gpu.power_watts, 1.0),
    ("DCGM_FI_DEV_POWER_USAGE", |gpu| &mut gpu.power_watts, 1.0),
    (
        "warpsmith_gpu_power_limit_watts",
        |gpu| &mut gpu.power_limit_watts,
        1.0,
    ),
    (
        "DCGM_FI_DEV_POWER_MGMT_LIMIT",
        |gpu| &mut gpu.power_limit_watts,
        1.0,
    ),
    (
        "warpsmith_gpu_temperature_celsius",
        |gpu| &mut gpu.temperature_celsius,
        1.0,
    ),
    (
        "DCGM_FI_DEV_GPU_TEMP",
        |gpu| &mut gpu.temperature_celsius,
        1.0,
    ),
    (
        "warpsmith_gpu_memory_temperature_celsius",
        |gpu| &mut gpu.memory_temperature_celsius,
        1.0,
    ),
    (
        "DCGM_FI_DEV_MEMORY_TEMP",
        |gpu| &mut gpu.memory_temperature_celsius,
        1.0,
    ),
    (
        "warpsmith_gpu_sm_clock_hertz",
        |gpu| &mut gpu.sm_clock_mhz,
        1e-6,
    ),
    ("DCGM_FI_DEV_SM_CLOCK", |gpu| &mut gpu.sm_clock_mhz, 1.0),
    (
        "warpsmith_gpu_memory_clock_hertz",
        |gpu| &mut gpu.memory_clock_mhz,
        1e-6,
    ),
    (
        "DCGM_FI_DEV_MEM_CLOCK",
        |gpu| &mut gpu.memory_clock_mhz,
        1.0,
    ),
    (
        "warpsmith_gpu_memory_used_bytes",
        |gpu| &mut gpu.memory_used_bytes,
        1.0,
    ),
    (
        "DCGM_FI_DEV_FB_USED",
        |gpu| &mut gpu.memory_used_bytes,
        1_048_576.0,
    ),
    (
        "warpsmith_gpu_pcie_generation",
        |gpu| &mut gpu.pcie_generation,
        1.0,
    ),
    (
        "DCGM_FI_DEV_PCIE_LINK_GEN",
        |gpu| &mut gpu.pcie_generation,
        1.0,
    ),
    (
        "warpsmith_gpu_pcie_generation_max",
        |gpu| &mut gpu.pcie_generation_max,
        1.0,
    ),
    (
        "DCGM_FI_DEV_PCIE_MAX_LINK_GEN",
        |gpu| &mut gpu.pcie_generation_max,
        1.0,
    ),
    ("warpsmith_gpu_pcie_width", |gpu| &mut gpu.pcie_width, 1.0),
    (
        "DCGM_FI_DEV_PCIE_LINK_WIDTH",
        |gpu| &mut gpu.pcie_width,
        1.0,
    ),
    (
        "warpsmith_gpu_pcie_width_max",
        |gpu| &mut gpu.pcie_width_max,
        1.0,
    ),
    (
        "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH",
        |gpu| &mut gpu.pcie_width_max,
        1.0,
    ),
    (
        "warpsmith_gpu_ecc_uncorrected_errors_total",
        |gpu| &mut gpu.ecc_uncorrected,
        1.0,
    ),
    (
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        |gpu| &mut gpu.ecc_uncorrected,
        1.0,
    ),
    (
        "warpsmith_gpu_row_remap_pending",
        |gpu| &mut gpu.row_remap_pending,
        1.0,
    ),
    (
        "DCGM_FI_DEV_ROW_REMAP_PENDING",
        |gpu| &mut gpu.row_remap_pending,
        1.0,
    ),
    (
        "warpsmith_gpu_row_remap_failed",
        |gpu| &mut gpu.row_remap_failed,
        1.0,
    ),
    (
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        |gpu| &mut gpu.row_remap_failed,
        1.0,
    ),
];

fn slot(name: &str) -> Option<(Slot, f64)> {
    let mut gauges = GAUGES.iter();
    gauges.find_map(|(known, slot, scale)| (*known == name).then_some((*slot, *scale)))
}

/// What is about more than one number of a GPU.
const SPECIAL: [&str; 8] = [
    "warpsmith_build_info",
    "warpsmith_driver_info",
    "warpsmith_gpu_info",
    "warpsmith_gpu_up",
    "warpsmith_gpu_down_info",
    "warpsmith_gpu_throttle_seconds_total",
    "warpsmith_gpu_xid_errors_total",
    "DCGM_FI_DEV_XID_ERRORS",
];

/// DCGM's counters of time held back, in nanoseconds, by our reasons.
const DCGM_VIOLATIONS: [(&str, &str); 5] = [
    ("DCGM_FI_DEV_POWER_VIOLATION", "power_cap"),
    ("DCGM_FI_DEV_THERMAL_VIOLATION", "thermal"),
    ("DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "sync_boost"),
    ("DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "board_limit"),
    ("DCGM_FI_DEV_RELIABILITY_VIOLATION", "reliability"),
];

fn dcgm_violation(name: &str) -> Option<&'static str> {
    let mut known = DCGM_VIOLATIONS.iter();
    known.find_map(|(known, reason)| (*known == name).then_some(*reason))
}

/// The metrics that a host's reading is made of.
pub(super) fn metric_names() -> impl Iterator<Item = &'static str> {
    SPECIAL
        .into_iter()
        .chain(GAUGES.iter().map(|(name, _, _)| *name))
        .chain(DCGM_VIOLATIONS.iter().map(|(name, _)| *name))
}

/// DCGM writes what it does not know as the largest numbers of its types.
fn is_known(value: f64) -> bool {
    value.is_finite() && value < 140_737_488_355_328.0
}

impl HostReading {
    /// A host of which nothing is known yet.
    pub(super) fn named(host: String) -> Self {
        Self {
            host,
            ..Self::default()
        }
    }

    /// A host that cannot be read.
    pub(super) fn down(host: String, reason: String) -> Self {
        Self {
            host,
            down: Some(reason),
            ..Self::default()
        }
    }

    /// Reads a page; fails where it is no page of a GPU exporter.
    pub fn of_page(host: String, page: &str) -> Result<Self, String> {
        let mut reading = Self::named(host);
        let mut known = false;
        for line in lines(page) {
            let line = line?;
            known |= line.name.starts_with("warpsmith_") || line.name.starts_with("DCGM_FI_");
            // Most of a page is of no interest here, above all a series for each process.
            if metric_names().any(|name| name == line.name) {
                reading.take(&line.sample()?)?;
            }
        }
        match known {
            true => Ok(reading),
            false => Err("answers, but has no metrics of GPUs".to_owned()),
        }
    }

    pub(super) fn take(&mut self, sample: &Sample<'_>) -> Result<(), String> {
        match sample.name {
            "warpsmith_build_info" => self.exporter = Some(sample.label("version").to_owned()),
            "warpsmith_driver_info" => self.driver = Some(sample.label("driver").to_owned()),
            "warpsmith_gpu_info" => {
                let name = sample.label("name").to_owned();
                self.gpu(sample)?.name = name;
            }
            "warpsmith_gpu_up" if sample.value == 0.0 => {
                let down = &mut self.gpu(sample)?.down;
                down.get_or_insert_with(|| "does not answer".to_owned());
            }
            "warpsmith_gpu_down_info" => {
                let reason = sample.label("reason").to_owned();
                self.gpu(sample)?.down = Some(reason);
            }
            "warpsmith_gpu_throttle_seconds_total" => {
                let reason = sample.label("reason").to_owned();
                self.gpu(sample)?
                    .held_back_seconds
                    .insert(reason, sample.value);
            }
            "warpsmith_gpu_xid_errors_total" => {
                let code = sample.label("xid").to_owned();
                self.gpu(sample)?.xids.insert(code, sample.value);
            }
            // The code of the last one; 0 where there was none.
            "DCGM_FI_DEV_XID_ERRORS" if sample.value > 0.0 && is_known(sample.value) => {
                let code = sample.value.to_string();
                self.gpu(sample)?.xids.insert(code, 1.0);
            }
            name => {
                // A MIG instance is a part of a GPU, not one of its kind.
                if !sample.label("GPU_I_ID").is_empty() || !is_known(sample.value) {
                    return Ok(());
                }
                if let Some((slot, scale)) = slot(name) {
                    *slot(self.gpu(sample)?) = Some(sample.value * scale);
                } else if let Some(reason) = dcgm_violation(name) {
                    let counters = &mut self.gpu(sample)?.held_back_seconds;
                    counters.insert(reason.to_owned(), sample.value * 1e-9);
                } else {
                    return Ok(());
                }
                let driver = sample.label("DCGM_FI_DRIVER_VERSION");
                if !driver.is_empty() {
                    self.driver = Some(driver.to_owned());
                }
            }
        }
        Ok(())
    }

    /// The GPU that a sample is about.
    fn gpu(&mut self, sample: &Sample<'_>) -> Result<&mut GpuReading, String> {
        let index = sample.label("gpu");
        if let Some(position) = self.gpus.iter().position(|gpu| gpu.gpu == index) {
            return Ok(&mut self.gpus[position]);
        }
        if self.gpus.len() == MOST_GPUS {
            return Err(format!("has more than {MOST_GPUS} GPUs"));
        }
        let uuid = match sample.label("uuid") {
            "" => sample.label("UUID"),
            uuid => uuid,
        };
        self.gpus.push(GpuReading {
            gpu: index.to_owned(),
            uuid: uuid.to_owned(),
            name: sample.label("modelName").to_owned(),
            ..GpuReading::default()
        });
        let last = self.gpus.len() - 1;
        Ok(&mut self.gpus[last])
    }

    /// The shares of time between an earlier page and this one in which GPUs were held back.
    pub(super) fn since(&mut self, before: &Self, seconds: f64) {
        for gpu in &mut self.gpus {
            let Some(then) = before.gpus.iter().find(|then| then.uuid == gpu.uuid) else {
                continue;
            };
            for (reason, now) in &gpu.held_back_seconds {
                // A counter that went back belongs to a driver that was loaded again.
                if let Some(then) = then
                    .held_back_seconds
                    .get(reason)
                    .filter(|then| now >= then)
                {
                    let share = (now - then) / seconds;
                    gpu.held_back.insert(reason.clone(), share.min(1.0));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "\
warpsmith_build_info{version=\"0.2.0\"} 1
warpsmith_driver_info{driver=\"580.1\",nvml=\"13\"} 1
warpsmith_gpu_info{gpu=\"0\",uuid=\"GPU-a\",name=\"NVIDIA H200\"} 1
warpsmith_gpu_up{gpu=\"1\",uuid=\"GPU-b\"} 0
warpsmith_gpu_up{gpu=\"0\",uuid=\"GPU-a\"} 1
warpsmith_gpu_busy_ratio{gpu=\"0\",uuid=\"GPU-a\"} 0.97
warpsmith_gpu_sm_clock_hertz{gpu=\"0\",uuid=\"GPU-a\"} 1470000000
warpsmith_gpu_down_info{gpu=\"1\",uuid=\"GPU-b\",reason=\"the driver lost the GPU\"} 1
warpsmith_gpu_throttle_seconds_total{gpu=\"0\",uuid=\"GPU-a\",reason=\"power_cap\"} 10
";

    /// As dcgm-exporter answers, with a value that it does not know and a MIG instance.
    const DCGM: &str = "\
# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",UUID=\"GPU-a\",pci_bus_id=\"00000000:02:00.0\",device=\"nvidia0\",modelName=\"NVIDIA H100\",Hostname=\"n\",DCGM_FI_DRIVER_VERSION=\"535.1\"} 1980
DCGM_FI_DEV_MEMORY_TEMP{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA H100\"} 9223372036854775794
DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA H100\"} 98
DCGM_FI_DEV_FB_USED{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA H100\",GPU_I_ID=\"7\"} 12
DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA H100\"} 79
DCGM_FI_DEV_THERMAL_VIOLATION{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA H100\"} 2000000000
";

    #[test]
    fn both_dialects_are_understood() {
        let ours = HostReading::of_page("n1".into(), OURS).unwrap();
        assert_eq!(ours.driver.as_deref(), Some("580.1"));
        let gpu = &ours.gpus[0];
        assert_eq!(
            (gpu.name.as_str(), gpu.busy_ratio),
            ("NVIDIA H200", Some(0.97))
        );
        assert_eq!(
            (gpu.sm_clock_mhz, gpu.down.as_deref()),
            (Some(1470.0), None)
        );
        assert_eq!(
            ours.gpus[1].down.as_deref(),
            Some("the driver lost the GPU")
        );

        let dcgm = HostReading::of_page("n2".into(), DCGM).unwrap();
        assert_eq!(dcgm.driver.as_deref(), Some("535.1"));
        let [gpu] = &dcgm.gpus[..] else {
            panic!("{dcgm:?}")
        };
        assert_eq!(
            (gpu.name.as_str(), gpu.uuid.as_str()),
            ("NVIDIA H100", "GPU-a")
        );
        assert_eq!(
            (gpu.sm_clock_mhz, gpu.busy_ratio),
            (Some(1980.0), Some(0.98))
        );
        assert_eq!(
            gpu.memory_temperature_celsius, None,
            "a sentinel is no temperature"
        );
        assert_eq!(gpu.memory_used_bytes, None, "a MIG instance is not its GPU");
        assert_eq!(gpu.xids["79"], 1.0);
    }

    #[test]
    fn counters_become_shares_of_the_time_between() {
        let before = HostReading::of_page("n".into(), OURS).unwrap();
        let later = OURS.replace("\"power_cap\"} 10", "\"power_cap\"} 10.25");
        let mut now = HostReading::of_page("n".into(), &later).unwrap();
        now.since(&before, 0.5);
        assert_eq!(now.gpus[0].held_back["power_cap"], 0.5);
        let mut restarted = before.clone();
        restarted.since(&now, 0.5);
        assert!(restarted.gpus[0].held_back.is_empty());
    }

    #[test]
    fn other_pages_are_told_apart() {
        let refused = |page: &str| HostReading::of_page("n".into(), page).unwrap_err();
        assert!(refused("node_load1 0.5\n").contains("no metrics of GPUs"));
        assert!(refused("<html>").contains("line 1"));
        let many: String = (0..300)
            .map(|gpu| format!("warpsmith_gpu_busy_ratio{{gpu=\"{gpu}\",uuid=\"\"}} 1\n"))
            .collect();
        assert!(refused(&many).contains("more than 256 GPUs"));
    }
}
