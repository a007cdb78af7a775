//! What a path that a user named leads to.

use std::fs::{self, Metadata};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::error::{OutputError, Problem};

/// As many links as Linux follows in one path.
const MOST_LINKS: usize = 40;
/// The standard output's descriptor.
const STDOUT: RawFd = 1;

/// Where the bytes go; links are followed.
#[derive(Debug)]
pub(super) enum Destination {
    Stdout,
    /// A descriptor that this process was started with.
    Descriptor(RawFd),
    /// A device, a FIFO, or what the kernel shows as a file.
    InPlace(PathBuf),
    Socket(PathBuf),
    /// A regular file, or none yet.
    File {
        path: PathBuf,
        existing: Option<Metadata>,
    },
}

impl Destination {
    pub(super) fn of(path: &Path) -> Result<Self, OutputError> {
        let refused = |problem| OutputError::new(path, problem);
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let name = path.as_os_str().as_bytes();
        if name.is_empty() {
            return Err(refused(Problem::NoName));
        }
        let mut place = path.to_owned();
        for _ in 0..=MOST_LINKS {
            if let Some(found) = process_file(&place) {
                return Ok(found);
            }
            match fs::symlink_metadata(&place) {
                Ok(facts) if facts.is_symlink() => {
                    let target = fs::read_link(&place).map_err(OutputError::system(path))?;
                    place = folder_of(&place).join(target);
                }
                Ok(facts) => return Self::existing(place, facts).map_err(refused),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // `results/` says folder, and there is none that could be written to.
                    if place.as_os_str().as_bytes().ends_with(b"/") {
                        return Err(refused(Problem::MissingFolder(place)));
                    }
                    return Ok(Self::File {
                        path: place,
                        existing: None,
                    });
                }
                Err(error) => {
                    return Err(OutputError::in_folder(path, folder_of(&place), error));
                }
            }
        }
        let endless = io::Error::from_raw_os_error(libc::ELOOP);
        Err(refused(Problem::System(endless)))
    }

    fn existing(path: PathBuf, facts: Metadata) -> Result<Self, Problem> {
        let kind = facts.file_type();
        if kind.is_dir() {
            Err(Problem::Folder)
        } else if kind.is_file() {
            Ok(Self::File {
                path,
                existing: Some(facts),
            })
        } else if kind.is_socket() {
            Ok(Self::Socket(path))
        } else {
            Ok(Self::InPlace(path))
        }
    }
}

/// Whether what is written to `path` goes to the standard output: `-`, `/dev/stdout` and its other names.
pub fn is_stdout(path: &Path) -> bool {
    matches!(Destination::of(path), Ok(Destination::Stdout))
}

/// What stands in `/proc`: this process's descriptors, which `/dev/stdout` and `/dev/fd` are links to,
/// and files of the kernel, which has no room for others beside them. The links there are not
/// followed: they do not lead to a path, though they may show one.
fn process_file(place: &Path) -> Option<Destination> {
    let folder = fs::canonicalize(folder_of(place)).ok()?;
    if !folder.starts_with("/proc") {
        return None;
    }
    let number = place.file_name()?.to_str()?.parse().ok();
    let own = fs::canonicalize("/proc/self/fd").is_ok_and(|own| own == folder);
    Some(match number.filter(|_| own) {
        Some(STDOUT) => Destination::Stdout,
        Some(number) => Destination::Descriptor(number),
        None => Destination::InPlace(place.to_owned()),
    })
}

/// The folder that a path is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
