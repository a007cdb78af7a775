//! Where a project's own headers lie, so that a compiler finds what a source includes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::project::facts::ProjectFacts;
use crate::project::parse::cuda_lexer::lex;
use crate::project::walk;

/// More headers than this are not followed.
const HEADER_LIMIT: usize = 300;

/// The folders to search for a source: beside it, the root, `include`, those that CMake names, and those
/// in which the headers lie that it includes, directly or through others.
pub(super) fn folders_of_headers(
    root: &Path,
    facts: &ProjectFacts,
    file: &str,
    text: &str,
) -> Vec<PathBuf> {
    let mut folders = vec![folder_of(file).to_owned(), String::new(), "include".into()];
    folders.extend(named_by_cmake(root, facts));
    let (mut texts, mut seen) = (vec![(file.to_owned(), text.to_owned())], HashSet::new());
    while let Some((file, text)) = texts.pop() {
        for include in lex(&text).includes {
            let Some(path) = lookup(facts, &folders, folder_of(&file), &include.path) else {
                continue;
            };
            if seen.len() >= HEADER_LIMIT || !seen.insert(path.clone()) {
                continue;
            }
            let folder = path[..path.len() - include.path.len()].trim_end_matches('/');
            let beside = folder == folder_of(&file);
            if !beside && !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
            texts.extend(walk::read(root, &path).map(|text| (path, text)));
        }
    }
    folders.iter().map(|folder| root.join(folder)).collect()
}

/// The file of the project that an include means, if it is one.
fn lookup(facts: &ProjectFacts, folders: &[String], beside: &str, include: &str) -> Option<String> {
    if include.is_empty() || include.starts_with(['.', '/']) {
        return None;
    }
    let join = |folder: &str| match folder {
        "" => include.to_owned(),
        folder => format!("{folder}/{include}"),
    };
    let near = std::iter::once(beside).chain(folders.iter().map(String::as_str));
    if let Some(path) = near.map(join).find(|path| facts.has_file(path)) {
        return Some(path);
    }
    // The shortest way is the least likely to be a copy.
    let end = format!("/{include}");
    let files = facts.files.iter().filter(|path| path.ends_with(&end));
    files.min_by_key(|path| path.len()).cloned()
}

/// Folders of `include_directories` and `target_include_directories`, as far as they lie in the project.
fn named_by_cmake(root: &Path, facts: &ProjectFacts) -> Vec<String> {
    const ROOTS: [&str; 4] = [
        "${CMAKE_SOURCE_DIR}",
        "${PROJECT_SOURCE_DIR}",
        "${CMAKE_CURRENT_SOURCE_DIR}",
        "${CMAKE_CURRENT_LIST_DIR}",
    ];
    let mut folders = Vec::new();
    for (path, commands) in &facts.cmake {
        let here = folder_of(path);
        let named = commands
            .iter()
            .filter(|c| c.name.ends_with("include_directories"))
            .flat_map(|c| &c.arguments);
        for argument in named {
            let stripped = ROOTS.iter().find_map(|root| argument.strip_prefix(root));
            let inner = stripped.unwrap_or(argument).trim_matches('/');
            if inner.contains(['$', '<']) || argument.starts_with(['/', '.']) {
                continue;
            }
            let folder = match (here, inner) {
                ("", inner) => inner.to_owned(),
                (here, "") => here.to_owned(),
                (here, inner) => format!("{here}/{inner}"),
            };
            if root.join(&folder).is_dir() && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::parse::cmake::parse_cmake;

    #[test]
    fn headers_are_searched_where_the_project_has_them() {
        let root = std::env::temp_dir().join(format!("warpsmith-headers-{}", std::process::id()));
        let written = [
            ("core/api/b.h", "#include \"deep/c.h\"\n"),
            ("lib/x/deep/c.h", "int c;\n"),
            ("named/d.h", "int d;\n"),
        ];
        for (path, text) in written {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let cmake = "include_directories(${CMAKE_SOURCE_DIR}/named /usr/include ${X}/y)\n";
        let facts = ProjectFacts {
            files: ["core/api/b.h", "lib/x/deep/c.h", "named/d.h", "src/a.cu"]
                .map(str::to_owned)
                .to_vec(),
            cmake: vec![("CMakeLists.txt".into(), parse_cmake(cmake))],
            ..ProjectFacts::default()
        };
        let text = "#include \"api/b.h\"\n#include <stdio.h>\n#include \"d.h\"\n";
        let found = folders_of_headers(&root, &facts, "src/a.cu", text);
        std::fs::remove_dir_all(&root).unwrap();
        let expected = ["src", "", "include", "named", "core", "lib/x"];
        assert_eq!(found, expected.map(|folder| root.join(folder)));
    }
}
