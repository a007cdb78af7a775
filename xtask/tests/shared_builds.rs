//! What `cargo xtask test` builds one after the other shares its dependencies, and leaves out nothing: a
//! feature that one build has and another has not compiles the dependency, and all that stands on it,
//! twice; a crate that says that it has no examples to test must have none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Package → the sets of features that it is compiled with.
type Features = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn features(selection: &[&str]) -> Features {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--prefix", "none"])
        .args(["--format", "{p}\t{f}"])
        .args(selection)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut features = Features::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let Some((package, names)) = line.split_once('\t') else {
            continue;
        };
        let names = names.trim_end_matches(" (*)").trim();
        features
            .entry(package.to_owned())
            .or_default()
            .insert(names.to_owned());
    }
    features
}

#[test]
fn the_wheel_and_xtask_use_what_the_tests_compiled() {
    let tests = features(&["--workspace", "--edges", "normal,build,dev"]);
    let mut twice = Vec::new();
    for manifest in ["crates/python", "xtask"] {
        let package = match manifest {
            "xtask" => "xtask",
            _ => "warpsmith-python",
        };
        let built = features(&["--package", package, "--edges", "normal,build"]);
        for (dependency, sets) in built {
            for set in sets.difference(&tests[&dependency]) {
                twice.push(format!(
                    "{manifest}/Cargo.toml: `{dependency}` has [{set}], in the tests {:?}",
                    tests[&dependency]
                ));
            }
        }
    }
    assert!(
        twice.is_empty(),
        "compiled twice, until the manifest asks for the same features:\n{}",
        twice.join("\n")
    );
}

/// Every Rust file below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn a_crate_whose_examples_are_not_tested_has_none() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        if !manifest.contains("doctest = false") {
            continue;
        }
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let example = text.lines().map(str::trim_start).any(|line| {
                line.strip_prefix("///")
                    .or(line.strip_prefix("//!"))
                    .is_some_and(|rest| rest == " ```" || rest == " ```rust")
            });
            assert!(
                !example,
                "{}: an example that no test runs; remove `doctest = false`",
                file.display()
            );
        }
    }
}
