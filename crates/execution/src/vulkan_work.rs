//! Python kernels on a Vulkan device whose arrays stay there: launches that are recorded once and run often.
//!
//! Invariant: a work owns every buffer that its launches reach, so that no address outlives its memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytemuck::Pod;
use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::{Options, compile};
use warpsmith_core::Finding;
use warpsmith_device::{
    DeviceError, VulkanBuffer, VulkanCommands, VulkanDevice, VulkanKernel, VulkanKind, VulkanStep,
};
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter, OnDevice, Plan};
use warpsmith_spirv::{BufferAddresses, LaunchBlock, Prints, Spirv};

use crate::recorded_parts::{Bounds, cut};
use crate::vulkan_kernel::{VulkanError, kernel_for};

/// Launches of a submission.
const MOST_STEPS: usize = 1 << 14;
/// Launches that are recorded: what a command buffer keeps of each is hundreds of bytes of the host.
const MOST_RECORDED: usize = 1 << 20;
/// Bytes that the launches of a submission pass over: a second or two of a GPU with 50 GB/s, beyond which
/// some systems take a GPU for stuck.
const MOST_BYTES: u64 = 1 << 36;
/// The same of a driver for the CPU: some seconds, after which a limit is looked at again.
const MOST_BYTES_OF_SOFTWARE: u64 = 1 << 32;
/// A submission that takes longer does not end, where nobody sets a limit.
const LIMIT: Duration = Duration::from_secs(600);

/// The function `fused(a, b, c)` of `float32` in Python: a·b + c rounded once, by + − × of `float64` alone.
/// Vulkan has no multiply-add that every device rounds once.
pub const FUSED_MULTIPLY_ADD: &str = include_str!("fused.py");

/// A kernel of a Python file that is compiled for a device. Clones are the same kernel.
#[derive(Clone, Debug)]
pub struct VulkanFunction {
    module: Arc<Module>,
    plan: Arc<Plan>,
    kernel: VulkanKernel,
}

impl VulkanFunction {
    /// Compiles the kernel of this name.
    pub fn compile(device: &VulkanDevice, source: &str, name: &str) -> Result<Self, VulkanError> {
        let options = Options {
            kernel: Some(name.to_owned()),
            ..Options::default()
        };
        let module = compile(source, &options).map_err(VulkanError::Refused)?;
        Self::of_module(device, module)
    }

    /// Compiles the kernel of a module.
    pub fn of_module(device: &VulkanDevice, module: Module) -> Result<Self, VulkanError> {
        let plan = Arc::new(Plan::new(&module, false).map_err(VulkanError::Refused)?);
        let kernel = kernel_for(device, &interpreter(&module, &plan), Prints::Silent)?;
        Ok(Self {
            module: Arc::new(module),
            plan,
            kernel,
        })
    }

    fn interpreter(&self) -> Interpreter<'_> {
        interpreter(&self.module, &self.plan)
    }
}

fn interpreter<'m>(module: &'m Module, plan: &Arc<Plan>) -> Interpreter<'m> {
    Interpreter::of(module, Arc::clone(plan)).with_block_dim(Spirv::WORKGROUP as i32)
}

/// What a launch passes for a parameter.
#[derive(Clone, Debug)]
pub enum WorkArgument {
    /// The buffer of this number, as an array of this shape.
    Array(usize, Vec<usize>),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A number, or the components of a vector or matrix.
    Value(Vec<Number>),
}

/// A launch of a kernel over a grid.
#[derive(Debug)]
pub struct WorkLaunch<'f> {
    /// The kernel.
    pub function: &'f VulkanFunction,
    /// The grid.
    pub dim: Vec<usize>,
    /// An argument for each parameter.
    pub arguments: Vec<WorkArgument>,
}

/// A launch of a kernel that was written as SPIR-V.
#[derive(Debug)]
pub struct KernelLaunch<'k> {
    /// The kernel.
    pub kernel: &'k VulkanKernel,
    /// The bytes whose address is its push constant.
    pub block: Vec<u8>,
    /// How many workgroups.
    pub groups: u32,
}

