//! Words on the page: escaped, with `code` between backticks, and with places where a long word may
//! break so that no name is wider than a phone.

use warpsmith_formats::html::escape;

/// Longest run of characters that must fit on one line.
const LONGEST_WORD: usize = 18;

/// `text` as markup, with what stands between backticks as code.
pub(super) fn inline(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of backticks is text that merely contains one.
    if parts.len().is_multiple_of(2) {
        return plain(text);
    }
    let markup = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => plain(part),
        _ => format!("<code>{}</code>", plain(part)),
    });
    markup.collect()
}

/// `text` as markup, without any code in it.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 {
            out.push(' ');
        }
        match word.chars().count() > LONGEST_WORD {
            true => out.push_str(&breakable(word)),
            false => out.push_str(&escape(word)),
        }
    }
    out
}

/// Breaks are offered behind what joins the parts of a name, and at last anywhere.
fn breakable(word: &str) -> String {
    let mut out = String::with_capacity(word.len() * 2);
    let mut run = 0;
    for c in word.chars() {
        out.push_str(&escape(c.encode_utf8(&mut [0; 4])));
        run += 1;
        let joint = matches!(c, '/' | '-' | '_' | '.' | ',' | ':' | '=' | '\\') && run >= 6;
        if joint || run == LONGEST_WORD {
            out.push_str("<wbr>");
            run = 0;
        }
    }
    out
}

/// Letters without marks, as long as a phone shows: `64 GB` has 5.
pub(super) fn length(text: &str) -> usize {
    text.chars().filter(|c| *c != '`').count()
}

/// The same with its first letter in upper case, at the start of a sentence.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_code_is_marked() {
        assert_eq!(
            inline("run `a < b` & \"go\""),
            "run <code>a &lt; b</code> &amp; &quot;go&quot;"
        );
        assert_eq!(inline("one ` backtick"), "one ` backtick");
        assert_eq!(inline("`<script>`"), "<code>&lt;script&gt;</code>");
    }

    #[test]
    fn long_words_may_break_and_short_ones_do_not() {
        assert_eq!(plain("lattice/catalytic"), "lattice/catalytic");
        assert_eq!(
            plain("training/layer-norm-gelu"),
            "training/<wbr>layer-<wbr>norm-gelu"
        );
        let endless = plain(&"x".repeat(200));
        let parts: Vec<&str> = endless.split("<wbr>").collect();
        assert!(parts.iter().all(|part| part.len() <= LONGEST_WORD));
        // A break never falls inside an escaped character.
        assert!(!plain(&"<".repeat(40)).replace("&lt;", "").contains('&'));
    }

    #[test]
    fn a_sentence_begins_in_upper_case() {
        assert_eq!(sentence("fit to measure"), "Fit to measure");
        assert_eq!(sentence(""), "");
    }
}
