//! The network on a GPU: the layers over pitches stretch by stretch, everything else for all frames at once.

use std::sync::Arc;

use rayon::prelude::*;
use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Quality, transform_roots};
use warpsmith_workload::{Output, Prepared, WorkloadError, result_on_stream};

use super::path::PitchPath;
use super::tables::{
    Band, CHANNELS, HOP, MELS, PITCHES, RATE, SHORT, WINDOW, bands, hann, harmonics, lags, own,
};
use super::track::{NetPitch, NetTrack, NetVad, places_of};
use super::weights::{
    AROUND as REACHES, BEFORE, BOTH_SIDES, LISTENING, Layer, VOICING, WIDTH, Weights,
};
use crate::batch::{Batch, DeviceBatch, checked, each_on_cuda};
use crate::pitch::PitchRange;
use crate::resample::resample_on_cuda;

pub(super) const ID: &str = "voice/net";

// SAFETY: `net_front` in `net.cu` takes these in this order. Tables are checked before the first frame, a frame's
// samples against its file, and its rows and numbers before they are written.
static FRONT: KernelImage = unsafe {
    kernel!("voice/net", net_front(
        in f32, in u64, in u64, in f32, in u32, in f32, out f32, out f32, out f32, u64, u32
    ))
};
// SAFETY: `net_enter` and `net_around` take these in this order. Weights and shared memory are checked first, and that
// all rows lie inside both buffers and below the last frame.
static ENTER: KernelImage =
    unsafe { kernel!("voice/net", net_enter(in f32, in u64, in f32, out f32, u64, u32, u32)) };
// SAFETY: as above.
static AROUND: KernelImage =
    unsafe { kernel!("voice/net", net_around(in f32, in u64, in f32, out f32, u64, u32, u32)) };
// SAFETY: `net_summary` takes these in this order and checks all rows against all buffers first.
static SUMMARY: KernelImage =
    unsafe { kernel!("voice/net", net_summary(in f32, in f32, out f32, out f32, u64, u32, u32)) };
// SAFETY: `net_mix` takes these in this order. A thread checks its output, and that its whole file lies in `x`.
static MIX: KernelImage = unsafe {
    kernel!("voice/net", net_mix(in f32, in u64, in f32, out f32, u32, u32, u32, u32, u32, u32))
};
// SAFETY: `net_decide` takes these in this order and checks its frame against all of them.
static DECIDE: KernelImage = unsafe {
    kernel!("voice/net", net_decide(in f32, in f32, in f32, in f32, in f32, out f32, u32, u32))
};

/// Frames whose layers over pitches are in memory at a time, and those before and behind that the layers look at.
const STRETCH: usize = 4096;
const HALO: usize = REACHES[0] + REACHES[1] + REACHES[2] + REACHES[3];
/// Threads of the front end, of a layer over pitches with its rows, of a summary and of a mix, as the kernels insist.
const THREADS: u32 = 256;
const LAYER_THREADS: u32 = 400;
const LAYER_ROWS: usize = 4;
const SUMMARY_THREADS: u32 = 128;
const MIX_THREADS: u32 = 192;
/// Numbers of a frame as a whole, and of its result: Hz, voicing and speech.
const WHOLE: usize = 2 * WIDTH + MELS;
pub(super) const RESULT: usize = 3;

/// Frames of so many samples.
pub(super) fn frames(samples: usize) -> usize {
    if samples == 0 { 0 } else { samples / HOP + 1 }
}

/// From `[output, input, frame, tap]` to `[frame, input, tap, output]`, then the biases.
fn by_input(layer: &Layer, inputs: usize, frames: usize, taps: usize) -> Vec<f32> {
    let outputs = layer.bias.len();
    let mut all = Vec::with_capacity(layer.weights.len() + outputs);
    for frame in 0..frames {
        for input in 0..inputs {
            for tap in 0..taps {
                all.extend((0..outputs).map(|output| {
                    layer.weights[((output * inputs + input) * frames + frame) * taps + tap]
                }));
            }
        }
    }
    all.extend(&layer.bias);
    all
}

