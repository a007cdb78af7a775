//! Sizes with their times, and peak memory where it is there: a table as text, or hyperfine's JSON
//! of a parameter scan.
//!
//! Invariants: mistakes name file and line; a size that is there more often has the median of its
//! times and the largest of its memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use super::numbers;
use crate::memory_scaling::MemoryPoint;
use crate::scaling::SizePoint;
use crate::statistics::order::median_of;

/// A larger file is no table of sizes.
const MOST_BYTES: u64 = 16 << 20;

/// Why a file gave no sizes.
#[derive(Debug, Error)]
pub enum SizesError {
    /// It could not be read.
    #[error("cannot read `{}`", .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something in it does not fit.
    #[error("`{}`{}: {problem}", .path.display(), .line.map_or(String::new(), |line| format!(", line {line}")))]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Where, from 1; `None` for the file as a whole.
        line: Option<usize>,
        /// What does not fit.
        problem: String,
    },
}

/// What the file says.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// Sizes with their median times, by rising size.
    pub times: Vec<SizePoint>,
    /// Sizes with their largest memory; empty where the file has none.
    pub memory: Vec<MemoryPoint>,
}

/// Reads a table. `parameter` names the size among several parameters of hyperfine's file.
pub fn read_sizes(path: &Path, parameter: Option<&str>) -> Result<SizeTable, SizesError> {
    let malformed = |line: Option<usize>, problem: String| SizesError::Malformed {
        path: path.to_owned(),
        line,
        problem,
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text))
        .map_err(|source| SizesError::Read {
            path: path.to_owned(),
            source,
        })?;
    if text.len() as u64 > MOST_BYTES {
        return Err(malformed(
            None,
            "more than 16 MiB; a table of sizes is smaller".to_owned(),
        ));
    }
    let mut rows = Rows::default();
    if text.trim_start().starts_with('{') {
        let json = serde_json::from_str(&text)
            .map_err(|error| malformed(Some(error.line()), format!("not JSON: {error}")))?;
        rows.take_hyperfine(&json, parameter)
            .map_err(|problem| malformed(None, problem))?;
    } else {
        rows.take_text(&text)
            .map_err(|(line, problem)| malformed(Some(line), problem))?;
    }
    if rows.times.is_empty() {
        return Err(malformed(None, "holds no sizes".to_owned()));
    }
    Ok(rows.table())
}

#[derive(Default)]
struct Rows {
    times: BTreeMap<u64, Vec<f64>>,
    memory: BTreeMap<u64, u64>,
}

/// What a column of a text is.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Size,
    Time(f64),
    Memory(f64),
    Other,
}

impl Column {
    fn named(name: &str) -> Self {
        let name = name.trim_matches('"').to_ascii_lowercase();
        match name.as_str() {
            "n" | "size" | "sizes" => Self::Size,
            "s" | "sec" | "seconds" | "time" => Self::Time(1.0),
            "ms" | "milliseconds" => Self::Time(1e-3),
            "us" | "µs" | "microseconds" => Self::Time(1e-6),
            "ns" | "nanoseconds" => Self::Time(1e-9),
            "bytes" | "memory" => Self::Memory(1.0),
            "kib" | "kb" => Self::Memory(1024.0),
            "mib" | "mb" => Self::Memory(1048576.0),
            _ => Self::Other,
        }
    }
}

