//! CMake commands with their lines: names and arguments, comments and brackets understood.

/// One command.
#[derive(Clone, Debug)]
pub(crate) struct CmakeCommand {
    pub(crate) line: u32,
    /// Lower case.
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
}

pub(crate) fn parse_cmake(text: &str) -> Vec<CmakeCommand> {
    let mut commands = Vec::new();
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0usize, 1u32);
    let mut name_start = None;
    while at < bytes.len() {
        let c = bytes[at];
        match c {
            b'\n' => {
                line += 1;
                name_start = None;
                at += 1;
            }
            b'#' => at = skip_comment(bytes, at, &mut line),
            b'(' => {
                let name = name_start
                    .and_then(|start: usize| text.get(start..at))
                    .map(|name| name.trim().to_ascii_lowercase())
                    .unwrap_or_default();
                let start_line = line;
                // Only a condition is another one without its parentheses.
                let grouped = matches!(name.as_str(), "if" | "elseif" | "while");
                let (arguments, next) = arguments(text, at + 1, grouped, &mut line);
                if !name.is_empty() && commands.len() < 20_000 {
                    commands.push(CmakeCommand {
                        line: start_line,
                        name,
                        arguments,
                    });
                }
                at = next;
                name_start = None;
            }
            _ if c.is_ascii_alphanumeric() || c == b'_' => {
                name_start.get_or_insert(at);
                at += 1;
            }
            _ => {
                if !c.is_ascii_whitespace() {
                    name_start = None;
                }
                at += 1;
            }
        }
    }
    commands
}

fn skip_comment(bytes: &[u8], mut at: usize, line: &mut u32) -> usize {
    // `#[[ … ]]` spans lines.
    if bytes[at..].starts_with(b"#[[") {
        while at < bytes.len() && !bytes[at..].starts_with(b"]]") {
            if bytes[at] == b'\n' {
                *line += 1;
            }
            at += 1;
        }
        return at + 2;
    }
    while at < bytes.len() && bytes[at] != b'\n' {
        at += 1;
    }
    at
}

/// The arguments up to the closing parenthesis; where they are `grouped`, parentheses are arguments.
fn arguments(text: &str, mut at: usize, grouped: bool, line: &mut u32) -> (Vec<String>, usize) {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut depth = 1usize;
    let mut word: Option<usize> = None;
    let push = |found: &mut Vec<String>, word: &mut Option<usize>, end: usize| {
        if let Some(part) = word.take().and_then(|start| text.get(start..end)) {
            found.push(part.to_owned());
        }
    };
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                push(&mut found, &mut word, at);
                let start = at + 1;
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    if bytes[at] == b'\n' {
                        *line += 1;
                    }
                    // An escaped line end is skipped, and counts as one.
                    if bytes[at] == b'\\' {
                        *line += u32::from(bytes.get(at + 1) == Some(&b'\n'));
                        at += 1;
                    }
                    at += 1;
                }
                found.push(
                    text.get(start..at.min(bytes.len()))
                        .unwrap_or("")
                        .to_owned(),
                );
                at += 1;
                continue;
            }
            b'#' => {
                push(&mut found, &mut word, at);
                at = skip_comment(bytes, at, line);
                continue;
            }
            b'(' => {
                depth += 1;
                if grouped {
                    push(&mut found, &mut word, at);
                    found.push("(".to_owned());
                }
            }
            b')' => {
                depth -= 1;
                if depth == 0 {
                    push(&mut found, &mut word, at);
                    return (found, at + 1);
                }
                if grouped {
                    push(&mut found, &mut word, at);
                    found.push(")".to_owned());
                }
            }
            b'\n' => {
                *line += 1;
                push(&mut found, &mut word, at);
            }
            c if c.is_ascii_whitespace() => push(&mut found, &mut word, at),
            _ => {
                word.get_or_insert(at);
            }
        }
        at += 1;
    }
    push(&mut found, &mut word, bytes.len());
    (found, bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_are_read_with_their_lines() {
        let found = parse_cmake(
            "# set(NO)\ncmake_minimum_required(VERSION 3.10)\nproject(x LANGUAGES CXX CUDA)\nset(CMAKE_CUDA_ARCHITECTURES \"75;80\" # c\n  CACHE STRING \"(x)\")\nif(NOT (A AND B))\nendif()\n",
        );
        let names: Vec<_> = found.iter().map(|c| (c.line, c.name.as_str())).collect();
        assert_eq!(
            names,
            [
                (2, "cmake_minimum_required"),
                (3, "project"),
                (4, "set"),
                (6, "if"),
                (7, "endif")
            ]
        );
        assert_eq!(found[3].arguments, ["NOT", "(", "A", "AND", "B", ")"]);
        let continued = parse_cmake("set(a \"one \\\n two\")\nproject(b)\n");
        assert_eq!(continued[1].line, 3);
        assert_eq!(
            found[2].arguments,
            [
                "CMAKE_CUDA_ARCHITECTURES",
                "75;80",
                "CACHE",
                "STRING",
                "(x)"
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "([a-z]|\\(|\\)|\"|#|#\\[\\[|\\]\\]|\\\\|\n| |é|\\PC){0,80}") {
            let _ = parse_cmake(&text);
        }
    }
}
