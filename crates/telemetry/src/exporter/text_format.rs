//! Series of metrics, and Prometheus' text format of them: heads and lines.

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

/// Where metrics are written to: a head, and below it the lines of that metric.
pub(super) trait Series {
    /// Begins a metric.
    fn head(&mut self, head: &Head);

    /// A value with its labels, which come as `(name, value)`.
    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64);
}

impl Series for String {
    fn head(&mut self, head: &Head) {
        let Head {
            name, kind, help, ..
        } = head;
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.push_str(name);
        for (nth, (label, text)) in labels.iter().enumerate() {
            self.push(if nth == 0 { '{' } else { ',' });
            self.push_str(label);
            self.push_str("=\"");
            push_escaped(self, text);
            self.push('"');
        }
        if !labels.is_empty() {
            self.push('}');
        }
        let _ = writeln!(self, " {value}");
    }
}
