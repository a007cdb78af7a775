//! Writing one output: all at once, or piece by piece.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, IntoInnerError, Seek, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::destination::{Destination, folder_of};
use super::error::{OutputError, Problem};
use super::unfinished::Unfinished;

/// Bytes gathered before the system is called.
const BUFFER: usize = 64 << 10;
/// What a new file may be, before the umask.
const OPEN_MODE: u32 = 0o666;
/// What a file is that only its owner may see.
const PRIVATE_MODE: u32 = 0o600;

/// Writes `contents` to what `path` names.
///
/// # Errors
/// Where it cannot be written; what was there is then as it was.
pub fn write_output(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    let mut file = OutputFile::create(path)?;
    file.write_all(contents)
        .map_err(OutputError::system(path))?;
    file.finish()
}

/// As [`write_output`], and the contents are on disk before they take the name: a crash of the machine
/// leaves the old file or the new one.
///
/// # Errors
/// As [`write_output`].
pub fn write_output_durably(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    let mut file = OutputFile::create(path)?;
    file.write_all(contents)
        .map_err(OutputError::system(path))?;
    file.finish_durably()
}

/// Writes a file that must not exist yet and that only its owner can read; it appears whole or not at
/// all. Of two processes that try at once one fails.
///
/// # Errors
/// As [`write_output`], and where `path` exists, a link included
/// ([`AlreadyExists`](io::ErrorKind::AlreadyExists) as an [`io::Error`]).
pub fn write_new_private(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    let mut unfinished = temporary(path, folder_of(path), PRIVATE_MODE)?;
    let written = unfinished.file.write_all(contents);
    written.map_err(OutputError::system(path))?;
    unfinished
        .take_new(path)
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OutputError::new(path, Problem::Exists),
            _ => OutputError::system(path)(error),
        })
}

/// Checks that writing `path` would destroy nothing: there is no file, or an empty one, or it is no
/// regular file.
///
/// # Errors
/// Where there is one, or `path` cannot be written at all.
pub fn check_vacant(path: &Path) -> Result<(), OutputError> {
    match Destination::of(path)? {
        Destination::File {
            existing: Some(facts),
            ..
        } if facts.len() > 0 => Err(OutputError::new(path, Problem::Exists)),
        _ => Ok(()),
    }
}

/// As [`check_vacant`], for a file of [`OutputFile::create_partial`]: the unfinished file that a killed
/// process left is not destroyed either.
///
/// # Errors
/// As [`check_vacant`]; names the file that is in the way.
pub fn check_partial_vacant(path: &Path) -> Result<(), OutputError> {
    check_vacant(path)?;
    match Destination::of(path)? {
        Destination::File { path, .. } => check_vacant(&partial_name(&path)),
        _ => Ok(()),
    }
}

/// What a file is called until it is finished, where it is of use before.
fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

/// An output being written. Dropped before [`OutputFile::finish`] it leaves what was there as it was.
#[derive(Debug)]
pub struct OutputFile {
    /// As the user named it.
    path: PathBuf,
    out: BufWriter<Sink>,
}

#[derive(Debug)]
enum Sink {
    Stdout(io::Stdout),
    InPlace(File),
    Replacement(Replacement),
}

impl OutputFile {
    /// Begins to write what `path` names. A FIFO waits here for its reader.
    ///
    /// # Errors
    /// Where it cannot be written, with what to do about it.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let failed = OutputError::system(path);
        let sink = match Destination::of(path)? {
            Destination::File {
                path: to,
                existing: None,
            } => {
                let unfinished = temporary(path, folder_of(&to), OPEN_MODE)?;
                Sink::Replacement(Replacement {
                    unfinished,
                    to,
                    overwritten: None,
                })
            }
            Destination::File {
                path: to,
                existing: Some(facts),
            } => {
                // Private until it has the owner of the one that it replaces.
                let unfinished = temporary(path, folder_of(&to), PRIVATE_MODE)?;
                let overwritten = take_identity(path, &unfinished.file, &to, &facts)?;
                Sink::Replacement(Replacement {
                    unfinished,
                    to,
                    overwritten,
                })
            }
            other => in_place(other).map_err(failed)?,
        };
        Ok(Self::new(path, sink))
    }

    /// As [`OutputFile::create`], for a regular file that is of use before it is finished: until then it
    /// is called `path` with `.partial` behind it, and stays there whatever happens. What was written
    /// is in it after each [`flush`](Write::flush).
    ///
    /// # Errors
    /// As [`OutputFile::create`]; the error's path is the unfinished file's.
    pub fn create_partial(path: &Path) -> Result<Self, OutputError> {
        let (to, existing) = match Destination::of(path)? {
            Destination::File { path, existing } => (path, existing),
            other => {
                let sink = in_place(other).map_err(OutputError::system(path))?;
                return Ok(Self::new(path, sink));
            }
        };
        let partial = partial_name(&to);
        let unfinished =
            Unfinished::partial(partial.clone()).map_err(OutputError::system(&partial))?;
        let overwritten = match &existing {
            Some(facts) => take_identity(path, &unfinished.file, &to, facts)?,
            None => None,
        };
        let sink = Sink::Replacement(Replacement {
            unfinished,
            to,
            overwritten,
        });
        Ok(Self::new(&partial, sink))
    }

    fn new(path: &Path, sink: Sink) -> Self {
        Self {
            path: path.to_owned(),
            out: BufWriter::with_capacity(BUFFER, sink),
        }
    }

    /// What errors call it: the path that was given, or that of the unfinished file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(self) -> Result<(), OutputError> {
        self.complete(false)
    }

    /// As [`OutputFile::finish`], with everything on disk before it takes the name.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish_durably(self) -> Result<(), OutputError> {
        self.complete(true)
    }

    fn complete(self, durably: bool) -> Result<(), OutputError> {
        let Self { path, out } = self;
        let complete = || -> io::Result<()> {
            match out.into_inner().map_err(IntoInnerError::into_error)? {
                Sink::Stdout(mut stdout) => stdout.flush(),
                Sink::InPlace(mut file) => file.flush(),
                Sink::Replacement(replacement) => replacement.complete(durably),
            }
        };
        complete().map_err(OutputError::system(&path))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::InPlace(file) => file.write(bytes),
            Self::Replacement(replacement) => replacement.unfinished.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::InPlace(file) => file.flush(),
            Self::Replacement(replacement) => replacement.unfinished.file.flush(),
        }
    }
}

