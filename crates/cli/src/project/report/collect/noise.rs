//! The noise of this machine: a chain of dependent multiplications, timed.

use std::hint::black_box;

use anyhow::Result;
use warpsmith_measure::cpu::closure::{ClosurePlan, ClosureSampler};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_report::Facts;

use crate::project::report::job::Job;

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    let stop = StopPlan {
        timeout: job.left(),
        maximum_count: 2000,
        ..StopPlan::default()
    };
    let plan = ClosurePlan { stop, inner: None };
    let mut state = 1_u64;
    let mut chain = || {
        // Nothing to cache, nothing to overlap.
        for _ in 0..2_000 {
            state = black_box(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
    };
    let sampler = ClosureSampler::calibrate();
    facts.noise = Some(sampler.measure("noise", &mut chain, &plan, &mut |_| {}));
    Ok(None)
}
