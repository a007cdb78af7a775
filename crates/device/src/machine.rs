//! The machine in one line, for the envelope of every report.

use warpsmith_core::MachineIdentity;

use crate::cpu::CpuFacts;
use crate::cuda;

/// Who this machine is. Asks the driver for its devices and opens no context.
pub fn machine_identity() -> MachineIdentity {
    let cpu = CpuFacts::read();
    let gpus = cuda::cuda_devices().unwrap_or_default();
    MachineIdentity {
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpu: cpu.model,
        cores: cpu.usable_cores,
        driver: gpus.first().and_then(|gpu| gpu.driver_version.clone()),
        gpus: gpus.into_iter().map(|gpu| gpu.name).collect(),
    }
}
