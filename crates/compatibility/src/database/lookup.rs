//! Questions to the database.
//!
//! Invariant: a question that no row answers gives `None` or an empty list, and the rule that asked
//! says `Unknown`; nothing is extrapolated.

use serde::Deserialize;

use super::rows::*;
use crate::architecture::Capability;
use crate::version::{Version, VersionRange};

/// The database, typed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Database {
    /// Date on which the rows were made.
    pub generated: String,
    /// Toolkits, oldest first.
    pub cuda_toolkits: Vec<Toolkit>,
    pub(crate) driver_branch_to_max_cuda: Vec<BranchCuda>,
    pub(crate) driver_min_patched_linux: Patched,
    /// Releases of PyTorch.
    pub torch: Vec<TorchRelease>,
    pub(crate) cupy: Vec<Package>,
    pub(crate) numba: Vec<Package>,
    pub(crate) numba_cuda: Vec<Package>,
    pub(crate) jax_cuda_plugin: Vec<Package>,
    pub(crate) jax: Vec<Package>,
    pub(crate) tensorflow: Vec<Package>,
    pub(crate) onnxruntime_gpu: Vec<Package>,
    pub(crate) bitsandbytes: Vec<Package>,
    pub(crate) triton: Vec<Package>,
    pub(crate) torchvision: Vec<Package>,
    pub(crate) torchaudio: Vec<Package>,
    pub(crate) xformers: Vec<Package>,
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) container_toolkit_cves: Cves,
    pub(crate) cuda_toolkit_cves: Cves,
    pub(crate) os_eol: Vec<EndOfLife>,
}

impl Database {
    /// Reads the database's JSON.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The row of a toolkit by `major.minor`.
    pub fn toolkit(&self, version: &Version) -> Option<&Toolkit> {
        let name = version.minor_name();
        self.cuda_toolkits.iter().find(|row| row.toolkit == name)
    }

    /// The lowest Linux driver that runs anything of a CUDA major.
    pub fn driver_floor(&self, cuda_major: u64) -> Option<&Version> {
        self.cuda_toolkits
            .iter()
            .filter(|row| Version::parse(&row.toolkit).is_some_and(|v| v.major() == cuda_major))
            .find_map(|row| row.minor_compat_floor_linux.as_ref())
    }

    /// The newest CUDA that a driver supports in full.
    pub fn newest_cuda_of(&self, driver: &Version) -> Option<Version> {
        self.branch_row(driver)
            .and_then(|row| Version::parse(&row.max_cuda))
    }

    fn branch_row(&self, driver: &Version) -> Option<&BranchCuda> {
        self.driver_branch_to_max_cuda
            .iter()
            .filter(|row| branch_number(&row.branch) <= driver.major())
            .max_by_key(|row| branch_number(&row.branch))
    }

    /// The lowest patched driver of `driver`'s branch, and the bulletin's number and date.
    pub fn patched(&self, driver: &Version) -> Option<&PatchedBranch> {
        self.driver_min_patched_linux
            .rows
            .iter()
            .filter(|(branch, _)| branch_number(branch) <= driver.major())
            // Further than ten numbers away it is another branch that has no row.
            .filter(|(branch, _)| driver.major() - branch_number(branch) < 10)
            .max_by_key(|(branch, _)| branch_number(branch))
            .map(|(_, row)| row)
    }

    /// The last branch that drives a capability, where there is one.
    pub fn last_branch_for(&self, capability: Capability) -> Option<u64> {
        match capability.major {
            0..=2 => Some(390),
            3 => Some(470),
            5 | 6 => Some(580),
            7 if capability.minor < 5 => Some(580),
            _ => None,
        }
    }

    /// A release of torch.
    pub fn torch(&self, version: &Version) -> Option<&TorchRelease> {
        self.torch.iter().find(|row| row.torch.cmp(version).is_eq())
    }

    /// What pip would take for a range: the newest final release inside it.
    pub fn resolve_torch(&self, range: &VersionRange) -> Option<&TorchRelease> {
        self.torch
            .iter()
            .filter(|row| range.contains(&row.torch))
            .max_by(|a, b| a.torch.cmp(&b.torch))
    }

