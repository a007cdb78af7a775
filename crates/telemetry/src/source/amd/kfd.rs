//! Processes that compute through ROCm: their queues bypass the graphics driver, and the kernel lists
//! them apart (`/sys/class/kfd`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::source::sysfs::{list, number_in, text_of};

/// Most processes that are looked at.
const MOST_PROCESSES: usize = 4096;

/// One GPU's place in ROCm's driver.
#[derive(Debug)]
pub(super) struct Kfd {
    processes: PathBuf,
    /// The file of a process that says what it holds of this GPU.
    memory: String,
}

impl Kfd {
    /// The GPU at a PCI address; `None` where ROCm's driver does not have it.
    pub(super) fn of(sys_root: &Path, address: &str) -> Option<Self> {
        let root = sys_root.join("class/kfd/kfd");
        let nodes = root.join("topology/nodes");
        let id = list(&nodes, "").into_iter().find_map(|node| {
            let folder = nodes.join(node);
            let properties = text_of(&folder.join("properties"))?;
            (address_of(&properties)? == address)
                .then(|| number_in(text_of(&folder.join("gpu_id"))?.as_bytes()))?
        })?;
        Some(Self {
            processes: root.join("proc"),
            memory: format!("vram_{id}"),
        })
    }

    /// The processes that hold this GPU, with their bytes of its memory.
    pub(super) fn processes(&self) -> BTreeMap<u32, i64> {
        let names = list(&self.processes, "").into_iter().take(MOST_PROCESSES);
        names
            .filter_map(|name| {
                let pid = name.parse().ok()?;
                let bytes = text_of(&self.processes.join(name).join(&self.memory))?;
                Some((pid, number_in(bytes.as_bytes())?.max(0)))
            })
            .collect()
    }
}

/// The PCI address in a node's properties; CPUs have a location of 0.
fn address_of(properties: &str) -> Option<String> {
    let value = |name: &str| {
        let mut lines = properties.lines().filter_map(|line| line.split_once(' '));
        lines.find_map(|(key, value)| (key == name).then(|| value.trim().parse::<u64>().ok())?)
    };
    let location = value("location_id").filter(|location| *location > 0)?;
    Some(format!(
        "{:04x}:{:02x}:{:02x}.{:x}",
        value("domain").unwrap_or(0),
        (location >> 8) & 0xff,
        (location >> 3) & 0x1f,
        location & 0x7
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_bus_device_and_function() {
        let of = |text: &str| address_of(text);
        assert_eq!(
            of("cpu_cores_count 0\nlocation_id 768\ndomain 0\n").as_deref(),
            Some("0000:03:00.0")
        );
        assert_eq!(
            of("location_id 50432\ndomain 1\n").as_deref(),
            Some("0001:c5:00.0")
        );
        assert_eq!(of("location_id 0\n"), None);
        assert_eq!(of("location_id x\n"), None);
        assert_eq!(of(""), None);
    }
}
