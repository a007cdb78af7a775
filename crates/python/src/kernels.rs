//! Kernels written in Python: compiled without starting NVIDIA Warp, run natively on host arrays where they
//! lie, and launched on arrays that another library has on a GPU.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString, PyTuple};
use serde::Serialize;
use warpsmith_compiler::ir::{self, Callee, Module, Number, Op};
use warpsmith_compiler::launch_abi::Direction;
use warpsmith_compiler::{
    BUILTINS, Compiler, Options, RUNTIME_LIBRARY, Type, TypeId, emit_cpu, emit_cuda, render,
    runtime_header,
};
use warpsmith_core::Finding;
use warpsmith_device::{CompileCache, CudaDevice, DeviceError, Nvrtc, VulkanDevice, VulkanKernel};
use warpsmith_execution::{
    Build, ForeignArgument, ForeignLaunch, GpuKernel, VulkanError, VulkanProgram, VulkanRun,
};
use warpsmith_interpreter::{Argument, ArrayArgument, Borrowed, Interpreter, Objects, Plan};

use crate::objects::HostObject;
use crate::{device_memory, failed, json};

#[derive(Serialize)]
struct Texts {
    cuda: String,
    cpu: String,
    ir: String,
    header: String,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Refused {
    findings: Vec<Finding>,
    text: String,
}

/// A parameter: its name, its type in words, and what an array of it holds.
#[derive(Serialize)]
struct Parameter {
    name: String,
    described: String,
    /// Dimensions of an array; nothing where it is a value.
    rank: Option<u8>,
    /// The scalar, as NumPy names it, and the shape of one element.
    dtype: Option<&'static str>,
    components: Vec<u32>,
}

impl Parameter {
    fn new(module: &Module, name: &str, ty: TypeId) -> Self {
        let (rank, element) = match module.types.get(ty) {
            Type::Array { element, rank } => (Some(rank), element),
            _ => (None, ty),
        };
        let (scalar, components) = match module.types.get(element) {
            Type::Scalar(scalar) => (Some(scalar), vec![]),
            Type::Vector { length, scalar } => (Some(scalar), vec![length]),
            Type::Matrix { rows, cols, scalar } => (Some(scalar), vec![rows, cols]),
            Type::Quat(scalar) => (Some(scalar), vec![4]),
            Type::Transform(scalar) => (Some(scalar), vec![7]),
            _ => (None, vec![]),
        };
        Self {
            name: name.to_owned(),
            described: module.types.describe(ty, &module.names),
            rank,
            dtype: scalar.map(warpsmith_compiler::Scalar::name),
            components,
        }
    }
}

/// A number of a value.
#[derive(Clone, Copy)]
pub(crate) enum Component {
    Whole(i64),
    Real(f64),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Component {
    type Error = PyErr;

    // A float that is tried as an integer costs an exception.
    fn extract(given: pyo3::Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyFloat>() {
            Ok(real) => Ok(Self::Real(real.value())),
            Err(_) => match given.extract() {
                Ok(whole) => Ok(Self::Whole(whole)),
                Err(_) => Ok(Self::Real(given.extract()?)),
            },
        }
    }
}

impl From<Component> for Number {
    fn from(component: Component) -> Self {
        match component {
            Component::Whole(value) => Self::Int(i128::from(value)),
            Component::Real(value) => Self::Float(value),
        }
    }
}

fn numbers(components: Vec<Component>) -> Vec<Number> {
    components.into_iter().map(Number::from).collect()
}

/// An argument in host memory.
#[derive(FromPyObject)]
pub(crate) enum HostArgument {
    /// An array: its address, its size in bytes and its shape.
    Array((usize, usize, Vec<usize>)),
    /// An array with the address and the size of its gradient.
    Differentiated((usize, usize, Vec<usize>, usize, usize)),
    /// The memory of an array before it.
    Same((usize,)),
    /// The fields of a struct, behind a word that says so.
    Struct((String, Vec<Option<HostArgument>>)),
    /// A number, or the components of a value.
    Value(Vec<Component>),
}

/// Memory that Python has.
fn borrowed(address: usize, bytes: usize) -> Borrowed {
    Borrowed {
        address: std::ptr::with_exposed_provenance_mut(address),
        bytes,
    }
}

impl From<HostArgument> for Argument<Borrowed> {
    fn from(argument: HostArgument) -> Self {
        match argument {
            HostArgument::Array((address, bytes, shape)) => Self::Array(ArrayArgument {
                shape,
                data: borrowed(address, bytes),
                gradient: None,
            }),
            HostArgument::Differentiated((address, bytes, shape, gradient, gradient_bytes)) => {
                Self::Array(ArrayArgument {
                    shape,
                    data: borrowed(address, bytes),
                    gradient: Some(borrowed(gradient, gradient_bytes)),
                })
            }
            HostArgument::Same((position,)) => Self::Same(position),
            HostArgument::Struct((_, fields)) => {
                Self::Struct(fields.into_iter().map(argument_or_none).collect())
            }
            HostArgument::Value(components) => Self::Value(numbers(components)),
        }
    }
}

/// An argument, or none for an array that is not given.
fn argument_or_none(argument: Option<HostArgument>) -> Argument<Borrowed> {
    argument.map_or(Argument::Absent, Argument::from)
}

/// Arguments that a thread without the interpreter's lock works on.
struct Given(Vec<Argument<Borrowed>>);

// SAFETY: the memory is Python's, which keeps it until the call is over; see `Program::execute`.
unsafe impl Send for Given {}
// SAFETY: as above.
unsafe impl Sync for Given {}

/// How long a launch may take.
const LONGEST_RUN: Duration = Duration::from_secs(60);

/// An array in device memory that is launched on again and again.
#[pyclass(frozen)]
pub(crate) struct DeviceArray(ForeignArgument);

#[pymethods]
impl DeviceArray {
    #[new]
    fn new(address: u64, shape: Vec<usize>, strides: Vec<i64>, gradient: u64) -> Self {
        Self(ForeignArgument::Array {
            address,
            shape,
            strides: Some(strides),
            gradient,
        })
    }
}

/// An argument in device memory.
pub(crate) enum DeviceArgument {
    /// An array that is known already.
    Known(ForeignArgument),
    /// A contiguous array: its address and its shape.
    Array((u64, Vec<usize>)),
    /// An array with the bytes between elements and the address of its gradient.
    Strided((u64, Vec<usize>, Vec<i64>, u64)),
    /// The fields of a struct, behind a word that says so.
    Struct((String, Vec<Option<DeviceArgument>>)),
    /// A number, or the components of a value.
    Value(Vec<Component>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for DeviceArgument {
    type Error = PyErr;

    // By the form alone: to try one after the other costs an exception for each that does not fit.
    fn extract(given: pyo3::Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(known) = given.cast::<DeviceArray>() {
            return Ok(Self::Known(known.get().0.clone()));
        }
        let Ok(tuple) = given.cast::<PyTuple>() else {
            return Ok(Self::Value(given.extract()?));
        };
        if tuple.len() == 4 {
            return Ok(Self::Strided(given.extract()?));
        }
        match tuple.get_item(0)?.is_instance_of::<PyString>() {
            true => Ok(Self::Struct(given.extract()?)),
            false => Ok(Self::Array(given.extract()?)),
        }
    }
}

impl From<DeviceArgument> for ForeignArgument {
    fn from(argument: DeviceArgument) -> Self {
        match argument {
            DeviceArgument::Known(argument) => argument,
            DeviceArgument::Array((address, shape)) => Self::Array {
                address,
                shape,
                strides: None,
                gradient: 0,
            },
            DeviceArgument::Strided((address, shape, strides, gradient)) => Self::Array {
                address,
                shape,
                strides: Some(strides),
                gradient,
            },
            DeviceArgument::Struct((_, fields)) => Self::Struct(
                fields
                    .into_iter()
                    .map(|field| field.map_or(Self::Absent, Self::from))
                    .collect(),
            ),
            DeviceArgument::Value(components) => Self::Value(numbers(components)),
        }
    }
}

/// Lines that a kernel printed, and what was found.
type Ran = (Vec<String>, Option<String>);

/// As [`Ran`], with how many lines were lost in between.
type RanOnVulkan = (Vec<String>, u32, Option<String>);

/// Where a kernel was loaded, by the GPU's index, and how it was compiled.
type Loaded = (usize, Build);

/// A compiled kernel.
#[pyclass(frozen)]
pub(crate) struct Program {
    source: String,
    places: Places,
    module: Module,
    /// Its operations forward and backward, once they were needed.
    plans: Mutex<[Option<Arc<Plan>>; 2]>,
    /// What has been loaded.
    loaded: Mutex<Vec<(Loaded, Arc<GpuKernel>)>>,
    /// Where it has been compiled for Vulkan, by the device's index and by direction.
    on_vulkan: Mutex<BTreeMap<(usize, bool), (VulkanDevice, VulkanKernel)>>,
}

/// Where lines of a source come from: a file, its line, and how far that is indented more.
type Places = Vec<Option<(String, u32, u32)>>;

/// The compiled kernel, or why it was refused as JSON: a pair of which one is nothing. Findings name the `places` of
/// their lines.
#[pyfunction]
#[pyo3(signature = (source, kernel, file, places = None))]
pub(crate) fn compile(
    py: Python<'_>,
    source: String,
    kernel: Option<String>,
    file: String,
    places: Option<Places>,
) -> PyResult<(Option<Program>, Option<String>)> {
    let places = places.unwrap_or_default();
    py.detach(|| {
        let options = Options {
            kernel,
            file,
            library: Some(RUNTIME_LIBRARY.into()),
            ..Options::default()
        };
        match Compiler::new().compile(&source, &options) {
            Ok(module) => {
                let program = Program {
                    source,
                    places,
                    module,
                    plans: Mutex::default(),
                    loaded: Mutex::default(),
                    on_vulkan: Mutex::default(),
                };
                Ok((Some(program), None))
            }
            Err(findings) => Ok((None, Some(refusal(findings, &source, &places)?))),
        }
    })
}

fn refusal(mut findings: Vec<Finding>, source: &str, places: &Places) -> PyResult<String> {
    let mut text = String::new();
    for finding in &mut findings {
        let made = render(finding, source);
        let place = finding.span.as_mut().and_then(|span| {
            let at = span.line.checked_sub(1)? as usize;
            let (file, line, indent) = places.get(at)?.as_ref()?;
            span.file.clone_from(file);
            span.line = *line;
            span.column += indent;
            span.end_column += indent;
            Some(file)
        });
        // A cell or a prompt is no file.
        let own = place.and_then(|file| std::fs::read_to_string(file).ok());
        text.push_str(&own.map_or(made, |own| render(finding, &own)));
    }
    json(&Refused { findings, text })
}

impl Program {
    fn plan(&self, adjoint: bool) -> Result<Arc<Plan>, Vec<Finding>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut plans[usize::from(adjoint)];
        if let Some(plan) = kept {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(Plan::new(&self.module, adjoint)?);
        *kept = Some(Arc::clone(&plan));
        Ok(plan)
    }
}

/// The names of the language's functions.
#[pyfunction]
pub(crate) fn builtin_names() -> Vec<&'static str> {
    BUILTINS.iter().map(|builtin| builtin.name).collect()
}

#[pymethods]
impl Program {
    /// The kernel's texts and parameters, as JSON.
    fn texts(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let module = &self.module;
            let cuda = emit_cuda(module);
            let kernel = &module.kernel;
            let parameters = kernel.vars[..kernel.params as usize]
                .iter()
                .map(|var| {
                    let name = var.name.map_or("", |name| module.names.get(name));
                    Parameter::new(module, name, var.ty)
                })
                .collect();
            json(&Texts {
                header: runtime_header::prologue(&cuda),
                cpu: emit_cpu(module),
                ir: ir::print(module),
                parameters,
                cuda,
            })
        })
    }

