//! A CUDA kernel on a GPU, from source, PTX or machine code: compared with the case's arguments, launched.

mod arrays;
mod compile;
mod delays;
mod entry;
mod include_folders;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use warpsmith_core::KernelImage;
use warpsmith_device::{
    CompileCache, CompileOptions, CudaDevice, DeviceError, Kernel, LaunchShape, Nvrtc, Target,
};
use warpsmith_measure::kernel_file::{PtxEntry, entries};

use super::fault::Fault;
use super::guarded::download;
use super::ran::Ran;
use super::{KernelOf, Settings};
use crate::description::{Case, Source, TunableValue};
use crate::instance::{Contents, Instance, LaunchNumbers};
pub(super) use arrays::{Arrays, upload_array};
pub use compile::{CompiledCuda, compile_cuda, compile_cuda_file};
use compile::{compile, read};
use entry::{check_signature, entries_of_cubin, find_entry};

/// A kernel that is loaded on a GPU.
pub(super) struct CudaProgram {
    gpu: CudaDevice,
    pub(super) kernel: Arc<Kernel>,
    pub(super) entry: PtxEntry,
    settings: Settings,
    dirt: Option<Arc<Kernel>>,
    /// The launch, where it is not the case's own.
    launch: Option<(Case, crate::description::Launch)>,
}

impl CudaProgram {
    pub(super) fn load(
        kernel: &KernelOf<'_>,
        choice: &[(String, TunableValue)],
        gpu: &CudaDevice,
        settings: Settings,
    ) -> Result<Self, Fault> {
        let module = format!("case/{}", kernel.source.path().display());
        let (entry, image) = match kernel.source {
            Source::Ptx(path) => {
                let ptx = delayed(read(path)?, settings)?;
                let entry = find_entry(kernel, entries(&ptx))?;
                // SAFETY: no parameters are declared, so the checked launch refuses every argument; the
                // packed launch makes the promise for each call.
                let image =
                    unsafe { KernelImage::compiled(module, entry.name.clone(), Vec::new(), ptx) };
                (entry, image)
            }
            Source::Cubin(_) if settings.delays => return Err(no_delays()),
            Source::Cubin(path) => of_machine_code(kernel, module, read_bytes(path)?)?,
            _ => {
                let nvrtc = Nvrtc::find()?;
                let flags: &[String] = match settings.line_info {
                    true => &["-lineinfo".to_owned()],
                    false => &[],
                };
                let sm = gpu.facts().sm();
                let target = match settings.delays {
                    true => Target::Ptx(sm),
                    false => target(kernel.case, sm),
                };
                let compiled = compile(kernel, choice, &nvrtc, target, flags)?.compiled;
                match target {
                    Target::Cubin(_) => of_machine_code(kernel, module, compiled.code)?,
                    Target::Ptx(_) => {
                        let text = String::from_utf8_lossy(&compiled.code);
                        let ptx = delayed(text.trim_end_matches('\0').to_owned(), settings)?;
                        let entry = find_entry(kernel, entries(&ptx))?;
                        // SAFETY: as above.
                        let image = unsafe {
                            KernelImage::compiled(module, entry.name.clone(), Vec::new(), ptx)
                        };
                        (entry, image)
                    }
                }
            }
        };
        check_signature(kernel.case, &entry)?;
        let launch = kernel
            .launch
            .map(|launch| (kernel.case.clone(), launch.clone()));
        Ok(Self {
            kernel: gpu.kernel(&image)?,
            dirt: Nvrtc::find().and_then(|nvrtc| dirt(gpu, &nvrtc)).ok(),
            gpu: gpu.clone(),
            entry,
            settings,
            launch,
        })
    }

    /// The GPU that it is loaded on.
    pub(super) fn gpu(&self) -> &CudaDevice {
        &self.gpu
    }

    /// The shape of a launch at this size.
    pub(super) fn shape(&self, instance: &Instance) -> Result<LaunchShape, Fault> {
        let other = match &self.launch {
            Some((case, launch)) => {
                Some(case.numbers(launch, &case.scope(&instance.size, &instance.choice))?)
            }
            None => None,
        };
        match other.as_ref().unwrap_or(&instance.launch) {
            LaunchNumbers::Grid(shape) => Ok(*shape),
            _ => Err(Fault::Unsupported(
                "a CUDA kernel needs a grid and a block".into(),
            )),
        }
    }

    /// Allows as much dynamic shared memory as the launch asks for.
    pub(super) fn allow_shared(&self, shape: LaunchShape) -> Result<(), Fault> {
        match shape.shared_bytes > 48 << 10 {
            true => Ok(self.kernel.allow_shared_bytes(shape.shared_bytes)?),
            false => Ok(()),
        }
    }

