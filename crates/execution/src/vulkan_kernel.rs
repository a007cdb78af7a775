//! A Python kernel on a Vulkan device: the interpreter's plan as SPIR-V, its arguments by address.

use std::time::Duration;

use thiserror::Error;
use warpsmith_compiler::ir::Module;
use warpsmith_core::Finding;
use warpsmith_device::{
    DeviceError, VulkanBuffer, VulkanDevice, VulkanFacts, VulkanKernel, VulkanKind, VulkanStep,
};
use warpsmith_interpreter::{Argument, ArgumentError, Borrowed, Interpreter};
use warpsmith_spirv::{
    BufferAddresses, FloatControl, LaunchBlock, PrintBuffer, Printed, Prints, Spirv, SpirvNeeds,
    SpirvTarget,
};

use crate::vulkan_memory::{HostBytes, Placed};

/// Why a kernel could not run on a Vulkan device.
#[derive(Debug, Error)]
pub enum VulkanError {
    /// Something in the kernel that Vulkan kernels do not support.
    #[error("{}", first(.0))]
    Refused(Vec<Finding>),
    /// Arguments that do not fit.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The device failed or lacks something.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl VulkanError {
    /// Why the device at hand cannot run this at all, where that is what happened.
    pub fn unsupported(&self) -> Option<String> {
        match self {
            Self::Device(error @ DeviceError::VulkanLacks { .. }) => Some(error.to_string()),
            Self::Refused(_) => Some(self.to_string()),
            _ => None,
        }
    }
}

fn first(findings: &[Finding]) -> String {
    let finding = findings.first();
    finding.map_or_else(String::new, |finding| finding.message.clone())
}

/// What to emit for a device.
pub fn spirv_target(facts: &VulkanFacts, prints: Prints) -> SpirvTarget {
    SpirvTarget {
        floats: facts.floats.map(|floats| FloatControl {
            denormals: floats.denormals,
            nearest: floats.nearest,
            special: floats.special,
        }),
        cuts_loops: facts.cuts_loops,
        prints,
        single_words: false,
        no_float64: !facts.float64,
    }
}

/// What the interpreter would run, compiled for a device.
pub(crate) fn kernel_for(
    device: &VulkanDevice,
    interpreter: &Interpreter<'_>,
    prints: Prints,
) -> Result<VulkanKernel, VulkanError> {
    let spirv = Spirv::of(interpreter, spirv_target(device.facts(), prints))
        .map_err(VulkanError::Refused)?;
    check_needs(device.facts(), spirv.needs)?;
    // SAFETY: the emitter writes valid modules (`spirv-val` says so in its tests), and the device was just
    // found to offer what this one needs.
    Ok(unsafe { device.kernel(&spirv.words) }?)
}

/// A kernel in one direction that is compiled for a device.
#[derive(Debug)]
pub struct VulkanProgram<'m> {
    device: VulkanDevice,
    module: &'m Module,
    interpreter: Interpreter<'m>,
    kernel: VulkanKernel,
    /// Whether the kernel was written to print.
    prints: bool,
}

/// What a run did, besides changing its arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VulkanRun {
    /// What went wrong in threads: an index out of range, say.
    pub findings: Vec<Finding>,
    /// What threads printed.
    pub printed: Printed,
}

/// A launch's memory on the device.
struct Uploaded {
    arrays: Vec<(Placed, Option<Placed>)>,
    status: VulkanBuffer,
    print: Option<VulkanBuffer>,
    block: VulkanBuffer,
    groups: u32,
}

impl<'m> VulkanProgram<'m> {
    /// Compiles what the interpreter would run; what threads print is kept.
    pub fn build(
        device: &VulkanDevice,
        module: &'m Module,
        interpreter: Interpreter<'m>,
    ) -> Result<Self, VulkanError> {
        let interpreter = interpreter.with_block_dim(Spirv::WORKGROUP as i32);
        let kernel = kernel_for(device, &interpreter, Prints::Kept)?;
        Ok(Self::of(device, module, interpreter, kernel))
    }

    /// What was compiled before, by [`VulkanProgram::build`] from the same module in the same direction.
    pub fn of(
        device: &VulkanDevice,
        module: &'m Module,
        interpreter: Interpreter<'m>,
        kernel: VulkanKernel,
    ) -> Self {
        Self {
            device: device.clone(),
            module,
            prints: interpreter.prints(),
            interpreter: interpreter.with_block_dim(Spirv::WORKGROUP as i32),
            kernel,
        }
    }

    /// Whether its device is the CPU.
    pub(crate) fn is_on_software(&self) -> bool {
        self.device.facts().kind == VulkanKind::Software
    }

    /// The compiled kernel, to be kept.
    pub fn kernel(&self) -> VulkanKernel {
        self.kernel.clone()
    }

    /// Runs the kernel over the grid `dim`; results are left in the arguments.
    pub fn run(
        &self,
        dim: &[usize],
        arguments: &mut [Argument],
        limit: Duration,
    ) -> Result<VulkanRun, VulkanError> {
        self.run_on(dim, arguments, limit)
    }

    /// As [`VulkanProgram::run`], on arrays where they lie: a device that shares the host's memory works
    /// there, others on copies.
    ///
    /// # Safety
    /// The arrays can be read and written, nobody else uses them until this returns, and they stay for ever
    /// where it returns [`DeviceError::NeverEnded`].
    pub unsafe fn run_in_place(
        &self,
        dim: &[usize],
        arguments: &[Argument<Borrowed>],
        limit: Duration,
    ) -> Result<VulkanRun, VulkanError> {
        self.run_on(dim, &mut arguments.to_vec(), limit)
    }

