//! Records on disk: columns, Parquet and JSONL files, and the manifest beside them.

mod column;
mod compression;
mod counter;
mod jsonl;
mod long_text;
mod manifest;
mod page_pool;
mod pages;
mod parquet_reader;
mod parquet_writer;
mod part;
mod row;
mod row_group;
mod schema;
mod tally;

pub use compression::{Compression, UnknownCompression};
pub use manifest::{FileEntry, Manifest, ManifestError, Settings};
pub use parquet_reader::{ReadError, read_rows};
pub use row::Row;
pub use tally::{LevelCounts, Tally};

pub(crate) use counter::Counter;
pub(crate) use long_text::PageMaker;
pub(crate) use page_pool::PagePool;
pub(crate) use part::Part;
