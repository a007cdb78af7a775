//! A fitted law through the points that it was fitted to.

use std::fmt::Write;

use warpsmith_formats::html::escape;

use crate::document::LawPlot;

use super::plane::{Plane, polyline};
use super::text_width::shortened;

const FONT: f64 = 13.0;

/// The picture; empty where there is nothing to draw.
pub(super) fn law(plot: &LawPlot) -> String {
    let all = plot.points.iter().chain(&plot.curve);
    let Some((plane, _)) = Plane::of_times((440.0, 165.0), FONT, all, 1.15) else {
        return String::new();
    };
    let mut out = plane.axes(&plot.unit, false);
    let place = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let usable = points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0);
        usable.map(|(x, y)| plane.at(*x, *y)).collect()
    };
    if !plot.curve.is_empty() {
        let _ = write!(
            out,
            r#"<polyline class="law" points="{}"/>"#,
            polyline(&place(&plot.curve))
        );
    }
    for (x, y) in place(&plot.points) {
        let _ = write!(
            out,
            r#"<circle class="gd" cx="{x:.1}" cy="{y:.1}" r="3.4"/>"#
        );
    }
    // Times rise with the size, so the upper left is free.
    let _ = write!(
        out,
        r#"<text class="ink halo" x="{:.1}" y="{:.1}">{}</text>"#,
        plane.left + 12.0,
        plane.top + FONT * 1.6,
        escape(&shortened(
            &plot.formula,
            FONT,
            plane.right - plane.left - 12.0
        ))
    );
    let sentence = match plot.formula.is_empty() {
        true => format!("time against {}, {} sizes", plot.unit, plot.points.len()),
        false => format!("{} through {} sizes", plot.formula, plot.points.len()),
    };
    plane.svg("sm law", &sentence, &out)
}
