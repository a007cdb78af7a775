//! Ratios as dots: filled alone, hollow among all others, and a grey band where nothing changes.

use std::fmt::Write;

use crate::digits;
use crate::document::{State, StripScale};
use crate::page::icon::colour;

use super::strip::{at, share};

/// The picture of one row.
pub(crate) fn dots(
    alone: f64,
    among: Option<f64>,
    state: Option<State>,
    scale: StripScale,
) -> String {
    let (low, high) = (at(scale, 0.99), at(scale, 1.01));
    let mut out = format!(
        r#"<rect class="no-change" x="{low:.1}" y="0" width="{:.1}" height="20"/>"#,
        (high - low).max(1.5)
    );
    // A technique that changes nothing is grey.
    let colour = colour(state.or(Some(State::NotMeasured)));
    let mut dot = |ratio: f64, fill: &str| {
        if !ratio.is_finite() || ratio <= 0.0 {
            return;
        }
        let x = at(scale, ratio);
        let _ = match share(scale, ratio) {
            s if s > 1.0 => write!(out, r#"<path d="M{x:.1} 5l7 5-7 5z" fill="{colour}"/>"#),
            s if s < -1.0 => write!(out, r#"<path d="M{x:.1} 5l-7 5 7 5z" fill="{colour}"/>"#),
            _ => write!(
                out,
                r#"<circle cx="{x:.1}" cy="10" r="4" fill="{fill}" stroke="{colour}" stroke-width="1.8"/>"#
            ),
        };
    };
    if let Some(among) = among {
        dot(among, "var(--bg)");
    }
    dot(alone, colour);
    let others = among.map_or(String::new(), |ratio| {
        format!(", {} among all others", digits::ratio(ratio))
    });
    format!(
        r#"<svg viewBox="0 0 170 20" role="img" aria-label="{} alone{others}">{out}</svg>"#,
        digits::ratio(alone)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hollow_dot_lies_below_the_filled_one() {
        let drawn = dots(2.42, Some(2.36), Some(State::Good), StripScale::Times(4.0));
        assert!(
            drawn
                .find("var(--bg)")
                .is_some_and(|hollow| hollow < drawn.rfind("<circle").unwrap_or(0))
        );
        assert!(drawn.contains("2.42× alone, 2.36× among all others"));
    }

    #[test]
    fn a_ratio_beyond_the_axis_is_an_arrow_and_no_number_is_nothing() {
        assert!(!dots(9.0, None, None, StripScale::Times(4.0)).contains("<circle"));
        let nothing = dots(f64::NAN, None, None, StripScale::Times(4.0));
        assert!(!nothing.contains("NaN") && !nothing.contains("<circle"));
    }
}
