//! The report as Markdown: the same words, with GitHub's tables; of pictures the captions stay.

use std::fmt::Write;

use warpsmith_core::Report;

use crate::digits;
use crate::document::{
    Block, Cell, Chapter, Document, Figure, Fold, Headline, Reading, RunKind, State, Subject,
    Table, Tag,
};
use crate::findings::findings_fold;
use crate::sections::sections_fold;

/// The whole report.
pub fn text(report: &Report<Document>) -> String {
    let document = &report.body;
    let mut out = String::new();
    head(&mut out, &document.subject);
    let verdict = &document.verdict;
    let _ = writeln!(
        out,
        "{} **{}.** {}\n",
        mark(verdict.state.state()),
        line(&first_upper(&verdict.headline)),
        line(&verdict.detail)
    );
    numbers(&mut out, &document.numbers);
    actions(&mut out, document);
    for chapter in &document.chapters {
        write_chapter(&mut out, chapter);
    }
    out.push_str("## Method\n\n");
    for paragraph in &document.method {
        let _ = writeln!(out, "{}\n", line(paragraph));
    }
    if !document.left_out.is_empty() {
        out.push_str("Left out:\n\n");
        for left in &document.left_out {
            let _ = writeln!(out, "- {}", line(left));
        }
        out.push('\n');
    }
    if !document.sections.is_empty() {
        fold(&mut out, &sections_fold(document));
    }
    let _ = writeln!(out, "Made by Warpsmith {}.", line(&report.version));
    out
}

fn head(out: &mut String, subject: &Subject) {
    let _ = writeln!(out, "# {}\n", line(&subject.title));
    for facts in &subject.facts {
        let _ = writeln!(out, "{}  ", line(facts));
    }
    let mut about = Vec::new();
    if !subject.host.is_empty() {
        about.push(format!("host {}", line(&subject.host)));
    }
    about.push(line(&subject.started));
    if let Some(commit) = &subject.commit {
        let changed = if commit.changed { ", changed" } else { "" };
        about.push(format!("commit {}{changed}", line(&commit.hash)));
    }
    let kind = match subject.kind {
        RunKind::Quick => "quick",
        RunKind::Full => "full",
    };
    about.push(format!("{kind} run, {}", digits::duration(subject.seconds)));
    let _ = writeln!(out, "{}\n", about.join(" · "));
}

fn numbers(out: &mut String, numbers: &[Headline]) {
    if numbers.is_empty() {
        return;
    }
    out.push_str("| number | value | compared | basis |\n|---|---:|---|---|\n");
    for number in numbers {
        let value = match &number.reading {
            Reading::Number { text, unit, .. } => format!("**{}** {}", line(text), line(unit)),
            Reading::None(reason) => line(reason),
        };
        let (share, rest) = &number.share;
        let _ = writeln!(
            out,
            "| {} {} | {} | {}{} | {} |",
            mark(number.state),
            line(&number.name),
            value.trim(),
            line(share),
            line(rest),
            line(&number.basis)
        );
    }
    out.push('\n');
}

fn actions(out: &mut String, document: &Document) {
    if document.actions.is_empty() {
        return;
    }
    out.push_str("## What to do next, most useful first\n\n");
    for (at, action) in document.actions.iter().enumerate() {
        let _ = writeln!(
            out,
            "{}. **{}.** {}. Gains: {}{}. Costs: {}.",
            at + 1,
            line(&action.what),
            line(&first_upper(&action.why)),
            line(&action.gain),
            match action.gain_note.is_empty() {
                true => String::new(),
                false => format!(" ({})", line(&action.gain_note)),
            },
            line(&action.cost)
        );
        if !action.command.is_empty() {
            let _ = writeln!(out, "   {}", code(&action.command));
        }
    }
    if document.more_actions > 0 {
        let _ = writeln!(out, "\nand {} more in the chapters", document.more_actions);
    }
    out.push('\n');
}

fn write_chapter(out: &mut String, chapter: &Chapter) {
    let _ = writeln!(out, "## {} {}\n", mark(chapter.light), line(&chapter.title));
    for (at, answer) in chapter.answers.iter().filter(|a| !a.is_empty()).enumerate() {
        let _ = match at {
            0 => writeln!(out, "**{}**  ", line(answer)),
            _ => writeln!(out, "{}  ", line(answer)),
        };
    }
    out.push('\n');
    blocks(out, &chapter.blocks);
    for content in chapter.folds.iter().chain(&findings_fold(chapter)) {
        fold(out, content);
    }
}

fn fold(out: &mut String, fold: &Fold) {
    let _ = writeln!(out, "### {}: {}\n", line(&fold.title), line(&fold.note));
    blocks(out, &fold.blocks);
}

fn blocks(out: &mut String, all: &[Block]) {
    for block in all {
        match block {
            Block::Heading { title, note } if note.is_empty() => {
                let _ = writeln!(out, "### {}\n", line(title));
            }
            Block::Heading { title, note } => {
                let _ = writeln!(out, "### {} ({})\n", line(title), line(note));
            }
            Block::Text(text) => {
                let _ = writeln!(out, "{}\n", line(text));
            }
            Block::Lines(lines) => {
                let fence = fence(lines);
                let _ = writeln!(out, "{fence}\n{}\n{fence}\n", lines.trim_end());
            }
            Block::Tags(tags) => {
                let words: Vec<String> = tags.iter().map(tag).collect();
                let _ = writeln!(out, "{}\n", words.join(" · "));
            }
            Block::Remark {
                tag: word,
                text,
                command,
            } => {
                let command = command.as_deref().map_or(String::new(), code);
                let parts = [tag(word), line(text), command];
                let parts: Vec<&str> = parts
                    .iter()
                    .map(|p| p.trim())
                    .filter(|p| !p.is_empty())
                    .collect();
                let _ = writeln!(out, "{}\n", parts.join(" "));
            }
            Block::Table(content) => table(out, content),
            Block::Figure(figure) => captions(out, figure),
            Block::Columns(columns) => columns.iter().for_each(|(_, inner)| blocks(out, inner)),
            Block::Sound(sound) => {
                let _ = writeln!(out, "{}\n", line(&sound.caption));
            }
        }
    }
}

