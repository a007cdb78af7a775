//! Rows on their way into a Parquet file: whole texts as compressed pages, the rest as records.
//!
//! Everything that costs time is done by whoever makes the rows, on all cores; writing a file is then
//! only laying the chunks down.

use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};

use super::column::{COLUMNS, Column};
use super::compression::Compression;
use super::long_text::{LongText, PageMaker};
use super::pages::Pages;
use super::schema::{Shared, shared};
use crate::record::Record;

/// One encoded column chunk.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(super) pages: Pages,
    pub(super) close: ColumnCloseResult,
}

/// An encoded row group: its rows, and a chunk for each column.
#[derive(Debug)]
pub(crate) struct RowGroup {
    pub(crate) rows: u64,
    pub(super) chunks: Vec<Chunk>,
}

/// Rows that are not encoded yet, but for their whole texts.
#[derive(Debug)]
pub(crate) struct Rows {
    compression: Compression,
    /// The records, their whole texts taken out.
    records: Vec<Record>,
    /// One for each [`Column::Long`], in the order of the columns.
    long: Vec<LongText>,
}

impl Rows {
    /// No rows.
    pub(crate) fn new(compression: Compression) -> Self {
        let long = COLUMNS
            .iter()
            .filter(|(_, column)| matches!(column, Column::Long(..)));
        Self {
            compression,
            records: Vec::new(),
            long: long.map(|_| LongText::default()).collect(),
        }
    }

    /// The rows, which leaves none.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.compression))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Adds a row; gives back the texts' memory.
    pub(crate) fn push(
        &mut self,
        mut record: Record,
        maker: &mut PageMaker,
    ) -> Result<[String; 2]> {
        let getters = COLUMNS.iter().filter_map(|(_, column)| match column {
            Column::Long(get, _) => Some(get),
            _ => None,
        });
        for (get, long) in getters.zip(&mut self.long) {
            long.push(get(&record), maker)?;
        }
        let texts = record.take_texts();
        self.records.push(record);
        Ok(texts)
    }

    /// Closes the pages, so that what follows begins with new ones.
    pub(crate) fn seal(&mut self, maker: &mut PageMaker) -> Result<()> {
        self.long.iter_mut().try_for_each(|long| long.seal(maker))
    }

    /// Puts other rows after these; both are sealed.
    pub(crate) fn append(&mut self, other: Self) {
        self.records.extend(other.records);
        for (ours, theirs) in self.long.iter_mut().zip(other.long) {
            ours.append(theirs);
        }
    }

    /// Encodes the rest; the rows are sealed.
    pub(crate) fn encode(self) -> Result<RowGroup> {
        let shared = shared(self.compression)?;
        let mut long = self.long.into_iter();
        let chunks =
            COLUMNS
                .iter()
                .enumerate()
                .map(|(position, (_, column))| match (column, long.len()) {
                    (Column::Long(..), 1..) => long
                        .next()
                        .unwrap_or_default()
                        .into_chunk(shared.descriptor.column(position), shared.compression),
                    _ => encode(shared, position, column, &self.records),
                });
        Ok(RowGroup {
            chunks: chunks.collect::<Result<_>>()?,
            rows: self.records.len() as u64,
        })
    }
}

fn encode(shared: &Shared, position: usize, column: &Column, records: &[Record]) -> Result<Chunk> {
    let mut sink = TrackedWrite::new(Vec::new());
    let descriptor = shared.descriptor.column(position);
    let pages = Box::new(SerializedPageWriter::new(&mut sink));
    let mut writer = get_column_writer(descriptor, shared.properties.clone(), pages);
    let name = |text: &&'static str| ByteArray::from(Bytes::from_static(text.as_bytes()));
    match (column, &mut writer) {
        (Column::Short(get, _), ColumnWriter::ByteArrayColumnWriter(writer)) => {
            let values: Vec<ByteArray> = records.iter().map(|r| get(r).into()).collect();
            writer.write_batch(&values, None, None)?;
        }
        (Column::Number(get, _), ColumnWriter::Int32ColumnWriter(writer)) => {
            let values: Vec<i32> = records.iter().map(|r| get(r).cast_signed()).collect();
            writer.write_batch(&values, None, None)?;
        }
        (Column::Wide(get, _), ColumnWriter::Int64ColumnWriter(writer)) => {
            let values: Vec<i64> = records.iter().map(|r| get(r).cast_signed()).collect();
            writer.write_batch(&values, None, None)?;
        }
        (Column::Names(get, _), ColumnWriter::ByteArrayColumnWriter(writer)) => {
            let levels = list_levels(records.iter().map(|r| get(r).len()));
            let values: Vec<ByteArray> = records.iter().flat_map(get).map(name).collect();
            writer.write_batch(&values, Some(&levels.0), Some(&levels.1))?;
        }
        (Column::Numbers(get, _), ColumnWriter::Int32ColumnWriter(writer)) => {
            let levels = list_levels(records.iter().map(|r| get(r).len()));
            let values: Vec<i32> = records
                .iter()
                .flat_map(|r| get(r).iter().map(|n| n.cast_signed()))
                .collect();
            writer.write_batch(&values, Some(&levels.0), Some(&levels.1))?;
        }
        _ => return Err(ParquetError::General("a column of another type".to_owned())),
    }
    let close = writer.close()?;
    let pages = Pages::from(sink.into_inner()?);
    Ok(Chunk { pages, close })
}

/// Definition and repetition levels of lists with these lengths.
fn list_levels(lengths: impl Iterator<Item = usize>) -> (Vec<i16>, Vec<i16>) {
    let (mut definition, mut repetition) = (Vec::new(), Vec::new());
    for length in lengths {
        definition.push(i16::from(length > 0));
        repetition.push(0);
        for _ in 1..length {
            definition.push(1);
            repetition.push(1);
        }
    }
    (definition, repetition)
}
