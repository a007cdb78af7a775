//! Frames under a window on a GPU: where they lie, the window, and one over its own correlation
//! (`autocorrelation.cuh`).

use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError};

use super::cpu::Placement;
use crate::batch::Batch;

pub(crate) struct WindowedFrames {
    /// First sample of each frame.
    pub(crate) starts: DeviceBuffer<u64>,
    pub(crate) window: DeviceBuffer<f32>,
    pub(crate) unwindow: DeviceBuffer<f32>,
}

impl WindowedFrames {
    /// The frames of a batch whose files have as many as `placement` says.
    pub(crate) fn upload(
        gpu: &CudaDevice,
        placement: &Placement,
        batch: &Batch,
    ) -> Result<Self, DeviceError> {
        let mut starts = Vec::with_capacity(batch.frames());
        for (first, signal) in batch.file_samples.iter().step_by(2).zip(batch.signals()) {
            let frames = 0..placement.frames(signal.len());
            starts.extend(frames.map(|frame| first + placement.start(frame, signal.len()) as u64));
        }
        let unwindow: Vec<f32> = placement.unwindow().iter().map(|x| *x as f32).collect();
        let window: Vec<f32> = placement.window().iter().map(|w| *w as f32).collect();
        Ok(Self {
            starts: gpu.upload(&starts)?,
            window: gpu.upload(&window)?,
            unwindow: gpu.upload(&unwindow)?,
        })
    }
}
