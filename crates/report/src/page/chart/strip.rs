//! Where samples lie about their median, all rows of a table on one axis.

use std::fmt::Write;

use crate::digits;
use crate::document::{Strip, StripScale};

const WIDTH: f64 = 170.0;
const MIDDLE: f64 = 85.0;
const HALF: f64 = 77.0;

/// Where the ratio `r` lies on the axis; beyond 1 it has left it.
pub(super) fn share(scale: StripScale, ratio: f64) -> f64 {
    match scale {
        StripScale::Within(share) => (ratio - 1.0) / share,
        StripScale::Times(times) => ratio.ln() / times.ln(),
    }
}

pub(super) fn at(scale: StripScale, ratio: f64) -> f64 {
    let share = share(scale, ratio);
    match share.is_nan() {
        true => MIDDLE,
        false => MIDDLE + share.clamp(-1.0, 1.0) * HALF,
    }
}

/// The picture of one row.
pub(crate) fn strip(strip: &Strip, scale: StripScale) -> String {
    let mut out = String::new();
    let sentence = match strip {
        Strip::Spread { low, high } => {
            let (x1, x2) = (at(scale, *low), at(scale, *high));
            let width = (x2 - x1).max(1.0);
            let _ = write!(
                out,
                r#"<rect class="spread" x="{x1:.1}" y="6" width="{width:.1}" height="8" rx="1"/>"#
            );
            if share(scale, *low) < -1.0 {
                out.push_str(r#"<path class="spread-end" d="M1 10l7-5v10z"/>"#);
            }
            if share(scale, *high) > 1.0 {
                out.push_str(r#"<path class="spread-end" d="M169 10l-7-5v10z"/>"#);
            }
            format!(
                "P5 {} to P95 {} about the median",
                digits::change(low - 1.0),
                digits::change(high - 1.0)
            )
        }
        Strip::Rings(samples) => {
            // Rings on one place are one ring.
            let mut places: Vec<i64> = samples.iter().map(|s| at(scale, *s) as i64).collect();
            places.sort_unstable();
            places.dedup();
            for x in places {
                let _ = write!(out, r#"<circle class="ring" cx="{x}" cy="10" r="3.2"/>"#);
            }
            match samples.len() {
                1 => "1 sample".to_owned(),
                count => format!("{count} samples, each a ring"),
            }
        }
    };
    if matches!(strip, Strip::Spread { .. }) {
        out.push_str(r#"<line class="median" x1="85" x2="85" y1="2" y2="18"/>"#);
    }
    format!(r#"<svg viewBox="0 0 170 20" role="img" aria-label="{sentence}">{out}</svg>"#)
}

/// The axis, once in the header; `middle` is the word at its middle.
pub(crate) fn scale_header(scale: StripScale, middle: &str) -> String {
    let (low, high) = match scale {
        StripScale::Within(share) => (digits::change(-share), digits::change(share)),
        StripScale::Times(times) => (fraction(times), format!("{}×", trimmed(times))),
    };
    let mut out = String::new();
    let ends = [
        (8.0, low, "start", 0.0),
        (MIDDLE, middle.to_owned(), "middle", MIDDLE),
    ];
    let last = (WIDTH - 8.0, high, "end", WIDTH);
    for (x, label, anchor, text_x) in ends.into_iter().chain([last]) {
        let _ = write!(
            out,
            r#"<line class="ax" x1="{x}" x2="{x}" y1="15" y2="20"/><text x="{text_x}" y="11" text-anchor="{anchor}">{label}</text>"#
        );
    }
    format!(r#"<svg viewBox="0 0 170 20" aria-hidden="true">{out}</svg>"#)
}

fn fraction(times: f64) -> String {
    match times {
        2.0 => "½×".to_owned(),
        4.0 => "¼×".to_owned(),
        8.0 => "⅛×".to_owned(),
        _ => format!("1/{}×", trimmed(times)),
    }
}

fn trimmed(times: f64) -> String {
    let text = digits::to_digits(times, 3);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_and_the_axis_has_ends() {
        let scale = StripScale::Within(0.05);
        assert_eq!(at(scale, 1.0), MIDDLE);
        assert_eq!(at(scale, 1.05), MIDDLE + HALF);
        assert_eq!(at(scale, 9.0), MIDDLE + HALF);
        assert_eq!(at(StripScale::Times(2.0), 0.5), MIDDLE - HALF);
        assert_eq!(at(StripScale::Times(2.0), f64::NAN), MIDDLE);
    }

    #[test]
    fn what_leaves_the_axis_has_an_arrow() {
        let inside = Strip::Spread {
            low: 0.99,
            high: 1.01,
        };
        let outside = Strip::Spread {
            low: 0.99,
            high: 4.1,
        };
        let scale = StripScale::Within(0.05);
        assert!(!strip(&inside, scale).contains("spread-end"));
        assert_eq!(strip(&outside, scale).matches("spread-end").count(), 1);
        assert!(strip(&outside, scale).contains("P5 −1 % to P95 +310 % about the median"));
    }

    #[test]
    fn few_samples_are_rings_and_have_no_median() {
        let rings = strip(
            &Strip::Rings(vec![1.0, 0.98, 1.03]),
            StripScale::Within(0.05),
        );
        assert_eq!(rings.matches(r#"class="ring""#).count(), 3);
        assert!(!rings.contains("median\""));
    }

    #[test]
    fn the_header_says_the_scale() {
        let header = scale_header(StripScale::Times(4.0), "1×");
        assert!(header.contains(">¼×<") && header.contains(">4×<") && header.contains(">1×<"));
        assert!(scale_header(StripScale::Within(0.05), "P50").contains(">−5 %<"));
    }
}
