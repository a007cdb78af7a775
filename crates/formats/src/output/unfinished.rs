//! A file that is not finished yet, and the name that it takes when it is.
//!
//! It has no name where the file system can do that (`O_TMPFILE`): a process that is killed leaves
//! nothing behind. Elsewhere its name begins with [`TEMPORARY_PREFIX`].

use std::ffi::CString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

/// What the name of an unfinished file begins with, on file systems that give every file a name. One
/// that a killed process left may be removed.
pub const TEMPORARY_PREFIX: &str = ".part-";

#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) file: File,
    name: Name,
}

#[derive(Debug)]
enum Name {
    /// None yet; the file will be in this folder.
    In(PathBuf),
    /// Removed when it is dropped; a process that is killed leaves it.
    Temporary(TempPath),
    /// Stays until the file is finished.
    Partial(PathBuf),
    /// The file has taken its place.
    Finished,
}

impl Unfinished {
    /// A new file in `folder` with this mode, before the umask.
    pub(super) fn temporary(folder: &Path, mode: u32) -> io::Result<Self> {
        if let Some(file) = nameless(folder, mode) {
            return Ok(Self {
                file,
                name: Name::In(folder.to_owned()),
            });
        }
        let (file, name) = Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder)?
            .into_parts();
        let name = Name::Temporary(name);
        Ok(Self { file, name })
    }

    /// A file of this name that stays whatever happens.
    pub(super) fn partial(path: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // A device under this name may not be readable.
        let file = options
            .clone()
            .read(true)
            .open(&path)
            .or_else(|_| options.open(&path))?;
        let name = Name::Partial(path);
        Ok(Self { file, name })
    }

    /// Takes the name `to` from whatever has it. After an error this file is as it was.
    pub(super) fn replace(&mut self, to: &Path) -> io::Result<()> {
        self.be_named()?;
        match mem::replace(&mut self.name, Name::Finished) {
            Name::Temporary(name) => name.persist(to).map_err(|error| {
                self.name = Name::Temporary(error.path);
                error.error
            }),
            Name::Partial(name) => fs::rename(&name, to).inspect_err(|_| {
                self.name = Name::Partial(name);
            }),
            Name::In(_) | Name::Finished => Ok(()),
        }
    }

    /// Takes the name `to`, which nothing may have.
    pub(super) fn take_new(self, to: &Path) -> io::Result<()> {
        match self.name {
            Name::In(_) => link(&self.file, to),
            Name::Temporary(name) => name.persist_noclobber(to).map_err(|error| error.error),
            Name::Partial(name) => fs::hard_link(&name, to).and_then(|()| fs::remove_file(name)),
            Name::Finished => Ok(()),
        }
    }

    /// Where the file stays, for somebody to rescue.
    pub(super) fn keep(mut self) -> io::Result<PathBuf> {
        self.be_named()?;
        match self.name {
            Name::Temporary(name) => name.keep().map_err(|error| error.error),
            Name::Partial(name) | Name::In(name) => Ok(name),
            Name::Finished => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Ends it: its contents are elsewhere.
    pub(super) fn remove(self) -> io::Result<()> {
        match self.name {
            Name::Temporary(name) => name.close(),
            Name::Partial(name) => fs::remove_file(name),
            Name::In(_) | Name::Finished => Ok(()),
        }
    }

    fn be_named(&mut self) -> io::Result<()> {
        if let Name::In(folder) = &self.name {
            let named = Builder::new()
                .prefix(TEMPORARY_PREFIX)
                .make_in(folder, |path| link(&self.file, path))?;
            self.name = Name::Temporary(named.into_temp_path());
        }
        Ok(())
    }
}

/// A file without a name; `None` where the file system knows none, or where it could not be given one
/// later because `/proc` is missing.
fn nameless(folder: &Path, mode: u32) -> Option<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .mode(mode)
        .custom_flags(libc::O_TMPFILE)
        .open(folder)
        .ok()?;
    fs::symlink_metadata(descriptor(&file)).ok()?;
    Some(file)
}

fn descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Gives a nameless file the name `path`, which nothing may have.
fn link(file: &File, path: &Path) -> io::Result<()> {
    let [from, to] = [descriptor(file).as_path(), path]
        .map(|path| CString::new(path.as_os_str().as_bytes()))
        .map(|name| name.map_err(io::Error::from));
    let (from, to) = (from?, to?);
    // SAFETY: both names end with a zero byte and outlive the call, which only reads them. `fs::hard_link`
    // cannot be used: it does not follow the link that the descriptor is.
    let linked = unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    if linked < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