    /// Runs natively, or the adjoint where `adjoint` is set, on arrays where they lie: what it printed, and
    /// what it found, as JSON, where it found anything. The caller keeps the arrays, as large as it says,
    /// until this returns.
    fn execute<'py>(
        &self,
        py: Python<'py>,
        dim: Vec<usize>,
        arguments: Vec<Option<HostArgument>>,
        adjoint: bool,
        objects: Vec<(u64, PyRef<'py, HostObject>)>,
    ) -> PyResult<Ran> {
        let given = Given(arguments.into_iter().map(argument_or_none).collect());
        let objects: Objects = objects
            .into_iter()
            .map(|(number, object)| (number, Arc::clone(&object.0)))
            .collect();
        let (printed, findings) = py.detach(|| {
            let given = &given;
            let plan = match self.plan(adjoint) {
                Ok(plan) => plan,
                Err(findings) => return Ok((Vec::new(), findings)),
            };
            let interpreter = Interpreter::of(&self.module, plan).with_objects(objects);
            // SAFETY: addresses and sizes are those of arrays that the caller keeps and that can be written
            // where the kernel writes; like every function that lets go of the lock, it relies on other
            // threads to leave them alone.
            let outcome = unsafe { interpreter.run_in_place(&dim, &given.0) }.map_err(failed)?;
            Ok::<_, PyErr>((outcome.printed, outcome.findings))
        })?;
        let found = match findings.is_empty() {
            true => None,
            false => Some(refusal(findings, &self.source, &self.places)?),
        };
        Ok((printed, found))
    }

