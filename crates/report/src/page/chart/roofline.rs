//! Workloads below the machine's two ceilings, both axes logarithmic.

use std::fmt::Write;

use warpsmith_formats::html::escape;

use crate::document::{Roof, RoofPoint, Roofline};
use crate::page::inline::inline;

use super::axis::{Unit, rounded_out};
use super::figure::captioned;
use super::labels::{self, Area, DESK, PHONE, along};
use super::plane::{Plane, Scale, polyline, positive_range};
use super::text_width::{bold_width, shortened};

/// The picture with its legend; the caption alone where there is nothing to draw.
pub(super) fn roofline(roofline: &Roofline) -> String {
    let usable = |v: f64| v.is_finite() && v > 0.0;
    let Roofline {
        memory, arithmetic, ..
    } = roofline;
    if !usable(memory.measured) || !usable(arithmetic.measured) {
        return captioned("", &inline(&roofline.caption));
    }
    // There is no zero on a logarithmic axis: work without arithmetic is in the table.
    let points: Vec<&RoofPoint> = roofline
        .points
        .iter()
        .filter(|p| usable(p.intensity) && usable(p.rate))
        .collect();
    let plane = plane(memory, arithmetic, &points);
    let mut out = plane.axes("flop per byte of memory", true);
    let _ = write!(
        out,
        r#"<text class="halo" x="{:.1}" y="{:.1}">flop/s</text>"#,
        plane.left + 5.0,
        plane.top + PHONE * 0.95
    );
    if let (Some(bytes), Some(flops)) = (memory.datasheet, arithmetic.datasheet) {
        let corners = roof(&plane, bytes, flops);
        let _ = write!(
            out,
            r#"<polyline class="sheet" points="{}"/>"#,
            polyline(&corners)
        );
    }
    let corners = roof(&plane, memory.measured, arithmetic.measured);
    let _ = write!(
        out,
        r#"<polyline class="roof" points="{}"/>"#,
        polyline(&corners)
    );
    let mut taken = flat_label(&mut out, &plane, &arithmetic.label, corners[1]);
    let places: Vec<(f64, f64)> = points
        .iter()
        .map(|p| plane.at(p.intensity, p.rate))
        .collect();
    taken.extend(slope_label(&mut out, &memory.label, &corners, &places));

    let families = families(&points);
    let named: Vec<((f64, f64), &str)> = places
        .iter()
        .zip(&points)
        .map(|(place, point)| (*place, short_name(&point.name)))
        .collect();
    let bounds = Area {
        left: plane.left,
        top: plane.top,
        right: plane.width,
        bottom: plane.bottom,
    };
    let lines: Vec<Area> = corners
        .windows(2)
        .flat_map(|w| along(w[0], w[1], 2.0))
        .collect();
    let labels = labels::place(&named, bounds, &taken, &lines);
    for (((x, y), _), point) in named.iter().zip(&points) {
        let kind = families
            .iter()
            .position(|f| *f == family(&point.name))
            .unwrap_or(0);
        let _ = write!(
            out,
            "<g><title>{}</title>{}</g>",
            escape(&point.name),
            marker(kind, *x, *y)
        );
    }
    for (place, (_, text)) in labels.iter().zip(&named) {
        let Some(place) = place else { continue };
        let class = if place.desk_only {
            "ink halo hp"
        } else {
            "ink halo"
        };
        let _ = write!(
            out,
            r#"<text class="{class}" x="{:.1}" y="{:.1}" text-anchor="{}">{}</text>"#,
            place.x,
            place.y,
            place.anchor,
            escape(text)
        );
    }
    let sentence = format!(
        "roofline: arithmetic rate against flop per byte; {} workloads under {} and {}",
        points.len(),
        memory.label,
        arithmetic.label
    );
    let unnamed = labels.iter().filter(|place| place.is_none()).count();
    captioned(
        &plane.svg("roofline", &sentence, &out),
        &legend(&families, unnamed, &roofline.caption),
    )
}

