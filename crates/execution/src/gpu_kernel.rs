//! A compiled Python kernel that is loaded on a GPU.

use std::sync::Arc;

use thiserror::Error;
use warpsmith_compiler::ir::{Function, FunctionKind, Module, Origin};
use warpsmith_compiler::launch_abi::{
    AbiError, ArgumentBuffer, BLOCK_DIM, Direction, LaunchBounds, ParameterType, cuda_symbol,
    nvrtc_options,
};
use warpsmith_compiler::{emit_cuda, runtime_header};
use warpsmith_core::KernelImage;
use warpsmith_device::{
    CompileCache, CompileOptions, CudaDevice, DeviceError, Kernel, LaunchShape, Nvrtc, Target,
};
use warpsmith_interpreter::Argument;

use crate::device_arguments::DeviceArguments;
use crate::parameter::parameter_types;
use crate::tile_memory::tile_memory;

/// Why a kernel could not run on the GPU.
#[derive(Debug, Error)]
pub enum RunError {
    /// The device or its compiler failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Arguments that cannot be passed.
    #[error(transparent)]
    Abi(#[from] AbiError),
    /// A kernel that cannot be launched from here.
    #[error("cannot launch a kernel with {0}")]
    Unsupported(String),
    /// The compiler's text calls something that the runtime header lacks.
    #[error("the runtime header lacks {0}")]
    Header(String),
}

/// A kernel on a GPU, forward and backward.
#[derive(Debug)]
pub struct GpuKernel {
    forward: Arc<Kernel>,
    backward: Option<Arc<Kernel>>,
    parameters: Vec<ParameterType>,
    /// Threads in a block.
    block: u32,
    /// Blocks in a cluster, of which a grid has whole ones.
    cluster: u32,
    /// Shared memory of a block for tiles, forward and backward.
    shared: [u32; 2],
}

/// Shared memory that a block can have without asking.
const ALWAYS_ALLOWED: u32 = 48 << 10;

/// How a kernel is compiled for the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// `print`, `printf` and failed expectations are compiled out, so that the standard output is the
    /// program's own.
    pub silent: bool,
    /// A product and a sum may be rounded once, as the compiler does unless told otherwise.
    pub fused: bool,
    /// Threads in a block; what the kernel's decorator says where there are none.
    pub block: Option<u32>,
    /// With the adjoint, which takes longer to compile and needs the gradient of everything it calls.
    pub backward: bool,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            silent: false,
            fused: true,
            block: None,
            backward: true,
        }
    }
}

/// Threads in a block and blocks in a cluster, as the kernel's decorator asks.
fn block_and_cluster(module: &Module) -> Result<(u32, u32), RunError> {
    let FunctionKind::Kernel { options, .. } = &module.kernel.kind else {
        return Ok((BLOCK_DIM, 1));
    };
    let most = u32::try_from(module.types.gpu_block()).unwrap_or(BLOCK_DIM);
    let bound = options.launch_bounds.map(|(threads, _)| threads);
    let block = bound.map_or(most, |threads| {
        u32::try_from(threads).map_or(most, |threads| threads.clamp(1, most))
    });
    match u32::try_from(options.cluster_dim) {
        // Larger clusters are not portable between GPUs.
        Ok(cluster @ 1..=8) => Ok((block, cluster)),
        _ => Err(RunError::Unsupported(format!(
            "clusters of {} blocks; 1 to 8 are portable",
            options.cluster_dim
        ))),
    }
}

impl GpuKernel {
    /// Compiles the module's CUDA text with our runtime header and loads it.
    pub fn build(
        gpu: &CudaDevice,
        nvrtc: &Nvrtc,
        cache: &CompileCache,
        module: &Module,
    ) -> Result<Self, RunError> {
        Self::build_with(gpu, nvrtc, cache, module, Build::default())
    }

