//! Silero's network on a GPU: chunks side by side up to the LSTM's gates, then a multiprocessor walks some files.

use std::sync::Arc;

use rayon::prelude::*;
use warpsmith_core::Element::{F32, U64};
use warpsmith_core::Parameter::{In, Out};
use warpsmith_core::{KernelImage, kernel, ptx};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Quality, transform_roots};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::cpu::{BINS, CHUNK, GATES, Layers, SileroNetwork, UNITS, WINDOW};
use super::detector::{NeuralSettings, NeuralVad, RATE};
use crate::batch::{Batch, DeviceBatch, each_on_cuda};
use crate::resample::resample_on_cuda;

pub(super) const ID: &str = "voice/silero";

// SAFETY: `silero_gates` in `silero.cu` takes these in this order. Window, roots and weights are checked before the
// first chunk, a chunk's samples against its file, its gates before they are written.
static GATES_IMAGE: KernelImage = unsafe {
    kernel!("voice/silero", silero_gates(in f32, in u64, in u64, in f32, in f32, in f32, out f32))
};

/// A walk of some files to a block.
struct Walk {
    files: usize,
    /// Recurrent weights of a thread that are not in its registers.
    resting: usize,
    image: KernelImage,
}

/// Every file alone; and two to a block, which takes half as long again as one.
static WALKS: [Walk; 2] = [
    Walk {
        files: 1,
        resting: 64,
        image: walk("silero_walk"),
    },
    Walk {
        files: 2,
        resting: 96,
        image: walk("silero_walk_two"),
    },
];

impl Walk {
    /// What is not in registers, and what the files' units say, now and next.
    fn shared_bytes(&self) -> u32 {
        4 * (self.resting * THREADS as usize + 2 * self.files * UNITS) as u32
    }
}

const fn walk(entry: &'static str) -> KernelImage {
    // SAFETY: the walks in `silero_walk.cu` take these in this order. Weights are checked first, a file's chunks
    // against gates and results before the first step.
    unsafe {
        KernelImage::trusted(
            "voice/silero_walk",
            entry,
            &[In(F32), In(U64), In(F32), Out(F32)],
            ptx!("voice/silero_walk"),
        )
    }
}

// SAFETY: `silero_head` takes these in this order and checks a chunk against all of them.
static HEAD: KernelImage =
    unsafe { kernel!("voice/silero_walk", silero_head(in f32, in f32, out f32)) };

/// Threads of a block of every kernel, as they insist.
const THREADS: u32 = 256;
/// Chunks of a block, and floats of shared memory: spectra, and room for a transform to a warp.
const CHUNKS: usize = 32;
const GATES_FLOATS: usize = BINS * (4 * CHUNKS + 4) + THREADS as usize / 32 * 2 * WINDOW;
/// Weights of all layers but the recurrent one, `[channel, tap, output]`, then biases.
fn feed_forward(layers: &Layers) -> Vec<f32> {
    // Where a convolution has one or two values, the others of its taps see the zeros around them.
    let reaching: [&[usize]; 4] = [&[0, 1, 2], &[0, 1, 2], &[1, 2], &[1]];
    let mut all = Vec::new();
    for (layer, taps) in layers.convolutions.iter().zip(reaching) {
        let channels = layer.inputs() / 3;
        for channel in 0..channels {
            for tap in taps {
                let input = tap * channels + channel;
                all.extend((0..layer.bias().len()).map(|output| layer.weight(output, input)));
            }
        }
    }
    for unit in 0..UNITS {
        all.extend((0..GATES).map(|gate| layers.gates.weight(gate, unit)));
    }
    for layer in layers.convolutions.iter().chain([&layers.gates]) {
        all.extend(layer.bias());
    }
    all
}

