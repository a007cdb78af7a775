//! Troubleshooting: every finding code with its story, as `warpsmith explain` tells it, one page
//! per family.

use warpsmith_core::{Family, Story};

use super::page::{Page, cell};
use crate::codes::{families, stories};

/// The index and a page for each family.
pub(super) fn pages() -> Vec<Page> {
    let mut index = format!(
        "# Troubleshooting\n\nThe {} findings that Warpsmith can report: what each means, why it \
         matters, how it is established, how to fix it and when to ignore it. `warpsmith explain \
         CODE` prints one of them, `warpsmith explain WORD` searches them.\n\n\
         | codes | about | count |\n|---|---|---|\n",
        stories().count()
    );
    let mut pages = Vec::new();
    for family in families() {
        index.push_str(&format!(
            "| {0}… | [{1}]({2}) | {3} |\n",
            family.letters(),
            cell(family.title()),
            name(family),
            family.stories().len()
        ));
        pages.push(Page::generated(&name(family), &text(family)));
    }
    pages.push(Page::generated("troubleshooting.md", &index));
    pages
}

/// The family's page, from the folder of the documentation.
fn name(family: &Family) -> String {
    format!("troubleshooting/{}.md", family.letters().to_lowercase())
}

fn text(family: &Family) -> String {
    let mut text = format!(
        "# {} ({}…)\n\n{}\n\n| code | what it says |\n|---|---|\n",
        family.title(),
        family.letters(),
        family.introduction()
    );
    for story in family.stories() {
        text.push_str(&format!(
            "| [{0}](#{1}) | {2} |\n",
            story.code,
            story.code.to_lowercase(),
            cell(story.title)
        ));
    }
    for story in family.stories() {
        text.push_str(&section(story));
    }
    text
}

fn section(story: &Story) -> String {
    let Story {
        code,
        title,
        means,
        why,
        how,
        fix,
        ignore,
        source,
        example,
    } = story;
    format!(
        "\n## {code}\n\n**{title}.** {means}\n\n**Why it matters.** {why}\n\n\
         **How it is established.** {how}\n\n**How to fix it.** {fix}\n\n\
         **When to ignore it.** {ignore}\n\n**Source.** <{source}>\n\n**Example.**\n\n{example}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_has_every_page() {
        let summary = include_str!("../../../../../docs/SUMMARY.md");
        for page in pages() {
            assert!(
                summary.contains(&format!("({})", page.name)),
                "docs/SUMMARY.md lacks {}",
                page.name
            );
        }
    }
}
