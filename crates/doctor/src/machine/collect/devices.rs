//! GPUs: on the bus, as the driver lists them, and as device nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::parse_smi_xml;
use crate::host::{Host, Stat};
use crate::machine::facts::{Driver, GpuDevice, GpuHealth, NodeAccess, OtherGpu, PciGpu};
use warpsmith_compatibility::Capability;
use warpsmith_compatibility::database;

const PCI: &str = "/sys/bus/pci/devices";
const QUERY: [&str; 3] = [
    "nvidia-smi",
    "--query-gpu=index,name,uuid,driver_version,memory.total,compute_cap",
    "--format=csv,noheader,nounits",
];

pub(super) fn pci(host: &dyn Host) -> Vec<PciGpu> {
    host.list(PCI)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|address| {
            let field = |name: &str| {
                host.text(&format!("{PCI}/{address}/{name}"))
                    .map(|text| text.trim().to_owned())
            };
            let class = field("class")?;
            let bridge = class.starts_with("0x0680");
            if field("vendor")? != "0x10de" || !(class.starts_with("0x03") || bridge) {
                return None;
            }
            let width = |name: &str| field(name)?.parse().ok();
            let kernel_driver = kernel_driver(host, &address);
            Some(PciGpu {
                device: field("device")?,
                bridge,
                kernel_driver,
                width: width("current_link_width").zip(width("max_link_width")),
                fell_off: field("revision").is_some_and(|r| r == "0xff"),
                address,
            })
        })
        .collect()
}

/// The driver that has a device.
fn kernel_driver(host: &dyn Host, address: &str) -> Option<String> {
    let link = host.link(&format!("{PCI}/{address}/driver"));
    let linked = link.and_then(|path| path.rsplit('/').next().map(str::to_owned));
    linked.or_else(|| {
        let events = host.text(&format!("{PCI}/{address}/uevent"))?;
        let mut lines = events.lines();
        lines.find_map(|line| Some(line.strip_prefix("DRIVER=")?.to_owned()))
    })
}

/// GPUs of AMD's and Intel's, by their PCI class: VGA, 3D and other display controllers, and what AMD
/// calls a processing accelerator.
pub(super) fn other_gpus(host: &dyn Host) -> Vec<OtherGpu> {
    let of = |address: String| {
        let field = |name: &str| {
            let text = host.text(&format!("{PCI}/{address}/{name}"))?;
            Some(text.trim().to_owned())
        };
        let maker = match field("vendor")?.as_str() {
            "0x1002" => "AMD",
            "0x8086" => "Intel",
            _ => return None,
        };
        let class = field("class")?;
        let accelerator = maker == "AMD" && class.starts_with("0x1200");
        if !(class.starts_with("0x03") || accelerator) {
            return None;
        }
        Some(OtherGpu {
            maker: maker.to_owned(),
            device: field("device")?,
            kernel_driver: kernel_driver(host, &address),
            address,
        })
    };
    let devices = host.list(PCI).unwrap_or_default();
    devices.into_iter().filter_map(of).collect()
}

