//! The PCI side of a card: its address, its ids, and the link to its slot.

use std::path::{Path, PathBuf};

use super::attribute::{Attribute, number_in, text_of};

/// A card on the PCI bus.
#[derive(Clone, Debug)]
pub(crate) struct Pci {
    /// The device's folder, without links in its path where that could be found out.
    pub(crate) folder: PathBuf,
    /// `0000:03:00.0`.
    pub(crate) address: String,
    /// The ids that name it.
    pub(crate) vendor: i64,
    pub(crate) device: i64,
    pub(crate) revision: Option<i64>,
}

impl Pci {
    /// The device behind a card's `device` link; `None` where it is not on the PCI bus.
    pub(crate) fn of(link: &Path) -> Option<Self> {
        let folder = link.canonicalize().ok()?;
        let address = folder.file_name()?.to_str()?.to_owned();
        if !is_address(&address) {
            return None;
        }
        let id = |name: &str| number_in(text_of(&folder.join(name))?.as_bytes());
        Some(Self {
            vendor: id("vendor")?,
            device: id("device")?,
            revision: id("revision"),
            address,
            folder,
        })
    }

    /// The link between the slot and the card. Cards with a PCIe switch of their own show the link to
    /// that switch as the GPU's, which never changes: the slot's is that of the switch's upper end.
    pub(crate) fn link(&self) -> Link {
        let mut end = self.folder.as_path();
        while let Some(above) = end.parent().filter(|above| self.is_own_switch(above)) {
            end = above;
        }
        let fixed = |name: &str| text_of(&end.join(name));
        Link {
            speed: Attribute::new(end.join("current_link_speed"), "current_link_speed"),
            width: Attribute::new(end.join("current_link_width"), "current_link_width"),
            generation_max: fixed("max_link_speed").and_then(|text| generation(&text)),
            width_max: fixed("max_link_width").and_then(|text| lanes(&text)),
        }
    }

    /// Whether a folder above the card is a bridge of the same vendor that is not the slot itself: a slot
    /// hangs from the root, which is no device.
    fn is_own_switch(&self, folder: &Path) -> bool {
        let is_device = |folder: &Path| {
            let name = folder.file_name().and_then(|name| name.to_str());
            name.is_some_and(is_address)
        };
        let vendor = text_of(&folder.join("vendor"));
        is_device(folder)
            && folder.parent().is_some_and(is_device)
            && vendor.and_then(|text| number_in(text.as_bytes())) == Some(self.vendor)
    }
}

/// `0000:03:00.0`: domain, bus, device, function.
fn is_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    matches!(parts.as_slice(), [domain, bus, device, function]
        if domain.len() >= 4 && bus.len() == 2 && device.len() == 2 && function.len() == 1)
        && parts
            .iter()
            .all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A card's link.
#[derive(Debug)]
pub(crate) struct Link {
    speed: Attribute,
    width: Attribute,
    /// The highest generation of the card's end.
    pub(crate) generation_max: Option<i64>,
    /// The most lanes of the card's end.
    pub(crate) width_max: Option<i64>,
}

impl Link {
    /// Generation and lanes now.
    pub(crate) fn read(&mut self) -> (Option<i64>, Option<i64>) {
        let speed = self.speed.text().ok().and_then(|text| generation(&text));
        let width = self.width.text().ok().and_then(|text| lanes(&text));
        (speed, width)
    }
}

/// `16.0 GT/s PCIe` is generation 4.
fn generation(text: &str) -> Option<i64> {
    let rate: f64 = text.split_whitespace().next()?.parse().ok()?;
    if !(0.0..1000.0).contains(&rate) {
        return None;
    }
    generation_of_tenths((rate * 10.0).round() as i64)
}

/// The generation of a link, from tenths of gigatransfers a second.
pub(crate) fn generation_of_tenths(tenths: i64) -> Option<i64> {
    const RATES: [i64; 7] = [25, 50, 80, 160, 320, 640, 1280];
    let nth = RATES.iter().position(|rate| *rate == tenths)?;
    i64::try_from(nth + 1).ok()
}

/// Lanes of a link; a link that is down has none.
fn lanes(text: &str) -> Option<i64> {
    number_in(text.as_bytes()).filter(|lanes| (1..=64).contains(lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_generations() {
        assert_eq!(generation("2.5 GT/s PCIe\n"), Some(1));
        assert_eq!(generation("16.0 GT/s PCIe\n"), Some(4));
        assert_eq!(generation("32 GT/s"), Some(5));
        assert_eq!(generation("Unknown"), None);
        assert_eq!(generation("1e999 GT/s"), None);
        assert_eq!(lanes("255"), None, "a link that is down");
    }

    #[test]
    fn addresses_are_told_from_other_folders() {
        for name in ["0000:03:00.0", "10000:e1:00.0"] {
            assert!(is_address(name), "{name}");
        }
        for name in ["pci0000:00", "03:00.0", "0000:03:00", "0000:0x:00.0", ""] {
            assert!(!is_address(name), "{name}");
        }
    }
}
