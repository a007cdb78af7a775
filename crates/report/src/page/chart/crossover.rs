//! CPU against GPU over the size: dashed with squares, solid with circles, and a band where the
//! faster one changes.

use std::fmt::Write;

use warpsmith_formats::html::escape;

use crate::document::{Crossover, CrossoverLine};
use crate::page::inline::{inline, plain};

use super::figure::captioned;
use super::plane::{Plane, polyline};
use super::text_width::{bold_width, shortened};

const FONT: f64 = 13.0;

/// One small chart.
pub(super) fn crossover(chart: &Crossover) -> String {
    let caption = format!("<b>{}</b> {}", plain(&chart.name), inline(&chart.caption));
    let all = chart.lines.iter().flat_map(|line| line.points.iter());
    let Some((plane, (x0, x1))) = Plane::of_times((290.0, 190.0), FONT, all, 1.0) else {
        return captioned("", &caption);
    };
    let mut out = plane.axes(&chart.unit, false);
    if let Some((from, to)) = chart.band
        && from > 0.0
        && to > 0.0
    {
        let (left, right) = (plane.at_x(from.max(x0)), plane.at_x(to.min(x1)));
        let _ = write!(
            out,
            r#"<rect class="band" x="{left:.1}" y="{:.1}" width="{:.1}" height="{:.1}"/>"#,
            plane.top,
            (right - left).max(2.0),
            plane.bottom - plane.top
        );
    }
    let mut ends = Vec::new();
    for line in &chart.lines {
        let points: Vec<(f64, f64)> = line
            .points
            .iter()
            .filter(|(x, y)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite())
            .map(|(x, y)| plane.at(*x, *y))
            .collect();
        draw(&mut out, line.gpu, &points);
        if let Some(end) = points.last() {
            ends.push((line, *end));
        }
    }
    label_ends(&mut out, &plane, &mut ends);
    let sentence = format!("{}: time against size; {}", chart.name, chart.caption);
    captioned(&plane.svg("sm", &sentence, &out), &caption)
}

fn draw(out: &mut String, gpu: bool, points: &[(f64, f64)]) {
    let class = if gpu { "gl" } else { "cl" };
    let _ = write!(
        out,
        r#"<polyline class="{class}" points="{}"/>"#,
        polyline(points)
    );
    for (x, y) in points {
        let _ = match gpu {
            true => write!(
                out,
                r#"<circle class="gd" cx="{x:.1}" cy="{y:.1}" r="2.9"/>"#
            ),
            false => write!(
                out,
                r#"<rect class="cd" x="{:.1}" y="{:.1}" width="5.2" height="5.2"/>"#,
                x - 2.6,
                y - 2.6
            ),
        };
    }
}

/// Names at the right ends, above their lines; the lowest of two that are close stands below.
fn label_ends(out: &mut String, plane: &Plane, ends: &mut [(&CrossoverLine, (f64, f64))]) {
    ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let mut free_from = f64::NEG_INFINITY;
    for (line, (x, y)) in ends.iter() {
        let above = y - 9.0;
        let wanted = match above - FONT < free_from {
            true => (y + FONT + 6.0).max(free_from + FONT),
            false => above,
        };
        let at_y = wanted.clamp(plane.top + FONT * 0.8, plane.bottom - 3.0);
        free_from = at_y + 3.0;
        let label = shortened(&line.label, FONT, 90.0);
        let at_x = (x - 6.0).max(plane.left + bold_width(&label, FONT));
        let class = if line.gpu { "gpu" } else { "cpu" };
        let _ = write!(
            out,
            r#"<text class="halo b {class}" x="{at_x:.1}" y="{at_y:.1}" text-anchor="end">{}</text>"#,
            escape(&label)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Crossover {
        Crossover {
            name: "lattice/bfs".to_owned(),
            unit: "edge of the cube".to_owned(),
            lines: vec![
                CrossoverLine {
                    label: "CPU".to_owned(),
                    gpu: false,
                    points: points.clone(),
                },
                CrossoverLine {
                    label: "GPU".to_owned(),
                    gpu: true,
                    points,
                },
            ],
            band: Some((32.0, 64.0)),
            caption: "GPU faster from 64 on".to_owned(),
        }
    }

    #[test]
    fn devices_differ_in_dash_and_marker() {
        let svg = crossover(&chart(vec![(8.0, 1e-6), (128.0, 1e-2)]));
        assert!(svg.contains(r#"class="cl""#) && svg.contains(r#"class="gl""#));
        assert_eq!(svg.matches(r#"class="cd""#).count(), 2);
        assert_eq!(svg.matches(r#"class="gd""#).count(), 2);
        assert!(svg.contains(r#"class="band""#) && svg.contains("edge of the cube"));
    }

    #[test]
    fn labels_of_equal_ends_stand_apart() {
        let svg = crossover(&chart(vec![(8.0, 1e-6), (128.0, 1e-4)]));
        let heights: Vec<f64> = svg
            .split(r#"<text class="halo b "#)
            .skip(1)
            .filter_map(|t| t.split("y=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert!((heights[0] - heights[1]).abs() >= FONT, "{heights:?}");
    }

    #[test]
    fn no_points_and_one_point_are_not_a_failure() {
        assert!(!crossover(&chart(Vec::new())).contains("<svg"));
        let one = crossover(&chart(vec![(8.0, 1e-6), (f64::NAN, 0.0)]));
        assert!(one.contains("<svg") && !one.contains("NaN") && !one.contains("inf"));
    }
}
