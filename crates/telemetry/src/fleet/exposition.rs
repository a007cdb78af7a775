//! Prometheus' text format, read: what any exporter may answer, version 0.0.4.

use std::borrow::Cow;

/// Most labels of a line that are looked at.
const MOST_LABELS: usize = 64;

/// One line with a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) name: &'a str,
    pub(super) labels: Vec<(&'a str, Cow<'a, str>)>,
    pub(super) value: f64,
}

impl Sample<'_> {
    /// A label's value; empty where it has none, which Prometheus takes for the same.
    pub(super) fn label(&self, name: &str) -> &str {
        let mut labels = self.labels.iter();
        labels
            .find_map(|(known, value)| (*known == name).then_some(&**value))
            .unwrap_or("")
    }
}

/// A line with a value, of which only the name was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    number: usize,
    text: &'a str,
    pub(super) name: &'a str,
}

/// The lines of a page that have values; an error names the line.
pub(super) fn lines(page: &str) -> impl Iterator<Item = Result<Line<'_>, String>> {
    page.lines().enumerate().filter_map(|(nth, text)| {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
        let end = text.bytes().position(|byte| !fits(byte));
        let line = Line {
            number: nth + 1,
            text,
            name: &text[..end.unwrap_or(text.len())],
        };
        let first = line.name.bytes().next();
        match first.is_some_and(|byte| !byte.is_ascii_digit()) {
            true => Some(Ok(line)),
            false => Some(Err(line.refusal())),
        }
    })
}

impl<'a> Line<'a> {
    /// All of it.
    pub(super) fn sample(&self) -> Result<Sample<'a>, String> {
        self.read().ok_or_else(|| self.refusal())
    }

    fn refusal(&self) -> String {
        let shown: String = self.text.chars().take(60).collect();
        format!("line {} is no metric: `{shown}`", self.number)
    }

    fn read(&self) -> Option<Sample<'a>> {
        let rest = &self.text[self.name.len()..];
        let mut labels = Vec::new();
        let rest = match rest.trim_start().strip_prefix('{') {
            None => rest,
            Some(inside) => read_labels(inside, &mut labels)?,
        };
        // A time stamp may stand behind the value.
        let mut words = rest.split_ascii_whitespace();
        let value = words.next()?.parse().ok()?;
        let stamped = words
            .next()
            .is_none_or(|stamp| stamp.parse::<i64>().is_ok());
        (stamped && words.next().is_none()).then_some(Sample {
            name: self.name,
            labels,
            value,
        })
    }
}

/// Reads `a="b",c="d"}`; returns what stands behind.
fn read_labels<'a>(
    mut rest: &'a str,
    labels: &mut Vec<(&'a str, Cow<'a, str>)>,
) -> Option<&'a str> {
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return Some(behind);
        }
        let (name, after) = rest.split_once('=')?;
        let quoted = after.trim_start().strip_prefix('"')?;
        let bytes = quoted.as_bytes();
        let mut end = 0;
        while *bytes.get(end)? != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if labels.len() < MOST_LABELS {
            labels.push((name.trim(), unescaped(quoted.get(..end)?)));
        }
        rest = quoted.get(end + 1..)?.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some(other) => plain.push(other),
                None => {}
            },
            letter => plain.push(letter),
        }
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn samples(page: &str) -> impl Iterator<Item = Result<Sample<'_>, String>> {
        lines(page).map(|line| line.and_then(|line| line.sample()))
    }

    fn one(line: &str) -> Result<Sample<'_>, String> {
        samples(line).next().expect("a line")
    }

    #[test]
    fn lines_are_read_as_the_format_has_them() {
        let page = "# HELP a text\n# TYPE a gauge\n\na 1\nb{} 2 1700000000000\n  c { x = \"1\" , y=\"\" ,} +Inf\n";
        let read: Vec<_> = samples(page).map(Result::unwrap).collect();
        let names: Vec<_> = read.iter().map(|sample| sample.name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(read[1].value, 2.0);
        assert_eq!((read[2].label("x"), read[2].label("y")), ("1", ""));
        assert!(read[2].value.is_infinite());
        let escaped = one(r#"a{x="train \"x\"\\, {y}\n"} -1.5e-3"#).unwrap();
        assert_eq!(escaped.label("x"), "train \"x\"\\, {y}\n");
        assert_eq!(escaped.value, -0.0015);
        assert!(one("a NaN").unwrap().value.is_nan());
    }

    #[test]
    fn what_is_no_metric_is_named_by_its_line() {
        for line in [
            "<html>",
            "a",
            "a{",
            "a{x} 1",
            "a{x=1} 1",
            "a{x=\"1\" 1",
            "a{x=\"\\",
            "a one",
            "a 1 2 3",
            "1a 1",
            "a 1 x",
            "{} 1",
        ] {
            let error = one(line).expect_err(line);
            assert!(error.starts_with("line 1 is no metric"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_pages_never_panic(page in "[a{}=\"\\\\,\n 1é#]{0,80}") {
            samples(&page).for_each(drop);
        }
    }
}
