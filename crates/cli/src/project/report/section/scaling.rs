//! How time grows with size, and from which size on the GPU is worth its launch.

use std::time::Duration;

use anyhow::Result;
use warpsmith_core::{Seconds, Severity};
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::findings;
use warpsmith_measure::report::plot::{self, Curve};
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_measure::scaling::{self, SizePoint};
use warpsmith_measure::size_study::{SizeRow, SizeStudy};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_workload::{BadParameter, Parameters, Sizes, Workload};

use crate::catalogue;
use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

/// A workload, what its size is called, and the sizes that are measured.
type Studied = (Box<dyn Workload>, Sizes, Vec<&'static str>);

/// The sizes at which a run moves and computes at most `most` bytes and operations together: the
/// largest fill a GPU, and a CPU would take minutes for them.
fn affordable(
    workload: &dyn Workload,
    sizes: &Sizes,
    most: f64,
) -> Result<Vec<&'static str>, BadParameter> {
    let mut values = Vec::new();
    for &value in sizes.values {
        let setting = (sizes.parameter.to_owned(), value.to_owned());
        let parameters = Parameters::resolve(workload.parameters(), &[setting])?;
        let cost = workload.cost(&parameters);
        if cost.bytes.0 as f64 + cost.flops.0 as f64 <= most {
            values.push(value);
        }
    }
    Ok(values)
}

pub(in crate::project::report) fn section(job: &Job) -> Result<Section> {
    let cpu = Device::open(DeviceChoice::Cpu)?;
    let most = if job.quick { 2e7 } else { 1e9 };
    let mut studied: Vec<Studied> = Vec::new();
    for workload in catalogue::workloads() {
        if let Some(sizes) = workload.sizes() {
            let values = affordable(workload.as_ref(), &sizes, most)?;
            // Fewer points tell nothing about a law.
            if values.len() >= 4 {
                studied.push((workload, sizes, values));
            }
        }
    }
    let sizes: usize = studied.iter().map(|(_, _, values)| values.len()).sum();
    // The budget is shared by all sizes on all devices, so that more workloads do not take longer.
    let devices = 1 + usize::from(job.device.cuda().is_some());
    let budget = if job.quick { 10.0 } else { 60.0 };
    let plan = StopPlan {
        target: if job.quick { 0.02 } else { 0.005 },
        timeout: Duration::from_secs_f64(budget / (sizes * devices).max(1) as f64),
        ..StopPlan::default()
    };
    let mut section = Section::default();
    let mut rows = Vec::new();
    let mut crossovers = Vec::new();
    let mut plots = Vec::new();
    let mut raw: Vec<serde_json::Value> = Vec::new();
    let mut samples = Vec::new();
    for (workload, sizes, values) in &studied {
        let study = |device: &Device, mode| -> Result<Vec<SizeRow>> {
            let study = SizeStudy {
                workload: workload.as_ref(),
                device,
                mode,
                parameter: sizes.parameter,
                settings: &[],
                plan,
            };
            let measure = |size: &&str| Ok(study.measure(size, &mut |_, _| {})?);
            values.iter().map(measure).collect()
        };
        let on_cpu = study(&cpu, RunMode::Warm)?;
        // What a caller waits for: the launch and the synchronisation count.
        let on_gpu = match job.device.cuda() {
            Some(_) => Some(study(&job.device, RunMode::EndToEnd)?),
            None => None,
        };
        for (device, measured) in [("cpu", Some(&on_cpu)), ("cuda", on_gpu.as_ref())] {
            let Some(measured) = measured else { continue };
            let points: Vec<SizePoint> = measured.iter().map(SizeRow::point).collect();
            if let Some(law) = scaling::fit(&points) {
                let (exponent, low, high) = law.exponent;
                rows.push(vec![
                    workload.id().to_owned(),
                    device.to_owned(),
                    if law.is_certain() {
                        law.chosen.law.name().to_owned()
                    } else {
                        format!("cannot tell ({} fits)", law.chosen.law.name())
                    },
                    format!("{exponent:.2} ({low:.2} to {high:.2})"),
                    Seconds(law.chosen.overhead).to_string(),
                    law.balance_size.map_or("–".into(), |n| format!("{n:.0}")),
                ]);
                samples.push(format!("/{}/{device}", raw.len()));
                if let Some(mut finding) = findings::of_scaling(workload.id(), &law) {
                    // The row says so already; the note adds which laws fit as well.
                    finding.severity = Severity::Info;
                    section.findings.push(finding);
                }
                if on_gpu.is_none() {
                    plots.push(Block::Plot(plot::scaling(workload.id(), &law)));
                }
            }
        }
        if let Some(on_gpu) = &on_gpu {
            crossovers.push(vec![
                workload.id().to_owned(),
                crossover(&on_cpu, on_gpu, sizes.parameter),
                ratio(on_cpu.last(), on_gpu.last()),
            ]);
            let curve = |name, rows: &[SizeRow]| Curve {
                name,
                points: rows
                    .iter()
                    .map(|row| (row.size as f64, row.figures.interval.median * 1e6))
                    .collect(),
            };
            let both = [curve("CPU", &on_cpu), curve("GPU, end to end", on_gpu)];
            plots.push(Block::Plot(plot::curves(
                workload.id(),
                &both,
                true,
                sizes.parameter,
                "µs",
            )));
        }
        raw.push(serde_json::json!({
            "workload": workload.id(), "parameter": sizes.parameter, "cpu": on_cpu, "cuda": on_gpu,
        }));
    }
    let headings = [
        "workload",
        "device",
        "grows as",
        ">exponent, upper half",
        ">overhead",
        ">overhead = work at N",
    ];
    section
        .blocks
        .push(Block::linked_table(&headings, rows, samples));
    if !crossovers.is_empty() {
        let headings = ["workload", "the GPU is faster", ">at the largest size"];
        let places = (0..crossovers.len()).map(|row| format!("/{row}")).collect();
        section
            .blocks
            .push(Block::linked_table(&headings, crossovers, places));
    } else {
        section.blocks.push(Block::Paragraph(
            "The crossover is skipped: there is no GPU to compare with the CPU.".into(),
        ));
    }
    section.blocks.extend(plots);
    section.raw = raw.into();
    Ok(section)
}

/// Between which two sizes the faster device changes.
fn crossover(cpu: &[SizeRow], gpu: &[SizeRow], parameter: &str) -> String {
    let faster = |(cpu, gpu): (&SizeRow, &SizeRow)| {
        gpu.figures.interval.median < cpu.figures.interval.median
    };
    let wins: Vec<bool> = cpu.iter().zip(gpu).map(faster).collect();
    // The last change: noise around equal times must not look like an early crossover.
    match wins.iter().rposition(|wins| !wins) {
        None => "at every size measured".to_owned(),
        Some(last) if last + 1 == wins.len() => "at no size measured".to_owned(),
        Some(last) => format!(
            "from {parameter} between {} and {}",
            cpu[last].size,
            cpu[last + 1].size
        ),
    }
}

fn ratio(cpu: Option<&SizeRow>, gpu: Option<&SizeRow>) -> String {
    cpu.zip(gpu).map_or("–".into(), |(cpu, gpu)| {
        let ratio = cpu.figures.interval.median / gpu.figures.interval.median;
        format!("{ratio:.1}×")
    })
}
