//! axe-core, which judges whether the report's page is accessible: a pinned package from npm. Without
//! npm or a network its trials count as ignored.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

const VERSION: &str = "4.10.3";

/// Puts the script under `target/axe`, once.
pub(crate) fn install() -> Result<()> {
    let folder = workspace::target().join("axe");
    let place = folder.join("axe.min.js");
    if place.is_file() {
        return Ok(());
    }
    fs::create_dir_all(&folder)?;
    // Unpacked beside and renamed, so that a broken download leaves nothing that looks whole.
    let partial = tempfile::tempdir_in(&folder)?;
    let package = format!("axe-core@{VERSION}");
    let archive = format!("axe-core-{VERSION}.tgz");
    let steps: [&[&str]; 2] = [
        &["npm", "pack", "--silent", &package],
        &["tar", "-xzf", &archive, "package/axe.min.js"],
    ];
    for step in steps {
        let status = Command::new(step[0])
            .args(&step[1..])
            .current_dir(partial.path())
            .stdout(std::process::Stdio::null())
            .status()
            .with_context(|| format!("cannot run `{}`", step[0]))?;
        if !status.success() {
            bail!("`{}` failed", step.join(" "));
        }
    }
    fs::rename(partial.path().join("package/axe.min.js"), &place)?;
    Ok(())
}