    /// As [`GpuKernel::build`], compiled as `build` says.
    pub fn build_with(
        gpu: &CudaDevice,
        nvrtc: &Nvrtc,
        cache: &CompileCache,
        module: &Module,
        build: Build,
    ) -> Result<Self, RunError> {
        let (bounded, cluster) = block_and_cluster(module)?;
        let block = build.block.unwrap_or(bounded);
        let parameters = parameter_types(module).map_err(RunError::Unsupported)?;
        let text = match build.backward {
            true => emit_cuda(module),
            false => emit_cuda(&without_backward(module)),
        };
        let missing = runtime_header::missing(&text);
        if !missing.is_empty() {
            return Err(RunError::Header(missing.join(", ")));
        }
        let silence = if build.silent {
            "#define printf(...) ((void)0)\n"
        } else {
            ""
        };
        let most = usize::try_from(gpu.facts().shared_bytes_per_block).unwrap_or(usize::MAX);
        let forward_memory = tile_memory(module, block, false, most)?;
        let backward_memory = match build.backward {
            true => tile_memory(module, block, true, most)?,
            false => 0,
        };
        let tiles = match forward_memory {
            0 => String::new(),
            _ => format!("#define WP_TILE_BLOCK_DIM {block}\n"),
        };
        let source = tiles + silence + &runtime_header::prologue(&text) + &text;
        let (major, minor) = nvrtc.version();
        let version = (major.cast_unsigned(), minor.cast_unsigned());
        let options = CompileOptions {
            target: Target::Ptx(gpu.facts().sm()),
            flags: nvrtc_options(version)
                .into_iter()
                .chain((!build.fused).then_some("--fmad=false"))
                .map(str::to_owned)
                .collect(),
            headers: Vec::new(),
        };
        let compiled = cache.compile(nvrtc, "kernels.py.cu", &source, &options);
        let compiled = compiled.map_err(|error| match &error {
            DeviceError::Compile { log, .. } => match lacking(log, module) {
                Some(what) => RunError::Header(what),
                None => error.into(),
            },
            _ => error.into(),
        })?;
        let ptx = compiled.ptx().unwrap_or_default().to_owned();
        let native = native_name(&text).ok_or_else(|| RunError::Header("an entry point".into()))?;
        let load = |direction| {
            let entry = cuda_symbol(&native, direction);
            let module = format!("python/{native}");
            // SAFETY: no parameters are declared, so the checked launch refuses every argument; the
            // packed launch below makes the promise for each call.
            let image = unsafe { KernelImage::compiled(module, entry, Vec::new(), ptx.clone()) };
            gpu.kernel(&image)
        };
        let forward = load(Direction::Forward)?;
        // A lookup of what is not there is an error to tools that watch the driver.
        let has_adjoint = text.contains(&cuda_symbol(&native, Direction::Backward));
        let backward = has_adjoint.then(|| load(Direction::Backward)).transpose()?;
        for (kernel, bytes) in [
            (Some(&forward), forward_memory),
            (backward.as_ref(), backward_memory),
        ] {
            if let Some(kernel) = kernel.filter(|_| bytes > ALWAYS_ALLOWED) {
                kernel.allow_shared_bytes(bytes)?;
            }
        }
        Ok(Self {
            forward,
            backward,
            parameters,
            block,
            cluster,
            shared: [forward_memory, backward_memory],
        })
    }

    /// Threads in a block, which is what `block_dim()` gives.
    pub fn block_dim(&self) -> u32 {
        self.block
    }

    /// Whether the kernel has an adjoint.
    pub fn is_differentiable(&self) -> bool {
        self.backward.is_some()
    }

    /// The kernel of a direction.
    pub(crate) fn entry(&self, direction: Direction) -> Result<&Arc<Kernel>, RunError> {
        match (direction, &self.backward) {
            (Direction::Forward, _) => Ok(&self.forward),
            (Direction::Backward, Some(backward)) => Ok(backward),
            (Direction::Backward, None) => {
                Err(RunError::Unsupported("no adjoint, run backwards".into()))
            }
        }
    }

    /// The types of the parameters, in order.
    pub(crate) fn parameters(&self) -> &[ParameterType] {
        &self.parameters
    }

    /// Blocks, threads and shared memory for a grid.
    pub(crate) fn shape(&self, bounds: &LaunchBounds, direction: Direction) -> LaunchShape {
        let blocks = bounds.blocks(self.block).next_multiple_of(self.cluster);
        LaunchShape {
            grid: [blocks, 1, 1],
            block: [self.block, 1, 1],
            shared_bytes: match direction {
                Direction::Forward => self.shared[0],
                Direction::Backward => self.shared[1],
            },
        }
    }

