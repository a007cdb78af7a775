//! The cards of `/sys/class/drm` that are read through the kernel: which there are, and opening them.
//!
//! Invariant: listing asks the PCI bus alone, no GPU's driver, so that it never hangs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::amd::AmdGpu;
use super::fdinfo::Clients;
use super::intel::IntelGpu;
use super::sysfs::{self, Pci};
use super::{Gpu, Reading, Source};
use crate::event::GpuIdentity;

/// Names another root of the kernel's files than `/sys`.
const ROOT_VARIABLE: &str = "WARPSMITH_SYSFS";
/// More cards than any machine has.
const MOST_CARDS: usize = 256;

/// Where the kernel shows devices, unless the environment names another place.
pub(crate) fn root() -> PathBuf {
    let named = std::env::var_os(ROOT_VARIABLE).filter(|path| !path.is_empty());
    named.map_or_else(|| PathBuf::from("/sys"), PathBuf::from)
}

/// The kernel's drivers that are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    Amdgpu,
    I915,
    Xe,
}

impl Driver {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "amdgpu" => Self::Amdgpu,
            "i915" => Self::I915,
            "xe" => Self::Xe,
            _ => return None,
        })
    }

    /// The name of its kernel module.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Amdgpu => "amdgpu",
            Self::I915 => "i915",
            Self::Xe => "xe",
        }
    }
}

/// A card that a known driver has.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// The folder under `/sys/class/drm`.
    pub(super) folder: PathBuf,
    pub(super) driver: Driver,
    pub(super) pci: Pci,
    /// The driver with its version, or the kernel's where it comes with it.
    pub(super) driver_version: String,
    pub(super) sys_root: PathBuf,
}

/// Every card, by PCI address.
pub(crate) struct Cards {
    cards: Vec<Card>,
    /// Who uses them; one look at all processes serves every card.
    clients: Arc<Clients>,
}

impl Cards {
    /// The cards below `sys_root`, and the processes below `proc_root` that use them.
    pub(crate) fn list(sys_root: &Path, proc_root: &Path) -> Self {
        let cards = cards(sys_root, proc_root);
        Self {
            cards,
            clients: Arc::new(Clients::new(proc_root)),
        }
    }
}

fn cards(sys_root: &Path, proc_root: &Path) -> Vec<Card> {
    let root = sys_root.join("class/drm");
    let names = sysfs::list(&root, "card").into_iter();
    // `card0-DP-1` is a connector.
    let names = names.filter(|name| name[4..].bytes().all(|byte| byte.is_ascii_digit()));
    let mut cards: Vec<Card> = names
        .filter_map(|name| Card::of(root.join(name), sys_root, proc_root))
        .collect();
    cards.sort_by(|one, other| one.pci.address.cmp(&other.pci.address));
    // A card that is split shows its parts as cards of the same address.
    cards.dedup_by(|one, other| one.pci.address == other.pci.address);
    cards.truncate(MOST_CARDS);
    cards
}

impl Card {
    fn of(folder: PathBuf, sys_root: &Path, proc_root: &Path) -> Option<Self> {
        let device = folder.join("device");
        let driver = device.join("driver").read_link().ok()?;
        let driver = Driver::named(driver.file_name()?.to_str()?)?;
        Some(Self {
            pci: Pci::of(&device)?,
            driver_version: driver_version(driver, sys_root, proc_root),
            folder,
            driver,
            sys_root: sys_root.to_owned(),
        })
    }

    /// The same card where it is now: it may have another number after it came back.
    pub(super) fn found_again(&self) -> Option<Self> {
        let found = cards(&self.sys_root, Path::new("/proc")).into_iter();
        let mut found = found.filter(|card| card.pci.address == self.pci.address);
        let card = found.next()?;
        Some(Self {
            driver_version: self.driver_version.clone(),
            ..card
        })
    }
}

/// `amdgpu 6.12.12` where the module says so, else `amdgpu, Linux 6.8.0`.
fn driver_version(driver: Driver, sys_root: &Path, proc_root: &Path) -> String {
    let name = driver.name();
    let module = sys_root.join("module").join(name).join("version");
    if let Some(version) = sysfs::text_of(&module) {
        return format!("{name} {version}");
    }
    match sysfs::text_of(&proc_root.join("sys/kernel/osrelease")) {
        Some(release) => format!("{name}, Linux {release}"),
        None => name.to_owned(),
    }
}

impl Source for Cards {
    fn count(&self) -> u32 {
        u32::try_from(self.cards.len()).unwrap_or(0)
    }

    fn open(&self, nth: u32) -> Reading<(Box<dyn Gpu>, GpuIdentity)> {
        let card = self.cards.get(nth as usize).cloned();
        let card = card.ok_or(super::Refusal::Lost)?;
        let clients = Arc::clone(&self.clients);
        Ok(match card.driver {
            Driver::Amdgpu => {
                let (gpu, identity) = AmdGpu::open(card, clients);
                (Box::new(gpu), identity)
            }
            Driver::I915 | Driver::Xe => {
                let (gpu, identity) = IntelGpu::open(card, clients);
                (Box::new(gpu), identity)
            }
        })
    }
}

/// How many GPUs of NVIDIA's are on the PCI bus: the places that they take in the numbering while NVML
/// does not answer.
pub(crate) fn nvidia_devices(sys_root: &Path) -> u32 {
    let root = sys_root.join("bus/pci/devices");
    let number = |device: &str, file: &str| {
        sysfs::number_in(sysfs::text_of(&root.join(device).join(file))?.as_bytes())
    };
    let is_gpu = |device: &String| {
        // Display controllers: VGA and 3D.
        let class = number(device, "class").map(|class| class >> 8);
        number(device, "vendor") == Some(0x10de) && matches!(class, Some(0x0300 | 0x0302))
    };
    let devices = sysfs::list(&root, "").into_iter();
    u32::try_from(devices.filter(is_gpu).count()).unwrap_or(0)
}