/// What the front end looks up, in the order of the kernel.
fn front_tables() -> (Vec<f32>, Vec<u32>) {
    let windows = [WINDOW, SHORT].map(hann);
    let places = [harmonics(), lags(WINDOW), lags(SHORT)].concat();
    let bands: Vec<Band> = bands();
    let mut numbers = windows.concat();
    numbers.extend(windows.iter().flat_map(|window| own(window)));
    numbers.extend(places.iter().map(|place| place.part));
    numbers.extend(bands.iter().flat_map(|band| &band.weights));
    let mut indices: Vec<u32> = places.iter().map(|place| place.below as u32).collect();
    indices.extend(bands.iter().map(|band| band.first as u32));
    let mut begin = 0;
    indices.push(begin);
    indices.extend(bands.iter().map(|band| {
        begin += band.weights.len() as u32;
        begin
    }));
    (numbers, indices)
}

/// A layer over frames as a whole.
struct Mix {
    weights: DeviceBuffer<f32>,
    /// Numbers from frame to frame of what it takes, those that it takes, and those that it gives.
    stride: usize,
    inputs: usize,
    outputs: usize,
    /// One frame or three, how far apart, and how much later the last is.
    frames: usize,
    reach: usize,
    after: usize,
}

impl Mix {
    fn of_one(gpu: &CudaDevice, layer: &Layer, inputs: usize) -> Result<Self, DeviceError> {
        Ok(Self {
            weights: gpu.upload(&by_input(layer, inputs, 1, 1))?,
            stride: WHOLE,
            inputs,
            outputs: layer.bias.len(),
            frames: 1,
            reach: 0,
            after: 0,
        })
    }

    fn of_three(
        gpu: &CudaDevice,
        layer: &Layer,
        reach: usize,
        after: usize,
    ) -> Result<Self, DeviceError> {
        let width = layer.bias.len();
        Ok(Self {
            weights: gpu.upload(&by_input(layer, width, 3, 1))?,
            stride: width,
            inputs: width,
            outputs: width,
            frames: 3,
            reach,
            after,
        })
    }
}

pub(super) struct CudaNet {
    kernels: Kernels,
    batch: DeviceBatch,
    numbers: DeviceBuffer<f32>,
    indices: DeviceBuffer<u32>,
    roots: DeviceBuffer<f32>,
    enter: DeviceBuffer<f32>,
    around: Vec<DeviceBuffer<f32>>,
    pitch: DeviceBuffer<f32>,
    heads: DeviceBuffer<f32>,
    voicing: Vec<Mix>,
    listening: Vec<Mix>,
    /// Of a stretch.
    seen: DeviceBuffer<f32>,
    rows: [DeviceBuffer<f32>; 2],
    /// Of all frames.
    whole: DeviceBuffer<f32>,
    silent: DeviceBuffer<f32>,
    logits: DeviceBuffer<f32>,
    voiced: [DeviceBuffer<f32>; 2],
    heard: [DeviceBuffer<f32>; 2],
    out: DeviceBuffer<f32>,
    /// The lowest and the highest pitch that are looked at.
    range: (usize, usize),
    /// Blocks of a layer that run at a time.
    blocks: usize,
    frames: usize,
    stream: Stream,
}

struct Kernels {
    front: Arc<Kernel>,
    enter: Arc<Kernel>,
    around: Arc<Kernel>,
    summary: Arc<Kernel>,
    mix: Arc<Kernel>,
    decide: Arc<Kernel>,
}