    pub(super) fn run(
        &self,
        instance: &Instance,
        contents: &Contents,
        poison: u8,
    ) -> Result<Ran, Fault> {
        let stream = self.gpu.stream();
        let shape = self.shape(instance)?;
        self.allow_shared(shape)?;
        let arrays = Arrays::upload(&self.gpu, instance, contents, poison, self.settings.guards)?;
        let mut packed = arrays.packed(&self.entry, instance);
        if let Some(dirt) = &self.dirt {
            let blocks = self.gpu.facts().multiprocessors * 8;
            let dirty = LaunchShape {
                grid: [blocks, 1, 1],
                block: [256, 1, 1],
                shared_bytes: 48 << 10,
            };
            let mut words = (48u32 << 10 >> 2).to_le_bytes();
            // SAFETY: the kernel's one parameter is a u32, the words of shared memory that the launch
            // gives it; it touches nothing else.
            unsafe { stream.launch_packed(dirt, dirty, &mut words)? };
        }
        // SAFETY: number, sizes and alignment of the parameters were compared with the kernel's own
        // code; the addresses are of buffers that live until the downloads below have waited. That the
        // kernel stays inside them is what guard zones look at; beyond those it is the user's word, who
        // wrote it.
        unsafe { stream.launch_packed(&self.kernel, shape, &mut packed)? };
        stream.synchronize_within(self.settings.limit)?;
        Ok(download(stream, instance, &arrays.0)?)
    }
}

/// Whether code, PTX or machine code, has the case's kernel, and whether that takes the case's arguments; needs
/// no GPU.
pub fn check_code(case: &Case, code: &[u8]) -> Result<(), Fault> {
    let found = match code.starts_with(b"\x7fELF") {
        true => entries_of_cubin(code).unwrap_or_default(),
        false => entries(&String::from_utf8_lossy(code)),
    };
    let entry = find_entry(&KernelOf::case(case), found)?;
    check_signature(case, &entry)
}

/// The same for a case whose source is PTX or machine code.
pub fn check_binary_source(case: &Case) -> Result<(), Fault> {
    match &case.source {
        Source::Ptx(path) | Source::Cubin(path) => check_code(case, &read_bytes(path)?),
        _ => Ok(()),
    }
}

fn no_delays() -> Fault {
    Fault::Unsupported("there is no access to shared memory that could be delayed".into())
}

/// The text with delays, where the settings say so.
fn delayed(ptx: String, settings: Settings) -> Result<String, Fault> {
    match settings.delays {
        true => delays::with_delays(&ptx).ok_or_else(no_delays),
        false => Ok(ptx),
    }
}

/// What the case's kernel is compiled to for a GPU. Machine code needs no second compiler, which would
/// work on one core; where the case names a virtual architecture, that is what it gets.
pub fn target(case: &Case, sm: u32) -> Target {
    let virtual_architecture = case.flags.iter().any(|flag| {
        flag.starts_with("--gpu-architecture=compute") || flag.starts_with("-arch=compute")
    });
    match virtual_architecture {
        true => Target::Ptx(sm),
        false => Target::Cubin(sm),
    }
}

fn of_machine_code(
    kernel: &KernelOf<'_>,
    module: String,
    code: Vec<u8>,
) -> Result<(PtxEntry, KernelImage), Fault> {
    let Some(found) = entries_of_cubin(&code) else {
        return Err(Fault::Unreadable {
            file: kernel.source.path().display().to_string(),
            seen: "it is no whole cubin (a 64-bit ELF file)".into(),
        });
    };
    let entry = find_entry(kernel, found)?;
    // SAFETY: no parameters are declared, so the checked launch refuses every argument; the packed launch
    // makes the promise for each call. The sections were found inside the image just now.
    let image = unsafe { KernelImage::machine_code(module, entry.name.clone(), Vec::new(), code) };
    Ok((entry, image))
}

/// More bytes than any machine code has.
const MOST_CODE: u64 = 1 << 30;

fn read_bytes(path: &Path) -> Result<Vec<u8>, Fault> {
    let unreadable = |seen: String| Fault::Unreadable {
        file: path.display().to_string(),
        seen,
    };
    let bytes = fs::metadata(path)
        .map_err(|error| unreadable(error.to_string()))?
        .len();
    if bytes > MOST_CODE {
        return Err(unreadable(format!(
            "{bytes} bytes are more than {MOST_CODE}"
        )));
    }
    fs::read(path).map_err(|error| unreadable(error.to_string()))
}

/// Fills shared memory with NaN on every multiprocessor, so that a kernel which reads shared memory
/// that it never wrote finds no zeros there.
fn dirt(gpu: &CudaDevice, nvrtc: &Nvrtc) -> Result<Arc<Kernel>, DeviceError> {
    const SOURCE: &str = "extern \"C\" __global__ void warpsmith_dirt(unsigned int words) {\n\
        extern __shared__ volatile unsigned int shared[];\n\
        for (unsigned int i = threadIdx.x; i < words; i += blockDim.x) shared[i] = 0xFFFFFFFFu;\n}\n";
    let options = CompileOptions::new(Target::Ptx(gpu.facts().sm()));
    let compiled = CompileCache::for_user().compile(nvrtc, "dirt.cu", SOURCE, &options)?;
    let ptx = compiled.ptx().unwrap_or_default().to_owned();
    // SAFETY: no parameters are declared, so the checked launch refuses every argument.
    let image = unsafe {
        KernelImage::compiled("case/dirt".into(), "warpsmith_dirt".into(), Vec::new(), ptx)
    };
    gpu.kernel(&image)
}
