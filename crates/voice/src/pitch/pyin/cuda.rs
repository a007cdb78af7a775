//! Probabilistic YIN on a GPU: one kernel looks at frames, a warp to each; `path_cuda` finds the path.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Framing, Padding};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::{PyinSettings, PyinTrack};
use super::path_cuda::{CudaPyinPath, MOST_BINS, stride};
use super::plan::PyinPlan;
use super::workload::flatten;
use crate::batch::{Batch, DeviceBatch, DeviceSignals, checked};
use crate::pitch::autocorrelation::WarpMemory;
use crate::pitch::range::PitchRange;

// SAFETY: `pyin` in `pyin.cu` takes these in this order. Samples are read between a file's two places,
// which are checked against their length; its shared memory and its tables are checked against what it
// reads of them, and both results against the number of frames, before the first frame.
static OBSERVE: KernelImage = unsafe {
    kernel!("voice/pyin", pyin(
        in f32, in u64, in u64, in f64, out i32, out f32, u32, u32, u32, u32, u32, u32, u32,
        u32, u32, f64, f64, f64, f64
    ))
};

pub(super) const ID: &str = "voice/pyin";

pub(super) struct CudaPyin {
    plan: PyinPlan,
    observe: (Arc<Kernel>, LaunchShape, WarpMemory),
    path: CudaPyinPath,
    batch: DeviceBatch,
    most: u32,
    tables: DeviceBuffer<f64>,
    /// Scores of the bins and of an unvoiced one.
    rows: DeviceBuffer<i32>,
    /// Probability that a frame is voiced.
    voicing: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaPyin {
    pub(super) fn new(
        gpu: &CudaDevice,
        plan: PyinPlan,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let unsupported = |reason: String| WorkloadError::Unsupported {
            workload: ID,
            reason,
        };
        if plan.framing.padding == Padding::CentredReflect {
            return Err(unsupported(
                "beyond a signal's ends the kernel sees zeros".into(),
            ));
        }
        if !plan.framing.length.is_multiple_of(32) || plan.bins > MOST_BINS {
            return Err(unsupported(format!(
                "frames of {} samples and {} pitch bins: frames are multiples of 32, bins at most \
                 {MOST_BINS}",
                plan.framing.length, plan.bins
            )));
        }
        let frames = batch.frames();
        // At most every second lag is a trough.
        let most = (plan.periods.1 - plan.periods.0) / 2 + 2;
        let room = WarpMemory::new(plan.framing.length, plan.periods.1 + 1, 5 * most);
        let observe = gpu.kernel(&OBSERVE)?;
        let observe_shape = room.shape(gpu, &observe, ID, frames)?;
        Ok(Self {
            observe: (observe, observe_shape, room),
            path: CudaPyinPath::new(gpu, plan, &batch.file_frames)?,
            batch: batch.upload(gpu)?,
            most: most as u32,
            tables: gpu.upload(&tables(&plan, most))?,
            rows: gpu.alloc(frames * stride(&plan))?,
            voicing: gpu.alloc(frames)?,
            stream: gpu.stream().clone(),
            plan,
        })
    }

    /// The tracks of all files, one after the other.
    pub(super) fn track(&mut self) -> Result<PyinTrack, WorkloadError> {
        let states = self.path.states(&self.stream)?;
        let mut track = PyinTrack {
            probability: self.voicing.download(&self.stream)?,
            ..PyinTrack::default()
        };
        self.plan.append(&states, &mut track);
        Ok(track)
    }

    /// The states of all frames and the scores that they were found among, `bins + 1` to a frame.
    pub(super) fn evidence(&mut self) -> Result<(Vec<usize>, Vec<i32>), WorkloadError> {
        let rows = self.rows.download(&self.stream)?;
        let used = |row: &[i32]| row[..=self.plan.bins].to_vec();
        let rows = rows
            .chunks_exact(stride(&self.plan))
            .flat_map(used)
            .collect();
        Ok((self.path.states(&self.stream)?, rows))
    }

    /// Pieces of the search, and how many of them were walked again.
    pub(super) fn repaired(&mut self) -> Result<(usize, usize), WorkloadError> {
        self.path.repaired(&self.stream)
    }
}

/// What `pyin.cu` looks up.
fn tables(plan: &PyinPlan, most: usize) -> Vec<f64> {
    let mut tables = plan.thresholds();
    let decay = (-plan.settings.boltzmann).exp();
    let mut power = 1.0;
    for _ in 0..most {
        tables.push(power);
        power *= decay;
    }
    tables.push(0.0);
    tables.extend(
        (1..=most).map(|n| (1.0 - decay) / (1.0 - (-plan.settings.boltzmann * n as f64).exp())),
    );
    tables
}

impl Prepared for CudaPyin {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let plan = &self.plan;
        let (kernel, shape, room) = &self.observe;
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.tables.read(),
            self.rows.write(),
            self.voicing.write(),
            (plan.framing.length as u32).into(),
            (plan.framing.hop as u32).into(),
            (plan.framing.left() as u32).into(),
            (plan.periods.0 as u32).into(),
            (plan.periods.1 as u32).into(),
            room.lag_at.into(),
            room.floats.into(),
            (plan.bins as u32).into(),
            self.most.into(),
            plan.sample_rate.into(),
            plan.range.low_hz.into(),
            plan.per_octave.into(),
            plan.settings.no_trough.into(),
        ];
        self.stream.launch(kernel, *shape, &arguments)?;
        self.path.launch(&self.stream, &self.rows)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.rows.fill_bytes(&self.stream, 0xFF)?;
        self.voicing.fill_bytes(&self.stream, 0xFF)?;
        self.path.poison(&self.stream)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let track = self.track()?;
        let mut values = vec![f32::NAN; track.frequency.len()];
        flatten(&track, &mut values);
        Ok(Output::F32(values))
    }
}