impl CudaNet {
    /// For signals at 16 kHz.
    pub(super) fn new(
        gpu: &CudaDevice,
        range: PitchRange,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let trained = Weights::trained();
        let frames = batch.frames();
        let stretch = frames.min(STRETCH + 2 * HALO);
        let (numbers, indices) = front_tables();
        let heads = [&trained.silence, &trained.speech];
        let heads: Vec<f32> = heads
            .into_iter()
            .flat_map(|head| head.weights.iter().chain(&head.bias))
            .copied()
            .collect();
        let around = trained.around.iter();
        let pair = |length: usize| Ok::<_, DeviceError>([gpu.alloc(length)?, gpu.alloc(length)?]);
        let mut voicing = vec![Mix::of_one(gpu, &trained.gather, 2 * WIDTH)?];
        for (layer, reach) in trained.voicing.iter().zip(VOICING) {
            voicing.push(Mix::of_three(gpu, layer, reach, reach)?);
        }
        let mut listening = vec![Mix::of_one(gpu, &trained.listen, WHOLE)?];
        let both = BOTH_SIDES.map(|reach| (reach, reach));
        let before = BEFORE.map(|reach| (reach, 0));
        for (layer, (reach, after)) in trained.in_turn.iter().zip(both.into_iter().chain(before)) {
            listening.push(Mix::of_three(gpu, layer, reach, after)?);
        }
        Ok(Self {
            kernels: Kernels {
                front: gpu.kernel(&FRONT)?,
                enter: gpu.kernel(&ENTER)?,
                around: gpu.kernel(&AROUND)?,
                summary: gpu.kernel(&SUMMARY)?,
                mix: gpu.kernel(&MIX)?,
                decide: gpu.kernel(&DECIDE)?,
            },
            batch: batch.upload(gpu)?,
            numbers: gpu.upload(&numbers)?,
            indices: gpu.upload(&indices)?,
            roots: gpu.upload(&transform_roots(2 * WINDOW))?,
            enter: gpu.upload(&by_input(&trained.enter, CHANNELS, 1, 5))?,
            around: around
                .map(|layer| gpu.upload(&by_input(layer, WIDTH, 3, 3)))
                .collect::<Result<_, _>>()?,
            pitch: gpu.upload(&[&trained.pitch.weights[..], &trained.pitch.bias].concat())?,
            heads: gpu.upload(&heads)?,
            voicing,
            listening,
            seen: gpu.alloc(stretch * CHANNELS * PITCHES)?,
            rows: pair(stretch * WIDTH * PITCHES)?,
            whole: gpu.alloc(frames * WHOLE)?,
            silent: gpu.alloc(frames)?,
            logits: gpu.alloc(frames * PITCHES)?,
            voiced: pair(frames * WIDTH)?,
            heard: pair(frames * LISTENING)?,
            out: gpu.alloc(frames * RESULT)?,
            range: places_of(range),
            blocks: 2 * gpu.facts().multiprocessors as usize,
            frames,
            stream: gpu.stream().clone(),
        })
    }

