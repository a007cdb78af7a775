//! A chapter: its question with the light, three lines, what is open, and what is folded away.

use warpsmith_formats::html::escape;

use crate::document::Chapter;
use crate::findings::findings_fold;

use super::block::Page;
use super::icon::icon;
use super::inline::{inline, plain};

/// Width of the text at a desk.
pub(super) const WIDTH: f64 = 1192.0;

/// `chapter` as a section.
pub(super) fn chapter(page: &mut Page, chapter: &Chapter) -> String {
    let id = escape(&chapter.id);
    let answers = chapter.answers.iter().filter(|line| !line.is_empty());
    let answers: String = answers
        .map(|line| format!("<li>{}</li>", inline(line)))
        .collect();
    let findings = findings_fold(chapter);
    let folds = chapter.folds.iter().chain(&findings);
    let open = page.blocks(&chapter.blocks, WIDTH);
    let folded: String = folds.map(|fold| page.fold(fold, WIDTH)).collect();
    format!(
        r#"<section class="ch" id="{id}" aria-labelledby="{id}-h"><div class="wrap"><h2 id="{id}-h">{}{}</h2><ul class="ans">{answers}</ul>{open}{folded}</div></section>"#,
        icon(chapter.light),
        plain(&chapter.title)
    )
}
