//! Statistics as one HTML page: tables and bar charts drawn as SVG, nothing loaded from elsewhere.

use std::fmt::Write;

use warpsmith_formats::html;

use crate::statistics::{Distribution, Statistics};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
color:#1d2433;background:#fff}h1,h2{line-height:1.2}table{border-collapse:collapse;margin:.5rem 0 1.5rem}\
td,th{padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid #d9dee8}td.n{text-align:right}\
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(20rem,1fr));gap:1.5rem}\
svg{width:100%;height:auto}rect{fill:#3568b8}text{font:11px system-ui,sans-serif;fill:#4a5468}\
@media(prefers-color-scheme:dark){body{background:#12161f;color:#dfe5f0}td,th{border-color:#2c3444}\
text{fill:#aab4c6}rect{fill:#6f9be8}}";

/// The page.
pub fn page(statistics: &Statistics) -> String {
    let mut out = String::new();
    let s = statistics;
    let _ = write!(
        out,
        "<h1>Kernel corpus, seed {}</h1><p>{} pairs in {} files, {:.1} MB; {} drafts.</p>",
        s.settings.seed,
        s.pairs,
        s.files,
        s.bytes as f64 / 1e6,
        s.drafts
    );
    table(
        &mut out,
        "Distinct pairs",
        ["level", "pairs"],
        &[
            ("exact source".to_owned(), s.distinct_exact),
            ("up to names".to_owned(), s.distinct_modulo_names),
            ("shape of the syntax tree".to_owned(), s.distinct_shapes),
            ("MinHash signature".to_owned(), s.distinct_minhash),
        ],
    );
    let named = |counts: &std::collections::BTreeMap<String, u64>| -> Vec<(String, u64)> {
        counts
            .iter()
            .map(|(name, count)| (name.clone(), *count))
            .collect()
    };
    bars(&mut out, "Categories", &named(&s.categories));
    let difficulties: Vec<(String, u64)> = s
        .difficulties
        .iter()
        .map(|(level, count)| (format!("level {level}"), *count))
        .collect();
    bars(&mut out, "Difficulty", &difficulties);
    bars(&mut out, "Splits", &named(&s.splits));
    bars(&mut out, "Constructs", &named(&s.constructs));
    out.push_str("<h2>Sizes</h2><div class=\"grid\">");
    for (name, distribution) in &s.distributions {
        histogram(&mut out, name, distribution);
    }
    out.push_str("</div>");
    if !s.levels.is_empty() {
        out.push_str(
            "<h2>Verification</h2><table><tr><th>level<th>passed<th>skipped<th>failed</tr>",
        );
        for (level, counts) in &s.levels {
            let _ = write!(
                out,
                "<tr><td>{level}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}</tr>",
                counts.passed, counts.skipped, counts.failed
            );
        }
        out.push_str("</table>");
    }
    let used = s.core_builtins - s.unused_builtins.len();
    let _ = write!(
        out,
        "<h2>Builtins</h2><p>{used} of {} core builtins are used; not used: {}.</p>",
        s.core_builtins,
        match s.unused_builtins.is_empty() {
            true => "none".to_owned(),
            false => s.unused_builtins.join(", "),
        }
    );
    let mut builtins = named(&s.builtins);
    builtins.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()));
    bars(&mut out, "Pairs by builtin", &builtins);
    html::page("Kernel corpus", STYLE, &out)
}

fn table(out: &mut String, title: &str, headings: [&str; 2], rows: &[(String, u64)]) {
    let _ = write!(
        out,
        "<h2>{title}</h2><table><tr><th>{}<th>{}</tr>",
        headings[0], headings[1]
    );
    for (name, count) in rows {
        let _ = write!(out, "<tr><td>{name}<td class=\"n\">{count}</tr>");
    }
    out.push_str("</table>");
}

/// Horizontal bars with their names and numbers.
fn bars(out: &mut String, title: &str, rows: &[(String, u64)]) {
    let most = rows
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(1)
        .max(1);
    let height = rows.len() * 16 + 4;
    let _ = write!(
        out,
        "<h2>{title}</h2><svg viewBox=\"0 0 640 {height}\" role=\"img\" aria-label=\"{title}\">"
    );
    for (n, (name, count)) in rows.iter().enumerate() {
        let y = n * 16;
        let width = 380.0 * *count as f64 / most as f64;
        let _ = write!(
            out,
            "<text x=\"150\" y=\"{}\" text-anchor=\"end\">{name}</text><rect x=\"156\" y=\"{}\" \
             width=\"{width:.1}\" height=\"12\"/><text x=\"{:.1}\" y=\"{}\">{count}</text>",
            y + 12,
            y + 2,
            160.0 + width,
            y + 12
        );
    }
    out.push_str("</svg>");
}

/// A histogram with its median and range.
fn histogram(out: &mut String, name: &str, distribution: &Distribution) {
    let most = distribution.bins.iter().copied().max().unwrap_or(1).max(1);
    let step = 300.0 / distribution.bins.len().max(1) as f64;
    let _ = write!(
        out,
        "<figure style=\"margin:0\"><svg viewBox=\"0 0 300 120\" role=\"img\" aria-label=\"{name}\">"
    );
    for (n, count) in distribution.bins.iter().enumerate() {
        let height = 92.0 * *count as f64 / most as f64;
        let _ = write!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            n as f64 * step,
            94.0 - height,
            (step - 1.0).max(0.5)
        );
    }
    let _ = write!(
        out,
        "<text x=\"0\" y=\"110\">{}</text><text x=\"300\" y=\"110\" text-anchor=\"end\">{} and more</text>\
         </svg><figcaption>{}: median {}, nine of ten below {}, at most {}</figcaption></figure>",
        distribution.min,
        u64::from(distribution.min)
            + u64::from(distribution.width) * distribution.bins.len().saturating_sub(1) as u64,
        name.replace('_', " "),
        distribution.median,
        distribution.p90,
        distribution.max
    );
}
