//! What is known about a machine: plain data with where it was read, and nothing concluded.
//!
//! `Option` means "could not be read"; an empty list means "looked, and there is none".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::host::Session;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::{Capability, Coverage};

/// A value and the file, command or variable that it was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sourced<T> {
    /// What was read.
    pub value: T,
    /// Where.
    pub source: String,
}

impl<T> Sourced<T> {
    pub(crate) fn new(value: T, source: impl Into<String>) -> Self {
        Self {
            value,
            source: source.into(),
        }
    }
}

/// Everything that `check` rules see.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineFacts {
    pub(crate) session: Session,
    pub(crate) system: System,
    pub(crate) driver: Driver,
    pub(crate) pci: Vec<PciGpu>,
    /// GPUs of other makers, which CUDA's rules do not apply to.
    pub(crate) other_gpus: Vec<OtherGpu>,
    pub(crate) gpus: Vec<GpuDevice>,
    /// `nvidia-smi -q -x`, where it answered.
    pub(crate) health: Option<Vec<GpuHealth>>,
    pub(crate) device_nodes: BTreeMap<String, NodeAccess>,
    pub(crate) toolkits: Vec<ToolkitInstall>,
    pub(crate) compilers: Compilers,
    pub(crate) loader: Loader,
    pub(crate) environments: Vec<PythonEnvironment>,
    pub(crate) profilers: Profilers,
    pub(crate) containers: Containers,
}

/// The operating system around the GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct System {
    pub(crate) distribution: Option<String>,
    pub(crate) wsl: bool,
    pub(crate) tegra: bool,
    pub(crate) container: Option<Sourced<String>>,
    pub(crate) glibc: Option<Sourced<Version>>,
    pub(crate) noexec_mounts: Option<Vec<String>>,
    pub(crate) shm_bytes: Option<u64>,
    pub(crate) locked_memory_limit: Option<Option<u64>>,
    pub(crate) perf_event_paranoid: Option<i64>,
    pub(crate) sys_admin: Option<bool>,
    pub(crate) systemd_cgroup: bool,
    pub(crate) dev_char_links: Option<bool>,
    pub(crate) processes: Option<Vec<String>>,
    pub(crate) cpu: String,
}

impl System {
    /// What advice about the driver begins with: a container has none of its own.
    pub(crate) fn on_the_host(&self) -> &'static str {
        match self.container {
            Some(_) => "on the host, outside of this container: ",
            None => "",
        }
    }
}

/// The NVIDIA driver, kernel and user side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Driver {
    pub(crate) module: Option<Sourced<Version>>,
    pub(crate) open_module: Option<bool>,
    /// `libcuda.so.N` and `libnvidia-ml.so.N` in system directories.
    pub(crate) user_libraries: Vec<Sourced<Version>>,
    pub(crate) nvidia_smi: Option<String>,
    /// Why `nvidia-smi` failed, where it did.
    pub(crate) smi_failure: Option<String>,
    pub(crate) profiling_admin_only: Option<bool>,
    pub(crate) module_files: Option<Vec<String>>,
    pub(crate) xid_lines: Option<Vec<String>>,
}

/// A display or 3D controller by NVIDIA on the PCI bus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PciGpu {
    pub(crate) address: String,
    pub(crate) device: String,
    pub(crate) bridge: bool,
    pub(crate) kernel_driver: Option<String>,
    pub(crate) width: Option<(u32, u32)>,
    pub(crate) fell_off: bool,
}

/// A GPU of AMD's or Intel's on the PCI bus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OtherGpu {
    pub(crate) address: String,
    /// `AMD` or `Intel`.
    pub(crate) maker: String,
    pub(crate) device: String,
    pub(crate) kernel_driver: Option<String>,
}

impl OtherGpu {
    /// `AMD GPU 0x744c (amdgpu)`
    pub(crate) fn name(&self) -> String {
        let driver = self.kernel_driver.as_deref().unwrap_or("no driver");
        format!("{} GPU {} ({driver})", self.maker, self.device)
    }
}

/// A GPU that the driver knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GpuDevice {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) uuid: Option<String>,
    pub(crate) capability: Option<Capability>,
    pub(crate) memory_mib: Option<u64>,
    pub(crate) source: String,
}

/// What `nvidia-smi -q -x` says about one GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GpuHealth {
    pub(crate) compute_mode: Option<String>,
    pub(crate) mig_enabled: Option<bool>,
    pub(crate) mig_instances: usize,
    pub(crate) pending_repair: Vec<String>,
    pub(crate) throttle: Vec<String>,
    pub(crate) memory_used_mib: Option<u64>,
    pub(crate) persistence: Option<bool>,
}

/// Whether this user may open a device node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeAccess {
    pub(crate) mode: String,
    pub(crate) allowed: bool,
}

/// A CUDA toolkit, complete or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolkitInstall {
    pub(crate) root: String,
    pub(crate) version: Option<Sourced<Version>>,
    /// `version.json`, `nvcc --version` and `libcudart.so` each, where they answered.
    pub(crate) versions_seen: Vec<Sourced<Version>>,
    pub(crate) nvcc: Option<String>,
    pub(crate) missing_headers: Vec<String>,
    pub(crate) has_headers: bool,
    pub(crate) cudart: Option<String>,
    pub(crate) layout: ToolkitLayout,
}

