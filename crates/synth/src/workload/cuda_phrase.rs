//! The reference phrase on a GPU, in every way that the matrix compares.

use std::sync::Arc;

use warpsmith_device::{
    CudaDevice, DeviceBuffer, DeviceError, Graph, Kernel, MappedBuffer, PinnedBuffer, Stream,
};
use warpsmith_workload::{Output, Parameters, Prepared, WorkloadError};

use super::phrase::{ID, settings};
use crate::engine::images::{BLOCK_F32, BLOCK_MONO16, BLOCK_PCM16};
use crate::engine::operators::{DevicePhrase, Launches};
use crate::note::Formulas;
use crate::phrase::Phrase;
use crate::sound::master::to_pcm16;
use crate::sound::technique::Techniques;

/// What is copied to the host, and where it lies there.
enum Samples {
    Pcm16(DeviceBuffer<i16>, Host<i16>),
    Mono16(DeviceBuffer<i16>, Host<i16>),
    Float(DeviceBuffer<f32>, Host<f32>),
    /// Written by the kernel where the host reads it.
    Mapped16(MappedBuffer<i16>),
}

enum Host<T> {
    Pinned(PinnedBuffer<T>),
    Pageable(Vec<T>),
}

pub(super) struct CudaPhrase {
    gpu: CudaDevice,
    phrase: DevicePhrase,
    launches: Launches,
    samples: Samples,
    whole_block: Arc<Kernel>,
    graph: Option<Graph>,
    stream: Stream,
    frames: usize,
    formulas: Formulas,
    per_render: bool,
    /// Stereo 16-bit samples, where the host has to make them.
    converted: Vec<i16>,
}

fn host<T: warpsmith_device::DeviceElement>(
    gpu: &CudaDevice,
    pinned: bool,
    length: usize,
) -> Result<Host<T>, DeviceError> {
    Ok(if pinned {
        Host::Pinned(PinnedBuffer::new(gpu, length)?)
    } else {
        Host::Pageable(vec![T::ZERO; length])
    })
}

fn fetch<T: warpsmith_device::DeviceElement>(
    stream: &Stream,
    device: &DeviceBuffer<T>,
    host: &mut Host<T>,
) -> Result<(), DeviceError> {
    match host {
        Host::Pinned(host) => stream.copy_to_host(device, host),
        Host::Pageable(host) => device.download_into(stream, host),
    }
}

fn contents<T: warpsmith_device::DeviceElement>(host: &Host<T>) -> Result<&[T], DeviceError> {
    match host {
        Host::Pinned(host) => host.as_slice(),
        Host::Pageable(host) => Ok(host),
    }
}

