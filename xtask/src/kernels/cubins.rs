//! Machine code for releases: every kernel for every architecture of the list, with an index that
//! the program's build script reads. No binary goes into git.
//!
//! It takes many minutes, so all cores compile, and an image is named by what it is made from: a build
//! that was stopped, or that follows a change of one kernel, compiles only what is missing.

use std::collections::BTreeSet;
use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};
use serde::Serialize;
use warpsmith_device::Target;

use super::compile::{self, MACHINE_CODE_COMPILER};
use super::lock;
use super::source::Source;
use crate::workspace;

/// Volta to Blackwell; machine code of one architecture also runs on later ones of its major.
const ARCHITECTURES: [u32; 8] = [70, 75, 80, 86, 89, 90, 100, 120];

#[derive(Serialize)]
struct Entry {
    module: String,
    ptx_sha256: String,
    sm: u32,
    file: String,
}

/// One image: what it is made from and the entry that names it.
struct Image<'a> {
    source: &'a Source,
    entry: Entry,
}

/// Builds `target/kernels/*.cubin` and `index.json`.
pub(super) fn build(sources: &[Source]) -> Result<()> {
    let folder = workspace::target().join("kernels");
    fs::create_dir_all(&folder)?;
    let index = folder.join("index.json");
    // While there is none, the program is built without machine code.
    match fs::remove_file(&index) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let images = images(sources)?;
    compile_missing(&images, &folder)?;
    let entries: Vec<&Entry> = images.iter().map(|image| &image.entry).collect();
    remove_others(&folder, &entries)?;
    // Written last: an index means that everything it names is there.
    fs::write(&index, serde_json::to_string_pretty(&entries)?)?;
    let sizes = entries
        .iter()
        .map(|entry| Ok(fs::metadata(folder.join(&entry.file))?.len()));
    let total: u64 = sizes.sum::<Result<u64>>()?;
    eprintln!(
        "{} images, {} KiB, in {}",
        entries.len(),
        total / 1024,
        folder.display()
    );
    Ok(())
}

fn images(sources: &[Source]) -> Result<Vec<Image<'_>>> {
    let mut images = Vec::new();
    for source in sources {
        let ptx = fs::read(source.ptx_path())
            .with_context(|| format!("cannot read `{}`", source.ptx_path().display()))?;
        for sm in ARCHITECTURES.into_iter().filter(|&sm| source.runs_on(sm)) {
            images.push(Image {
                source,
                entry: Entry {
                    module: source.module.clone(),
                    ptx_sha256: lock::sha256(&ptx),
                    sm,
                    file: file_name(source, sm),
                },
            });
        }
    }
    Ok(images)
}

/// A name that says all that decides the image.
fn file_name(source: &Source, sm: u32) -> String {
    let made_from = format!(
        "{MACHINE_CODE_COMPILER}\n{:?}\n{}",
        source.options(),
        source.all_text()
    );
    let hash = lock::sha256(made_from.as_bytes());
    let module = source.module.replace('/', "-");
    format!("{module}.sm_{sm}.{}.cubin", &hash[..16])
}

/// Compiles what is not there yet, on all cores.
fn compile_missing(images: &[Image<'_>], folder: &Path) -> Result<()> {
    let missing: Vec<&Image> = images
        .iter()
        .filter(|image| !folder.join(&image.entry.file).is_file())
        .collect();
    eprintln!("{} of {} images to compile", missing.len(), images.len());
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || -> Result<()> {
        let nvrtc = compile::new_nvrtc()?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(image) = missing.get(at) else {
                return Ok(());
            };
            if std::io::stderr().is_terminal() || at % 100 == 99 {
                eprintln!("{} of {}: {}", at + 1, missing.len(), image.entry.file);
            }
            let code = compile::compile(&nvrtc, image.source, Target::Cubin(image.entry.sm))?;
            // Under its own name only once it is whole.
            let partial = folder.join(format!("{}.part", image.entry.file));
            fs::write(&partial, code)?;
            fs::rename(partial, folder.join(&image.entry.file))?;
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                if let Err(error) = work() {
                    next.store(missing.len(), Ordering::Relaxed);
                    *failure.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(error);
                }
            });
        }
    });
    match failure.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

/// Images of kernels as they were before.
fn remove_others(folder: &Path, entries: &[&Entry]) -> Result<()> {
    let wanted: BTreeSet<&str> = entries.iter().map(|entry| entry.file.as_str()).collect();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !wanted.contains(entry.file_name().to_string_lossy().as_ref()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
