//! What can go wrong between us and a device: what was attempted, what was seen, and a hint.

use std::path::PathBuf;

use thiserror::Error;
use warpsmith_core::Bytes;

/// An error of the device layer. `Display` says what was attempted and seen; [`DeviceError::hint`]
/// says what to do about it.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The driver library is not on this machine, or cannot be loaded.
    #[error("cannot load the CUDA driver: {seen}")]
    NoDriver {
        /// What the loader said.
        seen: String,
    },
    /// The driver is there and does not start.
    #[error("cannot initialise the CUDA driver: {name} ({description})")]
    BrokenDriver {
        /// CUDA's name of the error.
        name: String,
        /// CUDA's sentence about it.
        description: String,
    },
    /// The driver starts and reports no device.
    #[error("the CUDA driver reports no device")]
    NoGpu,
    /// A device index that is not there.
    #[error("there is no device `cuda:{asked}`: this machine has {}", present(.count))]
    NoSuchDevice {
        /// The requested index.
        asked: usize,
        /// How many there are.
        count: usize,
    },
    /// The Vulkan loader is not on this machine, or finds no driver.
    #[error("cannot use Vulkan: {seen}{}", manifests.iter().map(|one| format!("; {one}")).collect::<String>())]
    NoVulkan {
        /// What the system's loader or Vulkan's said.
        seen: String,
        /// What is wrong with the drivers' manifests, where Vulkan's loader is there.
        manifests: Vec<String>,
    },
    /// Vulkan starts and reports no device that computes.
    #[error("Vulkan reports no device")]
    NoVulkanDevice,
    /// An index of a Vulkan device that is not there.
    #[error("there is no device `vulkan:{asked}`: Vulkan reports {count}")]
    NoSuchVulkanDevice {
        /// The requested index.
        asked: usize,
        /// How many there are.
        count: usize,
    },
    /// A device that lacks what is needed.
    #[error("{device} does not offer {feature}")]
    VulkanLacks {
        /// The device.
        device: String,
        /// What it lacks.
        feature: String,
    },
    /// A device that stopped working.
    #[error("cannot {attempted}: {device} was lost")]
    VulkanLost {
        /// The device.
        device: String,
        /// What was attempted.
        attempted: &'static str,
    },
    /// Something that has no Vulkan version.
    #[error("{what} cannot run on Vulkan")]
    NotOnVulkan {
        /// What was to run.
        what: &'static str,
    },
    /// Device memory is used up.
    #[error("cannot allocate {asked} of device memory: {free} of {total} are free")]
    OutOfMemory {
        /// Size of the request.
        asked: Bytes,
        /// Free device memory at the time.
        free: Bytes,
        /// Total device memory.
        total: Bytes,
    },
    /// Host memory would not do.
    #[error("cannot take {asked} of host memory: {available} are available")]
    OutOfHostMemory {
        /// Size of the request.
        asked: Bytes,
        /// What is available without swapping, under the container's limit.
        available: Bytes,
    },
    /// A kernel image that this driver or GPU cannot load.
    #[error("cannot load kernel image `{module}` on {gpu}: {name}{}", detail(.log))]
    BadImage {
        /// `owner/stem` of the image.
        module: String,
        /// The GPU.
        gpu: String,
        /// CUDA's name of the error.
        name: String,
        /// What the driver's assembler wrote, if anything.
        log: String,
    },
    /// A function that is not in its image.
    #[error("kernel image `{module}` has no function `{entry}`")]
    NoSuchFunction {
        /// `owner/stem` of the image.
        module: String,
        /// The requested function.
        entry: String,
    },
    /// Arguments that do not fit a kernel's parameters.
    #[error("cannot launch `{kernel}`: {problem}")]
    BadLaunch {
        /// The kernel's entry name.
        kernel: String,
        /// What does not fit.
        problem: String,
    },
    /// A size that does not fit an operation.
    #[error("cannot {attempted}: {problem}")]
    BadSize {
        /// What was attempted.
        attempted: &'static str,
        /// What does not fit.
        problem: String,
    },
    /// Any other failing driver call.
    #[error("cannot {attempted}: {name} ({description})")]
    Driver {
        /// What was attempted.
        attempted: String,
        /// CUDA's number of the error.
        code: i32,
        /// CUDA's name of the error.
        name: String,
        /// CUDA's sentence about it.
        description: String,
    },
    /// A kernel that did what ends it, and everything else in its context.
    #[error("{kernel} {what} ({name})")]
    KernelFault {
        /// The kernel, as far as it is known: `kernel `k``.
        kernel: String,
        /// What it did.
        what: &'static str,
        /// CUDA's number of the error.
        code: i32,
        /// CUDA's name of the error.
        name: String,
    },
    /// Work that did not end in the time it was given.
    #[error("cannot {attempted}: it did not end within {seconds} s")]
    NeverEnded {
        /// What was attempted.
        attempted: &'static str,
        /// How long was waited.
        seconds: f64,
    },
    /// A context whose work never ended: nothing more can be done in it.
    #[error("the context on {gpu} was abandoned because a kernel in it did not finish")]
    GivenUp {
        /// The GPU.
        gpu: String,
    },
    /// NVRTC is nowhere to be found, or cannot be loaded.
    #[error("cannot find the CUDA run-time compiler (NVRTC): {seen}")]
    NoCompiler {
        /// Where it was looked for, or what the loader said.
        seen: String,
    },
    /// CUPTI is nowhere to be found, or cannot be loaded.
    #[error("cannot find the CUDA profiling interface (CUPTI): {seen}")]
    NoProfiler {
        /// Where it was looked for, or what the loader said.
        seen: String,
    },
    /// A source that does not compile.
    #[error("cannot compile `{file}` for {target}:\n{log}")]
    Compile {
        /// The source's name.
        file: String,
        /// The architecture.
        target: String,
        /// NVRTC's log: file, line and message.
        log: String,
    },
    /// A file that cannot be read or written.
    #[error("cannot {attempted} `{}`", .path.display())]
    File {
        /// What was attempted.
        attempted: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The thread pool cannot be made.
    #[error("cannot start {threads} worker threads: {seen}")]
    NoThreads {
        /// How many were requested.
        threads: usize,
        /// What the system said.
        seen: String,
    },
}