/// Pitch and voicing of each signal by probabilistic YIN.
pub fn pyin_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    framing: Framing,
    range: PitchRange,
    settings: PyinSettings,
    signals: &[&[f32]],
) -> Result<Vec<PyinTrack>, WorkloadError> {
    let plan = checked(ID, PyinPlan::new(sample_rate, framing, range, settings))?;
    let batch = Batch::of(signals, |samples| framing.count(samples));
    if batch.frames() == 0 {
        return Ok(vec![PyinTrack::default(); signals.len()]);
    }
    let whole = tracks(gpu, plan, &batch)?;
    Ok(batch
        .frames_of_files()
        .map(|frames| PyinTrack {
            frequency: whole.frequency[frames.clone()].to_vec(),
            voiced: whole.voiced[frames.clone()].to_vec(),
            probability: whole.probability[frames].to_vec(),
        })
        .collect())
}

/// The tracks of all files, one after the other.
fn tracks(gpu: &CudaDevice, plan: PyinPlan, batch: &Batch) -> Result<PyinTrack, WorkloadError> {
    let mut prepared = CudaPyin::new(gpu, plan, batch)?;
    prepared.run_once()?;
    let mut whole = prepared.track()?;
    for (frames, samples) in batch.frames_of_files().zip(batch.lengths()) {
        if plan.is_too_short(samples) {
            whole.voiced[frames.clone()].fill(false);
            whole.probability[frames].fill(0.0);
        }
    }
    Ok(whole)
}

/// Tracks in the memory of a GPU, `[signal, frame]`.
pub struct DevicePyinTrack {
    /// Frequency, Hz.
    pub frequency: DeviceBuffer<f32>,
    /// 1 where the frame is voiced, else 0.
    pub voiced: DeviceBuffer<u8>,
    /// Probability that it is.
    pub probability: DeviceBuffer<f32>,
}

/// Pitch and voicing by probabilistic YIN of signals on the GPU; unvoiced frames have the frequency `fill`, if one is
/// given. The states of the best path pass the host, which knows their frequencies; signals do not.
pub fn pyin_in_place(
    gpu: &CudaDevice,
    sample_rate: u32,
    framing: Framing,
    range: PitchRange,
    settings: PyinSettings,
    fill: Option<f32>,
    signals: DeviceSignals,
) -> Result<DevicePyinTrack, WorkloadError> {
    let plan = checked(ID, PyinPlan::new(sample_rate, framing, range, settings))?;
    let batch = Batch::lent(signals, |samples| framing.count(samples));
    let mut whole = match batch.frames() {
        0 => PyinTrack::default(),
        _ => tracks(gpu, plan, &batch)?,
    };
    if let Some(fill) = fill {
        let frames = whole.frequency.iter_mut().zip(&whole.voiced);
        for (frequency, _) in frames.filter(|(_, voiced)| !**voiced) {
            *frequency = fill;
        }
    }
    let voiced: Vec<u8> = whole.voiced.iter().copied().map(u8::from).collect();
    let track = DevicePyinTrack {
        frequency: gpu.upload(&whole.frequency)?,
        voiced: gpu.upload(&voiced)?,
        probability: gpu.upload(&whole.probability)?,
    };
    gpu.stream().synchronize()?;
    Ok(track)
}