    /// Runs on the Vulkan device of this index, or the adjoint where `adjoint` is set, on arrays where they
    /// lie if the device shares the host's memory, else on copies. What it printed, how many lines more than
    /// the device's buffer takes, and what was found, as JSON, where anything was. The caller keeps the
    /// arrays, as large as it says, until this returns; after a run that did not end, `owners` keep them.
    fn execute_on_vulkan(
        &self,
        py: Python<'_>,
        index: usize,
        dim: Vec<usize>,
        arguments: Vec<Option<HostArgument>>,
        adjoint: bool,
        owners: Vec<Py<PyAny>>,
    ) -> PyResult<RanOnVulkan> {
        let given = Given(arguments.into_iter().map(argument_or_none).collect());
        let refused = |findings| VulkanRun {
            findings,
            ..VulkanRun::default()
        };
        let ran = py.detach(|| {
            let given = &given;
            let plan = match self.plan(adjoint) {
                Ok(plan) => plan,
                Err(findings) => return Ok(refused(findings)),
            };
            let program = match self.vulkan_program(index, adjoint, plan) {
                Err(VulkanError::Refused(findings)) => return Ok(refused(findings)),
                program => program?,
            };
            // SAFETY: addresses and sizes are those of arrays that the caller keeps and that can be written;
            // like every function that lets go of the lock, it relies on other threads to leave them alone.
            // Where a run does not end, their owners are never freed.
            unsafe { program.run_in_place(&dim, &given.0, LONGEST_RUN) }
        });
        if let Err(VulkanError::Device(DeviceError::NeverEnded { .. })) = &ran {
            std::mem::forget(owners);
        }
        let VulkanRun { findings, printed } = ran.map_err(failed)?;
        let found = match findings.is_empty() {
            true => None,
            false => Some(refusal(findings, &self.source, &self.places)?),
        };
        Ok((printed.lines, printed.lost, found))
    }

