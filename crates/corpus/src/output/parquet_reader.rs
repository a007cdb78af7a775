//! Reads data sets back, all columns or a few.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::column::{COLUMNS, Column};
use super::jsonl::read_jsonl;
use super::row::Row;

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
    read_parquet(file, columns).map_err(|error| ReadError::Contents {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn read_parquet(file: File, columns: &[&str]) -> Result<Vec<Row>> {
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
        let first = rows.len();
        rows.resize_with(first + count, Row::default);
        for (name, column) in COLUMNS {
            if !columns.is_empty() && !columns.contains(name) {
                continue;
            }
            let position = names
                .iter()
                .position(|known| known == name)
                .ok_or_else(|| ParquetError::General(format!("the column `{name}` is missing")))?;
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
