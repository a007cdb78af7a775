//! Paper: every header of every table is in the PDF, and nothing is wider than the sheet.

use std::collections::BTreeSet;
use std::process::Command;

use libtest_mimic::Failed;
use serde_json::Value;

use crate::devtools::Browser;
use crate::{target, written};

/// A reader of PDF, which `cargo xtask test` fetches.
const READER: &str = "wheels/pypdf-5.9.0";
const READ: &str =
    "import sys, pypdf\nfor page in pypdf.PdfReader(sys.argv[1]).pages: print(page.extract_text())";

pub(crate) fn can_read() -> bool {
    let python = Command::new("python3").arg("--version").output();
    target().join(READER).is_dir() && python.is_ok_and(|output| output.status.success())
}

fn squeezed(text: &str) -> String {
    // Fonts print some pairs of letters as one sign.
    let pairs = [
        ("ﬃ", "ffi"),
        ("ﬄ", "ffl"),
        ("ﬀ", "ff"),
        ("ﬁ", "fi"),
        ("ﬂ", "fl"),
        ("ﬅ", "ft"),
    ];
    let apart = pairs.iter().fold(text.to_owned(), |text, (sign, letters)| {
        text.replace(sign, letters)
    });
    apart.chars().filter(|c| c.is_alphanumeric()).collect()
}

pub(crate) fn complete() -> Result<(), Failed> {
    for name in ["healthy-gpu", "busy-cpu", "eight-gpus"] {
        let page = written(name)?;
        let mut browser = Browser::start()?;
        browser.window(1400, 900, "dark", "")?;
        browser.open(&page, true)?;
        let wanted = browser.value(
            "[...document.querySelectorAll('th, summary, .cmd, h2, .t tbody tr:not(.detail) td:last-child')].map(e => e.querySelector('.vh') ? '' : e.textContent.trim())",
        )?;
        let place = target().join(format!("report-pages/{name}.pdf"));
        browser.pdf(&place)?;
        let read = Command::new("python3")
            .env("PYTHONPATH", target().join(READER))
            .args(["-c", READ])
            .arg(&place)
            .output()?;
        let text = squeezed(&String::from_utf8_lossy(&read.stdout));
        if text.is_empty() {
            return Err(format!("no text: {}", String::from_utf8_lossy(&read.stderr)).into());
        }
        let missing: BTreeSet<&str> = wanted
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|words| !text.contains(&squeezed(words)))
            .collect();
        if !missing.is_empty() {
            return Err(format!("{name}: not on paper: {missing:?}").into());
        }
    }
    Ok(())
}

/// A4 less its margins has 703 px.
pub(crate) fn fits() -> Result<(), Failed> {
    for (name, _) in crate::fixtures::all() {
        let page = written(name)?;
        let mut browser = Browser::start()?;
        browser.window(703, 1000, "dark", "print")?;
        browser.open(&page, true)?;
        browser.value("document.querySelectorAll('details').forEach(d => { d.open = true })")?;
        let seen = browser.value(include_str!("layout.js"))?;
        browser.screenshot(&target().join(format!("report-pages/{name}-print.png")))?;
        if seen["scroll"] != seen["width"] || seen["found"] != Value::Array(Vec::new()) {
            return Err(format!("{name}: {seen:#}").into());
        }
        let hidden = browser.value(
            "[...document.querySelectorAll('.t th, .t td')].filter(c => !c.checkVisibility() && !c.closest('.detail')).length",
        )?;
        if hidden != 0 {
            return Err(format!("{name}: {hidden} cells are not printed").into());
        }
        let ground = browser.value("getComputedStyle(document.body).backgroundColor")?;
        if ground != "rgb(255, 255, 255)" {
            return Err(format!("{name}: paper is {ground}").into());
        }
    }
    Ok(())
}
