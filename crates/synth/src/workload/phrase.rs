//! `synth/phrase`: the reference phrase to 16-bit stereo in host memory, with every technique as a
//! parameter.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, Device};
use warpsmith_workload::{
    About, ActsOn, ArguedTolerance, Cost, Judgement, ParameterSpec, Parameters, Prepared, Ready,
    Technique, Workload, WorkloadError, result_in_memory,
};

use super::cuda_phrase::CudaPhrase;
use crate::note::Formulas;
use crate::params::Params;
use crate::phrase::{Phrase, PhraseRenderer};
use crate::sound::QUANTUM;
use crate::sound::oscillator::Saw;
use crate::sound::technique::{Arithmetic, Average, EnvelopeRate, Techniques};
use crate::stream::StreamSettings;
use warpsmith_lanes::InstructionSet;

pub(crate) struct PhraseWorkload;

pub(crate) const ID: &str = "synth/phrase";

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::choice(
        "formulas",
        "the original's, or envelopes without steps",
        &["original", "click-free"],
    ),
    ParameterSpec::choice(
        "saw",
        "how the saw treats its jump",
        &["spline", "polyblep", "naive"],
    ),
    ParameterSpec::choice(
        "effects",
        "filter, chorus, delay and reverb (CPU)",
        &["off", "on"],
    ),
    ParameterSpec::choice(
        "alloc",
        "buffers made once or for every render",
        &["pool", "per-render"],
    ),
    ParameterSpec::choice("simd", "instructions (CPU)", &["best", "avx2", "portable"]),
    ParameterSpec::choice(
        "threads",
        "parts of the phrase rendered at once (CPU)",
        &["one", "all"],
    ),
    ParameterSpec::choice(
        "arithmetic",
        "how oscillators count and multiply (CPU)",
        &[
            "integer-phase",
            "library-sine",
            "float-phase",
            "double",
            "half-amplitude",
            "brain-amplitude",
            "half-everything",
        ],
    ),
    ParameterSpec::choice(
        "envelope",
        "how often envelopes are computed (CPU)",
        &["cubic", "sample", "hold16", "hold64"],
    ),
    ParameterSpec::choice(
        "swell",
        "how the swell is averaged (CPU)",
        &["running-sum", "convolution"],
    ),
    ParameterSpec::choice(
        "launch",
        "what one launch does (GPU)",
        &["phrase", "voice", "operator"],
    ),
    ParameterSpec::choice("graph", "launches recorded once (GPU)", &["on", "off"]),
    ParameterSpec::choice(
        "host",
        "host memory that the samples are copied to, or that the kernel writes (GPU)",
        &["pinned", "pageable", "mapped"],
    ),
    ParameterSpec::choice(
        "out",
        "what is copied to the host (GPU)",
        &["i16", "i16-mono", "f32"],
    ),
];

const TECHNIQUES: &[Technique] = &[
    Technique {
        name: "pre-allocation",
        parameter: "alloc",
        off: "per-render",
        on: "pool",
        meaning: "buffers made once instead of for every render",
        acts_on: ActsOn::Any,
        effort: Judgement::Low,
        risk: Judgement::Low,
    },
    Technique {
        name: "running-sum swell",
        parameter: "swell",
        off: "convolution",
        on: "running-sum",
        meaning: "two additions a sample instead of a hundred",
        acts_on: ActsOn::Any,
        effort: Judgement::Low,
        risk: Judgement::Low,
    },
    Technique {
        name: "SIMD",
        parameter: "simd",
        off: "portable",
        on: "best",
        meaning: "the widest vector instructions instead of the target's least",
        acts_on: ActsOn::Cpu,
        effort: Judgement::Medium,
        risk: Judgement::Low,
    },
    Technique {
        name: "batching",
        parameter: "launch",
        off: "voice",
        on: "phrase",
        meaning: "one launch for all voices instead of one for each",
        acts_on: ActsOn::Gpu,
        effort: Judgement::Medium,
        risk: Judgement::Medium,
    },
    Technique {
        name: "graph",
        parameter: "graph",
        off: "off",
        on: "on",
        meaning: "launches and copy recorded once and launched as one",
        acts_on: ActsOn::Gpu,
        effort: Judgement::Medium,
        risk: Judgement::Medium,
    },
    Technique {
        name: "pinned memory",
        parameter: "host",
        off: "pageable",
        on: "pinned",
        meaning: "the samples are copied to page-locked memory",
        acts_on: ActsOn::Gpu,
        effort: Judgement::Low,
        risk: Judgement::Low,
    },
];

