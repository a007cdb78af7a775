//! States as shapes: a disc, a triangle, an octagon and a dashed ring, so that colour is never alone.

use crate::document::State;

/// The four shapes, once per page.
pub(super) const SYMBOLS: &str = concat!(
    r#"<svg width="0" height="0" class="vh" aria-hidden="true"><defs>"#,
    r#"<symbol id="s-good" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="currentColor"/>"#,
    r#"<path d="M4.2 8.3l2.6 2.6 5-5.4" fill="none" stroke="var(--bg)" stroke-width="2"/></symbol>"#,
    r#"<symbol id="s-warn" viewBox="0 0 16 16"><path d="M8 .8L16 15H0z" fill="currentColor"/>"#,
    r#"<path d="M8 5.6v4.6M8 11.4v1.9" stroke="var(--bg)" stroke-width="1.9"/></symbol>"#,
    r#"<symbol id="s-bad" viewBox="0 0 16 16"><path d="M4.7 0h6.6L16 4.7v6.6L11.3 16H4.7L0 11.3V4.7z" "#,
    r#"fill="currentColor"/><path d="M5 5l6 6M11 5l-6 6" stroke="var(--bg)" stroke-width="2"/></symbol>"#,
    r#"<symbol id="s-none" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="none" "#,
    r#"stroke="currentColor" stroke-width="2" stroke-dasharray="3 2.5"/></symbol></defs></svg>"#,
);

/// The class that colours a state.
pub(super) fn class(state: State) -> &'static str {
    match state {
        State::Good => "good",
        State::Look => "warn",
        State::Act => "bad",
        State::NotMeasured => "none",
    }
}

/// The colour of a state, for a picture; without one, that of the device.
pub(super) fn colour(state: Option<State>) -> &'static str {
    match state {
        Some(State::Good) => "var(--good)",
        Some(State::Look) => "var(--warn)",
        Some(State::Act) => "var(--bad)",
        Some(State::NotMeasured) => "var(--none)",
        None => "var(--bar)",
    }
}

/// The shape, with its word for those who do not see it.
pub(super) fn icon(state: State) -> String {
    let (class, word) = (class(state), state.word());
    format!(
        r##"<svg class="ic {class}" role="img" aria-label="{word}"><use href="#s-{class}"/></svg>"##
    )
}
