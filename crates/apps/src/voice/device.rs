//! Where files are analysed: on the device that was requested, or on the faster one for so much sound.

use std::path::{Path, PathBuf};

use anyhow::Result;
use warpsmith_device::{CudaDevice, Device, DeviceChoice};
use warpsmith_wisdom::Problem;
use warpsmith_workload::WorkloadError;

use super::input::Input;
use super::live::Listening;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;
use warpsmith_console::placement::Placement;

/// Bytes on disk that a GPU is given at a time.
pub(super) const GROUP_BYTES: u64 = 256 << 20;

/// Bytes of a second of 16-bit sound at 16 kHz, on disk.
const BYTES_PER_SECOND: f64 = 32_000.0;

/// The GPU for a workload over these files, or `None` for the CPU. `fits` is whether its kernel can
/// do what is asked; where it cannot, only a user who insists is told so, by the kernel.
pub(super) fn gpu_for(
    global: &Global,
    workload: &str,
    input: &Input,
    fits: bool,
) -> Result<Option<CudaDevice>> {
    let piped = input.files.iter().any(|path| path == Path::new("-"));
    match global.device {
        DeviceChoice::Cpu => return Ok(None),
        DeviceChoice::Auto if piped || !fits => return Ok(None),
        DeviceChoice::Auto | DeviceChoice::Cuda(_) => {}
    }
    // What is on disk says how long the sound is, roughly; decoding first would cost more.
    let seconds = bytes_on_disk(&input.files) / BYTES_PER_SECOND;
    let problem = Problem {
        // Frames, as the workloads count.
        size: (100.0 * seconds).max(1.0),
        passes: 1.0,
        footprint: 96_000.0 * seconds,
        bytes_in: 64_000.0 * seconds,
        bytes_out: 32_000.0 * seconds,
    };
    let placement = Placement::of(workload)?;
    let (device, decision) = placement.decide(global, &problem, false)?;
    if global.verbose {
        note(global, &decision.explain());
    }
    // Decoding is in the time of these runs: there is nothing to learn from them about the kernel.
    placement.measure_what_was_guessed(global, &decision);
    Ok(match device {
        Device::Cuda(gpu) => Some(gpu),
        Device::Cpu(_) => None,
    })
}

/// Writes the sheet of every input: of one after the other on the CPU, where the listener hears long files
/// piece by piece, or of many at a time on the GPU that [`gpu_for`] finds.
pub(super) fn write_sheets(
    global: &Global,
    workload: &str,
    (input, destination): (&Input, &Destination),
    fits: bool,
    listener: Option<Listening<'_>>,
    on_cpu: impl Fn(&[f32], u32) -> Result<Sheet>,
    on_gpu: impl Fn(&CudaDevice, u32, &[&[f32]]) -> Result<Vec<Sheet>, WorkloadError>,
) -> Result<Outcome> {
    match gpu_for(global, workload, input, fits)? {
        None => destination.each_or_in_pieces(global, input, listener, |path| {
            let (signal, rate) = input.signal(path)?;
            on_cpu(&signal, rate)
        })?,
        Some(gpu) => destination.in_groups(global, input, GROUP_BYTES, |paths| {
            let signals: Vec<(Vec<f32>, u32)> = paths
                .iter()
                .map(|path| input.signal(path))
                .collect::<Result<_>>()?;
            by_rate(&signals, |rate, same| {
                unless_unsupported(global, on_gpu(&gpu, rate, same), || {
                    same.iter().map(|signal| on_cpu(signal, rate)).collect()
                })
            })
        })?,
    }
    Ok(Outcome::Fine)
}

/// What the GPU said; or what the CPU says, where the GPU's kernel does not take such signals and the
/// choice of the device was left to us.
pub(super) fn unless_unsupported<T>(
    global: &Global,
    said: Result<Vec<T>, WorkloadError>,
    on_cpu: impl FnOnce() -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    match said {
        Err(WorkloadError::Unsupported { reason, .. }) if global.device == DeviceChoice::Auto => {
            note(
                global,
                &format!("note: using the CPU because the GPU cannot do this: {reason}"),
            );
            on_cpu()
        }
        other => Ok(other?),
    }
}

fn bytes_on_disk(files: &[PathBuf]) -> f64 {
    let bytes = |path: &PathBuf| std::fs::metadata(path).map_or(0, |facts| facts.len());
    files.iter().map(bytes).sum::<u64>() as f64
}

/// Analyses signals of one sample rate after the other, each rate in one pass; results in the files'
/// order.
pub(super) fn by_rate<T>(
    signals: &[(Vec<f32>, u32)],
    mut analyse: impl FnMut(u32, &[&[f32]]) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    let mut rates: Vec<u32> = signals.iter().map(|(_, rate)| *rate).collect();
    rates.sort_unstable();
    rates.dedup();
    let mut results: Vec<(usize, T)> = Vec::with_capacity(signals.len());
    for rate in rates {
        let of_rate: Vec<(usize, &[f32])> = signals
            .iter()
            .enumerate()
            .filter(|(_, (_, other))| *other == rate)
            .map(|(index, (signal, _))| (index, &signal[..]))
            .collect();
        let same: Vec<&[f32]> = of_rate.iter().map(|(_, signal)| *signal).collect();
        let analysed = analyse(rate, &same)?;
        results.extend(of_rate.iter().map(|(index, _)| *index).zip(analysed));
    }
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_several_rates_come_back_in_their_order() {
        let signals: Vec<(Vec<f32>, u32)> = [(3, 16_000), (5, 8_000), (7, 16_000), (9, 44_100)]
            .map(|(length, rate)| (vec![0.0; length], rate))
            .to_vec();
        let mut passes = 0;
        let seen = by_rate(&signals, |rate, same| {
            passes += 1;
            Ok(same.iter().map(|signal| (rate, signal.len())).collect())
        })
        .unwrap();
        assert_eq!(passes, 3);
        assert_eq!(seen, [(16_000, 3), (8_000, 5), (16_000, 7), (44_100, 9)]);
    }
}
