//! A shard: the blocks of consecutive indices, written as one file for each split that has rows.

use std::fs;
use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};
use warpsmith_formats::{OutputError, OutputFile};

use crate::block::Built;
use crate::output::{FileEntry, PagePool, Part, Settings, Tally};
use crate::run::{RunError, hexadecimal};
use crate::split::Split;

/// Blocks that were collected, in order.
#[derive(Debug)]
pub(crate) struct Shard {
    tally: Tally,
    parts: [Part; Split::ALL.len()],
}

/// A shard whose files are complete.
#[derive(Debug)]
pub(crate) struct WrittenShard {
    pub(crate) tally: Tally,
    pub(crate) files: Vec<FileEntry>,
}

impl Shard {
    /// A shard without rows.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            tally: Tally::default(),
            parts: std::array::from_fn(|_| Part::new(settings)),
        }
    }

    /// Puts a block after those that are there.
    pub(crate) fn append(&mut self, block: Built) -> Result<(), RunError> {
        self.tally.merge(&block.tally);
        for (ours, theirs) in self.parts.iter_mut().zip(block.parts) {
            ours.append(theirs)
                .map_err(|error| RunError::Encode(error.to_string()))?;
        }
        Ok(())
    }

    /// Writes the files; the memory of their pages goes to `pool`.
    pub(crate) fn write(
        self,
        folder: &Path,
        settings: &Settings,
        shard: u64,
        pool: &PagePool,
    ) -> Result<WrittenShard, RunError> {
        let mut files = Vec::new();
        for (split, part) in Split::ALL.into_iter().zip(self.parts) {
            let rows = part.rows();
            if rows == 0 {
                continue;
            }
            let name = format!(
                "data/{split}/part-{shard:05}-of-{:05}.{}",
                settings.shards(),
                settings.format
            );
            let path = folder.join(&name);
            let (bytes, sha256) =
                write_file(&path, part, pool).map_err(|reason| RunError::Write {
                    path: path.clone(),
                    reason,
                })?;
            files.push(FileEntry {
                path: name,
                split,
                shard,
                rows,
                bytes,
                sha256,
            });
        }
        Ok(WrittenShard {
            tally: self.tally,
            files,
        })
    }
}

/// Writes a file under a temporary name, renames it, and gives its size and checksum.
fn write_file(path: &Path, part: Part, pool: &PagePool) -> Result<(u64, String), String> {
    let parent = path.parent().ok_or("it has no folder")?;
    fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    let failed = |error: OutputError| std::io::Error::from(error).to_string();
    let mut checked = Checked {
        file: OutputFile::create(path).map_err(failed)?,
        bytes: 0,
        digest: Sha256::new(),
    };
    part.write(&mut checked, pool)
        .map_err(|error| error.to_string())?;
    checked.file.finish_durably().map_err(failed)?;
    Ok((checked.bytes, hexadecimal(checked.digest)))
}

/// A file whose size and SHA-256 are known when it is written.
struct Checked {
    file: OutputFile,
    bytes: u64,
    digest: Sha256,
}

impl Write for Checked {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
