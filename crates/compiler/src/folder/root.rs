//! The modules below one folder: texts, compiled code with its headers, and what is known of them by now.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::globals::ModuleText;
use crate::headers::python_text;

/// Files that are larger are no modules that anybody wrote.
const MAX_FILE: u64 = 8 << 20;

/// Most bytes of text that are kept; their trees take some ten times as much. Modules behind that are read whenever
/// they are imported.
const MAX_KEPT: usize = 32 << 20;

/// What a module counts for beside its text: the tables of its tree take ten times as much.
const OVERHEAD: usize = 8 << 10;

type Known = Mutex<HashMap<String, Option<ModuleText>>>;

/// A folder that modules are imported from.
#[derive(Debug)]
pub(super) struct Root {
    folder: PathBuf,
    texts: Known,
    compiled: Known,
    kept: AtomicUsize,
}

impl Root {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            texts: Known::default(),
            compiled: Known::default(),
            kept: AtomicUsize::new(0),
        }
    }

    /// The text of a module.
    pub(super) fn text(&self, name: &str) -> Option<ModuleText> {
        self.once(&self.texts, name, text)
    }

    /// What stands for a module without a text.
    pub(super) fn compiled(&self, name: &str) -> Option<ModuleText> {
        self.once(&self.compiled, name, compiled)
    }

    fn once(
        &self,
        known: &Known,
        name: &str,
        read: impl FnOnce(&Path, &str) -> Option<ModuleText>,
    ) -> Option<ModuleText> {
        let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(name) {
            return found.clone();
        }
        let found = read(&self.folder, name);
        let mut known = lock();
        // Another thread may have been faster; all are to share one tree.
        if let Some(first) = known.get(name) {
            return first.clone();
        }
        let bytes = (found.as_ref()).map_or(0, |found| found.text().len() + OVERHEAD);
        let kept = self.kept.load(Ordering::Relaxed) + bytes;
        if kept <= MAX_KEPT {
            self.kept.store(kept, Ordering::Relaxed);
            known.insert(name.to_owned(), found.clone());
        }
        found
    }
}

fn text(root: &Path, name: &str) -> Option<ModuleText> {
    let below: PathBuf = name.split('.').collect();
    let package = root.join(&below).join("__init__.py");
    let module = root.join(&below).with_extension("py");
    for (path, package) in [(package, true), (module, false)] {
        let small =
            std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= MAX_FILE);
        if small && let Ok(text) = std::fs::read_to_string(&path) {
            return Some(ModuleText::new(path.display().to_string(), text, package));
        }
    }
    None
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
        return (!texts.is_empty()).then(|| {
            let file = folder.join(HEADERS).display().to_string();
            ModuleText::new(file, python_text(&texts), false).of_compiled_code()
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
    let text = format!("from {with_headers}.{HEADERS} import *\n");
    Some(ModuleText::new(library.display().to_string(), text, false).of_compiled_code())
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
