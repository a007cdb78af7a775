//! What can be pressed, and what is there for those whose browser runs no scripts.

use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::devtools::Browser;
use crate::written;

/// Catches what is copied, and waits until something has been.
const CATCH: &str = "globalThis.copied = null;
Object.defineProperty(navigator, 'clipboard', {value: {writeText: async t => { globalThis.copied = t }}, configurable: true});
globalThis.press = async selector => {
  copied = null;
  document.querySelector(selector).click();
  for (let n = 0; n < 100 && copied === null; n++) await new Promise(done => setTimeout(done, 20));
  return copied;
}; 0";

fn expect(what: &str, seen: &Value, wanted: &Value) -> Result<(), Failed> {
    match seen == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {seen}, not {wanted}").into()),
    }
}

pub(crate) fn buttons() -> Result<(), Failed> {
    let page = written("healthy-gpu")?;
    let mut browser = Browser::start()?;
    browser.window(1400, 900, "light", "screen")?;
    browser.open(&page, true)?;
    browser.value(CATCH)?;

    let command = browser.value("press('.cmd')")?;
    expect(
        "a command",
        &command,
        &json!("compute-sanitizer --tool memcheck ./program"),
    )?;
    let live = browser.value("document.getElementById('live').textContent")?;
    expect("the live region", &live, &json!("copied"))?;

    let table = browser.value("press('[aria-label=\"copy latency as CSV\"]')")?;
    let csv = table.as_str().unwrap_or("");
    let lines: Vec<&str> = csv.lines().collect();
    expect("rows of the CSV", &json!(lines.len()), &json!(41))?;
    expect(
        "its header",
        &json!(lines[0]),
        &json!("workload,P50,95 %,mean,P95,P99,rate,each,of roof,memory,n"),
    )?;
    if !lines[1].starts_with("device/copy,1.25e-4,")
        && !lines[1].starts_with("device/copy,0.000125,")
    {
        return Err(format!("the first row: {}", lines[1]).into());
    }
    let matrix = browser.value("press('[aria-label=\"copy matrix as CSV\"]')")?;
    let first = matrix
        .as_str()
        .unwrap_or("")
        .lines()
        .nth(1)
        .unwrap_or("")
        .to_owned();
    if !first.contains("2.42,\"[2.38, 2.46]\"") {
        return Err(format!("an interval is two columns: {first}").into());
    }

    let whole = browser.value("press('[data-json]')")?;
    let report: Value = serde_json::from_str(whole.as_str().unwrap_or(""))?;
    let kept = report["body"]["raw"]["latency"]["lattice/catalytic"]["samples"]
        .as_array()
        .map_or(0, Vec::len);
    expect("thinned samples", &json!(kept), &json!(2000))?;
    let count = &report["body"]["raw"]["latency"]["lattice/catalytic"]["samples_count"];
    expect("their true count", count, &json!(19822))?;

    // A row opens with its facts and, from 30 samples on, a histogram; the second mode is in it.
    let opened = browser.value(
        "(async () => {
           const button = [...document.querySelectorAll('.rowb')].find(b => b.textContent === 'md/lj');
           button.click();
           await new Promise(done => setTimeout(done, 400));
           const row = document.getElementById(button.getAttribute('aria-controls'));
           return [button.getAttribute('aria-expanded'), row.hidden, row.querySelectorAll('rect').length > 3, row.querySelector('p').textContent, row.textContent.includes('8,010')];
         })()",
    )?;
    expect(
        "an open row",
        &opened,
        &json!([
            "true",
            false,
            true,
            "2,147 samples, 2,000 of them drawn",
            true
        ]),
    )?;

    let sorted = browser.value(
        "(() => {
           const head = [...document.querySelectorAll('th button')].find(b => b.textContent === 'P50');
           head.click();
           const table = head.closest('table');
           const rows = [...table.tBodies[0].rows].filter(r => !r.matches('.detail'));
           const values = rows.map(r => Number(r.children[1].dataset.v));
           const md = rows.find(r => r.textContent.includes('md/lj'));
           return [values.every((v, n) => n === 0 || v >= values[n - 1]), head.closest('th').getAttribute('aria-sort'), md.nextElementSibling.matches('.detail')];
         })()",
    )?;
    expect("a sorted table", &sorted, &json!([true, "ascending", true]))?;

    let shown = browser.value(
        "(() => { const b = document.querySelector('[data-all]'); const before = document.querySelectorAll('.more').length; b.click();
           const visible = [...document.querySelectorAll('.more')].filter(r => r.checkVisibility()).length; return [before > 0, visible === before, b.textContent]; })()",
    )?;
    expect("all rows", &shown, &json!([true, true, "show 16"]))?;

    let folds = browser.value(
        "(() => { document.querySelector('[data-fold]').click(); return [...document.querySelectorAll('details')].every(d => d.open) })()",
    )?;
    expect("all folds", &folds, &json!(true))?;
    match browser.complaints.first() {
        Some(complaint) => Err(complaint.clone().into()),
        None => Ok(()),
    }
}

pub(crate) fn without_scripts() -> Result<(), Failed> {
    let page = written("healthy-gpu")?;
    let mut browser = Browser::start()?;
    browser.window(1400, 900, "light", "screen")?;
    browser.open(&page, false)?;
    // The protocol may still look, though the page's own scripts do not run.
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": false}),
    )?;
    let seen = browser.value(
        "[document.documentElement.classList.contains('js'),
          [...document.querySelectorAll('.more')].every(r => r.checkVisibility()),
          [...document.querySelectorAll('.detail')].every(r => r.checkVisibility()),
          [...document.querySelectorAll('.btn')].some(b => b.checkVisibility())]",
    )?;
    expect(
        "a page without scripts",
        &seen,
        &json!([false, true, true, false]),
    )
}
