//! Comparing baselines: few false alarms on pairs that are the same, few misses on pairs that are
//! not, and a clear word on pairs that cannot be compared.
//!
//! The series are made here rather than sampled: 200 pairs of a minute each, with noise that is
//! autocorrelated like a GPU's (a time constant of two seconds) and a level that moves a little
//! from run to run.

use std::collections::BTreeMap;

use warpsmith_core::{MachineIdentity, Report};
use warpsmith_telemetry::GpuIdentity;
use warpsmith_telemetry::baseline::{
    BaselineBody, ComparisonError, Fitness, GpuBaseline, HostBaseline, Metric, Series, Summary,
    Threshold, Verdict, compare,
};

/// SplitMix64 as uniform numbers in -1 to 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A level with autocorrelated deviations of about `spread` (standard deviation).
    fn series(&mut self, level: f64, spread: f64, step_ms: u32, whole: bool) -> Series {
        let keep = (-f64::from(step_ms) / 2000.0).exp();
        let kick = (1.0 - keep * keep).sqrt() * 3f64.sqrt();
        let mut state = self.next();
        let mut series = Series::default();
        for n in 0..60_000 / step_ms {
            state = keep * state + kick * self.next();
            let value = level + spread * state;
            series.push(n * step_ms, if whole { value.round() } else { value });
        }
        series
    }
}

fn metric(series: Series) -> Metric {
    // Comparing derives its figures from the samples: the summary is not looked at.
    let head = Series {
        at_ms: series.at_ms[..10].to_vec(),
        values: series.values[..10].to_vec(),
    };
    Metric {
        summary: Summary::of(&head).expect("samples"),
        series,
    }
}

fn baseline(seed: u64, busy: f64, watts: f64) -> Report<BaselineBody> {
    let mut noise = Noise(seed);
    // The room's temperature and the driver's mood move the level by some tenths of a percent.
    let drift = 1.0 + 0.002 * noise.next();
    let restless = if busy > 0.0 { 3.0 } else { 0.0 };
    let metrics = [
        ("busy_percent", noise.series(busy, restless, 200, true)),
        (
            "power_w",
            noise.series(watts * drift, watts * 0.008, 20, false),
        ),
        ("temperature_c", noise.series(34.0, 0.5, 100, true)),
        ("sm_clock_mhz", noise.series(345.0, 0.0, 100, true)),
        ("memory_used_mib", noise.series(0.0, 0.0, 100, true)),
    ];
    let metrics: BTreeMap<String, Metric> = metrics
        .into_iter()
        .map(|(name, series)| (name.to_owned(), metric(series)))
        .collect();
    let gpu = GpuBaseline {
        gpu: GpuIdentity {
            uuid: "GPU-1".into(),
            name: "NVIDIA H200".into(),
            ..Default::default()
        },
        fitness: Fitness::Fit,
        metrics,
        energy: None,
        margin_min_c: None,
        thermal: None,
        throttle: Vec::new(),
        clocks_locked_share: None,
        hardware_slowdown_share: None,
        processes: None,
        ghost_memory_bytes: None,
        pcie_generation: None,
        pcie_width: None,
        pcie_bytes_per_second: None,
        pcie_replays: None,
        power_limit_w: None,
        ecc_corrected_during: None,
        ecc_uncorrected: None,
        remap_pending_failed: None,
        mig: Vec::new(),
        worst_presence: Default::default(),
        xids: Default::default(),
        states: 600,
        asleep_share: None,
        hidden_processes: None,
        coverage: 1.0,
        unknown: Vec::new(),
    };
    let body = BaselineBody {
        seconds: 60.0,
        expect_load: busy > 0.0,
        fitness: Fitness::Fit,
        gpus: vec![gpu],
        host: HostBaseline::default(),
    };
    let machine = MachineIdentity {
        gpus: vec!["NVIDIA H200".into()],
        ..Default::default()
    };
    Report::new("baseline", machine, body)
}

fn verdict(first: &Report<BaselineBody>, second: &Report<BaselineBody>) -> Verdict {
    compare(first, second, Threshold::ByQuantity, false)
        .expect("comparable")
        .body
        .verdict
}