    /// What the function that the kernel calls first gives back, as JSON; nothing where there is none.
    fn returned(&self) -> PyResult<String> {
        let module = &self.module;
        let called = module.kernel.ops.iter().find_map(|op| match op {
            Op::Call(call) => match call.callee {
                Callee::Function(index) => module.functions.get(index as usize),
                _ => None,
            },
            _ => None,
        });
        let returns = called.map_or(&[][..], |function| &function.returns);
        let described = |ty: &TypeId| Parameter::new(module, "", module.types.value_of(*ty));
        json(&returns.iter().map(described).collect::<Vec<_>>())
    }

    /// Compiles the kernel for a GPU and loads it, where that was not done yet.
    fn load(
        &self,
        py: Python<'_>,
        gpu: usize,
        adjoint: bool,
        block: Option<u32>,
        fused: bool,
    ) -> PyResult<()> {
        py.detach(|| {
            let device = CudaDevice::open(gpu).map_err(failed)?;
            self.on(&device, gpu, build_for(adjoint, block, fused))?;
            Ok(())
        })
    }

    /// Queues the kernel, or its adjoint where `adjoint` is set, on a stream; `stream` is the driver's
    /// handle. Blocks have `block` threads, or as many as the kernel's decorator says; with `fused` a product
    /// and a sum may be rounded once.
    #[pyo3(signature = (gpu, stream, dim, arguments, adjoint = false, block = None, fused = true))]
    #[expect(clippy::too_many_arguments, reason = "each is one value of Python's")]
    fn launch(
        &self,
        py: Python<'_>,
        gpu: usize,
        stream: usize,
        dim: Vec<usize>,
        arguments: Vec<Option<DeviceArgument>>,
        adjoint: bool,
        block: Option<u32>,
        fused: bool,
    ) -> PyResult<()> {
        let arguments: Vec<ForeignArgument> = arguments
            .into_iter()
            .map(|argument| argument.map_or(ForeignArgument::Absent, ForeignArgument::from))
            .collect();
        let launch = ForeignLaunch {
            dim: &dim,
            direction: match adjoint {
                true => Direction::Backward,
                false => Direction::Forward,
            },
        };
        py.detach(|| {
            let device = CudaDevice::open(gpu).map_err(failed)?;
            let kernel = self.on(&device, gpu, build_for(adjoint, block, fused))?;
            let stream = match stream {
                0 => device_memory::stream(&device),
                // SAFETY: the handle is the current stream of the library that owns the arrays, which
                // lives as long as the library.
                handle => unsafe {
                    device.borrow_stream(std::ptr::with_exposed_provenance_mut(handle))
                },
            };
            // SAFETY: addresses and shapes are those that the arrays themselves gave, their element
            // types were compared with the parameters' by the caller, and stream order keeps them
            // alive until the launch is over. That the kernel stays inside is what its author
            // promises, as with every kernel of Warp's.
            unsafe { kernel.launch(&stream, &self.module, launch, &arguments) }.map_err(failed)
        })
    }
}

fn build_for(adjoint: bool, block: Option<u32>, fused: bool) -> Build {
    Build {
        block,
        fused,
        backward: adjoint,
        ..Build::default()
    }
}

impl Program {
    /// The kernel on a Vulkan device, compiled for it at the first call.
    fn vulkan_program(
        &self,
        index: usize,
        adjoint: bool,
        plan: Arc<Plan>,
    ) -> Result<VulkanProgram<'_>, VulkanError> {
        let mut kept = self
            .on_vulkan
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let interpreter = Interpreter::of(&self.module, plan);
        if let Some((device, kernel)) = kept.get(&(index, adjoint)) {
            let (module, kernel) = (&self.module, kernel.clone());
            return Ok(VulkanProgram::of(device, module, interpreter, kernel));
        }
        let device = VulkanDevice::open_once(index)?;
        let program = VulkanProgram::build(&device, &self.module, interpreter)?;
        kept.insert((index, adjoint), (device, program.kernel()));
        Ok(program)
    }

    /// The kernel on a GPU, compiled for it at the first call.
    fn on(&self, device: &CudaDevice, gpu: usize, build: Build) -> PyResult<Arc<GpuKernel>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let known = loaded.iter().find(|(key, _)| *key == (gpu, build));
        if let Some((_, kernel)) = known {
            return Ok(Arc::clone(kernel));
        }
        let nvrtc = Nvrtc::find().map_err(failed)?;
        let cache = CompileCache::for_user();
        let kernel = GpuKernel::build_with(device, &nvrtc, &cache, &self.module, build);
        let kernel = Arc::new(kernel.map_err(failed)?);
        loaded.push(((gpu, build), Arc::clone(&kernel)));
        Ok(kernel)
    }
}
