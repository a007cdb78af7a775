//! The CUDA sources: `<stem>.cu` anywhere in a crate, beside the Rust file that launches it. A stem that
//! ends in `.smNN` is a variant for that architecture and newer ones, in `.smNNa` for that architecture
//! alone. A first line `// nvrtc: FLAGS` adds compiler flags. A source can include any `.cuh` of the
//! crates by its name, which is why no two have the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Portable to every GPU from Volta on.
const OLDEST_ARCHITECTURE: u32 = 70;

/// One CUDA source.
pub(super) struct Source {
    /// `owner/stem`.
    pub(super) module: String,
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Name and text of every `.cuh` that it includes, itself or through another.
    pub(super) headers: Vec<(String, String)>,
}

impl Source {
    /// Every source, sorted by module.
    pub(super) fn all() -> Result<Vec<Self>> {
        let crates = workspace::root().join("crates");
        let mut headers = BTreeMap::new();
        for path in files(&crates, "cuh")? {
            let name = file_name(&path);
            if let Some(other) = headers.insert(name, path.clone()) {
                bail!(
                    "`{}` and `{}` have the same name, and sources include headers by name",
                    other.display(),
                    path.display()
                );
            }
        }
        let mut sources = Vec::new();
        for path in files(&crates, "cu")? {
            let stem = file_name(&path.with_extension(""));
            let owner = path.strip_prefix(&crates)?.iter().next();
            let owner = owner.unwrap_or_default().to_string_lossy();
            let text = read(&path)?;
            let mut included = BTreeMap::new();
            follow_includes(&text, &headers, &mut included)?;
            sources.push(Self {
                module: format!("{owner}/{stem}"),
                text,
                headers: included.into_iter().collect(),
                path,
            });
        }
        sources.sort_by(|a, b| a.module.cmp(&b.module));
        Ok(sources)
    }

    /// Everything that decides the PTX but compiler and options.
    pub(super) fn all_text(&self) -> String {
        self.headers
            .iter()
            .map(|(_, text)| text.as_str())
            .chain([self.text.as_str()])
            .collect()
    }

    /// Where the PTX is committed.
    pub(super) fn ptx_path(&self) -> PathBuf {
        workspace::root().join(format!("kernels/{}.ptx", self.module))
    }

    /// The oldest architecture that it runs on.
    pub(super) fn architecture(&self) -> u32 {
        self.module
            .rsplit_once(".sm")
            .and_then(|(_, number)| number.trim_end_matches('a').parse().ok())
            .unwrap_or(OLDEST_ARCHITECTURE)
    }

    /// Whether it uses what no other architecture has.
    fn is_for_one(&self) -> bool {
        self.module
            .ends_with(&format!(".sm{}a", self.architecture()))
    }

    /// Whether it can be compiled for an architecture.
    pub(super) fn runs_on(&self, sm: u32) -> bool {
        sm == self.architecture() || (sm > self.architecture() && !self.is_for_one())
    }

    /// A target, 90 of `sm_90` say, as compilers are told it.
    pub(super) fn name_of(&self, target: &str) -> String {
        format!("{target}{}", if self.is_for_one() { "a" } else { "" })
    }

    /// Compiler flags beside the architecture.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options = vec!["--std=c++17".to_owned()];
        let first = self.text.lines().next().unwrap_or_default();
        if let Some(flags) = first.strip_prefix("// nvrtc:") {
            options.extend(flags.split_whitespace().map(str::to_owned));
        }
        options
    }
}

/// Adds the headers that `text` includes.
fn follow_includes(
    text: &str,
    headers: &BTreeMap<String, PathBuf>,
    included: &mut BTreeMap<String, String>,
) -> Result<()> {
    let names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("#include \"")?.split('"').next());
    for name in names {
        if let Some(path) = headers.get(name)
            && !included.contains_key(name)
        {
            let header = read(path)?;
            included.insert(name.to_owned(), header.clone());
            follow_includes(&header, headers, included)?;
        }
    }
    Ok(())
}

/// Every file below a folder with this ending.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // Sources of tests are what users might bring, no kernels of ours.
        if path.is_dir() && !path.ends_with("tests") {
            found.extend(files(&path, extension)?);
        } else if path.is_file() && path.extension().is_some_and(|ending| ending == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(module: &str) -> Source {
        Source {
            module: module.into(),
            path: PathBuf::new(),
            text: String::new(),
            headers: Vec::new(),
        }
    }

    #[test]
    fn the_end_of_a_name_says_what_it_runs_on() {
        let runs = |module| [70, 80, 90, 100].map(|sm| named(module).runs_on(sm));
        assert_eq!(runs("voice/matmul"), [true, true, true, true]);
        assert_eq!(runs("voice/matmul.sm80"), [false, true, true, true]);
        assert_eq!(runs("voice/matmul.sm90a"), [false, false, true, false]);
        assert_eq!(named("voice/matmul.sm90a").name_of("sm_90"), "sm_90a");
        assert_eq!(
            named("voice/matmul.sm80").name_of("compute_80"),
            "compute_80"
        );
    }
}
