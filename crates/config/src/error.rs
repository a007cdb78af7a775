//! What is wrong with a configuration file, with the line and a mark below the place.

use std::ops::Range;
use std::path::PathBuf;

use thiserror::Error;

/// Why the configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file that is there and cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A place in a file.
    #[error("{}:{line}:{column}: {problem}\n{excerpt}", .path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong, and what to write instead.
        problem: String,
        /// The line with a mark below the place.
        excerpt: String,
    },
    /// A variable with a value that cannot be used.
    #[error("the variable `{variable}` is `{value}`: {problem}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl ConfigError {
    /// An error about a span of a file's text, in bytes.
    pub(crate) fn at(path: PathBuf, text: &str, span: Range<usize>, problem: String) -> Self {
        let start = floor(text, span.start);
        let end = floor(text, span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[..line_start].matches('\n').count() + 1;
        let before = text[line_start..start].chars().count();
        let width = text[start..end.min(line_end)].chars().count().max(1);
        // A tab keeps its width in the line of marks.
        let pad: String = text[line_start..start]
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let margin = " ".repeat(line.to_string().len());
        let shown = text[line_start..line_end].trim_end_matches('\r');
        Self::Place {
            path,
            line,
            column: before + 1,
            problem,
            excerpt: format!("{line} | {shown}\n{margin} | {pad}{}", "^".repeat(width)),
        }
    }
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_below_the_place() {
        let text = "a = 1\n\tkéy = 2\n";
        let at = text.find('k').unwrap();
        let error = ConfigError::at("f.toml".into(), text, at..at + 4, "unknown".into());
        assert_eq!(
            error.to_string(),
            "f.toml:2:2: unknown\n2 | \tkéy = 2\n  | \t^^^"
        );
    }

    #[test]
    fn a_place_outside_the_text_is_its_end() {
        for span in [0..0, 5..9, 100..200] {
            let error = ConfigError::at("f".into(), "é", span, String::new());
            assert!(error.to_string().starts_with("f:1:"), "{error}");
        }
    }
}
