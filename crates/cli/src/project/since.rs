//! The findings of an earlier revision, so that `audit --since` shows only what came after it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use warpsmith_doctor::{AuditError, AuditOptions, Baseline, Include, audit_project};

/// Audits the tree at `revision` beside the working tree, which is left alone.
pub(super) fn findings_at(root: &Path, revision: &str, include: Include) -> Result<Baseline> {
    let prefix = git(root, &["rev-parse", "--show-prefix"])
        .with_context(|| format!("`{}` is not in a git checkout", root.display()))?;
    let tree = git(
        root,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{revision}^{{tree}}"),
        ],
    )
    .with_context(|| format!("`--since {revision}` names no revision of this repository"))?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    // An index of its own: the user's index and work tree are not touched.
    let index = folder.path().join("index");
    let files = folder.path().join("files");
    std::fs::create_dir(&files)?;
    let with_index = |arguments: &[&str]| -> Result<()> {
        let status = Command::new("git")
            .args(arguments)
            .current_dir(root)
            .env("GIT_INDEX_FILE", &index)
            .output()
            .context("cannot run `git`")?;
        if !status.status.success() {
            let said = String::from_utf8_lossy(&status.stderr);
            bail!("`git {}` failed: {}", arguments[0], said.trim());
        }
        Ok(())
    };
    with_index(&["read-tree", &tree])?;
    let place = format!("--prefix={}/", files.display());
    with_index(&["checkout-index", "--all", "--force", "--quiet", &place])?;
    let options = AuditOptions {
        every_place: true,
        include,
        ..AuditOptions::default()
    };
    match audit_project(&files.join(prefix), &options) {
        Ok(report) => Ok(Baseline::of(&report.findings)),
        // The folder is newer than the revision: everything in it is new.
        Err(AuditError::NotADirectory(_) | AuditError::Empty(_)) => Ok(Baseline::of(&[])),
        Err(error) => Err(error.into()),
    }
}

fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output()
        .context("cannot run `git`")?;
    if !output.status.success() {
        bail!(
            "git says: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
