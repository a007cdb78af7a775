//! The `hq` tracker on a GPU: its three looks, a warp to a frame, and the paths between them, as on the CPU.

use std::sync::Arc;

use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu;
use super::cpu::{HqPlan, HqTrack};
use super::kernels::{CANDIDATES, CONTOUR, CORRELATIONS, HEARING, REPETITION};
use crate::batch::{Batch, DeviceBatch, checked};
use crate::pitch::autocorrelation::{WarpMemory, WindowedFrames, shape_of};
use crate::pitch::praat::{CudaLevels, CudaPraatPath, Found, PathTable};
use crate::pitch::range::PitchRange;

pub(super) const ID: &str = "voice/hq";
/// Candidates of a frame that have room, and of one autocorrelation, as the kernels insist.
const MOST: usize = 31;
const KEPT: usize = 10;
/// Room for the third look's lags, and zeros behind a window.
const LAGS: usize = 80;
const ZEROS: usize = 8;
/// What being unvoiced costs where the second look found a voice: more than any path is worth.
const NEVER: f64 = (1u64 << 20) as f64;

/// A kernel, its blocks, and the floats of shared memory that a warp has.
struct Look {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    warp_floats: u32,
}

impl Look {
    fn new(
        gpu: &CudaDevice,
        kernel: Arc<Kernel>,
        floats: usize,
        frames: usize,
    ) -> Result<Self, WorkloadError> {
        let warp_floats = floats.next_multiple_of(4) as u32;
        Ok(Self {
            shape: shape_of(gpu, &kernel, ID, warp_floats, frames)?,
            kernel,
            warp_floats,
        })
    }
}

