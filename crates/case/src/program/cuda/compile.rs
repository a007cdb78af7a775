//! A case's CUDA file to PTX or machine code, as `nvcc` would compile it.

use std::path::{Path, PathBuf};

use warpsmith_device::{CompileCache, CompileOptions, Compiled, DeviceError, Nvrtc, Target};

use super::include_folders::include_folders;
use crate::cuda_source::read_cuda_source;
use crate::description::{Case, TunableValue};
use crate::host_code::{PRELUDE_NAME, exported_kernels, headers, local_headers, without_host_code};
use crate::program::KernelOf;
use crate::program::fault::Fault;

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

pub(super) fn compile(
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
    let compiled = |code: Compiled, without_host_code: bool| CompiledCuda {
        code: code.code,
        log: code.log,
        without_host_code,
    };
    let plain = cache.kept(nvrtc, &file, &text, &options);
    if let Some(kept) = plain {
        return Ok(compiled(kept, false));
    }
    // What `nvcc` would have compiled: with the runtime's header, and with host code, which it gives to
    // another compiler. Looked up before the plain text is compiled, which fails for a file like that.
    let (device_only, like_nvcc) = device_side(&text, path, &own, &options);
    let host_code = device_only.is_some();
    let device_text = device_only.as_deref().unwrap_or(&text);
    if let Some(kept) = cache.kept(nvrtc, &file, device_text, &like_nvcc) {
        return Ok(compiled(kept, host_code));
    }
    let first = match cache.compile(nvrtc, &file, &text, &options) {
        Ok(done) => return Ok(compiled(done, false)),
        Err(error @ DeviceError::Compile { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    match cache.compile(nvrtc, &file, device_text, &like_nvcc) {
        Ok(done) => Ok(compiled(done, host_code)),
        Err(DeviceError::Compile { file, target, log }) => Err(DeviceError::Compile {
            log: with_hint(log),
            file,
            target,
        }
        .into()),
        Err(_) => Err(first.into()),
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

/// The folder of `-Ifolder`, beside the case where it is relative.
fn include_of(case: &Case, flag: &str) -> Option<PathBuf> {
    let rest = flag
        .strip_prefix("-I")
        .or_else(|| flag.strip_prefix("--include-path="))?;
    let folder = case.file.parent().unwrap_or(Path::new(""));
    Some(folder.join(rest.trim_start_matches('=')))
}

const CUDA_HEADERS: &str = "CUDA's own headers are not installed here: install the toolkit and set `CUDA_HOME`, or \
     `pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12` into the active environment";

/// A compiler's log, with what to do about a header that is missing.
fn with_hint(log: String) -> String {
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
    let of_cuda = [
        "cuda",
        "cooperative_groups",
        "cub/",
        "mma",
        "nv/",
        "thrust/",
    ];
    let hint = match of_cuda.iter().any(|start| name.starts_with(start)) {
        true => CUDA_HEADERS.to_owned(),
        false => {
            format!("`{name}`: name its folder in the case, `[compile]` `flags = [\"-Ifolder\"]`")
        }
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
            with_hint(format!(
                "a.cu(3): catastrophic error: cannot open source file \"{name}\"\n"
            ))
        };
        assert!(log("ggml.h").contains("flags = [\"-Ifolder\"]"));
        assert!(log("cuda_fp16.h").contains("CUDA_HOME"));
        let newer = "a.cu(28): catastrophic error: could not open source file \"cooperative_groups.h\" (no directories)";
        assert!(with_hint(newer.into()).contains("CUDA_HOME"));
        assert_eq!(with_hint("other".into()), "other");
        let narrow = "common.h(186): error: identifier \"__nv_bfloat16\" is undefined";
        assert!(with_hint(narrow.into()).contains("CUDA_HOME"));
        let text = "source = \"a.cu\"\n[compile]\nflags = [\"-Iinc\", \"-O1\"]\n[launch]\ngrid = 1\nblock = 32\n";
        let case = Case::parse(Path::new("a.toml"), text).unwrap();
        assert_eq!(include_of(&case, "-Iinc"), Some(PathBuf::from("inc")));
        assert_eq!(include_of(&case, "-O1"), None);
    }
}
