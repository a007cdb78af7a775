//! Whether a machine was quiet enough to be measured.

use warpsmith_core::Report;
use warpsmith_telemetry::baseline::{BaselineBody, Metric};

use super::trust::MOST_STEAL;
use crate::digits;
use crate::document::Fitness;

/// Other programs may use this share of the CPU before figures suffer.
const MOST_BUSY: f64 = 0.10;

/// Findings of the baseline that make a GPU unfit, with the words for them.
const GPU_FAULTS: &[(&str, &str)] = &[
    ("B002", "another program uses the GPU"),
    ("B005", "the GPU slowed down because of heat"),
    ("B011", "the GPU is near its temperature limit"),
    ("B015", "the hardware slowed the GPU down"),
];

/// Adds what the baseline saw, and concludes.
pub fn judge(mut fitness: Fitness, rest: Option<&Report<BaselineBody>>) -> Fitness {
    if let Some(rest) = rest {
        let busy = rest.body.host.metrics.get("cpu_busy_percent");
        fitness.foreign_busy = busy.map(|metric| metric.summary.mean.value / 100.0);
        if let Some(gpu) = rest.body.gpus.first() {
            let clock = gpu.metrics.get("sm_clock_mhz");
            fitness.gpu_clock_mhz = clock.map(|metric: &Metric| metric.summary.p50.value);
            let counted = gpu.throttle.iter().filter(|share| share.counted);
            fitness.throttled = counted
                .filter(|share| share.share > 0.0)
                .map(|share| share.reason.name().to_owned())
                .collect();
        }
    }
    let mut unfit = Vec::new();
    if let Some(busy) = fitness.foreign_busy.filter(|busy| *busy > MOST_BUSY) {
        unfit.push(format!(
            "other programs keep the CPU {} busy",
            digits::percent(busy)
        ));
    }
    if let Some(steal) = fitness.steal.filter(|steal| *steal > MOST_STEAL) {
        unfit.push(format!(
            "the hypervisor took {} of the time",
            digits::percent(steal)
        ));
    }
    for finding in rest.iter().flat_map(|rest| &rest.findings) {
        let fault = GPU_FAULTS.iter().find(|(code, _)| *code == finding.code);
        if let Some((_, words)) = fault
            && !unfit.iter().any(|known| known == words)
        {
            unfit.push((*words).to_owned());
        }
    }
    fitness.unfit = unfit;
    fitness
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_was_taken_away_is_not_fit() {
        let judged = judge(
            Fitness {
                steal: Some(0.3),
                ..Fitness::default()
            },
            None,
        );
        assert_eq!(judged.unfit, ["the hypervisor took 30 % of the time"]);
        assert!(judge(Fitness::default(), None).unfit.is_empty());
    }
}
