//! A case's CUDA file to PTX or machine code, as `nvcc` would compile it.

use std::path::{Path, PathBuf};

use warpsmith_device::{CompileCache, CompileOptions, Compiled, DeviceError, Nvrtc, Target};

use super::include_folders::include_folders;
use crate::cuda_source::read_cuda_source;
use crate::description::{Case, TunableValue};
use crate::host_code::{PRELUDE_NAME, exported_kernels, headers, local_headers, without_host_code};
use crate::program::KernelOf;
use crate::program::fault::Fault;
use crate::signature::kernel_signatures;

/// A CUDA file as PTX or machine code.
#[derive(Debug)]
pub struct CompiledCuda {
    /// The code, and what the compiler and its cache said.
    pub compiled: Compiled,
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

/// Compiles a CUDA file by itself; folders of `-I` in the flags count from the working directory.
pub fn compile_cuda_file(
    path: &Path,
    flags: &[String],
    nvrtc: &Nvrtc,
    target: Target,
) -> Result<CompiledCuda, Fault> {
    let (own, flags) = split_flags(flags, Path::new(""));
    // Of templates there is what the host code launches, as `nvcc` has it.
    let templates = kernel_signatures(&read(path)?).into_iter();
    let launched = templates.filter(|kernel| !kernel.template.is_empty() && kernel.is_launched);
    let file = CudaFile {
        path,
        instances: launched.map(|kernel| kernel.instance).collect(),
        own,
        flags,
        names_folders: "`--flag=-Ifolder`",
    };
    match file.compile(nvrtc, target) {
        // The arguments of a template may be the host code's own variables.
        Err(_) if !file.instances.is_empty() => {
            let instances = Vec::new();
            CudaFile { instances, ..file }.compile(nvrtc, target)
        }
        done => done,
    }
}

pub(super) fn compile(
    kernel: &KernelOf<'_>,
    choice: &[(String, TunableValue)],
    nvrtc: &Nvrtc,
    target: Target,
    further_flags: &[String],
) -> Result<CompiledCuda, Fault> {
    let case = kernel.case;
    let (own, others) = split_flags(&case.flags, case.file.parent().unwrap_or(Path::new("")));
    let defines = case
        .defines
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    let chosen = choice
        .iter()
        .map(|(name, value)| (name.clone(), value.to_string()));
    let defines = defines.chain(chosen).map(|(name, value)| match name {
        name if name.starts_with('-') => format!("{name}={value}"),
        name => format!("-D{name}={value}"),
    });
    let file = CudaFile {
        path: kernel.source.path(),
        // An instance of a template exists only where something asks for it.
        instances: kernel
            .kernel
            .filter(|name| name.contains('<'))
            .map(str::to_owned)
            .into_iter()
            .collect(),
        own,
        flags: defines
            .chain(others)
            .chain(further_flags.iter().cloned())
            .collect(),
        names_folders: OF_A_CASE,
    };
    file.compile(nvrtc, target)
}

/// A CUDA file and how it is compiled.
struct CudaFile<'a> {
    path: &'a Path,
    /// The instances of templates that are wanted.
    instances: Vec<String>,
    /// Folders of headers that the user names.
    own: Vec<PathBuf>,
    /// The other options.
    flags: Vec<String>,
    /// How the user names such a folder.
    names_folders: &'static str,
}

/// Where a header of the project may lie, seen from the folders above the file that includes it.
const PLACES: [&str; 6] = ["", "include", "inc", "src", "common", "Common"];

/// The folder of a header, if it is near the file that includes it.
fn folder_near(file: &Path, header: &str) -> Option<PathBuf> {
    let above = std::path::absolute(file).ok()?;
    let folders = above.ancestors().skip(1).take(4);
    let mut near = folders.flat_map(|folder| PLACES.map(|place| folder.join(place)));
    near.find(|folder| folder.join(header).is_file())
}

