//! What can be measured: a workload describes itself, prepares itself on a device, and runs.
//!
//! Implementing [`Workload`] gives listing, measuring, CPU/GPU parity, scaling and ablation.
//! The CPU form of a workload is its specification.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::{Device, DeviceError, Stream};

use crate::definition::Definition;
use crate::output::Output;
use crate::parameters::{BadParameter, ParameterSpec, Parameters};

/// Something that runs on a device.
pub trait Workload: Send + Sync {
    /// What it is and what can be set.
    fn about(&self) -> About;

    /// Identity, `area/name`.
    fn id(&self) -> &'static str {
        self.about().id
    }

    /// What it does, in a line.
    fn summary(&self) -> &'static str {
        self.about().summary
    }

    /// What can be set.
    fn parameters(&self) -> &'static [ParameterSpec] {
        self.about().parameters
    }

    /// Switches that `ablate` turns on and off.
    fn techniques(&self) -> &'static [Technique] {
        self.about().techniques
    }

    /// The parameter that is its size, and sizes from launch-bound to large, for `scale`.
    fn sizes(&self) -> Option<Sizes> {
        self.about().sizes
    }

    /// The parameter that is the number of equal passes of a run, where a run is made of them.
    fn passes(&self) -> Option<&'static str> {
        self.about().passes
    }

    /// Values of parameters, beside the defaults and the choices of words, with which it takes another way than
    /// with those: `verify` takes all.
    fn other_ways(&self) -> &'static [Settings] {
        self.about().other_ways
    }

    /// What one run must at least move and compute.
    fn cost(&self, parameters: &Parameters) -> Cost;

    /// How far GPU and CPU may be apart, and why.
    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance;

    /// What it computes by its formula, in double precision; `None` where its CPU form is all there is.
    fn definition(&self, _: &Parameters) -> Option<Definition> {
        None
    }

    /// Allocates and uploads everything that a run needs; inputs follow from `seed` alone, so that
    /// two devices get the same.
    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready;
}

/// Parameters by name with their values, as they would be typed.
pub type Settings = &'static [(&'static str, &'static str)];

/// A workload that is ready to run, or why it is not.
pub type Ready = Result<Box<dyn Prepared>, WorkloadError>;

/// How a workload describes itself, in one declaration.
#[derive(Clone, Copy, Debug)]
pub struct About {
    id: &'static str,
    summary: &'static str,
    parameters: &'static [ParameterSpec],
    techniques: &'static [Technique],
    sizes: Option<Sizes>,
    passes: Option<&'static str>,
    other_ways: &'static [Settings],
}

impl About {
    /// A workload with these parameters, without techniques, sizes to study, passes or other ways.
    pub const fn new(
        id: &'static str,
        summary: &'static str,
        parameters: &'static [ParameterSpec],
    ) -> Self {
        Self {
            id,
            summary,
            parameters,
            techniques: &[],
            sizes: None,
            passes: None,
            other_ways: &[],
        }
    }

    /// With switches that `ablate` turns on and off.
    pub const fn techniques(mut self, techniques: &'static [Technique]) -> Self {
        self.techniques = techniques;
        self
    }

    /// With the parameter that is its size, and its values for `scale`.
    pub const fn sizes(mut self, parameter: &'static str, values: &'static [&'static str]) -> Self {
        self.sizes = Some(Sizes { parameter, values });
        self
    }

    /// With the parameter that is the number of equal passes of a run.
    pub const fn passes(mut self, parameter: &'static str) -> Self {
        self.passes = Some(parameter);
        self
    }

    /// With values that lead it another way than the defaults and the choices of words do.
    pub const fn other_ways(mut self, ways: &'static [Settings]) -> Self {
        self.other_ways = ways;
        self
    }
}

/// A workload that is ready to run on one device.
pub trait Prepared {
    /// Runs once. On a GPU it queues the work on [`Prepared::stream`] and need not wait for it.
    /// Allocates nothing.
    fn run_once(&mut self) -> Result<(), WorkloadError>;

    /// The stream that `run_once` queues on; `None` where the work is done when it returns.
    fn stream(&self) -> Option<&Stream> {
        None
    }

    /// Seconds that the last run took by the device's own timer, where the work is done when `run_once`
    /// returns and such a timer ran along.
    fn device_seconds(&self) -> Option<f64> {
        None
    }

    /// Gives up on a run that takes longer, and on the device with it, where `run_once` itself waits for a
    /// GPU.
    fn set_limit(&mut self, _limit: Duration) {}

    /// Fills the output with values that no run leaves there.
    fn poison(&mut self) -> Result<(), WorkloadError>;

    /// What the last run computed.
    fn output(&mut self) -> Result<Output, WorkloadError>;

    /// What a run reads, array by array, so that a user's own kernel can be given the same; nothing where
    /// that is no plain arrays. The CPU form says it, which is the specification.
    fn inputs(&self) -> Vec<Output> {
        Vec::new()
    }
}

impl<P: Prepared + ?Sized> Prepared for Box<P> {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        (**self).run_once()
    }

    fn stream(&self) -> Option<&Stream> {
        (**self).stream()
    }

    fn device_seconds(&self) -> Option<f64> {
        (**self).device_seconds()
    }

