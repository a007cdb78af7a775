//! A shard: the blocks of consecutive indices, written as one file for each split that has rows.

use std::fs;
use std::path::Path;

use crate::block::Built;
use crate::output::{FileEntry, Part, Settings, Tally};
use crate::run::{RunError, checksum};
use crate::split::Split;

/// Blocks that were collected, in order.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) tally: Tally,
    parts: [Part; Split::ALL.len()],
}

impl Shard {
    /// A shard without rows.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            tally: Tally::default(),
            parts: std::array::from_fn(|_| Part::new(&settings.format)),
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

    /// Writes the files.
    pub(crate) fn write(
        self,
        folder: &Path,
        settings: &Settings,
        shard: u64,
    ) -> Result<Vec<FileEntry>, RunError> {
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
            let (bytes, sha256) = write_file(&path, part).map_err(|reason| RunError::Write {
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
        Ok(files)
    }
}

/// Writes a file under a temporary name, renames it, and gives its size and checksum.
fn write_file(path: &Path, part: Part) -> Result<(u64, String), String> {
    let parent = path.parent().ok_or("it has no folder")?;
    fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    let mut file = tempfile::Builder::new()
        .prefix(".part-")
        .tempfile_in(parent)
        .map_err(|error| error.to_string())?;
    part.write(file.as_file_mut())
        .map_err(|error| error.to_string())?;
    file.as_file()
        .sync_all()
        .map_err(|error| error.to_string())?;
    let digest = checksum(file.path()).map_err(|error| error.to_string())?;
    file.persist(path)
        .map_err(|error| error.error.to_string())?;
    Ok(digest)
}
