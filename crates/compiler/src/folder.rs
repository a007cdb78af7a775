//! A project on the disk: its root, and the modules below it. The only part of this crate that reads files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::globals::{ModuleText, Modules};

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
                    });
                }
            }
        }
        None
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
