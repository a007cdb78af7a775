//! A CUDA or PTX kernel on a GPU: compiled, compared with the case's arguments, launched.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpsmith_core::KernelImage;
use warpsmith_device::{
    CompileCache, CompileOptions, CudaDevice, DeviceError, Kernel, LaunchShape, Nvrtc, Target,
};
use warpsmith_measure::kernel_file::{PtxEntry, entries};

use super::fault::Fault;
use super::guarded::GuardedArray;
use super::ran::Ran;
use super::{KernelOf, Settings};
use crate::description::{ArgumentKind, Case, Source, TunableValue};
use crate::document::Place;
use crate::host_code::{PRELUDE_NAME, exported_kernels, headers, local_headers, without_host_code};
use crate::instance::{BoundValue, Contents, Instance, LaunchNumbers};

/// A CUDA file as PTX or machine code.
pub struct CompiledCuda {
    /// PTX text, or an ELF image.
    pub code: Vec<u8>,
    /// Warnings.
    pub log: String,
    /// Whether functions of the host were left out so that it compiles.
    pub without_host_code: bool,
}

/// Compiles the case's CUDA file with a choice of tunables.
pub fn compile_cuda(
    case: &Case,
    choice: &[(String, TunableValue)],
    nvrtc: &Nvrtc,
    target: Target,
    further_flags: &[String],
) -> Result<CompiledCuda, Fault> {
    compile(&KernelOf::case(case), choice, nvrtc, target, further_flags)
}