#[test]
fn idle_pairs_raise_few_false_alarms() {
    let verdicts: Vec<_> = (0..200)
        .map(|n| verdict(&baseline(2 * n, 0.0, 76.0), &baseline(2 * n + 1, 0.0, 76.0)))
        .collect();
    let count = |wanted| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    };
    assert!(
        count(Verdict::Changed) <= 10,
        "{} of 200 idle pairs changed",
        count(Verdict::Changed)
    );
    assert!(
        count(Verdict::Same) >= 150,
        "only {} of 200 idle pairs are the same",
        count(Verdict::Same)
    );
}

#[test]
fn a_shift_of_3_percent_in_power_is_found() {
    let found = (0..100)
        .filter(|n| {
            let pair = (
                baseline(2 * n, 0.0, 76.0),
                baseline(2 * n + 1, 0.0, 76.0 * 1.03),
            );
            verdict(&pair.0, &pair.1) == Verdict::Changed
        })
        .count();
    assert!(found >= 95, "{found} of 100 found");
}

#[test]
fn a_shift_of_5_points_in_utilisation_is_found() {
    let found = (0..100)
        .filter(|n| {
            let pair = (
                baseline(2 * n, 60.0, 400.0),
                baseline(2 * n + 1, 65.0, 400.0),
            );
            verdict(&pair.0, &pair.1) == Verdict::Changed
        })
        .count();
    assert!(found >= 95, "{found} of 100 found");
}

#[test]
fn a_baseline_is_the_same_as_itself_and_differences_have_a_direction() {
    let (low, high) = (baseline(1, 0.0, 76.0), baseline(2, 0.0, 100.0));
    assert_eq!(verdict(&low, &low), Verdict::Same);
    let report = compare(&low, &high, Threshold::ByQuantity, false).unwrap();
    let power = report.body.gpus[0]
        .1
        .iter()
        .find(|metric| metric.name == "power_w")
        .unwrap();
    assert_eq!(power.verdict, Verdict::Changed);
    assert!(power.p50.difference.low > 20.0 && power.p50.difference.high < 28.0);
    assert!(report.findings.iter().any(|finding| finding.code == "B060"));
}

#[test]
fn the_users_threshold_replaces_the_defaults() {
    let (low, high) = (baseline(1, 0.0, 76.0), baseline(2, 0.0, 79.0));
    let with = |threshold| {
        compare(&low, &high, threshold, false).unwrap().body.gpus[0]
            .1
            .clone()
    };
    let power = |list: Vec<warpsmith_telemetry::baseline::MetricComparison>| {
        list.into_iter()
            .find(|metric| metric.name == "power_w")
            .unwrap()
            .verdict
    };
    assert_eq!(power(with(Threshold::ByQuantity)), Verdict::Changed);
    assert_eq!(power(with(Threshold::Percent(10.0))), Verdict::Same);
}

#[test]
fn other_machines_and_unsound_samples_are_refused_or_named() {
    let mut other = baseline(2, 0.0, 76.0);
    other.machine.gpus = vec!["NVIDIA A100".into()];
    let first = baseline(1, 0.0, 76.0);
    assert!(matches!(
        compare(&first, &other, Threshold::ByQuantity, false),
        Err(ComparisonError::OtherMachine { .. })
    ));
    assert!(compare(&first, &other, Threshold::ByQuantity, true).is_ok());
    let mut twin = baseline(2, 0.0, 76.0);
    twin.body.gpus[0].gpu.uuid = "GPU-2".into();
    let report = compare(&first, &twin, Threshold::ByQuantity, false).unwrap();
    assert!(report.findings.iter().any(|finding| finding.code == "B062"));
    let mut broken = baseline(2, 0.0, 76.0);
    broken.body.gpus[0]
        .metrics
        .get_mut("power_w")
        .unwrap()
        .series
        .values
        .pop();
    assert!(matches!(
        compare(&first, &broken, Threshold::ByQuantity, false),
        Err(ComparisonError::Unsound {
            which: "second",
            ..
        })
    ));
}
