//! pYIN on a GPU compared with the CPU frame by frame, with a reason for every difference.
//!
//! The track follows from rows of scores by a search in whole numbers: the kernel's path must be the CPU's
//! path through the kernel's own rows, state for state. Rows follow from the samples by decisions: rows of
//! GPU and CPU must be the same but where a decision is closer than single precision can tell.

use warpsmith_device::CudaDevice;
use warpsmith_signal::Framing;
use warpsmith_workload::{Prepared, WorkloadError};

use super::cpu::{Pyin, PyinSettings};
use super::cuda::{CudaPyin, ID};
use super::margin::{CloseDecision, closest_decision};
use super::plan::PyinPlan;
use super::transitions::IMPOSSIBLE;
use crate::batch::Batch;
use crate::batch::failed;
use crate::pitch::range::PitchRange;

/// A frame whose rows differ, because rounding decides.
#[derive(Clone, Debug, PartialEq)]
pub struct UndecidedFrame {
    /// Which signal, and which of its frames.
    pub signal: usize,
    /// See `signal`.
    pub frame: usize,
    /// The decision that is closest to going the other way.
    pub close: CloseDecision,
    /// Pitch bins of the GPU's candidates with the logarithms of their probabilities.
    pub on_gpu: Vec<(usize, f64)>,
    /// The CPU's.
    pub on_cpu: Vec<(usize, f64)>,
}

/// What an audit saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PyinAudit {
    /// Frames of all signals.
    pub frames: usize,
    /// Pieces of the search, and how many of them did not meet the piece before and were walked again.
    pub pieces: usize,
    /// See `pieces`.
    pub repaired: usize,
    /// Frames whose rows differ, each with its reason.
    pub undecided: Vec<UndecidedFrame>,
}

/// Units of a score that two logarithms of the same probability may differ by.
const ROUNDED: i32 = 1;

/// Runs pYIN of `signals` on the GPU with poisoned results and holds it against the CPU. A state that is not
/// the best path's, or a row that differs without a close decision, is an error that names the frame.
pub fn audit_pyin_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    framing: Framing,
    range: PitchRange,
    settings: PyinSettings,
    signals: &[&[f32]],
) -> Result<PyinAudit, WorkloadError> {
    let error = |error| failed(ID, &error);
    let plan = PyinPlan::new(sample_rate, framing, range, settings).map_err(error)?;
    let mut pyin = Pyin::new(sample_rate, framing, range, settings).map_err(error)?;
    let batch = Batch::of(signals, |samples| framing.count(samples));
    let mut audit = PyinAudit {
        frames: batch.frames(),
        ..PyinAudit::default()
    };
    if audit.frames == 0 {
        return Ok(audit);
    }
    let mut prepared = CudaPyin::new(gpu, plan, &batch)?;
    prepared.poison()?;
    prepared.run_once()?;
    let (states, rows) = prepared.evidence()?;
    (audit.pieces, audit.repaired) = prepared.repaired()?;
    let width = plan.bins + 1;
    let wrong = |reason: String| WorkloadError::Failed {
        workload: ID,
        reason,
    };
    for (signal, (ends, samples)) in batch.file_frames.windows(2).zip(signals).enumerate() {
        let (first, end) = (ends[0] as usize, ends[1] as usize);
        let on_gpu = &rows[first * width..end * width];
        let path = pyin.path_of_rows(on_gpu);
        let own = path.iter().zip(&states[first..end]);
        if let Some(frame) = own.clone().position(|(best, found)| best != found) {
            return Err(wrong(format!(
                "signal {signal}, frame {frame}: state {} where the best path has {}",
                states[first + frame],
                path[frame]
            )));
        }
        let on_cpu = pyin.rows(samples);
        let frames = on_gpu.chunks_exact(width).zip(on_cpu.chunks_exact(width));
        for (frame, (on_gpu, on_cpu)) in frames.enumerate() {
            let mut scores = on_gpu.iter().zip(on_cpu);
            if scores.all(|(a, b)| (a - b).abs() <= ROUNDED) {
                continue;
            }
            let (on_gpu, on_cpu) = (candidates(on_gpu), candidates(on_cpu));
            let Some(close) = closest_decision(&plan, samples, frame) else {
                return Err(wrong(format!(
                    "signal {signal}, frame {frame}: candidates {on_gpu:?}, on the CPU {on_cpu:?}, and \
                     every decision is clear"
                )));
            };
            audit.undecided.push(UndecidedFrame {
                signal,
                frame,
                close,
                on_gpu,
                on_cpu,
            });
        }
    }
    Ok(audit)
}

/// The bins of a row that are possible, with logarithms; the unvoiced one is one past the last.
fn candidates(row: &[i32]) -> Vec<(usize, f64)> {
    row.iter()
        .enumerate()
        .filter(|(_, score)| **score > IMPOSSIBLE)
        .map(|(bin, score)| (bin, f64::from(*score) / 65_536.0))
        .collect()
}
