//! Comma-separated values as RFC 4180 has them, a line at a time.

use std::borrow::Cow;

/// A field as it stands in a line: in quotes where it holds a comma, a quote or a line break.
pub fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(field)
    }
}

/// The fields of a line; a field that holds a line break is not read.
pub fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let last = fields.len() - 1;
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                fields[last].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields[last].push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_survive_being_written_and_read() {
        let cells = ["plain", "", "a,b", "say \"so\"", "\"", ",", " spaced "];
        let line: Vec<_> = cells.iter().map(|cell| quoted(cell)).collect();
        assert_eq!(fields(&line.join(",")), cells);
    }

    #[test]
    fn only_what_needs_quotes_has_them() {
        assert_eq!(quoted("machine/saxpy n=4"), "machine/saxpy n=4");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("two\nlines"), "\"two\nlines\"");
    }
}
