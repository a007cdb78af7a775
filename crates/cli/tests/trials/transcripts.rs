//! The program as a user sees it: `tests/transcripts/*.txt` are sessions at a terminal, run for real
//! and compared line by line.
//!
//! `$ warpsmith …` runs the program in an empty folder; the lines below it are what it prints, first
//! standard output, then standard error; `? N` is the exit code where it is not 0. `[..]` stands for
//! any text within a line, a line `...` for any number of lines. A folder of the transcript's name
//! holds the files that the session begins with. `WARPSMITH_BLESS=1` rewrites the
//! lines that no longer fit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::session::{fits, line_fits, sessions};

pub(crate) fn trials() -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the transcripts are part of the checkout")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            Trial::test(name, move || check(&path))
        })
        .collect()
}

fn check(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let folder = tempfile::tempdir()?;
    let given = path.with_extension("");
    if given.is_dir() {
        copy(&given, folder.path())?;
    }
    let mut actual = String::new();
    let mut mismatch = None;
    for (command, expected) in sessions(&text) {
        let Some(command) = command else {
            actual.push_str(&expected.join("\n"));
            actual.push('\n');
            continue;
        };
        let seen = run(command, folder.path())?;
        let seen: Vec<&str> = seen.lines().collect();
        actual.push_str(&format!("$ {command}\n"));
        if fits(&expected, &seen, &line_fits) {
            expected
                .iter()
                .for_each(|line| actual.push_str(&format!("{line}\n")));
        } else {
            seen.iter()
                .for_each(|line| actual.push_str(&format!("{line}\n")));
            mismatch.get_or_insert_with(|| {
                format!(
                    "$ {command}\n--- expected\n{}\n--- seen\n{}",
                    expected.join("\n"),
                    seen.join("\n")
                )
            });
        }
    }
    match mismatch {
        None => Ok(()),
        Some(_) if std::env::var_os("WARPSMITH_BLESS").is_some() => Ok(fs::write(path, actual)?),
        Some(mismatch) => Err(mismatch.into()),
    }
}

pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_file() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        copy(&entry.path(), &place)?;
    }
    Ok(())
}

fn run(command: &str, folder: &Path) -> Result<String, Failed> {
    let mut words = command.split_whitespace();
    if words.next() != Some("warpsmith") {
        return Err(format!("`{command}` does not start with `warpsmith`").into());
    }
    // What a machine happens to have must not show: no GPU, no compiler, an empty home.
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("COLUMNS", "100")
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()?;
    let mut seen = String::from_utf8_lossy(&output.stdout).into_owned();
    seen.push_str(&String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        seen.push_str(&format!("? {}\n", output.status.code().unwrap_or(-1)));
    }
    Ok(seen)
}