/// Who laid a toolkit out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolkitLayout {
    #[default]
    Nvidia,
    Debian,
    Conda,
}

/// Host compilers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Compilers {
    pub(crate) gcc: Option<Sourced<Version>>,
}

/// What the dynamic loader would find.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Loader {
    /// CUDA libraries by directory of LD_LIBRARY_PATH, in its order.
    pub(crate) path_entries: Vec<PathEntry>,
    /// CUDA and driver libraries in ld.so.cache: (name, path).
    pub(crate) cache: Option<Vec<(String, String)>>,
    /// `libcuda.so.1` or a versioned file in a system directory.
    pub(crate) libcuda: Option<String>,
    pub(crate) cudnn_directories: Vec<CudnnDirectory>,
    pub(crate) nvrtc_directories: Vec<NvrtcDirectory>,
}

/// One directory of LD_LIBRARY_PATH.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PathEntry {
    pub(crate) directory: String,
    pub(crate) exists: bool,
    pub(crate) libraries: Vec<String>,
}

/// A directory with cuDNN libraries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CudnnDirectory {
    pub(crate) directory: String,
    pub(crate) files: Vec<String>,
}

/// A directory with NVRTC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NvrtcDirectory {
    pub(crate) directory: String,
    pub(crate) nvrtc: Vec<String>,
    pub(crate) builtins: Vec<String>,
}

/// A Python environment, read without starting Python.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PythonEnvironment {
    pub(crate) site_packages: String,
    pub(crate) python: Option<Version>,
    pub(crate) packages: Vec<PythonPackage>,
    pub(crate) torch: Option<TorchInstall>,
    pub(crate) cupy_cuda: Option<Sourced<String>>,
    pub(crate) bitsandbytes_libraries: Vec<String>,
    pub(crate) tensorflow_cuda: Option<Sourced<String>>,
    pub(crate) nvidia_libraries: Vec<String>,
    pub(crate) binaries: Vec<GpuBinary>,
    pub(crate) conda_packages: Vec<String>,
    pub(crate) user_site: Option<String>,
    pub(crate) user_site_packages: Vec<String>,
}

/// An installed distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PythonPackage {
    /// Normalised: lower case, `-`.
    pub(crate) name: String,
    pub(crate) version: Option<Version>,
    pub(crate) directory: String,
    /// `Requires-Dist` lines about NVIDIA, torch and triton.
    pub(crate) requires: Vec<String>,
}

/// What torch was built for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TorchInstall {
    pub(crate) version: Option<Version>,
    /// `None`: CPU only.
    pub(crate) cuda: Option<Version>,
    pub(crate) source: String,
    pub(crate) coverage: Option<Coverage>,
}

/// A library with GPU code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GpuBinary {
    pub(crate) path: String,
    pub(crate) package: String,
    pub(crate) coverage: Option<Coverage>,
    pub(crate) needed: Vec<String>,
    pub(crate) glibc: Option<Version>,
}

/// Profilers and debuggers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Profilers {
    pub(crate) nsys: Option<String>,
    pub(crate) ncu: Option<String>,
    pub(crate) sanitizer: Option<String>,
    pub(crate) gdb: Option<String>,
    pub(crate) ncu_version: Option<Version>,
}

/// Container engines and the NVIDIA side of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Containers {
    pub(crate) engine: Option<String>,
    pub(crate) docker_runtime: bool,
    pub(crate) cdi_specs: Vec<String>,
    pub(crate) cdi_missing_paths: Vec<String>,
    pub(crate) toolkit: Option<Sourced<Version>>,
    pub(crate) legacy: Vec<Sourced<String>>,
    pub(crate) no_cgroups: Option<bool>,
    pub(crate) rootless: bool,
}

impl MachineFacts {
    /// Whether there is an NVIDIA GPU of any kind.
    pub(crate) fn has_gpu(&self) -> bool {
        !self.gpus.is_empty()
            || self.pci.iter().any(|gpu| !gpu.bridge)
            || self.device_nodes.contains_key("/dev/dxg")
            || self.system.tegra
    }

    pub(crate) fn env(&self, name: &str) -> Option<&str> {
        self.session.env.get(name).map(String::as_str)
    }

    /// The driver's version from the module, or from the user side where there is no module here.
    pub(crate) fn driver_version(&self) -> Option<&Sourced<Version>> {
        self.driver
            .module
            .as_ref()
            .or_else(|| self.driver.user_libraries.first())
    }

    pub(crate) fn capabilities(&self) -> Vec<(&GpuDevice, Capability)> {
        self.gpus
            .iter()
            .filter_map(|gpu| Some((gpu, gpu.capability?)))
            .collect()
    }
}

impl PythonEnvironment {
    pub(crate) fn package(&self, name: &str) -> Option<&PythonPackage> {
        self.packages.iter().find(|package| package.name == name)
    }

    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.package(name)?.version.as_ref()
    }
}