fn plane(memory: &Roof, arithmetic: &Roof, points: &[&RoofPoint]) -> Plane {
    let ridge = arithmetic.measured / memory.measured;
    let intensities = points
        .iter()
        .map(|p| p.intensity)
        .chain([ridge / 8.0, ridge * 4.0]);
    let top = arithmetic.measured.max(arithmetic.datasheet.unwrap_or(0.0));
    let rates = points
        .iter()
        .map(|p| p.rate)
        .chain([top, arithmetic.measured / 50.0]);
    // Half a marker beyond each end, before the axes are extended to decades.
    let (x0, x1) = positive_range(intensities).unwrap_or((0.1, 100.0));
    let (y0, y1) = positive_range(rates).unwrap_or((1e9, 1e12));
    let (x0, x1) = rounded_out(x0 / 1.1, x1 * 1.1);
    let (y0, y1) = rounded_out(y0 / 1.2, y1 * 1.05);
    Plane::new(
        (700.0, 400.0),
        PHONE,
        Scale::log(x0, x1, Unit::Plain),
        Scale::log(y0, y1, Unit::Plain),
    )
}

/// The corners of a roof inside the plane: its foot, its ridge and its right end.
fn roof(plane: &Plane, bytes: f64, flops: f64) -> [(f64, f64); 3] {
    let foot = plane.x.low.max(plane.y.low / bytes);
    [
        plane.at(foot, bytes * foot),
        plane.at(flops / bytes, flops),
        plane.at(plane.x.high, flops),
    ]
}

/// The value of the arithmetic roof, above its right end; answers with the place that it takes.
fn flat_label(out: &mut String, plane: &Plane, label: &str, ridge: (f64, f64)) -> Vec<Area> {
    let text = shortened(label, PHONE * 1.13, plane.right - plane.left - 80.0);
    let above = ridge.1 - 7.0;
    let y = if above - PHONE < plane.top - 4.0 {
        ridge.1 + 17.0
    } else {
        above
    };
    let _ = write!(
        out,
        r#"<text class="ink b halo" x="{:.1}" y="{y:.1}" text-anchor="end">{}</text>"#,
        plane.right,
        label_markup(&text)
    );
    vec![Area {
        left: plane.right - shown_width(&text),
        top: y - PHONE,
        right: plane.right,
        bottom: y + 4.0,
    }]
}

/// The value of the memory roof, along its slope where no point is in its way.
fn slope_label(
    out: &mut String,
    label: &str,
    corners: &[(f64, f64); 3],
    points: &[(f64, f64)],
) -> Vec<Area> {
    let (foot, ridge) = (corners[0], corners[1]);
    let (dx, dy) = (ridge.0 - foot.0, ridge.1 - foot.1);
    let length = dx.hypot(dy);
    let text = shortened(label, PHONE * 1.13, (length - 12.0).max(60.0));
    let half = shown_width(&text) / 2.0;
    // The line's normal, on its upper side.
    let (nx, ny) = (dy / length * 9.0, -dx / length * 9.0);
    let at = |share: f64| {
        let middle = (foot.0 + dx * share + nx, foot.1 + dy * share + ny);
        let (ux, uy) = (dx / length * half, dy / length * half);
        let ends = [
            (middle.0 - ux, middle.1 - uy),
            (middle.0 + ux, middle.1 + uy),
        ];
        let area = along(ends[0], ends[1], 9.0);
        let hit = |(x, y): &(f64, f64)| {
            let marker = Area::about(*x, *y, 6.0);
            area.iter().filter(|a| a.touches(&marker)).count()
        };
        (points.iter().map(hit).sum::<usize>(), middle, area)
    };
    // Where it covers least, from the upper part of the slope on.
    let margin = (half / length).min(0.5);
    let shares = [0.64, 0.7, 0.58, 0.76, 0.5, 0.82, 0.42, 0.34, 0.26];
    let places = shares.map(|share: f64| at(share.clamp(margin, 1.0 - margin)));
    let best = places.into_iter().min_by_key(|(hits, ..)| *hits);
    let Some((_, (x, y), area)) = best else {
        return Vec::new();
    };
    let angle = dy.atan2(dx).to_degrees();
    let _ = write!(
        out,
        r#"<text class="ink b halo" x="{x:.1}" y="{y:.1}" transform="rotate({angle:.1} {x:.1} {y:.1})" text-anchor="middle">{}</text>"#,
        label_markup(&text)
    );
    area
}

/// A label and the word behind it that a phone has no room for.
fn short_measured(label: &str) -> (&str, &str) {
    const SUFFIX: &str = ", measured";
    match label.strip_suffix(SUFFIX) {
        Some(short) => (short, SUFFIX),
        None => (label, ""),
    }
}

/// The wider of what a phone shows, in large, and of what a desk shows, in full.
fn shown_width(label: &str) -> f64 {
    let phone = bold_width(short_measured(label).0, PHONE);
    phone.max(bold_width(label, DESK))
}

