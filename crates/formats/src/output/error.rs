//! Why an output could not be written, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A file that a user named could not be written.
#[derive(Debug)]
pub struct OutputError {
    path: PathBuf,
    problem: Problem,
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write `{}`", self.path.display())?;
        match &self.problem {
            Problem::System(_) => Ok(()),
            // What to do about it belongs into the same line.
            problem => write!(f, ": {problem}"),
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            // Itself, so that whoever looks for a closed pipe finds it.
            Problem::System(source) => Some(source),
            _ => None,
        }
    }
}

#[derive(Debug, Error)]
pub(super) enum Problem {
    #[error("the name is empty; use `-` for the standard output")]
    NoName,
    #[error("it is a folder; name a file in it")]
    Folder,
    #[error("the folder `{folder}` does not exist; create it with `mkdir -p {folder}`", folder = .0.display())]
    MissingFolder(PathBuf),
    #[error("`{}` is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error(
        "no permission to create a file in `{}`; choose another folder or change its permissions",
        .0.display()
    )]
    ClosedFolder(PathBuf),
    #[error("it belongs to another user, who lets nobody else write it; choose another name")]
    AnotherUsers,
    #[error(
        "it is read-only and has {0} names (hard links), which must keep the same contents; `chmod u+w` lets it be written, or choose another name"
    )]
    HardLinks(u64),
    #[error("it exists; `--force` replaces it")]
    Exists,
    #[error(transparent)]
    System(io::Error),
}

impl OutputError {
    pub(super) fn new(path: &Path, problem: Problem) -> Self {
        Self {
            path: path.to_owned(),
            problem,
        }
    }

    pub(super) fn system(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self {
            path: path.clone(),
            problem: Problem::System(source),
        }
    }

    /// What was to be written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why a file could not be created in `folder`.
    pub(super) fn in_folder(path: &Path, folder: &Path, source: io::Error) -> Self {
        let problem = match source.kind() {
            io::ErrorKind::NotFound => Problem::MissingFolder(folder.to_owned()),
            io::ErrorKind::NotADirectory => Problem::NotAFolder(folder.to_owned()),
            io::ErrorKind::PermissionDenied => Problem::ClosedFolder(folder.to_owned()),
            _ => Problem::System(source),
        };
        Self::new(path, problem)
    }
}

/// Without the path, for errors that name it themselves.
impl From<OutputError> for io::Error {
    fn from(error: OutputError) -> Self {
        let kind = match error.problem {
            Problem::System(source) => return source,
            Problem::NoName => io::ErrorKind::InvalidInput,
            Problem::Folder => io::ErrorKind::IsADirectory,
            Problem::MissingFolder(_) => io::ErrorKind::NotFound,
            Problem::NotAFolder(_) => io::ErrorKind::NotADirectory,
            Problem::ClosedFolder(_) | Problem::AnotherUsers | Problem::HardLinks(_) => {
                io::ErrorKind::PermissionDenied
            }
            Problem::Exists => io::ErrorKind::AlreadyExists,
        };
        Self::new(kind, error.problem)
    }
}