    /// The layers over pitches of the frames from `begin` on, and what these frames are as a whole.
    fn look(&mut self, begin: usize) -> Result<(), WorkloadError> {
        let end = (begin + STRETCH).min(self.frames);
        let first = begin.saturating_sub(HALO);
        let rows = (end + HALO).min(self.frames) - first;
        let (kernels, stream) = (&self.kernels, &self.stream);
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.numbers.read(),
            self.indices.read(),
            self.roots.read(),
            self.seen.write(),
            self.whole.write(),
            self.silent.write(),
            (first as u64).into(),
            (rows as u32).into(),
        ];
        let shape = LaunchShape::linear(rows * THREADS as usize, THREADS);
        stream.launch(&kernels.front, shape, &arguments)?;
        let blocks = rows.div_ceil(LAYER_ROWS).min(self.blocks);
        let shape = |inputs: usize| LaunchShape {
            shared_bytes: 4 * (inputs * WIDTH) as u32,
            ..LaunchShape::linear(blocks * LAYER_THREADS as usize, LAYER_THREADS)
        };
        let arguments = [
            self.seen.read(),
            self.batch.file_frames.read(),
            self.enter.read(),
            self.rows[0].write(),
            (first as u64).into(),
            (rows as u32).into(),
            0u32.into(),
        ];
        stream.launch(&kernels.enter, shape(CHANNELS * 5), &arguments)?;
        for (weights, reach) in self.around.iter().zip(REACHES) {
            let [from, to] = &mut self.rows;
            let arguments = [
                from.read(),
                self.batch.file_frames.read(),
                weights.read(),
                to.write(),
                (first as u64).into(),
                (rows as u32).into(),
                (reach as u32).into(),
            ];
            stream.launch(&kernels.around, shape(WIDTH * 9), &arguments)?;
            self.rows.swap(0, 1);
        }
        let arguments = [
            self.rows[0].read(),
            self.pitch.read(),
            self.logits.write(),
            self.whole.write(),
            (begin as u64).into(),
            ((begin - first) as u32).into(),
            ((end - begin) as u32).into(),
        ];
        let shape = LaunchShape::linear((end - begin) * SUMMARY_THREADS as usize, SUMMARY_THREADS);
        Ok(stream.launch(&kernels.summary, shape, &arguments)?)
    }
}

/// Layers one after the other, the first from `whole`; the last result is in the first of both.
fn mix_in_turn(
    (stream, kernel): (&Stream, &Kernel),
    (whole, file_frames): (&DeviceBuffer<f32>, &DeviceBuffer<u64>),
    layers: &[Mix],
    both: &mut [DeviceBuffer<f32>; 2],
    frames: usize,
) -> Result<(), WorkloadError> {
    for (n, layer) in layers.iter().enumerate() {
        let [from, to] = &mut *both;
        let sizes = [layer.stride, layer.inputs, layer.outputs];
        let times = [layer.frames, layer.reach, layer.after];
        let [stride, inputs, outputs] = sizes.map(|size| (size as u32).into());
        let [count, reach, after] = times.map(|time| (time as u32).into());
        let arguments = [
            if n == 0 { whole.read() } else { from.read() },
            file_frames.read(),
            layer.weights.read(),
            to.write(),
            stride,
            inputs,
            outputs,
            count,
            reach,
            after,
        ];
        let shape = LaunchShape::linear(frames * layer.outputs, MIX_THREADS);
        stream.launch(kernel, shape, &arguments)?;
        both.swap(0, 1);
    }
    Ok(())
}

impl Prepared for CudaNet {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        for begin in (0..self.frames).step_by(STRETCH) {
            self.look(begin)?;
        }
        let queue = (&self.stream, &*self.kernels.mix);
        let from = (&self.whole, &self.batch.file_frames);
        mix_in_turn(queue, from, &self.voicing, &mut self.voiced, self.frames)?;
        mix_in_turn(queue, from, &self.listening, &mut self.heard, self.frames)?;
        let (low, high) = self.range;
        let arguments = [
            self.logits.read(),
            self.voiced[0].read(),
            self.heard[0].read(),
            self.silent.read(),
            self.heads.read(),
            self.out.write(),
            (low as u32).into(),
            (high as u32).into(),
        ];
        // A warp to a frame.
        let shape = LaunchShape::linear(32 * self.frames, THREADS);
        Ok(self
            .stream
            .launch(&self.kernels.decide, shape, &arguments)?)
    }

    result_on_stream!(out: F32, logits, whole);
}

/// The network whose output are a frame's result and its logits.
struct WithLogits(CudaNet);

impl Prepared for WithLogits {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.0.run_once()
    }

    fn stream(&self) -> Option<&Stream> {
        self.0.stream()
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.0.poison()
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let results: Vec<f32> = self.0.out.download(&self.0.stream)?;
        let logits: Vec<f32> = self.0.logits.download(&self.0.stream)?;
        let pairs = results.chunks(RESULT).zip(logits.chunks(PITCHES));
        let all = pairs.flat_map(|(result, logits)| result.iter().chain(logits));
        Ok(Output::F32(all.copied().collect()))
    }
}

