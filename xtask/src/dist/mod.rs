//! `cargo xtask dist`: what a release holds, built and proved on one machine.
//!
//! `target/dist-VERSION` gets the archive of the program, the wheel, the SBOM and their checksums. Both
//! are linked for glibc 2.28 by zig, which is unpacked from PyPI, whatever this machine has.

mod archive;
mod build;
mod elf;
mod empty_root;
mod old_glibc;
mod pythons;
mod sbom;
mod start_up;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::workspace::{self, run};

/// The oldest C library that releases run on: that of manylinux_2_28 (RHEL 8, Debian 10, Ubuntu 18.10).
const GLIBC: (u32, u32) = (2, 28);
/// What a wheel may weigh.
const MOST_WHEEL_BYTES: u64 = 25_000_000;

#[derive(Args)]
pub(crate) struct Dist {
    /// Output folder; created if missing. Default: `target/dist-VERSION`.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Pack this program instead of building one.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Take this wheel instead of building one.
    #[arg(long, value_name = "FILE")]
    wheel: Option<PathBuf>,
    /// Build without machine code for every architecture, which needs CUDA's compilers from PyPI.
    #[arg(long)]
    no_cubins: bool,
    /// Do not run what was built.
    #[arg(long)]
    no_tests: bool,
    /// Fail if anything could not be tested, such as a Python that is not here.
    #[arg(long, conflicts_with = "no_tests")]
    strict: bool,
    /// Accept programs that need a newer glibc than 2.28, as builds without zig do.
    #[arg(long)]
    any_glibc: bool,
}

impl Dist {
    pub(crate) fn run(&self) -> Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let output = match &self.output {
            Some(folder) => folder.clone(),
            None => workspace::target().join(format!("dist-{version}")),
        };
        fs::create_dir_all(&output)
            .with_context(|| format!("cannot make the folder `{}`", output.display()))?;
        let to_build = self.program.is_none() || self.wheel.is_none();
        if to_build && !self.no_cubins {
            run("cargo", &["xtask", "kernels", "--cubins"])?;
        }
        let program = match &self.program {
            Some(program) => program.clone(),
            None => build::program()?,
        };
        let wheel = match &self.wheel {
            Some(wheel) => copied(wheel, &output)?,
            None => build::wheel(&output)?,
        };
        let sbom = output.join(format!("{}.cdx.json", archive::stem()));
        fs::write(&sbom, serde_json::to_vec_pretty(&sbom::of_program()?)?)?;
        let archive = archive::pack(&program, &sbom, &output)?;
        checksums(&output, &[&archive, &wheel, &sbom])?;
        self.check_links(&program, &wheel)?;
        self.check_name(&wheel)?;
        if to_build && !self.no_cubins {
            check_cubins(&program)?;
        }
        for (what, path) in [("archive", &archive), ("wheel", &wheel)] {
            let bytes = fs::metadata(path)?.len();
            println!("{what}: {} ({:.1} MB)", path.display(), bytes as f64 / 1e6);
            if what == "wheel" && bytes > MOST_WHEEL_BYTES {
                bail!("the wheel has {bytes} bytes, more than {MOST_WHEEL_BYTES}");
            }
        }
        if self.no_tests {
            println!("not tested: `--no-tests`");
            return Ok(());
        }
        let mut skipped = empty_root::prove(&archive)?;
        start_up::measure(&program)?;
        skipped.extend(pythons::prove(&wheel)?);
        for what in &skipped {
            println!("skipped: {what}");
        }
        if self.strict && !skipped.is_empty() {
            bail!("{} tests were skipped", skipped.len());
        }
        Ok(())
    }

    /// The name says on which Pythons and systems pip installs the wheel.
    fn check_name(&self, wheel: &Path) -> Result<()> {
        let name = wheel.file_name().unwrap_or_default().to_string_lossy();
        let promised = format!(
            "cp39-abi3-manylinux_{}_{}_{}.whl",
            GLIBC.0,
            GLIBC.1,
            std::env::consts::ARCH
        );
        if !name.ends_with(&promised) && !self.any_glibc {
            bail!("the wheel is `{name}`; releases are for `{promised}`");
        }
        Ok(())
    }

    /// Reads which versions of glibc the program and the wheel's module need.
    fn check_links(&self, program: &Path, wheel: &Path) -> Result<()> {
        let module = pythons::native_module(wheel)?;
        for (name, bytes) in [("program", fs::read(program)?), ("wheel", module)] {
            let needed = elf::glibc_needed(&bytes).with_context(|| format!("the {name}"))?;
            let (major, minor) = needed.version;
            println!("{name}: needs glibc {major}.{minor}");
            if needed.version > GLIBC && !self.any_glibc {
                bail!(
                    "the {name} needs glibc {major}.{minor} for {}; releases run on {}.{}: build \
                     without `--program` and `--wheel`, so that zig links, or give `--any-glibc`",
                    needed.symbols.join(", "),
                    GLIBC.0,
                    GLIBC.1
                );
            }
        }
        Ok(())
    }
}

/// Counts the ELF files in the program: itself, and machine code for every kernel and architecture.
fn check_cubins(program: &Path) -> Result<()> {
    let index = fs::read(workspace::target().join("kernels/index.json"))?;
    let index: Vec<serde_json::Value> = serde_json::from_slice(&index)?;
    let program = fs::read(program)?;
    let found = program
        .windows(4)
        .filter(|bytes| *bytes == b"\x7fELF")
        .count();
    println!("program: machine code of {} kernels inside", index.len());
    if found <= index.len() {
        bail!(
            "the program holds {found} ELF files, fewer than {}",
            index.len() + 1
        );
    }
    Ok(())
}

fn copied(file: &Path, folder: &Path) -> Result<PathBuf> {
    let name = file.file_name().context("the wheel has no name")?;
    let place = folder.join(name);
    if place != *file {
        fs::copy(file, &place).with_context(|| format!("cannot copy `{}`", file.display()))?;
    }
    Ok(place)
}

/// Writes `SHA256SUMS-ARCHITECTURE` in the form that `sha256sum --check` reads, and a file for each as
/// well, which `cargo binstall` and scripts of one line like better. A release holds several
/// architectures' files side by side.
fn checksums(folder: &Path, files: &[&Path]) -> Result<()> {
    let mut all = String::new();
    for file in files {
        let name = file.file_name().context("a file has no name")?;
        let hash = Sha256::digest(fs::read(file)?);
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{hash}  {}\n", name.to_string_lossy());
        fs::write(
            file.with_file_name(format!("{}.sha256", name.to_string_lossy())),
            &line,
        )?;
        all.push_str(&line);
    }
    fs::write(
        folder.join(format!("SHA256SUMS-{}", std::env::consts::ARCH)),
        all,
    )?;
    Ok(())
}
