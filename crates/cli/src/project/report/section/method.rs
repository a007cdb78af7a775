//! How the numbers were made, so that a reader can doubt them.

use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use warpsmith_core::Seconds;
use warpsmith_measure::cpu::closure::{ClosurePlan, ClosureSampler};
use warpsmith_measure::statistics::stop_rule::StopPlan;

use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

pub(in crate::project::report) fn section(job: &Job) -> Result<Section> {
    let clock =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .map_or("not told by the system".to_owned(), |text| {
                text.trim().to_owned()
            });
    let sampler = ClosureSampler::calibrate();
    let cost = *sampler.cost();
    let stop = StopPlan {
        timeout: Duration::from_secs(1),
        ..StopPlan::default()
    };
    let plan = ClosurePlan { stop, inner: None };
    let mut state = 1_u64;
    let mut chain = || {
        // A chain of dependent multiplications: nothing to cache, nothing to overlap.
        for _ in 0..2_000 {
            state = black_box(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
    };
    let measurement = sampler.measure("noise", &mut chain, &plan, &mut |_| {});
    let mut rows = vec![
        vec!["clock".to_owned(), clock],
        vec![
            "cost of a time stamp, taken off every sample".to_owned(),
            Seconds(cost.sample).to_string(),
        ],
    ];
    if let Some(figures) = measurement.figures() {
        let summary = &figures.summary;
        let relative = 100.0 * summary.standard_deviation / summary.mean;
        rows.push(vec![
            "a chain of 2,000 multiplications, median".to_owned(),
            Seconds(figures.interval.median).to_string(),
        ]);
        rows.push(vec![
            "its standard deviation: the noise of this machine just now".to_owned(),
            format!("{relative:.2} % over {} samples", summary.count),
        ]);
        rows.push(vec![
            "its samples during which the core was taken away".to_owned(),
            measurement.preempted.len().to_string(),
        ]);
    }
    if let Some(share) = measurement.conditions.steal_share {
        rows.push(vec![
            "time that the hypervisor gave to others".to_owned(),
            format!("{:.2} %", 100.0 * share),
        ]);
    }
    let why = "Work on a CPU is timed by the monotonic clock, on a GPU by device events behind a \
         kernel that holds the stream until everything is queued. Sampling stops when the 95 % \
         interval of the median is narrow enough; looking often is paid for in confidence, and \
         correlated samples count as their effective number. A quantile is printed only where the \
         samples support it, else as a bound. Comparisons take turns between the two sides and \
         call a difference only beyond a margin of 1 %; `cannot tell` is an answer. Each row names \
         where its samples lie in the JSON file, as a JSON pointer.";
    Ok(Section {
        blocks: vec![
            Block::table(&["what", ">seen"], rows),
            Block::Paragraph(why.to_owned()),
        ],
        raw: serde_json::json!({ "stamp_seconds": cost.sample, "noise": measurement,
                                 "quick": job.quick }),
        ..Section::default()
    })
}
