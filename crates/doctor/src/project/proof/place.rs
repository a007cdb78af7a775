//! Whether a place is the project's own product: tests, documentation, templates, attics and other
//! people's folders may break without anybody noticing.

use warpsmith_core::Finding;

use super::file_of;
use crate::project::facts::{ProjectFacts, is_test};

/// Folders that are not what the project ships.
const BESIDE: [&str; 22] = [
    "archive",
    "archived",
    "attic",
    "contrib",
    "demo",
    "demos",
    "deprecated",
    "doc",
    "docs",
    "experimental",
    "legacy",
    "obsolete",
    "old",
    "outdated",
    "playground",
    "sample",
    "samples",
    "sandbox",
    "template",
    "templates",
    "tutorial",
    "tutorials",
];

/// Ends of names of files that something else fills in.
const TEMPLATES: [&str; 6] = [".in", ".j2", ".jinja", ".jinja2", ".template", ".tmpl"];

pub(super) fn of_the_project(facts: &ProjectFacts, finding: &Finding) -> Result<(), String> {
    let file = file_of(finding);
    // `test.yml` in here is how the project is tested, and runs on every push.
    if file.is_empty() || file.starts_with(".github/") {
        return Ok(());
    }
    if is_test(file) {
        return Err("the file belongs to tests, benchmarks or examples".to_owned());
    }
    let (folders, name) = file.rsplit_once('/').unwrap_or(("", file));
    let lower = folders.to_ascii_lowercase();
    if let Some(folder) = lower.split('/').find(|folder| BESIDE.contains(folder)) {
        return Err(format!("`{folder}` need not be what the project ships"));
    }
    if TEMPLATES.iter().any(|end| name.ends_with(end)) {
        return Err("a template: what fills it in is not known".to_owned());
    }
    match licence_above(facts, folders) {
        Some(licence) => Err(format!(
            "`{licence}`: a folder with a licence of its own may be other people's code"
        )),
        None => Ok(()),
    }
}

/// A licence in one of the folders, the root excepted.
fn licence_above(facts: &ProjectFacts, folders: &str) -> Option<String> {
    let mut folder = folders;
    while !folder.is_empty() {
        let found = ["LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING"]
            .iter()
            .map(|name| format!("{folder}/{name}"))
            .find(|path| facts.has_file(path));
        if found.is_some() {
            return found;
        }
        folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    None
}

#[cfg(test)]
mod tests {
    use warpsmith_core::{Severity, Span};

    use super::*;

    #[test]
    fn only_what_the_project_ships_is_its_own() {
        let facts = ProjectFacts {
            files: ["LICENSE", "ops/knn/LICENSE", "ops/knn/setup.py"]
                .map(str::to_owned)
                .to_vec(),
            ..ProjectFacts::default()
        };
        let place = |file: &str| {
            let found = Finding::new("DKR005", Severity::Error, "m").at(Span::line(file, 1));
            of_the_project(&facts, &found)
        };
        for own in [
            "Dockerfile",
            "docker/Dockerfile",
            "ops/setup.py",
            ".github/workflows/test.yml",
        ] {
            assert!(place(own).is_ok(), "{own}");
        }
        for beside in [
            "docs/Dockerfile",
            "tests/Dockerfile",
            "a/Legacy/setup.py",
            "Dockerfile.j2",
            "ops/knn/setup.py",
        ] {
            assert!(place(beside).is_err(), "{beside}");
        }
    }
}
