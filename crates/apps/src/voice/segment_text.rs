//! Where segments go: numbers as of other verbs, or texts for subtitles, diarisation tools and editors.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use warpsmith_descriptors::speech::{Labelled, TextForm};
use warpsmith_voice::Segment;

use super::sheet::{Destination, Encoding, Sheet};

/// Where segments go and how they look.
#[derive(Args)]
pub(super) struct SegmentDestination {
    /// How to write the segments; `--format json` means `json` here too.
    #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = Form::Csv)]
    form: Form,
    /// A file for one input, a directory for several; `-` or nothing is standard output.
    ///
    /// Of a folder or a pattern the results are a tree like that of the inputs.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Skip inputs whose result exists and is not older.
    #[arg(long, requires = "output")]
    resume: bool,
}

/// How segments are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text with a heading, one line to a segment.
    Csv,
    /// Columns by name.
    Json,
    /// One JSON object to a segment and line.
    Jsonl,
    /// NumPy's binary matrix, `[segment, column]`, f32.
    Npy,
    /// NumPy's archive: the matrix as `values`, and the names of its `columns`.
    Npz,
    /// Parquet, a column to a name.
    Parquet,
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles.
    Vtt,
    /// NIST's Rich Transcription Time Marks, for diarisation tools.
    Rttm,
    /// Audacity's labels.
    Labels,
}

impl SegmentDestination {
    /// The same for sheets, with the word for a segment and whether each has a number.
    pub(super) fn destination(&self, label: &'static str, numbered: bool) -> Destination {
        let text = |form| {
            Encoding::Text(SegmentText {
                form,
                label,
                numbered,
            })
        };
        let encoding = match self.form {
            Form::Csv => Encoding::Csv,
            Form::Json => Encoding::Json,
            Form::Jsonl => Encoding::Jsonl,
            Form::Npy => Encoding::Npy,
            Form::Npz => Encoding::Npz,
            Form::Parquet => Encoding::Parquet,
            Form::Srt => text(TextForm::Srt),
            Form::Vtt => text(TextForm::Vtt),
            Form::Rttm => text(TextForm::Rttm),
            Form::Labels => text(TextForm::Labels),
        };
        Destination::of(encoding, self.output.clone(), self.resume)
    }
}

/// A text of segments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentText {
    form: TextForm,
    label: &'static str,
    numbered: bool,
}

impl SegmentText {
    /// How the names of such files end.
    pub(super) fn ending(self) -> &'static str {
        self.form.ending()
    }

    /// The text of a sheet whose first two columns are where a segment starts and ends.
    pub(super) fn of(self, name: &str, sheet: &Sheet) -> String {
        let segments: Vec<Segment> = sheet
            .rows()
            .map(|row| Segment {
                start: row[0],
                end: row[1],
            })
            .collect();
        let labelled = Labelled {
            segments: &segments,
            label: self.label,
            numbered: self.numbered,
        };
        self.form.write(name, &labelled)
    }
}
