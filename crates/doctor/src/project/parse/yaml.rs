//! YAML as an outline: each key or list item with its line, its path of keys, and its value.
//!
//! Not a YAML implementation: workflows, compose files and manifests are block mappings with
//! scalars, lists, block scalars and short flow values, and for those the outline says the same as a
//! full parser, with line numbers and without rejecting files that runners accept. What a file does
//! beyond that (anchors, tags, several keys in a flow mapping) stays in the value's text.

/// One key or item.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) line: u32,
    /// Keys from the root, lists as `[]`: `jobs/build/steps/[]/uses`.
    pub(crate) path: String,
    pub(crate) value: String,
}

/// A file's outline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    pub(crate) entries: Vec<Entry>,
    /// Lines that no YAML reader accepts: a tab as indentation, a bracket never closed.
    pub(crate) faults: Vec<(u32, &'static str)>,
}

impl Outline {
    pub(crate) fn parse(text: &str) -> Self {
        let mut outline = Self::default();
        // (indent, key) of the keys that are open.
        let mut open: Vec<(usize, String)> = Vec::new();
        let lines: Vec<&str> = text.lines().collect();
        let mut n = 0;
        while n < lines.len() {
            let number = u32::try_from(n + 1).unwrap_or(u32::MAX);
            let raw = lines[n];
            n += 1;
            let line = strip_comment(raw);
            let body = line.trim_start();
            if body.is_empty() || body.starts_with("---") || body.starts_with('%') {
                continue;
            }
            if raw.starts_with('\t') && !body.is_empty() {
                outline.faults.push((number, "a tab cannot be indentation"));
            }
            let mut indent = line.len() - body.len();
            let mut rest = body;
            // `- ` opens items, possibly nested on one line.
            while let Some(item) = rest
                .strip_prefix("- ")
                .or_else(|| (rest == "-").then_some(""))
            {
                while open
                    .last()
                    .is_some_and(|(at, key)| *at > indent || (*at == indent && key == "[]"))
                {
                    open.pop();
                }
                open.push((indent, "[]".to_owned()));
                let trimmed = item.trim_start();
                indent += 2 + (item.len() - trimmed.len());
                rest = trimmed;
            }
            let (key, value) = match split_key(rest) {
                Some((key, value)) => (Some(key), value),
                None => (None, rest),
            };
            if let Some(key) = key {
                // A list may stand at the indent of its own key: both close together.
                while open.last().is_some_and(|(at, _)| *at >= indent) {
                    open.pop();
                }
                if open.len() < 64 {
                    open.push((indent, key));
                }
            }
            let mut value = value.trim().to_owned();
            if value.starts_with('|') || value.starts_with('>') {
                // A block scalar: everything deeper than its key.
                let mut block = String::new();
                while n < lines.len() {
                    let next = lines[n];
                    let deeper = next.len() - next.trim_start().len();
                    if !next.trim().is_empty() && deeper <= open.last().map_or(0, |(at, _)| *at) {
                        break;
                    }
                    block.push_str(next.trim());
                    block.push('\n');
                    n += 1;
                }
                value = block;
            } else if value.starts_with(['[', '{']) && !balanced(&value) {
                // A flow value over several lines, however it is indented.
                let start = n;
                while n < lines.len() && n - start < 200 && !balanced(&value) {
                    value.push(' ');
                    value.push_str(strip_comment(lines[n]).trim());
                    n += 1;
                }
                if !balanced(&value) {
                    outline.faults.push((number, "a bracket is never closed"));
                }
            }
            let path = open
                .iter()
                .map(|(_, key)| key.as_str())
                .collect::<Vec<_>>()
                .join("/");
            outline.entries.push(Entry {
                line: number,
                path,
                value: unquote(&value).to_owned(),
            });
        }
        outline
    }

