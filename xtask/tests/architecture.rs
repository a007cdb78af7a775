//! Compares the table of crates in ARCHITECTURE.md with the manifests: dependencies point down,
//! never sideways, and each heavy dependency has one home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crates that only one of ours may depend on.
const HOMES: &[(&str, &[&str])] = &[
    (
        "anyhow",
        &[
            "warpsmith",
            "warpsmith-apps",
            "warpsmith-console",
            "warpsmith-fuzz",
            "xtask",
        ],
    ),
    ("ash", &["warpsmith-device"]),
    ("base64", &["warpsmith-formats"]),
    ("bcrypt", &["warpsmith-http", "warpsmith-telemetry"]),
    (
        "clap",
        &[
            "warpsmith",
            "warpsmith-apps",
            "warpsmith-console",
            "warpsmith-fuzz",
            "xtask",
        ],
    ),
    ("h2", &["warpsmith-http"]),
    ("hyper", &["warpsmith-http"]),
    ("libloading", &["warpsmith-device"]),
    ("nvml-wrapper", &["warpsmith-telemetry"]),
    ("opus-pure", &["warpsmith-signal"]),
    ("parquet", &["warpsmith-corpus"]),
    ("pyo3", &["warpsmith-python"]),
    ("ratatui", &["warpsmith-telemetry"]),
    ("ruff_python_parser", &["warpsmith-compiler"]),
    ("rusqlite", &["warpsmith-history"]),
    ("rustls", &["warpsmith-http", "warpsmith-telemetry"]),
    ("symphonia", &["warpsmith-signal"]),
    ("tokio", &["warpsmith-http", "warpsmith-server"]),
    ("tokio-rustls", &["warpsmith-http"]),
    ("zstd", &["warpsmith-corpus"]),
];

/// `| layer | `crate` | …` rows of ARCHITECTURE.md.
fn layers() -> BTreeMap<String, i32> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    text.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
            let layer = cells.next()?.parse().ok()?;
            let name = cells.next()?.trim_matches('`');
            let package = if name == "cli" {
                "warpsmith".to_owned()
            } else {
                format!("warpsmith-{name}")
            };
            Some((package, layer))
        })
        .collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Package → names of its ordinary and build dependencies.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap();
            let names = dependencies
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| text(&dependency["name"]))
                .collect();
            (text(&package["name"]), names)
        })
        .collect()
}

#[test]
fn every_crate_stands_in_the_table() {
    let layers = layers();
    for package in dependencies()
        .keys()
        .filter(|name| name.starts_with("warpsmith"))
    {
        let outside = ["warpsmith-fake-nvml", "warpsmith-fuzz"].contains(&package.as_str());
        let known = outside || layers.contains_key(package);
        assert!(
            known,
            "`{package}` is missing from the table in ARCHITECTURE.md"
        );
    }
}

#[test]
fn dependencies_point_down_and_never_sideways() {
    let layers = layers();
    for (package, names) in dependencies() {
        let Some(layer) = layers.get(&package) else {
            continue;
        };
        for name in names {
            if let Some(below) = layers.get(&name) {
                assert!(
                    below < layer,
                    "`{package}` (layer {layer}) uses `{name}` (layer {below})"
                );
            }
        }
    }
}

#[test]
fn heavy_dependencies_have_one_home() {
    for (package, names) in dependencies() {
        for (heavy, homes) in HOMES {
            let uses = names.iter().any(|name| name == heavy);
            assert!(
                !uses || homes.contains(&package.as_str()),
                "`{package}` uses `{heavy}`"
            );
        }
    }
}

/// A crate beyond this is read by nobody as a whole, and the others wait for it to compile.
const MOST_LINES: usize = 26_000;

#[test]
fn no_crate_is_too_large() {
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        let lines: usize = (files.iter())
            .map(|file| std::fs::read_to_string(file).unwrap().lines().count())
            .sum();
        let name = folder.display();
        assert!(lines > 0, "{name} has no sources");
        assert!(lines <= MOST_LINES, "{name} has {lines} lines; divide it");
    }
}

/// What replaces a file under its reader, and the crate that does it for all others.
const REPLACEMENTS: &[&str] = &[".persist(", "fs::rename(", "NamedTempFile"];
const WRITER: &str = "crates/formats/";
/// Files that use one of these for something else than a file that a user named.
const OTHER_USES: &[(&str, &str)] = &[
    (
        "crates/case/src/inspect/static_cost.rs",
        "nvdisasm reads a file; it is gone when it has ended",
    ),
    (
        "crates/corpus/src/verify/compiled.rs",
        "ptxas reads a file and writes one; both are gone when it has ended",
    ),
];

/// The sources below `folder`, without build outputs.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn one_crate_replaces_files() {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut paths);
        }
    }
    let mut allowed_uses = 0;
    for path in paths {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        // Tests may prepare files as they like; they stand at the end of a file.
        let code = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        let Some(how) = REPLACEMENTS.iter().find(|how| code.contains(**how)) else {
            continue;
        };
        if name.starts_with(WRITER) {
            continue;
        }
        let allowed = OTHER_USES.iter().any(|(file, _)| *file == name);
        assert!(
            allowed,
            "`{name}` uses `{how}`: write files with `warpsmith_formats::write_output`"
        );
        allowed_uses += 1;
    }
    assert_eq!(allowed_uses, OTHER_USES.len(), "an allowance is of no use");
}
