//! `synth/streams`: one block of many different streams.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, CudaDevice, Device, Stream, ensure_host_room};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Output, ParameterSpec, Parameters, Prepared, Ready, Workload,
    WorkloadError, result_in_memory,
};

use crate::engine::blocks::{BlockSettings, Blocks};
use crate::note::{Formulas, Note, Voice};
use crate::params::Patch;
use crate::phrase::{Phrase, PhraseRenderer};
use crate::sound::oscillator::Saw;
use crate::stream::StreamSettings;

pub(crate) struct Streams;

const ID: &str = "synth/streams";
const RATE: u32 = 44_100;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer(
        "streams",
        "listeners, each with music of its own",
        1000,
        1,
        1 << 20,
    ),
    ParameterSpec::integer(
        "voices",
        "voices that sound in each: pads and a third as many leads",
        6,
        1,
        256,
    ),
    ParameterSpec::integer(
        "frames",
        "frames of the block; 4410 are 100 ms",
        4410,
        64,
        1 << 20,
    ),
    ParameterSpec::choice(
        "overlap",
        "whether a block is rendered while the one before is copied (GPU)",
        &["off", "on"],
    ),
    ParameterSpec::integer("blocks", "blocks of a run", 1, 1, 1 << 16),
];

/// Voices of one stream, in the middle of their notes.
fn notes(random: &mut Random, voices: usize) -> Vec<Note> {
    (0..voices)
        .map(|index| Note {
            voice: if index % 3 == 2 {
                Voice::Lead
            } else {
                Voice::Pad
            },
            start: 0,
            length: 400_000 + random.below(100_000) as u32,
            pitch: 40.0 + random.below(40) as f32,
            velocity: 0.5 / voices as f32,
            pan: random.unit() as f32 * 2.0 - 1.0,
            seed: 0,
            patch: Patch::Usual,
        })
        .collect()
}

/// Where the block lies: after the attack of the slowest voice has begun.
const POSITION: u64 = 64 * 313;

impl Workload for Streams {
    fn about(&self) -> About {
        About::new(
            ID,
            "a block of music for each of many listeners, to 16-bit stereo in host memory",
            PARAMETERS,
        )
        .sizes("streams", &["2", "4", "16", "64", "256", "1024"])
        .passes("blocks")
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let frames = parameters.integer("streams")
            * parameters.integer("frames")
            * parameters.integer("blocks");
        Cost {
            bytes: Bytes(4 * frames),
            flops: Flops(40 * frames * parameters.integer("voices")),
            units: parameters.integer("streams"),
            unit: "stream",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        super::ONE_STEP
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let (streams, frames) = (parameters.size("streams"), parameters.size("frames"));
        ensure_host_room(8 * (streams as u64) * (frames as u64))?;
        let mut random = Random::seeded(seed);
        let tables: Vec<Vec<Note>> = (0..streams)
            .map(|_| notes(&mut random, parameters.size("voices")))
            .collect();
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuStreams::new(
                cpu,
                tables,
                frames,
                parameters.integer("blocks"),
            )?),
            Device::Cuda(gpu) => Box::new(CudaStreams::new(gpu, &tables, parameters)?),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(self.id())),
        })
    }
}

struct CpuStreams {
    cpu: CpuDevice,
    renderers: Vec<PhraseRenderer>,
    out: Vec<i16>,
    frames: usize,
    blocks: u64,
}

impl CpuStreams {
    fn new(
        cpu: &CpuDevice,
        tables: Vec<Vec<Note>>,
        frames: usize,
        blocks: u64,
    ) -> Result<Self, WorkloadError> {
        let settings = StreamSettings {
            sample_rate: RATE,
            ..StreamSettings::default()
        };
        let out = vec![0; 2 * frames * tables.len()];
        let renderers: Result<Vec<_>, _> = tables
            .into_iter()
            .map(|notes| {
                let phrase = Phrase {
                    sample_rate: RATE,
                    frames: POSITION as usize + frames,
                    notes,
                };
                PhraseRenderer::new(phrase, settings, None)
            })
            .collect();
        Ok(Self {
            cpu: cpu.clone(),
            renderers: renderers.map_err(|error| WorkloadError::failed(ID, error))?,
            out,
            frames,
            blocks,
        })
    }
}

impl Prepared for CpuStreams {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (renderers, out, frames) = (&mut self.renderers, &mut self.out, self.frames);
        for _ in 0..self.blocks {
            self.cpu.run(|| {
                out.par_chunks_mut(2 * frames)
                    .zip(renderers.par_iter_mut())
                    .with_min_len(4)
                    .for_each(|(out, renderer)| renderer.render_part_pcm16(POSITION as usize, out));
            });
        }
        Ok(())
    }

    result_in_memory!(out: I16, i16::MIN);
}

struct CudaStreams {
    blocks: Blocks,
    count: u64,
}

impl CudaStreams {
    fn new(
        gpu: &CudaDevice,
        tables: &[Vec<Note>],
        parameters: &Parameters,
    ) -> Result<Self, WorkloadError> {
        let slices: Vec<&[Note]> = tables.iter().map(Vec::as_slice).collect();
        let settings = BlockSettings {
            frames: parameters.size("frames"),
            sample_rate: RATE,
            formulas: Formulas::ClickFree,
            saw: Saw::Spline,
            overlap: parameters.choice("overlap") == "on",
        };
        Ok(Self {
            blocks: Blocks::new(gpu, &slices, settings)?,
            count: parameters.integer("blocks"),
        })
    }
}

impl Prepared for CudaStreams {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        for block in 0..self.count {
            self.blocks.queue(POSITION)?;
            // The host takes each block when it is there; the last one is the caller's to wait for.
            if block > 0 {
                self.blocks.before_last()?;
            }
        }
        if self.count > 1 {
            self.blocks.last()?;
        }
        Ok(())
    }

    fn stream(&self) -> Option<&Stream> {
        Some(self.blocks.queue_in_turn())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.blocks.poison()?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::I16(self.blocks.last()?.to_vec()))
    }
}
