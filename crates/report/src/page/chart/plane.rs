//! A plane between two axes: where a value lies in the box, the grid, and labels that stay inside.

use std::fmt::Write;

use warpsmith_formats::html::escape;

use super::axis::{self, Unit};
use super::text_width::text_width;

/// How an axis maps its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) logarithmic: bool,
    pub(super) unit: Unit,
}

impl Scale {
    pub(super) fn log(low: f64, high: f64, unit: Unit) -> Self {
        Self {
            low,
            high,
            logarithmic: true,
            unit,
        }
    }

    pub(super) fn linear(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            logarithmic: false,
            unit: Unit::Plain,
        }
    }

    /// 0 at the low end and 1 at the high one.
    fn share(&self, value: f64) -> f64 {
        match self.logarithmic {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let at = match self.logarithmic {
            true => axis::logarithmic(self.low, self.high),
            false => axis::linear(self.low, self.high),
        };
        let labelled = at
            .into_iter()
            .map(|value| (value, axis::label(value, self.unit)));
        labelled.collect()
    }
}

/// A box with axes; its text is at most `font` pixels high, on a phone.
#[derive(Clone, Debug)]
pub(super) struct Plane {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) font: f64,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Plane {
    /// A plane whose left margin holds the labels of its vertical axis.
    pub(super) fn new(size: (f64, f64), font: f64, x: Scale, y: Scale) -> Self {
        let labels = y.ticks();
        let widest = labels.iter().map(|(_, label)| text_width(label, font));
        let (width, height) = size;
        Self {
            width,
            height,
            left: widest.fold(20.0, f64::max) + 7.0,
            right: width - 8.0,
            top: font * 0.65,
            bottom: height - font * 2.5,
            font,
            x,
            y,
        }
    }

    /// A plane of seconds over sizes that holds all these points, and a factor beyond the sizes on either side; with
    /// the range of the sizes. Nothing where there is no point.
    pub(super) fn of_times<'p>(
        size: (f64, f64),
        font: f64,
        points: impl Iterator<Item = &'p (f64, f64)> + Clone,
        beyond: f64,
    ) -> Option<(Self, (f64, f64))> {
        let (x0, x1) = positive_range(points.clone().map(|(size, _)| *size))?;
        let (y0, y1) = positive_range(points.map(|(_, seconds)| *seconds))?;
        let (x0, x1) = if x1 > x0 {
            (x0, x1)
        } else {
            (x0 / 2.0, x1 * 2.0)
        };
        let (y0, y1) = axis::rounded_out(y0, y1);
        let x = Scale::log(x0 / beyond, x1 * beyond, Unit::Plain);
        let plane = Self::new(size, font, x, Scale::log(y0, y1, Unit::Seconds));
        Some((plane, (x0, x1)))
    }

    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.at_x(x), self.at_y(y))
    }

    pub(super) fn at_x(&self, value: f64) -> f64 {
        self.left + self.x.share(value) * (self.right - self.left)
    }

    pub(super) fn at_y(&self, value: f64) -> f64 {
        self.bottom - self.y.share(value) * (self.bottom - self.top)
    }

    /// Both axes with their grid; `unit` stands once, below the end of the horizontal one.
    pub(super) fn axes(&self, unit: &str, vertical_grid: bool) -> String {
        let Self {
            left,
            right,
            top,
            bottom,
            ..
        } = *self;
        let mut out = String::new();
        for (value, label) in self.y.ticks() {
            let y = self.at_y(value);
            let _ = write!(
                out,
                r#"<line class="gr" x1="{left:.1}" x2="{right:.1}" y1="{y:.1}" y2="{y:.1}"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
                left - 5.0,
                y + self.font * 0.33,
                escape(&label)
            );
        }
        // Labels that would touch the one before them are left out.
        let mut free_from = f64::NEG_INFINITY;
        for (value, label) in self.x.ticks() {
            let x = self.at_x(value);
            let (y1, y2, class) = match vertical_grid {
                true => (top, bottom, "gr"),
                false => (bottom, bottom + 4.0, "ax"),
            };
            let _ = write!(
                out,
                r#"<line class="{class}" x1="{x:.1}" x2="{x:.1}" y1="{y1:.1}" y2="{y2:.1}"/>"#
            );
            let half = text_width(&label, self.font) / 2.0;
            let middle = x.clamp(half, (self.width - half).max(half));
            if middle - half < free_from + 4.0 {
                continue;
            }
            free_from = middle + half;
            let _ = write!(
                out,
                r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + self.font * 1.15,
                escape(&label)
            );
        }
        let _ = write!(
            out,
            r#"<line class="ax" x1="{left:.1}" x2="{right:.1}" y1="{bottom:.1}" y2="{bottom:.1}"/><text x="{right:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
            self.height - self.font * 0.25,
            escape(&super::text_width::shortened(unit, self.font, right))
        );
        out
    }

    /// The picture around `content`, with a sentence for those who do not see it.
    pub(super) fn svg(&self, class: &str, sentence: &str, content: &str) -> String {
        format!(
            r#"<svg class="chart {class}" viewBox="0 0 {} {}" role="img" aria-label="{}">{content}</svg>"#,
            self.width,
            self.height,
            escape(sentence)
        )
    }
}

/// Points of a line, those that are numbers.
pub(super) fn polyline(points: &[(f64, f64)]) -> String {
    let finite = points
        .iter()
        .filter(|(x, y)| x.is_finite() && y.is_finite());
    let text: Vec<String> = finite.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    text.join(" ")
}

/// The least and the largest of the positive, finite values.
pub(super) fn positive_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let fitting = values.filter(|v| v.is_finite() && *v > 0.0);
    fitting.fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((f64::min(low, v), f64::max(high, v))),
    })
}