    /// The newest torch whose PyPI wheel has machine code for a device and whose CUDA the driver
    /// runs, optionally for a Python tag.
    pub fn torch_for(
        &self,
        device: Capability,
        driver: Option<&Version>,
        python: Option<&str>,
    ) -> Option<&TorchRelease> {
        self.torch
            .iter()
            .filter(|row| {
                row.arch_list.iter().any(|sm| {
                    crate::architecture::Target::parse(sm).is_some_and(|t| t.runs_on(device))
                })
            })
            .filter(
                |row| match (driver, row.pypi_cuda.as_deref().and_then(Version::parse)) {
                    (Some(driver), Some(cuda)) => self
                        .driver_floor(cuda.major())
                        .is_some_and(|floor| driver >= floor),
                    _ => true,
                },
            )
            .filter(|row| {
                python.is_none_or(|tag| {
                    row.python_tags_linux_x86_64.is_empty()
                        || row.python_tags_linux_x86_64.iter().any(|t| t == tag)
                })
            })
            .max_by(|a, b| a.torch.cmp(&b.torch))
    }

    /// The GPU whose name is nearest to `name`: every word of the shorter one is in the other.
    pub fn gpu(&self, name: &str) -> Option<&Gpu> {
        let words = |text: &str| -> Vec<String> {
            text.replace(['-', '(', ')', ','], " ")
                .split_whitespace()
                .map(str::to_ascii_lowercase)
                .filter(|w| {
                    !matches!(
                        w.as_str(),
                        "nvidia" | "geforce" | "tesla" | "gpu" | "graphics" | "device"
                    )
                })
                .flat_map(|w| match w.strip_suffix("gb") {
                    Some(number) if number.parse::<u32>().is_ok() => vec![number.to_owned()],
                    _ => vec![w],
                })
                .filter(|w| w != "gb")
                .collect()
        };
        let asked = words(name);
        if asked.is_empty() {
            return None;
        }
        self.gpus
            .iter()
            .filter_map(|gpu| {
                let known = words(&gpu.name);
                let shared = asked.iter().filter(|w| known.contains(w)).count();
                // The model word decides ("5090", "a100"): it has a digit and must be shared, and
                // a qualifier of one ("ti", "super") must not be missing from the other.
                let model = |set: &[String]| {
                    set.iter()
                        .find(|w| w.chars().any(|c| c.is_ascii_digit()))
                        .cloned()
                };
                let agree = model(&asked)? == model(&known)?;
                let qualifier =
                    |w: &str| asked.iter().any(|x| x == w) == known.iter().any(|x| x == w);
                let same = ["ti", "super", "ada", "pro", "max", "laptop", "d"]
                    .iter()
                    .all(|w| qualifier(w));
                // "H200" is the SXM board: NVIDIA writes NVL and PCIe into the name of the others.
                let board = ["nvl", "pcie"].iter().all(|w| qualifier(w));
                (agree && same).then_some(((board, shared * 100 / known.len().max(1)), gpu))
            })
            .max_by_key(|(shared, _)| *shared)
            .map(|(_, gpu)| gpu)
    }

    /// CVEs of the container toolkit that `version` still has, with the fixing version.
    pub fn container_toolkit_cves(&self, version: &Version) -> Vec<(String, Version)> {
        self.container_toolkit_cves
            .rows
            .iter()
            .filter_map(|cve| {
                let product = cve
                    .products
                    .iter()
                    .find(|p| p.product.contains("Container Toolkit"))?;
                let fixed = Version::parse(&product.fixed)?;
                (version < &fixed).then(|| (cve.cve.clone(), fixed))
            })
            .collect()
    }

    /// The lowest container toolkit without any known CVE.
    pub fn safe_container_toolkit(&self) -> Option<Version> {
        self.container_toolkit_cves(&Version::parse("0")?)
            .into_iter()
            .map(|(_, fixed)| fixed)
            .max()
    }

    /// CVEs of the CUDA toolkit on Linux that `version` still has.
    pub fn toolkit_cves(&self, version: &Version) -> Vec<(String, Version)> {
        self.cuda_toolkit_cves
            .rows
            .iter()
            .filter(|cve| cve.os.as_deref().is_none_or(|os| os.contains("Linux")))
            .filter_map(|cve| {
                let fixed = Version::parse(cve.fixed.as_deref()?.split_whitespace().next()?)?;
                (version < &fixed).then(|| (cve.cve.clone(), fixed))
            })
            .collect()
    }

    /// The releases of a package by its normalised name.
    pub fn releases(&self, name: &str) -> Vec<&Package> {
        [
            &self.cupy,
            &self.numba,
            &self.numba_cuda,
            &self.jax_cuda_plugin,
            &self.jax,
            &self.tensorflow,
            &self.onnxruntime_gpu,
            &self.bitsandbytes,
            &self.triton,
            &self.torchvision,
            &self.torchaudio,
            &self.xformers,
        ]
        .into_iter()
        .flatten()
        .filter(|row| row.package == name)
        .collect()
    }