    fn set_limit(&mut self, limit: Duration) {
        (**self).set_limit(limit);
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        (**self).poison()
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        (**self).output()
    }

    fn inputs(&self) -> Vec<Output> {
        (**self).inputs()
    }
}

/// The methods of a [`Prepared`] whose result is one buffer on the device: `result_on_stream!(out: F32);`
/// where the fields `out` and `stream` are a `DeviceBuffer<f32>` and the stream that fills it. Other buffers
/// that a run fills follow: `result_on_stream!(out: F32, levels, loudest);`.
#[macro_export]
macro_rules! result_on_stream {
    ($out:ident : $element:ident $(, $other:ident)*) => {
        fn stream(&self) -> Option<&warpsmith_device::Stream> {
            Some(&self.stream)
        }

        fn poison(&mut self) -> Result<(), $crate::WorkloadError> {
            $(self.$other.fill_bytes(&self.stream, 0xFF)?;)*
            Ok(self.$out.fill_bytes(&self.stream, 0xFF)?)
        }

        fn output(&mut self) -> Result<$crate::Output, $crate::WorkloadError> {
            Ok($crate::Output::$element(self.$out.download(&self.stream)?))
        }
    };
}

/// The methods of a [`Prepared`] whose result is a vector of the host: `result_in_memory!(out: F32, f32::NAN);`
/// where the field `out` is a `Vec<f32>`.
#[macro_export]
macro_rules! result_in_memory {
    ($out:ident : $element:ident, $poison:expr) => {
        fn poison(&mut self) -> Result<(), $crate::WorkloadError> {
            self.$out.fill($poison);
            Ok(())
        }

        fn output(&mut self) -> Result<$crate::Output, $crate::WorkloadError> {
            Ok($crate::Output::$element(self.$out.clone()))
        }
    };
}

/// A named switch of a workload: pre-allocation, batching, fusion, graphs, half precision…
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Technique {
    /// What it is called in the matrix.
    pub name: &'static str,
    /// The parameter that switches it.
    pub parameter: &'static str,
    /// Value of the parameter when it is off.
    pub off: &'static str,
    /// Value of the parameter when it is on.
    pub on: &'static str,
    /// What it changes, in a line.
    pub meaning: &'static str,
    /// On which devices it changes anything.
    pub acts_on: ActsOn,
    /// How much work it is to build and to keep.
    pub effort: Judgement,
    /// How easily it goes wrong.
    pub risk: Judgement,
}

/// The devices on which a technique changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActsOn {
    /// Every device.
    Any,
    /// The CPU alone: threads, vector instructions.
    Cpu,
    /// A GPU that CUDA drives: graphs, pinned memory.
    Gpu,
}

impl ActsOn {
    /// Whether it changes anything on `device`.
    pub fn includes(self, device: &Device) -> bool {
        match self {
            Self::Any => true,
            Self::Cpu => device.is_cpu(),
            Self::Gpu => device.cuda().is_some(),
        }
    }
}

/// What no clock measures: somebody's opinion, printed as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// An afternoon; goes wrong visibly or not at all.
    Low,
    /// Days; wants tests of its own.
    Medium,
    /// Weeks; wants somebody who has done it before.
    High,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// The sizes at which a workload is studied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The parameter that is the size.
    pub parameter: &'static str,
    /// Its values, rising, as they would be typed.
    pub values: &'static [&'static str],
}

/// The least that one run must do, from which floors and rates follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Bytes read and written, each once.
    pub bytes: Bytes,
    /// Floating-point operations.
    pub flops: Flops,
    /// Things processed, for "µs per …".
    pub units: u64,
    /// What one of them is called.
    pub unit: &'static str,
}

/// A tolerance with its reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArguedTolerance {
    /// The bounds.
    pub tolerance: Tolerance,
    /// Why these and no others.
    pub because: &'static str,
}

impl ArguedTolerance {
    /// The same bits.
    pub const fn exact(because: &'static str) -> Self {
        Self {
            tolerance: Tolerance::EXACT,
            because,
        }
    }

    /// Within an absolute error, or an error relative to the reference.
    pub const fn within(abs: f64, rel: f64, because: &'static str) -> Self {
        Self {
            tolerance: Tolerance { abs, rel, ulp: 0 },
            because,
        }
    }
}

/// Why a workload could not be prepared or run.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// The device failed or is missing.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A parameter that does not fit.
    #[error(transparent)]
    Parameter(#[from] BadParameter),
    /// The workload has no form for this device or these parameters.
    #[error("`{workload}` cannot run here: {reason}")]
    Unsupported {
        /// The workload's id.
        workload: &'static str,
        /// What is missing.
        reason: String,
    },
    /// The workload's own failure.
    #[error("`{workload}` failed: {reason}")]
    Failed {
        /// The workload's id.
        workload: &'static str,
        /// What was seen.
        reason: String,
    },
}

impl WorkloadError {
    /// `workload` has no form for Vulkan.
    pub fn not_on_vulkan(workload: &'static str) -> Self {
        Self::Unsupported {
            workload,
            reason: "there is no Vulkan version of it".to_owned(),
        }
    }

    /// A failure of `workload` that is not the device's.
    pub fn failed(workload: &'static str, error: impl std::fmt::Display) -> Self {
        Self::Failed {
            workload,
            reason: error.to_string(),
        }
    }
}
