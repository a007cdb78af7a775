//! Troubleshooting: every finding code with its story, as `warpsmith explain` tells it.

use warpsmith_core::CodeDoc;

use super::page::{Page, cell};
use crate::codes::TABLES;

/// What the letters of a code stand for.
const FAMILIES: &[(&str, &str)] = &[
    ("B", "GPU baselines"),
    ("BLD", "A project's build"),
    ("CIA", "A project's automation"),
    ("CTR", "Containers"),
    ("D", "Devices"),
    ("DEP", "A project's dependencies"),
    ("DKR", "A project's container image"),
    ("DOC", "A project's documentation"),
    ("DRV", "The driver"),
    ("ENV", "Environment variables"),
    ("GPU", "GPUs"),
    ("K", "Kernels in Python"),
    ("LIB", "CUDA libraries"),
    ("M", "Measurements"),
    ("OPS", "A project in operation"),
    ("PRF", "Profilers"),
    ("PYE", "Python environments"),
    ("S", "Data sets"),
    ("SEC", "A project's secrets"),
    ("SRC", "A project's CUDA sources"),
    ("T", "Molecular dynamics"),
    ("TKT", "CUDA toolkits"),
    ("TST", "A project's tests"),
    ("W", "Listening"),
    ("Y", "Music"),
];

/// The letters before the number.
fn family_of(code: &str) -> &str {
    code.trim_end_matches(|letter: char| letter.is_ascii_digit())
}

pub(super) fn page() -> Page {
    let mut codes: Vec<&CodeDoc> = TABLES.iter().copied().flatten().collect();
    codes.sort_by_key(|doc| (family_of(doc.code), doc.code));
    let mut text = format!(
        "# Troubleshooting\n\nThe {} findings that Warpsmith can report, with what mends them. \
         `warpsmith explain CODE` prints one of them.\n",
        codes.len()
    );
    let mut family = "";
    for doc in &codes {
        if family_of(doc.code) != family {
            family = family_of(doc.code);
            let known = FAMILIES.iter().find(|(letters, _)| *letters == family);
            let title = known.map_or("Others", |(_, title)| title);
            text.push_str(&format!(
                "\n## {title} ({family}…)\n\n| code | what it says |\n|---|---|\n"
            ));
            for doc in codes.iter().filter(|doc| family_of(doc.code) == family) {
                text.push_str(&format!(
                    "| [{0}](#{1}) | {2} |\n",
                    doc.code,
                    doc.code.to_lowercase(),
                    cell(doc.title)
                ));
            }
        }
        text.push_str(&format!(
            "\n### {}\n\n**{}.** {}\n\n*What mends it:* {}\n",
            doc.code,
            doc.title.trim_end_matches('.'),
            doc.explanation,
            doc.fix
        ));
    }
    Page::generated("troubleshooting.md", &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_of_codes_has_a_title() {
        for doc in TABLES.iter().copied().flatten() {
            let family = family_of(doc.code);
            let known = FAMILIES.iter().any(|(letters, _)| *letters == family);
            assert!(known, "{} has no title", doc.code);
        }
    }
}
