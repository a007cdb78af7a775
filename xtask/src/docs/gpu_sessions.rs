//! Examples that need a GPU: a script that runs them elsewhere, and their output back on the pages.
//!
//! The script is plain bash and needs `warpsmith` on the path, so that a GPU machine needs neither
//! this checkout nor a toolchain.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::page::{Block, Step, blocks, files, steady, steps, trim};
use crate::workspace::root;

const HEAD: &str = r#"#!/usr/bin/env bash
# Runs the examples of the documentation that need a GPU, page by page, and keeps what they print.
#
#   bash run.sh            # needs `warpsmith` on the path, NVRTC, and a Python with NumPy
#
# WARPSMITH_PYTHON names that Python where it is not the active one.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export COLUMNS=100 WARPSMITH_BACKGROUND=off
rm -rf "$here/out" "$here/work"
mkdir -p "$here/out" "$here/work"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1 > "$here/out/machine.txt"
warpsmith --version >> "$here/out/machine.txt"
last=0
page() {
  work="$here/work/$1"
  mkdir -p "$work" "$here/out/$1"
  cd "$work" || exit 1
  name=$1
  echo "== $1"
}
step() {
  command=$(cat)
  printf '$ %s\n' "$command"
  # Other examples are shown as they are without a GPU.
  ( [ "$2" = gpu ] || export CUDA_VISIBLE_DEVICES=
    exec 2>&1; (exit "$last"); eval "$command" ) > "$here/out/$name/$1.txt" < /dev/null
  last=$?
  echo "$last" > "$here/out/$name/$1.code"
  sed -i "s|$work|/home/you|g" "$here/out/$name/$1.txt"
  [ "$last" = 0 ] || echo "   exit code $last: $here/out/$name/$1.txt"
}
"#;

