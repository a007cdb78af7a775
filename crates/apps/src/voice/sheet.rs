//! Numbers with named columns, one row to a frame, and the ways they leave the program.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use warpsmith_core::ArgumentError;
use warpsmith_formats::{OutputFile, check_distinct, is_stdout, npy};
use warpsmith_voice::SignalError;

use super::csv_line::csv_line;
use super::input::Input;
use super::live::{LONG_FILE_BYTES, Listening, listen_to_file};
use warpsmith_console::global::{Format, Global};
use warpsmith_console::output::progress;

/// Where numbers go and how they look.
#[derive(Args)]
pub(super) struct Destination {
    /// How to write the numbers; `--format json` means `json` here too.
    #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = Encoding::Csv)]
    encoding: Encoding,
    /// A file for one input, a directory for several; `-` or nothing is standard output.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

/// An error that says which file it is about: what cannot be done with a signal does not know where it came
/// from, what cannot be read does.
fn of_file(path: &Path, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(SignalError::Argument(ArgumentError::Parameter { .. })) => {
            error.context(format!("cannot analyse `{}`", path.display()))
        }
        _ => error,
    }
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Encoding {
    /// Text with a heading, one line to a frame.
    Csv,
    /// Columns by name.
    Json,
    /// NumPy's binary matrix, `[frame, column]`, f32.
    Npy,
}

/// Rows of numbers.
pub(super) struct Sheet {
    pub(super) columns: Vec<String>,
    /// `[row, column]`; NaN is an absent value.
    pub(super) values: Vec<f64>,
}

impl Sheet {
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns.len())
    }

    fn write(&self, encoding: Encoding, mut out: &mut dyn Write) -> Result<()> {
        match encoding {
            Encoding::Csv => {
                writeln!(out, "{}", self.columns.join(","))?;
                for row in self.rows() {
                    writeln!(out, "{}", csv_line(row))?;
                }
            }
            Encoding::Json => {
                serde_json::to_writer(&mut out, &self.json())?;
                writeln!(out)?;
            }
            Encoding::Npy => {
                let values: Vec<f32> = self.values.iter().map(|value| *value as f32).collect();
                let columns = self.columns.len();
                npy::write_f32(&mut out, &[values.len() / columns, columns], &values)?;
            }
        }
        Ok(())
    }

    /// A column of numbers to a name; an absent value is `null`.
    pub(super) fn json(&self) -> Value {
        let mut object = Map::new();
        for (index, name) in self.columns.iter().enumerate() {
            let column: Vec<Value> = self.rows().map(|row| json!(row[index])).collect();
            object.insert(name.clone(), Value::Array(column));
        }
        Value::Object(object)
    }
}

impl Destination {
    /// Analyses each input and writes its sheet.
    pub(super) fn each(
        &self,
        global: &Global,
        input: &Input,
        mut analyse: impl FnMut(&Path) -> Result<Sheet>,
    ) -> Result<()> {
        self.each_or_in_pieces(global, input, None, |path| analyse(path))
    }

