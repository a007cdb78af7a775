//! Widths: no sideways scroll, no text outside its picture or the window, and a page of a bounded
//! height.

use std::path::Path;

use libtest_mimic::Failed;
use serde_json::Value;

use crate::devtools::Browser;
use crate::{target, written};

const PROBE: &str = include_str!("layout.js");

fn probe(browser: &mut Browser, place: &str) -> Result<Value, Failed> {
    let seen = browser.value(PROBE)?;
    if seen["scroll"] != seen["width"] || seen["found"] != Value::Array(Vec::new()) {
        return Err(format!("{place}: {seen:#}").into());
    }
    if let Some(complaint) = browser.complaints.first() {
        return Err(format!("{place}: {complaint}").into());
    }
    Ok(seen)
}

pub(crate) fn fits(name: &'static str) -> Result<(), Failed> {
    let page = written(name)?;
    let mut browser = Browser::start()?;
    // The odd ones at the ends of each range, the usual ones at every bound.
    let odd = !["healthy-gpu", "busy-cpu"].contains(&name);
    let widths: &[(u32, &str)] = match odd {
        true => &[(320, "light"), (768, "dark"), (1400, "light")],
        false => &[
            (320, "light"),
            (400, "light"),
            (400, "dark"),
            (641, "light"),
            (768, "light"),
            (768, "dark"),
            (901, "light"),
            (1101, "light"),
            (1181, "light"),
            (1400, "dark"),
            (1400, "light"),
        ],
    };
    for (width, scheme) in widths.iter().copied() {
        browser.window(width, 900, scheme, "screen")?;
        browser.open(&page, true)?;
        let seen = probe(&mut browser, &format!("{name}, {width} px, {scheme}"))?;
        let height = seen["height"].as_f64().unwrap_or(f64::MAX);
        if width == 1400 && name != "long-names" && name != "hostile" && height > 6000.0 {
            return Err(format!("{name}: {height} px high").into());
        }
        if [400, 768, 1400].contains(&width) {
            browser
                .screenshot(&target().join(format!("report-pages/{name}-{width}-{scheme}.png")))?;
        }
        // And with everything open.
        browser.value(
            "document.querySelectorAll('details').forEach(d => { d.open = true });
             document.querySelectorAll('[data-all], .rowb').forEach((b, n) => { if (n < 6) b.click() });
             new Promise(done => setTimeout(done, 250))",
        )?;
        probe(
            &mut browser,
            &format!("{name}, {width} px, {scheme}, unfolded"),
        )?;
    }
    Ok(())
}

/// At 1400 × 900 the bar of chapters is still in the window.
pub(crate) fn first_screen() -> Result<(), Failed> {
    for name in [
        "healthy-gpu",
        "busy-cpu",
        "lost-half-way",
        "eight-gpus",
        "mig",
    ] {
        let page = written(name)?;
        let mut browser = Browser::start()?;
        browser.window(1400, 900, "light", "screen")?;
        browser.open(&page, true)?;
        let bar = probe(&mut browser, name)?["bar"]
            .as_f64()
            .unwrap_or(f64::MAX);
        if bar > 900.0 {
            return Err(format!("{name}: the chapters begin at {bar} px").into());
        }
    }
    Ok(())
}

/// The first window of the page at every width, in both schemes and on paper, beside this file for
/// whoever changes the page. `WARPSMITH_BLESS=1` takes them again. Fonts differ between systems, so
/// that their pixels are compared by eye.
pub(crate) fn pictures() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/pictures");
    let bless = std::env::var_os("WARPSMITH_BLESS").is_some();
    for name in ["healthy-gpu", "busy-cpu"] {
        let screens = [320, 400, 768, 1400].map(|width| [(width, "light"), (width, "dark")]);
        let screens = screens.concat().into_iter().map(|(w, s)| (w, s, "screen"));
        for (width, scheme, medium) in screens.chain([(703, "light", "print")]) {
            let kind = if medium == "print" { medium } else { scheme };
            let place = folder.join(format!("{name}-{width}-{kind}.webp"));
            if bless {
                let page = written(name)?;
                let mut browser = Browser::start()?;
                browser.window(width, 900, scheme, medium)?;
                browser.open(&page, true)?;
                browser.picture(&place)?;
            }
            let start = std::fs::read(&place).map_err(|e| format!("{}: {e}", place.display()))?;
            if !start.starts_with(b"RIFF") || start.len() > 120_000 {
                return Err(format!("{}: no small picture", place.display()).into());
            }
        }
    }
    Ok(())
}