pub(super) struct CudaHq {
    plan: HqPlan,
    batch: DeviceBatch,
    windowed: WindowedFrames,
    levels: CudaLevels,
    correlations: (Arc<Kernel>, LaunchShape, WarpMemory),
    candidates_look: Look,
    repetition: Look,
    hearing: Look,
    contour: (Arc<Kernel>, LaunchShape),
    path: CudaPraatPath,
    glide: CudaPraatPath,
    /// Lags of a row of autocorrelations, and the last that may be a top.
    stride: usize,
    last: usize,
    rows: DeviceBuffer<f32>,
    peaks: DeviceBuffer<f32>,
    counts: DeviceBuffer<u32>,
    candidates: DeviceBuffer<f64>,
    confidence: DeviceBuffer<f32>,
    heard: DeviceBuffer<f32>,
    frequency: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaHq {
    pub(super) fn new(
        gpu: &CudaDevice,
        plan: HqPlan,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let (placement, range) = (plan.placement, plan.range);
        let frames = batch.frames();
        let last = placement.lags.min(placement.reach() - 1);
        let stride = (last + 1).next_multiple_of(4);
        if placement.half < placement.period || stride > placement.reach() {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!(
                    "at {} Hz a period of {} Hz has too few samples",
                    placement.rate, range.low_hz
                ),
            });
        }
        let room = WarpMemory::new(2 * placement.half, stride, 0);
        let kernel = gpu.kernel(&CORRELATIONS)?;
        let shape = room.shape(gpu, &kernel, ID, frames)?;
        let look = |image, floats| Look::new(gpu, gpu.kernel(image)?, floats, frames);
        let first = PathTable {
            costs: plan.costs(),
            unvoiced: cpu::UNVOICED,
            silent: 2.0,
            silence: 0.5 * cpu::SILENCE,
            from_mean: false,
        };
        // Frames with a frequency are beyond all loudness, the others silent: these are unvoiced for nothing,
        // those never.
        let second = PathTable {
            costs: plan.glide_costs(),
            unvoiced: -NEVER,
            silent: NEVER,
            silence: 1.0 / NEVER,
            from_mean: false,
        };
        Ok(Self {
            correlations: (kernel, shape, room),
            candidates_look: look(&CANDIDATES, 3 * stride + stride / 2 + 4 * KEPT)?,
            repetition: look(&REPETITION, 3 * longest_lag(&plan) + 8)?,
            hearing: look(&HEARING, LAGS + longest_window(&plan) + ZEROS)?,
            contour: (gpu.kernel(&CONTOUR)?, LaunchShape::linear(frames, 256)),
            path: CudaPraatPath::new(gpu, &batch.file_frames, &first, MOST)?,
            glide: CudaPraatPath::new(gpu, &batch.file_frames, &second, MOST)?,
            levels: CudaLevels::new(gpu, batch)?,
            windowed: WindowedFrames::upload(gpu, &placement, batch)?,
            batch: batch.upload(gpu)?,
            rows: gpu.alloc(frames * stride)?,
            peaks: gpu.alloc(frames)?,
            counts: gpu.alloc(frames)?,
            candidates: gpu.alloc(2 * MOST * frames)?,
            confidence: gpu.alloc(frames)?,
            heard: gpu.alloc(4 * frames)?,
            frequency: gpu.alloc(frames)?,
            stream: gpu.stream().clone(),
            stride,
            last,
            plan,
        })
    }

    /// Frequencies of all frames, 0 where they are unvoiced, and their confidence.
    pub(super) fn track(&mut self) -> Result<(Vec<f32>, Vec<f32>), WorkloadError> {
        let frequency = self.frequency.download(&self.stream)?;
        Ok((frequency, self.confidence.download(&self.stream)?))
    }

    /// Queues the first look: autocorrelations, and candidates from their averages.
    fn first_look(&mut self) -> Result<(), WorkloadError> {
        let (placement, range) = (self.plan.placement, self.plan.range);
        let (kernel, shape, room) = &self.correlations;
        let arguments = [
            self.batch.samples.read(),
            self.windowed.starts.read(),
            self.windowed.window.read(),
            self.windowed.unwindow.read(),
            self.rows.write(),
            self.peaks.write(),
            (placement.half as u32).into(),
            (placement.period as u32).into(),
            (self.stride as u32).into(),
            room.lag_at.into(),
            room.floats.into(),
        ];
        self.stream.launch(kernel, *shape, &arguments)?;
        let look = &self.candidates_look;
        let arguments = [
            self.rows.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.counts.write(),
            self.candidates.write(),
            self.confidence.write(),
            (self.stride as u32).into(),
            (self.last as u32).into(),
            look.warp_floats.into(),
            (cpu::LEAST as f32).into(),
            (cpu::LEAST_ALONE as f32).into(),
            cpu::SAME.exp2().into(),
            cpu::OCTAVE.into(),
            placement.rate.into(),
            range.low_hz.into(),
            range.high_hz.into(),
        ];
        Ok(self.stream.launch(&look.kernel, look.shape, &arguments)?)
    }

    /// Queues the second look: candidates around the first path's frequencies.
    fn second_look(&mut self) -> Result<(), WorkloadError> {
        let (placement, range) = (self.plan.placement, self.plan.range);
        let look = &self.repetition;
        let arguments = [
            self.batch.samples.read(),
            self.windowed.starts.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.path.tracked().read(),
            self.counts.write(),
            self.candidates.write(),
            self.peaks.write(),
            (placement.half as u32).into(),
            (longest_lag(&self.plan) as u32).into(),
            look.warp_floats.into(),
            (self.plan.longest_pause() as u32).into(),
            cpu::PAUSE_INTERVAL.into(),
            placement.rate.into(),
            range.low_hz.into(),
            range.high_hz.into(),
        ];
        Ok(self.stream.launch(&look.kernel, look.shape, &arguments)?)
    }

    /// Queues the third look, and the contour through what is heard.
    fn third_look(&mut self) -> Result<(), WorkloadError> {
        let placement = self.plan.placement;
        let look = &self.hearing;
        let arguments = [
            self.batch.samples.read(),
            self.windowed.starts.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.glide.tracked().read(),
            self.heard.write(),
            (placement.half as u32).into(),
            look.warp_floats.into(),
            placement.rate.into(),
        ];
        self.stream.launch(&look.kernel, look.shape, &arguments)?;
        let (kernel, shape) = &self.contour;
        let arguments = [
            self.heard.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.frequency.write(),
            (placement.hop as f64 / placement.rate).into(),
        ];
        Ok(self.stream.launch(kernel, *shape, &arguments)?)
    }
}

