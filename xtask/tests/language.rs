//! Refuses habits of translated English in what users and maintainers read: help, messages, pages,
//! stories and comments.
//!
//! CONTRIBUTING.md has the list with what to write instead, so it is not searched; neither are names in
//! the code.

use std::path::{Path, PathBuf};

/// Phrases that have no idiomatic use in our texts, and what to write.
const HABITS: &[(&str, &str)] = &[
    ("anew", "again"),
    ("held against", "compared with"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mending", "fixing"),
    ("what to mend", "what to fix"),
    ("mended", "fixed"),
    ("asked for", "requested"),
    ("can be had", "is available"),
    ("wrong result is no time", "does not count"),
    (
        ", for the gpu cannot",
        "because the GPU kernel does not support …",
    ),
    ("not what it should be", "does not match its reference"),
    ("cannot be trusted with", "differs from"),
    (", for there is", "because there is"),
    (", for there are", "because there are"),
    (", for it is", "because it is"),
    (", for they are", "because they are"),
    ("3 this machine cannot", "3 not possible on this machine"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Files below `folder` whose names end so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    found
}

/// The parts of a line of Rust that are read as English: its comment, or what stands between quotes.
fn words(line: &str) -> String {
    if line.trim_start().starts_with("//") {
        return line.to_owned();
    }
    let parts: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    parts.join(" ")
}

fn habit_in(text: &str) -> Option<(&'static str, &'static str)> {
    let text = text.to_lowercase();
    HABITS.iter().copied().find(|(habit, _)| {
        text.match_indices(habit).any(|(at, _)| {
            // `anew` is a word, and also the end of none that we use.
            let before = text[..at].chars().next_back();
            let after = text[at + habit.len()..].chars().next();
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
    })
}

#[test]
fn what_users_read_is_plain_english() {
    let root = root();
    let mut wrong = Vec::new();
    let mut look = |path: &Path, read: &dyn Fn(&str) -> String| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            if let Some((habit, instead)) = habit_in(&read(line)) {
                let place = path.strip_prefix(&root).unwrap_or(path).display();
                wrong.push(format!(
                    "{place}:{}: `{habit}`: write `{instead}`",
                    number + 1
                ));
            }
        }
    };
    for path in files(&root.join("crates"), ".rs") {
        // Unit tests quote wrong input; what they print is read by us alone.
        if path.components().any(|part| part.as_os_str() == "src") {
            look(&path, &words);
        }
    }
    for path in files(&root.join("xtask/src"), ".rs") {
        look(&path, &words);
    }
    for path in files(&root.join("crates"), ".md") {
        if path.components().any(|part| part.as_os_str() == "src") {
            look(&path, &str::to_owned);
        }
    }
    for path in files(&root.join("docs"), ".md") {
        look(&path, &str::to_owned);
    }
    for path in files(&root.join("python/warpsmith"), ".py") {
        look(&path, &str::to_owned);
    }
    look(&root.join("crates/cli/build.rs"), &words);
    look(&root.join("CHANGELOG.md"), &str::to_owned);
    look(&root.join("ARCHITECTURE.md"), &str::to_owned);
    look(&root.join("README.md"), &str::to_owned);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_habit_is_found_as_a_word_and_not_inside_one() {
    assert!(habit_in("begin anew after that").is_some());
    assert!(habit_in("recommends").is_none() && habit_in("janews").is_none());
    assert!(habit_in(&words("    // made anew")).is_some());
    assert_eq!(words("bail!(\"one\", \"two\")"), "one two");
    assert_eq!(words("let anew = 1;"), "");
}
