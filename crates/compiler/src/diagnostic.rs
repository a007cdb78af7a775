//! Problems found in a kernel, before and after they become findings.

use warpsmith_core::{Family, Finding, Severity, Span, Story};

use crate::syntax::SourceText;

/// A problem at a place in the source; the compiler stops at the first.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Problem {
    /// A problem over a range of bytes.
    pub(crate) fn at(code: &'static str, start: u32, end: u32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            start,
            end,
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The finding that a user sees.
    pub(crate) fn into_finding(self, file: &str, text: &str, source: &SourceText) -> Finding {
        let line = source.line_of(self.start);
        let column = source.column_of(text, self.start);
        let width = text
            .get(self.start as usize..self.end as usize)
            .map_or(0, |part| {
                part.lines().next().unwrap_or("").chars().count() as u32
            });
        let mut finding = Finding::new(self.code, Severity::Error, self.message).at(Span {
            file: file.to_owned(),
            line,
            column,
            end_column: column + width,
        });
        // Every code says what to do about it; a problem that knows better says so itself.
        finding.hint = self.hint.or_else(|| {
            let story = FAMILY.story(self.code);
            story.map(Story::hint)
        });
        finding
    }
}

/// A finding with its source line and a caret under the place.
///
/// ```
/// use warpsmith_core::{Finding, Severity, Span};
/// let finding = Finding::new("K006", Severity::Error, "`y` is not defined").at(Span {
///     file: "kernels.py".into(), line: 1, column: 5, end_column: 6,
/// });
/// assert_eq!(
///     warpsmith_compiler::render(&finding, "x = y\n"),
///     "error K006: `y` is not defined\n  --> kernels.py:1:5\n   |\n 1 | x = y\n   |     ^\n"
/// );
/// ```
pub fn render(finding: &Finding, source: &str) -> String {
    let mut text = format!(
        "{} {}: {}\n",
        finding.severity, finding.code, finding.message
    );
    if let Some(span) = &finding.span {
        let number = span.line.to_string();
        let gutter = " ".repeat(number.len());
        text.push_str(&format!("{gutter} --> {span}\n"));
        let line = source
            .lines()
            .nth(span.line.saturating_sub(1) as usize)
            .unwrap_or("");
        let before: String = line
            .chars()
            .take(span.column.saturating_sub(1) as usize)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let width = span.end_column.saturating_sub(span.column).max(1) as usize;
        let carets = "^".repeat(width);
        text.push_str(&format!(
            "{gutter}  |\n {number} | {line}\n{gutter}  | {before}{carets}\n"
        ));
    }
    for evidence in &finding.evidence {
        text.push_str(&format!("  = {}: {}\n", evidence.source, evidence.seen));
    }
    if let Some(hint) = &finding.hint {
        text.push_str(&format!("  = hint: {hint}\n"));
    }
    text
}

/// The code of a call that needs the library's source.
pub(crate) const LIBRARY_FUNCTION: &str = "K029";

/// What each code about a kernel means.
pub static FAMILY: Family = Family::new(include_str!("stories/K.md"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        let stories = FAMILY.stories();
        assert!(stories.windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
