//! A module's text in chunks that begin where a statement of its own may begin.
//!
//! Invariant: the chunks are the whole text, in order. Where a chunk is read as statements, they are statements of
//! the module, because Python is read from left to right and nothing is open behind a complete statement. A chunk
//! that was cut wrongly (strings inside of formatted strings are not followed) cannot be read at all.

use super::limits::skip_string;

/// The first words of lines that go on with the statement before.
const CONTINUED: [&[u8]; 4] = [b"elif", b"else", b"except", b"finally"];

/// The chunks of a text.
pub(super) fn chunks(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut found, mut begin) = (Vec::new(), 0);
    let (mut at, mut depth) = (0, 0_u32);
    let (mut line_start, mut decorated) = (true, false);
    while let Some(byte) = bytes.get(at) {
        if line_start && depth == 0 && starts_statement(&bytes[at..]) {
            if at > begin && !decorated {
                found.push(&text[begin..at]);
                begin = at;
            }
            decorated = *byte == b'@';
        }
        line_start = *byte == b'\n';
        match byte {
            b'#' => {
                let rest = &bytes[at..];
                at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                continue;
            }
            b'"' | b'\'' => {
                at = skip_string(bytes, at).min(bytes.len());
                continue;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            // A backslash takes the end of its line with it.
            b'\\' => at += 1,
            _ => {}
        }
        at += 1;
    }
    if begin < text.len() {
        found.push(&text[begin..]);
    }
    found
}

/// Whether a statement of the module itself may begin at a line.
fn starts_statement(line: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let begins = line
        .first()
        .is_some_and(|byte| letter(byte) || matches!(byte, b'@' | b'(' | b'[' | b'\'' | b'"'));
    begins
        && !CONTINUED.iter().any(|word| {
            line.strip_prefix(*word)
                .is_some_and(|rest| !rest.first().is_some_and(letter))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stay_whole() {
        let text = "\
# head

import a
@b(
c)
@d
def e():
    '''
text
'''
    x = f(
1)

if x:
    pass
# note
elif y:
    pass
else:
    pass
elsewhere = 1 + \\
2
";
        let found = chunks(text);
        assert_eq!(found.concat(), text);
        let begins: Vec<&str> = found
            .iter()
            .map(|chunk| chunk.split('\n').next().unwrap_or(""))
            .collect();
        assert_eq!(
            begins,
            ["# head", "import a", "@b(", "if x:", "elsewhere = 1 + \\"]
        );
    }
}
