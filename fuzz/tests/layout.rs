//! Every target has seeds and a wrapper for cargo-fuzz, and its seeds pass.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use warpsmith_fuzz::{TARGETS, run};

/// The names in a folder, without their endings.
fn names(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            path.file_stem().unwrap().to_string_lossy().into_owned()
        })
        .collect()
}

fn targets() -> BTreeSet<String> {
    TARGETS
        .iter()
        .map(|target| target.name.to_owned())
        .collect()
}

#[test]
fn every_target_has_a_corpus_and_a_wrapper() {
    assert_eq!(targets().len(), TARGETS.len(), "two targets have one name");
    let mut seeded = names("corpus");
    // Its seeds are the compiler's kernels.
    assert!(seeded.insert("python".to_owned()));
    assert_eq!(seeded, targets());
    assert_eq!(names("libfuzzer/fuzz_targets"), targets());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("libfuzzer/Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    for name in targets() {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
    }
}

#[test]
fn every_seed_passes() {
    for name in targets() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = match name.as_str() {
            "python" => here.join("../crates/compiler/tests/kernels"),
            name => here.join("corpus").join(name),
        };
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                run(&name, &fs::read(path).unwrap());
            }
        }
    }
}
