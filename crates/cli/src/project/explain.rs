//! `warpsmith explain`: the story behind a finding's code, and the search for one.

use std::io::{Write, stdout};

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_core::{Family, Story, did_you_mean, nearest};

use crate::codes::{families, stories};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};

/// Explain a finding's code, and how to fix it.
///
/// A story says what the code means, why it matters, how to fix it and when to ignore it.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith explain M004\n  warpsmith explain DRV\n  warpsmith explain pinned memory\n  warpsmith explain --list"
)]
pub(crate) struct Explain {
    /// A code (`M004`), the letters of a family (`DRV`), or words to search for.
    #[arg(required_unless_present = "list", value_name = "CODE|WORD")]
    words: Vec<String>,
    /// List every code with its title, family by family.
    #[arg(long, conflicts_with = "words")]
    list: bool,
}

impl Explain {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let chosen = self.chosen()?;
        let mut out = stdout().lock();
        if global.format == Format::Json {
            serde_json::to_writer_pretty(&mut out, &chosen)?;
            writeln!(out)?;
        } else if let (false, [story]) = (self.list, &chosen[..]) {
            write!(out, "{}", told(story))?;
        } else {
            write!(out, "{}", listed(&chosen))?;
        }
        Ok(Outcome::Fine)
    }

    fn chosen(&self) -> Result<Vec<&'static Story>> {
        if self.list {
            return Ok(stories().collect());
        }
        if let [word] = &self.words[..] {
            if let Some(story) = families().find_map(|family| family.story(word)) {
                return Ok(vec![story]);
            }
            if let Some(family) = families().find(|f| f.letters().eq_ignore_ascii_case(word)) {
                return Ok(family.stories().iter().collect());
            }
            if looks_like_a_code(word) {
                bail!("{}", unknown_code(word));
            }
        }
        let found: Vec<_> = stories()
            .filter(|story| self.words.iter().all(|word| story.mentions(word)))
            .collect();
        if found.is_empty() {
            bail!(
                "no finding mentions `{}`; `warpsmith explain --list` names them all",
                self.words.join(" ")
            );
        }
        Ok(found)
    }
}

fn looks_like_a_code(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    letters.len() < word.len()
        && (1..=4).contains(&letters.len())
        && letters.chars().all(|c| c.is_ascii_alphabetic())
}

/// The refusal of a code that does not exist, with the nearest ones that do.
fn unknown_code(word: &str) -> String {
    let codes = stories().map(|story| story.code);
    // Codes differ in little: only the nearest one helps.
    let nearest = nearest(word, codes).into_iter().take(1);
    let advice = did_you_mean(word, nearest, "`warpsmith explain --list` names them all");
    format!("no finding has the code `{word}`; {advice}")
}

/// A story for a terminal.
fn told(story: &Story) -> String {
    let mut text = format!("{}: {}\n\n{}\n", story.code, story.title, fill(story.means));
    for (heading, part) in [
        ("Why it matters", story.why),
        ("How it is established", story.how),
        ("How to fix it", story.fix),
        ("When to ignore it", story.ignore),
    ] {
        text.push_str(&format!("\n{}\n", fill(&format!("{heading}: {part}"))));
    }
    text.push_str(&format!(
        "\nExample:\n\n{}\n\nSource: {}\n",
        story.example, story.source
    ));
    text
}

/// Codes with their titles, under the headings of their families.
fn listed(chosen: &[&Story]) -> String {
    let mut text = String::new();
    for family in families() {
        let members = chosen.iter().filter(|story| belongs(family, story));
        let mut lines = members
            .map(|story| format!("  {:<7} {}\n", story.code, story.title))
            .peekable();
        if lines.peek().is_some() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{}\n", family.title()));
            text.extend(lines);
        }
    }
    text
}

fn belongs(family: &Family, story: &Story) -> bool {
    family.story(story.code).is_some()
}

/// Breaks lines at spaces after at most 96 characters; indented lines stay as they are.
fn fill(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("    ") {
            lines.push(line.to_owned());
            continue;
        }
        let mut current = String::new();
        for word in line.split_whitespace() {
            if !current.is_empty() && current.chars().count() + word.chars().count() >= 96 {
                lines.push(std::mem::take(&mut current));
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        lines.push(current);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_code_names_its_neighbours_and_a_strange_one_the_list() {
        assert!(unknown_code("bld14").contains("`BLD014`"));
        assert!(unknown_code("X999").ends_with("names them all"));
    }

    #[test]
    fn long_lines_break_and_commands_do_not() {
        let text = format!("{}\n\n    $ {}", "word ".repeat(40), "argument ".repeat(20));
        let filled = fill(&text);
        assert!(filled.lines().take(2).all(|line| line.len() <= 96));
        assert!(filled.lines().any(|line| line.len() > 150));
    }
}
