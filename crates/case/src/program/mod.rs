//! A case's kernel, ready to run: on a GPU, on the interpreter, or as a Python function.

mod cuda;
mod fault;
mod guarded;
mod interpreted;
mod on_vulkan;
mod prepared;
mod ran;
mod timed_function;

pub use cuda::{
    CompiledCuda, check_binary_source, check_code, compile_cuda, compile_cuda_file, target,
};
pub use fault::Fault;
pub use prepared::SharedArrays;
pub(crate) use ran::Ran;
pub use timed_function::TimedFunction;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use warpsmith_device::{Device, DeviceChoice, DeviceError};

use crate::description::{Callable, Case, Launch, Source, TunableValue};
use crate::instance::{Contents, Instance, LaunchNumbers};
use crate::reference::{Detail, PythonFunction, Start};
use cuda::CudaProgram;
use interpreted::WarpProgram;

/// A kernel that can be run at any size.
pub struct Program {
    form: Form,
}

#[allow(clippy::large_enum_variant)] // There is one of these for a whole run.
enum Form {
    Cuda(CudaProgram),
    Warp(WarpProgram),
    /// One process for all sizes and tunables, and for those that time it.
    Python(Arc<Mutex<PythonFunction>>),
}

/// Which kernel of which file, and how it is launched; a case's own or its reference's.
pub(crate) struct KernelOf<'a> {
    pub(crate) case: &'a Case,
    pub(crate) source: &'a Source,
    pub(crate) kernel: Option<&'a str>,
    pub(crate) launch: Option<&'a Launch>,
}

impl<'a> KernelOf<'a> {
    /// The case's own kernel.
    pub(crate) fn case(case: &'a Case) -> Self {
        Self {
            case,
            source: &case.source,
            kernel: case.kernel.as_deref(),
            launch: None,
        }
    }
}

/// How a program is prepared.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long a launch may take before its context is given up.
    pub limit: Duration,
    /// Whether buffers get guard zones; without them each ends where its allocation ends, which is
    /// where compute-sanitizer looks.
    pub guards: bool,
    /// Whether lines of the source go into the machine code.
    pub line_info: bool,
    /// Whether warps are held back at their accesses to shared memory, which shows a missing barrier.
    pub delays: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limit: Duration::from_secs(20),
            guards: true,
            line_info: false,
            delays: false,
        }
    }
}

impl Program {
    /// Compiles and loads the case's kernel with a choice of tunables.
    pub fn prepare(
        case: &Case,
        choice: &[(String, TunableValue)],
        device: &Device,
        settings: Settings,
    ) -> Result<Self, Fault> {
        Self::of(&KernelOf::case(case), choice, device, settings)
    }

    pub(crate) fn of(
        kernel: &KernelOf<'_>,
        choice: &[(String, TunableValue)],
        device: &Device,
        settings: Settings,
    ) -> Result<Self, Fault> {
        check_device(kernel.source, device.choice())?;
        let form = match (kernel.source, device.cuda()) {
            (Source::Cuda(_) | Source::Ptx(_) | Source::Cubin(_), Some(gpu)) => {
                Form::Cuda(CudaProgram::load(kernel, choice, gpu, settings)?)
            }
            (Source::Cuda(_) | Source::Ptx(_) | Source::Cubin(_), None) => {
                return Err(Fault::NoGpu);
            }
            (Source::Warp(path), _) => {
                Form::Warp(WarpProgram::load(path, kernel.kernel, device, settings)?)
            }
            (Source::Callable(callable), gpu) => {
                let function = python(kernel.case, callable, gpu.is_some())?;
                Form::Python(Arc::new(Mutex::new(function)))
            }
        };
        Ok(Self { form })
    }

    /// What a Warp-style kernel has that only the interpreter runs on the CPU; nothing where it runs natively.
    pub fn interpreted_because(&self) -> Option<&'static str> {
        match &self.form {
            Form::Warp(program) => program.interpreted_because(),
            Form::Cuda(_) | Form::Python(_) => None,
        }
    }

    /// Runs once. What the kernel only writes holds `poison` in every byte before.
    pub(crate) fn run(
        &mut self,
        instance: &Instance,
        contents: &Contents,
        poison: u8,
    ) -> Result<Ran, Fault> {
        if instance.launch == LaunchNumbers::Nothing {
            return Ok(Ran::untouched(instance, contents, poison));
        }
        match &mut self.form {
            Form::Cuda(program) => program.run(instance, contents, poison),
            Form::Warp(program) => program.run(instance, contents, poison),
            Form::Python(function) => {
                let mut function = function.lock().unwrap_or_else(PoisonError::into_inner);
                let answer = function
                    .answer(instance, contents, Detail::OwnType)
                    .map_err(Fault::Function)?;
                Ok(Ran::of_answer(instance, contents, &answer))
            }
        }
    }

    /// The same program once more, where it is a Python function: tunables are arguments of a call.
    pub fn again(&self) -> Option<Self> {
        match &self.form {
            Form::Python(function) => Some(Self {
                form: Form::Python(Arc::clone(function)),
            }),
            _ => None,
        }
    }

    /// Whether runs happen on a GPU in this process.
    pub fn on_gpu(&self) -> bool {
        match &self.form {
            Form::Cuda(_) => true,
            Form::Warp(program) => program.on_gpu(),
            Form::Python(_) => false,
        }
    }
}

/// Refuses by name what has no form on the device: of sources, Warp-style kernels alone run on Vulkan.
pub fn check_device(source: &Source, device: DeviceChoice) -> Result<(), DeviceError> {
    let what = match source {
        _ if !matches!(device, DeviceChoice::Vulkan(_)) => return Ok(()),
        Source::Warp(_) => return Ok(()),
        Source::Cuda(_) => "a case of CUDA C++",
        Source::Ptx(_) => "a case of PTX",
        Source::Cubin(_) => "a case of CUDA machine code",
        Source::Callable(_) => "a case of a Python function",
    };
    Err(DeviceError::NotOnVulkan { what })
}

fn python(case: &Case, callable: &Callable, gpu: bool) -> Result<PythonFunction, Fault> {
    let limits = case.reference.as_ref();
    let seconds = limits.map_or(60.0, |reference| reference.seconds);
    let memory = limits.map_or(8 << 30, |reference| reference.memory);
    let device = if gpu { "cuda" } else { "cpu" };
    let start = Start {
        callable: callable.clone(),
        seconds,
        memory,
        device: Some(device.to_owned()),
        threads: None,
    };
    PythonFunction::start(start).map_err(Fault::Function)
}
