//! A result for a whole batch, cut where its signals end.

use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::ragged::Batch;

/// What a kernel makes of signals, each in frames as `count` says of its length, `width` values to a frame;
/// nothing is prepared where no signal has one.
pub(crate) fn each_on_cuda<P: Prepared>(
    signals: &[&[f32]],
    count: impl Fn(usize) -> usize,
    width: usize,
    prepare: impl FnOnce(&Batch) -> Result<P, WorkloadError>,
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let batch = Batch::of(signals, &count);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    cut(&mut prepare(&batch)?, signals, count, width)
}

/// What a batch gives, cut where the signals end: `width` values to a frame.
fn cut(
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