impl CudaPhrase {
    pub(super) fn new(
        gpu: &CudaDevice,
        phrase: &Phrase,
        parameters: &Parameters,
    ) -> Result<Self, WorkloadError> {
        let settings = settings(parameters);
        if settings.techniques != Techniques::default() || parameters.choice("effects") == "on" {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: "this switch is of the CPU engine alone".to_owned(),
            });
        }
        let launches = match parameters.choice("launch") {
            "voice" => Launches::Voice,
            "operator" => Launches::Operator,
            _ => Launches::Phrase,
        };
        let pinned = parameters.choice("host") == "pinned";
        let frames = phrase.frames;
        // Voices and operators end in 16-bit stereo; the other outputs are of the whole block.
        let out = match launches {
            Launches::Phrase => parameters.choice("out"),
            _ => "i16",
        };
        let mapped = parameters.choice("host") == "mapped";
        if mapped && (launches, out) != (Launches::Phrase, "i16") {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason:
                    "only the kernel of the whole phrase writes 16-bit samples to mapped memory"
                        .to_owned(),
            });
        }
        let (samples, image) = match out {
            _ if mapped => (
                Samples::Mapped16(MappedBuffer::new(gpu, 2 * frames)?),
                &BLOCK_PCM16,
            ),
            "f32" => (
                Samples::Float(gpu.alloc(2 * frames)?, host(gpu, pinned, 2 * frames)?),
                &BLOCK_F32,
            ),
            "i16-mono" => (
                Samples::Mono16(gpu.alloc(frames)?, host(gpu, pinned, frames)?),
                &BLOCK_MONO16,
            ),
            _ => (
                Samples::Pcm16(gpu.alloc(2 * frames)?, host(gpu, pinned, 2 * frames)?),
                &BLOCK_MONO16,
            ),
        };
        let converted = match &samples {
            Samples::Pcm16(..) | Samples::Mapped16(_) => 0,
            _ => 2 * frames,
        };
        let per_render = parameters.choice("alloc") == "per-render";
        let (formulas, saw) = (settings.formulas, settings.saw);
        let mut prepared = Self {
            phrase: DevicePhrase::new(gpu, phrase, formulas, saw, launches)?,
            gpu: gpu.clone(),
            launches,
            samples,
            whole_block: gpu.kernel(image)?,
            graph: None,
            stream: gpu.stream().clone(),
            frames,
            formulas,
            per_render,
            converted: vec![0; converted],
        };
        // A copy to pageable memory waits, and memory made for every render changes: neither can
        // be recorded.
        if parameters.choice("graph") == "on" && (pinned || mapped) && !per_render {
            let stream = prepared.stream.clone();
            prepared.graph = Some(stream.capture(|_| prepared.queue())?);
        }
        Ok(prepared)
    }

    fn queue(&mut self) -> Result<(), DeviceError> {
        let stream = &self.stream;
        match &mut self.samples {
            Samples::Pcm16(device, host) => {
                self.phrase.queue(stream, self.launches, device)?;
                fetch(stream, device, host)
            }
            Samples::Mono16(device, host) => {
                self.phrase
                    .queue_block(stream, &self.whole_block, device.write())?;
                fetch(stream, device, host)
            }
            Samples::Float(device, host) => {
                self.phrase
                    .queue_block(stream, &self.whole_block, device.write())?;
                fetch(stream, device, host)
            }
            Samples::Mapped16(host) => {
                self.phrase
                    .queue_block(stream, &self.whole_block, host.write())
            }
        }
    }

    /// What the host does where the device did not give 16-bit stereo.
    fn convert(&mut self) -> Result<(), DeviceError> {
        match &self.samples {
            Samples::Pcm16(..) | Samples::Mapped16(_) => {}
            Samples::Mono16(_, host) => {
                for (frame, sample) in self.converted.chunks_exact_mut(2).zip(contents(host)?) {
                    frame.fill(*sample);
                }
            }
            Samples::Float(_, host) => {
                to_pcm16(contents(host)?, &mut self.converted, self.formulas)
            }
        }
        Ok(())
    }
}

impl Prepared for CudaPhrase {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        if self.per_render
            && let Samples::Pcm16(device, _) = &mut self.samples
        {
            *device = self.gpu.alloc(2 * self.frames)?;
        }
        match &self.graph {
            Some(graph) => graph.launch(&self.stream)?,
            None => self.queue()?,
        }
        Ok(self.convert()?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        match &mut self.samples {
            Samples::Pcm16(device, _) | Samples::Mono16(device, _) => {
                device.fill_bytes(&self.stream, 0x80)?;
            }
            Samples::Float(device, _) => device.fill_bytes(&self.stream, 0xFF)?,
            Samples::Mapped16(host) => host.as_mut_slice()?.fill(i16::MIN),
        }
        self.converted.fill(i16::MIN);
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        self.stream.synchronize().map_err(WorkloadError::from)?;
        Ok(Output::I16(match &self.samples {
            Samples::Pcm16(_, host) => contents(host)?.to_vec(),
            Samples::Mapped16(host) => host.as_slice()?.to_vec(),
            _ => self.converted.clone(),
        }))
    }
}