pub(super) struct CudaSilero {
    gates_kernel: Arc<Kernel>,
    walk: (Arc<Kernel>, LaunchShape),
    head_kernel: Arc<Kernel>,
    batch: DeviceBatch,
    window: DeviceBuffer<f32>,
    roots: DeviceBuffer<f32>,
    weights: DeviceBuffer<f32>,
    recurrent: DeviceBuffer<f32>,
    head: DeviceBuffer<f32>,
    /// First chunk and the one after the last of each file, the longest first: files of a block end together.
    files: DeviceBuffer<u64>,
    gates: DeviceBuffer<f32>,
    hidden: DeviceBuffer<f32>,
    probabilities: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaSilero {
    /// For signals at 16 kHz, of which `batch` has chunks as frames.
    pub(super) fn new(
        gpu: &CudaDevice,
        layers: &Layers,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let chunks = batch.frames();
        let mut files: Vec<[u64; 2]> = batch
            .file_frames
            .windows(2)
            .map(|ends| [ends[0], ends[1]])
            .collect();
        files.sort_by_key(|[first, end]| std::cmp::Reverse(end - first));
        let at_once = gpu.facts().multiprocessors as usize;
        let walk = &WALKS[usize::from(files.len() > at_once)];
        let (gates_bytes, walk_bytes) = (4 * GATES_FLOATS as u32, walk.shared_bytes());
        let (needed, most) = (
            gates_bytes.max(walk_bytes),
            gpu.facts().shared_bytes_per_block,
        );
        if u64::from(needed) > most {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!(
                    "its kernels need {needed} B of shared memory, and this GPU has {most} for a block"
                ),
            });
        }
        let (gates_kernel, walk_kernel) = (gpu.kernel(&GATES_IMAGE)?, gpu.kernel(&walk.image)?);
        gates_kernel.allow_shared_bytes(gates_bytes)?;
        walk_kernel.allow_shared_bytes(walk_bytes)?;
        let walk_threads = files.len().div_ceil(walk.files) * THREADS as usize;
        let head: Vec<f32> = layers
            .head
            .iter()
            .copied()
            .chain([layers.head_bias])
            .collect();
        Ok(Self {
            gates_kernel,
            walk: (
                walk_kernel,
                LaunchShape {
                    shared_bytes: walk_bytes,
                    ..LaunchShape::linear(walk_threads, THREADS)
                },
            ),
            head_kernel: gpu.kernel(&HEAD)?,
            batch: batch.upload(gpu)?,
            window: gpu.upload(&layers.window)?,
            roots: gpu.upload(&transform_roots(WINDOW))?,
            weights: gpu.upload(&feed_forward(layers))?,
            recurrent: gpu.upload(&layers.recurrent)?,
            head: gpu.upload(&head)?,
            files: gpu.upload(files.as_flattened())?,
            gates: gpu.alloc(chunks * GATES)?,
            hidden: gpu.alloc(chunks * UNITS)?,
            probabilities: gpu.alloc(chunks)?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaSilero {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let chunks = self.probabilities.len();
        let shape = LaunchShape {
            shared_bytes: 4 * GATES_FLOATS as u32,
            ..LaunchShape::linear(chunks.div_ceil(CHUNKS) * THREADS as usize, THREADS)
        };
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.window.read(),
            self.roots.read(),
            self.weights.read(),
            self.gates.write(),
        ];
        self.stream.launch(&self.gates_kernel, shape, &arguments)?;
        let arguments = [
            self.gates.read(),
            self.files.read(),
            self.recurrent.read(),
            self.hidden.write(),
        ];
        self.stream.launch(&self.walk.0, self.walk.1, &arguments)?;
        // A warp to a chunk.
        let shape = LaunchShape::linear(32 * chunks, THREADS);
        let arguments = [
            self.hidden.read(),
            self.head.read(),
            self.probabilities.write(),
        ];
        Ok(self.stream.launch(&self.head_kernel, shape, &arguments)?)
    }

    result_on_stream!(probabilities: F32, gates, hidden);
}

/// Chunks of so many samples.
pub(super) fn chunks(samples: usize) -> usize {
    samples.div_ceil(CHUNK)
}

/// The probability of speech in each 32 ms of each signal at 16 kHz, the network's own number.
pub fn speech_probabilities_on_cuda(
    gpu: &CudaDevice,
    network: &SileroNetwork,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    each_on_cuda(signals, chunks, 1, |batch| {
        CudaSilero::new(gpu, network.layers(), batch)
    })
}

/// Voice activity of each signal by Silero's network, one decision to 10 ms. What follows from the probabilities looks
/// at few numbers, on the host, files side by side.
pub fn neural_vad_on_cuda(
    gpu: &CudaDevice,
    network: &SileroNetwork,
    sample_rate: u32,
    settings: NeuralSettings,
    signals: &[&[f32]],
) -> Result<Vec<Vec<bool>>, WorkloadError> {
    if sample_rate != RATE {
        let heard = resample_on_cuda(gpu, sample_rate, RATE, Quality::High, signals)?;
        let heard: Vec<&[f32]> = heard.iter().map(|signal| &signal[..]).collect();
        return neural_vad_on_cuda(gpu, network, RATE, settings, &heard);
    }
    let probabilities = speech_probabilities_on_cuda(gpu, network, signals)?;
    let files = signals.par_iter().zip(&probabilities);
    Ok(files
        .map(|(signal, probabilities)| NeuralVad::judge(settings, signal, probabilities))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vad::silero::cpu::SileroNetwork;

    #[test]
    fn weights_lie_where_the_kernel_looks() {
        let network = SileroNetwork::made_up().unwrap();
        let layers = network.layers();
        let all = feed_forward(layers);
        // As the kernel counts: where layers begin, and what they have.
        let second = BINS * 3 * 128;
        let third = second + 128 * 3 * 64;
        let fourth = third + 64 * 2 * 64;
        let fifth = fourth + 64 * UNITS;
        let biases = fifth + UNITS * GATES;
        assert_eq!(all.len(), biases + 128 + 64 + 64 + UNITS + GATES);
        let [first, one, two, three] = &layers.convolutions;
        let (channel, output) = (37, 41);
        for tap in 0..3 {
            let at = (channel * 3 + tap) * 128 + output;
            assert_eq!(all[at], first.weight(output, tap * BINS + channel));
            let at = second + (channel * 3 + tap) * 64 + output;
            assert_eq!(all[at], one.weight(output, tap * 128 + channel));
        }
        // The first tap of the third layer sees a zero, and so do two of the fourth.
        let at = third + (channel * 2 + 1) * 64 + output;
        assert_eq!(all[at], two.weight(output, 2 * 64 + channel));
        let at = fourth + channel * UNITS + output;
        assert_eq!(all[at], three.weight(output, 64 + channel));
        let at = fifth + channel * GATES + 300;
        assert_eq!(all[at], layers.gates.weight(300, channel));
        assert_eq!(all[biases + 128 + 3], one.bias()[3]);
        assert_eq!(all[all.len() - 1], layers.gates.bias()[GATES - 1]);
    }
}
