//! The drivers' compiled kernels, kept between runs in the user's cache.
//!
//! Trouble with the file never stops a compilation: drivers check what they are given and compile again.

use std::path::PathBuf;
use std::sync::Mutex;

use warpsmith_formats::write_output;

use crate::nvrtc::CompileCache;

/// Larger files are not read and not written.
const LARGEST: usize = 256 << 20;

/// How much was last written, so that an unchanged cache is not written again.
static WRITTEN: Mutex<usize> = Mutex::new(0);

fn file(id: &[u8]) -> PathBuf {
    let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = CompileCache::for_user().folder().to_owned();
    folder.join(format!("vulkan-{name}.cache"))
}

pub(super) fn read(id: &[u8]) -> Vec<u8> {
    let path = file(id);
    let small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= LARGEST as u64);
    if !small {
        return Vec::new();
    }
    std::fs::read(path).unwrap_or_default()
}

pub(super) fn keep(id: &[u8], data: &[u8]) {
    let mut written = WRITTEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    // A header alone: the driver keeps its code elsewhere.
    if data.len() <= 64 || data.len() > LARGEST || data.len() == *written {
        return;
    }
    let path = file(id);
    let folder = path.parent().map(std::fs::create_dir_all);
    if matches!(folder, Some(Ok(()))) && write_output(&path, data).is_ok() {
        *written = data.len();
    }
}
