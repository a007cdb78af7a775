//! axe-core finds nothing, in light and in dark, folded and open.

use std::path::PathBuf;

use libtest_mimic::Failed;
use serde_json::Value;

use crate::devtools::Browser;
use crate::{target, written};

/// The script, which `cargo xtask test` fetches.
pub(crate) fn axe() -> Option<PathBuf> {
    Some(target().join("axe/axe.min.js")).filter(|script| script.is_file())
}

pub(crate) fn accessible(name: &'static str) -> Result<(), Failed> {
    let page = written(name)?;
    let script = std::fs::read_to_string(axe().ok_or("no axe")?)?;
    let mut browser = Browser::start()?;
    for (width, scheme) in [(1400, "light"), (1400, "dark"), (400, "light")] {
        browser.window(width, 900, scheme, "screen")?;
        browser.open(&page, true)?;
        browser.value(
            "document.querySelectorAll('details').forEach(d => { d.open = true });
             document.querySelectorAll('.rowb').forEach((b, n) => { if (n < 3) b.click() });
             new Promise(done => setTimeout(done, 250))",
        )?;
        browser.value(&format!("{script}; 0"))?;
        let found = browser.value(
            "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.help + ' at ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join('  ')))",
        )?;
        if found != Value::Array(Vec::new()) {
            return Err(format!("{name}, {width} px, {scheme}: {found:#}").into());
        }
    }
    Ok(())
}
