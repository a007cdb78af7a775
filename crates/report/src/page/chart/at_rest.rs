//! A reading over time on its full scale: an idle machine must look idle.

use std::fmt::Write;

use crate::document::AtRestPanel;
use crate::page::inline::{inline, plain};

use super::axis::Unit;
use super::figure::captioned;
use super::plane::{Plane, Scale, polyline};

const FONT: f64 = 13.0;
/// More points than the picture has pixels say nothing more.
const MOST_POINTS: usize = 300;

/// One panel with its caption.
pub(super) fn panel(panel: &AtRestPanel) -> String {
    let caption = format!("<b>{}</b> {}", plain(&panel.title), inline(&panel.note));
    let (low, high) = panel.range;
    if high <= low || !(high - low).is_finite() {
        return captioned("", &caption);
    }
    let times = panel.points.iter().map(|(second, _)| *second);
    let last = times.filter(|t| t.is_finite()).fold(0.0, f64::max);
    let mut plane = Plane::new(
        (380.0, 128.0),
        FONT,
        // To the whole second, so that the last tick is there.
        Scale {
            unit: Unit::Seconds,
            ..Scale::linear(0.0, last.ceil().max(1.0))
        },
        Scale::linear(low, high),
    );
    // The unit stands in the labels: there is only time below.
    plane.bottom = plane.height - FONT * 1.6;
    let mut out = plane.axes("", false);
    if let Some((from, to)) = panel.good {
        let (from, to) = (from.clamp(low, high), to.clamp(low, high));
        let (top, bottom) = (plane.at_y(to), plane.at_y(from));
        let _ = write!(
            out,
            r#"<rect class="quiet" x="{:.1}" y="{top:.1}" width="{:.1}" height="{:.1}"/>"#,
            plane.left,
            plane.right - plane.left,
            (bottom - top).max(0.0)
        );
    }
    let points: Vec<(f64, f64)> = thinned(&panel.points)
        .map(|(second, value)| plane.at(second, value.clamp(low, high)))
        .collect();
    let _ = write!(
        out,
        r#"<polyline class="gl thin" points="{}"/>"#,
        polyline(&points)
    );
    let sentence = format!("{}: {}", panel.title, panel.note);
    captioned(&plane.svg("sm", &sentence, &out), &caption)
}

/// The largest value of each stretch, so that no peak is lost.
fn thinned(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    let stretch = points.len().div_ceil(MOST_POINTS).max(1);
    points.chunks(stretch).filter_map(|chunk| {
        let numbers = chunk.iter().filter(|(t, v)| t.is_finite() && v.is_finite());
        numbers.copied().max_by(|a, b| a.1.total_cmp(&b.1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_survives_thinning() {
        let mut points: Vec<(f64, f64)> = (0..5000).map(|n| (f64::from(n), 1.0)).collect();
        points[2717].1 = 99.0;
        let kept: Vec<(f64, f64)> = thinned(&points).collect();
        assert!(kept.len() <= MOST_POINTS && kept.iter().any(|p| p.1 == 99.0));
    }

    #[test]
    fn an_empty_panel_is_its_caption_or_an_empty_scale() {
        let empty = AtRestPanel {
            title: "Power, W".to_owned(),
            note: "no reading".to_owned(),
            range: (0.0, 700.0),
            good: Some((-5.0, 9000.0)),
            points: vec![(f64::NAN, 1.0)],
        };
        let drawn = panel(&empty);
        assert!(drawn.contains(">600<") && !drawn.contains("NaN"));
        let broken = AtRestPanel {
            range: (1.0, 1.0),
            ..empty
        };
        assert!(!panel(&broken).contains("<svg"));
    }
}