/// The driver's own list, completed from the database where `nvidia-smi` does not answer.
///
/// What `nvidia-smi` said where it failed is kept in `driver`.
pub(super) fn gpus(
    host: &dyn Host,
    driver: &mut Driver,
) -> (Vec<GpuDevice>, Option<Vec<GpuHealth>>) {
    if driver.module.is_none() && driver.nvidia_smi.is_none() {
        return (Vec::new(), None);
    }
    let limit = Duration::from_secs(3);
    let (query, xml) = rayon::join(
        || host.run(&QUERY, limit),
        || host.run(&["nvidia-smi", "-q", "-x"], limit),
    );
    if driver.nvidia_smi.is_some() {
        driver.smi_failure = query
            .as_ref()
            .filter(|output| output.rc != 0)
            .map(|output| {
                let said = output.stdout.lines().find(|line| !line.trim().is_empty());
                format!(
                    "exit code {}: {}",
                    output.rc,
                    said.unwrap_or("no message").trim()
                )
            });
    }
    let health = xml
        .filter(|output| output.rc == 0)
        .map(|output| parse_smi_xml(&output.stdout));
    let listed: Vec<_> = query
        .filter(|output| output.rc == 0)
        .map(|output| output.stdout.lines().filter_map(smi_row).collect())
        .unwrap_or_default();
    if !listed.is_empty() {
        return (listed, health);
    }
    const PROC: &str = "/proc/driver/nvidia/gpus";
    let known = host
        .list(PROC)
        .unwrap_or_default()
        .into_iter()
        .enumerate()
        .filter_map(|(index, address)| {
            let source = format!("{PROC}/{address}/information");
            let text = host.text(&source)?;
            let field = |name: &str| {
                text.lines()
                    .find_map(|l| l.strip_prefix(name))
                    .map(|value| value.trim().to_owned())
            };
            let name = field("Model:")?;
            let row = database().gpu(&name);
            Some(GpuDevice {
                index,
                capability: row.and_then(|gpu| Capability::parse(&gpu.compute_capability)),
                memory_mib: None,
                uuid: field("GPU UUID:"),
                name,
                source,
            })
        })
        .collect();
    (known, health)
}

/// One row of the query. A name may hold commas, so the fields are counted from both ends.
fn smi_row(line: &str) -> Option<GpuDevice> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let n = fields.len();
    if n < 6 {
        return None;
    }
    let name = fields[1..n - 4].join(", ");
    let capability = Capability::parse(fields[n - 1])
        // A driver too old for the field writes "[Not Supported]".
        .or_else(|| Capability::parse(&database().gpu(&name)?.compute_capability));
    Some(GpuDevice {
        index: fields[0].parse().ok()?,
        uuid: Some(fields[n - 4].to_owned()),
        memory_mib: fields[n - 2].parse().ok(),
        capability,
        name,
        source: QUERY.join(" "),
    })
}

pub(super) fn nodes(host: &dyn Host) -> BTreeMap<String, NodeAccess> {
    let session = host.session();
    host.list("/dev")
        .unwrap_or_default()
        .into_iter()
        .filter(|name| {
            matches!(name.as_str(), "nvidiactl" | "nvidia-uvm" | "dxg")
                || name.strip_prefix("nvidia").is_some_and(|rest| {
                    !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
                })
        })
        .filter_map(|name| {
            let path = format!("/dev/{name}");
            let stat = host.stat(&path)?;
            let allowed = may_open(&stat, session.euid, &session.groups);
            Some((
                path,
                NodeAccess {
                    mode: stat.mode,
                    allowed,
                },
            ))
        })
        .collect()
}

/// Whether the mode bits let this user read and write.
fn may_open(stat: &Stat, euid: u32, groups: &[u32]) -> bool {
    let bits = |from: usize| stat.mode.get(from..from + 2) == Some("rw");
    euid == 0
        || if stat.uid == euid {
            bits(1)
        } else if groups.contains(&stat.gid) {
            bits(4)
        } else {
            bits(7)
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_name_does_not_move_the_fields() {
        let gpu = smi_row("0, NVIDIA Foo, Edition 2, GPU-1, 580.1, 8192, 8.6").unwrap();
        assert_eq!(
            (gpu.name.as_str(), gpu.memory_mib),
            ("NVIDIA Foo, Edition 2", Some(8192))
        );
        assert!(smi_row("garbage").is_none());
    }

    #[test]
    fn mode_bits_are_read_for_the_right_class_of_user() {
        let stat = Stat {
            mode: "crw-rw----".into(),
            uid: 0,
            gid: 44,
            size: 0,
        };
        assert!(may_open(&stat, 0, &[]) && may_open(&stat, 1000, &[44]));
        assert!(!may_open(&stat, 1000, &[1000]));
    }
}
