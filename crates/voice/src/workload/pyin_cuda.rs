//! Probabilistic YIN on a GPU: one kernel looks at frames, a warp to each, one finds paths, a block to
//! a file.

use std::sync::Arc;

use warpsmith_core::{Element, KernelImage, Parameter, packed};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_measure::{Output, Prepared, WorkloadError};

use super::batch::{Batch, DeviceBatch};
use super::pyin::flatten;
use super::warp_room::WarpRoom;
use crate::framing::Padding;
use crate::pitch::{PyinPlan, PyinTrack, Transitions, impossible};

// SAFETY: `pyin` in `cuda/pyin.cu` takes these in this order. Samples are read between a file's two places,
// which are checked against their length; its shared memory and its tables are checked against what it
// reads of them, and both results against the number of frames, before the first frame.
static OBSERVE: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/pyin",
        "pyin",
        &[
            Parameter::In(Element::F32),
            Parameter::In(Element::U64),
            Parameter::In(Element::U64),
            Parameter::In(Element::F64),
            Parameter::Out(Element::F32),
            Parameter::Out(Element::F32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::F64),
            Parameter::Value(Element::F64),
            Parameter::Value(Element::F64),
            Parameter::Value(Element::F64),
        ],
        packed!("cuda/pyin.ptx"),
    )
};

// SAFETY: `pyin_path` in `cuda/pyin_path.cu` takes these in this order. Every buffer is checked against
// the last frame of a file before the file is looked at, tables and shared memory before that; states
// that it reads back are those that it wrote, below twice the bins.
static PATH: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/pyin_path",
        "pyin_path",
        &[
            Parameter::In(Element::F32),
            Parameter::In(Element::F32),
            Parameter::In(Element::U64),
            Parameter::In(Element::F64),
            Parameter::Out(Element::U16),
            Parameter::Out(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
        ],
        packed!("cuda/pyin_path.ptx"),
    )
};

/// Steps whose origins the path kernel holds at a time.
const ROWS: usize = 16;
/// Threads of a block at most: a thread to a pitch bin.
const MOST_BINS: usize = 1024;

pub(super) struct CudaPyin {
    plan: PyinPlan,
    observe: (Arc<Kernel>, LaunchShape, WarpRoom),
    path: (Arc<Kernel>, LaunchShape),
    batch: DeviceBatch,
    most: u32,
    tables: DeviceBuffer<f64>,
    likelihoods: DeviceBuffer<f32>,
    /// Probability that a frame is voiced, and the likelihood of an unvoiced bin.
    voicing: DeviceBuffer<f32>,
    transitions: DeviceBuffer<f64>,
    origins: DeviceBuffer<u16>,
    states: DeviceBuffer<u32>,
    stream: Stream,
}

impl CudaPyin {
    pub(super) fn new(
        gpu: &CudaDevice,
        plan: PyinPlan,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let unsupported = |reason: String| WorkloadError::Unsupported {
            workload: "voice/pyin",
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
        let room = WarpRoom::new(plan.framing.length, plan.periods.1 + 1, 5 * most);
        let observe = gpu.kernel(&OBSERVE)?;
        let observe_shape = room.shape(gpu, &observe, "voice/pyin", frames)?;
        let path = gpu.kernel(&PATH)?;
        let threads = plan.bins.next_multiple_of(32);
        let transitions = transitions(&plan);
        let width = 2 * plan.reach + 1;
        let scores = 8 * (width + 2 * (2 * (threads + 2 * plan.reach) + 64));
        let rows = ROWS * (4 * plan.bins + 4) + 8;
        let shared_bytes = scores.max(rows) as u32;
        path.allow_shared_bytes(shared_bytes)?;
        let files = batch.file_frames.len() - 1;
        Ok(Self {
            observe: (observe, observe_shape, room),
            path: (
                path,
                LaunchShape {
                    shared_bytes,
                    ..LaunchShape::linear(files * threads, threads as u32)
                },
            ),
            batch: batch.upload(gpu)?,
            most: most as u32,
            tables: gpu.upload(&tables(&plan, most))?,
            likelihoods: gpu.alloc(frames * plan.bins)?,
            voicing: gpu.alloc(2 * frames)?,
            transitions: gpu.upload(&transitions)?,
            origins: gpu.alloc(2 * frames * plan.bins)?,
            states: gpu.alloc(frames)?,
            stream: gpu.stream().clone(),
            plan,
        })
    }

    /// The tracks of all files, one after the other.
    pub(super) fn track(&mut self) -> Result<PyinTrack, WorkloadError> {
        let states: Vec<usize> = self
            .states
            .download(&self.stream)?
            .into_iter()
            .map(|state| state as usize)
            .collect();
        let mut track = PyinTrack {
            probability: self
                .voicing
                .download(&self.stream)?
                .chunks_exact(2)
                .map(|pair| pair[0])
                .collect(),
            ..PyinTrack::default()
        };
        if states.iter().any(|state| *state >= 2 * self.plan.bins) {
            return Err(WorkloadError::Failed {
                workload: "voice/pyin",
                reason: "a frame has no state: the kernel did not reach it".into(),
            });
        }
        self.plan.append(&states, &mut track);
        Ok(track)
    }
}

/// What `cuda/pyin.cu` looks up.
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

/// What `cuda/pyin_path.cu` looks up.
fn transitions(plan: &PyinPlan) -> Vec<f64> {
    let steps = Transitions::new(plan.bins, plan.reach, plan.settings.switch);
    let start = -((2 * plan.bins) as f64).ln();
    let mut tables = vec![steps.stay, steps.switch, start, impossible()];
    tables.extend(steps.kernel);
    tables.extend(steps.normaliser);
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
            self.likelihoods.write(),
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
        let arguments = [
            self.likelihoods.read(),
            self.voicing.read(),
            self.batch.file_frames.read(),
            self.transitions.read(),
            self.origins.write(),
            self.states.write(),
            (plan.bins as u32).into(),
            (plan.reach as u32).into(),
        ];
        Ok(self.stream.launch(&self.path.0, self.path.1, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.likelihoods.fill_bytes(&self.stream, 0xFF)?;
        self.voicing.fill_bytes(&self.stream, 0xFF)?;
        self.origins.fill_bytes(&self.stream, 0xFF)?;
        Ok(self.states.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let track = self.track()?;
        let mut values = vec![f32::NAN; track.frequency.len()];
        flatten(&track, &mut values);
        Ok(Output::F32(values))
    }
}