    /// As [`Destination::each`]; long files whose rows go out as CSV are heard by the listener, piece by
    /// piece, where there is one.
    pub(super) fn each_or_in_pieces(
        &self,
        global: &Global,
        input: &Input,
        listener: Option<Listening<'_>>,
        mut analyse: impl FnMut(&Path) -> Result<Sheet>,
    ) -> Result<()> {
        let encoding = self.encoding(global);
        let several = input.files.len() > 1;
        self.each_group(global, input, 0, |paths| {
            for path in paths {
                let long =
                    std::fs::metadata(path).is_ok_and(|facts| facts.len() >= LONG_FILE_BYTES);
                match listener {
                    Some(listener) if long && encoding == Encoding::Csv => {
                        self.put(path, encoding, several, |out| {
                            listen_to_file(input, path, listener, out)
                        })?;
                    }
                    _ => {
                        let sheet = analyse(path).map_err(|error| of_file(path, error))?;
                        self.write(path, &sheet, encoding, several)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Analyses neighbouring inputs together, as many as have up to `bytes` on disk and at least one,
    /// and writes their sheets.
    pub(super) fn in_groups(
        &self,
        global: &Global,
        input: &Input,
        bytes: u64,
        mut analyse: impl FnMut(&[PathBuf]) -> Result<Vec<Sheet>>,
    ) -> Result<()> {
        let several = input.files.len() > 1;
        self.each_group(global, input, bytes, |group| {
            for (path, sheet) in group.iter().zip(analyse(group)?) {
                self.write(path, &sheet, self.encoding(global), several)?;
            }
            Ok(())
        })
    }

    /// Hands over neighbouring inputs, as many as have up to `bytes` on disk and at least one.
    fn each_group(
        &self,
        global: &Global,
        input: &Input,
        bytes: u64,
        mut take: impl FnMut(&[PathBuf]) -> Result<()>,
    ) -> Result<()> {
        let several = input.files.len() > 1;
        self.check(global, input)?;
        let mut rest = &input.files[..];
        while let Some(path) = rest.first() {
            if several {
                let count = input.files.len();
                let number = count - rest.len() + 1;
                progress(global, &format!("{number}/{count} {}", path.display()));
            }
            let (group, after) = rest.split_at(first_group(rest, bytes));
            take(group)?;
            rest = after;
        }
        if several {
            progress(global, "");
        }
        Ok(())
    }

    /// Whether rows may be written one by one while the input is still arriving: from a pipe, as CSV, to
    /// standard output.
    pub(super) fn is_live(&self, global: &Global, input: &Input) -> bool {
        matches!(&input.files[..], [only] if only == Path::new("-"))
            && self.is_stdout()
            && self.encoding(global) == Encoding::Csv
    }

    /// Checks before any work that the sheets of all inputs can be written, each to a file of its own.
    pub(super) fn check(&self, global: &Global, input: &Input) -> Result<()> {
        if input.files.len() <= 1 {
            return Ok(());
        }
        let Some(folder) = self.output.as_deref().filter(|path| !is_stdout(path)) else {
            bail!("several files need `--output DIRECTORY`, one result to a file");
        };
        let encoding = self.encoding(global);
        let places: Vec<(String, PathBuf)> = input
            .files
            .iter()
            .map(|path| (path.display().to_string(), place(folder, path, encoding)))
            .collect();
        let places: Vec<(&str, &Path)> = places
            .iter()
            .map(|(input, place)| (input.as_str(), place.as_path()))
            .collect();
        Ok(check_distinct(&places)?)
    }

    /// Whether numbers go to the standard output.
    fn is_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(is_stdout)
    }

    /// The file that is named for the numbers of one input.
    pub(super) fn file(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Whether numbers go to files.
    pub(super) fn is_file(&self) -> bool {
        self.output.is_some()
    }

    /// Writes the sheet of one of the inputs to its file.
    pub(super) fn write_file(
        &self,
        global: &Global,
        input: &Input,
        path: &Path,
        sheet: &Sheet,
    ) -> Result<()> {
        self.write(path, sheet, self.encoding(global), input.files.len() > 1)
    }

    fn encoding(&self, global: &Global) -> Encoding {
        match global.format {
            Format::Json => Encoding::Json,
            Format::Human => self.encoding,
        }
    }

    /// Writes the sheet of one of the inputs, where that goes.
    fn write(&self, path: &Path, sheet: &Sheet, encoding: Encoding, several: bool) -> Result<()> {
        self.put(path, encoding, several, |out| sheet.write(encoding, out))
    }

    /// Where what is said of one of the inputs goes.
    fn put(
        &self,
        path: &Path,
        encoding: Encoding,
        several: bool,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        match &self.output {
            None => write(&mut stdout().lock()),
            Some(output) if several => {
                std::fs::create_dir_all(output)
                    .with_context(|| format!("cannot create `{}`", output.display()))?;
                write_sheet(&place(output, path, encoding), write)
            }
            Some(output) => write_sheet(output, write),
        }
    }
}

fn write_sheet(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    write(&mut file).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(file.finish()?)
}

/// The file in `folder` for what is said of the input at `path`.
fn place(folder: &Path, path: &Path, encoding: Encoding) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(match encoding {
        Encoding::Csv => ".csv",
        Encoding::Json => ".json",
        Encoding::Npy => ".npy",
    });
    folder.join(name)
}

/// How many of the first files have up to `bytes` on disk together; at least one.
pub(super) fn first_group(files: &[PathBuf], bytes: u64) -> usize {
    let mut sum = 0u64;
    let fitting = files.iter().take_while(|path| {
        sum = sum.saturating_add(std::fs::metadata(path).map_or(u64::MAX, |facts| facts.len()));
        sum <= bytes
    });
    fitting.count().max(1)
}
