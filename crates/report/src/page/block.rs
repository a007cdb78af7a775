//! The pieces of a chapter as markup.

use std::fmt::Write;

use warpsmith_formats::base64;
use warpsmith_formats::html::escape;

use crate::document::{Block, Fold, Sound, Tag};

use super::cell::tag;
use super::chart::figure;
use super::icon::icon;
use super::inline::{inline, plain};
use super::table::table;

/// Recordings that a page carries, in bytes of base 64.
const MOST_SOUND: usize = 400_000;

/// What the pieces of one page share.
pub(super) struct Page {
    tables: usize,
    sound_left: usize,
}

impl Page {
    pub(super) fn new() -> Self {
        Self {
            tables: 0,
            sound_left: MOST_SOUND,
        }
    }

    /// `blocks` in a column of `width` pixels at a desk.
    pub(super) fn blocks(&mut self, blocks: &[Block], width: f64) -> String {
        blocks
            .iter()
            .map(|block| self.block(block, width))
            .collect()
    }

    fn block(&mut self, block: &Block, width: f64) -> String {
        match block {
            Block::Heading { title, note } => heading(title, note),
            Block::Text(text) => format!("<p>{}</p>", inline(text)),
            Block::Lines(lines) => format!("<pre>{}</pre>", escape(lines)),
            Block::Tags(tags) => chips(tags),
            Block::Remark { tag, text, command } => remark(tag, text, command.as_deref()),
            Block::Table(content) => {
                self.tables += 1;
                table(content, &format!("t{}", self.tables), width)
            }
            Block::Figure(content) => figure(content),
            Block::Columns(columns) => self.columns(columns, width),
            Block::Sound(recording) => self.sound(recording),
        }
    }

    fn columns(&mut self, columns: &[(u32, Vec<Block>)], width: f64) -> String {
        let whole: u32 = columns.iter().map(|(share, _)| (*share).max(1)).sum();
        let tracks: Vec<String> = columns
            .iter()
            .map(|(share, _)| format!("minmax(0,{}fr)", (*share).max(1)))
            .collect();
        // Paper is half as wide as a desk: a table of many columns needs all of it.
        let crowded = columns
            .iter()
            .flat_map(|(_, blocks)| blocks)
            .any(|block| matches!(block, Block::Table(table) if table.columns.len() > 4));
        let class = if crowded { "cols crowded" } else { "cols" };
        let mut out = format!(
            r#"<div class="{class}" style="--cols:{}">"#,
            tracks.join(" ")
        );
        for (share, blocks) in columns {
            let part = width * f64::from((*share).max(1)) / f64::from(whole) - 18.0;
            let _ = write!(out, "<div>{}</div>", self.blocks(blocks, part));
        }
        out + "</div>"
    }

    fn sound(&mut self, sound: &Sound) -> String {
        let caption = inline(&sound.caption);
        let size = sound.wav.len().div_ceil(3) * 4;
        if sound.wav.is_empty() || size > self.sound_left {
            return format!("<p>{caption}</p>");
        }
        self.sound_left -= size;
        format!(
            r#"<figure class="sound"><audio controls preload="none" aria-label="{}" src="data:audio/wav;base64,{}"></audio><figcaption>{caption}</figcaption></figure>"#,
            escape(&sound.caption),
            base64::encode(&sound.wav)
        )
    }

    /// Something folded away, with how it came out in its line.
    pub(super) fn fold(&mut self, fold: &Fold, width: f64) -> String {
        format!(
            "<details><summary>{} <small>{}</small></summary><div>{}</div></details>",
            inline(&fold.title),
            inline(&fold.note),
            self.blocks(&fold.blocks, width)
        )
    }
}

fn heading(title: &str, note: &str) -> String {
    match note.is_empty() {
        true => format!("<h3>{}</h3>", inline(title)),
        false => format!("<h3>{} <small>{}</small></h3>", inline(title), inline(note)),
    }
}

fn chips(tags: &[Tag]) -> String {
    let items = tags.iter().map(|tag| {
        let shape = tag.state.map_or(String::new(), icon);
        let text = match tag.state {
            Some(_) => inline(&tag.text),
            None => format!(r#"<span class="dim">{}</span>"#, inline(&tag.text)),
        };
        match tag.strong.is_empty() {
            true => format!("<li>{shape}{text}</li>"),
            false => format!("<li>{shape}{text} <b>{}</b></li>", inline(&tag.strong)),
        }
    });
    format!(r#"<ul class="chips">{}</ul>"#, items.collect::<String>())
}

fn remark(word: &Tag, text: &str, command_line: Option<&str>) -> String {
    let mut out = format!("<p class=\"remark\">{}", tag(word.state, &word.text));
    if !word.strong.is_empty() {
        let _ = write!(out, " <b>{}</b>", inline(&word.strong));
    }
    if !text.is_empty() {
        let _ = write!(out, " {}", inline(text));
    }
    if let Some(line) = command_line {
        let _ = write!(out, " {}", command(line));
    }
    out + "</p>"
}

/// A command that is copied when pressed.
pub(super) fn command(line: &str) -> String {
    format!(
        r#"<button type="button" class="cmd" aria-label="copy: {}"><span>{}</span></button>"#,
        escape(line),
        plain(line)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_stay_within_their_budget() {
        let sound = |bytes: usize| {
            Block::Sound(Sound {
                caption: "a note".to_owned(),
                wav: vec![0; bytes],
            })
        };
        let mut page = Page::new();
        let markup = page.blocks(&[sound(200_000), sound(200_000), sound(0)], 1000.0);
        assert_eq!(markup.matches("<audio").count(), 1);
        assert_eq!(markup.matches("a note").count(), 4, "captions stay");
    }

    #[test]
    fn tables_of_a_page_have_names_of_their_own() {
        let mut page = Page::new();
        let blocks = vec![
            Block::Table(Default::default()),
            Block::Table(Default::default()),
        ];
        let markup = page.blocks(&[Block::Columns(vec![(0, blocks)])], 1000.0);
        assert!(markup.contains(r#"id="t1""#) && markup.contains(r#"id="t2""#));
        assert!(markup.contains("--cols:minmax(0,1fr)"));
    }
}