/// A file that will take the place of `to`.
#[derive(Debug)]
struct Replacement {
    unfinished: Unfinished,
    to: PathBuf,
    /// The file at `to`, open, where it must stay: it has an owner that we cannot give, or other names.
    overwritten: Option<File>,
}

impl Replacement {
    fn complete(mut self, durably: bool) -> io::Result<()> {
        if let Some(old) = self.overwritten {
            return overwrite(self.unfinished, old, durably);
        }
        if durably {
            self.unfinished.file.sync_all()?;
        }
        match self.unfinished.replace(&self.to) {
            // A mount point, as files are that a container gets from its host.
            Err(busy) if busy.kind() == io::ErrorKind::ResourceBusy => {
                let old = OpenOptions::new().write(true).open(&self.to)?;
                overwrite(self.unfinished, old, durably)
            }
            replaced => replaced,
        }
    }
}

/// Copies what is finished over a file that must stay.
fn overwrite(mut new: Unfinished, mut old: File, durably: bool) -> io::Result<()> {
    // Longer contents first, the end last: a copy that fails leaves the old file's length.
    let copied = new
        .file
        .rewind()
        .and_then(|()| old.rewind())
        .and_then(|()| io::copy(&mut new.file, &mut old))
        .and_then(|length| old.set_len(length))
        .and_then(|()| if durably { old.sync_all() } else { Ok(()) });
    let Err(error) = copied else {
        return new.remove();
    };
    // The old file may be damaged by now, so that the new one must stay.
    let kept = new.keep()?;
    let said = format!("{error}; the new contents are in `{}`", kept.display());
    Err(io::Error::new(error.kind(), said))
}

/// A new file in `folder` for the output `path`.
fn temporary(path: &Path, folder: &Path, mode: u32) -> Result<Unfinished, OutputError> {
    Unfinished::temporary(folder, mode)
        .map_err(|source| OutputError::in_folder(path, folder, source))
}

/// Gives `file` the owner and the mode of the file at `to`. Where that file must stay, it is opened: it
/// will be overwritten when the new one is whole. It must stay if the system does not let us give a file
/// away, or if it has other names, which would keep the old contents: the owner and the names matter
/// longer than the moment of the copy does.
fn take_identity(
    path: &Path,
    file: &File,
    to: &Path,
    old: &Metadata,
) -> Result<Option<File>, OutputError> {
    let failed = OutputError::system(path);
    let new = file.metadata().map_err(&failed)?;
    if !new.is_file() {
        // A link under the unfinished file's name led to a device: that is nobody's to give away.
        return Ok(None);
    }
    if old.nlink() > 1 {
        let opened = OpenOptions::new().write(true).open(to);
        return opened
            .map(Some)
            .map_err(|_| OutputError::new(path, Problem::HardLinks(old.nlink())));
    }
    let same = (new.uid(), new.gid()) == (old.uid(), old.gid());
    if !same && fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        let opened = OpenOptions::new().write(true).open(to);
        return opened
            .map(Some)
            .map_err(|_| OutputError::new(path, Problem::AnotherUsers));
    }
    // After the owner: a change of owner clears bits of the mode.
    let mode = Permissions::from_mode(old.mode() & 0o7777);
    file.set_permissions(mode).map_err(failed)?;
    Ok(None)
}

/// Opens what is not replaced.
fn in_place(destination: Destination) -> io::Result<Sink> {
    Ok(Sink::InPlace(match destination {
        Destination::Stdout => return Ok(Sink::Stdout(io::stdout())),
        Destination::Descriptor(number) => File::from(duplicate(number)?),
        Destination::Socket(path) => File::from(OwnedFd::from(UnixStream::connect(path)?)),
        Destination::InPlace(path) | Destination::File { path, .. } => {
            OpenOptions::new().write(true).open(path)?
        }
    }))
}

/// Another descriptor of what `number` is open for: it shares the position, as a shell's `>>` needs,
/// which opening it again would not.
fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `fcntl` takes numbers here and touches no memory of ours; one that is not an open
    // descriptor is answered with an error.
    let duplicate = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if duplicate < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, so it is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(duplicate) })
}
