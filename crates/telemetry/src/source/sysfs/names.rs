//! What a card is called: the lists of names that distributions install.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::pci::Pci;

/// Names of AMD's GPUs by device and revision, installed with libdrm.
const AMDGPU_IDS: &str = "/usr/share/libdrm/amdgpu.ids";
/// Names of all PCI devices, by where distributions put them.
const PCI_IDS: [&str; 3] = [
    "/usr/share/hwdata/pci.ids",
    "/usr/share/misc/pci.ids",
    "/usr/share/pci.ids",
];
/// The longest list that is read: several times as long as today's.
const LIST_LIMIT: u64 = 16 << 20;

fn lines(path: &Path) -> Option<impl Iterator<Item = String>> {
    let file = File::open(path).ok()?.take(LIST_LIMIT);
    Some(BufReader::new(file).lines().map_while(Result::ok))
}

/// The name that AMD sells it under, by device and revision.
pub(crate) fn amd_name(pci: &Pci) -> Option<String> {
    marketing_name(lines(Path::new(AMDGPU_IDS))?, pci.device, pci.revision?)
}

/// The name in the list of PCI devices.
pub(crate) fn pci_name(pci: &Pci) -> Option<String> {
    let mut lists = PCI_IDS.iter().filter_map(|path| lines(Path::new(path)));
    lists.find_map(|lines| device_name(lines, pci.vendor, pci.device))
}

/// `744C, C8, AMD Radeon RX 7900 XTX`, with tabs behind the commas.
fn marketing_name(
    lines: impl Iterator<Item = String>,
    device: i64,
    revision: i64,
) -> Option<String> {
    let hexadecimal = |text: &str| i64::from_str_radix(text.trim(), 16).ok();
    lines
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let mut parts = line.splitn(3, ',');
            let own =
                hexadecimal(parts.next()?)? == device && hexadecimal(parts.next()?)? == revision;
            let name = parts.next()?.trim();
            (own && !name.is_empty()).then(|| name.to_owned())
        })
}

/// A vendor's line begins at the margin, its devices' with one tab, their subsystems' with two. The name
/// in brackets is the one that it is sold under.
fn device_name(lines: impl Iterator<Item = String>, vendor: i64, device: i64) -> Option<String> {
    let (vendor, device) = (format!("{vendor:04x}  "), format!("\t{device:04x}  "));
    let name = lines
        .skip_while(|line| !line.starts_with(&vendor))
        .skip(1)
        .take_while(|line| line.starts_with(['\t', '#']) || line.is_empty())
        .find_map(|line| Some(line.strip_prefix(&device)?.trim().to_owned()))?;
    let sold_as = name
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    Some(sold_as.map_or(name.clone(), |(inside, _)| inside.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> impl Iterator<Item = String> + '_ {
        text.lines().map(str::to_owned)
    }

    #[test]
    fn names_come_from_the_vendors_own_block() {
        let text = "# comment\n1002  AMD\n\t744c  Navi 31 [Radeon RX 7900 XT]\n\t\t1002 0e3b  Board\n\
                    8086  Intel\n\t56a0  DG2 [Arc A770]\n\t744c  Other\n\t9a49  TigerLake-LP GT2\n";
        assert_eq!(
            device_name(list(text), 0x1002, 0x744c).as_deref(),
            Some("Radeon RX 7900 XT")
        );
        assert_eq!(
            device_name(list(text), 0x8086, 0x9a49).as_deref(),
            Some("TigerLake-LP GT2")
        );
        assert_eq!(device_name(list(text), 0x1002, 0x56a0), None);
        assert_eq!(device_name(list("8086\n\t[\n"), 0x8086, 1), None);
    }

    #[test]
    fn the_revision_tells_boards_of_one_chip_apart() {
        let text = "# List\n1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT\n74A1,\t,\n";
        let name = |device, revision| marketing_name(list(text), device, revision);
        assert_eq!(name(0x744c, 0xcc).as_deref(), Some("AMD Radeon RX 7900 XT"));
        assert_eq!(name(0x744c, 0xc9), None);
        assert_eq!(name(0x74a1, 0), None);
    }
}
