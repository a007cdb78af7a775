//! The rows of the database as they are stored.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::version::Version;

/// A CUDA toolkit, `major.minor`.
#[derive(Clone, Debug, Deserialize)]
pub struct Toolkit {
    /// `12.8`.
    pub toolkit: String,
    /// Lowest Linux driver that has every feature of it.
    pub min_driver_full_features_linux: Option<Version>,
    /// Lowest Linux driver that runs it by minor-version compatibility.
    pub minor_compat_floor_linux: Option<Version>,
    /// `sm_…` targets of its ptxas.
    pub sm_targets: Option<Vec<String>>,
    /// Newest gcc major that its headers accept.
    pub max_gcc: Option<u64>,
    /// PTX version that it writes.
    pub ptx_isa: Option<String>,
}

/// Newest CUDA of a driver branch.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct BranchCuda {
    pub(crate) branch: String,
    pub(crate) max_cuda: String,
}

/// A release of torch on PyPI (Linux, x86-64).
#[derive(Clone, Debug, Deserialize)]
pub struct TorchRelease {
    /// The version.
    pub torch: Version,
    /// CUDA of the PyPI wheel.
    pub pypi_cuda: Option<String>,
    /// CUDA variants on PyTorch's own index.
    #[serde(default)]
    pub index_variants: Vec<String>,
    /// `cp312` and so on.
    #[serde(default)]
    pub python_tags_linux_x86_64: Vec<String>,
    /// Triton that it pins.
    pub triton: Option<Version>,
    /// Architectures that it says it was built for.
    #[serde(default)]
    pub arch_list: Vec<String>,
    /// Entries that its TORCH_CUDA_ARCH_LIST accepts.
    #[serde(default)]
    pub extension_supported_arches: Vec<String>,
    /// `c++17`.
    pub cxx_standard_required: Option<String>,
    /// cuDNN that it pins.
    pub cudnn: Option<String>,
}

/// A release of some other package.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    /// Its name on PyPI.
    pub package: String,
    /// The version.
    pub version: Version,
    /// CUDA that it was built for.
    #[serde(default, alias = "cuda_version")]
    pub cuda: Option<String>,
    /// `Requires-Dist` lines that matter here.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Libraries by CUDA version (bitsandbytes).
    #[serde(default)]
    pub cuda_libs: Vec<String>,
}

/// A GPU model.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
pub struct Gpu {
    /// Its name without the maker.
    pub name: String,
    /// `8.6`.
    pub compute_capability: String,
    /// `Ampere`.
    pub arch: String,
    /// Memory in gigabytes.
    pub memory_gb: f64,
    /// Memory technology.
    pub memory_type: String,
    /// Memory bandwidth in GB/s.
    pub bandwidth_gb_s: f64,
    /// Board power in watts.
    pub tdp_w: f64,
    /// How the row is known.
    pub provenance: String,
    /// How sure.
    #[serde(default)]
    pub confidence: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Patched {
    pub(crate) rows: BTreeMap<String, PatchedBranch>,
}

/// The first release of a driver branch without the known vulnerabilities.
#[derive(Clone, Debug, Deserialize)]
pub struct PatchedBranch {
    /// That release.
    pub min_patched: Version,
    /// The bulletin that names it.
    pub bulletin: String,
    /// Date of the bulletin.
    pub date: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Cves {
    pub(crate) rows: Vec<Cve>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Cve {
    pub(crate) cve: String,
    #[serde(default)]
    pub(crate) fixed: Option<String>,
    #[serde(default)]
    pub(crate) os: Option<String>,
    #[serde(default)]
    pub(crate) products: Vec<CveProduct>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CveProduct {
    pub(crate) product: String,
    pub(crate) fixed: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct EndOfLife {
    pub(crate) os: String,
    pub(crate) eol: String,
}
