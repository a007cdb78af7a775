//! CUDA C++ as tokens: comments and strings gone, preprocessor branches chosen, lines kept.
//!
//! Branches that a CUDA build of today does not compile are dropped ([`super::condition`]). Of any
//! other `#if … #else …` both sides are kept where the first one leaves the braces balanced;
//! otherwise the second would open them twice.

use super::condition::{Truth, is_defined, truth};

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    pub(crate) line: u32,
    pub(crate) kind: TokenKind,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Number,
    Text,
    Sign,
}

/// `#include "path"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Include {
    pub(crate) line: u32,
    pub(crate) path: String,
    /// Whether some builds do without it: it stands under a condition that may fail.
    pub(crate) conditional: bool,
}

/// `#define NAME(parameters) body`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Define<'t> {
    pub(crate) line: u32,
    pub(crate) name: &'t str,
    /// `None` where it takes none, not even `()`.
    pub(crate) parameters: Option<Vec<&'t str>>,
    /// As written, with its continued lines.
    pub(crate) body: &'t str,
    /// Whether some builds do without it: it stands under a condition that may fail.
    pub(crate) conditional: bool,
}

/// A file's tokens and directives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lexed<'t> {
    pub(crate) tokens: Vec<Token<'t>>,
    pub(crate) includes: Vec<Include>,
    pub(crate) defines: Vec<Define<'t>>,
    /// Names of `#undef`.
    undefined: Vec<&'t str>,
}

struct Branch<'t> {
    /// The name by which a header keeps from being read twice, which holds once in every build.
    guard: Option<&'t str>,
    /// Truth of the side being read.
    side: Truth,
    /// Whether some earlier side was certainly the one.
    decided: bool,
    depth: i64,
    outer_live: bool,
}

/// Reads a file. The work is linear in its length.
pub(crate) fn lex(text: &str) -> Lexed<'_> {
    let bytes = text.as_bytes();
    let mut out = Lexed::default();
    let mut branches: Vec<Branch<'_>> = Vec::new();
    let (mut at, mut line, mut depth) = (0usize, 1u32, 0i64);
    let mut line_start = true;
    while at < bytes.len() {
        let live = branches
            .last()
            .is_none_or(|b| b.outer_live && b.side != Truth::No);
        let c = bytes[at];
        if c == b'\n' {
            line += 1;
            line_start = true;
            at += 1;
        } else if c.is_ascii_whitespace() {
            at += 1;
        } else if bytes[at..].starts_with(b"//") {
            at = line_end(bytes, at, &mut line);
        } else if bytes[at..].starts_with(b"/*") {
            let end =
                memchr::memmem::find(&bytes[at + 2..], b"*/").map_or(bytes.len(), |n| at + n + 4);
            line += count_lines(&bytes[at..end]);
            at = end;
        } else if c == b'#' && line_start {
            let start_line = line;
            let end = line_end(bytes, at, &mut line);
            directive(
                text,
                at + 1,
                end,
                start_line,
                live,
                depth,
                &mut branches,
                &mut out,
            );
            at = end;
        } else {
            line_start = false;
            let (end, kind) = token_end(bytes, at);
            if live && let Some(word) = text.get(at..end) {
                match word {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    _ => {}
                }
                out.tokens.push(Token {
                    text: word,
                    line,
                    kind,
                });
            }
            line += count_lines(&bytes[at..end]);
            at = end.max(at + 1);
        }
    }
    out
}

fn count_lines(bytes: &[u8]) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or(u32::MAX)
}

/// The end of a logical line: a backslash before the newline continues it.
fn line_end(bytes: &[u8], at: usize, line: &mut u32) -> usize {
    let mut from = at;
    loop {
        let Some(n) = memchr::memchr(b'\n', &bytes[from..]) else {
            return bytes.len();
        };
        let end = from + n;
        let before = bytes[at..end]
            .iter()
            .rev()
            .find(|b| **b != b'\r' && **b != b' ');
        if before != Some(&b'\\') {
            return end;
        }
        *line += 1;
        from = end + 1;
    }
}

