//! What the documentation takes from the program itself: reference pages, man pages, completions.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;

use super::PROGRAM;

pub(super) fn generated_pages_are_current(docs: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let status = Command::new(PROGRAM)
        .args(["manual", "--quiet", "--reference"])
        .arg(folder.path())
        .status()?;
    if !status.success() {
        return Err(format!("`warpsmith manual`: {status}").into());
    }
    let bless = std::env::var_os("WARPSMITH_BLESS").is_some();
    let mut stale = Vec::new();
    let mut names = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder.path())?.to_owned();
            let committed = docs.join(&name);
            if fs::read(&path)? != fs::read(&committed).unwrap_or_default() {
                if bless {
                    fs::create_dir_all(committed.parent().ok_or("a page has a folder")?)?;
                    fs::copy(&path, &committed)?;
                } else {
                    stale.push(name.display().to_string());
                }
            }
            names.push(name);
        }
    }
    for entry in fs::read_dir(docs.join("reference/commands"))? {
        let path = entry?.path();
        if !names.iter().any(|name| docs.join(name) == path) {
            stale.push(format!("{} (no such command)", path.display()));
        }
    }
    match stale.is_empty() {
        true => Ok(()),
        false => Err(format!("`cargo xtask docs` renews {}", stale.join(", ")).into()),
    }
}

pub(super) fn man_pages_are_written() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let status = Command::new(PROGRAM)
        .args(["manual", "--quiet", "--man"])
        .arg(folder.path())
        .status()?;
    let page = fs::read_to_string(folder.path().join("warpsmith-report.1"))?;
    match status.success() && page.contains(".SH SYNOPSIS") {
        true => Ok(()),
        false => Err(format!("{status}: {page}").into()),
    }
}

pub(super) fn completions_are_scripts() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (shell, word) in [
        ("bash", "complete"),
        ("zsh", "#compdef"),
        ("fish", "complete -c"),
    ] {
        let output = Command::new(PROGRAM)
            .args(["completions", shell])
            .output()?;
        let script = String::from_utf8(output.stdout)?;
        if !script.contains(word) || !script.contains("corpus") {
            return Err(format!("no completions for {shell}").into());
        }
        if shell == "bash" {
            let path = folder.path().join("warpsmith.bash");
            fs::write(&path, script)?;
            let checked = Command::new("bash").arg("-n").arg(&path).output()?;
            if !checked.status.success() {
                return Err(String::from_utf8_lossy(&checked.stderr).into_owned().into());
            }
        }
    }
    Ok(())
}
