//! Times of a workload over its size.

use serde::Serialize;
use warpsmith_measure::measurement::{Figures, Measurement};
use warpsmith_measure::scaling::SizePoint;

/// Times of a workload over its size, on the CPU and on the GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// Its id.
    pub workload: String,
    /// What a unit of its size is: `atom`, `cell`.
    pub unit: String,
    /// On all threads of the CPU, warm.
    pub cpu: Vec<SizeTime>,
    /// On the GPU, end to end; empty where there is none.
    pub gpu: Vec<SizeTime>,
}

/// One size.
#[derive(Clone, Debug, Serialize)]
pub struct SizeTime {
    /// The setting, e.g. `n=64`.
    pub setting: String,
    /// Units of work of a run.
    pub units: u64,
    /// Memory that it holds, in bytes.
    pub memory: Option<u64>,
    /// The samples.
    pub measurement: Measurement,
    /// Their figures.
    #[serde(skip)]
    pub figures: Figures,
}

impl SizeTime {
    /// For fitting a law.
    pub fn point(&self) -> SizePoint {
        SizePoint {
            size: self.units as f64,
            seconds: self.figures.interval.median,
        }
    }
}
