//! A step of the optimiser on the GPU.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::{AdamW, AdamWState};

// SAFETY: `adamw` in `optimiser.cu` takes these in this order and keeps below the least of the
// four lengths.
static KERNEL: KernelImage = unsafe {
    kernel!("training/optimiser", adamw(
        out f32, in f32, out f32, out f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
    ))
};

const THREADS: u32 = 256;
pub(super) struct CudaAdamW {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    start: (Vec<f32>, AdamWState),
    weights: DeviceBuffer<f32>,
    gradient: DeviceBuffer<f32>,
    first: DeviceBuffer<f32>,
    second: DeviceBuffer<f32>,
    steps: u32,
    stream: Stream,
}

impl CudaAdamW {
    pub(super) fn new(
        gpu: &CudaDevice,
        weights: Vec<f32>,
        gradient: &[f32],
        state: AdamWState,
    ) -> Result<Self, WorkloadError> {
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            shape: LaunchShape::linear(weights.len().div_ceil(4), THREADS),
            weights: gpu.upload(&weights)?,
            gradient: gpu.upload(gradient)?,
            first: gpu.upload(&state.first)?,
            second: gpu.upload(&state.second)?,
            steps: state.steps,
            start: (weights, state),
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaAdamW {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let adamw = AdamW::default();
        self.steps += 1;
        let factors = adamw.factors(self.steps);
        let arguments = [
            self.weights.write(),
            self.gradient.read(),
            self.first.write(),
            self.second.write(),
            factors.rate.into(),
            factors.first.0.into(),
            factors.first.1.into(),
            factors.second.0.into(),
            factors.second.1.into(),
            factors.epsilon.into(),
            factors.decay.into(),
            factors.correct_first.into(),
            factors.correct_second.into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    /// Back to the start: a step moves every weight, so the start is what no step leaves.
    fn poison(&mut self) -> Result<(), WorkloadError> {
        let (weights, state) = &self.start;
        self.weights.upload(&self.stream, weights)?;
        self.first.upload(&self.stream, &state.first)?;
        self.second.upload(&self.stream, &state.second)?;
        self.steps = state.steps;
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut all = self.weights.download(&self.stream)?;
        all.extend(self.first.download(&self.stream)?);
        all.extend(self.second.download(&self.stream)?);
        Ok(Output::F32(all))
    }
}
