//! Words and symbols of C++, as far as signatures need them.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(super) line: u32,
    /// Where it begins, in bytes.
    pub(crate) at: usize,
}

/// Whether a directive is `#if 0`.
fn is_never(directive: &[u8]) -> bool {
    let words = directive[1..].trim_ascii().strip_prefix(b"if");
    let rest = words.map(<[u8]>::trim_ascii_start);
    rest.is_some_and(|rest| {
        let mut comment = rest
            .iter()
            .skip(1)
            .filter(|byte| !byte.is_ascii_whitespace());
        rest.first() == Some(&b'0') && matches!(comment.next(), None | Some(b'/'))
    })
}

/// Where the branch that begins at the end of a line `at` ends: behind the line of its `#else`, `#elif` or `#endif`.
fn end_of_branch(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut place) = (0_u32, at + 1);
    while place < bytes.len() {
        let end = bytes[place..].iter().position(|byte| *byte == b'\n');
        let end = end.map_or(bytes.len(), |length| place + length);
        if let Some(rest) = bytes[place..end].trim_ascii().strip_prefix(b"#") {
            let word = rest.trim_ascii_start();
            if word.starts_with(b"if") {
                depth += 1;
            } else if depth == 0 && (word.starts_with(b"e")) && !word.starts_with(b"error") {
                return end;
            } else if word.starts_with(b"endif") {
                depth -= 1;
            }
        }
        place = end + 1;
    }
    bytes.len()
}

/// Words and single symbols; comments, texts and directives are left out.
pub(crate) fn lex(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    let mut tokens = Vec::new();
    let mut line_begins = true;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'\n' => {
                line += 1;
                line_begins = true;
                at += 1;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'#' if line_begins => {
                // A directive ends with its line, unless a backslash carries it on.
                while at < bytes.len() && !(bytes[at] == b'\n' && bytes[at - 1] != b'\\') {
                    line += u32::from(bytes[at] == b'\n');
                    at += 1;
                }
                if is_never(&bytes[start..at]) {
                    let end = end_of_branch(bytes, at);
                    line += bytes[at..end].iter().filter(|byte| **byte == b'\n').count() as u32;
                    at = end;
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += 2;
                while at < bytes.len() && !bytes[..at].ends_with(b"*/") {
                    line += u32::from(bytes[at] == b'\n');
                    at += 1;
                }
                // The end may be the last two bytes themselves, or `/*/`, which is no end.
                continue;
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
            }
            byte => {
                at += if byte < 0x80 {
                    1
                } else {
                    text[at..].chars().next().map_or(1, char::len_utf8)
                }
            }
        }
        line_begins = false;
        if let Some(token) = text.get(start..at) {
            tokens.push(Token {
                text: token,
                line,
                at: start,
            });
        }
    }
    tokens
}

/// The index of the bracket that closes the one at `open`.
pub(crate) fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Parts between commas that are inside no brackets.
pub(super) fn split<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}