impl Rows {
    fn take_text(&mut self, text: &str) -> Result<(), (usize, String)> {
        let mut columns = vec![Column::Size, Column::Time(1.0), Column::Memory(1.0)];
        let mut first = true;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let separator = [',', ';'].into_iter().find(|mark| line.contains(*mark));
            let cells: Vec<&str> = match separator {
                Some(mark) => line.split(mark).map(str::trim).collect(),
                None => line.split_whitespace().collect(),
            };
            if std::mem::take(&mut first) && parse_size(cells[0]).is_none() {
                columns = header(&cells).map_err(|problem| (number, problem))?;
                continue;
            }
            self.take_row(&columns, &cells)
                .map_err(|problem| (number, problem))?;
        }
        Ok(())
    }

    fn take_row(&mut self, columns: &[Column], cells: &[&str]) -> Result<(), String> {
        if cells.len() < 2 {
            return Err(format!("`{}` is not a size and a time", cells.join(" ")));
        }
        let (mut size, mut seconds, mut bytes) = (None, None, None);
        for (column, cell) in columns.iter().zip(cells) {
            let quantity = |what: &str| match cell.parse::<f64>() {
                Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
                _ => Err(format!("`{cell}` is not a {what} above 0")),
            };
            match column {
                Column::Size => {
                    let parsed = parse_size(cell);
                    size = Some(parsed.ok_or(format!("`{cell}` is not a size above 0"))?);
                }
                Column::Time(unit) => seconds = Some(quantity("time")? * unit),
                Column::Memory(unit) => bytes = Some(quantity("number of bytes")? * unit),
                Column::Other => {}
            }
        }
        let size = size.ok_or("the size is missing")?;
        let seconds = seconds.ok_or("the time is missing")?;
        self.add(size, &[seconds], bytes);
        Ok(())
    }

    fn add(&mut self, size: u64, seconds: &[f64], bytes: Option<f64>) {
        self.times.entry(size).or_default().extend(seconds);
        if let Some(bytes) = bytes {
            let largest = self.memory.entry(size).or_default();
            *largest = (*largest).max(bytes as u64);
        }
    }

    fn take_hyperfine(&mut self, json: &Value, parameter: Option<&str>) -> Result<(), String> {
        let results = json.get("results").and_then(Value::as_array);
        let results = results.ok_or("JSON, but not what `hyperfine --export-json` writes")?;
        for result in results {
            let command = result.get("command").and_then(Value::as_str);
            let command = command.unwrap_or("a result");
            let parameters = result.get("parameters").and_then(Value::as_object);
            let parameters = parameters
                .filter(|parameters| !parameters.is_empty())
                .ok_or(format!(
                    "`{command}` has no parameter: use hyperfine's `--parameter-list n …`"
                ))?;
            let value = match parameter {
                Some(name) => parameters
                    .get(name)
                    .ok_or(format!("`{command}` has no parameter `{name}`"))?,
                None if parameters.len() == 1 => &parameters[first_key(parameters)],
                None => {
                    let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
                    return Err(format!(
                        "several parameters; choose the size with `--parameter` from {}",
                        names.join(", ")
                    ));
                }
            };
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let size = parse_size(&text).ok_or(format!("`{command}`: `{text}` is not a size"))?;
            let times = result.get("times").and_then(numbers).unwrap_or_default();
            if times.is_empty() || times.iter().any(|t| !(t.is_finite() && *t > 0.0)) {
                return Err(format!("`{command}` has no times above 0"));
            }
            let memory = result.get("memory_usage_byte").and_then(numbers);
            let memory = memory.map(|bytes| bytes.into_iter().fold(0.0, f64::max));
            self.add(size, &times, memory.filter(|bytes| *bytes > 0.0));
        }
        Ok(())
    }

    fn table(self) -> SizeTable {
        // Memory for a part of the sizes would be a law of another range.
        let complete = self.memory.len() == self.times.len();
        SizeTable {
            times: self
                .times
                .iter()
                .map(|(size, seconds)| SizePoint {
                    size: *size as f64,
                    seconds: median_of(seconds),
                })
                .collect(),
            memory: match complete {
                true => self
                    .memory
                    .iter()
                    .map(|(size, bytes)| MemoryPoint {
                        size: *size,
                        bytes: *bytes,
                    })
                    .collect(),
                false => Vec::new(),
            },
        }
    }
}

