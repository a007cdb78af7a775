//! A machine that was measured for a while, beside a fleet that was read at a moment.

use warpsmith_core::{Finding, Severity};

use super::FleetBody;
use super::kind::{Load, QUANTITIES};
use super::reading::GpuReading;
use crate::baseline::{BaselineBody, GpuBaseline};

/// What a comparison with a fleet has to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BesideFleet {
    /// GPUs that had others of their kind.
    pub compared: usize,
    /// Why the others were not compared.
    pub not_compared: Vec<String>,
    /// Who differs.
    pub findings: Vec<Finding>,
}

/// Compares the medians of a baseline with the fleet's GPUs of the same model under similar load.
pub fn beside_fleet(baseline: &BaselineBody, fleet: &FleetBody) -> BesideFleet {
    let mut beside = BesideFleet::default();
    for measured in &baseline.gpus {
        let gpu = typically(measured);
        let (index, load) = (measured.gpu.index, Load::of(&gpu));
        let mut kinds = fleet.kinds.iter();
        let kind = kinds.find(|kind| kind.compared && kind.name == gpu.name && kind.load == load);
        let Some(kind) = kind else {
            beside.not_compared.push(format!(
                "GPU {index} is not compared: the fleet has fewer than 8 {} that are {}",
                gpu.name,
                load.name()
            ));
            continue;
        };
        beside.compared += 1;
        let mut finding = Finding::new(
            "F003",
            Severity::Warning,
            format!("GPU {index} differs from {} others of its kind", kind.gpus),
        );
        for quantity in &QUANTITIES {
            let typical = kind.typical.iter().find(|(name, _)| name == quantity.name);
            if let (Some((_, typical)), Some(value)) = (typical, (quantity.of)(&gpu))
                && quantity.is_remarkable(value, typical)
            {
                finding = finding.because(quantity.name, quantity.beside(value, typical));
            }
        }
        if !finding.evidence.is_empty() {
            beside.findings.push(finding);
        }
    }
    beside
}

/// The medians of a baseline as if they were read at once.
fn typically(measured: &GpuBaseline) -> GpuReading {
    let median = |name: &str| {
        let metric = measured.metrics.get(name)?;
        Some(metric.summary.p50.value)
    };
    GpuReading {
        gpu: measured.gpu.index.to_string(),
        uuid: measured.gpu.uuid.clone(),
        name: measured.gpu.name.clone(),
        busy_ratio: median("busy_percent").map(|percent| percent / 100.0),
        power_watts: median("power_w"),
        temperature_celsius: median("temperature_c"),
        memory_temperature_celsius: median("memory_temperature_c"),
        sm_clock_mhz: median("sm_clock_mhz"),
        memory_clock_mhz: median("memory_clock_mhz"),
        ..GpuReading::default()
    }
}
