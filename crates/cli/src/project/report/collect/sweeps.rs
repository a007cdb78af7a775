//! Times over sizes, on the CPU and on the GPU.

use anyhow::Result;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_report::Facts;
use warpsmith_report::facts::{SizeTime, Sweep};
use warpsmith_workload::{ParameterKind, ParameterValue, Parameters, Workload};

use super::sample::{How, sample};
use crate::project::report::job::Job;
use warpsmith_console::catalogue;

/// What a quick report sweeps with a GPU; without one, there is only a law to fit.
const TELLING: [&str; 4] = ["md/lj", "machine/saxpy", "lattice/bfs", "lattice/rd"];

/// A law needs this many sizes.
const SIZES: usize = 8;

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    let cpu = Device::open(DeviceChoice::Cpu)?;
    let on_gpu = facts.machine.is_gpu();
    let quick = if on_gpu { &TELLING[..] } else { &TELLING[..1] };
    let mut workloads: Vec<Box<dyn Workload>> = catalogue::workloads()
        .into_iter()
        .filter(|workload| workload.sizes().is_some())
        .filter(|workload| !job.is_quick() || quick.contains(&workload.id()))
        .collect();
    workloads.sort_by_key(|workload| {
        let telling = TELLING.iter().position(|id| *id == workload.id());
        telling.unwrap_or(TELLING.len())
    });
    let devices = 1 + usize::from(on_gpu);
    let count = workloads.len();
    for (index, workload) in workloads.iter().enumerate() {
        if job.is_over() {
            let left: Vec<&str> = workloads[index..].iter().map(|left| left.id()).collect();
            let names = left.join(", ");
            facts
                .left_out
                .push(format!("sizes of {names} (the time was up)"));
            break;
        }
        let sizes = sizes(workload.as_ref())?;
        let pieces = (count - index) * devices;
        let mut sweep = Sweep {
            workload: workload.id().to_owned(),
            unit: String::new(),
            cpu: Vec::new(),
            gpu: Vec::new(),
        };
        let name = format!("{} of {count}: {}", index + 1, workload.id());
        job.step(&name);
        let span = job.left().as_secs_f64() / pieces as f64;
        // What a caller waits for: the launch and the synchronisation count.
        if on_gpu {
            let times = study(
                job,
                workload.as_ref(),
                &job.device,
                RunMode::EndToEnd,
                &sizes,
                span,
            )?;
            (sweep.unit, sweep.gpu) = times;
        }
        let times = study(job, workload.as_ref(), &cpu, RunMode::Warm, &sizes, span)?;
        (sweep.unit, sweep.cpu) = times;
        facts.sweeps.push(sweep);
    }
    Ok(None)
}

/// The sizes of a workload, with more between them where they are too few for a law.
fn sizes(workload: &dyn Workload) -> Result<Vec<(String, u64)>> {
    let Some(sizes) = workload.sizes() else {
        return Ok(Vec::new());
    };
    let value = |text: &str| -> Result<u64> {
        let setting = (sizes.parameter.to_owned(), text.to_owned());
        let parameters = Parameters::resolve(workload.parameters(), &[setting])?;
        Ok(parameters.integer(sizes.parameter))
    };
    let mut values = sizes
        .values
        .iter()
        .map(|text| value(text))
        .collect::<Result<Vec<u64>>>()?;
    values.sort_unstable();
    let integer = workload.parameters().iter().any(|spec| {
        spec.name == sizes.parameter && matches!(spec.kind, ParameterKind::Integer { .. })
    });
    while integer && values.len() < SIZES {
        // The widest gap first; a multiple of eight where both ends are.
        let gap = |index: &usize| values[index + 1] as f64 / values[*index] as f64;
        let Some(widest) =
            (0..values.len().saturating_sub(1)).max_by(|a, b| gap(a).total_cmp(&gap(b)))
        else {
            break;
        };
        let (low, high) = (values[widest], values[widest + 1]);
        let middle = (low as f64 * high as f64).sqrt().round() as u64;
        let middle = match low % 8 == 0 && high % 8 == 0 && low >= 16 {
            true => middle.div_ceil(8) * 8,
            false => middle,
        };
        if middle <= low || middle >= high {
            break;
        }
        values.insert(widest + 1, middle);
    }
    Ok(values
        .into_iter()
        .map(|value| (sizes.parameter.to_owned(), value))
        .collect())
}

/// Measures the sizes in rising order, as far as `span` seconds reach; the unit, and the times.
fn study(
    job: &Job,
    workload: &dyn Workload,
    device: &Device,
    mode: RunMode,
    sizes: &[(String, u64)],
    span: f64,
) -> Result<(String, Vec<SizeTime>)> {
    let mut unit = String::new();
    let mut times: Vec<SizeTime> = Vec::new();
    let each = span / sizes.len().max(1) as f64;
    for (parameter, value) in sizes {
        // The next size takes some four times as long; one run must fit.
        let last = times
            .last()
            .map_or(0.0, |time| time.figures.interval.median);
        if job.is_over() || 8.0 * last > 2.0 * each.max(0.1) {
            break;
        }
        let setting = (
            parameter.clone(),
            ParameterValue::Integer(*value).to_string(),
        );
        let how = How {
            mode,
            plan: StopPlan {
                target: job.pick(0.02, 0.005),
                minimum_count: 16,
                minimum_time: std::time::Duration::from_millis(20),
                timeout: std::time::Duration::from_secs_f64(each.clamp(0.05, 2.0)),
                maximum_count: 500,
                ..StopPlan::default()
            },
            settle: job.settle().mul_f64(0.3),
        };
        let sampled = match sample(workload, device, std::slice::from_ref(&setting), how) {
            Ok(Some(sampled)) => sampled,
            Ok(None) => break,
            // A size between the workload's own may be one that it does not take.
            Err(warpsmith_workload::WorkloadError::Parameter(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        sampled.cost.unit.clone_into(&mut unit);
        let known = times.last().map(|time| time.units);
        if known == Some(sampled.cost.units) {
            continue;
        }
        times.push(SizeTime {
            setting: format!("{}={}", setting.0, setting.1),
            units: sampled.cost.units,
            memory: sampled.memory,
            measurement: sampled.measurement,
            figures: sampled.figures,
        });
    }
    Ok((unit, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_size_has_enough_values_for_a_law() {
        for workload in catalogue::workloads() {
            let Some(declared) = workload.sizes() else {
                continue;
            };
            let sizes = sizes(workload.as_ref()).unwrap();
            assert!(sizes.len() >= declared.values.len(), "{}", workload.id());
            assert!(
                sizes.is_sorted_by_key(|(_, value)| *value),
                "{}",
                workload.id()
            );
            let spread = sizes.last().unwrap().1 as f64 / sizes[0].1 as f64;
            if spread > 8.0 {
                assert!(sizes.len() >= SIZES, "{}: {sizes:?}", workload.id());
            }
        }
    }
}
