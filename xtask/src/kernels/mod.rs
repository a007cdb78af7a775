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
    /// Build machine code of what is committed for the architecture list into `target/kernels`, from
    /// where the next build of the program embeds it; write nothing else.
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
        if self.cubins {
            return cubins::build(&Source::all()?);
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
        new.write()
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
    compare("are what their sources give", |source, lock| {
        let (ptx, kernel) = build(source, lock)?;
        let mut wrong = Vec::new();
        if fs::read_to_string(source.ptx_path()).ok().as_deref() != Some(&ptx) {
            wrong.push("the committed PTX is not what the source gives");
        }
        if lock.kernels.get(&source.module) != Some(&kernel) {
            wrong.push("`kernels.lock` is out of date");
        }
        Ok(wrong)
    })
}

/// Compares the hashes of every source and PTX with the lock. Compiles nothing: a second, where
/// [`check`] takes a minute, and it finds everything but a compiler that writes something else.
pub(crate) fn check_hashes() -> Result<()> {
    compare("have the hashes of `kernels.lock`", |source, lock| {
        let Some(locked) = lock.kernels.get(&source.module) else {
            return Ok(vec!["it is not in `kernels.lock`"]);
        };
        let mut wrong = Vec::new();
        if lock::sha256(source.all_text().as_bytes()) != locked.source_sha256
            || source.options() != locked.options
            || locked.compiler != compile::COMPILER
        {
            wrong.push("the source changed since it was compiled");
        }
        if fs::read(source.ptx_path())
            .map(|ptx| lock::sha256(&ptx))
            .ok()
            != Some(locked.ptx_sha256.clone())
        {
            wrong.push("the committed PTX is not the one that `kernels.lock` names");
        }
        Ok(wrong)
    })
}

/// Judges every source by the lock, and the lock by the sources.
fn compare(
    verdict: &str,
    judge: impl Fn(&Source, &Lock) -> Result<Vec<&'static str>>,
) -> Result<()> {
    let lock = Lock::read()?;
    let sources = Source::all()?;
    let mut wrong = Vec::new();
    for source in &sources {
        for what in judge(source, &lock)? {
            wrong.push(format!("{}: {what}", source.module));
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
    eprintln!("{} kernels {verdict}", sources.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn sources_and_ptx_have_the_locked_hashes() {
        super::check_hashes().unwrap();
    }
}
