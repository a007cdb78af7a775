//! What cargo builds, read from the messages that it prints for programs.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace;

/// A program that cargo has built.
pub(crate) struct Built {
    /// The package's name.
    pub(crate) package: String,
    /// The package's folder.
    pub(crate) folder: PathBuf,
    /// What the program is called in the package: `integration`, or the package itself for its unit tests.
    pub(crate) target: String,
    /// `lib`, `bin`, `test`, `bench`, `proc-macro`.
    pub(crate) kind: String,
    /// Whether it was built with the harness of tests, and not as users run it.
    pub(crate) is_test: bool,
    pub(crate) executable: PathBuf,
}

/// Runs cargo, which shows its own progress, and lists the programs that it made, or found up to date.
pub(crate) fn build(arguments: &[&str]) -> Result<Vec<Built>> {
    eprintln!("$ cargo {}", arguments.join(" "));
    let mut child = Command::new("cargo")
        .args(arguments)
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(workspace::root())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `cargo`")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut built = Vec::new();
    for line in BufReader::new(output).lines() {
        let message: Value = serde_json::from_str(&line?)?;
        built.extend(program(&message));
    }
    if !child.wait()?.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(built)
}

/// The program of a message, if it is about one.
fn program(message: &Value) -> Option<Built> {
    let executable = message["executable"].as_str()?;
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let target = &message["target"];
    let kind = target["kind"][0].as_str()?;
    Some(Built {
        package: package_name(message["package_id"].as_str()?).to_owned(),
        folder: manifest.parent()?.to_owned(),
        target: target["name"].as_str()?.to_owned(),
        kind: kind.to_owned(),
        is_test: message["profile"]["test"] == true,
        executable: PathBuf::from(executable),
    })
}

/// The name in `path+file:///checkout/crates/cli#warpsmith@0.2.0` or `…/crates/name#0.2.0`.
fn package_name(id: &str) -> &str {
    let (place, last) = id.rsplit_once('#').unwrap_or(("", id));
    match last.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_its_name_in_either_form_of_its_id() {
        for (id, name) in [
            ("path+file:///a/crates/cli#warpsmith@0.2.0", "warpsmith"),
            ("path+file:///a/xtask#0.2.0", "xtask"),
        ] {
            assert_eq!(package_name(id), name);
        }
    }

    #[test]
    fn messages_about_libraries_name_no_program() {
        let library = serde_json::json!({"reason": "compiler-artifact", "executable": null});
        assert!(program(&library).is_none());
        let test = serde_json::json!({
            "package_id": "path+file:///a/crates/md#warpsmith-md@0.2.0",
            "manifest_path": "/a/crates/md/Cargo.toml",
            "target": {"kind": ["test"], "name": "integration"},
            "profile": {"test": true},
            "executable": "/a/target/debug/deps/integration-1",
        });
        let built = program(&test).expect("a program");
        assert_eq!(
            (built.package.as_str(), built.kind.as_str()),
            ("warpsmith-md", "test")
        );
        assert!(built.is_test);
        assert_eq!(built.folder, PathBuf::from("/a/crates/md"));
    }
}
