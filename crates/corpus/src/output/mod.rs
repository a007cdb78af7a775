//! Records on disk: columns, Parquet and JSONL files, and the manifest beside them.

mod column;
mod jsonl;
mod manifest;
mod parquet_reader;
mod parquet_writer;
mod row;

pub use manifest::{FileEntry, LevelCounts, Manifest, ManifestError, Settings, Tally};
pub use parquet_reader::{ReadError, read_rows};
pub use row::Row;

pub(crate) use jsonl::write_jsonl;
pub(crate) use parquet_writer::write_parquet;
