//! One JSON object with an array to a column: values wait on disk until every column can be written from its start
//! to its end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::Column;

/// Values that are kept in memory, and that are put in order and written together.
const BLOCK: usize = 1 << 17;

/// Rows of f64, in blocks of `[column, row]` in a file without a name.
pub(super) struct JsonColumns {
    columns: usize,
    /// Rows of a full block.
    height: usize,
    file: Option<File>,
    blocks: u64,
    /// Rows that are not in the file, `[row, column]`.
    rows: Vec<f64>,
    remarks: Vec<(String, u64)>,
}

impl JsonColumns {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            columns,
            height: (BLOCK / columns.max(1)).max(1),
            file: None,
            blocks: 0,
            rows: Vec::new(),
            remarks: Vec::new(),
        }
    }

    pub(super) fn append(&mut self, mut values: &[f64]) -> io::Result<()> {
        let full = self.height * self.columns;
        while !values.is_empty() {
            let (here, after) = values.split_at(values.len().min(full - self.rows.len()));
            self.rows.extend_from_slice(here);
            values = after;
            if self.rows.len() == full {
                self.put_away()?;
            }
        }
        Ok(())
    }

    /// A number beside the columns.
    pub(super) fn remark(&mut self, name: &str, number: u64) {
        self.remarks.push((name.to_owned(), number));
    }

    fn put_away(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut bytes = Vec::with_capacity(8 * self.rows.len());
        for column in 0..self.columns {
            let values = self.rows.iter().skip(column).step_by(self.columns);
            bytes.extend(values.flat_map(|value| value.to_le_bytes()));
        }
        file.write_all(&bytes)?;
        self.blocks += 1;
        self.rows.clear();
        Ok(())
    }

    /// Writes the object, its names in order.
    pub(super) fn finish(mut self, columns: &[Column], out: &mut impl Write) -> io::Result<()> {
        let mut keys: Vec<(&str, Key)> = columns
            .iter()
            .enumerate()
            .map(|(place, column)| (&*column.name, Key::Column(place)))
            .collect();
        let remarks = std::mem::take(&mut self.remarks);
        keys.extend(
            remarks
                .iter()
                .map(|(name, number)| (&**name, Key::Remark(*number))),
        );
        keys.sort_by_key(|(name, _)| *name);
        out.write_all(b"{")?;
        for (place, (name, key)) in keys.into_iter().enumerate() {
            if place > 0 {
                out.write_all(b",")?;
            }
            serde_json::to_writer(&mut *out, name)?;
            out.write_all(b":")?;
            match key {
                Key::Remark(number) => write!(out, "{number}")?,
                Key::Column(column) => self.write_column(column, out)?,
            }
        }
        out.write_all(b"}\n")
    }

    fn write_column(&mut self, column: usize, out: &mut impl Write) -> io::Result<()> {
        let mut begun = false;
        let mut put = |value: f64, out: &mut dyn Write| -> io::Result<()> {
            out.write_all(if begun { b"," } else { b"[" })?;
            begun = true;
            // What is not finite is `null`.
            Ok(serde_json::to_writer(out, &value)?)
        };
        let chunk = 8 * self.height as u64;
        let mut bytes = vec![0; chunk as usize];
        if let Some(file) = &mut self.file {
            for block in 0..self.blocks {
                let place = (block * self.columns as u64 + column as u64) * chunk;
                file.seek(SeekFrom::Start(place))?;
                file.read_exact(&mut bytes)?;
                for value in bytes.as_chunks().0 {
                    put(f64::from_le_bytes(*value), out)?;
                }
            }
        }
        for value in self.rows.iter().skip(column).step_by(self.columns) {
            put(*value, out)?;
        }
        out.write_all(if begun { b"]" } else { b"[]" })
    }
}

/// What stands under a name.
enum Key {
    Column(usize),
    Remark(u64),
}

#[cfg(test)]
mod tests {
    use super::super::tests::columns;
    use super::super::{TableForm, TableWriter};
    use super::*;

    #[test]
    fn columns_stand_in_the_order_of_their_names_however_many_rows_there_are() {
        let mut bytes = Vec::new();
        let mut table = TableWriter::begin(TableForm::Json, columns(), &mut bytes).unwrap();
        table.remark("rate", 8000);
        table.rows(&[0.0, 440.25, 0.01, f64::NAN]).unwrap();
        table.finish().unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "{\"hertz\":[440.25,null],\"rate\":8000,\"seconds\":[0.0,0.01]}\n"
        );
        let mut empty = Vec::new();
        let table = TableWriter::begin(TableForm::Json, columns(), &mut empty).unwrap();
        table.finish().unwrap();
        assert_eq!(empty, b"{\"hertz\":[],\"seconds\":[]}\n");
        // Several blocks and a rest, in rows that do not end where blocks do.
        let rows = 3 * BLOCK / 2 + 77;
        let values: Vec<f64> = (0..2 * rows).map(|n| n as f64 / 7.0).collect();
        let mut bytes = Vec::new();
        let mut table = TableWriter::begin(TableForm::Json, columns(), &mut bytes).unwrap();
        for piece in values.chunks(2 * 1001) {
            table.rows(piece).unwrap();
        }
        table.finish().unwrap();
        let object: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        for (place, name) in ["seconds", "hertz"].into_iter().enumerate() {
            let found = object[name].as_array().unwrap();
            assert_eq!(found.len(), rows);
            let expected = values.iter().skip(place).step_by(2);
            // What reads the text here may be off in the last place.
            let near = |(x, y): (&serde_json::Value, &f64)| {
                x.as_f64().is_some_and(|x| (x - y).abs() <= 4e-16 * y.abs())
            };
            assert!(found.iter().zip(expected).all(near));
        }
    }
}
