//! Whether the addresses of the pages and of the findings' stories still answer.
//!
//! Not part of the tests: the network is not ours. An address is dead where its server says so; one
//! that could not be reached is reported, and proves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Addresses that are asked at once.
const AT_ONCE: usize = 8;
/// Where our own pages will be; `xtask/tests/documents.rs` and the test of the stories look for the file.
const OWN: &str = "https://github.com/warpsmith/warpsmith";

/// What a server said about an address.
#[derive(Debug, PartialEq)]
enum Answer {
    Alive,
    /// It says that there is no such page.
    Dead(u16),
    /// It did not answer, or would not say.
    Unknown(u16),
}

impl Answer {
    fn of(status: u16) -> Self {
        match status {
            200..400 => Self::Alive,
            404 | 410 => Self::Dead(status),
            // Some refuse programs: 401, 403, 405, 429; 0 is no answer at all.
            _ => Self::Unknown(status),
        }
    }
}

/// Asks every address, and fails if one is dead.
pub(super) fn check() -> Result<()> {
    let addresses = addresses()?;
    let all: Vec<&String> = addresses.keys().collect();
    let mut answers = Vec::new();
    for some in all.chunks(AT_ONCE) {
        std::thread::scope(|threads| {
            let asked: Vec<_> = some
                .iter()
                .map(|address| threads.spawn(move || ask(address)))
                .collect();
            for (address, answer) in some.iter().zip(asked) {
                let answer = answer.join().unwrap_or(Ok(Answer::Unknown(0)));
                answers.push((*address, answer));
            }
        });
    }
    let (mut alive, mut dead, mut unknown) = (0, 0, 0);
    for (address, answer) in answers {
        let places: Vec<String> = addresses[address]
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        match answer? {
            Answer::Alive => alive += 1,
            Answer::Dead(status) => {
                dead += 1;
                println!("dead ({status}): {address} in {}", places.join(", "));
            }
            Answer::Unknown(status) => {
                unknown += 1;
                println!("not checked ({status}): {address}");
            }
        }
    }
    println!("{alive} addresses answer, {dead} are dead, {unknown} could not be checked");
    if dead > 0 {
        bail!("{dead} addresses are dead");
    }
    Ok(())
}

/// Every address outside of fenced blocks, and the files that have it.
fn addresses() -> Result<BTreeMap<String, BTreeSet<PathBuf>>> {
    let root = workspace::root();
    let mut files = Vec::new();
    let mut folders = vec![root.join("docs"), root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let in_stories = folder.ends_with("stories");
            let in_docs = path.starts_with(root.join("docs"));
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md")
                && (in_stories || in_docs)
            {
                files.push(path);
            }
        }
    }
    files.push(root.join("README.md"));
    let mut found: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for path in files {
        let text = fs::read_to_string(&path)?;
        for address in in_text(&text) {
            let own = path.strip_prefix(root).unwrap_or(&path).to_owned();
            found.entry(address).or_default().insert(own);
        }
    }
    Ok(found)
}

/// The addresses of a text, without fragments: servers do not see those.
fn in_text(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        // Commands and output have addresses that are examples.
        if fenced || line.starts_with("    ") {
            continue;
        }
        for (at, _) in line.match_indices("https://") {
            let rest = &line[at..];
            let end = rest
                .find(|c: char| c.is_whitespace() || "`\"<>()[]|{}".contains(c))
                .unwrap_or(rest.len());
            let address = rest[..end].trim_end_matches(['.', ',', ';', ':']);
            let address = address.split('#').next().unwrap_or(address);
            let host = address.split('/').nth(2).unwrap_or_default();
            if host.contains('.') && !host.ends_with(".example") && !address.starts_with(OWN) {
                found.insert(address.to_owned());
            }
        }
    }
    found
}

fn ask(address: &str) -> Result<Answer> {
    let output = Command::new("curl")
        .args(["--silent", "--location", "--range", "0-0", "--output"])
        .arg(Path::new("/dev/null"))
        .args(["--connect-timeout", "10", "--max-time", "30"])
        .args(["--write-out", "%{http_code}", address])
        .output()
        .context("cannot start `curl`")?;
    let status = String::from_utf8_lossy(&output.stdout);
    Ok(Answer::of(status.trim().parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_prose_and_not_from_examples() {
        let text = "source: https://a.org/b/#c\n[x](https://d.org/e), and https://f.org/.\n\
                    ```console\n$ curl https://g.org/\n```\n    $ curl https://h.org/\n\
                    https://i.example/ https://localhost:8000/ https://github.com/warpsmith/warpsmith/x\n";
        let found: Vec<String> = in_text(text).into_iter().collect();
        assert_eq!(
            found,
            ["https://a.org/b/", "https://d.org/e", "https://f.org/"]
        );
    }

    #[test]
    fn only_a_server_that_says_so_makes_an_address_dead() {
        assert_eq!(Answer::of(200), Answer::Alive);
        assert_eq!(Answer::of(206), Answer::Alive);
        assert_eq!(Answer::of(404), Answer::Dead(404));
        for status in [0, 403, 429, 500] {
            assert_eq!(Answer::of(status), Answer::Unknown(status));
        }
    }
}
