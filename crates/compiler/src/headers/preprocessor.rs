//! What the preprocessor leaves of a header where no macro is given from outside.

use std::collections::HashMap;

use super::tokens::{UNKNOWN, quoted_length};

/// A header's macros and what is left of its text.
pub(super) struct Preprocessed {
    /// Macros with their texts; nothing where a condition decides that is not known.
    pub(super) macros: Vec<(String, Option<String>)>,
    pub(super) code: String,
}

/// Whether lines are read.
#[derive(Clone, Copy, PartialEq)]
enum Branch {
    Taken,
    Skipped,
    Unknown,
}

impl Preprocessed {
    /// Reads a header; `defined` are the macros of those before it, each with whether it is one in any case.
    pub(super) fn of(text: &str, defined: &mut HashMap<String, bool>) -> Self {
        let text = without_comments(text);
        let mut found = Self {
            macros: Vec::new(),
            code: String::with_capacity(text.len()),
        };
        let mut branches: Vec<Branch> = Vec::new();
        for line in text.lines() {
            let here = *branches
                .iter()
                .find(|branch| **branch != Branch::Taken)
                .unwrap_or(&Branch::Taken);
            let Some(directive) = line.trim_start().strip_prefix('#') else {
                match here {
                    Branch::Taken => found.code.push_str(line),
                    Branch::Skipped => {}
                    Branch::Unknown => found.code.push(UNKNOWN),
                }
                found.code.push('\n');
                continue;
            };
            let (word, rest) = word(directive.trim_start());
            match word {
                "define" => {
                    let (name, value) = self::word(rest.trim_start());
                    if here == Branch::Skipped || name.is_empty() {
                        continue;
                    }
                    defined.insert(name.to_owned(), here == Branch::Taken);
                    let is_function = value.starts_with('(');
                    let value = Some(value.trim().to_owned())
                        .filter(|value| here == Branch::Taken && !is_function && !value.is_empty());
                    found.macros.push((name.to_owned(), value));
                }
                "undef" if here != Branch::Skipped => {
                    let (name, _) = self::word(rest.trim_start());
                    found.macros.push((name.to_owned(), None));
                    defined.insert(name.to_owned(), false);
                }
                "ifdef" | "ifndef" => {
                    let (name, _) = self::word(rest.trim_start());
                    branches.push(match defined.get(name) {
                        Some(false) => Branch::Unknown,
                        known if known.is_some() == (word == "ifdef") => Branch::Taken,
                        _ => Branch::Skipped,
                    });
                }
                "if" => branches.push(match rest.trim() {
                    "0" => Branch::Skipped,
                    "1" => Branch::Taken,
                    _ => Branch::Unknown,
                }),
                "elif" => {
                    if let Some(last) = branches.last_mut() {
                        *last = Branch::Unknown;
                    }
                }
                "else" => {
                    if let Some(last) = branches.last_mut() {
                        *last = match *last {
                            Branch::Taken => Branch::Skipped,
                            Branch::Skipped => Branch::Taken,
                            Branch::Unknown => Branch::Unknown,
                        };
                    }
                }
                "endif" => {
                    branches.pop();
                }
                _ => {}
            }
        }
        found
    }
}

/// A name at the start of a text, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    text.split_at(end.unwrap_or(text.len()))
}

/// The text with lines joined that a backslash continues, and a blank for every comment.
fn without_comments(text: &str) -> String {
    let joined = text.replace("\r\n", "\n").replace("\\\n", " ");
    let mut out = String::with_capacity(joined.len());
    let mut rest = joined.as_str();
    loop {
        let Some(at) = rest.find(['/', '"', '\'']) else {
            out.push_str(rest);
            return out;
        };
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            out.push(' ');
            let end = comment.find("*/").map(|end| end + 4);
            end.unwrap_or(rest.len())
        } else if rest.starts_with('/') {
            out.push('/');
            1
        } else {
            // Texts end on their line.
            let line = rest.find('\n').unwrap_or(rest.len());
            let quoted = quoted_length(&rest[..line]);
            out.push_str(&rest[..quoted]);
            quoted
        };
        rest = &rest[length..];
    }
}
