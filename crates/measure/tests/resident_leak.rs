//! A leak of host memory, in a program of its own: what is resident is the process's, and other tests
//! would add to it.

use warpsmith_measure::leak::detector::{LeakPlan, LeakVerdict, judge};
use warpsmith_measure::leak::resident::{page_bytes, resident_bytes};

#[test]
fn a_real_leak_of_host_memory_is_found_with_its_rate() {
    const PER_STEP: usize = 64 * 1024;
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let trace: Vec<f64> = (0..600)
        .map(|step| {
            // Touched, or it would not be resident.
            kept.push(vec![step as u8 | 1; PER_STEP]);
            resident_bytes(None).unwrap() as f64
        })
        .collect();
    let plan = LeakPlan {
        grain: page_bytes() as f64,
        ..LeakPlan::default()
    };
    let report = judge(&trace, &plan);
    assert_eq!(report.verdict, LeakVerdict::Leak, "{report:?}");
    assert!(
        (report.bytes_per_step / PER_STEP as f64 - 1.0).abs() < 0.1,
        "{report:?}"
    );
    assert_eq!(kept.len(), 600);
}
