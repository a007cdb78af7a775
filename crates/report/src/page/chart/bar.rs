//! A share as a bar.

use crate::document::State;
use crate::page::icon::colour;

/// A bar that is full from 1 on; its text stands beside it, so it says nothing by itself.
pub(crate) fn bar(share: f64, state: Option<State>) -> String {
    let filled = match share.is_finite() {
        true => share.clamp(0.0, 1.0) * 110.0,
        false => 0.0,
    };
    format!(
        r#"<svg viewBox="0 0 110 14" preserveAspectRatio="none" aria-hidden="true"><rect y="3" width="110" height="8" rx="2" fill="var(--nonebg)"/><rect y="3" width="{filled:.1}" height="8" rx="2" fill="{}"/></svg>"#,
        colour(state)
    )
}
