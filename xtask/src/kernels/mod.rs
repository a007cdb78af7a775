//! `cargo xtask kernels`: CUDA sources to committed PTX, with a lock file that says from what, by
//! which compiler, at what cost in registers, and on which GPU it was found right.

mod compile;
mod cubins;
mod lock;
mod resources;
mod source;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use self::lock::{Lock, LockedKernel};
use self::source::Source;

#[derive(Args)]
pub(crate) struct Kernels {
    /// Recompile and compare with what is committed, byte for byte; write nothing.
    #[arg(long)]
    check: bool,
    /// Also build machine code for the architecture list into `target/kernels`, from where the next
    /// build of the program embeds it.
    #[arg(long, conflicts_with = "check")]
    cubins: bool,
    /// Note the GPU of this report (`warpsmith verify --all --format json`) at the kernels that
    /// passed there.
    #[arg(long, value_name = "REPORT", conflicts_with_all = ["check", "cubins"])]
    verified: Option<PathBuf>,
}

impl Kernels {
    pub(crate) fn run(&self) -> Result<()> {
        if self.check {
            return check();
        }
        if let Some(report) = &self.verified {
            let mut lock = Lock::read()?;
            let noted = lock.note_verified(report)?;
            lock.write()?;
            eprintln!("{noted} kernels noted");
            return Ok(());
        }
        let old = Lock::read()?;
        let mut new = Lock::default();
        for source in Source::all()? {
            let (ptx, kernel) = build(&source, &old)?;
            let path = source.ptx_path();
            if fs::read_to_string(&path).ok().as_deref() != Some(&ptx) {
                fs::write(&path, &ptx)
                    .with_context(|| format!("cannot write `{}`", path.display()))?;
                eprintln!("wrote {}", path.display());
            }
            new.kernels.insert(source.module.clone(), kernel);
        }
        new.write()?;
        if self.cubins {
            cubins::build(&Source::all()?)?;
        }
        Ok(())
    }
}

/// Compiles one source and describes the result, keeping what `old` knows about the same PTX.
fn build(source: &Source, old: &Lock) -> Result<(String, LockedKernel)> {
    let ptx = compile::ptx(source)?;
    let mut kernel = LockedKernel {
        source_sha256: lock::sha256(source.all_text().as_bytes()),
        ptx_sha256: lock::sha256(ptx.as_bytes()),
        compiler: compile::COMPILER.to_owned(),
        options: source.options(),
        functions: resources::functions(source, &ptx)?,
        verified_on: Vec::new(),
    };
    // A kernel that changed has been seen right nowhere.
    if let Some(known) = old.kernels.get(&source.module)
        && known.ptx_sha256 == kernel.ptx_sha256
    {
        kernel.verified_on.clone_from(&known.verified_on);
    }
    Ok((ptx, kernel))
}

/// Compares every source, PTX and lock entry with a fresh compilation.
pub(crate) fn check() -> Result<()> {
    let lock = Lock::read()?;
    let sources = Source::all()?;
    let mut wrong = Vec::new();
    for source in &sources {
        let (ptx, kernel) = build(source, &lock)?;
        if fs::read_to_string(source.ptx_path()).ok().as_deref() != Some(&ptx) {
            wrong.push(format!(
                "{}: the committed PTX is not what the source gives",
                source.module
            ));
        }
        if lock.kernels.get(&source.module) != Some(&kernel) {
            wrong.push(format!("{}: `kernels.lock` is out of date", source.module));
        }
    }
    for module in lock.kernels.keys() {
        if !sources.iter().any(|source| &source.module == module) {
            wrong.push(format!(
                "{module}: in `kernels.lock`, and there is no such source"
            ));
        }
    }
    if !wrong.is_empty() {
        bail!(
            "{}\nrun `cargo xtask kernels` and commit what it writes",
            wrong.join("\n")
        );
    }
    eprintln!("{} kernels are what their sources give", sources.len());
    Ok(())
}
