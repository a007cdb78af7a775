//! The operations as workloads: measured, and held against each other on CPU and GPU.

mod batch;
mod mel;
mod mel512;
mod mel_cuda;
mod mel_segments;
mod signals;
mod training;
mod yin;

pub use signals::{mel_on_cuda, yin_on_cuda};
use warpsmith_measure::Workload;

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    let mut all: Vec<Box<dyn Workload>> = vec![Box::new(mel::Mel), Box::new(yin::YinPitch)];
    all.extend(training::workloads());
    all
}
