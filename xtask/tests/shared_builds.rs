//! What `cargo xtask test` builds one after the other shares its dependencies: a feature that one
//! build has and another has not compiles the dependency, and all that stands on it, twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Package → the sets of features that it is compiled with.
type Features = BTreeMap<String, BTreeSet<String>>;

fn features(selection: &[&str]) -> Features {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--prefix", "none"])
        .args(["--format", "{p}\t{f}"])
        .args(selection)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
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
