//! What becomes one file: the rows of one split in one shard.
//!
//! Invariants: whatever the number of cores, the same rows come to the same row groups. A block with
//! many rows of a split makes a row group by itself; where it has few, blocks are put together until
//! they have [`GROUP_ROWS`].

use std::io::Write;

use parquet::errors::{ParquetError, Result};

use super::long_text::PageMaker;
use super::manifest::Settings;
use super::page_pool::PagePool;
use super::parquet_writer::write_parquet;
use super::row::Row;
use super::row_group::{RowGroup, Rows};
use crate::record::Record;

/// Rows from which a row group is closed.
const GROUP_ROWS: usize = 1000;

/// Rows from which a block's share of a split is a row group by itself.
const BLOCK_ROWS: usize = 200;

/// The rows of a split, encoded as far as possible.
#[derive(Debug)]
pub(crate) enum Part {
    Parquet { groups: Vec<RowGroup>, loose: Rows },
    Lines { rows: u64, text: Vec<u8> },
}

impl Part {
    /// No rows yet, in the form that the settings say.
    pub(crate) fn new(settings: &Settings) -> Self {
        match settings.format.as_str() {
            "jsonl" => Self::Lines {
                rows: 0,
                text: Vec::new(),
            },
            _ => Self::Parquet {
                groups: Vec::new(),
                loose: Rows::new(settings.compression),
            },
        }
    }

    /// Adds a row; gives back the memory of its texts.
    pub(crate) fn push(
        &mut self,
        mut record: Record,
        maker: &mut PageMaker,
    ) -> Result<[String; 2]> {
        match self {
            Self::Parquet { loose, .. } => loose.push(record, maker),
            Self::Lines { rows, text } => {
                serde_json::to_writer(&mut *text, &Row::from(&record))
                    .map_err(|error| ParquetError::General(error.to_string()))?;
                text.push(b'\n');
                *rows += 1;
                Ok(record.take_texts())
            }
        }
    }

    /// Ends a block.
    pub(crate) fn seal(&mut self, maker: &mut PageMaker) -> Result<()> {
        match self {
            Self::Parquet { groups, loose } => {
                loose.seal(maker)?;
                if loose.len() >= BLOCK_ROWS {
                    groups.push(loose.take().encode()?);
                }
                Ok(())
            }
            Self::Lines { .. } => Ok(()),
        }
    }

    /// Puts the rows of the next block after these.
    pub(crate) fn append(&mut self, next: Self) -> Result<()> {
        match (self, next) {
            (
                Self::Parquet { groups, loose },
                Self::Parquet {
                    groups: more,
                    loose: rest,
                },
            ) => {
                groups.extend(more);
                loose.append(rest);
                if loose.len() >= GROUP_ROWS {
                    groups.push(loose.take().encode()?);
                }
            }
            (
                Self::Lines { rows, text },
                Self::Lines {
                    rows: more,
                    text: rest,
                },
            ) => {
                *rows += more;
                text.extend_from_slice(&rest);
            }
            _ => {
                return Err(ParquetError::General(
                    "blocks of different formats".to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        match self {
            Self::Parquet { groups, loose } => {
                groups.iter().map(|group| group.rows).sum::<u64>() + loose.len() as u64
            }
            Self::Lines { rows, .. } => *rows,
        }
    }

    /// Writes all of it.
    pub(crate) fn write(self, file: &mut (impl Write + Send), pool: &PagePool) -> Result<()> {
        match self {
            Self::Parquet { mut groups, loose } => {
                if loose.len() > 0 {
                    groups.push(loose.encode()?);
                }
                write_parquet(file, groups, pool)
            }
            Self::Lines { text, .. } => Ok(file.write_all(&text)?),
        }
    }
}
