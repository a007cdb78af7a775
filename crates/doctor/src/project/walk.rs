//! Which files of a project are read, and as what.
//!
//! Invariants: links are not followed, so loops do not matter; a file larger than [`SIZE_LIMIT`] or
//! with a zero byte is listed and not read; generated folders are left out; the number of files is
//! bounded. Whose code a file is stands in [`super::apart`].

use std::path::Path;

/// Sources are smaller; what is larger is data or generated.
pub(super) const SIZE_LIMIT: u64 = 2 << 20;
const FILE_LIMIT: usize = 200_000;

/// Folders that hold what a tool made, or nobody's code.
const GENERATED: [&str; 10] = [
    "node_modules",
    "site-packages",
    "build",
    "dist",
    ".git",
    ".venv",
    "venv",
    "__pycache__",
    "CMakeFiles",
    ".mypy_cache",
];

/// The files of a project, relative and sorted.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) files: Vec<String>,
    /// Folders of submodules, with a slash behind them.
    pub(super) submodules: Vec<String>,
}

/// Every file below `root`.
pub(super) fn list(root: &Path) -> Listed {
    let submodules: Vec<String> = std::fs::read_to_string(root.join(".gitmodules"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_prefix("path = ")
                .map(|p| format!("{}/", p.trim()))
        })
        .collect();
    let mut files: Vec<String> = ignore::WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            entry.depth() == 0
                || entry.file_type().is_none_or(|kind| !kind.is_dir())
                || !(GENERATED.contains(&name.as_ref()) || is_marked_as_made(entry.path()))
        })
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        // A name that is not UTF-8 leads to no file, which then counts as one that cannot be read.
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?;
            Some(path.to_string_lossy().into_owned())
        })
        .take(FILE_LIMIT)
        .collect();
    files.sort();
    Listed { files, submodules }
}

/// Whether a path is a header: of vendored code only these are read.
pub(super) fn is_header(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, e)| e);
    matches!(extension, "h" | "cuh" | "hpp" | "hh" | "inl")
}

/// Whether a tool says itself that it made this folder: a cache, or a Python environment.
fn is_marked_as_made(folder: &Path) -> bool {
    ["CACHEDIR.TAG", "pyvenv.cfg"]
        .iter()
        .any(|mark| folder.join(mark).is_file())
}

/// A file as text; `None` where it is too large, not readable, or binary.
pub(super) fn read(root: &Path, path: &str) -> Option<String> {
    let full = root.join(path);
    if std::fs::metadata(&full).ok()?.len() > SIZE_LIMIT {
        return None;
    }
    let bytes = std::fs::read(full).ok()?;
    if memchr::memchr(0, &bytes[..bytes.len().min(8192)]).is_some() {
        return None;
    }
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// What a path is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Cuda,
    Cxx,
    Python,
    SetupPy,
    Pyproject,
    Requirements,
    Dockerfile,
    Workflow,
    OtherCi,
    Yaml,
    Cmake,
    Document,
    Script,
    Other,
}

pub(super) fn kind(path: &str) -> Kind {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    let extension = lower.rsplit_once('.').map_or("", |(_, e)| e);
    match extension {
        "cu" | "cuh" => return Kind::Cuda,
        "cpp" | "cc" | "cxx" | "h" | "hpp" | "hh" => return Kind::Cxx,
        "cmake" => return Kind::Cmake,
        "md" | "rst" => return Kind::Document,
        "sh" => return Kind::Script,
        // `Dockerfile.cuda` is one; `dockerfile.rs`, which may read them, is not.
        "rs" | "go" | "js" | "ts" | "java" | "json" => return Kind::Other,
        _ => {}
    }
    if name == "setup.py" {
        return Kind::SetupPy;
    }
    if extension == "py" {
        return Kind::Python;
    }
    if name == "pyproject.toml" {
        return Kind::Pyproject;
    }
    if name == "CMakeLists.txt" {
        return Kind::Cmake;
    }
    if extension == "txt" && (lower.contains("requirements") || path.contains("requirements/")) {
        return Kind::Requirements;
    }
    if (lower.starts_with("dockerfile") && !lower.ends_with(".dockerignore"))
        || extension == "dockerfile"
        || lower == "containerfile"
    {
        return Kind::Dockerfile;
    }
    if extension == "yml" || extension == "yaml" {
        if path.starts_with(".github/workflows/") {
            return Kind::Workflow;
        }
        let ci = [
            ".circleci/",
            ".buildkite/",
            ".gitlab",
            "azure-pipelines",
            ".azure",
            ".ci/",
            "ci/",
            "conda",
        ];
        return if ci.iter().any(|c| path.contains(c)) {
            Kind::OtherCi
        } else {
            Kind::Yaml
        };
    }
    if name.starts_with("Jenkinsfile") || matches!(extension, "jenkins" | "groovy") {
        return Kind::OtherCi;
    }
    if matches!(name, "Makefile" | "tox.ini" | "justfile") {
        return Kind::Script;
    }
    Kind::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_reads_dockerfiles_is_none() {
        assert_eq!(kind("docker/Dockerfile.cuda"), Kind::Dockerfile);
        assert_eq!(kind("src/dockerfile.rs"), Kind::Other);
    }

    #[test]
    fn folders_that_a_tool_made_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        for (folder, mark) in [
            ("target", "CACHEDIR.TAG"),
            ("env", "pyvenv.cfg"),
            ("CMakeFiles", "CMakeCUDACompiler.cmake"),
            ("src", "a.cu"),
        ] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
            std::fs::write(root.path().join(folder).join(mark), "").unwrap();
        }
        assert_eq!(list(root.path()).files, ["src/a.cu"]);
    }
}