    fn run_on<M: HostBytes>(
        &self,
        dim: &[usize],
        arguments: &mut [Argument<M>],
        limit: Duration,
    ) -> Result<VulkanRun, VulkanError> {
        let uploaded = self.upload(dim, arguments)?;
        self.repeat(&uploaded, 1, false, limit)?;
        for (array, (values, gradients)) in LaunchBlock::arrays(self.module, arguments)
            .into_iter()
            .zip(&uploaded.arrays)
        {
            array.data.fetch(values)?;
            if let (Some(bytes), Some(gradients)) = (&mut array.gradient, gradients) {
                bytes.fetch(gradients)?;
            }
        }
        let mut status = [0; 8];
        uploaded.status.read(&mut status)?;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| status[at + n]));
        Ok(VulkanRun {
            findings: LaunchBlock::findings(&self.interpreter, [word(0), word(4)]),
            printed: self.printed(&uploaded)?,
        })
    }

    fn printed(&self, uploaded: &Uploaded) -> Result<Printed, VulkanError> {
        let Some(print) = &uploaded.print else {
            return Ok(Printed::default());
        };
        let mut header = [0; PrintBuffer::HEADER_BYTES];
        print.read(&mut header)?;
        let mut bytes = vec![0; PrintBuffer::used(&header)];
        print.read(&mut bytes)?;
        Ok(PrintBuffer::printed(&self.interpreter, &bytes))
    }

    /// Runs the kernel `times` times on one upload of the arguments, which stay as they are: the seconds
    /// that each run took, by our clock around launch and wait, or with the device's timer running along.
    pub fn time(
        &self,
        dim: &[usize],
        arguments: &[Argument],
        times: usize,
        by_device: bool,
        limit: Duration,
    ) -> Result<Vec<Timed>, VulkanError> {
        let uploaded = self.upload(dim, &mut arguments.to_vec())?;
        self.repeat(&uploaded, times, by_device, limit)
    }

    fn upload<M: HostBytes>(
        &self,
        dim: &[usize],
        arguments: &mut [Argument<M>],
    ) -> Result<Uploaded, VulkanError> {
        let launch = LaunchBlock::new(&self.interpreter, dim, arguments)?;
        let filled = |bytes: &[u8]| self.device.upload(bytes);
        let mut arrays = Vec::new();
        for array in LaunchBlock::arrays(self.module, arguments) {
            let place = |bytes: &M| bytes.place(&self.device);
            let gradients = array.gradient.as_ref().map(place).transpose()?;
            arrays.push((place(&array.data)?, gradients));
        }
        for bytes in launch.own_buffers() {
            let (values, gradients) = (self.device.buffer(*bytes)?, self.device.buffer(*bytes)?);
            arrays.push((Placed::Copy(values), Some(Placed::Copy(gradients))));
        }
        let status = filled(&[0xff; 8])?;
        let print = (self.prints.then(|| filled(&PrintBuffer::empty()))).transpose()?;
        let addresses: Vec<BufferAddresses> = arrays
            .iter()
            .map(|(values, gradients)| BufferAddresses {
                values: values.address(),
                gradients: gradients.as_ref().map_or(0, Placed::address),
            })
            .collect();
        let print_address = print.as_ref().map_or(0, VulkanBuffer::address);
        let block = filled(&launch.bytes(status.address(), print_address, &addresses))?;
        Ok(Uploaded {
            arrays,
            status,
            print,
            block,
            groups: launch.threads().div_ceil(Spirv::WORKGROUP),
        })
    }

    fn repeat(
        &self,
        uploaded: &Uploaded,
        times: usize,
        by_device: bool,
        limit: Duration,
    ) -> Result<Vec<Timed>, VulkanError> {
        if uploaded.groups == 0 {
            return Ok(Vec::new());
        }
        let step = VulkanStep {
            kernel: &self.kernel,
            block: uploaded.block.address(),
            groups: uploaded.groups,
        };
        // SAFETY: the block holds the addresses of buffers that live in `uploaded` until the launch is gone;
        // the kernel checks every index against their sizes.
        let launch = unsafe { self.device.record(&[step], by_device) }?;
        (0..times)
            .map(|_| {
                let begun = std::time::Instant::now();
                launch.run(limit)?;
                Ok(Timed {
                    host: begun.elapsed().as_secs_f64(),
                    device: launch.seconds()?,
                })
            })
            .collect()
    }
}

/// What one run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    /// Seconds from launch to the end of the wait.
    pub host: f64,
    /// Seconds by the device's own timer, where it has one.
    pub device: Option<f64>,
}

/// Refuses a kernel that needs what the device does not offer.
fn check_needs(facts: &VulkanFacts, needs: SpirvNeeds) -> Result<(), DeviceError> {
    let asked = [
        (
            needs.float64,
            facts.float64,
            "64-bit floats (shaderFloat64)",
        ),
        (
            needs.int64_atomics,
            facts.int64_atomics,
            "atomic operations on 64-bit words (shaderBufferInt64Atomics)",
        ),
        (
            needs.bytes,
            facts.bytes,
            "8-bit words in memory (storageBuffer8BitAccess)",
        ),
        (
            needs.halves,
            facts.halves,
            "16-bit words in memory (storageBuffer16BitAccess)",
        ),
    ];
    match asked.into_iter().find(|(needed, has, _)| *needed && !has) {
        Some((_, _, feature)) => Err(DeviceError::VulkanLacks {
            device: facts.name.clone(),
            feature: feature.to_owned(),
        }),
        None => Ok(()),
    }
}
