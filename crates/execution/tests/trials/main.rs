//! Python kernels as SPIR-V and on Vulkan. Trials that need `spirv-val` or a Vulkan driver, and do not find
//! it, count as ignored.

#![allow(clippy::print_stderr, reason = "a trial reports what it counted")]

mod flat_objects;
mod metal;
mod spirv;
mod stated_places;
mod suite;
mod twofold;
mod vulkan;
mod wide_functions;

use std::path::{Path, PathBuf};

use libtest_mimic::Arguments;
use warpsmith_device::{VulkanDevice, vulkan_validation_is_installed};

fn main() {
    // Read when the first instance is made, so that the validation layer hears every trial.
    let wanted = u8::from(vulkan_validation_is_installed()).to_string();
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("WARPSMITH_VULKAN_VALIDATION", wanted) };
    let device = VulkanDevice::open(0);
    if let Err(error) = &device {
        eprintln!("no Vulkan device: {error}");
    }
    let missing = device.is_err();
    drop(device);
    let no_validator = spirv::validator_is_missing();
    let trials = (spirv::trials(no_validator).into_iter())
        .chain(metal::trials())
        .chain(flat_objects::trials())
        .chain(vulkan::trials(missing))
        .chain(wide_functions::trials(missing))
        .chain(stated_places::trials(missing))
        .chain(suite::trials(missing, no_validator));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

/// The kernels that the compiler is tested with.
fn kernel_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler/tests/kernels");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "py"))
        .collect();
    files.sort();
    files
}