fn captions(out: &mut String, figure: &Figure) {
    let captions: Vec<String> = match figure {
        Figure::Roofline(content) => vec![content.caption.clone()],
        Figure::Crossover(all) => all
            .iter()
            .map(|c| format!("{}: {}", c.name, c.caption))
            .collect(),
        Figure::Law(law) => vec![format!("{} {}", law.formula, law.caption)],
        Figure::AtRest(rest) => rest
            .panels
            .iter()
            .map(|p| format!("{}: {}", p.title, p.note))
            .collect(),
        Figure::Ladder(ladder) => {
            let rows = ladder.rows.iter();
            let rows =
                rows.map(|row| format!("{} {}", row.name, digits::seconds(row.seconds, None)));
            let rows: Vec<String> = rows.collect();
            vec![format!("{}. {}", rows.join(", "), ladder.caption)]
        }
    };
    for caption in captions.iter().filter(|c| !c.trim().is_empty()) {
        let _ = writeln!(out, "*{}*  ", line(caption.trim()));
    }
    out.push('\n');
}

/// Columns that are only drawn have nothing to say in text.
fn table(out: &mut String, table: &Table) {
    let cell =
        |row: usize, column: usize| table.rows[row].cells.get(column).unwrap_or(&Cell::Empty);
    let told: Vec<usize> = (0..table.columns.len())
        .filter(|column| {
            table.rows.is_empty()
                || (0..table.rows.len()).any(|row| {
                    !matches!(
                        cell(row, *column),
                        Cell::Strip(_) | Cell::Dots { .. } | Cell::Sparkline(_)
                    )
                })
        })
        .collect();
    let joined = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    *out += &joined(
        told.iter()
            .map(|at| line(&table.columns[*at].name))
            .collect(),
    );
    let sides = told.iter().map(|at| {
        if table.columns[*at].number {
            "---:"
        } else {
            "---"
        }
    });
    *out += &joined(sides.map(str::to_owned).collect());
    for row in 0..table.rows.len() {
        *out += &joined(told.iter().map(|at| cell_text(cell(row, *at))).collect());
    }
    out.push('\n');
    if !table.caption.is_empty() {
        let _ = writeln!(out, "{}\n", line(&table.caption));
    }
}

fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Empty => "–".to_owned(),
        Cell::Text(text) | Cell::Muted(text) => line(text),
        Cell::Strong(text) => format!("**{}**", line(text)),
        Cell::Code(text) => code(text),
        Cell::Judged { state, text } => format!("{} {}", mark(*state), line(text)),
        Cell::Number { text, unit, .. } => line(&format!("{text} {unit}")).trim_end().to_owned(),
        Cell::Interval { text, interval, .. } => line(&format!("{text} {interval}")),
        Cell::Bar { text, .. } => line(text),
        Cell::Tag { text, .. } => line(text),
        Cell::Strip(_) | Cell::Dots { .. } | Cell::Sparkline(_) => String::new(),
    }
}

fn tag(tag: &Tag) -> String {
    let mark = tag.state.map_or("", mark);
    let text = line(&tag.text);
    let whole = match tag.strong.is_empty() {
        true => format!("{mark} {text}"),
        false => format!("{mark} {text} **{}**", line(&tag.strong)),
    };
    whole.trim_start().to_owned()
}

fn mark(state: State) -> &'static str {
    match state {
        State::Good => "✓",
        State::Look => "!",
        State::Act => "✗",
        State::NotMeasured => "–",
    }
}

fn first_upper(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Text on one line, which neither markup nor a table can end; code between backticks stays code.
fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    for c in text.chars() {
        in_code ^= c == '`';
        match c {
            '\n' | '\r' => out.push(' '),
            // A bar would end a table's cell, the others would begin markup.
            '|' | '*' | '<' | '\\' if !in_code => out.extend(['\\', c]),
            // Inside a name an underscore is a letter.
            '_' if !in_code && !out.ends_with(char::is_alphanumeric) => out.push_str("\\_"),
            '|' => out.push_str("\\|"),
            c => out.push(c),
        }
    }
    out
}

/// Something that can be typed, whatever backticks it has.
fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ").replace('|', "\\|");
    match text.contains('`') {
        true => format!("`` {text} ``"),
        false => format!("`{text}`"),
    }
}

/// A fence that the lines do not have themselves.
fn fence(lines: &str) -> String {
    let mut fence = "```".to_owned();
    while lines.contains(&fence) {
        fence.push('`');
    }
    fence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_line_or_its_cell() {
        assert_eq!(line("a|b\nc <i>"), "a\\|b c \\<i>");
        assert_eq!(line("`a<b` * c"), "`a<b` \\* c");
        assert_eq!(line("__shfl of get_x"), "\\_\\_shfl of get_x");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(fence("x ``` y"), "````");
    }
}
