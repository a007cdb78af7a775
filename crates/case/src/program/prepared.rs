//! A case's kernel as something that the sampler measures.

use std::sync::Arc;

use warpsmith_compiler::ir::Module;
use warpsmith_device::{CudaDevice, Kernel, LaunchShape, Stream};
use warpsmith_interpreter::{Argument, Interpreter, Plan};
use warpsmith_measure::kernel_file::Direction;
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cuda::{Arrays, CudaProgram};
use super::fault::Fault;
use super::{Form, Program};
use crate::instance::{Contents, Instance, LaunchNumbers};

impl Program {
    /// Everything that repeated runs at one size need; what is written holds zeros at first.
    pub fn prepared(
        self,
        instance: &Instance,
        contents: &Contents,
    ) -> Result<Box<dyn Prepared>, Fault> {
        if instance.launch == LaunchNumbers::Nothing {
            return Err(Fault::Unsupported(
                "there is nothing to launch at this size".into(),
            ));
        }
        match self.form {
            Form::Cuda(program) => {
                let arrays = Arrays::upload(program.gpu(), instance, contents, 0, false)?;
                program.ready(instance, &Arc::new(arrays))
            }
            Form::Warp(program) if program.on_gpu() => program.prepared_on_gpu(instance, contents),
            Form::Warp(program) => {
                let LaunchNumbers::Threads(dim) = &instance.launch else {
                    return Err(Fault::Unsupported("a Warp-style kernel needs `dim`".into()));
                };
                program.check(instance)?;
                let arguments = program.arguments(instance, contents, 0);
                let module = program.into_module();
                Ok(Box::new(RunHere {
                    plan: Arc::new(Plan::new(&module, false).map_err(Fault::Findings)?),
                    module,
                    dim: dim.clone(),
                    arguments,
                }))
            }
            Form::Python(_) => Err(Fault::Unsupported(
                "a Python function times itself: leave out what goes with kernels, such as `--steps`".into(),
            )),
        }
    }
}

impl CudaProgram {
    fn ready(&self, instance: &Instance, arrays: &Arc<Arrays>) -> Result<Box<dyn Prepared>, Fault> {
        let shape = self.shape(instance)?;
        self.allow_shared(shape)?;
        Ok(Box::new(CudaRun {
            stream: self.gpu().stream().clone(),
            kernel: Arc::clone(&self.kernel),
            shape,
            packed: arrays.packed(&self.entry, instance),
            arrays: Arc::clone(arrays),
            directions: instance
                .arguments
                .iter()
                .map(|argument| argument.direction())
                .collect(),
        }))
    }
}

/// The arrays of one size on a GPU, which the candidates of a tuning share.
pub struct SharedArrays(Arc<Arrays>);

impl SharedArrays {
    /// Uploads them; what is written holds zeros at first.
    pub fn upload(
        gpu: &CudaDevice,
        instance: &Instance,
        contents: &Contents,
    ) -> Result<Self, Fault> {
        Arrays::upload(gpu, instance, contents, 0, false).map(|arrays| Self(Arc::new(arrays)))
    }
}

impl Program {
    /// Whether it can run on arrays that are there already.
    pub(crate) fn shares_arrays(&self) -> bool {
        matches!(self.form, Form::Cuda(_))
    }

    /// A CUDA kernel on arrays that are there already: those of an instance whose arguments are the same.
    pub fn prepared_on(
        &self,
        instance: &Instance,
        arrays: &SharedArrays,
    ) -> Result<Box<dyn Prepared>, Fault> {
        match &self.form {
            Form::Cuda(program) => program.ready(instance, &arrays.0),
            Form::Warp(_) | Form::Python(_) => {
                Err(Fault::Unsupported("only CUDA kernels share arrays".into()))
            }
        }
    }
}

struct CudaRun {
    kernel: Arc<Kernel>,
    stream: Stream,
    shape: LaunchShape,
    packed: Vec<u8>,
    /// Kept alive: the packed parameters hold their addresses.
    arrays: Arc<Arrays>,
    directions: Vec<Option<Direction>>,
}

impl Prepared for CudaRun {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        // SAFETY: number, sizes and alignment of the parameters were compared with the kernel's own code
        // when it was loaded; the addresses are of arrays that live as long as `self`. That the kernel
        // stays inside them is the user's word, who wrote it, and what `verify` looks at.
        unsafe {
            self.stream
                .launch_packed(&self.kernel, self.shape, &mut self.packed)?
        };
        Ok(())
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        // Arrays that candidates share are theirs together: nobody poisons them.
        let Some(arrays) = Arc::get_mut(&mut self.arrays) else {
            return Err(WorkloadError::Failed {
                workload: "case",
                reason: "arrays that several kernels share cannot be poisoned".into(),
            });
        };
        for (array, direction) in arrays.0.iter_mut().zip(&self.directions) {
            // What a kernel also reads keeps its contents.
            if let (Some(array), Some(Direction::Out)) = (array, direction) {
                array.fill(&self.stream, 0x7B)?;
            }
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut bytes = Vec::new();
        for (array, direction) in self.arrays.0.iter().zip(&self.directions) {
            if let (Some(array), Some(Direction::Out | Direction::InOut)) = (array, direction) {
                bytes.extend(array.download(&self.stream, "")?.0);
            }
        }
        Ok(Output::U8(bytes))
    }
}

/// A Warp-style kernel on the CPU: planned once and then run as `exec` runs it, natively where it can be.
struct RunHere {
    module: Module,
    plan: Arc<Plan>,
    dim: Vec<usize>,
    arguments: Vec<Argument>,
}

impl Prepared for RunHere {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let failed = |reason: String| WorkloadError::Failed {
            workload: "case",
            reason,
        };
        let outcome = Interpreter::of(&self.module, Arc::clone(&self.plan))
            .run_native(&self.dim, &mut self.arguments)
            .map_err(|error| failed(error.to_string()))?;
        match outcome.findings.first() {
            Some(finding) => Err(failed(finding.to_string())),
            None => Ok(()),
        }
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let arrays = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Array(array) => Some(array.data.clone()),
            _ => None,
        });
        Ok(Output::U8(arrays.flatten().collect()))
    }
}
