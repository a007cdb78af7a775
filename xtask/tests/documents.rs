//! The documentation as a reader has it: short paragraphs, links that lead somewhere, every page in
//! the table of contents, and examples that hide nothing.

#[path = "../../crates/cli/tests/trials/session/page.rs"]
#[allow(dead_code, reason = "sessions are run by the program's own tests")]
mod page;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A reader in a hurry leaves a longer paragraph; what has three numbers is a table.
const MOST_WORDS: usize = 80;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The pages below `docs/` by their paths from the root, and the README.
fn pages() -> BTreeMap<PathBuf, String> {
    let root = root();
    let mut found = BTreeMap::new();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(&root).unwrap().to_owned(), text);
            }
        }
    }
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ] {
        found.insert(name.into(), fs::read_to_string(root.join(name)).unwrap());
    }
    found
}

/// A page without its fenced blocks and comments, line by line; lines keep their numbers.
fn prose(text: &str) -> Vec<&str> {
    let mut fenced = false;
    text.lines()
        .map(|line| {
            let fence = line.starts_with("```");
            let hidden = fence || fenced || line.starts_with("<!--");
            fenced ^= fence;
            if hidden { "" } else { line }
        })
        .collect()
}

/// The words of every paragraph or item, with the line that it ends on. Tables are none.
fn paragraphs(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut words = 0;
    for (number, line) in prose(text).iter().chain([&""]).enumerate() {
        let line = line.trim();
        let numbered = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let item = line.starts_with("- ") || (numbered != line && numbered.starts_with(". "));
        let breaks = line.is_empty() || line.starts_with('#') || line.starts_with('|') || item;
        if breaks && words > 0 {
            found.push((number, words));
            words = 0;
        }
        if !line.starts_with('#') && !line.starts_with('|') {
            words += line.split_whitespace().count();
        }
    }
    found
}

#[test]
fn paragraphs_are_short() {
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        for (line, words) in paragraphs(&text) {
            if words > MOST_WORDS {
                wrong.push(format!("{}:{line}: {words} words", path.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "more than {MOST_WORDS} words:\n{}",
        wrong.join("\n")
    );
}

/// The targets of a page's links and pictures.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // What stands in code is quoted, not linked.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for piece in plain.split("](").skip(1) {
            if let Some((target, _)) = piece.split_once(')') {
                found.push(target.to_owned());
            }
        }
    }
    found
}

/// The anchors of a page's headings, as renderers make them.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            kept.map(|letter| if letter == ' ' { '-' } else { letter })
                .collect()
        })
        .collect()
}

/// `folder/target` without `.` and `..`; `None` where it leaves the checkout.
fn resolved(folder: &Path, target: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => path.pop().then_some(())?,
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    Some(path)
}

#[test]
fn links_lead_somewhere() {
    let (root, pages) = (root(), pages());
    let mut wrong = Vec::new();
    for (path, text) in &pages {
        for target in links(text) {
            if let Some(rest) = target.strip_prefix("https://") {
                let host = rest.split('/').next().unwrap_or_default();
                if !host.contains('.') || rest.contains(' ') {
                    wrong.push(format!("{}: {target}: no address", path.display()));
                }
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = path.parent().unwrap_or(Path::new(""));
            let place = match file {
                "" => Some(path.clone()),
                file => resolved(folder, file),
            };
            let Some(place) = place.filter(|place| root.join(place).exists()) else {
                wrong.push(format!("{}: {target}: nothing is there", path.display()));
                continue;
            };
            // The site has nothing but `docs/`.
            if path.starts_with("docs") && !place.starts_with("docs") {
                wrong.push(format!(
                    "{}: {target}: not part of the site",
                    path.display()
                ));
            }
            let known = pages
                .get(&place)
                .map(|page| anchors(page))
                .unwrap_or_default();
            if !anchor.is_empty() && !known.iter().any(|known| known == anchor) {
                wrong.push(format!("{}: {target}: no such heading", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let pages = pages();
    let contents = links(&pages[Path::new("docs/SUMMARY.md")]);
    let mut wrong = Vec::new();
    for path in pages.keys() {
        let Ok(name) = path.strip_prefix("docs") else {
            continue;
        };
        let times = contents
            .iter()
            .filter(|link| Path::new(link) == name)
            .count();
        if times != 1 && name != Path::new("SUMMARY.md") {
            wrong.push(format!("{}: {times} times", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/SUMMARY.md has\n{}",
        wrong.join("\n")
    );
}

#[test]
fn examples_hide_neither_exit_codes_nor_output() {
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        for block in page::blocks(&text)
            .iter()
            .filter(|block| block.is_console())
        {
            let place = format!("{}:{}", path.display(), block.line(&text));
            for line in block.text.lines() {
                // What is quoted is another program's.
                let bare: String = line.split(['\'', '"']).step_by(2).collect();
                if line.starts_with("$ ") && (bare.contains("|| ") || bare.contains("; ")) {
                    wrong.push(format!(
                        "{place}: `{line}` hides an exit code: show it with `$ echo $?`"
                    ));
                }
                if line.trim() == "..." {
                    wrong.push(format!(
                        "{place}: `...` in place of output: shorten it with `| head`"
                    ));
                }
            }
            let shows = block.text.lines().any(|line| !line.starts_with("$ "));
            let rest = text[block.place.end..]
                .trim_start_matches("```")
                .trim_start();
            if block.has("gpu") && shows && !rest.starts_with("*On an ") {
                wrong.push(format!("{place}: no GPU is named below the output"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn figures_come_from_benches_and_scripts_that_exist() {
    let root = root();
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        // What is quoted, cut at spaces: `cargo bench -p CRATE --bench NAME`, or a file of the checkout.
        for quoted in text.split('`').skip(1).step_by(2) {
            let words: Vec<&str> = quoted.split_whitespace().collect();
            let after = |option: &str| {
                let place = words.iter().position(|word| *word == option)?;
                words.get(place + 1).copied()
            };
            let bench = after("-p").and_then(|name| name.strip_prefix("warpsmith-"));
            if let (Some(name), Some(bench)) = (bench, after("--bench")) {
                let benches = root.join("crates").join(name).join("benches");
                if !benches.join(format!("{bench}.rs")).exists() && !benches.join(bench).exists() {
                    wrong.push(format!("{}: `{quoted}`", path.display()));
                }
            }
            let file = words.first().copied().unwrap_or_default();
            let inside = ["crates/", "python/", "deploy/"]
                .iter()
                .any(|at| file.starts_with(at));
            let pattern = file.contains(['{', '*', '<', '…', ',']);
            if inside && !pattern && !root.join(file).exists() {
                wrong.push(format!("{}: `{quoted}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "nothing is there:\n{}", wrong.join("\n"));
}

#[test]
fn pictures_are_light() {
    for entry in fs::read_dir(root().join("docs/pictures")).unwrap() {
        let entry = entry.unwrap();
        let bytes = entry.metadata().unwrap().len();
        assert!(bytes <= 200_000, "{:?} has {bytes} bytes", entry.path());
    }
}

#[test]
fn these_checks_can_fail() {
    let long = format!("# a\n\n{}\n\n| a | b |\n", "word ".repeat(81));
    assert_eq!(paragraphs(&long), [(3, 81)]);
    assert!(paragraphs("```text\nfive words in a block\n```\n").is_empty());
    assert_eq!(links("see [a](b.md#c) and `[d](e)`"), ["b.md#c"]);
    assert_eq!(anchors("## 2. A case\n"), ["2-a-case"]);
    assert_eq!(resolved(Path::new("docs/a"), "../../../b"), None);
}