    /// Entries whose last key is `key`.
    pub(crate) fn keyed<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries
            .iter()
            .filter(move |e| e.path == key || e.path.rsplit('/').next() == Some(key))
    }

    /// Entries at or below a path.
    pub(crate) fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |e| {
            e.path
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

fn split_key(text: &str) -> Option<(String, &str)> {
    let quoted = text.starts_with(['"', '\'']);
    let end = if quoted {
        let close = text[1..].find(text.chars().next()?)? + 2;
        text[close..].starts_with(':').then_some(close)?
    } else {
        // A colon ends a key only before a space or the end of the line.
        let bytes = text.as_bytes();
        (0..bytes.len()).find(|n| {
            bytes[*n] == b':' && bytes.get(n + 1).is_none_or(|b| b.is_ascii_whitespace())
        })?
    };
    let key = text[..end].trim();
    if key.is_empty() || key.contains(['{', '[', '"']) && !quoted {
        return None;
    }
    Some((unquote(key).to_owned(), &text[end + 1..]))
}

fn strip_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if (c == '"' || c == '\'')
                && (before.is_whitespace() || "[{,:-".contains(before)) =>
            {
                quote = Some(c)
            }
            None if c == '#' && before.is_whitespace() => return line[..at].trim_end(),
            None => {}
        }
        before = c;
    }
    line.trim_end()
}

fn balanced(text: &str) -> bool {
    let mut depth = 0i64;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    depth <= 0
}

fn unquote(text: &str) -> &str {
    let inner = text
        .strip_prefix('"')
        .and_then(|t| t.strip_suffix('"'))
        .or_else(|| text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')));
    inner.unwrap_or(text)
}

/// The items of a flow list, or the single scalar.
pub(crate) fn items(value: &str) -> Vec<String> {
    value
        .trim_start_matches('[')
        .trim_end_matches(']')
        .split(',')
        .map(|item| unquote(item.trim()).to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_workflow_is_outlined() {
        let outline = Outline::parse(
            "name: ci\non: [push,\n pull_request]\njobs:\n  build:\n    runs-on: ubuntu-latest # here\n    steps:\n      - uses: a/b@v1\n        with:\n          x: 'y # z'\n      - run: |\n          make\n          test\n    strategy:\n      matrix:\n        python: ['3.8', \"3.9\"]\n",
        );
        let get = |path: &str| outline.entries.iter().find(|e| e.path == path).unwrap();
        assert_eq!(get("on").value, "[push, pull_request]");
        assert_eq!(get("jobs/build/runs-on").value, "ubuntu-latest");
        assert_eq!(get("jobs/build/steps/[]/uses").value, "a/b@v1");
        assert_eq!(get("jobs/build/steps/[]/with/x").value, "y # z");
        assert_eq!(get("jobs/build/steps/[]/run").value, "make\ntest\n");
        let python = get("jobs/build/strategy/matrix/python");
        assert_eq!(
            (items(&python.value), python.line),
            (vec!["3.8".to_owned(), "3.9".to_owned()], 16)
        );
        assert!(outline.faults.is_empty());
    }

    #[test]
    fn lists_at_the_indent_of_their_key_are_read() {
        let outline = Outline::parse("steps:\n- uses: x\n  name: n\n- run: y\nother: 1\n");
        let paths: Vec<_> = outline.entries.iter().map(|e| e.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "steps",
                "steps/[]/uses",
                "steps/[]/name",
                "steps/[]/run",
                "other"
            ]
        );
    }

    #[test]
    fn broken_files_are_said_to_be_broken() {
        assert_eq!(Outline::parse("a:\n\tb: 1\n").faults.len(), 1);
        assert_eq!(Outline::parse("a: [1, 2\n").faults.len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_outlined_without_a_panic(text in "( |-|- |\n|\t|[a-z]: |:|\\||>|\\[|\\{|\"|'|#|é|\\PC){0,80}") {
            let outline = Outline::parse(&text);
            let _ = outline.keyed("uses").count();
        }
    }
}
