//! `voice/mel`: log-mel features of a ragged batch, from samples to decibels in one kernel.

use std::sync::Arc;

use rayon::prelude::*;
use warpsmith_core::{Bytes, Element, Flops, KernelImage, Parameter, Tolerance};
use warpsmith_device::{CpuDevice, CudaDevice, Device, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_measure::{
    ArguedTolerance, Cost, Output, ParameterSpec, Parameters, Prepared, Workload, WorkloadError,
};

use super::batch::{Batch, DeviceBatch, PARAMETERS, lengths, sample_rate};
use crate::feature::{FeatureSettings, Layout};
use crate::framing::Padding;
use crate::mel::MelFeature;
use crate::mel_bank::MelBank;
use crate::preset::{Preset, Sizes, Stage};

pub(super) struct Mel;

// SAFETY: `mel` in `cuda/analysis.cu` takes these in this order. Samples are read between two totals
// that are checked against their length; windows, roots and weights behind checks against theirs;
// spans below `spans_length / 3`; the one store behind `place_out < out_length`.
static KERNEL: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/analysis",
        "mel",
        &[
            Parameter::In(Element::F32),
            Parameter::In(Element::U64),
            Parameter::In(Element::U64),
            Parameter::In(Element::F32),
            Parameter::In(Element::F32),
            Parameter::In(Element::U32),
            Parameter::In(Element::F32),
            Parameter::Out(Element::F32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::F32),
            Parameter::Value(Element::F32),
        ],
        include_str!("../../cuda/analysis.ptx"),
    )
};

/// Threads of a block, as the kernel insists, and complex points that a block transforms.
const THREADS: u32 = 256;
const POINTS: usize = 1024;

fn settings(parameters: &Parameters) -> FeatureSettings {
    let rate = sample_rate(parameters);
    FeatureSettings {
        dynamic_range: None,
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(rate, Sizes::for_speech(rate), Stage::LogMel)
    }
}

impl Workload for Mel {
    fn id(&self) -> &'static str {
        "voice/mel"
    }

    fn summary(&self) -> &'static str {
        "log-mel features of a ragged batch of signals"
    }

    fn parameters(&self) -> &'static [ParameterSpec] {
        PARAMETERS
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let settings = settings(parameters);
        let samples: usize = lengths(parameters).iter().sum();
        let frames: usize = lengths(parameters)
            .iter()
            .map(|length| settings.frames(*length))
            .sum();
        let points = settings.spectrum.transform as u64;
        // A real transform is 2.5·n·log2(n); window, powers and two weights to a bin follow.
        let per_frame = 5 * points * u64::from(points.ilog2()) / 2 + 5 * points;
        Cost {
            bytes: Bytes(4 * (samples + frames * settings.rows()) as u64),
            flops: Flops(frames as u64 * per_frame),
            units: frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 2e-3,
                rel: 0.0,
                ulp: 0,
            },
            because: "two f32 transforms differ by some 2e-7 of the loudest bin; the quietest band \
                      of the input is 40 dB below it, where that is 2e-4 of a power, or 1e-3 dB",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let settings = settings(parameters);
        let batch = Batch::voices(parameters, settings.spectrum.framing, seed);
        let out = batch.frames() * settings.rows();
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuMel {
                cpu: cpu.clone(),
                settings,
                features: batch
                    .signals()
                    .map(|_| feature(settings))
                    .collect::<Result<_, _>>()?,
                out: vec![0.0; out],
                batch,
            }),
            Device::Cuda(gpu) => Box::new(CudaMel::new(gpu, &settings, &batch)?),
        })
    }
}

fn feature(settings: FeatureSettings) -> Result<MelFeature, WorkloadError> {
    MelFeature::new(settings).map_err(|error| WorkloadError::Failed {
        workload: "voice/mel",
        reason: error.to_string(),
    })
}

struct CpuMel {
    cpu: CpuDevice,
    settings: FeatureSettings,
    batch: Batch,
    /// One plan to a file, so that files run side by side.
    features: Vec<MelFeature>,
    out: Vec<f32>,
}

impl Prepared for CpuMel {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let rows = self.settings.rows();
        let mut rest = &mut self.out[..];
        let mut tasks = Vec::with_capacity(self.features.len());
        for (signal, feature) in self.batch.signals().zip(&mut self.features) {
            let (out, after) = rest.split_at_mut(rows * self.settings.frames(signal.len()));
            tasks.push((signal, feature, out));
            rest = after;
        }
        self.cpu
            .run(|| {
                tasks
                    .into_par_iter()
                    .try_for_each(|(signal, feature, out)| feature.compute_into(signal, out))
            })
            .map_err(|error| WorkloadError::Failed {
                workload: "voice/mel",
                reason: error.to_string(),
            })
    }

    fn stream(&self) -> Option<&Stream> {
        None
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.out.fill(f32::NAN);
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.out.clone()))
    }
}

struct CudaMel {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    batch: DeviceBatch,
    window: DeviceBuffer<f32>,
    roots: DeviceBuffer<f32>,
    spans: DeviceBuffer<u32>,
    weights: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    settings: FeatureSettings,
    stream: Stream,
}

impl CudaMel {
    fn new(
        gpu: &CudaDevice,
        settings: &FeatureSettings,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let spectrum = &settings.spectrum;
        let transform = spectrum.transform;
        let points = transform / 2;
        if !points.is_power_of_two() || !(4..=POINTS).contains(&points) {
            return Err(WorkloadError::Unsupported {
                workload: "voice/mel",
                reason: format!("transforms are powers of two up to 2048, not {transform}"),
            });
        }
        let bank =
            MelBank::new(&settings.mel, settings.sample_rate, transform).map_err(|error| {
                WorkloadError::Failed {
                    workload: "voice/mel",
                    reason: error.to_string(),
                }
            })?;
        let (mut spans, mut weights) = (Vec::new(), Vec::new());
        for filter in bank.filters() {
            spans.extend([filter.first, weights.len(), filter.weights.len()].map(|n| n as u32));
            weights.extend_from_slice(&filter.weights);
        }
        let roots: Vec<f32> = (0..transform)
            .flat_map(|k| {
                let angle = std::f64::consts::TAU * k as f64 / transform as f64;
                [angle.cos() as f32, -angle.sin() as f32]
            })
            .collect();
        let window = spectrum
            .window
            .centred(spectrum.window_length, transform, spectrum.symmetry);
        // A quarter of the points' threads transform a frame; a block takes as many as fit.
        let frames_per_block = THREADS as usize / (points / 4);
        let blocks = batch.frames().div_ceil(frames_per_block);
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            shape: LaunchShape::linear(blocks * THREADS as usize, THREADS),
            batch: batch.upload(gpu)?,
            window: gpu.upload(&window)?,
            roots: gpu.upload(&roots)?,
            spans: gpu.upload(&spans)?,
            weights: gpu.upload(&weights)?,
            out: gpu.alloc(batch.frames() * settings.rows())?,
            settings: *settings,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaMel {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let spectrum = &self.settings.spectrum;
        let reflect = spectrum.framing.padding == Padding::CentredReflect;
        let (factor, floor) = self.settings.compression.logarithm().unwrap_or((0.0, 0.0));
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.window.read(),
            self.roots.read(),
            self.spans.read(),
            self.weights.read(),
            self.out.write(),
            (spectrum.transform as u32).into(),
            (spectrum.framing.hop as u32).into(),
            (spectrum.framing.left() as u32).into(),
            u32::from(reflect).into(),
            factor.into(),
            floor.into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.out.download(&self.stream)?))
    }
}
