//! `cargo xtask pictures`: the pictures of README and docs, from the real page and the real terminal.

mod terminal;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::workspace::{self, run};

/// A page loads them all: none may be heavier.
const MOST_BYTES: u64 = 200_000;
const ROWS: usize = 22;
const COLUMNS: usize = 100;
/// A GPU under a matrix multiplication, recorded on an H200.
const RECORDING: &str = "crates/telemetry/tests/recordings/h200-matmul.wsrec";

#[derive(Args)]
pub(crate) struct Pictures {
    /// A `report.html` of `warpsmith report` to show; without it, the fixture that the report's tests draw.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Pictures {
    pub(crate) fn run(&self) -> Result<()> {
        let folder = workspace::root().join("docs/pictures");
        fs::create_dir_all(&folder)?;
        run("cargo", &["build", "--quiet", "--package", "warpsmith"])?;
        watch(&folder.join("watch.svg"))?;
        report(self.report.as_deref(), &folder.join("report.png"))?;
        for name in ["watch.svg", "report.png"] {
            let bytes = fs::metadata(folder.join(name))?.len();
            ensure!(
                bytes <= MOST_BYTES,
                "docs/pictures/{name} has {bytes} bytes, more than {MOST_BYTES}"
            );
            println!("docs/pictures/{name}: {bytes} bytes");
        }
        Ok(())
    }
}

/// A frame of the live view, from a recording, on a terminal of `script`.
fn watch(place: &Path) -> Result<()> {
    let program = workspace::target().join("debug/warpsmith");
    let line = format!(
        "stty rows {ROWS} cols {COLUMNS}; '{}' replay {RECORDING} --at 20s --color always",
        program.display()
    );
    let mut child = Command::new("script")
        .args(["-qfec", &line, "/dev/null"])
        .env("TERM", "xterm-256color")
        .current_dir(workspace::root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `script`, which gives a program a terminal")?;
    // The first frames fill the plots; then the view is left as a user leaves it.
    sleep(Duration::from_secs(2));
    let mut keys = child.stdin.take().context("the terminal has a keyboard")?;
    keys.write_all(b"q")?;
    let mut seen = Vec::new();
    child
        .stdout
        .take()
        .context("the terminal has a screen")?
        .read_to_end(&mut seen)?;
    child.wait()?;
    let seen = String::from_utf8_lossy(&seen);
    let screen = terminal::Screen::after(&seen, ROWS, COLUMNS);
    ensure!(!screen.is_empty(), "the live view drew nothing:\n{seen}");
    fs::write(place, screen.svg())?;
    Ok(())
}

/// The first screen of a report's page, in a browser.
fn report(page: Option<&Path>, place: &Path) -> Result<()> {
    let page = match page {
        Some(page) => page.to_owned(),
        None => {
            let page = workspace::target().join("report-pages/healthy-gpu.html");
            if !page.is_file() {
                let test = [
                    "test",
                    "--quiet",
                    "-p",
                    "warpsmith-report",
                    "--test",
                    "browser",
                ];
                run("cargo", &[&test[..], &["--", "healthy-gpu fits"]].concat())?;
            }
            page
        }
    };
    let page = page
        .canonicalize()
        .with_context(|| format!("there is no `{}`", page.display()))?;
    run(
        "chromium",
        &[
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1100,760",
            &format!("--screenshot={}", place.display()),
            &format!("file://{}", page.display()),
        ],
    )
}
