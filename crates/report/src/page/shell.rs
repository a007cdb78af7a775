//! The whole page, in the order in which it is read.

use warpsmith_core::Report;
use warpsmith_formats::html::page;

use crate::document::Document;

use super::block::Page;
use super::chapter::chapter;
use super::first_screen::{chapter_bar, first_screen};
use super::foot::foot;
use super::icon::SYMBOLS;
use super::raw::embedded;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// A mail takes it and a phone opens it.
const MOST_BYTES: usize = 2_000_000;

/// The report as one HTML file.
pub fn html(report: &Report<Document>) -> String {
    let document = &report.body;
    let mut pieces = Page::new();
    let chapters: String = document
        .chapters
        .iter()
        .map(|content| chapter(&mut pieces, content))
        .collect();
    // What only a script can do is shown only where scripts run.
    let before = format!(
        r##"<script>document.documentElement.classList.add("js")</script><a class="skip" href="#main">to the chapters</a>{SYMBOLS}{}{}<main id="main">{chapters}</main>{}<div id="live" class="vh" role="status" aria-live="polite"></div><script type="text/plain" id="raw">"##,
        first_screen(report),
        chapter_bar(document),
        foot(&mut pieces, document)
    );
    let after = format!("</script><script>{SCRIPT}</script>");
    let taken = before.len() + after.len() + STYLE.len() + 1000;
    let raw = embedded(report, MOST_BYTES.saturating_sub(taken));
    let day = document.subject.started.split(' ').next().unwrap_or("");
    let title = format!("Warpsmith report: {}, {day}", document.subject.title);
    page(&title, STYLE, &format!("{before}{raw}{after}"))
}
