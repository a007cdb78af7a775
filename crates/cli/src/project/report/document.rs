//! The report as data.

use serde::Serialize;
use warpsmith_core::Finding;

/// The whole report.
#[derive(Serialize)]
pub(crate) struct Document {
    pub(crate) sections: Vec<FinishedSection>,
}

/// A section with its heading and how it went.
#[derive(Serialize)]
pub(crate) struct FinishedSection {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) status: Status,
    pub(crate) seconds: f64,
    #[serde(flatten)]
    pub(crate) content: Section,
}

/// How a section went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Done,
    /// This machine cannot; says what is missing.
    Skipped(String),
    /// It went wrong; says how.
    Failed(String),
}

/// What a section says.
#[derive(Default, Serialize)]
pub(crate) struct Section {
    /// Set by a section that this machine cannot fill.
    #[serde(skip)]
    pub(crate) skipped: Option<String>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) findings: Vec<Finding>,
    /// The raw numbers behind the tables.
    pub(crate) raw: serde_json::Value,
}

/// A piece of a section.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Block {
    Paragraph(String),
    /// Lines as they would stand on a terminal.
    Text(String),
    /// A picture, as SVG.
    Plot(String),
    /// Headings and rows; a heading that starts with `>` makes a column of numbers.
    Table {
        headings: Vec<String>,
        rows: Vec<Vec<String>>,
        /// For each row, where its samples lie below the section's raw numbers; empty where the
        /// rows have none.
        samples: Vec<String>,
    },
    /// A sound, as a WAV file, with what one hears.
    Sound {
        caption: String,
        /// Only the page carries it.
        #[serde(skip)]
        wav: Vec<u8>,
    },
}

impl Block {
    /// A table with fixed headings.
    pub(crate) fn table(headings: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self::Table {
            headings: headings.iter().map(|&text| text.to_owned()).collect(),
            rows,
            samples: Vec::new(),
        }
    }

    /// A table whose rows say where their samples are below the section's raw numbers.
    pub(crate) fn linked_table(
        headings: &[&str],
        rows: Vec<Vec<String>>,
        samples: Vec<String>,
    ) -> Self {
        Self::Table {
            headings: headings.iter().map(|&text| text.to_owned()).collect(),
            rows,
            samples,
        }
    }

    /// A table whose rows say where their samples are: row i below `raw[i]`, at `below`.
    pub(crate) fn sampled_table(headings: &[&str], rows: Vec<Vec<String>>, below: &str) -> Self {
        Self::Table {
            headings: headings.iter().map(|&text| text.to_owned()).collect(),
            samples: (0..rows.len())
                .map(|row| format!("/{row}{below}"))
                .collect(),
            rows,
        }
    }
}
