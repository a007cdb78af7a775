//! Numbers with named columns, one row to a frame, and the ways they leave the program.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use warpsmith_formats::table::{Column, TableForm, TableWriter};
use warpsmith_formats::{OutputFile, is_stdout};

use super::batch::{Batch, of_group, of_one_file};
use super::heard::Rows;
use super::input::{Input, of_file};
use super::live::{Listening, is_long, listen_to_file, sheet_of_file};
use super::places::{Place, left_to_do, places};
use super::segment_text::SegmentText;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};

/// Where numbers go and how they look.
#[derive(Args)]
pub(super) struct Destination {
    /// How to write the numbers; `--format json` means `json` here too.
    #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = Encoding::Csv)]
    encoding: Encoding,
    /// A file for one input, a directory for several; `-` or nothing is standard output.
    ///
    /// Of a folder or a pattern the results are a tree like that of the inputs.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Skip inputs whose result exists and is not older.
    #[arg(long, requires = "output")]
    resume: bool,
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Encoding {
    /// Text with a heading, one line to a frame.
    Csv,
    /// Columns by name.
    Json,
    /// One JSON object to a frame and line.
    Jsonl,
    /// NumPy's binary matrix, `[frame, column]`, f32.
    Npy,
    /// NumPy's archive: the matrix as `values`, and the names of its `columns`.
    Npz,
    /// Parquet, a column to a name.
    Parquet,
    /// Segments for other programs, of verbs that have them.
    #[value(skip)]
    Text(SegmentText),
}

impl Encoding {
    /// How the name of a result ends.
    fn ending(self) -> &'static str {
        match self {
            Self::Csv => ".csv",
            Self::Json => ".json",
            Self::Jsonl => ".jsonl",
            Self::Npy => ".npy",
            Self::Npz => ".npz",
            Self::Parquet => ".parquet",
            Self::Text(text) => text.ending(),
        }
    }

    /// The form of a table; texts of segments are none.
    fn form(self) -> Option<TableForm> {
        match self {
            Self::Csv => Some(TableForm::Csv),
            Self::Json => Some(TableForm::Json),
            Self::Text(_) => None,
            Self::Jsonl => Some(TableForm::JsonLines),
            Self::Npy => Some(TableForm::Npy),
            Self::Npz => Some(TableForm::Npz),
            Self::Parquet => Some(TableForm::Parquet),
        }
    }
}

/// Columns by name. Times have more digits than seven after an hour or two.
pub(super) fn columns(names: &[String]) -> Vec<Column> {
    let column = |name: &String| Column {
        name: name.clone(),
        wide: ["seconds", "start", "end"].contains(&name.as_str()),
    };
    names.iter().map(column).collect()
}

/// The name of the rate that sound had in its file, in JSON.
pub(super) const RESAMPLED: &str = "resampled_from_hz";

/// Rows of numbers.
pub(super) struct Sheet {
    pub(super) columns: Vec<String>,
    /// `[row, column]`; NaN is an absent value.
    pub(super) values: Vec<f64>,
    /// The rate that the sound had in its file, Hz, where it was resampled.
    pub(super) resampled_from: Option<u32>,
}

impl Sheet {
    /// Rows with named columns.
    pub(super) fn new(columns: Vec<String>, values: Vec<f64>) -> Self {
        Self {
            columns,
            values,
            resampled_from: None,
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns.len())
    }

    fn write(&self, encoding: Encoding, name: &str, out: &mut dyn Write) -> Result<()> {
        match (encoding.form(), encoding) {
            (_, Encoding::Text(text)) => out.write_all(text.of(name, self).as_bytes())?,
            (Some(form), _) => {
                let mut table = TableWriter::begin(form, columns(&self.columns), out)?;
                if let Some(hertz) = self.resampled_from {
                    table.remark(RESAMPLED, hertz.into());
                }
                table.rows(&self.values)?;
                table.finish()?;
            }
            (None, _) => {}
        }
        Ok(())
    }
}

/// `[column, frame]` as `[frame, column]`.
pub(super) fn by_frames(values: &[f32], columns: usize) -> Vec<f32> {
    let mut rows = Vec::new();
    append_by_frames(values, columns, &mut rows);
    rows
}

/// Appends `[column, frame]` as `[frame, column]`.
pub(super) fn append_by_frames<T: From<f32>>(values: &[f32], columns: usize, rows: &mut Vec<T>) {
    let frames = values.len() / columns;
    rows.reserve(values.len());
    for frame in 0..frames {
        let row = values[frame..].iter().step_by(frames);
        rows.extend(row.map(|value| T::from(*value)));
    }
}

impl Destination {
    /// What a verb with options of its own for this makes of them.
    pub(super) fn of(encoding: Encoding, output: Option<PathBuf>, resume: bool) -> Self {
        Self {
            encoding,
            output,
            resume,
        }
    }

    /// Analyses each input and writes its sheet.
    pub(super) fn each(
        &self,
        global: &Global,
        input: &Input,
        analyse: impl FnMut(&Path) -> Result<Sheet>,
    ) -> Result<Outcome> {
        self.each_or_in_pieces(global, input, None, analyse)
    }

