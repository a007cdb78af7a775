//! The last lines on the terminal: verdict, five numbers, lights, counts, first action, path.
//!
//! At most ten lines of 80 columns in a fixed order, readable without colour. A command and the path
//! are never cut, because they are copied; what stands beside them is.

use std::path::Path;

use warpsmith_core::{Report, Severity};

use crate::digits;
use crate::document::{Chapter, Document, Headline, Reading, State};
use crate::findings;
use crate::judge::verdict::in_a_sentence;

const COLUMNS: usize = 80;

/// The lines, each with its end. `strict` says that errors have already become the exit code.
pub fn lines(report: &Report<Document>, utf8: bool, path: &Path, strict: bool) -> String {
    let terminal = Terminal { utf8 };
    let document = &report.body;
    let mut lines = vec![terminal.verdict(document)];
    lines.extend(terminal.numbers(&document.numbers));
    lines.extend(terminal.lights(&document.chapters));
    lines.extend(terminal.actions(report));
    lines.push(terminal.run(document));
    lines.push(path_line(report, &path.display().to_string(), strict));
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// What a terminal can show.
struct Terminal {
    utf8: bool,
}

impl Terminal {
    /// A text of the document as this terminal shows it.
    fn words(&self, text: &str) -> String {
        let plain = text.replace(['`', '\n', '\r', '\t'], "");
        match self.utf8 {
            true => plain,
            false => ascii(&plain),
        }
    }

    fn mark(&self, state: State) -> &'static str {
        match (state, self.utf8) {
            (State::Good, true) => "✓",
            (State::Look, true) => "!",
            (State::Act, true) => "✗",
            (State::NotMeasured, true) => "–",
            (State::Good, false) => "ok  ",
            (State::Look, false) => "look",
            (State::Act, false) => "act ",
            (State::NotMeasured, false) => "none",
        }
    }

    fn joint(&self) -> &'static str {
        if self.utf8 { " · " } else { " | " }
    }

    fn verdict(&self, document: &Document) -> String {
        let title = self.cut(&self.words(&document.subject.title), 40);
        let start = format!("{} {title}: ", self.mark(document.verdict.state.state()));
        let room = COLUMNS - width(&start);
        // Lower case after a colon.
        let headline = in_a_sentence(&document.verdict.headline);
        start + &self.clauses(&self.words(&headline), room)
    }

    /// As many whole clauses as `room` columns hold.
    fn clauses(&self, text: &str, room: usize) -> String {
        if width(text) <= room {
            return text.to_owned();
        }
        let ends = ["; ", ", ", ": ", " ("].map(|end| text.match_indices(end).map(|(at, _)| at));
        // What stands before the first end may be a mere name, which says nothing.
        let fitting = ends
            .into_iter()
            .flatten()
            .filter(|at| (room / 3..=room).contains(&width(&text[..*at])));
        match fitting.max() {
            Some(at) => text[..at].to_owned(),
            _ => self.cut(text, room),
        }
    }

    /// `text` cut behind a word, with an ellipsis.
    fn cut(&self, text: &str, room: usize) -> String {
        if width(text) <= room {
            return text.to_owned();
        }
        let dots = if self.utf8 { "…" } else { "..." };
        let kept: String = text
            .chars()
            .take(room.saturating_sub(width(dots)))
            .collect();
        let words = kept.rsplit_once(' ').map_or(&*kept, |(words, _)| words);
        // One endless word is cut inside.
        let kept = if width(words) * 2 < room {
            &kept
        } else {
            words
        };
        kept.trim_end_matches([' ', ',', ';', ':']).to_owned() + dots
    }

    /// The five numbers in two lines, with as much of their comparisons as fits.
    fn numbers(&self, numbers: &[Headline]) -> Vec<String> {
        if numbers.is_empty() {
            return Vec::new();
        }
        let mut detail = vec![1; numbers.len()];
        let packed = |detail: &[usize]| -> Option<Vec<String>> {
            let mut lines = vec![String::from(" ")];
            for (number, detail) in numbers.iter().zip(detail) {
                let text = self.number(number, *detail);
                let last = lines.last_mut()?;
                let joint = if last.len() > 1 { self.joint() } else { " " };
                match width(last) + width(joint) + width(&text) <= COLUMNS {
                    true => *last += &format!("{joint}{text}"),
                    false => lines.push(format!("  {text}")),
                }
            }
            let fits = lines.len() <= 2 && lines.iter().all(|line| width(line) <= COLUMNS);
            fits.then_some(lines)
        };
        // What does not fit loses its comparison, the last number first; what fits gains more.
        for at in (0..numbers.len()).rev() {
            if packed(&detail).is_some() {
                break;
            }
            detail[at] = 0;
        }
        for at in 0..numbers.len() {
            let before = detail[at];
            detail[at] = 2;
            if before == 0 || packed(&detail).is_none() {
                detail[at] = before;
            }
        }
        let shortest = || {
            let all: Vec<String> = numbers.iter().map(|n| self.number(n, 0)).collect();
            let (first, rest) = all.split_at(all.len().div_ceil(2));
            let line =
                |part: &[String]| self.cut(&format!("  {}", part.join(self.joint())), COLUMNS);
            vec![line(first), line(rest)]
        };
        packed(&detail).unwrap_or_else(shortest)
    }

    /// A number with its comparison: none, the stressed word, or all of it.
    fn number(&self, number: &Headline, detail: usize) -> String {
        let name = short_name(number);
        let text = match &number.reading {
            Reading::None(reason) if reason == "few" => format!("{name}: too few samples"),
            Reading::None(reason) => format!("{name}: {reason}"),
            Reading::Number { text, unit, .. } => {
                let value = format!("{name} {text} {unit}");
                let value = value.trim_end();
                let (share, rest) = &number.share;
                match (detail, share.is_empty()) {
                    (0, _) | (_, true) => value.to_owned(),
                    (1, false) => format!("{value}, {share}"),
                    // The datasheet's own number is on the page.
                    (_, false) => {
                        let rest = rest.split([',', ';']).next().unwrap_or("");
                        format!("{value}, {share}{}", rest.replace(" of the ", " of "))
                    }
                }
            }
        };
        self.words(&text)
    }

    /// The lights in two columns, downwards; there are at most six chapters.
    fn lights(&self, chapters: &[Chapter]) -> Vec<String> {
        let rows = chapters.len().div_ceil(2).min(3);
        let one = |chapter: &Chapter, room: usize| {
            let name = self.words(&chapter.short.to_lowercase());
            let start = format!("{} {:<8} ", self.mark(chapter.light), self.cut(&name, 10));
            let left = room.saturating_sub(width(&start));
            start + &self.clauses(&self.words(&chapter.note), left)
        };
        let line = |row: usize| {
            let left = chapters.get(row).map_or(String::new(), |c| one(c, 39));
            match chapters.get(row + rows) {
                Some(right) => format!("{left:<40}{}", one(right, 40)),
                None => left,
            }
        };
        (0..rows).map(line).collect()
    }

    fn actions(&self, report: &Report<Document>) -> Vec<String> {
        let counts = findings::counts(&report.findings);
        let document = &report.body;
        let Some(first) = document.actions.first() else {
            return vec![format!("{counts}; nothing to do")];
        };
        let head = match document.actions.len() + document.more_actions {
            1 => format!("{counts}; 1 thing to do:"),
            n => format!(
                "{counts}; {} things to do, the first:",
                digits::count(n as u64)
            ),
        };
        // A command is copied: it stands alone at the start of its line, whole or not at all.
        let command = &first.command;
        let whole =
            !command.is_empty() && (self.utf8 || command.is_ascii()) && !command.contains('\n');
        let taken = width(command) + 2;
        let gap = if taken < 38 { 40 - taken } else { 3 };
        let line = match COLUMNS.checked_sub(taken + gap) {
            // A reason of two words says nothing.
            Some(room) if whole && room >= 12 => {
                let why = self.clauses(&self.words(&first.why), room);
                format!("  {command}{}{why}", " ".repeat(gap))
            }
            _ if whole && taken <= COLUMNS => format!("  {command}"),
            _ => format!("  {}", self.cut(&self.words(&first.what), COLUMNS - 2)),
        };
        vec![head, line]
    }

    fn run(&self, document: &Document) -> String {
        let subject = &document.subject;
        let mut line = format!(
            "{:.0} s of {:.0} s",
            subject.seconds, subject.allowed_seconds
        );
        line += self.joint();
        if document.left_out.is_empty() {
            return line + "nothing was left out";
        }
        line += "left out: ";
        let room = COLUMNS - width(&line);
        line + &self.clauses(&self.words(&document.left_out.join(", ")), room)
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The name as it is said in a line of five.
fn short_name(number: &Headline) -> String {
    let known = match &*number.id {
        "memory-rate" => "memory",
        "arithmetic-rate" => "FP32",
        "launch" if number.name.starts_with("Start") => "start work",
        "launch" => "launch",
        "host-to-device" => "host to device",
        "power-at-rest" => "at rest",
        "cached-rate" => "copy in cache",
        "load-at-rest" => "CPU busy",
        _ => return number.name.to_lowercase(),
    };
    known.to_owned()
}

fn path_line(report: &Report<Document>, path: &str, strict: bool) -> String {
    let errors = report
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .count();
    let them = match errors {
        1 => "the error".to_owned(),
        n => format!("the {} errors", digits::count(n as u64)),
    };
    let long = match (errors, strict) {
        (0, _) => "--open shows it".to_owned(),
        (_, true) => format!("--open shows it; exit 1 for {them}"),
        (_, false) => format!("--open shows it, --strict turns {them} into exit 1"),
    };
    let hints = [
        format!("{path}   ({long})"),
        format!("{path}   (--open shows it)"),
    ];
    let fitting = hints
        .into_iter()
        .find(|line| line.chars().count() <= COLUMNS);
    fitting.unwrap_or_else(|| path.to_owned())
}

/// For a terminal that is not UTF-8.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            '·' => out.push('|'),
            'µ' | 'μ' => out.push('u'),
            '×' => out.push('x'),
            '−' | '–' | '—' => out.push('-'),
            '≥' => out.push_str(">="),
            '≤' => out.push_str("<="),
            '±' => out.push_str("+-"),
            '°' => out.push_str("deg "),
            '…' => out.push_str("..."),
            '→' => out.push_str("->"),
            '²' => out.push('2'),
            '³' => out.push('3'),
            '’' | '‘' => out.push('\''),
            '“' | '”' => out.push('"'),
            _ => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Terminal = Terminal { utf8: true };

    #[test]
    fn text_is_cut_at_a_clause() {
        let clauses = |text: &str, room| TERMINAL.clauses(text, room);
        let text = "fit to measure and at full speed; one fault to look into (Xid 31)";
        assert_eq!(clauses(text, 80), text);
        assert_eq!(
            clauses(text, 62),
            "fit to measure and at full speed; one fault to look into"
        );
        assert_eq!(clauses(text, 40), "fit to measure and at full speed");
        assert_eq!(clauses(text, 20), "fit to measure and…");
        let name = "GPU 0: fell off the bus during the baseline";
        assert_eq!(clauses(name, 25), "GPU 0: fell off the bus…");
        assert_eq!(clauses(&"x".repeat(50), 20).chars().count(), 20);
    }

    #[test]
    fn other_terminals_get_ascii() {
        assert_eq!(
            ascii("9.47 µs · 42 °C · × 4, −1 %"),
            "9.47 us | 42 deg C | x 4, -1 %"
        );
        assert!(ascii("π 你好").is_ascii());
    }
}