impl CudaFile<'_> {
    fn compile(&self, nvrtc: &Nvrtc, target: Target) -> Result<CompiledCuda, Fault> {
        let path = self.path;
        let text = read(path)?;
        let mut text = exported_kernels(&text).unwrap_or(text);
        for instance in &self.instances {
            text.push_str(&format!(
                "\ntemplate __global__ decltype({instance}) {instance};\n"
            ));
        }
        let mut options = CompileOptions::new(target);
        let mut folders: Vec<PathBuf> = path.parent().map(Path::to_owned).into_iter().collect();
        folders.extend(self.own.iter().cloned());
        let cuda = include_folders(nvrtc);
        let libcuxx = cuda.iter().any(|folder| folder.join("cuda/std").is_dir());
        folders.extend(cuda);
        folders.retain(|folder| !folder.as_os_str().is_empty());
        let folders = folders
            .iter()
            .map(|folder| format!("-I{}", folder.display()));
        options
            .flags
            .extend(folders.chain(self.flags.iter().cloned()));
        options.headers = headers(libcuxx);
        let file = path.display().to_string();
        let cache = CompileCache::for_user();
        let of_plain = |compiled| CompiledCuda {
            compiled,
            without_host_code: false,
        };
        if let Some(kept) = cache.kept(nvrtc, &file, &text, &options) {
            return Ok(of_plain(kept));
        }
        // What `nvcc` would have compiled: with the runtime's header, and with host code, which it gives to
        // another compiler. Looked up before the plain text is compiled, which fails for a file like that.
        let (device_only, like_nvcc) = device_side(&text, path, &self.own, &options);
        let of_device = |compiled| CompiledCuda {
            compiled,
            without_host_code: device_only.is_some(),
        };
        let device_text = device_only.as_deref().unwrap_or(&text);
        if let Some(kept) = cache.kept(nvrtc, &file, device_text, &like_nvcc) {
            return Ok(of_device(kept));
        }
        let first = match cache.compile(nvrtc, &file, &text, &options) {
            Ok(compiled) => return Ok(of_plain(compiled)),
            Err(error @ DeviceError::Compile { .. }) => error,
            Err(error) => return Err(error.into()),
        };
        match cache.compile(nvrtc, &file, device_text, &like_nvcc) {
            Ok(compiled) => Ok(of_device(compiled)),
            Err(DeviceError::Compile { file, target, log }) => Err(DeviceError::Compile {
                log: with_hint(log, self.names_folders, path),
                file,
                target,
            }
            .into()),
            Err(_) => Err(first.into()),
        }
    }
}

/// The text without its host code, where it has some, and options that stand in for what `nvcc` adds.
fn device_side(
    text: &str,
    path: &Path,
    own: &[PathBuf],
    options: &CompileOptions,
) -> (Option<String>, CompileOptions) {
    let device_only = without_host_code(text);
    let mut like_nvcc = options.clone();
    for (name, header) in local_headers(path, device_only.as_deref().unwrap_or(text), own) {
        if !like_nvcc.headers.iter().any(|(known, _)| *known == name) {
            like_nvcc.headers.push((name, header));
        }
    }
    like_nvcc
        .flags
        .push(format!("--pre-include={PRELUDE_NAME}"));
    like_nvcc.flags.push("-default-device".into());
    (device_only, like_nvcc)
}

/// The folders of `-Ifolder` below a base, where they are relative, and the other flags.
fn split_flags(flags: &[String], base: &Path) -> (Vec<PathBuf>, Vec<String>) {
    let (mut folders, mut others) = (Vec::new(), Vec::new());
    for flag in flags {
        let folder = flag.strip_prefix("-I");
        match folder.or_else(|| flag.strip_prefix("--include-path=")) {
            Some(folder) => folders.push(base.join(folder.trim_start_matches('='))),
            None => others.push(flag.clone()),
        }
    }
    (folders, others)
}

const OF_A_CASE: &str = "in the case, `[compile]` `flags = [\"-Ifolder\"]`";

const CUDA_HEADERS: &str = "CUDA's own headers are not installed here: install the toolkit and set `CUDA_HOME`, or \
     `pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12` into the active environment";
const NVCC_HEADERS: &str = "this header comes with the compiler: install the toolkit and set `CUDA_HOME`, or \
     `pip install nvidia-cuda-nvcc-cu12` into the active environment";

