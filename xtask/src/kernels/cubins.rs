//! Machine code for releases: every kernel for every architecture of the list, with an index that
//! the program's build script reads. No binary goes into git.

use std::fs;

use anyhow::{Context, Result};
use serde::Serialize;
use warpsmith_device::Target;

use super::source::Source;
use super::{compile, lock};
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

/// Builds `target/kernels/*.cubin` and `index.json`.
pub(super) fn build(sources: &[Source]) -> Result<()> {
    let nvrtc = compile::new_nvrtc()?;
    let folder = workspace::target().join("kernels");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut index = Vec::new();
    let mut total = 0;
    for source in sources {
        let ptx = fs::read(source.ptx_path())
            .with_context(|| format!("cannot read `{}`", source.ptx_path().display()))?;
        for sm in ARCHITECTURES.into_iter().filter(|&sm| source.runs_on(sm)) {
            let code = compile::compile(&nvrtc, source, Target::Cubin(sm))?;
            let file = format!("{}.sm_{sm}.cubin", source.module.replace('/', "-"));
            total += code.len();
            fs::write(folder.join(&file), code)?;
            index.push(Entry {
                module: source.module.clone(),
                ptx_sha256: lock::sha256(&ptx),
                sm,
                file,
            });
        }
    }
    // Written last: an index means that everything it names is there.
    fs::write(
        folder.join("index.json"),
        serde_json::to_string_pretty(&index)?,
    )?;
    eprintln!(
        "{} images, {} KiB, in {}",
        index.len(),
        total / 1024,
        folder.display()
    );
    Ok(())
}
