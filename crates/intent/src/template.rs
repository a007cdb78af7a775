//! Texts with places that axes fill. One reading serves both ways: from a specification to a text, and
//! from a text back to the specification.
//!
//! `$c` is a constant, `$op.key` a text that belongs to an option, `$f(v)` a chosen function, `$f.of(v)` the
//! same in words. A line with a chain of functions is repeated for each stage.

use crate::axis::{Axis, Use};
use crate::expression::Language;

/// A template, read.
pub(crate) struct Template {
    pub(crate) language: Language,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// The axis by its number.
    Place(usize, Use),
}

impl Template {
    /// Reads a template; a mistake in one of ours is found by the first test.
    pub(crate) fn read(text: &str, language: Language, axes: &[Axis]) -> Result<Self, String> {
        let mut template = Self {
            language,
            pieces: Vec::new(),
        };
        for line in text.split_inclusive('\n') {
            let stages = axes
                .iter()
                .filter(|axis| line.contains(&format!("${}(", axis.name)))
                .map(Axis::stages);
            for stage in 0..stages.max().unwrap_or(1) {
                template.line(line, stage, axes)?;
            }
        }
        Ok(template)
    }

    fn line(&mut self, line: &str, stage: usize, axes: &[Axis]) -> Result<(), String> {
        let mut rest = line;
        while let Some(at) = rest.find('$') {
            self.push(&rest[..at]);
            rest = &rest[at + 1..];
            let (name, behind) = word(rest);
            let Some(axis) = axes.iter().position(|axis| axis.name == name) else {
                return Err(format!("`{}`: no axis `{name}`", line.trim()));
            };
            rest = behind;
            let mut key = None;
            if let Some(behind) = rest.strip_prefix('.')
                && behind.starts_with(|c: char| c.is_ascii_lowercase())
            {
                let (name, behind) = word(behind);
                key = Some(name.to_owned());
                rest = behind;
            }
            let mut inside = None;
            if rest.starts_with('(') && (key.is_none() || key.as_deref() == Some("of")) {
                let end = closing(rest, '(', ')').ok_or_else(|| format!("`{line}`: `)`"))?;
                inside = Some(&rest[1..end]);
                rest = &rest[end + 1..];
            }
            let mut place = |use_: Use| self.pieces.push(Piece::Place(axis, use_));
            match (key, inside) {
                // What stands in the brackets may have places of its own.
                (Some(_), Some(inside)) => {
                    place(Use::Part("before".into()));
                    self.line(inside, stage, axes)?;
                    self.pieces
                        .push(Piece::Place(axis, Use::Part("behind".into())));
                }
                (Some(key), None) => place(Use::Part(key)),
                (None, Some(inside)) => place(Use::Apply(arguments(inside), stage)),
                (None, None) => place(Use::Literal),
            }
        }
        self.push(rest);
        Ok(())
    }

    fn push(&mut self, text: &str) {
        if !text.is_empty() {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }

    /// The text of a specification.
    pub(crate) fn text(&self, axes: &[Axis], digits: &[usize]) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Place(axis, use_) => axes[*axis].text(digits[*axis], use_, self.language),
        });
        pieces.collect()
    }
}

/// The leading word of a text, and what is behind it.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric()));
    text.split_at(end.unwrap_or(text.len()))
}

/// Where the bracket that a text begins with ends.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == open) - i32::from(c == close);
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Arguments, apart at the commas outside of brackets.
fn arguments(text: &str) -> Vec<String> {
    let mut list = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
        match c == ',' && depth == 0 {
            true => list.push(String::new()),
            false => list.last_mut().unwrap_or(&mut String::new()).push(c),
        }
    }
    list.iter().map(|one| one.trim().to_owned()).collect()
}
