//! `warpsmith manual`: man pages, and the generated pages of the documentation.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Command};
use warpsmith_formats::write_output;

use super::page::Page;
use super::{configuration, findings, man, metrics, parity, performance, verbs, workloads};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Write the man pages, and the pages of the documentation that follow from the program.
#[derive(Args)]
#[command(
    hide = true,
    after_long_help = "Examples:\n  warpsmith manual --man man/man1\n  \
                  warpsmith manual --reference docs\n  \
                  warpsmith manual --reference docs --parity verified.json --performance report.json"
)]
pub(crate) struct Manual {
    /// Write man pages into this folder.
    #[arg(long, value_name = "DIR", required_unless_present = "reference")]
    man: Option<PathBuf>,
    /// Write the generated Markdown pages below this folder.
    #[arg(long, value_name = "DIR")]
    reference: Option<PathBuf>,
    /// Write `benchmarks/parity.md` from what `warpsmith verify --all --format json` printed.
    #[arg(long, value_name = "FILE", requires = "reference")]
    parity: Option<PathBuf>,
    /// Write `benchmarks/report.md` from the `report.json` of `warpsmith report`.
    #[arg(long, value_name = "FILE", requires = "reference")]
    performance: Option<PathBuf>,
}

impl Manual {
    pub(crate) fn run(&self, global: &Global, program: &Command) -> Result<Outcome> {
        if let Some(folder) = &self.man {
            write_all(global, "--man", folder, man::man_pages(program)?)?;
        }
        if let Some(folder) = &self.reference {
            let mut pages = reference(program);
            if let Some(file) = &self.parity {
                pages.push(parity::parity(&read(file, "verify")?)?);
            }
            if let Some(file) = &self.performance {
                pages.push(performance::performance(&read(file, "report")?)?);
            }
            write_all(global, "--reference", folder, pages)?;
        }
        Ok(Outcome::Fine)
    }
}

/// Every page that follows from the program alone.
fn reference(program: &Command) -> Vec<Page> {
    let mut pages = verbs::pages(program);
    pages.push(configuration::page());
    pages.push(workloads::page());
    pages.push(metrics::page());
    pages.extend(findings::pages());
    pages
}

fn write_all(global: &Global, option: &str, folder: &Path, pages: Vec<Page>) -> Result<()> {
    inputs::check_output_folder(option, folder)?;
    for page in &pages {
        let path = folder.join(&page.name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot make the folder `{}`", parent.display()))?;
        }
        write_output(&path, &page.contents)?;
    }
    output::note(
        global,
        &format!("wrote {} pages to {}", pages.len(), folder.display()),
    );
    Ok(())
}

/// A document that `verb` wrote.
fn read(path: &Path, verb: &str) -> Result<serde_json::Value> {
    let text = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let document: serde_json::Value = serde_json::from_slice(&text)
        .with_context(|| format!("`{}` is not a JSON document", path.display()))?;
    if document["verb"] != verb {
        bail!(
            "`{}` was not written by `warpsmith {verb} --format json`",
            path.display()
        );
    }
    Ok(document)
}