fn label_markup(label: &str) -> String {
    match short_measured(label) {
        (short, "") => escape(short),
        (short, suffix) => format!(r#"{}<tspan class="hp">{suffix}</tspan>"#, escape(short)),
    }
}

fn family(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

fn short_name(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, rest)| rest)
}

fn families<'a>(points: &[&'a RoofPoint]) -> Vec<&'a str> {
    let mut found: Vec<&str> = points.iter().map(|p| family(&p.name)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A shape and a colour per family; from the seventh on, the next shape in the same colour.
fn marker(kind: usize, x: f64, y: f64) -> String {
    let colour = kind % 6 + 1;
    let fill = format!(r#"fill="var(--f{colour})""#);
    match (kind + kind / 6) % 6 {
        0 => format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="4.3" {fill}/>"#),
        1 => format!(
            r#"<rect x="{:.1}" y="{:.1}" width="8" height="8" {fill}/>"#,
            x - 4.0,
            y - 4.0
        ),
        2 => format!(r#"<path d="M{x:.1} {:.1}l5 9h-10z" {fill}/>"#, y - 5.2),
        3 => format!(
            r#"<path d="M{x:.1} {:.1}l5.6 5.6-5.6 5.6-5.6-5.6z" {fill}/>"#,
            y - 5.6
        ),
        4 => format!(
            r#"<path d="M{:.1} {:.1}l8 8m0-8l-8 8" stroke="var(--f{colour})" stroke-width="2.4"/>"#,
            x - 4.0,
            y - 4.0
        ),
        _ => format!(r#"<path d="M{x:.1} {:.1}l5-9h-10z" {fill}/>"#, y + 5.2),
    }
}

fn legend(families: &[&str], unnamed: usize, caption: &str) -> String {
    let mut out = String::new();
    for (kind, name) in families.iter().enumerate() {
        let _ = write!(
            out,
            r#"<span class="key"><svg viewBox="0 0 14 14" aria-hidden="true">{}</svg> {}</span> "#,
            marker(kind, 7.0, 7.0),
            escape(name)
        );
    }
    match unnamed {
        0 => {}
        1 => out.push_str("1 point has no room for its name; it is in the table. "),
        n => {
            let _ = write!(
                out,
                "{n} points have no room for their names; they are in the table. "
            );
        }
    }
    out + &inline(caption)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roof_of(measured: f64, label: &str) -> Roof {
        Roof {
            measured,
            label: label.to_owned(),
            datasheet: Some(measured * 1.1),
        }
    }

    fn drawn(points: Vec<RoofPoint>) -> String {
        roofline(&Roofline {
            memory: roof_of(4.29e12, "copy 4.29 TB/s, measured"),
            arithmetic: roof_of(65.2e12, "FP32 65.2 Tflop/s, measured"),
            points,
            caption: "Dashed: datasheet.".to_owned(),
        })
    }

    fn point(name: &str, intensity: f64, rate: f64) -> RoofPoint {
        RoofPoint {
            name: name.to_owned(),
            intensity,
            rate,
        }
    }

    #[test]
    fn every_workload_with_arithmetic_is_a_point_with_its_name() {
        let svg = drawn(vec![
            point("device/saxpy", 0.17, 5.6e11),
            point("training/matmul", 160.0, 5.8e13),
            point("device/copy", 0.0, 0.0),
            point("voice/<script>", 3.0, f64::NAN),
        ]);
        assert_eq!(svg.matches("<title>").count(), 2);
        assert!(svg.contains(">saxpy<") && svg.contains(">matmul<"));
        assert!(!svg.contains("NaN") && !svg.contains("<script"));
        assert!(
            svg.contains(">100T<") && svg.contains(">0.1<"),
            "round ticks"
        );
        assert!(svg.contains(r#"<tspan class="hp">, measured</tspan>"#));
    }

    #[test]
    fn without_roofs_the_caption_stays() {
        let bare = roofline(&Roofline {
            memory: roof_of(0.0, "none"),
            arithmetic: roof_of(f64::NAN, "none"),
            points: Vec::new(),
            caption: "not measured".to_owned(),
        });
        assert!(bare.contains("not measured") && !bare.contains("<svg"));
    }

    #[test]
    fn seven_families_have_seven_looks() {
        let looks: Vec<String> = (0..12).map(|kind| marker(kind, 0.0, 0.0)).collect();
        for (n, look) in looks.iter().enumerate() {
            assert!(!looks[..n].contains(look), "{n}: {look}");
        }
    }
}
