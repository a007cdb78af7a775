//! What stays the same about an AMD GPU.

use std::path::Path;

use super::levels::Levels;
use crate::event::{GpuIdentity, Vendor};
use crate::source::cards::Card;
use crate::source::sysfs::{Hwmon, Link, Sensor, amd_name, number_in, pci_name, text_of};

/// The identity of a card; nothing here asks a GPU that is asleep.
pub(super) fn identity(
    card: &Card,
    hwmon: Option<&Hwmon>,
    sensors: &[Sensor],
    link: &Link,
    asleep: bool,
) -> GpuIdentity {
    let device = &card.pci.folder;
    let number = |name: &str| number_in(text_of(&device.join(name))?.as_bytes());
    let levels = (!asleep)
        .then(|| text_of(&device.join("pp_dpm_sclk")))
        .flatten();
    let default = hwmon.and_then(|hwmon| hwmon.fixed("power1_cap_default"));
    GpuIdentity {
        uuid: uuid(device, &card.pci.address),
        name: name(card),
        vendor: Vendor::Amd,
        driver: Some(card.driver_version.clone()),
        pci_bus_id: Some(card.pci.address.clone()),
        memory_total_bytes: number("mem_info_vram_total").filter(|bytes| *bytes > 0),
        shared_memory_total_bytes: number("mem_info_gtt_total").filter(|bytes| *bytes > 0),
        sm_clock_max_mhz: levels.and_then(|text| Levels::of_text(&text).highest_mhz),
        pcie_generation_max: link.generation_max,
        pcie_width_max: link.width_max,
        power_limit_default_mw: default.filter(|watts| *watts > 0).map(|watts| watts / 1000),
        // That of the sensor which is shown as the core's.
        slowdown_temperature_c: sensors.first().and_then(|sensor| sensor.limit_c),
        ..GpuIdentity::default()
    }
}

/// The chip's own number, else its place.
fn uuid(device: &Path, address: &str) -> String {
    match text_of(&device.join("unique_id")).filter(|id| id.bytes().any(|digit| digit != b'0')) {
        Some(id) => format!("amd-{id}"),
        None => format!("pci-{address}"),
    }
}

fn name(card: &Card) -> String {
    let pci = &card.pci;
    // Boards for data centres carry their own name.
    let own = text_of(&pci.folder.join("product_name"));
    own.or_else(|| amd_name(pci))
        .or_else(|| pci_name(pci))
        .map(|name| match name.starts_with("AMD ") {
            true => name,
            false => format!("AMD {name}"),
        })
        .unwrap_or_else(|| format!("AMD GPU {:04x}:{:04x}", pci.vendor, pci.device))
}
