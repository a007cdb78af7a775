//! The CPU's side of a workload over a batch: files side by side, one plan to a file.

use rayon::prelude::*;
use warpsmith_device::CpuDevice;
use warpsmith_signal::{Result as VoiceResult, SignalError};
use warpsmith_workload::{Prepared, WorkloadError, result_in_memory};

use super::ragged::Batch;

/// Analyses a signal with its plan, into exactly the room it requested.
pub(super) type Analyse<Plan> = fn(&mut Plan, &[f32], &mut [f32]) -> Result<(), SignalError>;

pub(crate) struct CpuFiles<Plan> {
    workload: &'static str,
    cpu: CpuDevice,
    batch: Batch,
    plans: Vec<Plan>,
    /// Values of each file.
    sizes: Vec<usize>,
    analyse: Analyse<Plan>,
    out: Vec<f32>,
}

impl<Plan: Send> CpuFiles<Plan> {
    pub(crate) fn new(
        workload: &'static str,
        cpu: &CpuDevice,
        batch: Batch,
        plan: impl Fn() -> Result<Plan, SignalError>,
        size: impl Fn(&Plan, usize) -> usize,
        analyse: Analyse<Plan>,
    ) -> Result<Self, WorkloadError> {
        let mut plans = Vec::new();
        let mut sizes = Vec::new();
        for signal in batch.signals() {
            let plan = plan().map_err(|error| failed(workload, &error))?;
            sizes.push(size(&plan, signal.len()));
            plans.push(plan);
        }
        Ok(Self {
            workload,
            cpu: cpu.clone(),
            plans,
            analyse,
            out: vec![0.0; sizes.iter().sum()],
            sizes,
            batch,
        })
    }
}

/// The error of a plan or an analysis as that of its workload.
pub(crate) fn failed(workload: &'static str, error: &SignalError) -> WorkloadError {
    WorkloadError::Failed {
        workload,
        reason: error.to_string(),
    }
}

impl<Plan: Send> Prepared for CpuFiles<Plan> {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let analyse = self.analyse;
        let mut rest = &mut self.out[..];
        let mut tasks = Vec::with_capacity(self.plans.len());
        let plans = self.plans.iter_mut().zip(&self.sizes);
        for (signal, (plan, size)) in self.batch.signals().zip(plans) {
            let (out, after) = rest.split_at_mut(*size);
            tasks.push((signal, plan, out));
            rest = after;
        }
        self.cpu
            .run(|| {
                tasks
                    .into_par_iter()
                    .try_for_each(|(signal, plan, out)| analyse(plan, signal, out))
            })
            .map_err(|error| failed(self.workload, &error))
    }

    result_in_memory!(out: F32, f32::NAN);
}

/// Settings that a workload can use.
pub(crate) fn checked<T>(
    workload: &'static str,
    settings: VoiceResult<T>,
) -> Result<T, WorkloadError> {
    settings.map_err(|error| failed(workload, &error))
}
