//! `training/attention` over bf16, ready to run. Results are compared as the f32 that they stand for.

use std::sync::Arc;

use rayon::prelude::*;
use warpsmith_device::{Argument, CpuDevice, CudaDevice, DeviceBuffer, Kernel, Stream};
use warpsmith_workload::{Output, Parameters, Prepared, WorkloadError};

use super::cpu::{Attention, attend_bf16};
use super::cuda::launch;
use super::workload::{ID, shape};
use crate::matmul::Bf16;
use crate::operation::Launch;

fn as_f32(numbers: impl IntoIterator<Item = Bf16>) -> Output {
    Output::F32(numbers.into_iter().map(f32::from).collect())
}

pub(super) struct OnCpu {
    cpu: CpuDevice,
    shape: Attention,
    inputs: [Vec<Bf16>; 3],
    out: Vec<Bf16>,
}

impl OnCpu {
    pub(super) fn new(cpu: &CpuDevice, parameters: &Parameters, inputs: [Vec<Bf16>; 3]) -> Self {
        Self {
            cpu: cpu.clone(),
            shape: shape(parameters),
            out: vec![Bf16::default(); inputs[0].len()],
            inputs,
        }
    }
}

impl Prepared for OnCpu {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let one = Attention {
            heads: 1,
            ..self.shape
        };
        let head = one.tokens * one.width;
        let [query, key, value] = self.inputs.each_ref().map(|input| input.par_chunks(head));
        let out = self.out.par_chunks_mut(head);
        self.cpu
            .run(|| {
                out.zip(query)
                    .zip(key.zip(value))
                    .try_for_each(|((out, query), (key, value))| {
                        attend_bf16(one, query, key, value, out)
                    })
            })
            .map_err(|error| WorkloadError::failed(ID, error))
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.out.fill(f32::NAN.into());
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(as_f32(self.out.iter().copied()))
    }

    fn inputs(&self) -> Vec<Output> {
        let inputs = self.inputs.iter();
        inputs.map(|input| as_f32(input.iter().copied())).collect()
    }
}

pub(super) struct OnCuda {
    kernel: Arc<Kernel>,
    launch: Launch,
    inputs: [DeviceBuffer<u16>; 3],
    out: DeviceBuffer<u16>,
    stream: Stream,
}

impl OnCuda {
    pub(super) fn new(
        gpu: &CudaDevice,
        parameters: &Parameters,
        inputs: [Vec<Bf16>; 3],
    ) -> Result<Self, WorkloadError> {
        let launch = launch(parameters, gpu);
        let kernel = gpu.kernel(launch.kernel)?;
        if launch.shape.shared_bytes > 48 * 1024 {
            kernel.allow_shared_bytes(launch.shape.shared_bytes)?;
        }
        let upload = |numbers: &[Bf16]| {
            let bits: Vec<u16> = numbers.iter().map(|number| number.0).collect();
            gpu.upload(&bits)
        };
        let [query, key, value] = &inputs;
        Ok(Self {
            kernel,
            launch,
            out: gpu.alloc(query.len())?,
            inputs: [upload(query)?, upload(key)?, upload(value)?],
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for OnCuda {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let [query, key, value] = &self.inputs;
        let mut arguments = [Argument::from(0u32); 8];
        arguments[..3].copy_from_slice(&[query.read(), key.read(), value.read()]);
        arguments[4..].copy_from_slice(&self.launch.scalars);
        arguments[3] = self.out.write();
        Ok(self
            .stream
            .launch(&self.kernel, self.launch.shape, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        // All bits set is a NaN.
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let bits: Vec<u16> = self.out.download(&self.stream)?;
        Ok(as_f32(bits.into_iter().map(Bf16)))
    }
}
