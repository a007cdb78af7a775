//! A Warp-style kernel: on the interpreter, on a GPU by CUDA, or on a Vulkan device.

use std::fs;
use std::path::Path;

use warpsmith_compiler::ir::types::TypeId;
use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::{Compiler, Folder, Options, RUNTIME_LIBRARY, Type};
use warpsmith_device::{CompileCache, CudaDevice, Device, Nvrtc, Stream};
use warpsmith_execution::{ForeignArgument, ForeignLaunch, GpuKernel, RunError};
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::Settings;
use super::cuda::upload_array;
use super::fault::Fault;
use super::guarded::{GuardedArray, download};
use super::on_vulkan::OnVulkan;
use super::ran::Ran;
use crate::element::is_float;
use crate::instance::{BoundArgument, BoundValue, Contents, Instance, LaunchNumbers};
use crate::warp_element::WarpElement;

/// Iterations that a block of threads may make: a kernel that never ends is a finding, not a wait.
const MOST_ITERATIONS: u64 = 1 << 24;
/// Threads up to which races are looked for, which runs on one core.
const RACES_UP_TO: usize = 1 << 14;

/// A compiled module, and where its kernel runs.
pub(super) struct WarpProgram {
    module: Module,
    place: Place,
    settings: Settings,
}

enum Place {
    Interpreter,
    Cuda(CudaDevice, GpuKernel),
    Vulkan(OnVulkan),
}

impl WarpProgram {
    pub(super) fn load(
        path: &Path,
        kernel: Option<&str>,
        device: &Device,
        settings: Settings,
    ) -> Result<Self, Fault> {
        let text = fs::read_to_string(path).map_err(|error| Fault::Unreadable {
            file: path.display().to_string(),
            seen: error.to_string(),
        })?;
        let options = Options {
            kernel: kernel.map(str::to_owned),
            file: path.display().to_string(),
            library: Some(RUNTIME_LIBRARY.into()),
            ..Options::default()
        };
        // Modules that it imports are found as `compile` and `exec` find them.
        let folder = Folder::of(path, None);
        let module = Compiler::new().compile_in(&text, &options, Some(&folder.place()));
        let module = module.map_err(Fault::Findings)?;
        let place = match device {
            Device::Cuda(gpu) => {
                let nvrtc = Nvrtc::find()?;
                let built = GpuKernel::build(gpu, &nvrtc, &CompileCache::for_user(), &module)?;
                Place::Cuda(gpu.clone(), built)
            }
            Device::Vulkan(device) => {
                Place::Vulkan(OnVulkan::build(device, &module, settings.limit)?)
            }
            Device::Cpu(_) => Place::Interpreter,
        };
        Ok(Self {
            module,
            place,
            settings,
        })
    }

    pub(super) fn on_gpu(&self) -> bool {
        !matches!(self.place, Place::Interpreter)
    }

