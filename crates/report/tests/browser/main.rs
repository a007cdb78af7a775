//! The report's page in a real browser: nothing outside its place at any width, no complaint of the
//! console or of axe, and everything on paper. Pictures for the eye are under `target/report-pages`.
//!
//! Trials count as ignored without Chromium, and those that need axe or pypdf without these, which
//! `cargo xtask test` puts under `target`.

mod access;
mod devtools;
#[path = "../fixtures/mod.rs"]
mod fixtures;
mod interaction;
mod layout;
mod paper;

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_report::page;

/// `target` of the checkout.
fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

/// The page of a fixture, in a folder of pictures.
fn written(name: &str) -> Result<PathBuf, Failed> {
    let folder = target().join("report-pages");
    std::fs::create_dir_all(&folder)?;
    let place = folder.join(format!("{name}.html"));
    std::fs::write(&place, page::html(&fixtures::named(name)))?;
    Ok(place.canonicalize()?)
}

fn main() {
    let missing = devtools::chromium().is_none();
    let mut trials = Vec::new();
    for (name, _) in fixtures::all() {
        let layout = Trial::test(format!("{name} fits every width"), move || {
            layout::fits(name)
        });
        trials.push(layout.with_ignored_flag(missing));
        let axe = Trial::test(format!("{name} is accessible"), move || {
            access::accessible(name)
        });
        trials.push(axe.with_ignored_flag(missing || access::axe().is_none()));
    }
    let paper = Trial::test("every column is on paper", paper::complete);
    trials.push(paper.with_ignored_flag(missing || !paper::can_read()));
    let paper_width = Trial::test("nothing is cut off on paper", paper::fits);
    trials.push(paper_width.with_ignored_flag(missing));
    let first = Trial::test("the first screen is one screen", layout::first_screen);
    trials.push(first.with_ignored_flag(missing));
    let pictures = Trial::test("pictures of every width are kept", layout::pictures);
    trials.push(pictures.with_ignored_flag(missing));
    let buttons = Trial::test("buttons do what they say", interaction::buttons);
    trials.push(buttons.with_ignored_flag(missing));
    let quiet = Trial::test(
        "everything can be read without scripts",
        interaction::without_scripts,
    );
    trials.push(quiet.with_ignored_flag(missing));
    let mut arguments = Arguments::from_args();
    // A browser each: more than two at a time slow each other down.
    arguments.test_threads = Some(arguments.test_threads.unwrap_or(2).min(2));
    libtest_mimic::run(&arguments, trials).exit();
}
