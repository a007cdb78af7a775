//! What measurements lead to conclude: the `M…` findings and their stories.

use warpsmith_core::{Family, Finding, Severity};

use crate::comparison::evaluation::{Evaluation, Verdict};
use crate::leak::detector::{LeakReport, LeakVerdict};
use crate::measurement::{Basis, Figures, Measurement};
use crate::parity::Parity;
use crate::scaling::Scaling;
use crate::statistics::stop_rule::StopReason;

/// What each code about a measurement means.
pub static FAMILY: Family = Family::new(include_str!("stories/M.md"));

/// What a measurement's conditions and figures lead to conclude.
pub fn of_measurement(measurement: &Measurement, figures: &Figures) -> Vec<Finding> {
    let mut findings = Vec::new();
    let summary = &figures.summary;
    let name = &measurement.name;
    if matches!(figures.basis, Basis::CpuTime | Basis::Disturbed) {
        let instead = match figures.basis {
            Basis::CpuTime => "the figures are CPU time",
            _ => "the figures contain them",
        };
        let seen = format!(
            "{} of {} samples",
            measurement.disturbed().len(),
            measurement.seconds.len()
        );
        findings.push(
            Finding::new(
                "M001",
                Severity::Warning,
                format!("`{name}`: most samples were disturbed, {instead}"),
            )
            .because("involuntary context switches", seen)
            .hint("stop other work on the machine, or trust comparisons only"),
        );
    }
    if measurement.conditions.stop == StopReason::TimedOut {
        let half = 50.0 * (figures.interval.high - figures.interval.low) / figures.interval.median;
        let reached = match half.is_finite() {
            true => format!("at ±{half:.2} %"),
            false => "before there were enough samples for an interval".to_owned(),
        };
        findings.push(
            Finding::new(
                "M002",
                Severity::Info,
                format!("`{name}`: time ran out {reached}"),
            )
            .because("samples", summary.count.to_string())
            .hint("raise `--budget`, or accept the interval"),
        );
    }
    if let Some(drift) = summary.drift
        && drift.p_value < 1e-3
        && drift.relative_change.abs() > 0.01
    {
        findings.push(
            Finding::new(
                "M003",
                Severity::Warning,
                format!(
                    "`{name}`: times drifted by {:+.1} % over the run",
                    100.0 * drift.relative_change
                ),
            )
            .because("Mann–Kendall", format!("p = {:.1e}", drift.p_value)),
        );
    }
    if summary.modes.len() > 1 {
        let shares: Vec<String> = summary
            .modes
            .iter()
            .map(|mode| {
                format!(
                    "{:.0} % at {}",
                    100.0 * mode.share,
                    warpsmith_core::Seconds(mode.at)
                )
            })
            .collect();
        findings.push(
            Finding::new(
                "M004",
                Severity::Info,
                format!("`{name}`: {} modes", summary.modes.len()),
            )
            .because("distribution", shares.join(", ")),
        );
    }
    if let Some(share) = measurement.conditions.steal_share
        && share > 0.02
    {
        findings.push(
            Finding::new(
                "M005",
                Severity::Warning,
                format!("`{name}`: the hypervisor took the cores away"),
            )
            .because(
                "steal in /proc/stat",
                format!("{:.1} % of the time", 100.0 * share),
            ),
        );
    }
    if let Some(clock) = &figures.clock {
        let seen = format!(
            "median {:.0} MHz, {:.0} to {:.0}",
            clock.median_mhz, clock.min_mhz, clock.max_mhz
        );
        if clock.slowed > 0 {
            let count = measurement.seconds.len();
            findings.push(
                Finding::new(
                    "M008",
                    Severity::Info,
                    format!(
                        "`{name}`: {} of {count} samples ran at a lower clock and are left out",
                        clock.slowed
                    ),
                )
                .because("SM clock", seen.clone()),
            );
        }
        if clock.explains_the_times() {
            findings.push(
                Finding::new(
                    "M009",
                    Severity::Warning,
                    format!("`{name}`: the times follow the clock"),
                )
                .because("SM clock", seen)
                .because(
                    "spread",
                    format!(
                        "{:.2} % in seconds, {:.2} % in cycles ({:.0} cycles)",
                        100.0 * clock.time_spread,
                        100.0 * clock.cycles_spread,
                        clock.cycles_median
                    ),
                )
                .hint("compare cycles; `warpsmith baseline` says what limits the clock"),
            );
        }
    }
    if summary.correlation_time > 10.0 {
        findings.push(
            Finding::new(
                "M006",
                Severity::Info,
                format!("`{name}`: neighbouring samples repeat each other"),
            )
            .because(
                "autocorrelation time",
                format!(
                    "{:.0} samples, {:.0} effective",
                    summary.correlation_time, summary.effective_count
                ),
            ),
        );
    }
    findings
}

/// What a parity check of the measured workload leads to conclude; `verify` takes `what`.
pub fn of_parity(name: &str, what: &str, parity: &Parity) -> Option<Finding> {
    let (seen, evidence) = match parity {
        Parity::Agrees { .. } => return None,
        Parity::Disagrees { agreement, seed } => (
            format!("{agreement}"),
            format!("outputs poisoned, inputs of seed {seed}"),
        ),
        Parity::Incomparable { reason } => (reason.clone(), "no comparison".to_owned()),
    };
    Some(
        Finding::new(
            "M050",
            Severity::Error,
            format!("`{name}`: the result disagrees with the reference, so the time says nothing"),
        )
        .because("CPU against this device", seen)
        .because("how", evidence)
        .hint(format!("run `warpsmith verify {what}`")),
    )
}

