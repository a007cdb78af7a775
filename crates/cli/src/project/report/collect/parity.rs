//! Whether the device computes what the CPU says.

use anyhow::Result;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::check_parity;
use warpsmith_report::Facts;
use warpsmith_report::facts::ParityFacts;
use warpsmith_workload::{Parameters, WorkloadError, affordable_settings};

use crate::project::report::job::Job;
use warpsmith_console::catalogue;

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    if matches!(job.device, Device::Cpu(_)) {
        return Ok(Some("there is no GPU to compare with the CPU".to_owned()));
    }
    let reference = Device::open(DeviceChoice::Cpu)?;
    let workloads = catalogue::workloads();
    let count = workloads.len();
    for (index, workload) in workloads.iter().enumerate() {
        if job.is_over() {
            let left = count - index;
            let why = format!("parity of {left} workloads (`warpsmith verify --all`)");
            facts.left_out.push(why);
            break;
        }
        job.step(format!("{} of {count}: {}", index + 1, workload.id()));
        // The reference has to take its turn on the CPU.
        let budget = job.pick(3e7, 1e8);
        let settings = affordable_settings(workload.as_ref(), &[], budget)?;
        let parameters = Parameters::resolve(workload.parameters(), &settings)?;
        let parity = match check_parity(
            workload.as_ref(),
            &job.device,
            &reference,
            &parameters,
            job.pick(&[1], &[1, 2]),
        ) {
            Err(WorkloadError::Unsupported { .. }) => None,
            other => Some(other?),
        };
        facts.parity.push(ParityFacts {
            workload: workload.id().to_owned(),
            summary: workload.summary().to_owned(),
            because: workload.tolerance(&parameters).because.to_owned(),
            parity,
        });
    }
    Ok(None)
}
