//! A page of the documentation as its tests read it: fenced blocks, and the commands in them.
//!
//! A block ```` ```LANGUAGE file=NAME ```` is a file of the reader's folder. A block
//! ```` ```console ```` is a session: lines that begin with `$ ` are commands, the lines below them
//! are all that they print. Words behind `console` say what the session needs (`gpu`, `nvrtc`,
//! `numpy`, `install`) and what kind of output it has (`measured`).
//!
//! `xtask` reads pages with this file, too, so it names nothing but the standard library.

use std::ops::Range;

/// A fenced block.
pub(crate) struct Block<'a> {
    /// The words behind the fence.
    pub(crate) info: &'a str,
    pub(crate) text: &'a str,
    /// Where `text` stands in the page, in bytes.
    pub(crate) place: Range<usize>,
}

impl<'a> Block<'a> {
    /// Whether it is a session at a terminal.
    pub(crate) fn is_console(&self) -> bool {
        self.info.split_whitespace().next() == Some("console")
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.info
            .split_whitespace()
            .skip(1)
            .any(|have| have == word)
    }

    /// The file that it is.
    pub(crate) fn file(&self) -> Option<&'a str> {
        self.info
            .split_whitespace()
            .find_map(|word| word.strip_prefix("file="))
    }

    /// The line of the page on which it begins, from 1.
    pub(crate) fn line(&self, page: &str) -> usize {
        page[..self.place.start].lines().count()
    }
}

/// A command, and the lines that it prints.
pub(crate) struct Step<'a> {
    pub(crate) command: &'a str,
    pub(crate) output: Vec<&'a str>,
}

pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut start = 0;
    for line in page.split_inclusive('\n') {
        let end = start + line.len();
        match (line.trim_end().strip_prefix("```"), open) {
            (Some(info), None) => open = Some((info.trim(), end)),
            (Some(""), Some((info, from))) => {
                blocks.push(Block {
                    info,
                    text: &page[from..start],
                    place: from..start,
                });
                open = None;
            }
            _ => {}
        }
        start = end;
    }
    blocks
}

/// Files of the checkout that the reader has: `<!-- files: PATH PATH -->`.
pub(crate) fn files(page: &str) -> impl Iterator<Item = &str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("<!-- files: ")?.strip_suffix(" -->"))
        .flat_map(str::split_whitespace)
}

/// The commands of a session; `None` where lines stand before the first one.
pub(crate) fn steps(session: &str) -> Option<Vec<Step<'_>>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for line in session.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push(Step {
                command,
                output: Vec::new(),
            }),
            None => steps.last_mut()?.output.push(line),
        }
    }
    for step in &mut steps {
        trim(&mut step.output);
    }
    Some(steps)
}

/// Empty lines at the end are layout.
pub(crate) fn trim(lines: &mut Vec<&str>) {
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
}

/// A measurement without what a busy machine adds: findings about the measurement itself that are
/// no errors, and the reason why a clock decided.
pub(crate) fn steady<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut skipping = false;
    for line in lines {
        if line.starts_with("info M") || line.starts_with("warning M") {
            skipping = true;
        } else if !line.starts_with("  ") {
            skipping = false;
        }
        let reason = line.contains(" time decides: ") || line.starts_with("  clock: ");
        let twice_empty = line.is_empty() && kept.last().is_none_or(|last: &&str| last.is_empty());
        if !skipping && !reason && !twice_empty {
            kept.push(*line);
        }
    }
    trim(&mut kept);
    kept
}
