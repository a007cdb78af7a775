//! Timing a prepared workload, one run at a time: wall clock from the call to the end of the work,
//! and device time by events where there is a device.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpsmith_device::{CudaDevice, Event};

use crate::workload::{Prepared, WorkloadError};

/// Raw samples in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTimes {
    /// From the call to the end of the work, wait included.
    pub wall: Vec<f64>,
    /// From the start to the end of the work on the device; empty on the CPU.
    pub device: Vec<f64>,
}

/// Runs `warm_up` times untimed, then `samples` times.
pub fn time_runs(
    prepared: &mut dyn Prepared,
    gpu: Option<&CudaDevice>,
    warm_up: usize,
    samples: usize,
) -> Result<RunTimes, WorkloadError> {
    for _ in 0..warm_up {
        run_and_wait(prepared)?;
    }
    let mut times = RunTimes::default();
    for _ in 0..samples {
        let start = Instant::now();
        run_and_wait(prepared)?;
        times.wall.push(start.elapsed().as_secs_f64());
    }
    if let Some(gpu) = gpu {
        // A separate pass: recording events costs what the wall clock would see.
        let (start, stop) = (Event::new(gpu)?, Event::new(gpu)?);
        for _ in 0..samples {
            let Some(stream) = prepared.stream().cloned() else {
                break;
            };
            stream.record(&start)?;
            prepared.run_once()?;
            stream.record(&stop)?;
            stop.synchronize()?;
            times.device.push(stop.since(&start)?.0);
        }
    }
    Ok(times)
}

fn run_and_wait(prepared: &mut dyn Prepared) -> Result<(), WorkloadError> {
    prepared.run_once()?;
    match prepared.stream() {
        Some(stream) => Ok(stream.synchronize()?),
        None => Ok(()),
    }
}