impl DeviceError {
    /// A call to Vulkan that failed.
    pub(crate) fn vulkan(attempted: &str, result: ash::vk::Result) -> Self {
        Self::Driver {
            attempted: attempted.to_owned(),
            code: result.as_raw(),
            name: format!("VK_{result:?}"),
            description: result.to_string(),
        }
    }

    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoDriver { .. } => {
                "install an NVIDIA driver, or use `--device cpu`; in a container, start it with \
                 the NVIDIA container toolkit (`--gpus all`)"
            }
            Self::BrokenDriver { name, .. } => match name.as_str() {
                "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
                | "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE" => {
                    "the kernel module and the driver library are of different versions: reboot, \
                     or remove the compatibility libraries from the loader's path"
                }
                "CUDA_ERROR_SYSTEM_NOT_READY" => {
                    "a system with NVSwitch needs `nvidia-fabricmanager` running"
                }
                _ => {
                    "`nvidia-smi` shows whether the driver works at all; `--device cpu` works without it"
                }
            },
            Self::NoGpu => {
                "`CUDA_VISIBLE_DEVICES` may hide it, or the container was started without a GPU; \
                 `--device cpu` works without one"
            }
            Self::NoSuchDevice { .. } | Self::NoSuchVulkanDevice { .. } => {
                "`warpsmith devices` lists what is here"
            }
            Self::NoVulkan { manifests, .. } if !manifests.is_empty() => {
                "let `VK_DRIVER_FILES` name the manifest of an installed driver, or unset it where it is set; the \
                 driver's package restores its manifest (`vulkaninfo --summary` shows what the loader finds)"
            }
            Self::NoVulkan { .. } | Self::NoVulkanDevice => {
                "install the GPU's Vulkan driver and the loader (Debian: `libvulkan1` and \
                 `mesa-vulkan-drivers`, which also has a driver for the CPU), or use `--device cpu`"
            }
            Self::VulkanLacks { .. } => "choose another device: `warpsmith devices` lists them",
            Self::VulkanLost { .. } => {
                "the driver gave up, often because a kernel ran for too long; `dmesg` may say why"
            }
            Self::NotOnVulkan { .. } => {
                "Python kernels and cases of them run there, and the workloads `machine/*` and `lattice/*` but \
                 `lattice/bfs`; use `--device cpu` or `cuda` for others"
            }
            Self::OutOfMemory { .. } => {
                "choose a smaller size, or free memory that other processes hold (`nvidia-smi`)"
            }
            Self::OutOfHostMemory { .. } => "choose a smaller size",
            Self::BadImage { name, .. } => match name.as_str() {
                "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" => {
                    "the driver is older than the compiler that wrote this PTX: update the driver, \
                     or compile with an older NVRTC"
                }
                "CUDA_ERROR_NO_BINARY_FOR_GPU" => {
                    "the image holds no code for this GPU: build it for its architecture, or add PTX"
                }
                _ => "the image is corrupt or not meant for this GPU: build it again",
            },
            Self::NoCompiler { .. } => {
                "`pip install nvidia-cuda-nvrtc-cu12`, install the CUDA toolkit, or name the \
                 library with `WARPSMITH_NVRTC=FILE`"
            }
            Self::NoProfiler { .. } => {
                "install the CUDA toolkit, or `pip install nvidia-cuda-cupti`"
            }
            Self::NeverEnded { .. } => {
                "the kernel may loop without end or wait for something that never comes; \
                 `--limit` gives it more time"
            }
            Self::File {
                attempted: "write to the kernel cache",
                ..
            } => "name a folder that can be written with `WARPSMITH_CACHE_DIR`",
            Self::KernelFault { .. } => {
                "`warpsmith verify` on the kernel's case names the line and the index"
            }
            _ => return None,
        })
    }

    /// Whether work did not end, so that the process needs a new context before it can go on.
    pub fn is_never_ended(&self) -> bool {
        matches!(self, Self::NeverEnded { .. } | Self::GivenUp { .. })
    }

    /// Whether a kernel faulted, which ends everything in its context.
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::KernelFault { .. })
    }

    /// Whether the machine lacks the software or hardware that was needed: exit code 3.
    pub fn is_not_possible_here(&self) -> bool {
        self.is_missing_hardware()
            || matches!(
                self,
                Self::NoCompiler { .. }
                    | Self::NoProfiler { .. }
                    | Self::NoVulkan { .. }
                    | Self::NoVulkanDevice
                    | Self::VulkanLacks { .. }
                    | Self::NotOnVulkan { .. }
            )
    }

    /// Whether the machine lacks a GPU, as opposed to something having gone wrong.
    pub fn is_missing_hardware(&self) -> bool {
        matches!(self, Self::NoDriver { .. } | Self::NoGpu)
    }
}

