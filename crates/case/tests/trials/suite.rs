//! The suite of `tests/suite` can be run: its cases fit their kernels, and every mutant differs.

use std::path::{Path, PathBuf};

use warpsmith_case::{Case, kernel_signatures};

pub(crate) fn the_suite_fits_its_kernels() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
    let mutants: serde_json::Value =
        serde_json::from_str(&text(&folder.join("mutants.json"))).unwrap();
    let mutants = mutants.as_array().unwrap();
    assert_eq!(mutants.len(), 60);
    let mut kernels = Vec::new();
    for mutant in mutants {
        let field = |name: &str| mutant[name].as_str().unwrap();
        let name = field("kernel").to_owned();
        let source = text(&folder.join("kernels").join(format!("{name}.cu")));
        assert!(source.contains(field("from")), "{mutant}");
        assert_ne!(field("from"), field("to"));
        if !kernels.contains(&name) {
            let case = Case::open(&folder.join("kernels").join(format!("{name}.toml"))).unwrap();
            let kernel = kernel_signatures(&source).swap_remove(0);
            let written: Vec<&str> = kernel
                .parameters
                .iter()
                .map(|one| one.name.as_str())
                .collect();
            let described: Vec<&str> = case.arguments.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(written, described, "{name}");
            assert!(
                case.verification_sizes(&[]).unwrap().sizes.len() > 12,
                "{name}"
            );
            kernels.push(name);
        }
    }
    assert_eq!(kernels.len(), 10);
}
