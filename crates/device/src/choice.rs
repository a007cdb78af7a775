//! Which device to use, and opening it.
//!
//! Invariant: `Auto` falls back to the CPU only where there is no GPU. A GPU that is there and
//! fails is an error: a run that requested the GPU and got the CPU is a wrong number.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::cpu::CpuDevice;
use crate::cuda::{CudaDevice, GpuFacts, cuda_devices};
use crate::error::DeviceError;
use crate::vulkan::{VulkanDevice, vulkan_devices};

/// What the caller requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceChoice {
    /// The newest GPU with the most memory where there is one, else the CPU.
    #[default]
    Auto,
    /// The CPU, whatever else there is.
    Cpu,
    /// The GPU of this index, and nothing else.
    Cuda(usize),
    /// The Vulkan device of this index: a GPU of any maker, or a driver that runs on the CPU. Python
    /// kernels run there, and workloads that have a form for it.
    Vulkan(usize),
}

/// A device name that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a device; use `auto`, `cpu`, `cuda`, `cuda:N`, `vulkan` or `vulkan:N`")]
pub struct ParseChoiceError(String);

impl FromStr for DeviceChoice {
    type Err = ParseChoiceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "vulkan" => Ok(Self::Vulkan(0)),
            _ => {
                let numbered = |prefix: &str| text.strip_prefix(prefix)?.parse().ok();
                numbered("cuda:")
                    .map(Self::Cuda)
                    .or_else(|| numbered("vulkan:").map(Self::Vulkan))
                    .ok_or_else(|| ParseChoiceError(text.to_owned()))
            }
        }
    }
}

impl DeviceChoice {
    /// The exact device that this choice comes to, and its name; opens no context.
    pub fn resolve(self) -> Result<(Self, String), DeviceError> {
        let cpu = || Ok((Self::Cpu, CpuDevice::open()?.facts().model.clone()));
        let gpu = |facts: GpuFacts| (Self::Cuda(facts.index), facts.name);
        match self {
            Self::Cpu => cpu(),
            Self::Cuda(index) => {
                let mut all = cuda_devices()?;
                match (index < all.len(), all.len()) {
                    (true, _) => Ok(gpu(all.swap_remove(index))),
                    (false, 0) => Err(DeviceError::NoGpu),
                    (false, count) => Err(DeviceError::NoSuchDevice {
                        asked: index,
                        count,
                    }),
                }
            }
            Self::Vulkan(index) => {
                let mut all = vulkan_devices()?;
                match (index < all.len(), all.len()) {
                    (true, _) => Ok((self, all.swap_remove(index).name)),
                    (false, 0) => Err(DeviceError::NoVulkanDevice),
                    (false, count) => Err(DeviceError::NoSuchVulkanDevice {
                        asked: index,
                        count,
                    }),
                }
            }
            Self::Auto => match CudaDevice::best() {
                Ok(facts) => Ok(gpu(facts)),
                Err(error) if error.is_missing_hardware() => cpu(),
                Err(error) => Err(error),
            },
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Cpu => f.pad("cpu"),
            Self::Cuda(index) => f.pad(&format!("cuda:{index}")),
            Self::Vulkan(index) => f.pad(&format!("vulkan:{index}")),
        }
    }
}

/// An open device.
#[derive(Clone, Debug)]
pub enum Device {
    /// The CPU, with a thread pool as wide as this process may use.
    Cpu(CpuDevice),
    /// A GPU, with its context.
    Cuda(CudaDevice),
    /// A device that Vulkan drives: a GPU of any maker, or the CPU.
    Vulkan(VulkanDevice),
}

impl Device {
    /// Opens what was requested. Opening the same device again is cheap: pools and contexts are
    /// made once.
    pub fn open(choice: DeviceChoice) -> Result<Self, DeviceError> {
        match choice {
            DeviceChoice::Cpu => CpuDevice::open().map(Self::Cpu),
            DeviceChoice::Cuda(index) => CudaDevice::open(index).map(Self::Cuda),
            DeviceChoice::Vulkan(index) => VulkanDevice::open_once(index).map(Self::Vulkan),
            DeviceChoice::Auto => match CudaDevice::open_best() {
                Ok(device) => Ok(Self::Cuda(device)),
                Err(error) if error.is_missing_hardware() => CpuDevice::open().map(Self::Cpu),
                Err(error) => Err(error),
            },
        }
    }

    /// The marketing name of the CPU or GPU.
    pub fn name(&self) -> &str {
        match self {
            Self::Cpu(cpu) => &cpu.facts().model,
            Self::Cuda(gpu) => &gpu.facts().name,
            Self::Vulkan(device) => &device.facts().name,
        }
    }

    /// The choice that opens exactly this device again.
    pub fn choice(&self) -> DeviceChoice {
        match self {
            Self::Cpu(_) => DeviceChoice::Cpu,
            Self::Cuda(gpu) => DeviceChoice::Cuda(gpu.facts().index),
            Self::Vulkan(device) => DeviceChoice::Vulkan(device.facts().index),
        }
    }

    /// The GPU, where CUDA drives it.
    pub fn cuda(&self) -> Option<&CudaDevice> {
        match self {
            Self::Cpu(_) | Self::Vulkan(_) => None,
            Self::Cuda(gpu) => Some(gpu),
        }
    }

    /// The device, where Vulkan drives it.
    pub fn vulkan(&self) -> Option<&VulkanDevice> {
        match self {
            Self::Cpu(_) | Self::Cuda(_) => None,
            Self::Vulkan(device) => Some(device),
        }
    }

    /// Whether it is the CPU itself, which is the reference for every other device.
    pub fn is_cpu(&self) -> bool {
        matches!(self, Self::Cpu(_))
    }

    /// Waits for everything that was queued on the device. The CPU queues nothing, and work on Vulkan is
    /// waited for where it is queued.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        match self {
            Self::Cpu(_) | Self::Vulkan(_) => Ok(()),
            Self::Cuda(gpu) => gpu.synchronize(),
        }
    }

    /// Makes the first measured run an ordinary one: spins up the clocks, opens lazy parts.
    pub fn warm_up(&self) -> Result<(), DeviceError> {
        match self {
            Self::Cpu(cpu) => {
                cpu.warm_up();
                Ok(())
            }
            Self::Cuda(gpu) => gpu.warm_up(),
            Self::Vulkan(device) => device.warm_up(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_round_trip() {
        for choice in [
            DeviceChoice::Auto,
            DeviceChoice::Cpu,
            DeviceChoice::Cuda(3),
            DeviceChoice::Vulkan(1),
        ] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        assert_eq!("vulkan".parse(), Ok(DeviceChoice::Vulkan(0)));
    }

    #[test]
    fn the_cpu_resolves_to_itself_under_the_name_that_it_opens_with() {
        let (choice, name) = DeviceChoice::Cpu.resolve().unwrap();
        assert_eq!(choice, DeviceChoice::Cpu);
        assert_eq!(name, Device::open(choice).unwrap().name());
    }

    #[test]
    fn other_names_are_refused_with_the_list_of_good_ones() {
        for text in ["gpu", "cuda:", "cuda:-1", "CUDA:0", "cuda:0x", ""] {
            let error = text.parse::<DeviceChoice>().unwrap_err();
            assert!(error.to_string().contains("`cuda:N`"), "{error}");
        }
    }

    #[test]
    fn the_cpu_is_always_there() {
        let device = Device::open(DeviceChoice::Cpu).unwrap();
        assert_eq!(device.choice(), DeviceChoice::Cpu);
        assert!(device.cuda().is_none());
        device.warm_up().unwrap();
        device.synchronize().unwrap();
    }
}