/// The longest lag that the second look tries, in fours.
fn longest_lag(plan: &HqPlan) -> usize {
    ((plan.placement.rate / plan.range.low_hz + 1.0) as usize + 1).next_multiple_of(4)
}

/// The longest window of the third look, whose longest period the second look found.
fn longest_window(plan: &HqPlan) -> usize {
    let period = (longest_lag(plan) + 1) as f64;
    let longest = (cpu::OWN_PERIODS * period).max(2.0 * (period + cpu::REACH as f64));
    (longest.ceil() as usize + 2).next_multiple_of(4)
}

impl Prepared for CudaHq {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.levels.launch(&self.stream, &self.batch.samples)?;
        self.first_look()?;
        let found = Found {
            peaks: &self.peaks,
            counts: &self.counts,
            candidates: &self.candidates,
            levels: &self.levels,
            file_samples: &self.batch.file_samples,
        };
        self.path.launch(&self.stream, &found)?;
        self.second_look()?;
        let found = Found {
            peaks: &self.peaks,
            counts: &self.counts,
            candidates: &self.candidates,
            levels: &self.levels,
            file_samples: &self.batch.file_samples,
        };
        self.glide.launch(&self.stream, &found)?;
        self.third_look()
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.levels.poison(&self.stream)?;
        self.path.poison(&self.stream)?;
        self.glide.poison(&self.stream)?;
        self.counts.fill_bytes(&self.stream, 0xFF)?;
        self.candidates.fill_bytes(&self.stream, 0xFF)?;
        for floats in [
            &mut self.rows,
            &mut self.peaks,
            &mut self.confidence,
            &mut self.heard,
            &mut self.frequency,
        ] {
            floats.fill_bytes(&self.stream, 0xFF)?;
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.track()?.0))
    }
}

/// Pitch and voicing of each signal by the most accurate tracker, in frames `hop` samples apart.
pub fn hq_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    hop: usize,
    range: PitchRange,
    signals: &[&[f32]],
) -> Result<Vec<HqTrack>, WorkloadError> {
    let plan = checked(ID, HqPlan::new(sample_rate, hop, range))?;
    let placement = plan.placement;
    let batch = Batch::of(signals, |samples| placement.frames(samples));
    if batch.frames() == 0 {
        return Ok(vec![HqTrack::default(); signals.len()]);
    }
    let mut prepared = CudaHq::new(gpu, plan, &batch)?;
    prepared.run_once()?;
    let (frequency, confidence) = prepared.track()?;
    let files = batch.frames_of_files().zip(signals);
    Ok(files
        .map(|(frames, signal)| HqTrack {
            seconds: placement.times(frames.len(), signal.len()),
            frequency: frequency[frames.clone()].to_vec(),
            confidence: confidence[frames].to_vec(),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::range::PitchRange;

    #[test]
    fn every_period_that_the_second_look_can_find_has_room() {
        for (rate, low_hz) in [
            (8_000u32, 50.0),
            (16_000, 65.0),
            (44_100, 65.0),
            (48_000, 71.3),
        ] {
            let range = PitchRange {
                low_hz,
                high_hz: 800.0,
            };
            let plan = HqPlan::new(rate, rate as usize / 100, range).unwrap();
            // As `hq_repetition` bounds its lags, and a parabola moves the last top by at most half of one.
            let high = (f64::from(rate) / low_hz + 1.0) as usize + 1;
            assert!(high.next_multiple_of(4) <= longest_lag(&plan));
            for period in [1.0, 20.0, 34.0, 100.0, high as f64 - 0.5] {
                let wanted = (cpu::OWN_PERIODS * period)
                    .max(2.0 * (period + cpu::REACH as f64))
                    .ceil() as usize
                    | 1;
                assert!(
                    wanted <= longest_window(&plan),
                    "{rate} Hz: {period} samples"
                );
            }
        }
    }
}
