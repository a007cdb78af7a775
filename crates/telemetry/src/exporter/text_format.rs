//! Prometheus' text format: heads and lines.

use std::fmt::Write;

/// What a metric is called, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its name.
    pub name: &'static str,
    /// `gauge`, `counter` or `summary`.
    pub kind: &'static str,
    /// What it counts, in one sentence.
    pub help: &'static str,
    /// The names of its labels.
    pub labels: &'static str,
}

impl Head {
    pub(super) const fn new(
        name: &'static str,
        kind: &'static str,
        help: &'static str,
        labels: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            help,
            labels,
        }
    }
}

/// Appends a label's value with the escapes that the format asks for.
fn push_escaped(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}

pub(super) fn head(out: &mut String, head: &Head) {
    let Head {
        name, kind, help, ..
    } = head;
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// A line with labels, which come as `(name, value)`.
pub(super) fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    out.push_str(name);
    for (nth, (label, text)) in labels.iter().enumerate() {
        out.push(if nth == 0 { '{' } else { ',' });
        out.push_str(label);
        out.push_str("=\"");
        push_escaped(out, text);
        out.push('"');
    }
    if !labels.is_empty() {
        out.push('}');
    }
    let _ = writeln!(out, " {value}");
}