/// Buffers on a device and what is done to them, recorded.
#[derive(Debug)]
pub struct VulkanWork {
    // Dropped before what they reach.
    parts: Vec<VulkanCommands>,
    /// The parts of a run, one after the other.
    order: Vec<usize>,
    bound: Vec<Bound>,
    buffers: Vec<VulkanBuffer>,
    seconds: Option<f64>,
    limit: Option<Duration>,
}

/// A launch's block on the device, and its status words if the kernel is a Python kernel.
#[derive(Debug)]
struct Bound {
    block: VulkanBuffer,
    groups: u32,
    checked: Option<(VulkanFunction, VulkanBuffer)>,
    /// Arrays of threads' own, which the block points to.
    _own: Vec<VulkanBuffer>,
}

impl VulkanWork {
    /// Records launches over `buffers`, in the order of their numbers in `steps`.
    pub fn new(
        device: &VulkanDevice,
        buffers: Vec<VulkanBuffer>,
        launches: &[WorkLaunch<'_>],
        steps: &[usize],
    ) -> Result<Self, VulkanError> {
        let bound = (launches.iter())
            .map(|launch| bind(device, launch, &buffers))
            .collect::<Result<Vec<_>, _>>()?;
        let kernels: Vec<&VulkanKernel> = (launches.iter())
            .map(|launch| &launch.function.kernel)
            .collect();
        // SAFETY: the blocks hold the addresses of `buffers`; kernels check every index against the sizes in
        // the blocks, which are the buffers' own.
        unsafe { Self::recorded(device, buffers, bound, &kernels, steps) }
    }

    /// As [`VulkanWork::new`], of kernels that were written as SPIR-V.
    ///
    /// # Safety
    /// With its block a kernel reads and writes nothing outside of `buffers`.
    pub unsafe fn of_kernels(
        device: &VulkanDevice,
        buffers: Vec<VulkanBuffer>,
        launches: &[KernelLaunch<'_>],
        steps: &[usize],
    ) -> Result<Self, VulkanError> {
        let bound = (launches.iter())
            .map(|launch| {
                Ok(Bound {
                    block: device.upload(&launch.block)?,
                    groups: launch.groups,
                    checked: None,
                    _own: Vec::new(),
                })
            })
            .collect::<Result<Vec<_>, DeviceError>>()?;
        let kernels: Vec<&VulkanKernel> = launches.iter().map(|launch| launch.kernel).collect();
        // SAFETY: the caller's promise.
        unsafe { Self::recorded(device, buffers, bound, &kernels, steps) }
    }

    /// # Safety
    /// With its block a kernel reads and writes nothing outside of `buffers`.
    unsafe fn recorded(
        device: &VulkanDevice,
        buffers: Vec<VulkanBuffer>,
        bound: Vec<Bound>,
        kernels: &[&VulkanKernel],
        steps: &[usize],
    ) -> Result<Self, VulkanError> {
        let all: u64 = buffers.iter().map(|buffer| buffer.len() as u64).sum();
        let bounds = Bounds {
            launches: MOST_STEPS,
            bytes: match device.facts().kind {
                VulkanKind::Software => MOST_BYTES_OF_SOFTWARE,
                _ => MOST_BYTES,
            },
        };
        // A launch passes over the buffers about once; one workgroup does not.
        let bytes = |step: usize| if bound[step].groups > 1 { all } else { 0 };
        let parts = cut(steps, bytes, bounds);
        let launches: usize = parts.distinct.iter().map(ExactSizeIterator::len).sum();
        if launches > MOST_RECORDED {
            return Err(DeviceError::BadSize {
                attempted: "record launches for Vulkan",
                problem: format!("{launches} different launches, and {MOST_RECORDED} are the most"),
            }
            .into());
        }
        let mut recorded = Vec::new();
        for part in &parts.distinct {
            let steps: Vec<VulkanStep<'_>> = (steps[part.clone()].iter())
                .map(|n| VulkanStep {
                    kernel: kernels[*n],
                    block: bound[*n].block.address(),
                    groups: bound[*n].groups,
                })
                .collect();
            // SAFETY: `buffers` live beside the commands until those are gone, and kernels stay inside of
            // them.
            recorded.push(unsafe { device.record(&steps, true) }?);
        }
        Ok(Self {
            parts: recorded,
            order: parts.order,
            bound,
            buffers,
            seconds: None,
            limit: None,
        })
    }

    /// Gives up on a run that takes longer, and on the device with it.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    /// Runs every step and waits for the last.
    pub fn run(&mut self) -> Result<(), VulkanError> {
        let begun = Instant::now();
        self.seconds = None;
        let mut seconds = Some(0.0);
        for part in &self.order {
            let commands = &self.parts[*part];
            let left = self
                .limit
                .map(|limit| limit.saturating_sub(begun.elapsed()));
            commands
                .run(left.unwrap_or(LIMIT))
                .map_err(|error| match error {
                    // What is left of the limit is not what was set.
                    DeviceError::NeverEnded { attempted, .. } => DeviceError::NeverEnded {
                        attempted,
                        seconds: self.limit.unwrap_or(LIMIT).as_secs_f64(),
                    },
                    error => error,
                })?;
            seconds = seconds.zip(commands.seconds()?).map(|(all, one)| all + one);
        }
        self.seconds = seconds;
        Ok(())
    }

    /// What the last run took by the device's timer, where there is one.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds
    }

    /// What lies in a buffer now.
    ///
    /// # Errors
    /// What went wrong in a thread so far, such as an index out of range.
    pub fn output<T: Pod>(&self, buffer: usize) -> Result<Vec<T>, VulkanError> {
        self.check()?;
        let count = self.buffers[buffer].len() / size_of::<T>();
        let mut values = vec![T::zeroed(); count];
        self.buffers[buffer].read(bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Puts bytes at the beginning of a buffer.
    pub fn write(&mut self, buffer: usize, bytes: &[u8]) -> Result<(), VulkanError> {
        Ok(self.buffers[buffer].write(bytes)?)
    }

    /// Fills a buffer with ones.
    pub fn poison(&mut self, buffer: usize) -> Result<(), VulkanError> {
        let bytes = vec![0xff; self.buffers[buffer].len()];
        self.write(buffer, &bytes)
    }

    /// Says what went wrong in a thread so far.
    pub fn check(&self) -> Result<(), VulkanError> {
        let mut found: Vec<Finding> = Vec::new();
        for (function, words) in self.bound.iter().filter_map(|b| b.checked.as_ref()) {
            let mut status = [0; 8];
            words.read(&mut status)?;
            let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| status[at + n]));
            let interpreter = function.interpreter();
            found.extend(LaunchBlock::findings(&interpreter, [word(0), word(4)]));
        }
        match found.is_empty() {
            true => Ok(()),
            false => Err(VulkanError::Refused(found)),
        }
    }
}

fn bind(
    device: &VulkanDevice,
    launch: &WorkLaunch<'_>,
    buffers: &[VulkanBuffer],
) -> Result<Bound, VulkanError> {
    let function = launch.function;
    let mut addresses = Vec::new();
    let arguments: Vec<Argument<OnDevice>> = (launch.arguments.iter())
        .map(|argument| match argument {
            WorkArgument::Array(n, shape) => {
                let buffer = &buffers[*n];
                addresses.push(BufferAddresses {
                    values: buffer.address(),
                    gradients: 0,
                });
                Argument::Array(ArrayArgument {
                    shape: shape.clone(),
                    data: OnDevice(buffer.len()),
                    gradient: None,
                })
            }
            WorkArgument::Int(value) => Argument::Value(vec![Number::Int(i128::from(*value))]),
            WorkArgument::Float(value) => Argument::Value(vec![Number::Float(*value)]),
            WorkArgument::Value(numbers) => Argument::Value(numbers.clone()),
        })
        .collect();
    let laid_out = LaunchBlock::new(&function.interpreter(), &launch.dim, &arguments)?;
    let mut own = Vec::new();
    for bytes in laid_out.own_buffers() {
        let (values, gradients) = (device.buffer(*bytes)?, device.buffer(*bytes)?);
        addresses.push(BufferAddresses {
            values: values.address(),
            gradients: gradients.address(),
        });
        own.extend([values, gradients]);
    }
    let status = device.upload(&[0xff; 8])?;
    let block = device.upload(&laid_out.bytes(status.address(), 0, &addresses))?;
    Ok(Bound {
        block,
        checked: Some((function.clone(), status)),
        _own: own,
        groups: laid_out.threads().div_ceil(Spirv::WORKGROUP),
    })
}
