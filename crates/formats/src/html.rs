//! The shell of every HTML page that we write: one file, its styles inside, nothing from a network.
//!
//! What stands in a page, and the styles of what stands there, belongs to the crate that writes it.

/// A page of `body`, which is markup, with `style`, which is CSS. `title` is text.
pub fn page(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>{style}</style>\n</head><body>\n{body}\n</body></html>\n",
        escape(title)
    )
}

/// Text that is safe in markup (HTML, SVG and XML), in elements and in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_needs_nothing_else() {
        let page = page("a < b & \"c\"", "p{color:red}", "<p>text</p>");
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(page.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"));
        assert!(page.contains("<style>p{color:red}</style>") && page.contains("<p>text</p>"));
        assert!(page.contains("<meta charset=\"utf-8\">"));
        assert!(!page.contains("http") && !page.contains("src="));
    }

    #[test]
    fn text_cannot_leave_its_element_or_attribute() {
        assert_eq!(
            escape("<b a=\"1\">&amp;</b>"),
            "&lt;b a=&quot;1&quot;&gt;&amp;amp;&lt;/b&gt;"
        );
        assert_eq!(escape("µs, 10 '%'"), "µs, 10 '%'");
    }
}