fn first_key(parameters: &serde_json::Map<String, Value>) -> &str {
    parameters.keys().next().map_or("", String::as_str)
}

fn header(cells: &[&str]) -> Result<Vec<Column>, String> {
    let columns: Vec<Column> = cells.iter().map(|cell| Column::named(cell)).collect();
    let times = columns
        .iter()
        .any(|column| matches!(column, Column::Time(_)));
    if !columns.contains(&Column::Size) || !times {
        return Err(format!(
            "`{}` names no columns that are known: one `n` or `size`, one of `seconds`, `ms`, `us`, \
             `ns`, and, for memory, `bytes`, `kib` or `mib`",
            cells.join(" ")
        ));
    }
    Ok(columns)
}

/// A whole number above 0: digits, with `K`, `M` or `G` for powers of 1024, or `1e6`.
pub fn parse_size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.chars().last()? {
        'K' | 'k' => (&text[..text.len() - 1], 1u64 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let digits = digits.replace('_', "");
    let whole = match digits.parse::<u64>() {
        Ok(whole) => whole,
        // `1e6` and `1000.0`, as other tools write whole numbers; exact below 2^53.
        Err(_) => {
            let number: f64 = digits.parse().ok()?;
            (number.fract() == 0.0 && (1.0..9e15).contains(&number)).then_some(number as u64)?
        }
    };
    whole.checked_mul(factor).filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SizeTable, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        std::fs::write(&path, text).unwrap();
        read_sizes(&path, None).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_are_whole_numbers_with_units() {
        assert_eq!(parse_size("4K"), Some(4096));
        assert_eq!(parse_size("1e6"), Some(1_000_000));
        assert_eq!(parse_size("1_000"), Some(1000));
        for bad in [
            "",
            "0",
            "-1",
            "1.5",
            "NaN",
            "inf",
            "1e30",
            "99999999999G",
            "K",
        ] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }

    #[test]
    fn plain_columns_are_size_seconds_and_bytes() {
        let table =
            read("# made by hand\n1K 0.5 4096\n2K 1.0 8192\n1K 0.7 5000\n1K 0.6 1\n").unwrap();
        let seconds: Vec<f64> = table.times.iter().map(|point| point.seconds).collect();
        assert_eq!(seconds, [0.6, 1.0]);
        assert_eq!(table.memory[0].bytes, 5000);
    }

    #[test]
    fn a_header_names_columns_and_units() {
        let table = read("name,ms,N,KiB\nx,2.0,10,3\ny,4,20,\n").unwrap_err();
        assert!(
            table.contains("line 3") && table.contains("bytes"),
            "{table}"
        );
        let table = read("name;ms;N\nx;2.0;10\ny;4;20\n").unwrap();
        assert_eq!(table.times[1].size, 20.0);
        assert!((table.times[1].seconds - 0.004).abs() < 1e-12);
        assert!(table.memory.is_empty());
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, said) in [
            ("1 2\n2 x\n", "line 2"),
            ("1 2\n2 -1\n", "`-1` is not a time"),
            ("1 2\n2\n", "not a size and a time"),
            ("a b\n", "line 1"),
            ("", "holds no sizes"),
            ("{\"a\": 1}", "hyperfine"),
            ("{", "not JSON"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_parameter_scan_of_hyperfine_is_a_table() {
        let json = r#"{"results": [
            {"command": "x 10", "times": [1.0, 3.0, 2.0], "memory_usage_byte": [5, 7, 6],
             "parameters": {"n": "10"}},
            {"command": "x 20", "times": [4.0], "memory_usage_byte": [9], "parameters": {"n": "20"}}]}"#;
        let table = read(json).unwrap();
        assert_eq!(table.times[0].seconds, 2.0);
        assert_eq!(table.memory[0].bytes, 7);
        let several = json.replace("\"n\":", "\"m\": \"1\", \"n\":");
        assert!(read(&several).unwrap_err().contains("--parameter"));
    }
}
