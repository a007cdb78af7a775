//! How wide a text is, before a browser knows its font.

/// Width of `text` at `size` pixels in a wide sans-serif font, so that a label that fits by this
/// measure fits on every system.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// The same for bold text.
pub(super) fn bold_width(text: &str, size: f64) -> f64 {
    text_width(text, size) * 1.13
}

/// Shares of the font's size, those of DejaVu Sans, the widest of the usual system fonts.
fn em(c: char) -> f64 {
    match c {
        ' ' | '.' | ',' | '\'' | 'i' | 'j' | 'l' | '|' | '·' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.97,
        '+' | '=' | '<' | '>' | '×' | '−' | '±' | '→' => 0.84,
        c if c.is_uppercase() => 0.72,
        c if c.is_ascii() => 0.64,
        c if (c as u32) < 0x2000 => 0.66,
        // Scripts from here on may be as wide as they are high.
        _ => 1.0,
    }
}

/// `text`, or as much of it as `width` holds with an ellipsis behind it.
pub(super) fn shortened(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let room = width - text_width("…", size);
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept, size) > room {
            kept.pop();
            break;
        }
    }
    kept.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_fits() {
        assert_eq!(shortened("Numba", 12.0, 100.0), "Numba");
        let name = "a program with a name that is far too long for any axis";
        let short = shortened(name, 12.0, 120.0);
        assert!(
            short.ends_with('…') && text_width(&short, 12.0) <= 120.0,
            "{short}"
        );
        assert_eq!(shortened("mmmm", 12.0, 0.0), "…");
    }
}
