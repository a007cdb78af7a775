//! Operations that make one buffer of numbers from others: described as data, so that an operation is
//! a table of functions and its kernel.
//!
//! Invariant: a kernel takes the inputs in their order, then the result, then the scalars.

use std::sync::Arc;

use warpsmith_core::KernelImage;
use warpsmith_device::{
    Argument, CpuDevice, CudaDevice, Device, DeviceBuffer, Kernel, LaunchShape, Stream,
};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Definition, Output, ParameterSpec, Parameters, Prepared, Ready,
    Sizes, Workload, WorkloadError, result_in_memory, result_on_stream,
};

use crate::error::Result as TrainingResult;

/// Makes the result from the inputs.
pub(crate) type CpuForm = fn(&Parameters, &[Vec<f32>], &mut [f32]) -> TrainingResult<()>;

/// An operation with its CPU form and its kernels.
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [ParameterSpec],
    pub(crate) cost: fn(&Parameters) -> Cost,
    pub(crate) tolerance: fn(&Parameters) -> ArguedTolerance,
    /// Why parameters that are each in their range make no sense together.
    pub(crate) refuses: fn(&Parameters) -> Option<String>,
    /// Lengths of the inputs.
    pub(crate) inputs: fn(&Parameters) -> Vec<usize>,
    /// Length of the result.
    pub(crate) output: fn(&Parameters) -> usize,
    pub(crate) cpu: CpuForm,
    /// The formula.
    pub(crate) definition: fn(&Parameters) -> Definition,
    pub(crate) launch: fn(&Parameters, &CudaDevice) -> Launch,
}

/// Which kernel is launched, and how.
pub(crate) struct Launch {
    pub(crate) kernel: &'static KernelImage,
    pub(crate) shape: LaunchShape,
    pub(crate) scalars: Vec<Argument<'static>>,
}

impl Workload for &'static Operation {
    fn about(&self) -> About {
        About::new(self.id, self.summary, self.parameters)
    }

    fn sizes(&self) -> Option<Sizes> {
        // Whichever of these an operation has says how much of it there is.
        const SIZES: &[Sizes] = &[
            Sizes {
                parameter: "rows",
                values: &["16", "64", "256", "1K", "4K", "16K"],
            },
            Sizes {
                parameter: "heads",
                values: &["2", "4", "16", "64"],
            },
            Sizes {
                parameter: "signals",
                values: &["2", "4", "8", "16"],
            },
            Sizes {
                parameter: "pictures",
                values: &["2", "4", "8", "16"],
            },
        ];
        SIZES.iter().copied().find(|sizes| {
            let mut specs = self.parameters.iter();
            specs.any(|spec| spec.name == sizes.parameter)
        })
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        (self.cost)(parameters)
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        (self.tolerance)(parameters)
    }

    fn definition(&self, parameters: &Parameters) -> Option<Definition> {
        Some((self.definition)(parameters))
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        if let Some(reason) = (self.refuses)(parameters) {
            return Err(WorkloadError::Unsupported {
                workload: self.id,
                reason,
            });
        }
        let mut random = Random::seeded(seed);
        let inputs: Vec<Vec<f32>> = (self.inputs)(parameters)
            .into_iter()
            .map(|length| normal_numbers(&mut random, length))
            .collect();
        let output = (self.output)(parameters);
        Ok(match device {
            Device::Cpu(cpu) => Box::new(OnCpu {
                operation: self,
                cpu: cpu.clone(),
                parameters: parameters.clone(),
                inputs,
                out: vec![0.0; output],
            }),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(self.id)),
            Device::Cuda(gpu) => {
                let launch = (self.launch)(parameters, gpu);
                let kernel = gpu.kernel(launch.kernel)?;
                if launch.shape.shared_bytes > 48 * 1024 {
                    kernel.allow_shared_bytes(launch.shape.shared_bytes)?;
                }
                Box::new(OnCuda {
                    kernel,
                    launch,
                    inputs: inputs
                        .iter()
                        .map(|input| gpu.upload(input))
                        .collect::<Result<_, _>>()?,
                    out: gpu.alloc(output)?,
                    stream: gpu.stream().clone(),
                })
            }
        })
    }
}

/// Normally distributed numbers: what activations and weights look like.
pub(crate) fn normal_numbers(random: &mut Random, length: usize) -> Vec<f32> {
    (0..length).map(|_| random.normal() as f32).collect()
}

struct OnCpu {
    operation: &'static Operation,
    cpu: CpuDevice,
    parameters: Parameters,
    inputs: Vec<Vec<f32>>,
    out: Vec<f32>,
}

impl Prepared for OnCpu {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (operation, parameters) = (self.operation, &self.parameters);
        let (inputs, out) = (&self.inputs, &mut self.out);
        self.cpu
            .run(|| (operation.cpu)(parameters, inputs, out))
            .map_err(|error| WorkloadError::failed(operation.id, error))
    }

    fn inputs(&self) -> Vec<Output> {
        self.inputs.iter().cloned().map(Output::F32).collect()
    }

    result_in_memory!(out: F32, f32::NAN);
}

struct OnCuda {
    kernel: Arc<Kernel>,
    launch: Launch,
    inputs: Vec<DeviceBuffer<f32>>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl Prepared for OnCuda {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        // Room for every kernel's arguments, so that nothing is allocated here.
        let mut arguments = [Argument::from(0u32); 16];
        let buffers = self.inputs.iter().map(DeviceBuffer::read);
        let scalars = self.launch.scalars.iter().copied();
        let mut count = 0;
        for argument in buffers.chain([self.out.write()]).chain(scalars) {
            arguments[count] = argument;
            count += 1;
        }
        Ok(self
            .stream
            .launch(&self.kernel, self.launch.shape, &arguments[..count])?)
    }

    result_on_stream!(out: F32);
}
