//! The documentation is true: every example runs and prints what its page shows, and generated
//! pages are current.
//!
//! A page is one session in an empty folder, from top to bottom. A block ```` ```LANGUAGE file=NAME ````
//! writes that file; in a block ```` ```console ```` every `$ ` line is run by the shell. The lines
//! below it are all that it prints, on both streams; numbers may differ, with or without their units.
//! A command must succeed unless `$ echo $?` follows, which prints its exit code.
//!
//! ```` ```console measured ```` is a measurement, which may print more lines than the page shows.
//! `yours` is about the reader's machine: it is run, and its output is free.
//!
//! Other words say what a block needs; where that is missing the block counts as ignored. `gpu`,
//! `nvrtc`, `numpy`, `torch` and `dist` (the files of a release) are found here or not. With
//! `WARPSMITH_FULL=1` these are run, too: `long` takes minutes, `install` fetches packages into a
//! new environment of Python, `checkout` builds in a copy of this checkout, and `endless` goes on
//! until it is interrupted. `tests` is the command that runs this.
//! `WARPSMITH_BLESS=1` rewrites generated pages, and shows what was printed where it differs.

mod endless;
mod generated;
mod machine;
mod output;
mod run;

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;

use crate::session::page::{Block, blocks};
use machine::Machine;
use run::run_page;

const PROGRAM: &str = env!("CARGO_BIN_EXE_warpsmith");

pub(crate) fn trials() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the workspace is there");
    let machine: &'static Machine = Box::leak(Box::new(Machine::look(&root)));
    let mut trials = vec![
        Trial::test("generated pages", {
            let docs = root.join("docs");
            move || generated::generated_pages_are_current(&docs)
        }),
        Trial::test("man pages", generated::man_pages_are_written),
        Trial::test("completions", generated::completions_are_scripts),
        Trial::test("comparison of output", || {
            match output::tells_words_apart() {
                true => Ok(()),
                false => Err("the comparison takes different words for the same".into()),
            }
        }),
    ];
    for path in pages(&root) {
        let name = path
            .strip_prefix(&root)
            .unwrap_or(&path)
            .display()
            .to_string();
        let text = fs::read_to_string(&path).expect("the pages are part of the checkout");
        let sessions: Vec<Block<'_>> = blocks(&text)
            .into_iter()
            .filter(Block::is_console)
            .collect();
        for block in &sessions {
            if let Some(need) = machine.lacks(block) {
                let name = format!("{name}:{} ({need})", block.line(&text));
                let refuse = move || Err(format!("it needs {need}").into());
                trials.push(Trial::test(name, refuse).with_ignored_flag(true));
            }
        }
        if sessions.iter().any(|block| machine.lacks(block).is_none()) {
            trials.push(Trial::test(name, move || run_page(&path, machine)));
        }
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
