//! Any picture with its caption.

use crate::document::Figure;
use crate::page::inline::inline;

use super::{at_rest, crossover, ladder, law, roofline};

/// `figure` as markup.
pub(crate) fn figure(figure: &Figure) -> String {
    match figure {
        Figure::Roofline(roofline) => roofline::roofline(roofline),
        Figure::Crossover(all) => {
            let charts: Vec<String> = all.iter().map(crossover::crossover).collect();
            format!(r#"<div class="small">{}</div>"#, charts.concat())
        }
        Figure::Law(plot) => captioned(&law::law(plot), &inline(&plot.caption)),
        Figure::AtRest(rest) => {
            let panels: Vec<String> = rest.panels.iter().map(at_rest::panel).collect();
            // Several GPUs have many of them, side by side in small.
            let class = if panels.len() <= 3 { "panels" } else { "small" };
            format!(r#"<div class="{class}">{}</div>"#, panels.concat())
        }
        Figure::Ladder(rows) => captioned(&ladder::ladder(rows), &inline(&rows.caption)),
    }
}

/// A picture above its caption, which is markup.
pub(super) fn captioned(picture: &str, caption: &str) -> String {
    match caption.is_empty() {
        true => format!("<figure>{picture}</figure>"),
        false => format!("<figure>{picture}<figcaption>{caption}</figcaption></figure>"),
    }
}
