//! One HTML file: text and plots, styles inside, nothing from a network.

use warpsmith_formats::html::{self, escape};

use super::plot;

/// One part of a page.
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Text as it would stand in a terminal.
    pub text: String,
    /// Plots, as SVG.
    pub plots: Vec<String>,
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:1360px;margin:2em auto;\
padding:0 1em;color:#1d2430;background:#fff}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}\
pre{background:#f4f6f8;padding:.8em;overflow-x:auto;font-size:13px}\
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:1em}\
svg{border:1px solid #dde2e8;border-radius:4px}@media(prefers-color-scheme:dark){body{color:\
#e2e8f0;background:#12161c}pre{background:#1b212a}svg{border-color:#2a323d}}";

/// A whole page.
pub fn page(title: &str, sections: &[Section]) -> String {
    let mut body = format!("<h1>{}</h1>", escape(title));
    for section in sections {
        body.push_str(&format!(
            "<section><h2>{}</h2><pre>{}</pre><div class=\"plots\">{}</div></section>",
            escape(&section.heading),
            escape(&section.text),
            section.plots.concat()
        ));
    }
    let style = format!("{}{STYLE}", plot::STYLE);
    html::page(title, &style, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_one_file_and_escapes_its_text() {
        let page = page(
            "a & b",
            &[Section {
                heading: "<x>".into(),
                text: "1 < 2".into(),
                plots: vec!["<svg></svg>".into()],
            }],
        );
        assert!(
            page.contains("a &amp; b") && page.contains("&lt;x&gt;") && page.contains("1 &lt; 2")
        );
        assert!(page.contains("<svg></svg>"));
        assert!(!page.contains("http") && !page.contains("src="));
    }
}