    /// As [`Destination::each`]; long files are heard by the listener, piece by piece, where there is one.
    pub(super) fn each_or_in_pieces(
        &self,
        global: &Global,
        input: &Input,
        listener: Option<Listening<'_>>,
        mut analyse: impl FnMut(&Path) -> Result<Sheet>,
    ) -> Result<Outcome> {
        let encoding = self.encoding(global);
        let places = self.places(global, input)?;
        let mut batch = Batch::new(global, places.len(), input)?;
        for place in &places {
            let path = &place.input;
            batch.begin(path);
            let done = of_one_file(path, || match listener.filter(|_| is_long(input, path)) {
                Some(listener) => match encoding.form() {
                    Some(form) => put(place, |out| {
                        listen_to_file(input, path, listener, form, out)
                            .map_err(|error| of_file(path, error))
                    }),
                    // Segments are few: their rows wait for the text.
                    None => sheet_of_file(input, path, listener)
                        .map_err(|error| of_file(path, error))
                        .and_then(|sheet| self.write(global, place, &sheet)),
                },
                None => analyse(path)
                    .map_err(|error| of_file(path, error))
                    .and_then(|sheet| self.write(global, place, &sheet)),
            });
            batch.end(done)?;
        }
        batch.finish()
    }

    /// Analyses neighbouring inputs together, as many as have up to `bytes` on disk and at least one,
    /// and writes their sheets.
    pub(super) fn in_groups(
        &self,
        global: &Global,
        input: &Input,
        bytes: u64,
        mut analyse: impl FnMut(&[Place]) -> Result<Vec<Result<Sheet>>>,
    ) -> Result<Outcome> {
        let places = self.places(global, input)?;
        let mut batch = Batch::new(global, places.len(), input)?;
        let mut rest = &places[..];
        while !rest.is_empty() {
            let (group, after) = rest.split_at(first_group(rest, bytes));
            for (place, sheet) in group.iter().zip(of_group(group, &mut analyse)?) {
                batch.begin(&place.input);
                let done = of_one_file(&place.input, || self.write(global, place, &sheet?));
                batch.end(done)?;
            }
            rest = after;
        }
        batch.finish()
    }

    /// The form in which rows may be written one by one while the input is still arriving: from a pipe, as
    /// lines, to standard output.
    pub(super) fn live(&self, global: &Global, input: &Input) -> Option<TableForm> {
        let piped = matches!(&input.files()[..], [only] if only.path == Path::new("-"));
        let form = self.encoding(global).form();
        form.filter(|form| {
            piped && self.is_stdout() && matches!(form, TableForm::Csv | TableForm::JsonLines)
        })
    }

    /// Where the sheet of each input goes, each to a file of its own; checked before any work.
    pub(super) fn places(&self, global: &Global, input: &Input) -> Result<Vec<Place>> {
        let ending = self.encoding(global).ending();
        let rename = |name: &Path| {
            let mut name = name.as_os_str().to_owned();
            name.push(ending);
            name.into()
        };
        let places = places(input, self.output.as_deref(), rename)?;
        Ok(if self.resume {
            left_to_do(global, places)
        } else {
            places
        })
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

    fn encoding(&self, global: &Global) -> Encoding {
        match global.format {
            Format::Json => Encoding::Json,
            Format::Human => self.encoding,
        }
    }

    /// Writes the rows of one of the inputs, where they go, as `fill` puts them.
    pub(super) fn write_rows(
        &self,
        global: &Global,
        place: &Place,
        names: &[String],
        fill: &mut dyn FnMut(Rows<'_>) -> Result<()>,
    ) -> Result<()> {
        let form = self
            .encoding(global)
            .form()
            .context("segments have no frames")?;
        put(place, |out| {
            let mut table = TableWriter::begin(form, columns(names), out)?;
            fill(&mut |rows| Ok(table.rows(rows)?))?;
            table.finish()?;
            Ok(())
        })
    }

    /// Writes the sheet of one of the inputs, where that goes.
    pub(super) fn write(&self, global: &Global, place: &Place, sheet: &Sheet) -> Result<()> {
        let name = place.input.file_stem().unwrap_or_default();
        let name = name.to_string_lossy();
        put(place, |out| sheet.write(self.encoding(global), &name, out))
    }
}

fn put(place: &Place, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let Some(path) = &place.output else {
        return write(&mut stdout().lock());
    };
    place.make_folder()?;
    let mut file = OutputFile::create(path)?;
    write(&mut file).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(file.finish()?)
}

/// How many of the first files have up to `bytes` on disk together; at least one.
pub(super) fn first_group(places: &[Place], bytes: u64) -> usize {
    let mut sum = 0u64;
    let fitting = places.iter().take_while(|place| {
        let facts = std::fs::metadata(&place.input);
        sum = sum.saturating_add(facts.map_or(u64::MAX, |facts| facts.len()));
        sum <= bytes
    });
    fitting.count().max(1)
}
