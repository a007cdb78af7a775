//! The manifest: what a data set is, which files it has, and how far it has come.
//!
//! It holds nothing that differs between two runs of the same settings: no times, no machine, no thread
//! count. A file counts once the manifest names it; until then it does not exist.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpsmith_formats::write_output_durably;

use super::compression::Compression;
use super::tally::Tally;
use crate::category::Category;
use crate::generate::Wanted;
use crate::record::{GENERATOR_VERSION, SCHEMA_VERSION, WARP_VERSION};
use crate::split::{Split, SplitRule};
use crate::verify::{Keep, Level};

/// Everything that decides what a data set contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The format of rows.
    pub schema_version: u32,
    /// The generator.
    pub generator_version: String,
    /// The compiler.
    pub compiler_version: String,
    /// The Warp release whose text is reproduced.
    pub warp_version: String,
    /// The seed.
    pub seed: u64,
    /// How many pairs there are to be, in all shards together.
    pub count: u64,
    /// The categories.
    pub categories: Vec<Category>,
    /// The difficulties.
    pub difficulties: Vec<u8>,
    /// Whether pairs with a shape that was there before are drawn again.
    pub deduplicate: bool,
    /// How pairs are divided.
    pub split: SplitRule,
    /// What is checked.
    pub verify: Vec<Level>,
    /// One pair of how many is compared with Warp.
    pub warp_every: u64,
    /// Which findings of the checks rows keep.
    #[serde(default)]
    pub keep: Vec<Keep>,
    /// `parquet` or `jsonl`.
    pub format: String,
    /// How texts are compressed.
    #[serde(default)]
    pub compression: Compression,
    /// Pairs of one shard.
    pub shard_pairs: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            generator_version: GENERATOR_VERSION.to_owned(),
            compiler_version: env!("CARGO_PKG_VERSION").to_owned(),
            warp_version: WARP_VERSION.to_owned(),
            seed: 0,
            count: 1000,
            categories: Category::ALL.to_vec(),
            difficulties: vec![1, 2, 3, 4, 5],
            deduplicate: true,
            split: SplitRule::default(),
            verify: vec![Level::Text],
            warp_every: 1000,
            keep: Vec::new(),
            format: "parquet".to_owned(),
            compression: Compression::default(),
            shard_pairs: 5_000,
        }
    }
}

impl Settings {
    /// How many shards there are.
    pub fn shards(&self) -> u64 {
        self.count.div_ceil(self.shard_pairs.max(1))
    }

    /// The indices of a shard.
    pub(crate) fn pairs_of(&self, shard: u64) -> std::ops::Range<u64> {
        let start = shard * self.shard_pairs;
        start..(start + self.shard_pairs).min(self.count)
    }

    /// Which drafts are requested.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            categories: self.categories.clone(),
            difficulties: self.difficulties.clone(),
        }
    }
}

/// A file of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Below the data set's folder, with `/`.
    pub path: String,
    /// Which part it belongs to.
    pub split: Split,
    /// The shard that it is of.
    pub shard: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes.
    pub sha256: String,
}

/// The manifest of one process's share of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What it was made with.
    pub settings: Settings,
    /// Which share of how many.
    pub part: (u64, u64),
    /// Shards of this share that are done, from its first.
    pub shards_done: u64,
    /// Its files.
    pub files: Vec<FileEntry>,
    /// What they hold.
    pub tally: Tally,
}

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file system.
    #[error("cannot {doing} `{path}`")]
    File {
        /// What was attempted.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is not a manifest.
    #[error("`{path}` is not a manifest: {reason}")]
    Contents {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is none.
    #[error("`{0}` holds no manifest; was it written by `warpsmith corpus generate`?")]
    Missing(PathBuf),
}

impl Manifest {
    /// A share of which nothing is done.
    pub fn new(settings: Settings, part: (u64, u64)) -> Self {
        Self {
            settings,
            part,
            shards_done: 0,
            files: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// The manifest's file for a share.
    pub fn path(folder: &Path, part: (u64, u64)) -> PathBuf {
        match part {
            (0, 1) => folder.join("manifest.json"),
            (part, parts) => folder.join(format!("manifest-{:05}-of-{parts:05}.json", part)),
        }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// A file that is missing or is no manifest.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let text = fs::read_to_string(path).map_err(|source| ManifestError::File {
            doing: "read",
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_str(&text).map_err(|error| ManifestError::Contents {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Every manifest of a folder, in the order of their shares.
    ///
    /// # Errors
    /// Where there is none, or one cannot be read.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, ManifestError> {
        let entries = fs::read_dir(folder).map_err(|source| ManifestError::File {
            doing: "list",
            path: folder.to_owned(),
            source,
        })?;
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("manifest") && name.ends_with(".json")
            })
            .collect();
        paths.sort();
        if paths.is_empty() {
            return Err(ManifestError::Missing(folder.to_owned()));
        }
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// Writes the manifest under a temporary name and renames it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, folder: &Path) -> Result<(), ManifestError> {
        let path = Self::path(folder, self.part);
        let failed = |source| ManifestError::File {
            doing: "write",
            path: path.clone(),
            source,
        };
        let mut text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        text.push('\n');
        write_output_durably(&path, text.as_bytes()).map_err(|error| failed(error.into()))
    }

    /// The shards of this share.
    pub fn shard_range(&self) -> std::ops::Range<u64> {
        let (part, parts) = self.part;
        let shards = self.settings.shards();
        shards * part / parts..shards * (part + 1) / parts
    }
}
