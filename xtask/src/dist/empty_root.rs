//! The archive in a root that holds nothing but the C library and the compiler's own: what manylinux
//! permits is all it needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::archive::stem;
use super::{GLIBC, old_glibc};
use crate::workspace::run;

/// The C library's own files, and what unwinds the stack; a program that needs another one fails.
const LIBRARIES: &[&str] = &[
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libgcc_s.so.1",
];

/// What is run there, and the exit codes that are right: a machine without a driver has findings.
const LINES: &[(&[&str], &[i32])] = &[
    (&["--version"], &[0]),
    (&["check"], &[0, 1]),
    (
        &["report", "--device", "cpu", "--output", "/tmp/report"],
        &[0],
    ),
];

/// Unpacks the archive into an empty root and runs it there; returns what could not be tested.
pub(super) fn prove(archive: &Path) -> Result<Vec<String>> {
    let root = tempfile::tempdir()?;
    let text = |path: &Path| path.to_str().map(str::to_owned).context("not UTF-8");
    for folder in ["tmp", "proc", "dev", "lib64", "lib"] {
        fs::create_dir(root.path().join(folder))?;
    }
    fs::write(root.path().join("dev/null"), "")?;
    run(
        "tar",
        &[
            "--extract",
            "--file",
            &text(archive)?,
            "--directory",
            &text(root.path())?,
        ],
    )?;
    let program = root.path().join(stem()).join("warpsmith");
    let mut skipped = Vec::new();
    let of = match old_glibc::fetch() {
        Ok(old) => {
            if old.version != format!("{}.{}", GLIBC.0, GLIBC.1) {
                skipped.push(format!(
                    "the archive on glibc {}.{}: Debian {} with {} is the oldest that could be fetched",
                    GLIBC.0, GLIBC.1, old.release, old.version
                ));
            }
            println!(
                "empty root: glibc {} of Debian {}",
                old.version, old.release
            );
            Some(old.libraries)
        }
        Err(failures) => {
            skipped.push(format!(
                "the archive on an old glibc, so that it ran on this machine's: {}",
                failures.join("; ")
            ));
            None
        }
    };
    for library in libraries(&program, of.as_deref())? {
        let name = library.file_name().context("a library has no name")?;
        fs::copy(&library, root.path().join("lib").join(name))?;
        fs::copy(&library, root.path().join("lib64").join(name))?;
    }
    for (words, fine) in LINES {
        let begun = Instant::now();
        // A user namespace lets anybody change the root; root needs none, and some machines have none.
        let inner = format!("/{}/warpsmith", stem());
        let mut command = Command::new("unshare");
        if !is_root() {
            command.arg("--map-root-user");
        }
        let output = command
            .arg("--root")
            .arg(root.path())
            .arg("--")
            .arg(inner)
            .args(*words)
            .env_clear()
            .env("HOME", "/tmp")
            .env("LD_LIBRARY_PATH", "/lib")
            .output()
            .context("cannot start `unshare`")?;
        let code = output.status.code().unwrap_or(-1);
        if !fine.contains(&code) {
            bail!(
                "in an empty root `warpsmith {}` ended with {code}:\n{}{}",
                words.join(" "),
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        println!(
            "empty root: `warpsmith {}` ended with {code} after {:.1} s",
            words.join(" "),
            begun.elapsed().as_secs_f64()
        );
    }
    if !root.path().join("tmp/report/report.html").is_file() {
        bail!("the report in the empty root has no page");
    }
    Ok(skipped)
}

/// What the program may use, in `folder` or on this machine: the loader that it names, and the C
/// library.
fn libraries(program: &Path, folder: Option<&Path>) -> Result<Vec<PathBuf>> {
    let listed =
        crate::workspace::output(Path::new("ldd"), &[program.to_str().context("not UTF-8")?])?;
    let mut found = Vec::new();
    for line in listed.lines() {
        let path = line.split_whitespace().find(|word| word.starts_with('/'));
        let Some(path) = path.map(PathBuf::from) else {
            continue;
        };
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if LIBRARIES.contains(&name.as_str()) || name.starts_with("ld-linux") {
            found.push(match folder {
                Some(folder) => folder.join(&name),
                None => path,
            });
        } else {
            println!("the program also needs {name}, which the empty root does not get");
        }
    }
    Ok(found)
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}
