//! Markdown as lines: headings, links, code fences. Enough to find claims and broken links.

/// A relative link to a file.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) line: u32,
    pub(crate) target: String,
}

/// A document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    pub(crate) path: String,
    pub(crate) lines: Vec<String>,
    pub(crate) links: Vec<Link>,
    /// Lines of headings, in order.
    headings: Vec<u32>,
}

impl Document {
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let mut document = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        let mut fenced = false;
        for (number, line) in (1u32..).zip(text.lines()) {
            if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
                fenced = !fenced;
            }
            if !fenced && line.starts_with('#') {
                document.headings.push(number);
            }
            if !fenced {
                document.links.extend(links(line).map(|target| Link {
                    line: number,
                    target,
                }));
            }
            document.lines.push(line.chars().take(2000).collect());
        }
        document
    }

    /// The heading that a line stands under.
    pub(crate) fn section_of(&self, line: u32) -> Option<u32> {
        self.headings.iter().rev().find(|h| **h <= line).copied()
    }

    /// Whether a line shows badges.
    pub(crate) fn is_badge(&self, line: u32) -> bool {
        (line as usize)
            .checked_sub(1)
            .and_then(|n| self.lines.get(n))
            .is_some_and(|text| text.contains("badge") || text.contains("shields.io"))
    }

    /// Lines with their numbers, in lower case.
    pub(crate) fn lower(&self) -> impl Iterator<Item = (u32, String)> + '_ {
        (1u32..).zip(self.lines.iter().map(|line| line.to_lowercase()))
    }
}

fn links(line: &str) -> impl Iterator<Item = String> + '_ {
    line.match_indices("](").filter_map(move |(at, _)| {
        let rest = &line[at + 2..];
        let target = rest[..rest.find(')')?].split_whitespace().next()?;
        let target = target.trim_matches(['<', '>']);
        let target = target.split(['#', '?']).next()?;
        let outside = target.is_empty()
            || target.contains("://")
            || target.starts_with("mailto:")
            || target.starts_with('/');
        (!outside).then(|| target.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn relative_links_outside_fences_are_found() {
        let document = Document::parse(
            "README.md",
            "[a](docs/a.md#x) [b](https://x) ![c](c.png)\n```\n[d](e)\n```\n",
        );
        let targets: Vec<_> = document.links.iter().map(|l| l.target.as_str()).collect();
        assert_eq!(targets, ["docs/a.md", "c.png"]);
    }

    #[test]
    fn a_line_belongs_to_the_last_heading_outside_fences() {
        let document = Document::parse("README.md", "a\n# A\n```\n# no\n```\nb\n## B\nc\n");
        assert_eq!(document.section_of(1), None);
        assert_eq!(document.section_of(6), Some(2));
        assert_eq!(document.section_of(8), Some(7));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(\\]\\(|\\)|`{3}|\n|#|\\PC){0,60}") {
            let _ = Document::parse("m", &text);
        }
    }
}
