//! Who a measurement belongs to: the parts of a machine and a build that decide how fast it is.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use warpsmith_device::{CpuFacts, GpuFacts, cuda_devices};

/// A machine as far as speed is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// CPU model.
    pub cpu: String,
    /// Vector instruction sets.
    pub simd: Vec<String>,
    /// Cores that this process may use under its affinity and quota.
    pub cores: usize,
    /// Memory, to the next power of two in GiB: a machine keeps its identity over a BIOS update.
    pub memory_gib: u64,
    /// Name, identity and driver of each GPU.
    pub gpus: Vec<GpuIdentity>,
    /// Version of the program that measured.
    pub build: String,
}

/// A GPU as far as speed is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuIdentity {
    /// Marketing name, with the profile of a MIG slice.
    pub name: String,
    /// `GPU-…`.
    pub uuid: String,
    /// Driver version.
    pub driver: String,
}

impl Identity {
    /// This machine, this process, this build.
    pub fn here() -> Self {
        // A machine without a driver is a machine without GPUs.
        Self::of(&CpuFacts::read(), &cuda_devices().unwrap_or_default())
    }

    fn of(cpu: &CpuFacts, gpus: &[GpuFacts]) -> Self {
        let gib = cpu.memory_bytes.unwrap_or(0).div_ceil(1 << 30);
        Self {
            cpu: cpu.model.clone(),
            simd: cpu.simd.clone(),
            cores: cpu.usable_cores,
            memory_gib: gib.next_power_of_two(),
            gpus: gpus
                .iter()
                .map(|gpu| GpuIdentity {
                    name: gpu.name.clone(),
                    uuid: gpu.uuid.clone(),
                    driver: gpu.driver_version.clone().unwrap_or_default(),
                })
                .collect(),
            build: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// A short name that is different for different machines.
    pub fn digest(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        let hash = Sha256::digest(text.as_bytes());
        hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What differs from `other`, in words; `None` where nothing does.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let mut parts = Vec::new();
        let mut part = |name: &str, ours: String, theirs: String| {
            if ours != theirs {
                parts.push(format!("{name} `{theirs}` instead of `{ours}`"));
            }
        };
        part("CPU", self.cpu.clone(), other.cpu.clone());
        part(
            "instruction sets",
            self.simd.join(" "),
            other.simd.join(" "),
        );
        part("cores", self.cores.to_string(), other.cores.to_string());
        part(
            "memory (GiB)",
            self.memory_gib.to_string(),
            other.memory_gib.to_string(),
        );
        let gpus = |gpus: &[GpuIdentity]| -> String {
            let names: Vec<String> = gpus
                .iter()
                .map(|gpu| format!("{} {} driver {}", gpu.name, gpu.uuid, gpu.driver))
                .collect();
            names.join(", ")
        };
        part("GPUs", gpus(&self.gpus), gpus(&other.gpus));
        part("version", self.build.clone(), other.build.clone());
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_itself_and_no_other() {
        let here = Identity::here();
        assert_eq!(here.difference(&Identity::here()), None);
        assert_eq!(here.digest(), Identity::here().digest());
        let mut other = here.clone();
        other.cores += 1;
        other.gpus.push(GpuIdentity {
            name: "NVIDIA H200".into(),
            uuid: "GPU-1".into(),
            driver: "580".into(),
        });
        assert_ne!(here.digest(), other.digest());
        let difference = here.difference(&other).unwrap();
        assert!(
            difference.contains("cores") && difference.contains("H200"),
            "{difference}"
        );
    }
}
