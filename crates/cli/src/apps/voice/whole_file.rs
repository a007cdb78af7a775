//! Files that a reader sees whole or not at all: written under a temporary name, then renamed.

use std::io::{BufWriter, IntoInnerError};
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// Writes `path` by way of a temporary file beside it.
pub(super) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<NamedTempFile>) -> Result<()>,
) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let write = || -> Result<()> {
        let mut builder = tempfile::Builder::new();
        // A temporary file is private by default; what the user asked for is an ordinary one.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = BufWriter::new(builder.tempfile_in(folder)?);
        write(&mut file)?;
        file.into_inner()
            .map_err(IntoInnerError::into_error)?
            .persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}
