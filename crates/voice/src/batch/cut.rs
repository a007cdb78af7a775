//! A result for a whole batch, cut where its signals end.

use warpsmith_workload::{Output, Prepared, WorkloadError};

/// What a batch gives, cut where the signals end: `width` values to a frame.
pub(crate) fn cut(
    prepared: &mut dyn Prepared,
    signals: &[&[f32]],
    count: impl Fn(usize) -> usize,
    width: usize,
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    prepared.run_once()?;
    let Output::F32(values) = prepared.output()? else {
        return Err(WorkloadError::Failed {
            workload: "voice",
            reason: "the kernel's result is not f32".into(),
        });
    };
    let mut rest = &values[..];
    let mut results = Vec::with_capacity(signals.len());
    for signal in signals {
        let Some((here, after)) = rest.split_at_checked(count(signal.len()) * width) else {
            return Err(WorkloadError::Failed {
                workload: "voice",
                reason: "the kernel's result is too short".into(),
            });
        };
        results.push(here.to_vec());
        rest = after;
    }
    Ok(results)
}
