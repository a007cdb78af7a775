//! Lines that a program printed, against the lines that a text says it prints.

pub(crate) mod page;

/// Whether `seen` is what `expected` describes; a line `...` stands for any number of lines, and
/// `same` compares the others.
pub(crate) fn fits(expected: &[&str], seen: &[&str], same: &dyn Fn(&str, &str) -> bool) -> bool {
    match expected.split_first() {
        None => seen.is_empty(),
        Some((&"...", rest)) => (0..=seen.len()).any(|skip| fits(rest, &seen[skip..], same)),
        Some((line, rest)) => seen
            .split_first()
            .is_some_and(|(first, others)| same(line, first) && fits(rest, others, same)),
    }
}

/// Whether `line` is `pattern`, in which `[..]` stands for any text.
pub(crate) fn line_fits(pattern: &str, line: &str) -> bool {
    let mut pieces = pattern.trim_end().split("[..]");
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = line.trim_end().strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(position) => rest = &rest[position + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Commands with the lines below them; lines before the first command are a comment.
pub(crate) fn sessions(text: &str) -> Vec<(Option<&str>, Vec<&str>)> {
    let mut sessions = vec![(None, Vec::new())];
    for line in text.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => sessions.push((Some(command), Vec::new())),
            None => sessions.last_mut().expect("never empty").1.push(line),
        }
    }
    sessions.retain(|(command, lines)| command.is_some() || !lines.is_empty());
    sessions
}
