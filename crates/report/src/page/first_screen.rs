//! The first screen: what machine, is it well, how fast, and what next.

use std::fmt::Write;

use warpsmith_core::Report;

use crate::digits;
use crate::document::{Action, Document, Headline, Reading, RunKind, Subject};

use super::block::command;
use super::icon::{class, icon};
use super::inline::{inline, length, plain, sentence};

/// The header, down to the bar of chapters.
pub(super) fn first_screen(report: &Report<Document>) -> String {
    let document = &report.body;
    let verdict = document.verdict.state.state();
    let mut out = format!(
        r#"<header class="wrap top"><div class="brand"><span><b>Warpsmith</b> report <span class="dim">{}</span></span><span class="tools"><button type="button" class="btn" data-fold aria-expanded="false">unfold all</button><button type="button" class="btn" data-json>copy as JSON</button></span></div>{}<div class="verdict {}">{}<p><b>{}.</b> {}</p></div>"#,
        plain(&report.version),
        machine(&document.subject),
        class(verdict),
        icon(verdict),
        inline(&sentence(&document.verdict.headline)),
        inline(&document.verdict.detail)
    );
    if !document.numbers.is_empty() {
        let numbers: String = document.numbers.iter().map(number).collect();
        let _ = write!(out, r#"<ul class="nums">{numbers}</ul>"#);
    }
    let _ = write!(
        out,
        r#"<div class="first"><div>{}</div><div>{}</div></div></header>"#,
        lights(document),
        actions(document)
    );
    out
}

/// The bar that stays at the top while one reads.
pub(super) fn chapter_bar(document: &Document) -> String {
    let items: String = document
        .chapters
        .iter()
        .map(|chapter| {
            format!(
                r##"<li><a href="#{}">{}{}</a></li>"##,
                plain(&chapter.id),
                icon(chapter.light),
                plain(&chapter.short)
            )
        })
        .collect();
    format!(
        r#"<nav class="bar" aria-label="chapters"><div class="wrap"><ol>{items}</ol></div></nav>"#
    )
}

fn machine(subject: &Subject) -> String {
    let facts: Vec<String> = subject.facts.iter().map(|line| plain(line)).collect();
    let mut meta = String::new();
    let mut item = |name: &str, value: String| {
        let _ = write!(meta, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    if !subject.host.is_empty() {
        item("host", plain(&subject.host));
    }
    item(
        "date",
        format!(
            r#"<span data-unix="{}">{}</span>"#,
            subject.started_unix,
            plain(&subject.started)
        ),
    );
    if let Some(commit) = &subject.commit {
        let changed = if commit.changed { ", changed" } else { "" };
        item(
            "commit",
            format!("<code>{}</code>{changed}", plain(&commit.hash)),
        );
    }
    let kind = match subject.kind {
        RunKind::Quick => "quick",
        RunKind::Full => "full",
    };
    item(
        "run",
        format!("{kind}, {}", digits::duration(subject.seconds)),
    );
    format!(
        r#"<div class="machine"><div><h1>{}</h1><p>{}</p></div><dl class="meta">{meta}</dl></div>"#,
        plain(&subject.title),
        facts.join("<br>")
    )
}

fn number(number: &Headline) -> String {
    let (value, state) = match &number.reading {
        Reading::Number { text, unit, .. } => (
            format!("{} <small>{}</small>", plain(text), plain(unit)),
            class(number.state),
        ),
        Reading::None(reason) => (
            format!(r#"<span class="no">{}</span>"#, plain(reason)),
            "none",
        ),
    };
    let filled = number
        .bar
        .filter(|bar| bar.is_finite())
        .unwrap_or(0.0)
        .clamp(0.0, 1.0);
    format!(
        r#"<li><div class="l">{}</div><div class="v">{value}</div><span class="gauge {state}" aria-hidden="true"><i style="width:{:.0}%"></i></span><div class="s"><b>{}</b>{}</div><div class="i">{}</div></li>"#,
        inline(&number.name),
        filled * 100.0,
        inline(&number.share.0),
        inline(&number.share.1),
        inline(&number.basis)
    )
}

fn lights(document: &Document) -> String {
    let items: String = document
        .chapters
        .iter()
        .map(|chapter| {
            format!(
                r##"<li><a href="#{}">{}<b>{}</b><span class="t">{}</span></a></li>"##,
                plain(&chapter.id),
                icon(chapter.light),
                plain(&chapter.title),
                inline(&chapter.note)
            )
        })
        .collect();
    let count = match document.chapters.len() {
        5 => "Five questions",
        6 => "Six questions",
        _ => "Questions",
    };
    format!(r#"<h2 class="k">{count}</h2><ul class="lights">{items}</ul>"#)
}

/// Lines of actions below which the bar of chapters is still on a screen of 900 px.
const MOST_LINES: usize = 19;

/// Lines that the actions take with each command on its own.
fn lines(document: &Document) -> usize {
    let all = document.actions.iter().map(|action| {
        let letters = length(&action.what) * 11 / 10 + length(&action.why) + 2;
        letters.div_ceil(72) + usize::from(!action.command.is_empty())
    });
    all.sum::<usize>() + usize::from(document.more_actions > 0)
}

fn actions(document: &Document) -> String {
    if document.actions.is_empty() {
        return r#"<h2 class="k">What to do next</h2><p>Nothing.</p>"#.to_owned();
    }
    let rows: String = document.actions.iter().enumerate().map(action).collect();
    let more = match document.more_actions {
        0 => String::new(),
        n => format!(
            r#"<p class="more-acts">and {} more in the chapters</p>"#,
            digits::count(n as u64)
        ),
    };
    let tight = if lines(document) > MOST_LINES {
        " tight"
    } else {
        ""
    };
    format!(
        r#"<h2 class="k">What to do next, most useful first</h2><table class="acts{tight}"><thead><tr><td class="n"></td><th scope="col">what to do</th><th scope="col">gains</th><th scope="col">costs</th></tr></thead><tbody>{rows}</tbody></table>{more}"#
    )
}

fn action((at, action): (usize, &Action)) -> String {
    let stop = if action.what.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    let command = match action.command.is_empty() {
        true => String::new(),
        false => format!("<div>{}</div>", command(&action.command)),
    };
    format!(
        r##"<tr><td class="n">{}</td><td class="w"><a href="#{}">{}{stop}</a> <span>{}</span> {command}</td><td class="g">{} <small>{}</small></td><td class="c">{}</td></tr>"##,
        at + 1,
        plain(&action.chapter),
        inline(&action.what),
        inline(&action.why),
        inline(&action.gain),
        inline(&action.gain_note),
        inline(&action.cost)
    )
}
