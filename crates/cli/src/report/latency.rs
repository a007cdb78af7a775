//! How long each workload takes here.

use anyhow::Result;
use warpsmith_core::{BytesPerSecond, Seconds};
use warpsmith_measure::{Parameters, time_runs};

use super::{Block, Job, Section};
use crate::catalogue;
use crate::commands::bench::{quantile, sorted};

pub(super) fn section(job: &Job) -> Result<Section> {
    let (warm_up, samples) = if job.quick { (3, 30) } else { (20, 400) };
    job.device.warm_up()?;
    let mut rows = Vec::new();
    let mut raw = Vec::new();
    for workload in catalogue::workloads() {
        let parameters = Parameters::resolve(workload.parameters(), &[])?;
        let mut prepared = workload.prepare(&job.device, &parameters, 1)?;
        let times = time_runs(prepared.as_mut(), job.device.cuda(), warm_up, samples)?;
        let wall = sorted(&times.wall);
        let device = sorted(&times.device);
        let best = if device.is_empty() { &wall } else { &device };
        let cost = workload.cost(&parameters);
        let mean = wall.iter().sum::<f64>() / wall.len() as f64;
        let time = |seconds: f64| Seconds(seconds).to_string();
        rows.push(vec![
            workload.id().to_owned(),
            parameters.to_string(),
            time(quantile(&wall, 0.5)),
            time(mean),
            time(quantile(&wall, 0.05)),
            time(quantile(&wall, 0.95)),
            if device.is_empty() {
                "–".into()
            } else {
                time(quantile(&device, 0.5))
            },
            if cost.bytes.0 == 0 {
                "–".into()
            } else {
                BytesPerSecond(cost.bytes.0 as f64 / quantile(best, 0.5)).to_string()
            },
        ]);
        raw.push(serde_json::json!({
            "workload": workload.id(), "parameters": parameters, "seconds": times,
        }));
    }
    let headings = [
        "workload",
        "parameters",
        ">median",
        ">mean",
        ">p5",
        ">p95",
        ">on the device",
        ">rate",
    ];
    let how = format!(
        "Single runs on {}, {samples} after {warm_up} to warm up, by the monotonic clock from the \
         call to the end of the work; the device column by GPU events.",
        job.device.name()
    );
    Ok(Section {
        blocks: vec![Block::table(&headings, rows), Block::Paragraph(how)],
        raw: raw.into(),
        ..Section::default()
    })
}
