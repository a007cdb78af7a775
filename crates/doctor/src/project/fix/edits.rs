//! Texts under edit.

use std::collections::BTreeMap;
use std::path::Path;

use super::Patch;
use crate::project::walk;

/// Files that are being changed.
pub(super) struct Edits<'a> {
    root: &'a Path,
    /// Texts that earlier rounds made; they are not on disk yet.
    made: &'a BTreeMap<String, Option<String>>,
    files: BTreeMap<String, OpenFile>,
    code: &'static str,
    /// Insertions at the top, made last: they would move every line that is still to be fixed.
    later: Vec<TopInsertion>,
}

/// A file's text before, its lines now, and the rules that changed it.
struct OpenFile {
    before: Option<String>,
    lines: Vec<Line>,
    codes: Vec<String>,
}

/// A line without its end. A file may mix both ends, and each line keeps its own.
struct Line {
    text: String,
    carriage_return: bool,
}

impl Line {
    fn end(&self) -> &'static str {
        if self.carriage_return { "\r\n" } else { "\n" }
    }
}

fn lines_of(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for piece in text.split_inclusive('\n') {
        let (line, carriage_return) = match piece.strip_suffix('\n') {
            Some(line) => match line.strip_suffix('\r') {
                Some(line) => (line, true),
                None => (line, false),
            },
            // The last line has no end; one that follows it is like the line before.
            None => (piece, lines.last().is_some_and(|l| l.carriage_return)),
        };
        lines.push(Line {
            text: line.to_owned(),
            carriage_return,
        });
    }
    lines
}

/// Lines for the place before the first line that satisfies `wanted`.
struct TopInsertion {
    file: String,
    text: String,
    wanted: Box<dyn Fn(&str) -> bool>,
    code: &'static str,
}

impl<'a> Edits<'a> {
    pub(super) fn new(root: &'a Path, made: &'a BTreeMap<String, Option<String>>) -> Self {
        Self {
            root,
            made,
            files: BTreeMap::new(),
            code: "",
            later: Vec::new(),
        }
    }

    /// Edits from here on are for this rule.
    pub(super) fn begin(&mut self, code: &'static str) {
        self.code = code;
    }

    fn open(&mut self, file: &str) -> Option<&mut OpenFile> {
        if !self.files.contains_key(file) {
            let text = match self.made.get(file) {
                Some(text) => text.clone()?,
                None => walk::read(self.root, file)?,
            };
            let lines = lines_of(&text);
            self.files.insert(
                file.to_owned(),
                OpenFile {
                    before: Some(text),
                    lines,
                    codes: Vec::new(),
                },
            );
        }
        self.files.get_mut(file)
    }

    /// The lines of a file that this rule is about to change.
    fn edit(&mut self, file: &str) -> Option<&mut Vec<Line>> {
        let code = self.code;
        let open = self.open(file)?;
        if !open.codes.iter().any(|c| c == code) {
            open.codes.push(code.to_owned());
        }
        Some(&mut open.lines)
    }

    /// Whether a rule of this round changed the file: what its facts say is old.
    pub(super) fn is_touched(&self, file: &str) -> bool {
        self.files
            .get(file)
            .is_some_and(|open| !open.codes.is_empty())
    }

    /// The text of a line.
    pub(super) fn line(&mut self, file: &str, line: u32) -> Option<String> {
        let n = line.checked_sub(1)? as usize;
        Some(self.open(file)?.lines.get(n)?.text.clone())
    }

    /// Whether a file has this text.
    pub(super) fn contains(&mut self, file: &str, text: &str) -> bool {
        self.open(file)
            .is_some_and(|open| open.lines.iter().any(|l| l.text.contains(text)))
    }