    /// Runs over the grid `dim` and leaves results and gradients in `arguments`.
    ///
    /// # Safety
    /// The kernel stays inside the arrays that it is given: the emitted text checks no index. A run
    /// of the interpreter with the same arguments and no findings shows that.
    pub unsafe fn run(
        &self,
        gpu: &CudaDevice,
        module: &Module,
        direction: Direction,
        dim: &[usize],
        arguments: &mut [Argument],
    ) -> Result<(), RunError> {
        let kernel = self.entry(direction)?;
        let bounds = LaunchBounds::for_rank(dim, launch_rank(module))?;
        let on_device = DeviceArguments::upload(gpu, module, arguments)?;
        let adjoints = (direction == Direction::Backward).then_some(&on_device.adjoints[..]);
        let packed = ArgumentBuffer::pack(&bounds, &self.parameters, &on_device.packed, adjoints)?;
        let shape = self.shape(&bounds, direction);
        let mut bytes = packed.bytes().to_vec();
        // SAFETY: the bytes are packed for exactly this kernel's parameters; the buffers live until
        // the downloads below have waited for the launch; bounds are the caller's promise.
        unsafe { gpu.stream().launch_packed(kernel, shape, &mut bytes)? };
        gpu.stream().synchronize()?;
        on_device.download(gpu, arguments)
    }
}

/// What of the runtime header a compiler's log complains about first, where the kernel has no C++ of its own that
/// may be to blame.
fn lacking(log: &str, module: &Module) -> Option<String> {
    let is_native = |function: &Function| matches!(function.custom().origin, Origin::Native { .. });
    if module.functions.iter().any(is_native) {
        return None;
    }
    let (_, after) = log.split_once("error: ")?;
    let (message, rest) = after.split_once('\n')?;
    // The message names the function, or else the line below shows the call.
    let named = |text: &str, before: &str, behind: char| {
        let (_, name) = text.split_once(before)?;
        let (name, _) = name.split_once(behind)?;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
    };
    let call = rest.lines().next().unwrap_or_default();
    let name = named(message, "\"wp::", '"')
        .or_else(|| named(message, "identifier \"", '"'))
        .or_else(|| named(call, "wp::", '('))?;
    match name.strip_prefix("adj_") {
        Some(forward) => Some(format!("the gradient of `{forward}` in this form")),
        None if name.starts_with("var_") => None,
        None => Some(format!("`{name}` in this form")),
    }
}

/// The module without its adjoint.
fn without_backward(module: &Module) -> Module {
    let mut module = module.clone();
    // `wp.grad(f)` calls an adjoint in the forward pass.
    let asks_gradient = (module.functions.iter().chain([&module.kernel]))
        .any(|function| function.takes_gradients(&module.names));
    if let FunctionKind::Kernel { options, .. } = &mut module.kernel.kind {
        options.backward = false;
    }
    for function in &mut module.functions {
        if let FunctionKind::Device { adjoint, .. } = &mut function.kind {
            *adjoint &= asks_gradient;
        }
    }
    module
}

/// How many coordinates the kernel asks for.
pub(crate) fn launch_rank(module: &Module) -> usize {
    match &module.kernel.kind {
        FunctionKind::Kernel { launch_rank, .. } => *launch_rank as usize,
        FunctionKind::Device { .. } => 1,
    }
}

/// The kernel's name in the text, from its entry point.
fn native_name(text: &str) -> Option<String> {
    let (before, _) = text.split_once("_cuda_kernel_forward(")?;
    let start = before
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| at + 1);
    Some(before[start..].to_owned())
}

#[cfg(test)]
mod tests {
    use warpsmith_compiler::{Options, compile};

    use super::*;

    #[test]
    fn a_log_of_the_compiler_names_what_the_header_lacks() {
        let source = "import warp as wp\n\n@wp.kernel\ndef f():\n    i = wp.tid()\n";
        let module = compile(source, &Options::default()).unwrap();
        let log = "k.cu(9): error: identifier \"adj_tile_lower_solve\" is undefined\n      x\n";
        assert_eq!(
            lacking(log, &module).as_deref(),
            Some("the gradient of `tile_lower_solve` in this form")
        );
        let log = "k.cu(9): warning: w\nk.cu(9): error: no instance of function template \"wp::tile_dot\" matches\n";
        assert_eq!(
            lacking(log, &module).as_deref(),
            Some("`tile_dot` in this form")
        );
        assert_eq!(
            lacking("k.cu(9): error: expected a \";\"\n  x\n", &module),
            None
        );
    }

    #[test]
    fn the_native_name_is_read_from_the_entry_point() {
        let text = "extern \"C\" __global__ void saxpy_HASH_cuda_kernel_forward(\n    int x)";
        assert_eq!(native_name(text).as_deref(), Some("saxpy_HASH"));
        assert_eq!(native_name("nothing"), None);
    }
}
