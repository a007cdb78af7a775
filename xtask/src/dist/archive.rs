//! The program with its man pages and completions as `.tar.xz`: the same bytes for the same inputs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::build::target;
use crate::workspace;

/// Shells, and what each expects its script to be called.
const SHELLS: &[(&str, &str)] = &[
    ("bash", "warpsmith.bash"),
    ("zsh", "_warpsmith"),
    ("fish", "warpsmith.fish"),
    ("powershell", "_warpsmith.ps1"),
];

/// The archive's name without its ending, which is also the folder in it.
pub(super) fn stem() -> String {
    format!("warpsmith-{}-{}", env!("CARGO_PKG_VERSION"), target())
}

/// Packs the archive into `output`.
pub(super) fn pack(program: &Path, sbom: &Path, output: &Path) -> Result<PathBuf> {
    let staging = tempfile::tempdir()?;
    let folder = staging.path().join(stem());
    fs::create_dir_all(folder.join("completions"))?;
    let own = folder.join("warpsmith");
    fs::copy(program, &own).with_context(|| format!("cannot copy `{}`", program.display()))?;
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(workspace::root().join(file), folder.join(file))?;
    }
    fs::copy(sbom, folder.join("warpsmith.cdx.json"))?;
    let man = folder.join("man/man1");
    let man = man.to_str().context("the temporary folder is not UTF-8")?;
    workspace::output(&own, &["--quiet", "manual", "--man", man])?;
    for (shell, name) in SHELLS {
        let script = workspace::output(&own, &["completions", shell])?;
        if script.trim().is_empty() {
            bail!("the completions for {shell} are empty");
        }
        fs::write(folder.join("completions").join(name), script)?;
    }
    let archive = output.join(format!("{}.tar.xz", stem()));
    compress(staging.path(), &archive)?;
    Ok(archive)
}

/// Sorted, owned by root, dated by the commit: nothing of the machine shows.
fn compress(staging: &Path, archive: &Path) -> Result<()> {
    let date = workspace::output(Path::new("git"), &["log", "-1", "--format=%ct"]);
    let date = format!("--mtime=@{}", date.unwrap_or_else(|_| "0".into()).trim());
    let mut tar = Command::new("tar")
        .args(["--create", "--sort=name", "--owner=0", "--group=0"])
        .args(["--numeric-owner", "--mode=u+rw,go=rX", &date, "--directory"])
        .arg(staging)
        .arg(stem())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `tar`")?;
    let packed = tar.stdout.take().context("tar has no output")?;
    let xz = Command::new("xz")
        // One thread: the bytes of several depend on how the input was cut.
        .args(["-9", "--threads=1", "--stdout"])
        .stdin(packed)
        .stdout(fs::File::create(archive)?)
        .status()
        .context("cannot start `xz`")?;
    if !(tar.wait()?.success() && xz.success()) {
        bail!("`{}` could not be packed", archive.display());
    }
    Ok(())
}
