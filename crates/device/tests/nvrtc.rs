//! Compiling with real NVRTCs, old and new, from the wheels that `cargo xtask kernels` unpacks; no
//! GPU is needed. Where they are not there the tests count as ignored. Not in `gpu`,
//! which runs on machines without the wheels.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_device::{
    CompileCache, CompileOptions, DeviceError, Nvrtc, Target, kernel_parameters,
};

const SOURCE: &str = "extern \"C\" __global__ void f(float* x) { x[threadIdx.x] *= SCALE; }\n";

fn library(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!(
            "../../target/wheels/nvidia-cuda-nvrtc-cu12-{version}"
        ))
        .join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
}

fn main() {
    let old = library("12.0.140");
    let there = old.exists();
    let test = |name: &str, run: fn(&Nvrtc) -> Result<(), Failed>| {
        let path = old.clone();
        Trial::test(name, move || run(&Nvrtc::open(&path)?)).with_ignored_flag(!there)
    };
    let trials = vec![
        test(
            "ptx_is_for_the_architecture_asked_for",
            ptx_is_for_the_architecture_asked_for,
        ),
        test("machine_code_is_an_elf_image", machine_code_is_an_elf_image),
        test(
            "machine_code_says_where_its_parameters_lie",
            machine_code_says_where_its_parameters_lie,
        ),
        test("an_error_names_file_and_line", an_error_names_file_and_line),
        test("headers_are_found_by_name", headers_are_found_by_name),
        test(
            "an_unknown_architecture_is_refused",
            an_unknown_architecture_is_refused,
        ),
        test(
            "the_second_compilation_comes_from_the_cache",
            the_second_compilation_comes_from_the_cache,
        ),
        Trial::test(
            "a_file_that_is_no_library_is_refused",
            a_file_that_is_no_library_is_refused,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn options(target: Target) -> CompileOptions {
    let mut options = CompileOptions::new(target);
    options.flags.push("--define-macro=SCALE=2.0f".into());
    options
}

fn ensure(holds: bool, message: impl std::fmt::Display) -> Result<(), Failed> {
    if holds {
        Ok(())
    } else {
        Err(message.to_string().into())
    }
}

fn ptx_is_for_the_architecture_asked_for(nvrtc: &Nvrtc) -> Result<(), Failed> {
    let compiled = nvrtc.compile("f.cu", SOURCE, &options(Target::Ptx(70)))?;
    let ptx = compiled.ptx().ok_or("no text")?;
    ensure(nvrtc.version() == (12, 0), format!("{nvrtc:?}"))?;
    ensure(
        ptx.contains(".version 8.0") && ptx.contains(".target sm_70"),
        ptx,
    )?;
    ensure(ptx.contains(".entry f("), ptx)
}

fn machine_code_is_an_elf_image(nvrtc: &Nvrtc) -> Result<(), Failed> {
    let compiled = nvrtc.compile("f.cu", SOURCE, &options(Target::Cubin(90)))?;
    ensure(compiled.code.starts_with(b"\x7fELF"), "no ELF image")
}

fn an_error_names_file_and_line(nvrtc: &Nvrtc) -> Result<(), Failed> {
    let source = format!("{SOURCE}\nint broken() {{ return nonsense; }}\n");
    match nvrtc.compile("kernels/f.cu", &source, &options(Target::Ptx(70))) {
        Err(DeviceError::Compile { log, .. }) => ensure(log.contains("kernels/f.cu(3)"), log),
        other => Err(format!("{other:?}").into()),
    }
}

fn headers_are_found_by_name(nvrtc: &Nvrtc) -> Result<(), Failed> {
    let mut options = CompileOptions::new(Target::Ptx(70));
    options
        .headers
        .push(("scale.cuh".into(), "#define SCALE 3.0f\n".into()));
    let source = format!("#include \"scale.cuh\"\n{SOURCE}");
    nvrtc.compile("f.cu", &source, &options)?;
    Ok(())
}

fn machine_code_says_where_its_parameters_lie(old: &Nvrtc) -> Result<(), Failed> {
    const SOURCE: &str = "struct Pair { double a; char b; };\n\
        extern \"C\" __global__ void many(float* x, char c, int n, Pair p, unsigned long long m) {\n\
        x[n] = c + p.a + p.b + m; }\nextern \"C\" __global__ void none() {}\n";
    let new = library("12.9.86");
    let new = new.exists().then(|| Nvrtc::open(&new)).transpose()?;
    let old_ones = [70, 80, 90].map(|sm| (old, sm));
    let new_ones = new
        .iter()
        .flat_map(|new| [90, 100, 120].map(|sm| (new, sm)));
    for (nvrtc, sm) in old_ones.into_iter().chain(new_ones) {
        let code = nvrtc
            .compile("many.cu", SOURCE, &CompileOptions::new(Target::Cubin(sm)))?
            .code;
        let kernels = kernel_parameters(&code).ok_or("no ELF")?;
        let many = kernels
            .iter()
            .find(|kernel| kernel.name == "many")
            .ok_or("no kernel")?;
        let places: Vec<(usize, usize)> = many
            .parameters
            .iter()
            .map(|place| (place.offset, place.bytes))
            .collect();
        ensure(
            places == [(0, 8), (8, 1), (12, 4), (16, 16), (32, 8)],
            format!("sm_{sm}: {places:?}"),
        )?;
        let none = kernels
            .iter()
            .find(|kernel| kernel.name == "none")
            .ok_or("no kernel")?;
        ensure(none.parameters.is_empty(), "none")?;
        ensure(kernel_parameters(&code[..code.len() / 2]).is_none(), "cut")?;
    }
    Ok(())
}

fn an_unknown_architecture_is_refused(nvrtc: &Nvrtc) -> Result<(), Failed> {
    match nvrtc.compile("f.cu", SOURCE, &options(Target::Cubin(12345))) {
        Err(error @ DeviceError::Compile { .. }) => {
            ensure(error.to_string().contains("sm_12345"), error)
        }
        other => Err(format!("{other:?}").into()),
    }
}

fn the_second_compilation_comes_from_the_cache(nvrtc: &Nvrtc) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let cache = CompileCache::new(folder.path());
    let options = options(Target::Ptx(70));
    let first = cache.compile(nvrtc, "f.cu", SOURCE, &options)?;
    let second = cache.compile(nvrtc, "f.cu", SOURCE, &options)?;
    ensure(!first.from_cache && second.from_cache, "cache")?;
    ensure(first.code == second.code, "the cache changed the code")?;
    // A corrupt entry is reported and compiled again.
    let entry = fs::read_dir(folder.path())?
        .next()
        .ok_or("no entry")??
        .path();
    fs::write(&entry, "junk")?;
    let third = cache.compile(nvrtc, "f.cu", SOURCE, &options)?;
    ensure(third.code == first.code && !third.from_cache, "recompiled")?;
    ensure(
        third.cache_trouble.is_some(),
        "silent about the corrupt entry",
    )?;
    ensure(
        cache.compile(nvrtc, "f.cu", SOURCE, &options)?.from_cache,
        "not fixed",
    )
}

fn a_file_that_is_no_library_is_refused() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), "not a library")?;
    match Nvrtc::open(file.path()) {
        Err(error @ DeviceError::NoCompiler { .. }) => ensure(error.hint().is_some(), "no hint"),
        other => Err(format!("{other:?}").into()),
    }
}