/// Work that was given up after `seconds`.
pub fn of_given_up(name: &str, seconds: f64) -> Finding {
    Finding::new(
        "M051",
        Severity::Error,
        format!("`{name}` never ended; it has no time"),
    )
    .because("waited", format!("{seconds} s, then gave its context up"))
    .hint("look for a loop without an end; `--limit` gives it more time")
}

/// What a comparison leads to conclude.
pub fn of_evaluation(name: &str, evaluation: &Evaluation) -> Option<Finding> {
    let (rounds, margin) = (evaluation.rounds, 100.0 * evaluation.margin);
    let seen = match evaluation.high.is_finite() {
        true => format!(
            "{:.4} ({:.4} to {:.4}), margin {margin:.1} %, {rounds} rounds",
            evaluation.ratio, evaluation.low, evaluation.high,
        ),
        false => format!("none yet: {rounds} rounds are too few"),
    };
    match evaluation.verdict {
        Verdict::Slower => Some(
            Finding::new(
                "M010",
                Severity::Error,
                format!(
                    "`{name}` is slower by {:.1} %",
                    100.0 * (evaluation.ratio - 1.0)
                ),
            )
            .because("ratio", seen),
        ),
        Verdict::Undecided => Some(
            Finding::new(
                "M011",
                Severity::Warning,
                format!("`{name}`: not enough data to decide"),
            )
            .because("ratio", seen)
            .hint(match evaluation.resolution >= evaluation.margin {
                true => {
                    "a run is as short as the timer's steps: time many in one, with `--mode batch`"
                }
                false => "give it more rounds, or a quieter machine",
            }),
        ),
        Verdict::Faster | Verdict::Same => None,
    }
}

/// What a memory trace leads to conclude.
pub fn of_leak(kind: &str, report: &LeakReport) -> Option<Finding> {
    let steps = report.steps;
    let seen = match report.low.is_finite() && report.high.is_finite() {
        true => format!(
            "{:.0} bytes per step ({:.0} to {:.0}), p = {:.1e}, {steps} steps",
            report.bytes_per_step, report.low, report.high, report.p_value
        ),
        false => format!("no interval from {steps} steps"),
    };
    match report.verdict {
        LeakVerdict::Leak => {
            let finding = Finding::new(
                "M020",
                Severity::Error,
                format!(
                    "{kind} memory leaks {:.0} bytes per step",
                    report.bytes_per_step
                ),
            )
            .because("low-water marks", seen);
            Some(match report.memory_ends_at {
                Some(step) => finding.because("free memory ends", format!("about step {step}")),
                None => finding,
            })
        }
        LeakVerdict::Inconclusive => {
            let needed = report.steps_needed.unwrap_or(0);
            Some(
                Finding::new(
                    "M021",
                    Severity::Warning,
                    format!("{kind} memory: too few steps to say"),
                )
                .because("low-water marks", seen)
                .hint(format!("run about {needed} steps")),
            )
        }
        LeakVerdict::Ok => None,
    }
}

/// What a scaling study leads to conclude.
pub fn of_scaling(name: &str, scaling: &Scaling) -> Option<Finding> {
    if scaling.is_certain() {
        return None;
    }
    let rivals: Vec<&str> = scaling.rivals.iter().map(|law| law.name()).collect();
    let finding = Finding::new(
        "M030",
        Severity::Warning,
        format!("`{name}`: cannot tell the law"),
    )
    .because("sizes", scaling.points.len().to_string())
    .hint(match scaling.too_narrow {
        true => "use at least 8 sizes that span a factor of 100",
        false => "use larger sizes, or more time for each (`--budget`)",
    });
    Some(match rivals.is_empty() {
        true => finding,
        false => finding.because("fit as well", rivals.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_measurement_has_nothing_to_report() {
        let mut random = warpsmith_workload::random::Random::seeded(1);
        let samples = (0..500)
            .map(|_| 1e-3 * (1.0 + 0.01 * random.normal()))
            .collect();
        let measurement = Measurement::imported("quiet", samples);
        let figures = measurement.figures().unwrap();
        assert_eq!(of_measurement(&measurement, &figures), []);
    }

    #[test]
    fn too_few_samples_are_told_without_infinities() {
        let mut measurement = Measurement::imported("few", vec![1.0, 2.0]);
        measurement.conditions.stop = StopReason::TimedOut;
        let found = of_measurement(&measurement, &measurement.figures().unwrap());
        assert!(!format!("{found:?}").contains("inf"), "{found:?}");
        let evaluation = crate::comparison::evaluation::evaluate(&[0.1, 0.2], 0.01, 0.05);
        let told = of_evaluation("few", &evaluation).unwrap();
        assert!(!format!("{told}").contains("NaN"), "{told}");
        let plan = crate::leak::detector::LeakPlan::default();
        let leak = crate::leak::detector::judge(&[1e6; 12], &plan);
        let told = format!("{:?}", of_leak("host", &leak).unwrap());
        assert!(told.contains("no interval from 12 steps"), "{told}");
    }

    #[test]
    fn two_modes_and_drift_are_found() {
        let samples = (0..2000)
            .map(|i| {
                if i % 20 == 0 {
                    3e-3
                } else {
                    1e-3 + 1e-7 * f64::from(i % 7)
                }
            })
            .collect();
        let measurement = Measurement::imported("steps", samples);
        let codes: Vec<String> = of_measurement(&measurement, &measurement.figures().unwrap())
            .into_iter()
            .map(|finding| finding.code)
            .collect();
        assert!(codes.contains(&"M004".to_owned()), "{codes:?}");
    }
}
