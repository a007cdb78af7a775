//! A project on the disk: its root, and the modules below it. The only part of this crate that reads files.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::globals::{ModuleText, Modules};

mod root;

use root::Root;

/// Folders whose modules are read once, however many files import them, on any thread. What is written later is not
/// seen.
#[derive(Debug, Default)]
pub struct Roots(Mutex<HashMap<PathBuf, Arc<Root>>>);

impl Roots {
    fn root(&self, folder: PathBuf) -> Arc<Root> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let root = known.entry(folder);
        root.or_insert_with_key(|folder| Arc::new(Root::new(folder.clone())))
            .clone()
    }
}

/// The modules below some folders, each read once.
#[derive(Debug)]
pub struct Folder {
    roots: Vec<Arc<Root>>,
    /// Modules of the file's own folder, by their bare names.
    beside: Option<Arc<Root>>,
    module: String,
    package: bool,
    /// Whether the file's folder is a package, whose modules hide none of Python's.
    is_in_package: bool,
}

/// Modules of Python that packages have modules of the same name as.
const STANDARD: [&str; 32] = [
    "abc",
    "array",
    "ast",
    "bisect",
    "calendar",
    "code",
    "collections",
    "copy",
    "dataclasses",
    "enum",
    "functools",
    "io",
    "json",
    "logging",
    "numbers",
    "operator",
    "os",
    "platform",
    "profile",
    "queue",
    "random",
    "re",
    "select",
    "signal",
    "statistics",
    "string",
    "struct",
    "sys",
    "time",
    "token",
    "types",
    "warnings",
];

impl Folder {
    /// The project of a file. Its root is the first folder upwards that is no package, unless `root` names one;
    /// a script also finds the modules beside it.
    pub fn of(file: &Path, root: Option<&Path>) -> Self {
        Self::within(&Roots::default(), file, root)
    }

    /// The same, of a file that shares its modules with others.
    pub fn within(shared: &Roots, file: &Path, root: Option<&Path>) -> Self {
        let folder = file.parent().unwrap_or(Path::new(""));
        let is_package = |folder: &Path| folder.join("__init__.py").is_file();
        let mut top = folder;
        while let Some(parent) = top.parent() {
            // A folder inside a package is part of it without a file of its own, too, if an import can name it.
            let name = top.file_name().and_then(|name| name.to_str());
            let is_part = name.is_some_and(is_plain) && is_package(parent);
            if !is_package(top) && !is_part {
                break;
            }
            top = parent;
        }
        let (top, below) = match root.and_then(|root| Some((root, below(file, root)?))) {
            Some(found) => found,
            None => (top, below(file, top).unwrap_or_else(|| file.to_owned())),
        };
        let below = below.with_extension("");
        let mut parts: Vec<String> = below
            .components()
            .filter_map(|part| match part {
                Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
                _ => None,
            })
            .collect();
        let package = parts.last().is_some_and(|last| last == "__init__");
        if package {
            parts.pop();
        }
        let mut roots = vec![top.to_owned()];
        roots.extend(root.map(Path::to_owned));
        roots.dedup();
        let beside = (!roots.iter().any(|root| root == folder)).then(|| folder.to_owned());
        Self {
            roots: roots.into_iter().map(|root| shared.root(root)).collect(),
            beside: beside.map(|folder| shared.root(folder)),
            module: parts.join("."),
            package,
            is_in_package: is_package(folder),
        }
    }

    /// The file's dotted name.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// The file's place among the modules.
    pub fn place(&self) -> crate::Place<'_> {
        crate::Place {
            module: &self.module,
            package: self.package,
            modules: self,
        }
    }
}

/// Whether a part of a dotted name can be the name of a module.
fn is_plain(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// A path from a folder that it lies in, however both are written: `.` and a full path may name the same.
fn below(file: &Path, folder: &Path) -> Option<PathBuf> {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        std::path::absolute(path).ok()
    };
    let below = whole(file)?.strip_prefix(whole(folder)?).ok()?.to_owned();
    Some(below)
}

impl Modules for Folder {
    fn find(&self, name: &str) -> Option<ModuleText> {
        // A name with anything else than letters in it would leave the project.
        if !name.split('.').all(is_plain) {
            return None;
        }
        let first = name.split('.').next().unwrap_or("");
        let beside = self.beside.iter();
        let beside = beside.filter(|_| !self.is_in_package || !STANDARD.contains(&first));
        let roots = self.roots.iter().chain(beside);
        let mut texts = roots.clone().map(|root| root.text(name));
        texts.find_map(|found| found).or_else(|| {
            let mut compiled = roots.map(|root| root.compiled(name));
            compiled.find_map(|found| found)
        })
    }
}
