//! A project on the disk: its root, and the modules below it. The only part of this crate that reads files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::globals::{ModuleText, Modules};
use crate::headers::python_text;

/// Files that are larger are no modules that anybody wrote.
const MAX_FILE: u64 = 8 << 20;

/// The modules below some folders, each read once.
#[derive(Debug)]
pub struct Folder {
    roots: Vec<PathBuf>,
    module: String,
    package: bool,
    known: RefCell<HashMap<String, Option<ModuleText>>>,
}

impl Folder {
    /// The project of a file. Its root is the first folder upwards that is no package, unless `root` names one;
    /// a script also finds the modules beside it.
    pub fn of(file: &Path, root: Option<&Path>) -> Self {
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut top = folder;
        while top.join("__init__.py").is_file() {
            match top.parent() {
                Some(parent) => top = parent,
                None => break,
            }
        }
        let top = match root {
            Some(root) if file.starts_with(root) => root,
            _ => top,
        };
        let below = file.strip_prefix(top).unwrap_or(file).with_extension("");
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
        roots.push(folder.to_owned());
        roots.dedup();
        Self {
            roots,
            module: parts.join("."),
            package,
            known: RefCell::default(),
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

    fn read(&self, name: &str) -> Option<ModuleText> {
        // A name with anything else than letters in it would leave the project.
        let plain =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !name.split('.').all(plain) {
            return None;
        }
        let below: PathBuf = name.split('.').collect();
        for root in &self.roots {
            let package = root.join(&below).join("__init__.py");
            let module = root.join(&below).with_extension("py");
            for (path, package) in [(package, true), (module, false)] {
                let small = std::fs::metadata(&path)
                    .is_ok_and(|found| found.is_file() && found.len() <= MAX_FILE);
                if small && let Ok(text) = std::fs::read_to_string(&path) {
                    return Some(ModuleText {
                        file: path.display().to_string(),
                        text,
                        package,
                        compiled: false,
                    });
                }
            }
        }
        self.roots.iter().find_map(|root| compiled(root, name))
    }
}

/// What a package ships its C headers in.
const HEADERS: &str = "include";

/// A module of a package without a text of its own: the package's headers, or compiled code, which exports what
/// these say.
fn compiled(root: &Path, name: &str) -> Option<ModuleText> {
    let (package, last) = name.rsplit_once('.')?;
    let folder = root.join(package.split('.').collect::<PathBuf>());
    if last == HEADERS {
        let texts = read_headers(&folder.join(HEADERS));
        return (!texts.is_empty()).then(|| ModuleText {
            file: folder.join(HEADERS).display().to_string(),
            text: python_text(&texts),
            package: false,
            compiled: true,
        });
    }
    let prefix = format!("{last}.");
    let library = std::fs::read_dir(&folder).ok()?.find_map(|entry| {
        let entry = entry.ok()?;
        let file = entry.file_name().into_string().ok()?;
        let is_library = [".so", ".pyd"].iter().any(|ending| file.ends_with(ending));
        (file.starts_with(&prefix) && is_library).then(|| entry.path())
    })?;
    let outer = package.rmatch_indices('.').map(|(at, _)| &package[..at]);
    let with_headers = [package].into_iter().chain(outer).find(|package| {
        let folder = root.join(package.split('.').collect::<PathBuf>());
        folder.join(HEADERS).is_dir()
    })?;
    Some(ModuleText {
        file: library.display().to_string(),
        text: format!("from {with_headers}.{HEADERS} import *\n"),
        package: false,
        compiled: true,
    })
}

/// Most headers of one package, and most bytes of them all: a library of templates has no constants for kernels.
const MAX_HEADERS: usize = 256;
const MAX_HEADER_BYTES: u64 = 8 << 20;
/// How deep folders are looked into: a package's headers often lie in a folder of its name.
const MAX_DEPTH: u32 = 1;

/// The headers below a folder, in the order of their paths; none where there are too many.
fn read_headers(folder: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut bytes = 0;
    find_headers(folder, 0, &mut paths, &mut bytes);
    if paths.len() > MAX_HEADERS || bytes > MAX_HEADER_BYTES {
        return Vec::new();
    }
    paths.sort();
    let texts = paths
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok());
    texts.collect()
}

fn find_headers(folder: &Path, depth: u32, paths: &mut Vec<PathBuf>, bytes: &mut u64) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if paths.len() > MAX_HEADERS {
            return;
        }
        let Ok(found) = std::fs::metadata(&path) else {
            continue;
        };
        if found.is_dir() && depth < MAX_DEPTH {
            find_headers(&path, depth + 1, paths, bytes);
        } else if found.is_file() && path.extension().is_some_and(|ending| ending == "h") {
            *bytes += found.len();
            paths.push(path);
        }
    }
}

impl Modules for Folder {
    fn find(&self, name: &str) -> Option<ModuleText> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let found = self.read(name);
        self.known
            .borrow_mut()
            .insert(name.to_owned(), found.clone());
        found
    }
}