/// What the parameters say about formulas and engine.
pub(crate) fn settings(parameters: &Parameters) -> StreamSettings {
    StreamSettings {
        sample_rate: 44_100,
        formulas: match parameters.choice("formulas") {
            "click-free" => Formulas::ClickFree,
            _ => Formulas::Original,
        },
        saw: match parameters.choice("saw") {
            "naive" => Saw::Naive,
            "polyblep" => Saw::PolyBlep,
            _ => Saw::Spline,
        },
        simd: match parameters.choice("simd") {
            "portable" => InstructionSet::Portable,
            "avx2" => InstructionSet::up_to_avx2(),
            _ => InstructionSet::widest(),
        },
        techniques: Techniques {
            arithmetic: match parameters.choice("arithmetic") {
                "library-sine" => Arithmetic::LibrarySine,
                "float-phase" => Arithmetic::FloatPhase,
                "double" => Arithmetic::Double,
                "half-amplitude" => Arithmetic::HalfAmplitude,
                "brain-amplitude" => Arithmetic::BrainAmplitude,
                "half-everything" => Arithmetic::HalfEverything,
                _ => Arithmetic::IntegerPhase,
            },
            envelope: match parameters.choice("envelope") {
                "sample" => EnvelopeRate::Sample,
                "hold16" => EnvelopeRate::Hold16,
                "hold64" => EnvelopeRate::Hold64,
                _ => EnvelopeRate::Cubic,
            },
            average: match parameters.choice("swell") {
                "convolution" => Average::Convolution,
                _ => Average::RunningSum,
            },
        },
        form_seconds: None,
    }
}

impl Workload for PhraseWorkload {
    fn about(&self) -> About {
        About::new(
            ID,
            "27.4 s of ambient music, 57 voices, to 16-bit stereo in host memory",
            PARAMETERS,
        )
        .techniques(TECHNIQUES)
    }

    fn cost(&self, _: &Parameters) -> Cost {
        let phrase = Phrase::reference();
        let voice_samples: u64 = phrase.notes.iter().map(|note| u64::from(note.length)).sum();
        Cost {
            bytes: Bytes(4 * phrase.frames as u64),
            // Two polynomials, an amplitude and a mix: about 40 operations a voice and sample.
            flops: Flops(40 * voice_samples),
            units: phrase.frames as u64,
            unit: "frame",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        super::ONE_STEP
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let mut phrase = Phrase::reference();
        // The seed moves the noise alone, so that figures stay comparable.
        for note in &mut phrase.notes {
            note.seed = seed as u32;
        }
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuPhrase::new(cpu, phrase, parameters)?),
            Device::Cuda(gpu) => Box::new(CudaPhrase::new(gpu, &phrase, parameters)?),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(self.id())),
        })
    }
}

struct CpuPhrase {
    cpu: CpuDevice,
    /// One renderer to a part.
    renderers: Vec<PhraseRenderer>,
    out: Vec<i16>,
    per_render: bool,
    effects: Option<Params>,
    settings: StreamSettings,
}

impl CpuPhrase {
    fn new(
        cpu: &CpuDevice,
        phrase: Phrase,
        parameters: &Parameters,
    ) -> Result<Self, WorkloadError> {
        let settings = settings(parameters);
        let effects = (parameters.choice("effects") == "on").then(Params::default);
        let parts = match parameters.choice("threads") {
            // A reverb cannot begin in the middle.
            "all" if effects.is_none() => cpu.threads(),
            _ => 1,
        };
        let frames = phrase.frames;
        let renderer = PhraseRenderer::new(phrase, settings, effects)
            .map_err(|error| WorkloadError::failed(ID, error))?;
        Ok(Self {
            cpu: cpu.clone(),
            renderers: vec![renderer; parts],
            out: vec![0; 2 * frames],
            per_render: parameters.choice("alloc") == "per-render",
            effects,
            settings,
        })
    }
}

impl Prepared for CpuPhrase {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        if self.per_render {
            let phrase = self.renderers[0].phrase().clone();
            self.out = vec![0; 2 * phrase.frames];
            if let Ok(renderer) = PhraseRenderer::new(phrase, self.settings, self.effects) {
                self.renderers[0] = renderer;
            }
        }
        if let [renderer] = &mut self.renderers[..] {
            renderer.render_pcm16(&mut self.out);
            return Ok(());
        }
        let quanta = self.out.len().div_ceil(2 * QUANTUM);
        let part = quanta.div_ceil(self.renderers.len()) * QUANTUM;
        let (renderers, out) = (&mut self.renderers, &mut self.out);
        self.cpu.run(|| {
            out.par_chunks_mut(2 * part)
                .zip(renderers.par_iter_mut())
                .enumerate()
                .for_each(|(index, (out, renderer))| {
                    renderer.render_part_pcm16(index * part, out);
                });
        });
        Ok(())
    }

    result_in_memory!(out: I16, i16::MIN);
}
