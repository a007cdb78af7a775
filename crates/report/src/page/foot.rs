//! How the numbers were made, what was left out, and how long each part took.

use crate::document::Document;
use crate::sections::sections_fold;

use super::block::Page;
use super::chapter::WIDTH;
use super::inline::inline;

/// The footer.
pub(super) fn foot(page: &mut Page, document: &Document) -> String {
    let mut out = String::from(r#"<footer><div class="wrap">"#);
    for (at, paragraph) in document.method.iter().enumerate() {
        let head = if at == 0 { "<b>Method.</b> " } else { "" };
        out += &format!("<p>{head}{}</p>", inline(paragraph));
    }
    if !document.left_out.is_empty() {
        let items: String = document
            .left_out
            .iter()
            .map(|line| format!("<li>{}</li>", inline(line)))
            .collect();
        out += &format!("<p><b>Left out.</b></p><ul>{items}</ul>");
    }
    if !document.sections.is_empty() {
        out += &page.fold(&sections_fold(document), WIDTH);
    }
    out + "</div></footer>"
}