/// What the network says of each frame of each signal, `width` numbers.
fn heard_on_cuda<P: Prepared>(
    sample_rate: u32,
    width: usize,
    gpu: &CudaDevice,
    signals: &[&[f32]],
    prepare: impl FnOnce(&Batch) -> Result<P, WorkloadError>,
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    if sample_rate == RATE {
        return each_on_cuda(signals, frames, width, prepare);
    }
    let heard = resample_on_cuda(gpu, sample_rate, RATE, Quality::High, signals)?;
    let heard: Vec<&[f32]> = heard.iter().map(|signal| &signal[..]).collect();
    each_on_cuda(&heard, frames, width, prepare)
}

/// The pitch of each signal by the network; `hop` must be 10 ms. A threshold of 0 gives every frame a pitch. The way
/// through the frames is found on the CPU.
pub fn net_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    hop: usize,
    range: PitchRange,
    threshold: f32,
    signals: &[&[f32]],
) -> Result<Vec<NetTrack>, WorkloadError> {
    checked(ID, NetPitch::check(sample_rate, hop, range, threshold))?;
    let width = RESULT + PITCHES;
    let results = heard_on_cuda(sample_rate, width, gpu, signals, |batch| {
        CudaNet::new(gpu, range, batch).map(WithLogits)
    })?;
    let tracks = results.par_iter().map(|values| {
        let mut path = PitchPath::new(range, threshold);
        let mut track = NetTrack::default();
        for values in values.chunks(width) {
            let (result, logits) = values.split_at(RESULT);
            if let Some(decision) = path.step(logits, result[1]) {
                track.push(track.seconds.len(), decision);
            }
        }
        while let Some(decision) = path.finish() {
            track.push(track.seconds.len(), decision);
        }
        track
    });
    Ok(tracks.collect())
}

/// Voice activity of each signal by the network, one decision to 10 ms.
pub fn net_vad_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    threshold: f32,
    signals: &[&[f32]],
) -> Result<Vec<Vec<bool>>, WorkloadError> {
    checked(ID, NetVad::check(threshold))?;
    let results = heard_on_cuda(sample_rate, RESULT, gpu, signals, |batch| {
        CudaNet::new(gpu, PitchRange::VOICE, batch)
    })?;
    let pairs = signals.iter().zip(&results);
    Ok(pairs
        .map(|(signal, values)| {
            let speech = values.as_chunks::<RESULT>().0.iter();
            NetVad::judge(sample_rate, threshold, signal.len(), speech.map(|v| v[2]))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_weights_lie_where_the_kernels_look() {
        let (numbers, indices) = front_tables();
        let long_own = WINDOW + SHORT;
        let short_own = long_own + 3 * WINDOW / 4 + 2;
        let parts = short_own + 3 * SHORT / 4 + 2;
        let places = 22 * PITCHES;
        assert_eq!(numbers[long_own], 1.0);
        assert_eq!(numbers[short_own], 1.0);
        assert_eq!(numbers[parts + 37], harmonics()[37].part);
        assert_eq!(numbers[parts + 19 * PITCHES + 7], lags(SHORT)[7].part);
        assert_eq!(indices.len(), places + 2 * MELS + 1);
        assert_eq!(indices[places + 3] as usize, bands()[3].first);
        let all = numbers.len() - parts - places;
        assert_eq!(indices[places + 2 * MELS] as usize, all);
        let trained = Weights::trained();
        let layer = &trained.around[1];
        let (output, input, frame, tap) = (5, 7, 2, 1);
        assert_eq!(
            by_input(layer, WIDTH, 3, 3)[((frame * WIDTH + input) * 3 + tap) * WIDTH + output],
            layer.weights[((output * WIDTH + input) * 3 + frame) * 3 + tap]
        );
    }
}