fn token_end(bytes: &[u8], at: usize) -> (usize, TokenKind) {
    let c = bytes[at];
    if c.is_ascii_alphabetic() || c == b'_' || c >= 0x80 {
        let mut end = at;
        while end < bytes.len()
            && (bytes[end].is_ascii_alphanumeric() || bytes[end] == b'_' || bytes[end] >= 0x80)
        {
            end += 1;
        }
        // R"tag( … )tag"
        if bytes.get(end) == Some(&b'"') && bytes[end - 1] == b'R' && end - at <= 3 {
            return (raw_string_end(bytes, end), TokenKind::Text);
        }
        return (end, TokenKind::Word);
    }
    if c.is_ascii_digit() {
        let mut end = at;
        while end < bytes.len()
            && (bytes[end].is_ascii_alphanumeric() || matches!(bytes[end], b'.' | b'_' | b'\''))
        {
            end += 1;
        }
        return (end, TokenKind::Number);
    }
    if c == b'"' || c == b'\'' {
        let mut end = at + 1;
        while end < bytes.len() && bytes[end] != c && bytes[end] != b'\n' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        return ((end + 1).min(bytes.len()), TokenKind::Text);
    }
    for sign in [&b"<<<"[..], b"<< <", b">>>", b"->", b"::", b"=="] {
        if bytes[at..].starts_with(sign) {
            return (at + sign.len(), TokenKind::Sign);
        }
    }
    (at + 1, TokenKind::Sign)
}

fn raw_string_end(bytes: &[u8], quote: usize) -> usize {
    let Some(open) = bytes[quote..].iter().take(20).position(|b| *b == b'(') else {
        return quote + 1;
    };
    let mut close = vec![b')'];
    close.extend_from_slice(&bytes[quote + 1..quote + open]);
    close.push(b'"');
    memchr::memmem::find(&bytes[quote..], &close).map_or(bytes.len(), |n| quote + n + close.len())
}

#[allow(clippy::too_many_arguments)] // The state of one pass over the file, named.
fn directive<'t>(
    text: &'t str,
    from: usize,
    to: usize,
    line: u32,
    live: bool,
    depth: i64,
    branches: &mut Vec<Branch<'t>>,
    out: &mut Lexed<'t>,
) {
    let Some(body) = text.get(from..to) else {
        return;
    };
    let body = body.trim_start();
    let end = body
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(body.len());
    let (keyword, rest) = body.split_at(end);
    let rest = rest.trim();
    match keyword {
        "if" | "ifdef" | "ifndef" => {
            let side = match keyword {
                "ifndef" => is_defined(rest).not(),
                "ifdef" => is_defined(rest),
                _ => truth_here(rest, out),
            };
            if branches.len() < 200 {
                let guards = keyword == "ifndef"
                    && branches.is_empty()
                    && out.tokens.is_empty()
                    && out.includes.is_empty();
                branches.push(Branch {
                    guard: guards.then_some(rest),
                    side,
                    decided: side == Truth::Yes,
                    depth,
                    outer_live: live,
                });
            }
        }
        "elif" | "else" => {
            if let Some(branch) = branches.last_mut() {
                let unbalanced = branch.side == Truth::Either && depth != branch.depth;
                let previous = branch.side;
                branch.side = if branch.decided || unbalanced {
                    Truth::No
                } else if keyword == "elif" {
                    truth_here(rest, out)
                } else if previous == Truth::No {
                    Truth::Yes
                } else {
                    Truth::Either
                };
                branch.decided |= branch.side == Truth::Yes || unbalanced;
            }
        }
        "endif" => {
            branches.pop();
        }
        "define" if live => {
            // `#ifndef NAME` around it leaves the value to whoever builds.
            let left_open = |name: &str| branches.iter().any(|b| b.guard == Some(name));
            let found = define(rest, line).map(|define| Define {
                conditional: is_conditional(branches) || left_open(define.name),
                ..define
            });
            out.defines.extend(found);
        }
        "undef" if live => {
            let name = rest.split_whitespace().next().unwrap_or("");
            out.undefined.push(name);
        }
        "include" if live => out.includes.push(Include {
            line,
            conditional: is_conditional(branches),
            path: rest
                .trim_matches(['"', '<', '>'])
                .chars()
                .take(300)
                .collect(),
        }),
        _ => {}
    }
}