fn present(count: &usize) -> String {
    match count {
        0 => "none".to_owned(),
        1 => "one, `cuda:0`".to_owned(),
        n => format!("{n}, `cuda:0` to `cuda:{}`", n - 1),
    }
}

fn detail(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!("\n{}", log.trim_end())
    }
}

/// What the system's loader said, without the name of the function that said it.
pub(crate) fn loader_words(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_says_what_there_is() {
        let message = |count| DeviceError::NoSuchDevice { asked: 9, count }.to_string();
        assert_eq!(
            message(0),
            "there is no device `cuda:9`: this machine has none"
        );
        assert_eq!(
            message(1),
            "there is no device `cuda:9`: this machine has one, `cuda:0`"
        );
        assert_eq!(
            message(8),
            "there is no device `cuda:9`: this machine has 8, `cuda:0` to `cuda:7`"
        );
    }

    #[test]
    fn only_an_absent_gpu_counts_as_missing_hardware() {
        assert!(
            DeviceError::NoDriver {
                seen: String::new()
            }
            .is_missing_hardware()
        );
        assert!(DeviceError::NoGpu.is_missing_hardware());
        assert!(!DeviceError::NoSuchDevice { asked: 1, count: 1 }.is_missing_hardware());
        let compiler = DeviceError::NoCompiler {
            seen: String::new(),
        };
        assert!(!compiler.is_missing_hardware() && compiler.is_not_possible_here());
        let broken = DeviceError::BrokenDriver {
            name: "X".into(),
            description: "broken".into(),
        };
        assert!(!broken.is_missing_hardware());
    }
}
