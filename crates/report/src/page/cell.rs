//! Cells: what is shown, and the full value that is sorted and copied.

use warpsmith_formats::html::escape;

use crate::document::{Cell, Column, StripScale};

use super::chart::{bar, dots, sparkline, strip};
use super::icon::{class, icon};
use super::inline::{inline, length, plain};

/// How a column is drawn, by the first cell that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// Words and numbers.
    No,
    /// Samples about their median.
    Strip,
    /// Ratios.
    Dots,
    /// A share with its text.
    Bar,
    /// A small line.
    Spark,
}

impl Drawn {
    pub(super) fn of(cell: &Cell) -> Self {
        match cell {
            Cell::Strip(_) => Self::Strip,
            Cell::Dots { .. } => Self::Dots,
            Cell::Bar { .. } => Self::Bar,
            Cell::Sparkline(_) => Self::Spark,
            _ => Self::No,
        }
    }

    /// The class of its cells and header.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::No => "",
            Self::Strip => "sp",
            Self::Dots => "fo",
            Self::Bar => "ba",
            Self::Spark => "sl",
        }
    }

    /// Width of the picture, in pixels at a desk.
    pub(super) fn width(self) -> f64 {
        match self {
            Self::No => 0.0,
            Self::Strip => 150.0,
            Self::Dots => 176.0,
            Self::Bar | Self::Spark => 90.0,
        }
    }
}

/// A cell as markup.
pub(super) fn content(cell: &Cell, column: &Column) -> String {
    let scale = column.scale.unwrap_or(StripScale::Within(0.05));
    match cell {
        Cell::Empty => r#"<span class="dim">–</span>"#.to_owned(),
        Cell::Text(text) => inline(text),
        Cell::Strong(text) => format!("<b>{}</b>", inline(text)),
        Cell::Muted(text) => format!(r#"<span class="dim">{}</span>"#, inline(text)),
        Cell::Code(text) => format!("<code>{}</code>", plain(text)),
        Cell::Judged { state, text } => format!("{} {}", icon(*state), inline(text)),
        Cell::Number {
            text, unit, strong, ..
        } => {
            let number = match strong {
                true => format!("<b>{}</b>", plain(text)),
                false => plain(text),
            };
            match unit.is_empty() {
                true => number,
                false => format!(r#"{number} <span class="u">{}</span>"#, plain(unit)),
            }
        }
        Cell::Interval { text, interval, .. } => {
            format!(
                r#"<b>{}</b> <span class="dim">{}</span>"#,
                plain(text),
                plain(interval)
            )
        }
        Cell::Bar { share, text, state } => {
            format!("{}<span>{}</span>", bar(*share, *state), plain(text))
        }
        Cell::Tag { state, text } => tag(*state, text),
        Cell::Strip(samples) => strip(samples, scale),
        Cell::Dots {
            alone,
            among,
            state,
        } => dots(*alone, *among, *state, scale),
        Cell::Sparkline(values) => sparkline(values),
    }
}

/// A coloured word.
pub(super) fn tag(state: Option<crate::document::State>, text: &str) -> String {
    let class = state.map_or("none", class);
    format!(r#"<span class="tag {class}">{}</span>"#, plain(text))
}

/// Attributes with the full value, and with the interval beside it.
pub(super) fn values(cell: &Cell) -> String {
    let value = match cell {
        Cell::Number { value, .. } | Cell::Interval { value, .. } => *value,
        Cell::Bar { share, .. } => *share,
        Cell::Dots { alone, .. } => *alone,
        _ => return String::new(),
    };
    let mut out = full(value).map_or(String::new(), |v| format!(r#" data-v="{v}""#));
    if let Cell::Interval { interval, .. } = cell {
        out += &format!(r#" data-i="{}""#, escape(interval));
    }
    out
}

/// A value to seven digits, more than any clock has; a count in full.
fn full(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    if value == value.trunc() && value.abs() < 9e15 {
        return Some(format!("{}", value as i64));
    }
    let rounded: f64 = format!("{value:.6e}").parse().ok()?;
    let text = format!("{rounded:e}");
    Some(match (1e-4..1e9).contains(&rounded.abs()) {
        true => format!("{rounded}"),
        false => text,
    })
}

/// Letters that a cell shows.
pub(super) fn shown_length(cell: &Cell) -> usize {
    match cell {
        Cell::Empty => 1,
        Cell::Text(text) | Cell::Strong(text) | Cell::Muted(text) | Cell::Code(text) => {
            length(text)
        }
        Cell::Judged { text, .. } => length(text) + 3,
        Cell::Number { text, unit, .. } => length(text) + 1 + length(unit),
        Cell::Interval { text, interval, .. } => length(text) + 1 + length(interval),
        Cell::Bar { text, .. } | Cell::Tag { text, .. } => length(text) + 1,
        Cell::Strip(_) | Cell::Dots { .. } | Cell::Sparkline(_) => 0,
    }
}

/// Letters of a word that is never broken at a desk.
pub(super) const SHORT: usize = 9;

/// Letters of the longest word that a cell shows and that cannot be broken.
pub(super) fn longest_word(cell: &Cell) -> usize {
    let texts: [&str; 2] = match cell {
        Cell::Text(text)
        | Cell::Strong(text)
        | Cell::Muted(text)
        | Cell::Code(text)
        | Cell::Judged { text, .. }
        | Cell::Tag { text, .. }
        | Cell::Bar { text, .. } => [text, ""],
        Cell::Number { text, unit, .. } => [text, unit],
        Cell::Interval { text, interval, .. } => [text, interval],
        Cell::Empty | Cell::Strip(_) | Cell::Dots { .. } | Cell::Sparkline(_) => return 1,
    };
    let words = texts.iter().flat_map(|text| text.split(' '));
    words.map(|word| length(word).min(18)).max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_values_have_the_digits_of_a_clock() {
        assert_eq!(full(4.310_123_456_700_5e12).as_deref(), Some("4.310123e12"));
        assert_eq!(full(16_777_216.0).as_deref(), Some("16777216"));
        assert_eq!(full(2.421_313_13).as_deref(), Some("2.421313"));
        assert_eq!(full(1.592e-5).as_deref(), Some("1.592e-5"));
        assert_eq!(full(-0.0).as_deref(), Some("0"));
        assert_eq!(full(f64::NAN), None);
    }

    #[test]
    fn hostile_cells_are_text() {
        let column = Column::text("x");
        let hostile = "<img onerror=\"x\">".to_owned();
        let cells = [
            Cell::Text(hostile.clone()),
            Cell::Code(hostile.clone()),
            Cell::number(1.0, hostile.clone(), hostile.clone()),
            Cell::Interval {
                value: 1.0,
                text: hostile.clone(),
                interval: hostile.clone(),
            },
        ];
        for cell in cells {
            let markup = format!("{}{}", content(&cell, &column), values(&cell));
            assert!(
                !markup.contains("<img") && !markup.contains("\"x\""),
                "{markup}"
            );
        }
    }
}
