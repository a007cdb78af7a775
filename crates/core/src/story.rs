//! The stories behind finding codes, as `warpsmith explain CODE` tells them.
//!
//! A family of codes is one Markdown file beside the rules that it explains:
//!
//! ~~~text
//! # The driver
//!
//! What `warpsmith check` reads about the NVIDIA driver.
//!
//! ## DRV002 nouveau is bound to the GPU
//! means: …
//! why: …
//! how: …
//! fix: …
//!
//!     $ sudo update-initramfs -u
//! ignore: …
//! source: https://…
//! example:
//!
//!     error DRV002: …
//! ~~~
//!
//! Parsing never fails: what is missing is empty, and [`Story::faults`] names it. A test runs
//! `faults` over every story, so that a user never sees a gap.

use std::sync::OnceLock;

use serde::Serialize;

/// One code's story. Every part is a slice of the family's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Story {
    /// The code that this explains.
    pub code: &'static str,
    /// What the code says, in a line.
    pub title: &'static str,
    /// What it means, in a sentence.
    pub means: &'static str,
    /// What happens to whoever does nothing.
    pub why: &'static str,
    /// What is read or measured, and where the threshold lies.
    pub how: &'static str,
    /// What to do: a paragraph, whose first sentence findings show as their hint, then commands or
    /// a diff.
    pub fix: &'static str,
    /// When to leave it as it is.
    pub ignore: &'static str,
    /// Address of the primary source.
    pub source: &'static str,
    /// A finding of this code as it is printed, indented by four spaces.
    pub example: &'static str,
}

/// A family of codes: the letters before the number, and the file that explains them.
pub struct Family {
    text: &'static str,
    stories: OnceLock<Vec<Story>>,
}

impl Family {
    /// The family that `text`, a story file, is about.
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            stories: OnceLock::new(),
        }
    }

    /// What the family is about: the file's heading.
    pub fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches('#').trim()
    }

    /// The paragraphs under the heading.
    pub fn introduction(&self) -> &'static str {
        let rest = self.text.split_once('\n').map_or("", |(_, rest)| rest);
        let end = if rest.starts_with("## ") {
            0
        } else {
            rest.find("\n## ").unwrap_or(rest.len())
        };
        rest[..end].trim()
    }

    /// The letters before the numbers of its codes.
    pub fn letters(&self) -> &'static str {
        self.stories().first().map_or("", |story| {
            story.code.trim_end_matches(|c: char| c.is_ascii_digit())
        })
    }

    /// Every story, in the order of the file.
    pub fn stories(&self) -> &[Story] {
        self.stories.get_or_init(|| parse(self.text))
    }

    /// The story of `code`, in upper or lower case.
    pub fn story(&self, code: &str) -> Option<&Story> {
        self.stories()
            .iter()
            .find(|story| story.code.eq_ignore_ascii_case(code))
    }
}

const KEYS: [&str; 7] = ["means", "why", "how", "fix", "ignore", "source", "example"];

/// The key that a line begins with, and how many bytes it takes.
fn key_of(line: &str) -> Option<(usize, usize)> {
    let (word, _) = line.split_once(':')?;
    let key = KEYS.iter().position(|key| *key == word)?;
    Some((key, word.len() + 1))
}

fn parse(text: &'static str) -> Vec<Story> {
    let mut stories = Vec::new();
    for section in text.split("\n## ").skip(1) {
        let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
        let (code, title) = heading.trim().split_once(' ').unwrap_or((heading, ""));
        let mut parts = [""; KEYS.len()];
        let mut open: Option<(usize, usize)> = None;
        let mut at = 0;
        let mut close = |open: Option<(usize, usize)>, end: usize| {
            if let Some((key, start)) = open {
                // The indentation of a first line that is an example belongs to it.
                parts[key] = body[start..end].trim_end().trim_start_matches('\n');
                if !parts[key].starts_with("    ") {
                    parts[key] = parts[key].trim_start();
                }
            }
        };
        for line in body.split_inclusive('\n') {
            if let Some((key, length)) = key_of(line) {
                close(open, at);
                open = Some((key, at + length));
            }
            at += line.len();
        }
        close(open, body.len());
        let [means, why, how, fix, ignore, source, example] = parts;
        stories.push(Story {
            code,
            title,
            means,
            why,
            how,
            fix,
            ignore,
            source,
            example,
        });
    }
    stories
}