    /// The torch that a release of a companion package pins, where it pins one.
    pub fn torch_pin(&self, package: &str, version: &Version) -> Option<VersionRange> {
        self.releases(package)
            .into_iter()
            .find(|row| row.version.cmp(version).is_eq())?
            .requires
            .iter()
            .find_map(|line| {
                let rest = line.strip_prefix("torch")?;
                rest.starts_with([' ', '(', '=', '<', '>', '~', '!'])
                    .then(|| VersionRange::parse(rest.split(';').next().unwrap_or("").trim()))
            })
    }

    /// The end of life of an operating system or Python by the database's name.
    pub fn end_of_life(&self, name: &str) -> Option<&str> {
        self.os_eol
            .iter()
            .find(|row| row.os == name)
            .map(|row| row.eol.as_str())
    }
}

fn branch_number(branch: &str) -> u64 {
    branch.trim_start_matches('R').parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{DATA, database};

    fn v(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn every_row_says_how_it_is_known() {
        fn check(value: &serde_json::Value, path: &str) {
            let serde_json::Value::Array(rows) = value else {
                return;
            };
            for (n, row) in rows.iter().enumerate().filter(|(_, row)| row.is_object()) {
                let provenance = row.get("provenance");
                assert!(provenance.is_some(), "{path}[{n}] has no provenance");
                let text = provenance.unwrap().to_string();
                assert!(
                    ["V:", "S:doc", "\"M"]
                        .iter()
                        .any(|code| text.contains(code)),
                    "{path}[{n}]: {text}"
                );
            }
        }
        let raw: serde_json::Value = serde_json::from_str(DATA).unwrap();
        for (name, table) in raw.as_object().unwrap() {
            check(table, name);
        }
        let db = Database::from_json(DATA).unwrap();
        assert!(db.cuda_toolkits.len() >= 24 && db.torch.len() >= 30 && db.gpus.len() >= 105);
        assert!(
            db.gpus
                .iter()
                .all(|g| Capability::parse(&g.compute_capability).is_some())
        );
        assert!(db.cupy.len() >= 92 && db.jax_cuda_plugin.len() >= 58);
    }

    #[test]
    fn drivers_are_placed_in_their_branch() {
        let db = database();
        assert_eq!(db.newest_cuda_of(&v("566.36")), Some(v("12.7")));
        assert_eq!(db.newest_cuda_of(&v("580.159.03")), Some(v("13.0")));
        assert_eq!(db.driver_floor(13), Some(&v("580.65.06")));
        assert_eq!(
            db.patched(&v("535.183.01")).unwrap().min_patched,
            v("535.309.01")
        );
        assert!(db.patched(&v("999.1")).is_none());
    }

    #[test]
    fn gpu_names_are_found_as_drivers_and_people_write_them() {
        let cc = |name: &str| {
            database()
                .gpu(name)
                .map(|g| (g.name.as_str(), g.compute_capability.as_str()))
        };
        assert_eq!(
            cc("NVIDIA GeForce RTX 3080 Ti"),
            Some(("GeForce RTX 3080 Ti", "8.6"))
        );
        assert_eq!(cc("NVIDIA GeForce RTX 3080").unwrap().0, "GeForce RTX 3080");
        assert_eq!(cc("RTX 5090").unwrap().1, "12.0");
        assert_eq!(cc("NVIDIA A100-SXM4-80GB").unwrap().0, "A100 SXM4 80 GB");
        assert_eq!(cc("Tesla V100-SXM2-16GB").unwrap().1, "7.0");
        assert_eq!(cc("NVIDIA H200").unwrap().0, "H200 SXM 141 GB");
        assert_eq!(cc("NVIDIA H200 NVL").unwrap().0, "H200 NVL");
        assert_eq!(cc("NVIDIA H100 80GB HBM3").unwrap().1, "9.0");
        assert_eq!(
            cc("NVIDIA GeForce GTX 1080 Ti").unwrap().0,
            "GeForce GTX 1080 Ti"
        );
        assert_eq!(cc("Radeon"), None);
    }

    #[test]
    fn ranges_are_resolved_to_what_pip_takes() {
        let row = database()
            .resolve_torch(&VersionRange::parse(">=2.0.0,<2.2.0"))
            .unwrap();
        assert_eq!(
            (row.torch.to_string().as_str(), row.pypi_cuda.as_deref()),
            ("2.1.2", Some("12.1"))
        );
        let pascal = database()
            .torch_for(Capability::from_sm(61), None, None)
            .unwrap();
        assert_eq!(pascal.torch, v("2.7.1"));
        assert_eq!(database().safe_container_toolkit(), Some(v("1.19.1")));
    }
}