/// The pages that have sessions on a GPU, with the names of their folders.
fn pages() -> Result<Vec<(PathBuf, String)>> {
    let docs = root().join("docs");
    let mut found = Vec::new();
    let mut folders = vec![docs.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md")
                && blocks(&fs::read_to_string(&path)?).iter().any(on_gpu)
            {
                let name = path.strip_prefix(&docs)?.display().to_string();
                found.push((path, name.replace('/', "-")));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn on_gpu(block: &Block<'_>) -> bool {
    block.has("gpu") && is_shown(block)
}

/// Whether its output is part of the page: not of what builds, fetches, goes on for ever, or is about
/// the reader's own machine.
fn is_shown(block: &Block<'_>) -> bool {
    const HIDDEN: [&str; 7] = [
        "checkout", "dist", "endless", "install", "long", "tests", "yours",
    ];
    block.is_console() && !HIDDEN.iter().any(|word| block.has(word))
}

pub(super) fn write_script(folder: &Path) -> Result<()> {
    let mut script = HEAD.to_owned();
    for (path, name) in pages()? {
        let text = fs::read_to_string(&path)?;
        writeln!(script, "\npage '{name}'")?;
        if let Some(given) = files(&text).next() {
            bail!("{}: `{given}` is not carried to the GPU", path.display());
        }
        for (number, block) in blocks(&text).iter().enumerate() {
            if let Some(file) = block.file() {
                write!(
                    script,
                    "mkdir -p \"$(dirname '{file}')\"\ncat > '{file}' <<'END_OF_FILE'\n{}END_OF_FILE\n",
                    block.text
                )?;
            }
            let device = if block.has("gpu") { "gpu" } else { "cpu" };
            if is_shown(block) {
                for (step, Step { command, .. }) in session(block)?.iter().enumerate() {
                    writeln!(
                        script,
                        "step {number}.{step} {device} <<'END_OF_COMMAND'\n{command}\nEND_OF_COMMAND"
                    )?;
                }
            }
        }
    }
    fs::create_dir_all(folder)?;
    let place = folder.join("run.sh");
    fs::write(&place, script)?;
    println!(
        "wrote {0}\non the GPU machine: bash {0}\nthen here: cargo xtask docs --gpu-output {1}",
        place.display(),
        folder.display()
    );
    Ok(())
}

pub(super) fn show_output(folder: &Path) -> Result<()> {
    let out = folder.join("out");
    let machine = fs::read_to_string(out.join("machine.txt"))
        .with_context(|| format!("`{}` has no output of `run.sh`", folder.display()))?;
    let (gpu, driver) = machine
        .lines()
        .next()
        .and_then(|line| line.split_once(", "))
        .context("machine.txt begins with a GPU and its driver")?;
    let note = format!("*On an {gpu}, driver {driver}.*");
    for (path, name) in pages()? {
        let text = fs::read_to_string(&path)?;
        let shown = with_output_of(&text, &note, &out.join(&name))
            .with_context(|| path.display().to_string())?;
        let Some(shown) = shown else {
            println!("{}: did not run, left as it is", path.display());
            continue;
        };
        if shown != text {
            fs::write(&path, shown)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

/// The page with the output in a folder; `None` where the page did not run.
fn with_output_of(page: &str, note: &str, folder: &Path) -> Result<Option<String>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let shown = with_output(page, note, &|number, step| {
        let file = |ending| folder.join(format!("{number}.{step}.{ending}"));
        let code = fs::read_to_string(file("code")).ok()?;
        // A page does not show a failure as if it were the answer.
        (code.trim() == "0").then(|| fs::read_to_string(file("txt")).ok())?
    });
    shown.map(Some)
}

/// The page with what its sessions on a GPU printed, and below each of them where that was.
fn with_output(
    page: &str,
    note: &str,
    printed: &dyn Fn(usize, usize) -> Option<String>,
) -> Result<String> {
    let mut shown = String::new();
    let mut copied = 0;
    for (number, block) in blocks(page).iter().enumerate() {
        if !on_gpu(block) {
            continue;
        }
        let mut text = String::new();
        for (step, Step { command, .. }) in session(block)?.iter().enumerate() {
            let Some(output) = printed(number, step) else {
                bail!(
                    "`{command}` failed or did not run: see `out`, fix it and run the script again"
                );
            };
            let mut lines: Vec<&str> = output.lines().collect();
            trim(&mut lines);
            if block.has("measured") {
                lines = steady(&lines);
            }
            writeln!(text, "$ {command}")?;
            lines
                .iter()
                .try_for_each(|line| writeln!(text, "{}", line.trim_end()))?;
        }
        shown.push_str(&page[copied..block.place.start]);
        shown.push_str(&text);
        shown.push_str("```\n\n");
        shown.push_str(note);
        shown.push('\n');
        let rest = &page[block.place.end..];
        let rest = rest.strip_prefix("```\n").unwrap_or(rest);
        // The note of an earlier run goes.
        let after = match rest.trim_start().starts_with("*On an ") {
            true => rest
                .trim_start()
                .find('\n')
                .map_or("", |end| &rest.trim_start()[end + 1..]),
            false => rest,
        };
        copied = page.len() - after.len();
    }
    shown.push_str(&page[copied..]);
    Ok(shown)
}

fn session<'a>(block: &Block<'a>) -> Result<Vec<Step<'a>>> {
    steps(block.text).context("a console block begins with `$ `")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_replaces_what_an_earlier_run_showed() {
        let page = "a\n\n```console gpu\n$ b\n```\n\nc\n";
        let once = with_output(page, "*On an X, driver 1.*", &|_, _| Some("old\n".into())).unwrap();
        assert_eq!(
            once,
            "a\n\n```console gpu\n$ b\nold\n```\n\n*On an X, driver 1.*\n\nc\n"
        );
        let again = with_output(&once, "*On an Y, driver 2.*", &|_, _| {
            Some("new\n\n".into())
        })
        .unwrap();
        assert_eq!(
            again,
            once.replace("old", "new")
                .replace("X, driver 1", "Y, driver 2")
        );
    }

    #[test]
    fn a_page_that_did_not_run_is_left_and_one_that_ran_in_part_is_refused() {
        let page = "```console gpu\n$ b\n```\n";
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("page");
        assert!(
            with_output_of(page, "*On an X.*", &place)
                .unwrap()
                .is_none()
        );
        fs::create_dir(&place).unwrap();
        assert!(with_output_of(page, "*On an X.*", &place).is_err());
        fs::write(place.join("0.0.code"), "0\n").unwrap();
        fs::write(place.join("0.0.txt"), "c\n").unwrap();
        let shown = with_output_of(page, "*On an X.*", &place).unwrap().unwrap();
        assert!(
            shown.starts_with("```console gpu\n$ b\nc\n```\n"),
            "{shown}"
        );
    }

    #[test]
    fn a_session_without_output_is_not_shown_as_if_it_had_printed_nothing() {
        let page = "```console gpu\n$ b\n```\n";
        assert!(with_output(page, "*On an X.*", &|_, _| None).is_err());
    }
}