    /// The first line that satisfies `wanted`, at or after `from`.
    pub(super) fn find(
        &mut self,
        file: &str,
        from: u32,
        wanted: impl Fn(&str) -> bool,
    ) -> Option<u32> {
        let lines = &self.open(file)?.lines;
        let start = from.saturating_sub(1) as usize;
        let at = lines.iter().skip(start).position(|l| wanted(&l.text))? + start;
        u32::try_from(at + 1).ok()
    }

    /// Changes a line.
    pub(super) fn change(&mut self, file: &str, line: u32, change: impl Fn(&str) -> String) {
        let Some(text) = self.line(file, line) else {
            return;
        };
        let new = change(&text);
        if new != text
            && let Some(lines) = self.edit(file)
            && let Some(place) = line.checked_sub(1).and_then(|n| lines.get_mut(n as usize))
        {
            place.text = new;
        }
    }

    /// Inserts lines before a line.
    pub(super) fn insert_before(&mut self, file: &str, line: u32, text: &str) {
        if let Some(lines) = self.edit(file) {
            let at = (line.saturating_sub(1) as usize).min(lines.len());
            let neighbour = lines.get(at.saturating_sub(1));
            let carriage_return = neighbour.is_some_and(|l| l.carriage_return);
            let new = text.lines().map(|text| Line {
                text: text.to_owned(),
                carriage_return,
            });
            lines.splice(at..at, new);
        }
    }

    /// Adds lines at the end.
    pub(super) fn append(&mut self, file: &str, text: &str) {
        self.insert_before(file, u32::MAX, text);
    }

    /// Inserts lines before the first line that satisfies `wanted`, once, when all else is done.
    pub(super) fn insert_later(
        &mut self,
        file: &str,
        text: &str,
        wanted: impl Fn(&str) -> bool + 'static,
    ) {
        let planned = self.later.iter().any(|l| l.file == file && l.text == text);
        if !planned && !self.contains(file, text) {
            self.later.push(TopInsertion {
                file: file.to_owned(),
                text: text.to_owned(),
                wanted: Box::new(wanted),
                code: self.code,
            });
        }
    }

    /// Adds an `#include` before that of `beside`, once: what is there for one is there for the other.
    pub(super) fn include(&mut self, file: &str, header: &str, beside: &str) {
        let beside = beside.to_owned();
        self.insert_later(file, &format!("#include <{header}>"), move |l| {
            l.trim_start().starts_with("#include") && l.contains(&beside)
        });
    }

    /// Creates a file where there is none.
    pub(super) fn create(&mut self, file: &str, text: &str) {
        let made = self.made.get(file).is_some_and(Option::is_some);
        let on_disk = !self.made.contains_key(file) && self.root.join(file).exists();
        if self.files.contains_key(file) || made || on_disk {
            return;
        }
        let lines = lines_of(text);
        self.files.insert(
            file.to_owned(),
            OpenFile {
                before: None,
                lines,
                codes: vec![self.code.to_owned()],
            },
        );
    }

    /// What changed.
    pub(super) fn finish(mut self) -> Vec<Patch> {
        for TopInsertion {
            file,
            text,
            wanted,
            code,
        } in std::mem::take(&mut self.later)
        {
            self.code = code;
            let line = self.find(&file, 1, wanted).unwrap_or(1);
            self.insert_before(&file, line, &text);
        }
        self.files
            .into_iter()
            .filter_map(
                |(
                    file,
                    OpenFile {
                        before,
                        lines,
                        codes,
                    },
                )| {
                    let mut after = String::new();
                    for line in &lines {
                        after += &line.text.replace('\n', line.end());
                        after += line.end();
                    }
                    // A file without a newline at its end stays one.
                    if let (Some(text), Some(last)) = (&before, lines.last())
                        && !text.ends_with('\n')
                    {
                        after.truncate(after.len() - last.end().len());
                    }
                    (before.as_deref() != Some(after.as_str())
                        && before.as_deref().map(str::trim_end) != Some(after.trim_end()))
                    .then_some(Patch {
                        file,
                        before,
                        after,
                        codes,
                    })
                },
            )
            .collect()
    }
}
