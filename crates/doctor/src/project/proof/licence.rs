//! Whether anything in a project speaks of a licence.

use warpsmith_core::Finding;

use super::{Standing, open, proved};
use crate::project::facts::ProjectFacts;
use crate::project::walk;

/// Files whose beginnings are read: headers of sources repeat soon.
const FILES: usize = 300;
/// Where a header of a source ends.
const HEAD: usize = 3000;

/// No file of the project, as far as it is read, names terms.
pub(super) fn none_is_named(facts: &ProjectFacts, _: &Finding) -> Standing {
    match speaks_of_a_licence(facts) {
        Some(path) => open(format!("`{path}` speaks of a licence")),
        None => proved("no file names a licence"),
    }
}

/// The first file that speaks of a licence.
pub(in crate::project) fn speaks_of_a_licence(facts: &ProjectFacts) -> Option<&str> {
    let head = |text: &str| text.chars().take(HEAD).collect::<String>();
    let text = |path: &str| walk::read(&facts.root, path);
    // The root first: metadata and READMEs of every kind lie there, and state terms at their ends.
    let (root, below): (Vec<&String>, Vec<&String>) =
        facts.files.iter().partition(|path| !path.contains('/'));
    let mut below = below.into_iter().take(FILES);
    let at_root = root
        .into_iter()
        .find(|path| text(path).is_some_and(|t| names_terms(&t)));
    at_root
        .or_else(|| below.find(|path| text(path).is_some_and(|t| names_terms(&head(&t)))))
        .map(String::as_str)
}

fn names_terms(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["licen", "spdx", "public domain", "terms of use"]
        .iter()
        .any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use warpsmith_core::Severity;

    use super::*;

    #[test]
    fn a_header_of_a_source_names_terms() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("src")).unwrap();
        let found = Finding::new("DOC005", Severity::Error, "m");
        let standing = |source: &str| {
            std::fs::write(root.path().join("src/a.cu"), source).unwrap();
            let facts = ProjectFacts {
                root: root.path().to_owned(),
                files: vec!["src/a.cu".into()],
                ..ProjectFacts::default()
            };
            none_is_named(&facts, &found)
        };
        assert!(standing("// Licensed under the MIT License\n").is_err());
        assert!(standing("__global__ void k() {}\n").is_ok());
    }
}