fn compile(
    kernel: &KernelOf<'_>,
    choice: &[(String, TunableValue)],
    nvrtc: &Nvrtc,
    target: Target,
    further_flags: &[String],
) -> Result<CompiledCuda, Fault> {
    let path = kernel.source.path();
    let text = read(path)?;
    let mut text = exported_kernels(&text).unwrap_or(text);
    if let Some(instance) = kernel.kernel.filter(|name| name.contains('<')) {
        // An instance of a template exists only where something asks for it.
        text.push_str(&format!(
            "\ntemplate __global__ decltype({instance}) {instance};\n"
        ));
    }
    let mut options = CompileOptions::new(target);
    let case = kernel.case;
    let defines = case
        .defines
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    let chosen = choice
        .iter()
        .map(|(name, value)| (name.clone(), value.to_string()));
    for (name, value) in defines.chain(chosen) {
        options.flags.push(match name.starts_with('-') {
            true => format!("{name}={value}"),
            false => format!("-D{name}={value}"),
        });
    }
    let own: Vec<PathBuf> = case
        .flags
        .iter()
        .filter_map(|flag| include_of(case, flag))
        .collect();
    let mut folders: Vec<PathBuf> = path.parent().map(Path::to_owned).into_iter().collect();
    folders.extend(own.iter().cloned());
    let cuda = include_folders();
    let libcuxx = cuda.iter().any(|folder| folder.join("cuda/std").is_dir());
    folders.extend(cuda);
    for folder in folders {
        if !folder.as_os_str().is_empty() {
            options.flags.push(format!("-I{}", folder.display()));
        }
    }
    let others = case
        .flags
        .iter()
        .filter(|flag| include_of(case, flag).is_none());
    options.flags.extend(others.cloned());
    options.flags.extend(further_flags.iter().cloned());
    options.headers = headers(libcuxx);
    let file = path.display().to_string();
    let cache = CompileCache::for_user();
    let first = match cache.compile(nvrtc, &file, &text, &options) {
        Ok(compiled) => {
            return Ok(CompiledCuda {
                code: compiled.code,
                log: compiled.log,
                without_host_code: false,
            });
        }
        Err(error @ DeviceError::Compile { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    // What `nvcc` would have compiled: with the runtime's header, and with host code, which it gives to
    // another compiler.
    let without = without_host_code(&text);
    let host_code = without.is_some();
    let device_only = without.unwrap_or(text);
    for (name, header) in local_headers(path, &device_only, &own) {
        match options.headers.iter().any(|(known, _)| *known == name) {
            true => {}
            false => options.headers.push((name, header)),
        }
    }
    options.flags.push(format!("--pre-include={PRELUDE_NAME}"));
    options.flags.push("-default-device".into());
    match cache.compile(nvrtc, &file, &device_only, &options) {
        Ok(compiled) => Ok(CompiledCuda {
            code: compiled.code,
            log: compiled.log,
            without_host_code: host_code,
        }),
        Err(DeviceError::Compile { file, target, log }) => Err(DeviceError::Compile {
            log: with_hint(log),
            file,
            target,
        }
        .into()),
        Err(_) => Err(first.into()),
    }
}

/// The folder of `-Ifolder`, beside the case where it is relative.
fn include_of(case: &Case, flag: &str) -> Option<PathBuf> {
    let rest = flag
        .strip_prefix("-I")
        .or_else(|| flag.strip_prefix("--include-path="))?;
    let folder = case.file.parent().unwrap_or(Path::new(""));
    Some(folder.join(rest.trim_start_matches('=')))
}

/// A compiler's log, with what to do about a header that is missing.
fn with_hint(log: String) -> String {
    let Some(name) = log
        .split_once("cannot open source file \"")
        .and_then(|(_, rest)| rest.split('"').next())
    else {
        return log;
    };
    let of_cuda = [
        "cuda",
        "cooperative_groups",
        "cub/",
        "mma",
        "nv/",
        "thrust/",
    ];
    let hint = match of_cuda.iter().any(|start| name.starts_with(start)) {
        true => {
            "CUDA's own headers are not installed here: install the toolkit and set `CUDA_HOME`, or \
             `pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12` into the active environment"
                .to_owned()
        }
        false => format!("`{name}`: name its folder in the case, `[compile]` `flags = [\"-Ifolder\"]`"),
    };
    format!("{}\nhint: {hint}", log.trim_end())
}

fn read(path: &Path) -> Result<String, Fault> {
    fs::read_to_string(path).map_err(|error| Fault::Unreadable {
        file: path.display().to_string(),
        seen: error.to_string(),
    })
}

/// Folders with CUDA's own headers (`cuda_fp16.h`, `cooperative_groups.h`) and those of its C++ library,
/// where they are installed.
fn include_folders() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"]
        .iter()
        .filter_map(|name| Some(PathBuf::from(env::var_os(name)?).join("include")))
        .collect();
    found.push("/usr/local/cuda/include".into());
    if let Some(prefix) = env::var_os("VIRTUAL_ENV").or_else(|| env::var_os("CONDA_PREFIX"))
        && let Ok(pythons) = fs::read_dir(Path::new(&prefix).join("lib"))
    {
        for python in pythons.flatten() {
            let site = python.path().join("site-packages/nvidia");
            found.extend(["cu13/include", "cuda_runtime/include"].map(|folder| site.join(folder)));
        }
    }
    complete(found)
}

/// The first folder that has the headers, and beside it what they include themselves.
fn complete(mut found: Vec<PathBuf>) -> Vec<PathBuf> {
    found.retain(|folder| folder.join("cuda_fp16.h").exists());
    found.truncate(1);
    if let Some(folder) = found.first().cloned() {
        // Its own folder in a toolkit from 13 on, a package of its own among wheels.
        let package = folder
            .ancestors()
            .nth(2)
            .map(|site| site.join("cuda_cccl/include"));
        let library = [Some(folder.join("cccl")), package, Some(folder.clone())];
        let target = library
            .into_iter()
            .flatten()
            .find(|one| one.join("nv/target").exists());
        found.extend(target.filter(|one| *one != folder));
    }
    found
}

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
        let (ptx, nvrtc) = match kernel.source {
            Source::Ptx(path) => (read(path)?, Nvrtc::find().ok()),
            _ => {
                let nvrtc = Nvrtc::find()?;
                let flags: &[String] = match settings.line_info {
                    true => &["-lineinfo".to_owned()],
                    false => &[],
                };
                let target = Target::Ptx(gpu.facts().sm());
                let compiled = compile(kernel, choice, &nvrtc, target, flags)?;
                let text = String::from_utf8_lossy(&compiled.code)
                    .trim_end_matches('\0')
                    .to_owned();
                (text, Some(nvrtc))
            }
        };
        let entry = find_entry(kernel, &ptx)?;
        check_signature(kernel.case, &entry)?;
        // SAFETY: no parameters are declared, so the checked launch refuses every argument; the
        // packed launch makes the promise for each call.
        let image = unsafe {
            KernelImage::compiled(
                format!("case/{}", kernel.source.path().display()),
                entry.name.clone(),
                Vec::new(),
                ptx,
            )
        };
        let launch = kernel
            .launch
            .map(|launch| (kernel.case.clone(), launch.clone()));
        Ok(Self {
            kernel: gpu.kernel(&image)?,
            dirt: nvrtc.and_then(|nvrtc| dirt(gpu, &nvrtc).ok()),
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
        let (arrays, mut packed) = upload(
            &self.gpu,
            &self.entry,
            instance,
            contents,
            poison,
            self.settings.guards,
        )?;
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
        // PTX; the addresses are of buffers that live until the downloads below have waited. That the
        // kernel stays inside them is what guard zones look at; beyond those it is the user's word, who
        // wrote it.
        unsafe { stream.launch_packed(&self.kernel, shape, &mut packed)? };
        stream.synchronize_within(self.settings.limit)?;
        let mut ran = Ran::default();
        for (argument, array) in instance.arguments.iter().zip(&arrays) {
            ran.arrays.push(match array {
                None => None,
                Some(array) => {
                    let (bytes, touched) = array.download(stream, &argument.name)?;
                    ran.guards.extend(touched);
                    Some(bytes)
                }
            });
        }
        Ok(ran)
    }
}

/// Uploads every array and packs the parameters as C lays them out.
pub(super) fn upload(
    gpu: &CudaDevice,
    entry: &PtxEntry,
    instance: &Instance,
    contents: &Contents,
    poison: u8,
    guards: bool,
) -> Result<(Vec<Option<GuardedArray>>, Vec<u8>), Fault> {
    let mut arrays = Vec::new();
    let mut packed = Vec::new();
    for ((argument, content), parameter) in instance
        .arguments
        .iter()
        .zip(contents)
        .zip(&entry.parameters)
    {
        let at = packed.len().next_multiple_of(parameter.alignment.max(1));
        packed.resize(at, 0);
        arrays.push(match &argument.value {
            BoundValue::Number { bytes, .. } => {
                packed.extend(bytes);
                None
            }
            BoundValue::Array { shape, .. } => {
                let array = upload_array(
                    gpu,
                    argument.scalar.bytes(),
                    shape,
                    content.as_deref(),
                    poison,
                    guards,
                )?;
                packed.extend(array.address().to_le_bytes());
                Some(array)
            }
        });
    }
    Ok((arrays, packed))
}

/// Uploads an array; what has no content holds poison.
pub(super) fn upload_array(
    gpu: &CudaDevice,
    width: usize,
    shape: &[usize],
    content: Option<&[u8]>,
    poison: u8,
    guards: bool,
) -> Result<GuardedArray, Fault> {
    let row = shape.last().copied().unwrap_or(1) * width;
    let poisoned;
    let bytes = match content {
        Some(content) => content,
        None => {
            poisoned = vec![poison; shape.iter().product::<usize>() * width];
            &poisoned
        }
    };
    Ok(GuardedArray::upload(gpu, bytes, row, guards)?)
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

/// The entry that the case means: by its name, by a C++ name that the compiler has mangled, or the only
/// one.
fn find_entry(kernel: &KernelOf<'_>, ptx: &str) -> Result<PtxEntry, Fault> {
    let mut found = entries(ptx);
    let file = kernel.source.path().display();
    let place = Place {
        line: 1,
        key: "kernel".into(),
    };
    let refuse = |problem: String| Fault::Case(kernel.case.error(&place, problem));
    let names: Vec<String> = found
        .iter()
        .map(|entry| format!("`{}`", entry.name))
        .collect();
    let at = match kernel.kernel {
        None if found.len() == 1 => Some(0),
        None if found.is_empty() => {
            return Err(refuse(format!("`{file}` has no kernel")));
        }
        None => {
            let problem = format!(
                "missing: `{file}` has {} kernels: {}",
                found.len(),
                names.join(", ")
            );
            return Err(refuse(problem));
        }
        Some(name) => found
            .iter()
            .position(|entry| is_entry_of(name, &entry.name)),
    };
    match at {
        Some(at) => Ok(found.swap_remove(at)),
        None => {
            let name = kernel.kernel.unwrap_or_default();
            Err(refuse(match names.is_empty() {
                true => format!(
                    "`{file}` has no kernel `{name}` (hint: an instance of a template is named with its \
                     arguments, `{name}<float>`)"
                ),
                false => format!(
                    "`{file}` has no kernel `{name}`; it has {}",
                    names.join(", ")
                ),
            }))
        }
    }
}

/// Whether a symbol is the kernel of this name: the same, or what a C++ compiler makes of it
/// (`_Z7softmax…`, `_ZN2ns7softmax…`; an instance of a template goes on with `I`).
pub(crate) fn is_entry_of(name: &str, symbol: &str) -> bool {
    if symbol == name {
        return true;
    }
    let plain = name.split('<').next().unwrap_or(name).trim();
    let plain = plain.rsplit("::").next().unwrap_or(plain);
    let mangled = format!("{}{plain}", plain.len());
    let Some(at) = symbol.find(&mangled).filter(|_| symbol.starts_with("_Z")) else {
        return false;
    };
    let longer_number = symbol[..at].ends_with(|c: char| c.is_ascii_digit());
    let instance = symbol[at + mangled.len()..].starts_with('I');
    !longer_number && name.contains('<') == instance
}

/// Number and size of the case's arguments against the kernel's parameters.
fn check_signature(case: &Case, entry: &PtxEntry) -> Result<(), Fault> {
    let top = Place {
        line: 1,
        key: "arguments".into(),
    };
    if case.arguments.len() != entry.parameters.len() {
        let problem = format!(
            "the case has {} arguments, the kernel `{}` takes {}",
            case.arguments.len(),
            entry.name,
            entry.parameters.len()
        );
        let place = case
            .arguments
            .first()
            .map_or(&top, |argument| &argument.place);
        return Err(case.error(place, problem).into());
    }
    for (argument, parameter) in case.arguments.iter().zip(&entry.parameters) {
        let (bytes, what) = match argument.kind {
            ArgumentKind::Array { .. } => {
                (8, "an array, which is an address of 8 bytes".to_owned())
            }
            _ => (
                argument.scalar.bytes(),
                format!(
                    "{} of {} bytes",
                    argument.scalar.name(),
                    argument.scalar.bytes()
                ),
            ),
        };
        if bytes != parameter.bytes {
            let problem = format!(
                "`{}` is {what}; the kernel's parameter there has {} bytes",
                argument.name, parameter.bytes
            );
            return Err(case.error(&argument.place, problem).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry _Z7softmaxPfPKfi(.param .u64 a, .param .u64 b, .param .u32 n)\n{ }\n\
        .visible .entry plain(.param .u64 a)\n{ }\n.visible .entry _Z4tileIfLi32EEvPT_(.param .u64 a)\n{ }";

    fn case(arguments: &str) -> Case {
        let text = format!("source = \"a.cu\"\n{arguments}[launch]\ngrid = 1\nblock = 32\n");
        Case::parse(Path::new("a.toml"), &text).unwrap()
    }

    fn found(name: Option<&str>) -> Result<String, String> {
        let case = case("");
        let kernel = KernelOf {
            kernel: name,
            ..KernelOf::case(&case)
        };
        find_entry(&kernel, PTX)
            .map(|entry| entry.name)
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn kernels_are_found_by_their_written_names() {
        assert_eq!(found(Some("softmax")).unwrap(), "_Z7softmaxPfPKfi");
        assert_eq!(found(Some("plain")).unwrap(), "plain");
        assert_eq!(
            found(Some("tile<float, 32>")).unwrap(),
            "_Z4tileIfLi32EEvPT_"
        );
        assert!(
            found(Some("max"))
                .unwrap_err()
                .contains("a.toml:1: `kernel`")
        );
        assert!(found(Some("tile")).is_err());
        assert!(found(None).unwrap_err().contains("3 kernels"));
    }

    #[test]
    fn a_missing_header_comes_with_its_remedy() {
        let log = |name: &str| {
            with_hint(format!(
                "a.cu(3): catastrophic error: cannot open source file \"{name}\"\n"
            ))
        };
        assert!(log("ggml.h").contains("flags = [\"-Ifolder\"]"));
        assert!(log("cuda_fp16.h").contains("CUDA_HOME"));
        assert_eq!(with_hint("other".into()), "other");
        let case = case("[compile]\nflags = [\"-Iinc\", \"-O1\"]\n");
        assert_eq!(include_of(&case, "-Iinc"), Some(PathBuf::from("inc")));
        assert_eq!(include_of(&case, "-O1"), None);
    }

    #[test]
    fn a_case_that_contradicts_the_signature_names_the_argument() {
        let entry = entries(PTX).swap_remove(0);
        let few = case("[[arguments]]\nname = \"x\"\ntype = \"i32\"\nvalue = 1\n");
        let error = check_signature(&few, &entry).unwrap_err().to_string();
        assert!(
            error.contains("a.toml:2: `arguments[0]`: the case has 1 arguments"),
            "{error}"
        );
        let one =
            |name: &str| format!("[[arguments]]\nname = \"{name}\"\ntype = \"i64\"\nvalue = 1\n");
        let wrong = case(&(one("a") + &one("b") + &one("n")));
        let error = check_signature(&wrong, &entry).unwrap_err().to_string();
        assert!(
            error.contains(
                ":10: `arguments[2]`: `n` is i64 of 8 bytes; the kernel's parameter there has 4"
            ),
            "{error}"
        );
    }

    #[test]
    fn headers_of_wheels_come_with_what_they_include() {
        let site = tempfile::tempdir().unwrap();
        let [runtime, parts] =
            ["cuda_runtime/include", "cuda_cccl/include"].map(|folder| site.path().join(folder));
        assert!(complete(vec![runtime.clone()]).is_empty());
        fs::create_dir_all(&runtime).unwrap();
        fs::write(runtime.join("cuda_fp16.h"), "").unwrap();
        assert_eq!(
            complete(vec![runtime.clone()]),
            *std::slice::from_ref(&runtime)
        );
        fs::create_dir_all(parts.join("nv")).unwrap();
        fs::write(parts.join("nv/target"), "").unwrap();
        assert_eq!(complete(vec![runtime.clone()]), [runtime, parts]);
    }
}
