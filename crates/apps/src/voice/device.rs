//! Where files are analysed: on the device that was requested, or on the faster one for so much sound.

use std::path::Path;

use anyhow::{Context, Result};
use warpsmith_device::{CudaDevice, Device, DeviceChoice, DeviceError};
use warpsmith_voice::check_room;
use warpsmith_wisdom::Problem;
use warpsmith_workload::WorkloadError;

use super::input::Input;
use super::live::{Listening, Resampled, resampler, say_resampled};
use super::sheet::{Destination, Sheet};
use super::sources::SoundFile;
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
    match global.device {
        DeviceChoice::Cpu => return Ok(None),
        DeviceChoice::Auto if input.is_piped() || !fits => return Ok(None),
        DeviceChoice::Auto | DeviceChoice::Cuda(_) | DeviceChoice::Vulkan(_) => {}
    }
    // What is on disk says how long the sound is, roughly; decoding first would cost more.
    let seconds = bytes_on_disk(input) / BYTES_PER_SECOND;
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
        Device::Vulkan(_) => return Err(DeviceError::NotOnVulkan { what: "`voice`" }.into()),
    })
}

/// What is analysed, and where.
pub(super) struct Task<'a> {
    /// The workload whose speed decides on the device.
    pub(super) workload: &'static str,
    pub(super) input: &'a Input,
    pub(super) destination: &'a Destination,
    /// Whether the GPU's kernel can do what is requested.
    pub(super) fits: bool,
    /// Hears long files piece by piece on the CPU.
    pub(super) listener: Option<Listening<'a>>,
    /// The rate that the analysis is defined at; sound of another rate is resampled.
    pub(super) rate: Option<u32>,
}

impl Task<'_> {
    /// Writes the sheet of every input: of one after the other on the CPU, or of many at a time on the GPU
    /// that [`gpu_for`] finds.
    pub(super) fn write_sheets(
        &self,
        global: &Global,
        on_cpu: impl Fn(&[f32], u32) -> Result<Sheet>,
        on_gpu: impl Fn(&CudaDevice, u32, &[&[f32]]) -> Result<Vec<Sheet>, WorkloadError>,
    ) -> Result<Outcome> {
        let Self {
            input, destination, ..
        } = self;
        let Some(gpu) = gpu_for(global, self.workload, input, self.fits)? else {
            let listening = self.listener;
            let at_rate = listening.map(|listening| {
                |path: &Path, rate: u32| {
                    Resampled::listener(global, path, rate, self.rate, listening)
                }
            });
            let listener = at_rate.as_ref().map(|listener| listener as Listening<'_>);
            return destination.each_or_in_pieces(global, input, listener, |path| {
                let heard = self.hear(global, path)?;
                let mut sheet = on_cpu(&heard.signal, heard.rate)?;
                sheet.resampled_from = heard.resampled_from;
                Ok(sheet)
            });
        };
        destination.in_groups(global, input, GROUP_BYTES, |places| {
            let heard: Vec<Result<Heard>> = places
                .iter()
                .map(|place| self.hear(global, &place.input))
                .collect();
            let good = heard.iter().flatten();
            let signals: Vec<(&[f32], u32)> =
                good.map(|heard| (&heard.signal[..], heard.rate)).collect();
            let mut sheets = by_rate(&signals, |rate, same| {
                unless_unsupported(global, on_gpu(&gpu, rate, same), || {
                    same.iter().map(|signal| on_cpu(signal, rate)).collect()
                })
            })?
            .into_iter();
            let sheet_of = |heard: Result<Heard>| {
                let heard = heard?;
                let mut sheet = sheets.next().context("the GPU gave no result")?;
                sheet.resampled_from = heard.resampled_from;
                Ok(sheet)
            };
            Ok(heard.into_iter().map(sheet_of).collect())
        })
    }

    /// Reads a file, at the rate that the analysis is defined at.
    fn hear(&self, global: &Global, path: &Path) -> Result<Heard> {
        let (signal, rate) = self.input.signal(path)?;
        match resampler(path, rate, self.rate)? {
            None => Ok(Heard {
                signal,
                rate,
                resampled_from: None,
            }),
            Some(resampler) => {
                let samples = resampler.output_length(signal.len());
                check_room("the resampled signal", samples, size_of::<f32>())?;
                let wanted = self.rate.unwrap_or(rate);
                say_resampled(global, path, rate, wanted);
                Ok(Heard {
                    signal: resampler.process(&signal),
                    rate: wanted,
                    resampled_from: Some(rate),
                })
            }
        }
    }
}

/// A signal as it is analysed.
struct Heard {
    signal: Vec<f32>,
    rate: u32,
    /// What its file has, Hz, where that is another rate.
    resampled_from: Option<u32>,
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

fn bytes_on_disk(input: &Input) -> f64 {
    let bytes = |file: &SoundFile| std::fs::metadata(&file.path).map_or(0, |facts| facts.len());
    input.files().iter().map(bytes).sum::<u64>() as f64
}

/// Analyses signals of one sample rate after the other, each rate in one pass; results in the files'
/// order.
pub(super) fn by_rate<T>(
    signals: &[(&[f32], u32)],
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
            .map(|(index, (signal, _))| (index, *signal))
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
        let silence = [0.0; 9];
        let signals = [(3, 16_000), (5, 8_000), (7, 16_000), (9, 44_100)]
            .map(|(length, rate)| (&silence[..length], rate));
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
