//! JSON Lines: one row per line, the same columns as in Parquet.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::parquet_reader::ReadError;
use super::row::Row;

/// Reads rows from a file.
pub(crate) fn read_jsonl(path: &Path, file: File) -> std::result::Result<Vec<Row>, ReadError> {
    BufReader::new(file)
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let contents = |reason: String| ReadError::Contents {
                path: path.to_owned(),
                reason: format!("line {}: {reason}", number + 1),
            };
            let line = line.map_err(|error| contents(error.to_string()))?;
            serde_json::from_str(&line).map_err(|error| contents(error.to_string()))
        })
        .collect()
}