    pub(super) fn interpreted_because(&self) -> Option<&'static str> {
        match self.place {
            // A kernel that cannot be planned is an error where it is run.
            Place::Interpreter => Interpreter::forward(&self.module)
                .ok()?
                .interpreted_because(),
            Place::Cuda(..) | Place::Vulkan(_) => None,
        }
    }

    pub(super) fn into_module(self) -> Module {
        self.module
    }

    /// Repeated launches on the GPU over arrays of their own.
    pub(super) fn prepared_on_gpu(
        self,
        instance: &Instance,
        contents: &Contents,
    ) -> Result<Box<dyn Prepared>, Fault> {
        self.check(instance)?;
        let LaunchNumbers::Threads(dim) = &instance.launch else {
            return Err(Fault::Unsupported("a Warp-style kernel needs `dim`".into()));
        };
        let (gpu, kernel) = match self.place {
            Place::Cuda(gpu, kernel) => (gpu, kernel),
            Place::Vulkan(kernel) => return kernel.prepared(dim, instance, contents),
            Place::Interpreter => return Err(Fault::NoGpu),
        };
        let (arrays, arguments) = place(&gpu, &self.module, instance, contents, (0, false))?;
        Ok(Box::new(WarpRun {
            stream: gpu.stream().clone(),
            kernel,
            module: self.module,
            dim: dim.clone(),
            arguments,
            arrays,
        }))
    }

    pub(super) fn run(
        &self,
        instance: &Instance,
        contents: &Contents,
        poison: u8,
    ) -> Result<Ran, Fault> {
        let LaunchNumbers::Threads(dim) = &instance.launch else {
            return Err(Fault::Unsupported("a Warp-style kernel needs `dim`".into()));
        };
        self.check(instance)?;
        match &self.place {
            Place::Cuda(gpu, kernel) => self.run_on(gpu, kernel, dim, instance, contents, poison),
            Place::Vulkan(kernel) => kernel.run(dim, instance, contents, poison),
            Place::Interpreter => self.interpret(dim, instance, contents, poison),
        }
    }

    /// The case's arguments against the kernel's parameters.
    pub(super) fn check(&self, instance: &Instance) -> Result<(), Fault> {
        let function = &self.module.kernel;
        let parameters = &function.vars[..function.params as usize];
        let refuse = |problem: String| Err(Fault::Unsupported(problem));
        if parameters.len() != instance.arguments.len() {
            return refuse(format!(
                "the case has {} arguments, the kernel takes {}",
                instance.arguments.len(),
                parameters.len()
            ));
        }
        for (var, argument) in parameters.iter().zip(&instance.arguments) {
            let fits = match (self.module.types.get(var.ty), &argument.value) {
                (Type::Array { element, rank }, BoundValue::Array { shape, .. }) => {
                    self.element(element, argument).is_some_and(|element| {
                        shape.get(usize::from(rank)..) == Some(&element.extents)
                    })
                }
                (_, BoundValue::Number { .. }) => self
                    .element(var.ty, argument)
                    .is_some_and(|element| element.extents.is_empty()),
                (_, BoundValue::Components { values, .. }) => self
                    .element(var.ty, argument)
                    .is_some_and(|element| element.count() == values.len()),
                (_, BoundValue::Array { .. }) => false,
            };
            if !fits {
                let expected = self.module.types.describe(var.ty, &self.module.names);
                return refuse(format!(
                    "`{}` is {}; the kernel takes {expected} there",
                    argument.name,
                    describe(argument)
                ));
            }
        }
        Ok(())
    }

    /// What a parameter's values are made of, where these are the numbers of the argument.
    fn element(&self, ty: TypeId, argument: &BoundArgument) -> Option<WarpElement> {
        WarpElement::of(&self.module.types, ty).filter(|element| element.scalar == argument.scalar)
    }

    /// The arguments as the interpreter takes them; what has no content holds poison.
    pub(super) fn arguments(
        &self,
        instance: &Instance,
        contents: &Contents,
        poison: u8,
    ) -> Vec<Argument> {
        let ranks = ranks(&self.module);
        let pairs = instance.arguments.iter().zip(contents).zip(ranks);
        pairs
            .map(|((argument, content), rank)| match &argument.value {
                BoundValue::Number { .. } | BoundValue::Components { .. } => {
                    Argument::Value(numbers(argument))
                }
                BoundValue::Array { shape, .. } => {
                    let bytes = argument.elements() * argument.scalar.bytes();
                    Argument::Array(ArrayArgument {
                        shape: shape[..rank].to_vec(),
                        data: content.clone().unwrap_or_else(|| vec![poison; bytes]),
                        gradient: None,
                    })
                }
            })
            .collect()
    }

    fn interpret(
        &self,
        dim: &[usize],
        instance: &Instance,
        contents: &Contents,
        poison: u8,
    ) -> Result<Ran, Fault> {
        let interpreter = Interpreter::forward(&self.module)
            .map_err(Fault::Findings)?
            .with_iteration_limit(MOST_ITERATIONS);
        let threads: usize = dim.iter().product();
        let interpreter = match threads <= RACES_UP_TO {
            true => interpreter.checking_races(),
            false => interpreter,
        };
        let mut arguments = self.arguments(instance, contents, poison);
        let outcome = interpreter
            .run(dim, &mut arguments)
            .map_err(|error| Fault::Unsupported(error.to_string()))?;
        if !outcome.findings.is_empty() {
            return Err(Fault::Findings(outcome.findings));
        }
        Ok(Ran {
            arrays: arguments
                .into_iter()
                .map(|argument| match argument {
                    Argument::Array(array) => Some(array.data),
                    _ => None,
                })
                .collect(),
            races: outcome.races.iter().map(ToString::to_string).collect(),
            ..Ran::default()
        })
    }

    fn run_on(
        &self,
        gpu: &CudaDevice,
        kernel: &GpuKernel,
        dim: &[usize],
        instance: &Instance,
        contents: &Contents,
        poison: u8,
    ) -> Result<Ran, Fault> {
        let hidden = (poison, self.settings.guards);
        let (arrays, arguments) = place(gpu, &self.module, instance, contents, hidden)?;
        let stream = gpu.stream();
        // SAFETY: the module is the one the kernel was built from; every array is live until the
        // downloads below and has the shape and type that `check` compared. That the kernel stays
        // inside is what guard zones look at; beyond those it is the user's word, who wrote it.
        unsafe {
            kernel.launch(
                stream,
                &self.module,
                ForeignLaunch::forward(dim),
                &arguments,
            )?
        };
        stream.synchronize_within(self.settings.limit)?;
        Ok(download(stream, instance, &arrays)?)
    }
}

