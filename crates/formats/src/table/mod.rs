//! Rows of numbers with named columns, written while they are computed: CSV, JSON, JSON lines, NumPy's files
//! and Parquet.
//!
//! Invariants: memory does not grow with the rows; an absent value is NaN in memory, nothing in CSV, `null`
//! in JSON and Parquet, and NaN in NumPy's files.

mod json_columns;
mod npz;
mod parquet;
mod spool;

use std::fmt::Write as _;
use std::io::{self, Write};

use json_columns::JsonColumns;
use parquet::Parquet;
use spool::Spool;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Text with a heading, one line to a row.
    Csv,
    /// One JSON object with an array to a column, in the order of their names.
    Json,
    /// One JSON object to a line.
    JsonLines,
    /// NumPy's matrix, `[row, column]`, f32.
    Npy,
    /// NumPy's archive of two arrays: `values`, `[row, column]`, f32, and `columns`, their names.
    Npz,
    /// Parquet, uncompressed: a column is f32, and f64 where it is [`Column::wide`].
    Parquet,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether its values need more than seven digits where the form has them.
    pub wide: bool,
}

/// A table on its way out.
pub struct TableWriter<W: Write> {
    out: W,
    columns: Vec<Column>,
    body: Body,
}

enum Body {
    Csv,
    Json(JsonColumns),
    JsonLines,
    Npy(Spool),
    Npz(Spool),
    Parquet(Parquet),
}

impl<W: Write> TableWriter<W> {
    /// Begins a table of at least one column.
    ///
    /// # Errors
    /// What `out` and the system say.
    pub fn begin(form: TableForm, columns: Vec<Column>, mut out: W) -> io::Result<Self> {
        let body = match form {
            TableForm::Csv => {
                let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
                writeln!(out, "{}", names.join(","))?;
                Body::Csv
            }
            TableForm::Json => Body::Json(JsonColumns::new(columns.len())),
            TableForm::JsonLines => Body::JsonLines,
            TableForm::Npy => Body::Npy(Spool::new(columns.len())?),
            TableForm::Npz => Body::Npz(Spool::new(columns.len())?),
            TableForm::Parquet => Body::Parquet(Parquet::begin(&columns, &mut out)?),
        };
        Ok(Self { out, columns, body })
    }

    /// Writes a number beside the columns, where the form has room for it: in JSON.
    pub fn remark(&mut self, name: &str, number: u64) {
        if let Body::Json(json) = &mut self.body {
            json.remark(name, number);
        }
    }

    /// Appends whole rows, `[row, column]`.
    ///
    /// # Errors
    /// What `out` and the system say.
    pub fn rows(&mut self, values: &[f64]) -> io::Result<()> {
        let Self { out, columns, body } = self;
        match body {
            Body::Csv => lines(out, values, columns.len(), |line, column, value| {
                if column > 0 {
                    line.push(',');
                }
                // Seven digits, what an f32 has.
                if !value.is_nan() {
                    let _ = write!(line, "{}", value as f32);
                }
            }),
            Body::JsonLines => lines(out, values, columns.len(), |line, column, value| {
                line.push(if column == 0 { '{' } else { ',' });
                let _ = write!(line, "{:?}:", columns[column].name);
                let value = value as f32;
                if value.is_finite() {
                    let _ = write!(line, "{value}");
                } else {
                    line.push_str("null");
                }
                if column + 1 == columns.len() {
                    line.push('}');
                }
            }),
            Body::Json(json) => json.append(values),
            Body::Npy(spool) | Body::Npz(spool) => spool.append(values),
            Body::Parquet(parquet) => parquet.append(values, out),
        }
    }

    /// Hands on what can be read already.
    ///
    /// # Errors
    /// What `out` says.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the table.
    ///
    /// # Errors
    /// What `out` and the system say; an archive of more than 4 GiB.
    pub fn finish(mut self) -> io::Result<()> {
        match self.body {
            Body::Csv | Body::JsonLines => {}
            Body::Json(json) => json.finish(&self.columns, &mut self.out)?,
            Body::Npy(spool) => spool.write_npy(&mut self.out)?,
            Body::Npz(spool) => npz::write(spool, &self.columns, &mut self.out)?,
            Body::Parquet(parquet) => parquet.finish(&mut self.out)?,
        }
        self.out.flush()
    }
}

/// Writes a line to a row; `cell` appends a value, which has a column.
fn lines(
    out: &mut impl Write,
    values: &[f64],
    columns: usize,
    mut cell: impl FnMut(&mut String, usize, f64),
) -> io::Result<()> {
    let mut line = String::new();
    for row in values.chunks_exact(columns) {
        line.clear();
        for (column, value) in row.iter().enumerate() {
            cell(&mut line, column, *value);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::NpyArray;

    pub(super) fn columns() -> Vec<Column> {
        [("seconds", true), ("hertz", false)]
            .map(|(name, wide)| Column {
                name: name.to_owned(),
                wide,
            })
            .to_vec()
    }

    fn written(form: TableForm) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut table = TableWriter::begin(form, columns(), &mut bytes).unwrap();
        table.rows(&[0.0, 440.25, 0.01, f64::NAN]).unwrap();
        table.rows(&[]).unwrap();
        table.rows(&[0.02, 1e-3]).unwrap();
        table.finish().unwrap();
        bytes
    }

    #[test]
    fn text_has_a_line_to_a_row_and_says_what_is_absent() {
        assert_eq!(
            String::from_utf8(written(TableForm::Csv)).unwrap(),
            "seconds,hertz\n0,440.25\n0.01,\n0.02,0.001\n"
        );
        assert_eq!(
            String::from_utf8(written(TableForm::JsonLines)).unwrap(),
            "{\"seconds\":0,\"hertz\":440.25}\n{\"seconds\":0.01,\"hertz\":null}\n\
             {\"seconds\":0.02,\"hertz\":0.001}\n"
        );
    }

    #[test]
    fn an_absent_value_in_the_first_column_keeps_its_place() {
        let mut bytes = Vec::new();
        let mut table = TableWriter::begin(TableForm::Csv, columns(), &mut bytes).unwrap();
        table.rows(&[f64::NAN, 1.0]).unwrap();
        table.finish().unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "seconds,hertz\n,1\n");
    }

    #[test]
    fn numpys_matrix_has_the_rows_that_came() {
        let array = NpyArray::parse(&written(TableForm::Npy)).unwrap();
        assert_eq!((&*array.descr, &array.shape[..]), ("<f4", &[3, 2][..]));
        assert_eq!(array.data[4..8], 440.25f32.to_le_bytes());
    }
}
