//! Reads data sets back, all columns or a few.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::column::{COLUMNS, Column};
use super::jsonl::read_jsonl;
use super::row::{Row, not_run};

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file itself.
    #[error("cannot read `{path}`")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its contents.
    #[error("cannot read `{path}`: {reason}")]
    Contents {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// The rows of a file; of a Parquet file only `columns`, where some are named.
///
/// # Errors
/// A file that is missing or damaged.
pub fn read_rows(path: &Path, columns: &[&str]) -> std::result::Result<Vec<Row>, ReadError> {
    let file = File::open(path).map_err(|source| ReadError::File {
        path: path.to_owned(),
        source,
    })?;
    if path
        .extension()
        .is_some_and(|extension| extension == "jsonl")
    {
        return read_jsonl(path, file);
    }
    // The reader is other people's code, and some of it trusts the pages of a file. What it held when
    // it gave up is dropped with it.
    let read = catch_unwind(AssertUnwindSafe(|| read_parquet(file, columns)));
    let read = read.map_err(|_| "its pages contradict each other".to_owned());
    let rows = read.and_then(|rows| rows.map_err(|error| error.to_string()));
    rows.map_err(|reason| ReadError::Contents {
        path: path.to_owned(),
        reason,
    })
}

fn read_parquet(file: File, columns: &[&str]) -> Result<Vec<Row>> {
    // Every row has hashes of its own, so that none takes less than a byte.
    let most = file.metadata().map_or(0, |metadata| metadata.len());
    let reader = SerializedFileReader::new(file)?;
    let names: Vec<String> = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|column| column.path().parts()[0].clone())
        .collect();
    let mut rows = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let count = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))?;
        if count as u64 > most {
            return Err(ParquetError::General(format!(
                "{count} rows cannot lie in {most} bytes"
            )));
        }
        let first = rows.len();
        rows.resize_with(first + count, Row::default);
        for (name, column) in COLUMNS {
            if !columns.is_empty() && !columns.contains(name) {
                continue;
            }
            let position = names.iter().position(|known| known == name);
            let Some(position) = position else {
                // Sets that were made before there was such a column have none.
                if *name == "vulkan" {
                    (rows[first..].iter_mut()).for_each(|row| row.vulkan = not_run());
                    continue;
                }
                let missing = format!("the column `{name}` is missing");
                return Err(ParquetError::General(missing));
            };
            fill(
                column,
                group.get_column_reader(position)?,
                &mut rows[first..],
            )?;
        }
    }
    Ok(rows)
}

fn fill(column: &Column, reader: ColumnReader, rows: &mut [Row]) -> Result<()> {
    let wrong = || ParquetError::General("a column of another type".to_owned());
    let text = |bytes: &ByteArray| {
        std::str::from_utf8(bytes.data())
            .map(str::to_owned)
            .map_err(|error| ParquetError::General(error.to_string()))
    };
    let count = rows.len();
    let complete = |seen: usize| match seen == count {
        true => Ok(()),
        false => Err(ParquetError::General(format!(
            "{seen} rows where {count} belong"
        ))),
    };
    match (column, reader) {
        (
            Column::Long(_, set) | Column::Short(_, set),
            ColumnReader::ByteArrayColumnReader(mut reader),
        ) => {
            let mut values = Vec::new();
            let (seen, ..) = reader.read_records(count, None, None, &mut values)?;
            complete(seen)?;
            for (row, value) in rows.iter_mut().zip(&values) {
                *set(row) = text(value)?;
            }
        }
        (Column::Number(_, set), ColumnReader::Int32ColumnReader(mut reader)) => {
            let mut values = Vec::new();
            let (seen, ..) = reader.read_records(count, None, None, &mut values)?;
            complete(seen)?;
            for (row, value) in rows.iter_mut().zip(&values) {
                *set(row) = value.cast_unsigned();
            }
        }
        (Column::Wide(_, set), ColumnReader::Int64ColumnReader(mut reader)) => {
            let mut values = Vec::new();
            let (seen, ..) = reader.read_records(count, None, None, &mut values)?;
            complete(seen)?;
            for (row, value) in rows.iter_mut().zip(&values) {
                *set(row) = value.cast_unsigned();
            }
        }
        (Column::Names(_, set), ColumnReader::ByteArrayColumnReader(reader)) => {
            let read = read_lists(reader, count)?;
            complete(read.rows)?;
            let items = read.items.iter().map(text).collect::<Result<Vec<_>>>()?;
            lists(&read.definition, &read.repetition, items, |row, item| {
                if let Some(row) = rows.get_mut(row) {
                    set(row).push(item);
                }
            });
        }
        (Column::Numbers(_, set), ColumnReader::Int32ColumnReader(reader)) => {
            let read = read_lists(reader, count)?;
            complete(read.rows)?;
            lists(
                &read.definition,
                &read.repetition,
                read.items,
                |row, item: i32| {
                    if let Some(row) = rows.get_mut(row) {
                        set(row).push(item.cast_unsigned());
                    }
                },
            );
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

/// Rows of lists as they are stored: all items, and the levels that say whose they are.
struct Lists<T> {
    rows: usize,
    items: Vec<T>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

fn read_lists<T: DataType>(mut reader: ColumnReaderImpl<T>, count: usize) -> Result<Lists<T::T>> {
    let (mut items, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
    let (rows, ..) = reader.read_records(
        count,
        Some(&mut definition),
        Some(&mut repetition),
        &mut items,
    )?;
    Ok(Lists {
        rows,
        items,
        definition,
        repetition,
    })
}

/// Hands out items to the rows that the levels say.
fn lists<T>(definition: &[i16], repetition: &[i16], items: Vec<T>, mut put: impl FnMut(usize, T)) {
    let mut items = items.into_iter();
    let mut row = 0;
    for (n, (definition, repetition)) in definition.iter().zip(repetition).enumerate() {
        if *repetition == 0 && n > 0 {
            row += 1;
        }
        if *definition > 0
            && let Some(item) = items.next()
        {
            put(row, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: pages that need a dictionary, and none before them.
    #[test]
    fn a_file_whose_pages_contradict_each_other_is_an_error() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fuzz/corpus/corpus_shard/no-dictionary");
        let error = read_rows(&path, &[]).unwrap_err();
        assert!(error.to_string().contains("contradict"), "{error}");
    }
}
