//! Text for a terminal: names of files come from strangers, and control characters in them are shown,
//! never sent.

use std::borrow::Cow;

/// The text with every control character but line ends and tabs written as `\\xNN`.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let foreign = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(foreign) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match foreign(c) {
            true => out += &format!("\\x{:02x}", u32::from(c)),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown() {
        assert_eq!(printable("a\x1b[31mb\tc\n"), "a\\x1b[31mb\tc\n");
        assert!(matches!(printable("plain é"), Cow::Borrowed(_)));
    }
}