const CURAND_HEADERS: &str = "this header comes with cuRAND: install the toolkit and set `CUDA_HOME`, or \
     `pip install nvidia-curand-cu12` into the active environment";

/// Where the headers of CUDA's own that kernels include come from, by how their names begin.
const OF_CUDA: [(&str, &str); 15] = [
    ("cuda.h", CUDA_HEADERS),
    ("cuda/", CUDA_HEADERS),
    ("cuda_awbarrier", CUDA_HEADERS),
    ("cuda_bf16.", CUDA_HEADERS),
    ("cuda_device_runtime", CUDA_HEADERS),
    ("cuda_fp", CUDA_HEADERS),
    ("cuda_pipeline", CUDA_HEADERS),
    ("cuda_runtime", CUDA_HEADERS),
    ("cooperative_groups", CUDA_HEADERS),
    ("cub/", CUDA_HEADERS),
    ("mma", CUDA_HEADERS),
    ("nv/", CUDA_HEADERS),
    ("thrust/", CUDA_HEADERS),
    ("crt/", NVCC_HEADERS),
    ("curand", CURAND_HEADERS),
];

/// A compiler's log of `file`, with what to do about a header that is missing; `names_folders` says how its folder is
/// named.
fn with_hint(log: String, names_folders: &str, file: &Path) -> String {
    // "cannot open", and "could not open" from newer compilers.
    let Some(name) = log
        .split_once(" open source file \"")
        .and_then(|(_, rest)| rest.split('"').next())
    else {
        // What a library's header would have brought along.
        let narrow = ["__nv_bfloat16", "nv_bfloat16", "__half", "half"];
        let missing = |name: &&str| log.contains(&format!("identifier \"{name}\" is undefined"));
        return match narrow.iter().any(missing) {
            true => format!("{}\nhint: {CUDA_HEADERS}", log.trim_end()),
            false => log,
        };
    };
    let of_cuda = OF_CUDA.iter().find(|(start, _)| name.starts_with(start));
    let hint = match of_cuda {
        Some((_, hint)) => (*hint).to_owned(),
        None => match folder_near(file, name) {
            Some(folder) => {
                let folder = folder.display();
                let named = names_folders.replace("folder", &folder.to_string());
                format!("`{name}` lies in `{folder}`: name that folder, {named}")
            }
            None => format!("`{name}`: name its folder, {names_folders}"),
        },
    };
    format!("{}\nhint: {hint}", log.trim_end())
}

pub(super) fn read(path: &Path) -> Result<String, Fault> {
    read_cuda_source(path).map_err(|error| Fault::Unreadable {
        file: path.display().to_string(),
        seen: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_header_comes_with_its_remedy() {
        let log = |name: &str| {
            let log = format!("a.cu(3): catastrophic error: cannot open source file \"{name}\"\n");
            with_hint(log, OF_A_CASE, Path::new("a.cu"))
        };
        for name in ["ggml.h", "cuda_common.h", "cudnn_helpers.h"] {
            assert!(log(name).contains("flags = [\"-Ifolder\"]"), "{name}");
        }
        assert!(log("cuda_fp16.h").contains("nvidia-cuda-runtime"));
        assert!(log("crt/mma.h").contains("nvidia-cuda-nvcc"));
        let newer = "a.cu(28): catastrophic error: could not open source file \"cooperative_groups.h\" (no directories)";
        assert!(with_hint(newer.into(), "", Path::new("a.cu")).contains("CUDA_HOME"));
        assert_eq!(with_hint("other".into(), "", Path::new("a.cu")), "other");
        let narrow = "common.h(186): error: identifier \"__nv_bfloat16\" is undefined";
        assert!(with_hint(narrow.into(), "", Path::new("a.cu")).contains("CUDA_HOME"));
        let text = "source = \"a.cu\"\n[compile]\nflags = [\"-Iinc\", \"-O1\"]\n[launch]\ngrid = 1\nblock = 32\n";
        let case = Case::parse(Path::new("a.toml"), text).unwrap();
        let (own, others) = split_flags(&case.flags, Path::new("here"));
        assert_eq!((own, others), (vec!["here/inc".into()], vec!["-O1".into()]));
    }
}
