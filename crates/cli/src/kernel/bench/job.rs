//! One thing to measure: a workload with its parameters, or a kernel of a file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use serde::Serialize;
use warpsmith_case::{Scope, TunableValue};
use warpsmith_device::{CpuDevice, Device, DeviceChoice};
use warpsmith_measure::device_state::DeviceReading;
use warpsmith_measure::kernel_file::KernelLaunch;
use warpsmith_measure::measurement::{Figures, Measurement};
use warpsmith_measure::roofline::{Ceilings, Roofline, cache_bytes};
use warpsmith_measure::run_sampler::{RunMode, RunSampler, RunTarget};
use warpsmith_measure::trajectory::MemorySeries;
use warpsmith_measure::{Parity, check_parity};
use warpsmith_telemetry::{GpuConditions, GpuReading};
use warpsmith_workload::{Cost, Parameters, Prepared, Workload};

use super::case_job::{CaseJob, Checked};
use super::launch_conditions::LaunchConditions;
use super::sampled::Sampled;
use warpsmith_console::global::Global;
use warpsmith_console::placement::device_for;

/// Something to measure.
pub(super) struct Job {
    pub(super) name: String,
    pub(super) cost: Cost,
    what: What,
}

enum What {
    Workload(Box<dyn Workload>, Parameters),
    Kernel(KernelLaunch),
    Case(CaseJob),
}

/// A measured job.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) workload: String,
    pub(super) parameters: RowParameters,
    pub(super) device: String,
    /// Bytes that one run must at least move.
    pub(super) bytes: u64,
    /// Floating-point operations of one run.
    pub(super) flops: u64,
    /// Whether the output was compared with the reference: absent where there is none, or where the
    /// reference itself was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parity: Option<Parity>,
    pub(super) measurement: Measurement,
    pub(super) figures: Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) roofline: Option<Roofline>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) memory: Vec<MemorySeries>,
    /// Energy and clocks of a case's kernel that runs back to back; absent where NVML is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) launch: Option<LaunchConditions>,
}

impl Row {
    /// What `verify` calls it.
    pub(super) fn to_verify(&self) -> String {
        match &self.parameters {
            RowParameters::Case { case, .. } => case.display().to_string(),
            // Behind the id stands the device, where there are two.
            _ => self.workload.split(' ').next().unwrap_or("").to_owned(),
        }
    }

    /// Gives every sample on a GPU what was read of that GPU meanwhile.
    pub(super) fn attach(&mut self, meanwhile: &GpuConditions) {
        let Some(readings) = meanwhile.readings_of(&self.device) else {
            return;
        };
        let reading = |reading: &GpuReading| DeviceReading {
            at: reading.at.as_seconds(),
            power_watts: reading.power_watts,
            held_back: reading.held_back.iter().map(|why| why.name()).collect(),
        };
        let readings: Vec<DeviceReading> = readings.iter().map(reading).collect();
        self.measurement.attach_device(&readings);
        self.figures.device = self.measurement.device_state();
    }
}

/// What a job was run with.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum RowParameters {
    Workload(Parameters),
    Kernel {
        arguments: Vec<String>,
    },
    Case {
        case: PathBuf,
        size: Scope,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        choice: BTreeMap<String, TunableValue>,
        /// The file of winners that the choice is from.
        #[serde(skip_serializing_if = "Option::is_none")]
        tuned: Option<PathBuf>,
    },
}

impl std::fmt::Display for RowParameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Workload(parameters) => parameters.fmt(f),
            Self::Kernel { arguments } => f.write_str(&arguments.join(" ")),
            Self::Case {
                case,
                choice,
                tuned,
                ..
            } => {
                write!(f, "{}", case.display())?;
                for (name, value) in choice {
                    write!(f, " {name}={value}")?;
                }
                f.write_str(if tuned.is_some() { " (tuned)" } else { "" })
            }
        }
    }
}

impl Job {
    /// A workload with these settings.
    pub(super) fn workload(
        workload: Box<dyn Workload>,
        settings: &[(String, String)],
    ) -> Result<Self> {
        let parameters = Parameters::resolve(workload.parameters(), settings)?;
        Ok(Self {
            name: workload.id().to_owned(),
            cost: workload.cost(&parameters),
            what: What::Workload(workload, parameters),
        })
    }

    /// The same on another device, which its name tells.
    pub(super) fn beside(mut self, device: DeviceChoice) -> Self {
        self.name = format!("{} on {device}", self.name);
        self
    }