impl Story {
    /// The paragraph of the fix above its commands.
    fn advice(&self) -> &'static str {
        self.fix.split("\n\n").next().unwrap_or_default().trim()
    }

    /// What a finding shows as its hint: the first sentence of the fix, as hints are written.
    pub fn hint(&self) -> String {
        let advice = self.advice();
        let advice = advice.strip_prefix("Decide: ").unwrap_or(advice);
        let sentence = advice.split(". ").next().unwrap_or_default();
        let sentence = sentence.trim_end_matches('.');
        let mut letters = sentence.chars();
        let first = letters.next().into_iter().flat_map(char::to_lowercase);
        first.chain(letters).collect()
    }

    /// The example without its indentation.
    pub fn example_text(&self) -> String {
        let lines: Vec<&str> = self
            .example
            .lines()
            .map(|line| line.strip_prefix("    ").unwrap_or(line))
            .collect();
        lines.join("\n")
    }

    /// Whether `word` occurs in the story, in upper or lower case.
    pub fn mentions(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        [
            self.code,
            self.title,
            self.means,
            self.why,
            self.how,
            self.fix,
            self.ignore,
        ]
        .iter()
        .any(|part| part.to_lowercase().contains(&word))
    }

    /// What is wrong with the story: gaps, filler, a fix that says nothing to do.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut say = |what: String| faults.push(format!("{}: {what}", self.code));
        for (name, text) in [
            ("means", self.means),
            ("why", self.why),
            ("how", self.how),
            ("fix", self.advice()),
            ("ignore", self.ignore),
        ] {
            let words = text.split_whitespace().count();
            if words < 4 {
                say(format!("`{name}` has {words} words"));
            }
            if words > 80 {
                say(format!("`{name}` has {words} words, 80 at most"));
            }
            if text.contains('\n') {
                say(format!("`{name}` is more than one line"));
            }
        }
        let told = self.means.len() + self.why.len() + self.how.len();
        if told < 120 {
            say(format!("means, why and how have {told} characters"));
        }
        if bare(self.means).starts_with(&bare(self.title)) {
            say("`means` repeats the title".into());
        }
        let block = self.fix.lines().skip(1).map(str::trim_start);
        let commands = block
            .clone()
            .any(|line| line.starts_with("$ ") || line.starts_with("# "));
        let diff = block
            .clone()
            .any(|line| line.starts_with('+') || line.starts_with('-'));
        if !(commands || diff || self.fix.contains("Decide: ")) {
            say("`fix` has neither a command nor a diff nor a decision".into());
        }
        if let Some(fault) = address_fault(self.source) {
            say(format!("`source` is no address: {fault}"));
        }
        if self.title.is_empty() || self.title.ends_with('.') {
            say("the title is empty or ends with a period".into());
        }
        let first = self.example_text();
        let severity = ["error", "warning", "info"]
            .iter()
            .any(|severity| first.starts_with(&format!("{severity} {}: ", self.code)));
        if !severity {
            say("`example` does not begin as a finding of this code".into());
        }
        faults
    }
}

/// What keeps `address` from being one that a browser opens as it stands.
fn address_fault(address: &str) -> Option<&'static str> {
    let Some(rest) = address.strip_prefix("https://") else {
        return Some("it does not begin with `https://`");
    };
    // RFC 3986's characters; a closing bracket or a full stop at the end belongs to the text around it.
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!$&'*+,;=%".contains(c);
    if !address.chars().all(fits) {
        return Some("it has characters that no address has");
    }
    if address.ends_with(['.', ',', ';', ':']) {
        return Some("it ends with punctuation");
    }
    let Some((host, path)) = rest.split_once('/') else {
        return Some("it has no path; a front page ends with `/`");
    };
    let labels: Vec<&str> = host.split('.').collect();
    if labels.len() < 2 || labels.iter().any(|label| label.is_empty()) {
        return Some("its host is no name");
    }
    path.contains("//").then_some("it has an empty part")
}

/// Letters and digits alone, in lower case: what is left when two texts say the same.
fn bare(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Tests\n\nWhat a test reads.\n\n## D900 no cores\n\
        means: The machine has no core that can run a program.\n\
        why: Nothing runs at all, so that no figure of this machine can be measured or compared.\n\
        how: The count of cores in /proc/cpuinfo is compared with zero, once.\n\
        fix: Buy a computer that has cores in it.\n\n    $ echo cores\n\n\
        ignore: If the machine is a picture of one.\n\
        source: https://docs.kernel.org/\n\
        example:\n\n    error D900: no cores\n      /proc/cpuinfo: 0\n";

    #[test]
    fn a_family_has_a_title_letters_and_stories_with_every_part() {
        let family = Family::new(GOOD);
        assert_eq!(
            (family.title(), family.introduction(), family.letters()),
            ("Tests", "What a test reads.", "D")
        );
        let story = family.story("d900").unwrap();
        assert_eq!(story.hint(), "buy a computer that has cores in it");
        assert_eq!(
            story.example_text(),
            "error D900: no cores\n  /proc/cpuinfo: 0"
        );
        assert!(story.fix.ends_with("$ echo cores"));
        assert!(story.mentions("CPUINFO") && !story.mentions("gpu"));
        assert_eq!(story.faults(), Vec::<String>::new());
    }

    #[test]
    fn a_gap_is_named() {
        for (from, to, fault) in [
            (
                "Buy a computer that has cores in it.",
                "Buy.",
                "`fix` has 1 words",
            ),
            ("    $ echo cores", "", "neither a command nor a diff"),
            (
                "The machine has no core that",
                "No cores: it",
                "repeats the title",
            ),
            ("source: https", "source: ftp", "no address"),
            ("docs.kernel.org/", "docs.kernel.org", "has no path"),
            ("docs.kernel.org/", "kernel/", "host is no name"),
            ("docs.kernel.org/", "docs.kernel.org/a b", "no address has"),
            ("docs.kernel.org/", "docs.kernel.org/a.", "punctuation"),
            ("docs.kernel.org/", "docs.kernel.org/a//b", "empty part"),
            ("    error D900", "    D900", "does not begin"),
            ("why: Nothing", "Nothing", "`why` has 0 words"),
        ] {
            let text: &'static str = Box::leak(GOOD.replace(from, to).into_boxed_str());
            let faults = Family::new(text).stories()[0].faults();
            assert!(
                faults.iter().any(|f| f.contains(fault)),
                "{fault}: {faults:?}"
            );
        }
    }
}
