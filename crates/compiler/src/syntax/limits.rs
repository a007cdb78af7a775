//! Limits on the shape of a source text, checked before it is parsed: nesting and the length of a
//! chain bound the depth of every tree that is made of it, and so the stack of whoever walks it.

use crate::diagnostic::Problem;

/// The deepest nesting of brackets and of indentation.
const MAX_NESTING: u32 = 64;
/// The most operators, dots and opening brackets in one logical line.
const MAX_CHAIN: u32 = 1000;
/// The longest source text in bytes.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// Refuses a text that is too long, too deeply nested, or uses line ends that Python's own line
/// splitting would see and the parser would not.
pub(crate) fn check_limits(text: &str) -> Result<(), Problem> {
    if text.len() > MAX_BYTES {
        return Err(Problem::at(
            "K022",
            0,
            0,
            format!("the source is {} bytes long", text.len()),
        )
        .hint(format!("split it: the limit is {MAX_BYTES} bytes")));
    }
    let bytes = text.as_bytes();
    let mut depth = 0_u32;
    let mut chain = 0_u32;
    let mut at = 0;
    let mut line_start = true;
    while at < bytes.len() {
        let byte = bytes[at];
        if line_start {
            let indent = bytes[at..]
                .iter()
                .take_while(|byte| matches!(byte, b' ' | b'\t'))
                .count();
            if depth == 0 && indent as u32 > MAX_NESTING * 8 {
                return Err(too_deep(at));
            }
            line_start = false;
        }
        match byte {
            b'\n' => {
                if depth == 0 {
                    chain = 0;
                }
                line_start = true;
            }
            b'#' => {
                at += bytes[at..]
                    .iter()
                    .take_while(|byte| **byte != b'\n')
                    .count();
                continue;
            }
            b'"' | b'\'' => {
                at = skip_string(bytes, at);
                continue;
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                chain += 1;
                if depth > MAX_NESTING {
                    return Err(too_deep(at));
                }
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^' | b'~' | b'.' | b'<'
            | b'>' => chain += 1,
            // `not`, `if`, `lambda`, `and`, …: words chain too.
            b' ' if at > 0 && !matches!(bytes[at - 1], b' ' | b'\n') => chain += 1,
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => return Err(odd_line_end(at)),
            0x0b | 0x0c | 0x1c | 0x1d | 0x1e => return Err(odd_line_end(at)),
            0xc2 if bytes.get(at + 1) == Some(&0x85) => return Err(odd_line_end(at)),
            0xe2 if bytes.get(at + 1) == Some(&0x80)
                && matches!(bytes.get(at + 2), Some(0xa8 | 0xa9)) =>
            {
                return Err(odd_line_end(at));
            }
            _ => {}
        }
        if chain > MAX_CHAIN * 4 {
            return Err(too_deep(at));
        }
        at += 1;
    }
    Ok(())
}

/// One past the end of the string literal that begins at `at`; an unterminated one ends the line.
pub(super) fn skip_string(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let triple = bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote);
    let mut i = at + if triple { 3 } else { 1 };
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 1,
            b'\n' if !triple => return i,
            byte if byte == quote => {
                if !triple {
                    return i + 1;
                }
                if bytes.get(i + 1) == Some(&quote) && bytes.get(i + 2) == Some(&quote) {
                    return i + 3;
                }
            }
            _ => {}
        }
        i += 1;
    }
    bytes.len()
}

fn too_deep(at: usize) -> Problem {
    Problem::at(
        "K022",
        at as u32,
        at as u32,
        "the source is nested too deeply",
    )
    .hint("give parts of the expression names of their own")
}

fn odd_line_end(at: usize) -> Problem {
    Problem::at(
        "K022",
        at as u32,
        at as u32,
        "the source holds a control character that ends a line",
    )
    .hint("use line feeds only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_passes_and_brackets_in_strings_do_not_count() {
        assert!(check_limits("x = f(a[1], (b, c))\n").is_ok());
        assert!(check_limits(&format!("x = '{}'\n", "(".repeat(500))).is_ok());
        assert!(check_limits(&format!("\"\"\"{}\n\"\"\"\n", "[".repeat(500))).is_ok());
    }

    #[test]
    fn deep_nesting_and_endless_chains_are_refused() {
        assert!(check_limits(&"(".repeat(100)).is_err());
        assert!(check_limits(&format!("x = {}1", "-".repeat(10_000))).is_err());
        assert!(check_limits(&format!("x = 1{}", "+1".repeat(10_000))).is_err());
        assert!(check_limits(&format!("x = {}1", "not ".repeat(10_000))).is_err());
    }

    #[test]
    fn line_ends_that_only_python_sees_are_refused() {
        assert!(check_limits("x = 1\u{2028}y = 2").is_err());
        assert!(check_limits("x = 1\ry = 2").is_err());
        assert!(check_limits("x = 1\r\ny = 2").is_ok());
    }
}
