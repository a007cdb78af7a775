//! Whether two outputs of one call are the same file, or an output is what is read.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use super::destination::{Destination, folder_of};
use super::is_stdout;

/// Two outputs of one call are one file.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("`{first}` and `{second}` both write `{}`; give each a name of its own", path.display())]
pub struct SameOutput {
    first: String,
    second: String,
    path: PathBuf,
}

/// An output of a call is one of its inputs.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("`{}` would be overwritten with its own result; choose another `{name}`", input.display())]
pub struct InputOverwritten {
    name: String,
    input: PathBuf,
}

/// Checks that no output is a regular file that is read, by whatever name or link. Each output is a name for the
/// user and its path.
///
/// # Errors
/// Names the first input that would be lost.
pub fn check_inputs_kept(
    inputs: &[&Path],
    outputs: &[(&str, &Path)],
) -> Result<(), InputOverwritten> {
    // Hard links have other paths.
    let file = |path: &Path| {
        let facts = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((facts.dev(), facts.ino()))
    };
    let read: Vec<_> = inputs.iter().map(|path| (file(path), path)).collect();
    for (name, path) in outputs {
        let Some(written) = file(path).filter(|_| !is_stdout(path)) else {
            continue;
        };
        if let Some((_, input)) = read.iter().find(|(read, _)| *read == Some(written)) {
            return Err(InputOverwritten {
                name: (*name).to_owned(),
                input: input.to_path_buf(),
            });
        }
    }
    Ok(())
}

/// Checks that no two outputs are the same file, whatever they are called: links and `.` and `..` are
/// followed. Each is a name for the user, such as `--html`, and its path. An output that cannot be
/// written is no concern of this check.
///
/// # Errors
/// Names the first two that are the same.
pub fn check_distinct(outputs: &[(&str, &Path)]) -> Result<(), SameOutput> {
    let mut seen: HashMap<Identity, &str> = HashMap::with_capacity(outputs.len());
    for (name, path) in outputs {
        let Some(identity) = Identity::of(path) else {
            continue;
        };
        match seen.entry(identity) {
            Entry::Vacant(place) => {
                place.insert(name);
            }
            Entry::Occupied(first) => {
                return Err(SameOutput {
                    first: (*first.get()).to_owned(),
                    second: (*name).to_owned(),
                    path: path.to_path_buf(),
                });
            }
        }
    }
    Ok(())
}

#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Descriptor(RawFd),
    Path(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let path = match Destination::of(path).ok()? {
            Destination::Stdout => return Some(Self::Descriptor(1)),
            Destination::Descriptor(number) => return Some(Self::Descriptor(number)),
            Destination::InPlace(path)
            | Destination::Socket(path)
            | Destination::File { path, .. } => path,
        };
        Some(Self::Path(whole(folder_of(&path)).join(path.file_name()?)))
    }
}

/// A folder without links, `.` and `..`; parts of it that do not exist stand as they were written.
fn whole(folder: &Path) -> PathBuf {
    if let Ok(whole) = fs::canonicalize(folder) {
        return whole;
    }
    let name = folder.components().next_back();
    match (name, folder.parent()) {
        (Some(Component::ParentDir), _) => {
            let mut above = whole(folder_of(folder));
            above.pop();
            above
        }
        (Some(Component::Normal(name)), Some(_)) => whole(folder_of(folder)).join(name),
        _ => folder.to_owned(),
    }
}