/// Whether some builds do without what stands here.
fn is_conditional(branches: &[Branch<'_>]) -> bool {
    let may_fail = |b: &Branch<'_>| b.side == Truth::Either && b.guard.is_none();
    branches.iter().any(may_fail)
}

/// Whether `#if condition` holds, where the file itself may have switched a name on or off for good.
fn truth_here(condition: &str, read: &Lexed<'_>) -> Truth {
    let known = truth(condition);
    let name = condition.split("//").next().unwrap_or("").trim();
    if known != Truth::Either || read.undefined.contains(&name) {
        return known;
    }
    let mut own = read.defines.iter().filter(|d| d.name == name);
    // A name that is defined twice, or only in some builds, is a choice of whoever builds.
    match (own.next(), own.next()) {
        (Some(only), None) if !only.conditional && only.parameters.is_none() => {
            let value = only.body.split("//").next().unwrap_or("").trim();
            match value {
                "0" => Truth::No,
                "1" => Truth::Yes,
                _ => known,
            }
        }
        _ => known,
    }
}

/// The parts of what follows `#define`; a body beyond any macro that people write is left out.
fn define(rest: &str, line: u32) -> Option<Define<'_>> {
    const BODY_LIMIT: usize = 16_000;
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    let (name, behind) = rest.split_at(end);
    let (parameters, body) = match behind.strip_prefix('(') {
        Some(list) => {
            let (list, body) = list.split_once(')')?;
            let names = list
                .split(',')
                .map(|p| p.trim().trim_matches(['\\', '\n', ' ']));
            (Some(names.filter(|p| !p.is_empty()).collect()), body)
        }
        None => (None, behind),
    };
    (!name.is_empty() && body.len() <= BODY_LIMIT).then_some(Define {
        line,
        name,
        parameters,
        body,
        conditional: false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        lex(text)
            .tokens
            .iter()
            .filter(|t| t.kind == TokenKind::Word)
            .map(|t| t.text.to_owned())
            .collect()
    }

    #[test]
    fn branches_of_other_platforms_and_the_past_are_dropped() {
        assert_eq!(words("#ifdef USE_ROCM\na\n#else\nb\n#endif\nc"), ["b", "c"]);
        assert_eq!(words("#ifndef USE_ROCM\na\n#else\nb\n#endif"), ["a"]);
        assert_eq!(words("#if BNB_HIP\na\n#else\nb\n#endif"), ["b"]);
        assert_eq!(
            words("#if defined(__CUDACC_RTC__) || CUDA_VERSION >= 9000\na\n#else\nb\n#endif"),
            ["a"]
        );
        assert_eq!(words("#if 0\na\n#endif\nb"), ["b"]);
        assert_eq!(words("#if X\nf {\n#else\ng {\n#endif\n}"), ["f"]);
        assert_eq!(words("#if X\na\n#else\nb\n#endif"), ["a", "b"]);
        let off = "#define OLD 0 // not any more\n#if OLD\na\n#else\nb\n#endif\nc";
        assert_eq!(words(off), ["b", "c"]);
        let default = "#ifndef OLD\n#define OLD 0\n#endif\nd\n#if OLD\na\n#else\nb\n#endif";
        assert_eq!(words(default), ["d", "a", "b"]);
        assert_eq!(words(&format!("c\n{default}")), ["c", "d", "a", "b"]);
        let again = "#define OLD 0\n#undef OLD\n#if OLD\na\n#endif";
        assert_eq!(words(again), ["a"]);
        let three = "#if defined(USE_ROCM)\na\n#elif CUDART_VERSION < 12000\nb\n#else\nc\n#endif";
        assert_eq!(words(three), ["c"]);
    }

    #[test]
    fn comments_and_strings_hold_no_code_and_lines_are_counted() {
        let lexed =
            lex("/* a\n*/ b // c\n\"d\\\"e\" R\"x(f)x\" g\n#define M(x) \\\n  h(x)\ni<<<1, 2>>>()");
        let found: Vec<_> = lexed
            .tokens
            .iter()
            .filter(|t| t.kind == TokenKind::Word)
            .map(|t| (t.text, t.line))
            .collect();
        assert_eq!(found, [("b", 2), ("g", 3), ("i", 6)]);
        let [define] = lexed.defines.as_slice() else {
            panic!("{:?}", lexed.defines)
        };
        assert_eq!((define.name, define.line), ("M", 4));
        assert_eq!(define.parameters.as_deref(), Some(&["x"][..]));
        assert!(lexed.tokens.iter().any(|t| t.text == "<<<"));
    }

    proptest! {
        #[test]
        fn any_text_is_lexed_without_a_panic(
            text in "(#if |#else\n|#endif\n|#define |/\\*|\\*/|//|\"|'|R\"x\\(|\\\\\n|<<<|>>>|\\{|\\}|\n|[a-z]|é|\\PC){0,80}"
        ) {
            let lexed = lex(&text);
            prop_assert!(lexed.tokens.iter().all(|t| !t.text.is_empty()));
        }

        #[test]
        fn any_bytes_that_are_text_are_lexed(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = lex(&String::from_utf8_lossy(&bytes)).tokens.len();
        }
    }
}
