//! When things end: driver branches with the GPUs that they drive, distributions, Python, NVIDIA's
//! CUDA images. Data in `data/lifecycle.json`, each row with its source.
//!
//! Invariant: support is as of the table's date, not of the clock, so that a report does not change
//! by itself; what could not be confirmed is `None` and never recommended.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::architecture::Capability;

/// A driver branch on Linux.
#[derive(Clone, Debug, Deserialize)]
pub struct DriverBranch {
    /// `580`.
    pub branch: u64,
    /// The newest release that was seen.
    pub newest: Option<String>,
    /// When it ended or will end.
    pub end: Option<String>,
    /// Whether it is; `None` where nobody says.
    pub in_support: Option<bool>,
    first_arch: String,
    last_arch: String,
    /// Where this was read.
    pub source: String,
}

/// A release of a distribution or of Python.
#[derive(Clone, Debug, Deserialize)]
pub struct Release {
    /// What was released.
    pub name: String,
    /// Which release.
    pub version: String,
    /// When its support ends or ended.
    pub end: String,
    /// The end of paid or long-term support.
    pub extended_end: Option<String>,
    /// Whether it is.
    pub in_support: bool,
}

/// Versions of `nvidia/cuda` images, `x.y.z`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct CudaImages {
    /// The newest of each supported minor.
    pub supported: Vec<String>,
    /// A newer patch of the same minor took their place.
    pub superseded: Vec<String>,
    /// Minors that are supported no more, still present when read.
    pub old: Vec<String>,
}

/// The table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lifecycle {
    /// Date on which the rows were read.
    pub as_of: String,
    /// Driver branches.
    pub drivers: Vec<DriverBranch>,
    /// Releases of distributions.
    pub operating_systems: Vec<Release>,
    /// Releases of Python.
    pub python: Vec<Release>,
    /// Images.
    pub cuda_images: CudaImages,
}

/// The table that this program was built with.
pub fn lifecycle() -> &'static Lifecycle {
    static TABLE: LazyLock<Lifecycle> =
        LazyLock::new(|| serde_json::from_str(DATA).unwrap_or_default());
    &TABLE
}

const DATA: &str = include_str!("../../data/lifecycle.json");

/// Architectures in the order in which they came.
const ORDER: [&str; 9] = [
    "Fermi",
    "Kepler",
    "Maxwell",
    "Pascal",
    "Volta",
    "Turing",
    "Ampere",
    "Hopper, Ada",
    "Blackwell",
];

fn place_of(architecture: &str) -> Option<usize> {
    let architecture = architecture.split(" (").next().unwrap_or(architecture);
    ORDER
        .iter()
        .position(|name| architecture == *name || name.split(", ").any(|n| n == architecture))
        .or_else(|| architecture.starts_with("Blackwell").then_some(8))
}

fn architecture_of(capability: Capability) -> usize {
    match (capability.major, capability.minor) {
        (0..=2, _) => 0,
        (3, _) => 1,
        (4 | 5, _) => 2,
        (6, _) => 3,
        (7, 0..=4) => 4,
        (7, _) => 5,
        (8, 0..=8) => 6,
        (8 | 9, _) => 7,
        _ => 8,
    }
}

impl DriverBranch {
    /// Whether this branch drives such a GPU.
    pub fn drives(&self, capability: Capability) -> bool {
        let at = architecture_of(capability);
        let reaches = |name: &str| place_of(name);
        reaches(&self.first_arch).is_some_and(|first| first <= at)
            && reaches(&self.last_arch).is_some_and(|last| at <= last)
    }
}

impl Lifecycle {
    /// The branch of a driver version.
    pub fn branch(&self, major: u64) -> Option<&DriverBranch> {
        // Numbers between two branches are the older one's: R580 reaches 582 on Windows.
        self.drivers
            .iter()
            .filter(|row| row.branch <= major && major - row.branch < 5)
            .max_by_key(|row| row.branch)
    }

    /// The branches to install for these GPUs: in support and driving every one of them.
    pub fn recommended(&self, gpus: &[Capability]) -> Vec<&DriverBranch> {
        self.drivers
            .iter()
            .filter(|row| row.in_support == Some(true))
            .filter(|row| gpus.iter().all(|gpu| row.drives(*gpu)))
            .collect()
    }

    /// The last branch that drives these GPUs, in support or not.
    pub fn last_for(&self, gpus: &[Capability]) -> Option<&DriverBranch> {
        self.drivers
            .iter()
            .filter(|row| row.in_support.is_some())
            .filter(|row| gpus.iter().all(|gpu| row.drives(*gpu)))
            .max_by_key(|row| row.branch)
    }

    /// The Python that has ended.
    pub fn ended_python(&self, version: &str) -> Option<&Release> {
        self.python
            .iter()
            .find(|row| row.version == version)
            .filter(|row| !row.in_support)
    }

    /// The oldest Python that gets fixes.
    pub fn oldest_python(&self) -> Option<&str> {
        let minor = |row: &Release| row.version.rsplit('.').next()?.parse::<u32>().ok();
        self.python
            .iter()
            .filter(|row| row.in_support)
            .min_by_key(|row| minor(row))
            .map(|row| row.version.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(major: u32, minor: u32) -> Capability {
        Capability::parse(&format!("{major}.{minor}")).unwrap()
    }

    #[test]
    fn a_branch_is_recommended_only_to_gpus_that_it_drives_and_while_it_gets_fixes() {
        let branches = |gpus: &[Capability]| -> Vec<u64> {
            lifecycle()
                .recommended(gpus)
                .iter()
                .map(|row| row.branch)
                .collect()
        };
        assert_eq!(branches(&[gpu(8, 6)]), [580, 595]);
        assert_eq!(branches(&[gpu(6, 1)]), [580]);
        assert_eq!(branches(&[gpu(8, 6), gpu(7, 0)]), [580]);
        assert!(branches(&[gpu(3, 7)]).is_empty());
        assert_eq!(lifecycle().last_for(&[gpu(3, 7)]).unwrap().branch, 470);
        assert_eq!(branches(&[gpu(12, 0)]), [580, 595]);
    }

    #[test]
    fn ends_are_read_from_the_table() {
        let table = lifecycle();
        assert_eq!(table.branch(535).unwrap().in_support, Some(false));
        assert_eq!(table.branch(582).unwrap().branch, 580);
        assert!(table.ended_python("3.10").is_some());
        assert_eq!(table.oldest_python(), Some("3.11"));
        assert!(table.cuda_images.supported.contains(&"12.8.2".to_owned()));
    }
}