    /// A kernel of a file.
    pub(super) fn kernel(name: String, launch: KernelLaunch, cost: Cost) -> Self {
        Self {
            name,
            cost,
            what: What::Kernel(launch),
        }
    }

    /// A case at one of its sizes.
    pub(super) fn case(job: CaseJob) -> Self {
        Self {
            name: job.name(),
            cost: job.cost(),
            what: What::Case(job),
        }
    }

    /// Where it runs: the faster device for so much work, where the user leaves it to us; a kernel
    /// of a file on `gpu`.
    pub(super) fn place(&self, global: &Global, gpu: &Device) -> Result<Device> {
        match &self.what {
            What::Workload(workload, parameters) => {
                device_for(global, workload.as_ref(), parameters)
            }
            What::Kernel(_) | What::Case(_) => Ok(gpu.clone()),
        }
    }

    fn prepare(&self, device: &Device) -> Result<Box<dyn Prepared>> {
        Ok(match (&self.what, device.cuda()) {
            (What::Workload(workload, parameters), _) => workload.prepare(device, parameters, 1)?,
            (What::Kernel(launch), Some(gpu)) => launch.prepare(gpu, 1)?,
            (What::Kernel(_), None) => bail!("`{}` is a GPU kernel", self.name),
            (What::Case(job), _) => job.prepare(device)?,
        })
    }

    /// Holds the device's output against the CPU's on fresh inputs; `None` on the CPU itself, and
    /// for kernels that have no reference.
    pub(super) fn check(&self, global: &Global, device: &Device) -> Result<Checked> {
        if let What::Case(job) = &self.what {
            return job.check(global, device);
        }
        let What::Workload(workload, parameters) = &self.what else {
            return Ok(Checked::Compared(None));
        };
        if device.is_cpu() {
            return Ok(Checked::Compared(None));
        }
        let reference = Device::Cpu(CpuDevice::open()?);
        let seed = u64::from(std::process::id());
        let parity = check_parity(workload.as_ref(), device, &reference, parameters, &[seed])?;
        Ok(Checked::Compared(Some(parity)))
    }

    /// Whether it is a case's kernel.
    pub(super) fn is_case(&self) -> bool {
        matches!(self.what, What::Case(_))
    }

    /// What is to be sampled, warmed up.
    pub(super) fn sampled(
        &self,
        device: &Device,
        mode: RunMode,
        limit: Duration,
    ) -> Result<Sampled> {
        if let What::Case(job) = &self.what
            && let Some(function) = job.timed_function(device, mode)?
        {
            return Ok(Sampled::Function(function));
        }
        let (sampler, target) = self.begin(device, mode, limit)?;
        Ok(Sampled::Here(sampler, target))
    }

    /// A sampler for this job, and the job warmed up.
    pub(super) fn begin(
        &self,
        device: &Device,
        mode: RunMode,
        limit: Duration,
    ) -> Result<(RunSampler, RunTarget)> {
        let mut sampler = RunSampler::new(device, mode)?;
        sampler.set_limit(limit);
        let target = sampler.target(self.prepare(device)?)?;
        Ok((sampler, target))
    }

    /// The result.
    pub(super) fn row(
        &self,
        device: &Device,
        parity: Option<Parity>,
        measurement: Measurement,
        ceilings: Option<&Ceilings>,
        memory: Vec<MemorySeries>,
    ) -> Result<Row> {
        let Some(figures) = measurement.figures() else {
            bail!("`{}` gave no samples", self.name);
        };
        let seconds = figures.interval.median;
        Ok(Row {
            workload: self.name.clone(),
            parameters: match &self.what {
                What::Workload(_, parameters) => RowParameters::Workload(parameters.clone()),
                What::Kernel(launch) => RowParameters::Kernel {
                    arguments: launch.arguments().iter().map(ToString::to_string).collect(),
                },
                What::Case(job) => RowParameters::Case {
                    case: job.case.file.clone(),
                    size: job.size.clone(),
                    choice: job.choice.iter().cloned().collect(),
                    tuned: job.tuned.clone(),
                },
            },
            device: device.name().to_owned(),
            bytes: self.cost.bytes.0,
            flops: self.cost.flops.0,
            roofline: ceilings.and_then(|ceilings| {
                let ends = (figures.interval.low, figures.interval.high);
                ceilings.judge_within(&self.cost, seconds, ends, cache_bytes(device))
            }),
            parity,
            measurement,
            figures,
            memory,
            launch: None,
        })
    }
}
