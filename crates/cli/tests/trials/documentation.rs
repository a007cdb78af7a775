//! The documentation is true: every example runs, generated pages are current, links lead somewhere.
//!
//! A page is one session in an empty folder, from top to bottom. A block ```` ```LANGUAGE file=NAME ````
//! writes that file; in a block ```` ```console ```` every `$ ` line is run by the shell and must
//! succeed. Lines below a command are what it prints on standard output: any number stands for any
//! other number, with or without its unit, `…` for any text within a line, and a line `...` for any
//! number of lines. Without such lines the output is free.
//!
//! ```` ```console gpu ```` needs a GPU; a page that has such blocks is run a second time with them,
//! and that run counts as ignored where there is none. ```` ```console install ```` fetches or builds
//! something and is never run here: it counts as ignored. `WARPSMITH_BLESS=1` rewrites generated pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::session::{fits, line_fits, sessions};

const PROGRAM: &str = env!("CARGO_BIN_EXE_warpsmith");

pub(crate) fn trials() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the workspace is there");
    let gpu = has_gpu();
    let mut trials = vec![
        Trial::test("generated pages", {
            let docs = root.join("docs");
            move || generated_pages_are_current(&docs)
        }),
        Trial::test("man pages", man_pages_are_written),
        Trial::test("completions", completions_are_scripts),
    ];
    for path in pages(&root) {
        let name = path
            .strip_prefix(&root)
            .unwrap_or(&path)
            .display()
            .to_string();
        let text = fs::read_to_string(&path).expect("the pages are part of the checkout");
        let blocks = blocks(&text);
        let count = |kind: &str| blocks.iter().filter(|block| block.info == kind).count();
        let (gpu_blocks, install_blocks) = (count("console gpu"), count("console install"));
        if count("console") > 0 {
            let text = text.clone();
            trials.push(Trial::test(&name, move || run_page(&text, false)));
        }
        if gpu_blocks > 0 {
            let text = text.clone();
            let trial = Trial::test(format!("{name} (GPU)"), move || run_page(&text, true));
            trials.push(trial.with_ignored_flag(!gpu));
        }
        for number in 0..install_blocks {
            let name = format!("{name} (installs, {})", number + 1);
            let refuse = || Err("it fetches or builds something: run it by hand".into());
            trials.push(Trial::test(name, refuse).with_ignored_flag(true));
        }
        let links = format!("{name} (links)");
        trials.push(Trial::test(links, move || {
            links_lead_somewhere(&path, &text)
        }));
    }
    trials
}

/// The pages that people wrote, and those that the program wrote.
fn pages(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("docs is part of the checkout") {
            let path = entry.expect("a folder that can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn has_gpu() -> bool {
    let output = Command::new(PROGRAM)
        .args(["devices", "--format", "json", "--quiet"])
        .output();
    output.is_ok_and(|output| {
        let report: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
        report.is_ok_and(|report| {
            report["machine"]["gpus"]
                .as_array()
                .is_some_and(|g| !g.is_empty())
        })
    })
}

struct Block<'a> {
    /// What stands behind the fence.
    info: &'a str,
    text: &'a str,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some(start) = find_fence(rest) {
        let after = &rest[start + 3..];
        let Some((info, body)) = after.split_once('\n') else {
            break;
        };
        let Some(end) = find_fence(body) else { break };
        blocks.push(Block {
            info: info.trim(),
            text: &body[..end],
        });
        rest = body[end + 3..]
            .split_once('\n')
            .map_or("", |(_, rest)| rest);
    }
    blocks
}

/// Where the next line that begins with a fence is.
fn find_fence(text: &str) -> Option<usize> {
    if text.starts_with("```") {
        return Some(0);
    }
    text.find("\n```").map(|position| position + 1)
}

fn run_page(text: &str, gpu: bool) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for block in blocks(text) {
        if let Some((_, file)) = block.info.split_once("file=") {
            fs::write(folder.path().join(file), block.text)?;
        } else if block.info == "console" || (gpu && block.info == "console gpu") {
            for (command, expected) in sessions(block.text) {
                let command = command.ok_or("a console block begins with `$ `")?;
                check(command, &expected, folder.path(), gpu)?;
            }
        }
    }
    Ok(())
}

fn check(command: &str, expected: &[&str], folder: &Path, gpu: bool) -> Result<(), Failed> {
    let bin = Path::new(PROGRAM)
        .parent()
        .ok_or("the program has a folder")?;
    let system = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(folder)
        .env("HOME", folder)
        .env("COLUMNS", "100")
        .env("PATH", format!("{}:{system}", bin.display()));
    if !gpu {
        shell.env("CUDA_VISIBLE_DEVICES", "");
    }
    let output = shell.output()?;
    let seen = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("$ {command}\n{}\n{seen}{errors}", output.status).into());
    }
    let lines: Vec<&str> = seen.lines().collect();
    let same = |expected: &str, seen: &str| {
        let pattern = without_numbers(expected).replace('…', "[..]");
        line_fits(&pattern, &without_numbers(seen))
    };
    if !expected.is_empty() && !fits(expected, &lines, &same) {
        let expected = expected.join("\n");
        return Err(format!("$ {command}\n--- expected\n{expected}\n--- seen\n{seen}").into());
    }
    Ok(())
}

