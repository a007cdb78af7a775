//! The report's page in a real browser: no console errors, every plot visible, nothing too wide for
//! a phone. Skipped where there is no Chromium.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use serde_json::Value;

/// Measures the page from inside and leaves the answer in the document.
const PROBE: &str = "<script>
const boxes = [...document.querySelectorAll('figure svg')].map(svg => svg.getBoundingClientRect());
const strokes = [...document.querySelectorAll('polyline.line')].map(l => getComputedStyle(l).stroke);
document.body.innerHTML = '';
document.title = JSON.stringify({
  plots: boxes.length,
  smallest: Math.min(...boxes.map(box => Math.min(box.width, box.height))),
  drawn: strokes.every(stroke => stroke !== 'none'),
});
</script>";

fn chromium() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join("chromium"))
        .find(|program| program.is_file())
}

fn browse(page: &Path, width: u32, profile: &Path) -> Result<(String, String), Failed> {
    let program = chromium().ok_or("no chromium")?;
    let output = Command::new(program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--dump-dom"])
        .args(["--enable-logging=stderr", "--log-level=0"])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()?;
    Ok((
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    ))
}

fn page_is_sound() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("report");
    let made = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["report", "--device", "cpu", "--quiet", "--out"])
        .arg(&out)
        .current_dir(folder.path())
        .output()?;
    // 1 is a machine that is busy: the page says so and is still a page.
    if !matches!(made.status.code(), Some(0 | 1)) {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
    }
    let html = fs::read_to_string(out.join("report.html"))?;
    if html.len() > 3 << 20 {
        return Err(format!("the page has {} bytes", html.len()).into());
    }
    let report: Value = serde_json::from_slice(&fs::read(out.join("report.json"))?)?;
    let sections = report["body"]["sections"].as_array().ok_or("no sections")?;
    let blocks = sections
        .iter()
        .filter_map(|s| s["blocks"].as_array())
        .flatten();
    let plots = blocks.filter(|block| block.get("plot").is_some()).count();
    let probed = folder.path().join("probed.html");
    fs::write(&probed, html.replace("</html>", &format!("{PROBE}</html>")))?;
    for width in [390, 1280] {
        let profile = folder.path().join(format!("profile-{width}"));
        let (dom, log) = browse(&probed, width, &profile)?;
        if let Some(line) = log.lines().find(|line| line.contains("CONSOLE")) {
            return Err(format!("the console says: {line}").into());
        }
        let title = dom
            .split("<title>")
            .nth(1)
            .and_then(|rest| rest.split("</title>").next());
        let seen: Value = serde_json::from_str(&title.ok_or("no title")?.replace("&quot;", "\""))?;
        let smallest = seen["smallest"].as_f64().unwrap_or(0.0);
        if seen["plots"] != plots || plots == 0 || smallest < 100.0 || seen["drawn"] != true {
            return Err(format!("{plots} plots in the report, in the browser: {seen}").into());
        }
    }
    Ok(())
}

pub(crate) fn trials() -> Vec<Trial> {
    let missing = chromium().is_none();
    let name = match missing {
        true => "the report's page is sound in a browser (skipped: no chromium)",
        false => "the report's page is sound in a browser",
    };
    vec![Trial::test(name, page_is_sound).with_ignored_flag(missing)]
}
