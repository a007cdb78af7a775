//! Kernels written in Python: compiled without starting NVIDIA Warp, run by the interpreter on host
//! arrays, and launched on arrays that another library has on a GPU.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::Serialize;
use warpsmith_compiler::ir::{self, Module, Number};
use warpsmith_compiler::{
    Compiler, Options, Type, TypeId, emit_cpu, emit_cuda, render, runtime_header,
};
use warpsmith_core::Finding;
use warpsmith_device::{CompileCache, CudaDevice, Nvrtc};
use warpsmith_execution::{ForeignArgument, GpuKernel};
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter};

use crate::{failed, json};

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
#[derive(Clone, Copy, FromPyObject)]
pub(crate) enum Component {
    Whole(i64),
    Real(f64),
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

/// An argument in host memory: an array's bytes and shape, or a value.
#[derive(FromPyObject)]
pub(crate) enum HostArgument {
    Array((PyBackedBytes, Vec<usize>)),
    Value(Vec<Component>),
}

/// An argument in device memory: an array's address and shape, or a value.
#[derive(FromPyObject)]
pub(crate) enum DeviceArgument {
    Array((u64, Vec<usize>)),
    Value(Vec<Component>),
}

/// Lines that a kernel printed, its arrays after the run, and what was found.
type Ran<'py> = (Vec<String>, Vec<Bound<'py, PyBytes>>, Option<String>);

/// A compiled kernel.
#[pyclass(frozen)]
pub(crate) struct Program {
    source: String,
    module: Module,
    /// Where it has been loaded, by the GPU's index.
    loaded: Mutex<BTreeMap<usize, Arc<GpuKernel>>>,
}

/// The compiled kernel, or why it was refused as JSON: a pair of which one is nothing.
#[pyfunction]
pub(crate) fn compile(
    py: Python<'_>,
    source: String,
    kernel: Option<String>,
    file: String,
) -> PyResult<(Option<Program>, Option<String>)> {
    py.detach(|| {
        let options = Options {
            kernel,
            file,
            ..Options::default()
        };
        match Compiler::new().compile(&source, &options) {
            Ok(module) => {
                let program = Program {
                    source,
                    module,
                    loaded: Mutex::default(),
                };
                Ok((Some(program), None))
            }
            Err(findings) => Ok((None, Some(refusal(findings, &source)?))),
        }
    })
}

fn refusal(findings: Vec<Finding>, source: &str) -> PyResult<String> {
    let text = findings
        .iter()
        .map(|finding| render(finding, source))
        .collect();
    json(&Refused { findings, text })
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

    /// Runs on the interpreter: what it printed, every array's bytes after the run, and what it
    /// found, as JSON, where it found anything.
    fn run<'py>(
        &self,
        py: Python<'py>,
        dim: Vec<usize>,
        arguments: Vec<HostArgument>,
    ) -> PyResult<Ran<'py>> {
        let mut arguments: Vec<Argument> = arguments
            .into_iter()
            .map(|argument| match argument {
                HostArgument::Array((bytes, shape)) => Argument::Array(ArrayArgument {
                    shape,
                    data: bytes.to_vec(),
                    gradient: None,
                }),
                HostArgument::Value(components) => Argument::Value(numbers(components)),
            })
            .collect();
        let (printed, findings) = py.detach(|| {
            let interpreter = match Interpreter::forward(&self.module) {
                Ok(interpreter) => interpreter,
                Err(findings) => return Ok((Vec::new(), findings)),
            };
            let outcome = interpreter.run(&dim, &mut arguments).map_err(failed)?;
            Ok::<_, PyErr>((outcome.printed, outcome.findings))
        })?;
        let arrays = arguments
            .iter()
            .filter_map(|argument| match argument {
                Argument::Array(array) => Some(PyBytes::new(py, &array.data)),
                _ => None,
            })
            .collect();
        let found = match findings.is_empty() {
            true => None,
            false => Some(refusal(findings, &self.source)?),
        };
        Ok((printed, arrays, found))
    }

    /// Queues the kernel on another library's stream; `stream` is the driver's handle.
    fn launch(
        &self,
        py: Python<'_>,
        gpu: usize,
        stream: usize,
        dim: Vec<usize>,
        arguments: Vec<DeviceArgument>,
    ) -> PyResult<()> {
        let arguments: Vec<ForeignArgument> = arguments
            .into_iter()
            .map(|argument| match argument {
                DeviceArgument::Array((address, shape)) => {
                    ForeignArgument::Array { address, shape }
                }
                DeviceArgument::Value(components) => ForeignArgument::Value(numbers(components)),
            })
            .collect();
        py.detach(|| {
            let device = CudaDevice::open(gpu).map_err(failed)?;
            let kernel = self.on(&device, gpu)?;
            // SAFETY: the handle is the current stream of the library that owns the arrays, which
            // lives as long as the library; null is the default stream.
            let stream =
                unsafe { device.borrow_stream(std::ptr::with_exposed_provenance_mut(stream)) };
            // SAFETY: addresses and shapes are those that the arrays themselves gave, their element
            // types were compared with the parameters' by the caller, and stream order keeps them
            // alive until the launch is over. That the kernel stays inside is what its author
            // promises, as with every kernel of Warp's.
            unsafe { kernel.launch(&stream, &self.module, &dim, &arguments) }.map_err(failed)
        })
    }
}

impl Program {
    /// The kernel on a GPU, compiled for it at the first call.
    fn on(&self, device: &CudaDevice, gpu: usize) -> PyResult<Arc<GpuKernel>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = loaded.get(&gpu) {
            return Ok(Arc::clone(kernel));
        }
        let nvrtc = Nvrtc::find().map_err(failed)?;
        let cache = CompileCache::for_user();
        let kernel = GpuKernel::build(device, &nvrtc, &cache, &self.module).map_err(failed)?;
        let kernel = Arc::new(kernel);
        loaded.insert(gpu, Arc::clone(&kernel));
        Ok(kernel)
    }
}