/// The line with every number, and the unit behind it, as `#`, and runs of spaces as one.
fn without_numbers(line: &str) -> String {
    const UNITS: &[&str] = &[
        "ns", "µs", "ms", "s", "min", "B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "Hz",
        "kHz", "B/s", "KiB/s", "MiB/s", "GiB/s", "kB/s", "MB/s", "GB/s", "TB/s",
    ];
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let mut plain = String::new();
        let mut in_number = false;
        for letter in word.chars() {
            let digit = letter.is_ascii_digit() || (in_number && ".,".contains(letter));
            if digit && !in_number {
                plain = plain.trim_end_matches(['+', '-', '−', '±']).to_owned();
                plain.push('#');
            } else if !digit {
                plain.push(letter);
            }
            in_number = digit;
        }
        let unit = |text: &str| UNITS.contains(&text.trim_end_matches([',', ';', ')']));
        match words.last_mut() {
            Some(number) if number.ends_with('#') && unit(&plain) => {
                number.push_str(plain.trim_start_matches(|c: char| c.is_alphabetic() || c == '/'));
            }
            _ => words.push(plain),
        }
    }
    words.join(" ")
}

fn generated_pages_are_current(docs: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let status = Command::new(PROGRAM)
        .args(["manual", "--quiet", "--reference"])
        .arg(folder.path())
        .status()?;
    if !status.success() {
        return Err(format!("`warpsmith manual`: {status}").into());
    }
    let bless = std::env::var_os("WARPSMITH_BLESS").is_some();
    let mut stale = Vec::new();
    let mut names = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder.path())?.to_owned();
            let committed = docs.join(&name);
            if fs::read(&path)? != fs::read(&committed).unwrap_or_default() {
                if bless {
                    fs::create_dir_all(committed.parent().ok_or("a page has a folder")?)?;
                    fs::copy(&path, &committed)?;
                } else {
                    stale.push(name.display().to_string());
                }
            }
            names.push(name);
        }
    }
    for entry in fs::read_dir(docs.join("reference/commands"))? {
        let path = entry?.path();
        if !names.iter().any(|name| docs.join(name) == path) {
            stale.push(format!("{} (no such command)", path.display()));
        }
    }
    match stale.is_empty() {
        true => Ok(()),
        false => Err(format!("`cargo xtask docs` renews {}", stale.join(", ")).into()),
    }
}

fn man_pages_are_written() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let status = Command::new(PROGRAM)
        .args(["manual", "--quiet", "--man"])
        .arg(folder.path())
        .status()?;
    let page = fs::read_to_string(folder.path().join("warpsmith-report.1"))?;
    match status.success() && page.contains(".SH SYNOPSIS") {
        true => Ok(()),
        false => Err(format!("{status}: {page}").into()),
    }
}

fn completions_are_scripts() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (shell, word) in [
        ("bash", "complete"),
        ("zsh", "#compdef"),
        ("fish", "complete -c"),
    ] {
        let output = Command::new(PROGRAM)
            .args(["completions", shell])
            .output()?;
        let script = String::from_utf8(output.stdout)?;
        if !script.contains(word) || !script.contains("corpus") {
            return Err(format!("no completions for {shell}").into());
        }
        if shell == "bash" {
            let path = folder.path().join("warpsmith.bash");
            fs::write(&path, script)?;
            let checked = Command::new("bash").arg("-n").arg(&path).output()?;
            if !checked.status.success() {
                return Err(String::from_utf8_lossy(&checked.stderr).into_owned().into());
            }
        }
    }
    Ok(())
}

/// Links to other files of the checkout, and to headings of the same page.
fn links_lead_somewhere(path: &Path, text: &str) -> Result<(), Failed> {
    let folder = path.parent().ok_or("a page has a folder")?;
    let mut missing = Vec::new();
    for piece in text.split("](").skip(1) {
        let Some((target, _)) = piece.split_once(')') else {
            continue;
        };
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let external = target.contains("://");
        if !external && !file.is_empty() && !folder.join(file).exists() {
            missing.push(target);
        }
        if file.is_empty() && !heading.is_empty() && !headings(text).any(|have| have == heading) {
            missing.push(target);
        }
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("nothing is at {}", missing.join(", ")).into()),
    }
}

/// The anchors of a page's headings, as Markdown renderers make them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|letter| letter.is_alphanumeric() || *letter == ' ' || *letter == '-')
                .map(|letter| if letter == ' ' { '-' } else { letter })
                .collect()
        })
}
