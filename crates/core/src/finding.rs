//! One kind of conclusion for everything that Warpsmith looks at: a machine (`D…`), a measurement
//! (`M…`), a kernel (`K…`), a data set (`S…`), a project (`P…`), a GPU baseline (`B…`), a fleet (`F…`).
//!
//! Invariants: a code names one conclusion for ever and is never reused; a message stands on its
//! own line without its evidence; a hint says what to do next.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a finding matters, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing to do.
    Info,
    /// Works today, and will hurt.
    Warning,
    /// Does not work, or the number is wrong.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A place in a text file; lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The file as the user named it.
    pub file: String,
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// One past the last column on the first line; equal to `column` where the width is unknown.
    pub end_column: u32,
}

impl Span {
    /// A whole line, where the column is not known.
    pub fn line(file: impl Into<String>, line: u32) -> Self {
        Self {
            file: file.into(),
            line,
            column: 1,
            end_column: 1,
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A fact that a finding rests on, with where it was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What was looked at: a path, a command, a field of a measurement.
    pub source: String,
    /// What was seen there.
    pub seen: String,
}

/// How sure a finding is, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Worth a look; often fine.
    Hint,
    /// The pattern is seldom innocent.
    Likely,
    /// It follows from what was read.
    Certain,
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Hint => "hint",
            Self::Likely => "likely",
            Self::Certain => "certain",
        })
    }
}

/// How sure a finding is, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confidence {
    /// How sure.
    pub certainty: Certainty,
    /// What the certainty rests on, or what is missing for more.
    pub why: String,
}

/// A conclusion with what it rests on and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable identity, e.g. `K012`; `warpsmith explain CODE` tells its story.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// One line, lower case, no trailing period.
    pub message: String,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where in the user's text it applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// How sure it is, where the rules say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

impl Finding {
    /// A finding with nothing but its identity and message.
    pub fn new(code: impl Into<String>, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            severity,
            message: message.into(),
            evidence: Vec::new(),
            hint: None,
            span: None,
            confidence: None,
        }
    }

    /// Adds a fact that the finding rests on.
    #[must_use]
    pub fn because(mut self, source: impl Into<String>, seen: impl Into<String>) -> Self {
        self.evidence.push(Evidence {
            source: source.into(),
            seen: seen.into(),
        });
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says how sure the finding is, and why.
    #[must_use]
    pub fn sure(mut self, certainty: Certainty, why: impl Into<String>) -> Self {
        self.confidence = Some(Confidence {
            certainty,
            why: why.into(),
        });
        self
    }

    /// Says where in the user's text the finding applies.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity, self.code, self.message)?;
        if let Some(span) = &self.span {
            write!(f, "\n  at {span}")?;
        }
        for Evidence { source, seen } in &self.evidence {
            write!(f, "\n  {source}: {seen}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_prints_message_place_evidence_and_hint_in_that_order() {
        let finding = Finding::new("K012", Severity::Error, "`x` is an int, expected a float")
            .because("argument 1 of `sin`", "int32")
            .hint("write `float(x)`")
            .at(Span {
                file: "kernels.py".into(),
                line: 4,
                column: 9,
                end_column: 10,
            });
        assert_eq!(
            finding.to_string(),
            "error K012: `x` is an int, expected a float\n  at kernels.py:4:9\n  \
             argument 1 of `sin`: int32\n  hint: write `float(x)`"
        );
    }

    #[test]
    fn empty_parts_are_absent_from_json_and_come_back_empty() {
        let finding = Finding::new("D001", Severity::Info, "no GPU");
        let json = serde_json::to_string(&finding).unwrap();
        assert_eq!(
            json,
            r#"{"code":"D001","severity":"info","message":"no GPU"}"#
        );
        assert_eq!(serde_json::from_str::<Finding>(&json).unwrap(), finding);
    }

    #[test]
    fn severities_sort_from_info_to_error() {
        assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Error);
    }
}
