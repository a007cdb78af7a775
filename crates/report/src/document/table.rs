//! Tables whose cells are values, so that every view can print, draw, sort and copy them.

use serde::{Deserialize, Serialize};

use super::State;

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Name of its CSV file, e.g. `latency`; empty where there is nothing to copy.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows; each has a cell per column.
    pub rows: Vec<Row>,
    /// Rows that are shown before `show all N` is pressed; 0 shows all.
    pub shown: usize,
    /// A muted line below; may be empty.
    pub caption: String,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// When it vanishes.
    pub place: Place,
    /// Numbers are set right.
    pub number: bool,
    /// The axis that its strips or dots share; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<StripScale>,
}

impl Column {
    /// A column of words that is always there.
    pub fn text(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            place: Place::Always,
            number: false,
            scale: None,
        }
    }

    /// A column of numbers that is always there.
    pub fn number(name: &str) -> Self {
        Self {
            number: true,
            ..Self::text(name)
        }
    }

    /// The same column, which leaves narrow screens at `place`.
    #[must_use]
    pub fn from(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// The same column, whose cells are drawn on `scale`.
    #[must_use]
    pub fn on(mut self, scale: StripScale) -> Self {
        self.scale = Some(scale);
        self
    }
}

/// From which width on a column is shown; on paper all are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// On every screen.
    #[default]
    Always,
    /// From 640 px on.
    Medium,
    /// From 1,180 px on.
    Wide,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// A cell per column.
    pub cells: Vec<Cell>,
    /// What opens below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

impl Row {
    /// A row that does not open.
    pub fn new(cells: Vec<Cell>) -> Self {
        Self {
            cells,
            detail: None,
        }
    }
}

/// What opens below a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Names and values, e.g. parameters, mode, standard deviation, calls per second.
    pub facts: Vec<(String, String)>,
    /// Where the samples are, as a JSON pointer below [`super::Document::raw`]; a histogram is
    /// drawn from 30 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<String>,
    /// Factor that turns a stored sample into seconds.
    pub scale: f64,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// Nothing to say: a dash.
    Empty,
    /// Words.
    Text(String),
    /// Words to be stressed.
    Strong(String),
    /// Muted words: `few`, `latency`.
    Muted(String),
    /// Something that can be typed.
    Code(String),
    /// Words behind the shape of a state.
    Judged {
        /// The shape.
        state: State,
        /// The words.
        text: String,
    },
    /// A number with a muted unit; `value` sorts and is copied.
    Number {
        /// In base units.
        value: f64,
        /// As printed; may begin with `≥`.
        text: String,
        /// Muted, behind a space; may be empty.
        unit: String,
        /// The one that the row is read for.
        strong: bool,
    },
    /// A number with its interval: `2.42×` and `[2.39, 2.46]`.
    Interval {
        /// The number.
        value: f64,
        /// As printed.
        text: String,
        /// Muted, behind it.
        interval: String,
    },
    /// A share as a bar with its text.
    Bar {
        /// 0 to 1 and above; drawn up to 1.
        share: f64,
        /// `90 %`.
        text: String,
        /// Its colour; absent for the device's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<State>,
    },
    /// A coloured word.
    Tag {
        /// Its colour; absent for grey.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<State>,
        /// The word.
        text: String,
    },
    /// Where the samples lie about their median.
    Strip(Strip),
    /// Dots on a logarithmic axis of ratios.
    Dots {
        /// Filled: alone.
        alone: f64,
        /// Hollow: among all others; may be absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        among: Option<f64>,
        /// Colour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<State>,
    },
    /// A small line over time or size.
    Sparkline(Vec<f64>),
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number with its unit.
    pub fn number(value: f64, text: impl Into<String>, unit: impl Into<String>) -> Self {
        Self::Number {
            value,
            text: text.into(),
            unit: unit.into(),
            strong: false,
        }
    }

    /// The same cell, stressed, where it is a number.
    #[must_use]
    pub fn strong(mut self) -> Self {
        if let Self::Number { strong, .. } = &mut self {
            *strong = true;
        }
        self
    }
}

/// Samples about their median, as shares of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strip {
    /// P5 and P95 over the median.
    Spread {
        /// P5 over the median.
        low: f64,
        /// P95 over the median.
        high: f64,
    },
    /// Too few samples for a spread: each one over the median.
    Rings(Vec<f64>),
}

/// The axis of a column that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StripScale {
    /// Linear about the median: ± this share.
    Within(f64),
    /// Logarithmic: from 1/this to this times.
    Times(f64),
}