/// The dimensions of each array parameter, without those of its elements; 0 of a value.
pub(super) fn ranks(module: &Module) -> impl Iterator<Item = usize> {
    let parameters = &module.kernel.vars[..module.kernel.params as usize];
    parameters.iter().map(|var| match module.types.get(var.ty) {
        Type::Array { rank, .. } => usize::from(rank),
        _ => 0,
    })
}

/// Uploads every array, with this poison where it has no content, and between guard zones or not.
#[allow(clippy::type_complexity)] // The arrays, and the arguments that hold their addresses.
fn place(
    gpu: &CudaDevice,
    module: &Module,
    instance: &Instance,
    contents: &Contents,
    (poison, guards): (u8, bool),
) -> Result<(Vec<Option<GuardedArray>>, Vec<ForeignArgument>), Fault> {
    let mut arrays = Vec::new();
    let mut arguments = Vec::new();
    let pairs = instance.arguments.iter().zip(contents);
    for ((argument, content), rank) in pairs.zip(ranks(module)) {
        match &argument.value {
            BoundValue::Number { .. } | BoundValue::Components { .. } => {
                arguments.push(ForeignArgument::Value(numbers(argument)));
                arrays.push(None);
            }
            BoundValue::Array { shape, .. } => {
                let width = argument.scalar.bytes();
                let array = upload_array(gpu, width, shape, content.as_deref(), poison, guards)?;
                arguments.push(ForeignArgument::Array {
                    address: array.address(),
                    shape: shape[..rank].to_vec(),
                    strides: None,
                    gradient: 0,
                });
                arrays.push(Some(array));
            }
        }
    }
    Ok((arrays, arguments))
}

struct WarpRun {
    kernel: GpuKernel,
    module: Module,
    stream: Stream,
    dim: Vec<usize>,
    arguments: Vec<ForeignArgument>,
    /// Kept alive: the arguments hold their addresses.
    arrays: Vec<Option<GuardedArray>>,
}

impl Prepared for WarpRun {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let launch = ForeignLaunch::forward(&self.dim);
        // SAFETY: the module is the one the kernel was built from; every array lives as long as `self`
        // and has the shape and type that `check` compared. That the kernel stays inside is the user's
        // word, who wrote it, and what `verify` looks at.
        let launched = unsafe {
            self.kernel
                .launch(&self.stream, &self.module, launch, &self.arguments)
        };
        launched.map_err(|error| match error {
            RunError::Device(error) => error.into(),
            other => WorkloadError::failed("case", other),
        })
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut bytes = Vec::new();
        for array in self.arrays.iter().flatten() {
            bytes.extend(array.download(&self.stream, "")?.0);
        }
        Ok(Output::U8(bytes))
    }
}

/// The numbers of an argument that is given by value.
pub(super) fn numbers(argument: &BoundArgument) -> Vec<Number> {
    let values = match &argument.value {
        BoundValue::Number { value, .. } => std::slice::from_ref(value),
        BoundValue::Components { values, .. } => values,
        BoundValue::Array { .. } => &[],
    };
    let number = |value: &f64| match is_float(argument.scalar) {
        true => Number::Float(*value),
        false => Number::Int(*value as i128),
    };
    values.iter().map(number).collect()
}

fn describe(argument: &BoundArgument) -> String {
    match &argument.value {
        BoundValue::Number { .. } => format!("a number of type {}", argument.scalar.name()),
        BoundValue::Components { values, .. } => {
            format!(
                "{} numbers of type {}",
                values.len(),
                argument.scalar.name()
            )
        }
        BoundValue::Array { shape, .. } => {
            format!(
                "an array of {} with {} dimensions",
                argument.scalar.name(),
                shape.len()
            )
        }
    }
}
