//! Measuring: each operation at a few sizes on each backend, until two runs agree or the time is up.

use std::time::{Duration, Instant};

use warpsmith_device::{CudaDevice, Device, DeviceError, PinnedBuffer};
use warpsmith_measure::{BadParameter, Parameters, Prepared, Workload, WorkloadError};

use super::error::ChooserError;
use super::observe::Correction;
use super::profile::Bus;
use super::wisdom::{OperationWisdom, Point};

/// How an operation is calibrated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The parameter that sets the size.
    pub size_parameter: &'static str,
    /// Its values, rising, as they would be typed.
    pub sizes: Vec<String>,
    /// The parameter that sets the number of passes, where there is one.
    pub passes_parameter: Option<&'static str>,
    /// Parameters that are the same throughout.
    pub settings: Vec<(String, String)>,
}

impl Plan {
    /// At the workload's own sizes; `None` where it names none.
    pub fn of(workload: &dyn Workload) -> Option<Self> {
        let sizes = workload.sizes()?;
        Some(Self {
            size_parameter: sizes.parameter,
            sizes: sizes.values.iter().map(|&size| size.to_owned()).collect(),
            passes_parameter: workload.passes(),
            settings: Vec::new(),
        })
    }

    /// The workload's parameters at a size.
    fn parameters(
        &self,
        workload: &dyn Workload,
        size: &str,
        passes: u64,
    ) -> Result<Parameters, BadParameter> {
        let mut settings = self.settings.clone();
        settings.push((self.size_parameter.to_owned(), size.to_owned()));
        if let Some(parameter) = self.passes_parameter {
            settings.push((parameter.to_owned(), passes.to_string()));
        }
        Parameters::resolve(workload.parameters(), &settings)
    }
}

/// How long a calibration may take.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    /// For one operation on one backend.
    pub budget: Duration,
    /// Two runs that are this close agree.
    pub agreement: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            budget: Duration::from_millis(400),
            agreement: 0.03,
        }
    }
}

/// Passes of a run while calibrating: one, and enough to tell a pass from the fixed part.
const FEW: u64 = 1;
const MANY: u64 = 9;

/// Measures `workload` on `device` under the name `backend`. Sizes that do not fit are left out.
pub fn calibrate(
    workload: &dyn Workload,
    device: &Device,
    backend: &str,
    plan: &Plan,
    calibration: &Calibration,
    unix: u64,
) -> Result<OperationWisdom, ChooserError> {
    let begun = Instant::now();
    let share = calibration.budget / u32::try_from(plan.sizes.len().max(1)).unwrap_or(1);
    let mut points: Vec<Point> = Vec::new();
    for (index, size) in plan.sizes.iter().enumerate() {
        let until = begun + share * (index as u32 + 1);
        let run = |passes: u64| -> Result<f64, WorkloadError> {
            let parameters = plan.parameters(workload, size, passes)?;
            let mut prepared = workload.prepare(device, &parameters, 1)?;
            least_time(prepared.as_mut(), until, calibration.agreement)
        };
        let measured = match plan.passes_parameter {
            None => run(FEW).map(|seconds| (seconds, 0.0)),
            Some(_) => run(FEW).and_then(|few| {
                let many = run(MANY)?;
                // Noise can make nine passes look shorter than one.
                let pass = ((many - few) / (MANY - FEW) as f64).max(many / MANY as f64 * 0.2);
                Ok((pass, (few - pass).max(0.0)))
            }),
        };
        let (pass, rest) = match measured {
            Ok(measured) => measured,
            // What does not fit is not measured; the choice will not offer it either.
            Err(WorkloadError::Device(
                DeviceError::OutOfMemory { .. } | DeviceError::OutOfHostMemory { .. },
            )) if !points.is_empty() => break,
            Err(error) => return Err(error.into()),
        };
        let one_pass = plan.parameters(workload, size, FEW);
        let units = workload.cost(&one_pass.map_err(WorkloadError::from)?).units;
        points.push(Point {
            size: units as f64,
            // A start below the clock's resolution is one nobody notices.
            start: rest.max(1e-9),
            pass: pass.max(1e-9),
        });
        // Large sizes are worth one look each; beyond four times the budget they are left out.
        if begun.elapsed() > 4 * calibration.budget {
            break;
        }
    }
    Ok(OperationWisdom {
        operation: workload.id().to_owned(),
        backend: backend.to_owned(),
        unix,
        points,
        correction: Correction::default(),
    })
}

/// The least time from the call to the end of the wait, once the two least agree or time is up.
fn least_time(
    prepared: &mut dyn Prepared,
    until: Instant,
    agreement: f64,
) -> Result<f64, WorkloadError> {
    let mut once = || -> Result<f64, WorkloadError> {
        let begun = Instant::now();
        prepared.run_once()?;
        if let Some(stream) = prepared.stream() {
            stream.synchronize()?;
        }
        Ok(begun.elapsed().as_secs_f64())
    };
    let first = once()?;
    if Instant::now() > until {
        return Ok(first);
    }
    // The first run warmed things up.
    let mut least = [once()?, f64::INFINITY];
    while least[1] > (1.0 + agreement) * least[0] && Instant::now() < until {
        let seconds = once()?;
        if seconds < least[0] {
            least = [seconds, least[0]];
        } else if seconds < least[1] {
            least[1] = seconds;
        }
    }
    Ok(least[0])
}

impl Bus {
    /// Measures copies of pinned memory to a GPU and back, at a small and at a large size.
    pub fn measure(gpu: &CudaDevice) -> Result<[Self; 2], DeviceError> {
        const SMALL: usize = 1 << 16;
        const LARGE: usize = 1 << 25;
        let stream = gpu.stream();
        let timed = |bytes: usize, to_device: bool| -> Result<f64, DeviceError> {
            let mut host = PinnedBuffer::<u8>::new(gpu, bytes)?;
            let mut device = gpu.alloc::<u8>(bytes)?;
            let mut least = f64::INFINITY;
            for _ in 0..8 {
                let begun = Instant::now();
                if to_device {
                    stream.copy_to_device(&host, &mut device)?;
                } else {
                    stream.copy_to_host(&device, &mut host)?;
                }
                stream.synchronize()?;
                least = least.min(begun.elapsed().as_secs_f64());
            }
            Ok(least)
        };
        let bus = |to_device: bool| -> Result<Self, DeviceError> {
            let (small, large) = (timed(SMALL, to_device)?, timed(LARGE, to_device)?);
            let rate = (LARGE - SMALL) as f64 / (large - small).max(1e-9);
            Ok(Self {
                latency: (small - SMALL as f64 / rate).max(0.0),
                rate,
            })
        };
        Ok([bus(true)?, bus(false)?])
    }
}
