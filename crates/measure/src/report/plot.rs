//! Plots as SVG: histogram, distribution function, series, comparison forest, scaling, roofline,
//! history.
//!
//! Invariants: a plot is a pure function of its data (same data, same bytes); text is escaped; at
//! most a few thousand points are drawn however many there are.

use std::fmt::Write;

use warpsmith_formats::html::escape;

use super::sparkline::bin;
use crate::comparison::evaluation::Evaluation;
use crate::scaling::Scaling;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 26.0;
const RIGHT: f64 = 14.0;
/// Points drawn of a long series.
const MOST_POINTS: usize = 3000;

/// How the plots look, on light and on dark pages; every page that shows one carries it.
pub const STYLE: &str = "\
svg{width:100%;height:auto}svg text{font:11px sans-serif;fill:#4a5568}\
svg .title{font-size:13px;font-weight:600;fill:#1d2430}.grid{stroke:#e6eaee;fill:none}\
.line{stroke:#2563c9;stroke-width:1.6;fill:none}.mark{stroke:#c2410c;stroke-dasharray:4 3;fill:none}\
.bar{fill:#6b9bd8}.dot{fill:#2563c9;fill-opacity:.7}.second{stroke:#0b6e4f;fill:#0b6e4f}\
polyline.second{fill:none;stroke-width:1.6}\
@media(prefers-color-scheme:dark){svg text{fill:#a0aec0}svg .title{fill:#e2e8f0}\
.grid{stroke:#252d38}.second{stroke:#5fd0a5;fill:#5fd0a5}}";

/// An axis: a range, linear or logarithmic.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, logarithmic: bool) -> Self {
        let (mut low, mut high) = values
            .filter(|value| value.is_finite() && (!logarithmic || *value > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        if low > high {
            (low, high) = if logarithmic { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if low == high {
            let room = if low == 0.0 { 1.0 } else { 0.05 * low.abs() };
            (low, high) = (low - room, high + room);
        }
        Self {
            low,
            high,
            logarithmic,
        }
    }

    fn place(&self, value: f64) -> f64 {
        if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    fn at(&self, share: f64) -> f64 {
        if self.logarithmic {
            self.low * (self.high / self.low).powf(share)
        } else {
            self.low + share * (self.high - self.low)
        }
    }
}

struct Canvas {
    svg: String,
    x: Axis,
    y: Axis,
}

impl Canvas {
    fn new(title: &str, x: Axis, y: Axis, x_unit: &str, y_unit: &str) -> Self {
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">\
             <text class=\"title\" x=\"{LEFT}\" y=\"16\">{0}</text>",
            escape(title)
        );
        for step in 0..=4 {
            let share = f64::from(step) / 4.0;
            let across = LEFT + share * (WIDTH - LEFT - RIGHT);
            let down = HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{down:.1}\" y2=\"{down:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
                 <text class=\"tick\" x=\"{across:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                down + 4.0,
                figure(y.at(share)),
                HEIGHT - BOTTOM + 16.0,
                figure(x.at(share)),
            );
        }
        let _ = write!(
            svg,
            "<text class=\"unit\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <text class=\"unit\" x=\"6\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            HEIGHT - 6.0,
            escape(x_unit),
            HEIGHT - 6.0,
            escape(y_unit)
        );
        Self { svg, x, y }
    }

    fn point(&self, x: f64, y: f64) -> (f64, f64) {
        (
            LEFT + self.x.place(x).clamp(-0.02, 1.02) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - self.y.place(y).clamp(-0.02, 1.02) * (HEIGHT - BOTTOM - TOP),
        )
    }

    fn line(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let mut path = String::new();
        for (x, y) in points.filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let (px, py) = self.point(x, y);
            let _ = write!(path, "{px:.1},{py:.1} ");
        }
        let _ = write!(
            self.svg,
            "<polyline class=\"{class}\" points=\"{}\"/>",
            path.trim_end()
        );
    }

    fn dot(&mut self, class: &str, x: f64, y: f64) {
        let (px, py) = self.point(x, y);
        let _ = write!(
            self.svg,
            "<circle class=\"{class}\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"2.2\"/>"
        );
    }

    fn vertical(&mut self, class: &str, x: f64) {
        let (low, high) = (self.y.low, self.y.high);
        self.line(class, [(x, low), (x, high)].into_iter());
    }

    fn finish(mut self) -> String {
        self.svg.push_str("</svg>");
        self.svg
    }
}

/// Four significant figures, in scientific form where that is shorter to read.
fn figure(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.2e}")
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

/// The factor and name of the unit that suits times around `seconds`.
fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    }
}

/// A histogram of sorted times between their 1st and 99th percentiles, with the median marked.
pub fn histogram(title: &str, sorted: &[f64]) -> String {
    let counts = bin(sorted, 60);
    let last = sorted.len().saturating_sub(1);
    let middle = sorted.get(last / 2).copied().unwrap_or(0.0);
    let (factor, unit) = time_unit(middle);
    let range = sorted
        .get(last / 100)
        .into_iter()
        .chain(sorted.get(last - last / 100));
    let x = Axis::over(range.map(|seconds| seconds * factor), false);
    let highest = counts.iter().copied().max().unwrap_or(1) as f64;
    let y = Axis {
        low: 0.0,
        high: highest.max(1.0),
        logarithmic: false,
    };
    let mut canvas = Canvas::new(title, x, y, unit, "samples");
    let width = (WIDTH - LEFT - RIGHT) / counts.len().max(1) as f64;
    for (index, count) in counts.iter().enumerate() {
        let (_, top) = canvas.point(x.low, *count as f64);
        let _ = write!(
            canvas.svg,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            LEFT + index as f64 * width,
            (width - 1.0).max(0.5),
            (HEIGHT - BOTTOM - top).max(0.0)
        );
    }
    canvas.vertical("mark", middle * factor);
    canvas.finish()
}

/// The empirical distribution function of sorted times, up to the 99.5th percentile.
pub fn distribution(title: &str, sorted: &[f64]) -> String {
    let shown = sorted.len() - sorted.len() / 200;
    let (factor, unit) = time_unit(sorted.get(sorted.len() / 2).copied().unwrap_or(0.0));
    let x = Axis::over(sorted[..shown].iter().map(|s| s * factor), false);
    let y = Axis {
        low: 0.0,
        high: 1.0,
        logarithmic: false,
    };
    let mut canvas = Canvas::new(title, x, y, unit, "share at or below");
    let stride = shown.div_ceil(MOST_POINTS).max(1);
    let n = sorted.len() as f64;
    let points = (0..shown).step_by(stride);
    canvas.line(
        "line",
        points.map(|i| (sorted[i] * factor, (i + 1) as f64 / n)),
    );
    canvas.finish()
}

/// Values in the order taken.
pub fn series(title: &str, values: &[f64], x_unit: &str, y_unit: &str) -> String {
    let stride = values.len().div_ceil(MOST_POINTS).max(1);
    let x = Axis::over([0.0, values.len() as f64].into_iter(), false);
    let y = Axis::over(values.iter().copied(), false);
    let mut canvas = Canvas::new(title, x, y, x_unit, y_unit);
    for index in (0..values.len()).step_by(stride) {
        // The extremes of each stretch, so that a spike is drawn however long the series is.
        let stretch = &values[index..(index + stride).min(values.len())];
        let low = stretch.iter().copied().fold(f64::INFINITY, f64::min);
        let high = stretch.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        canvas.dot("dot", index as f64, low);
        if high > low {
            canvas.dot("dot", index as f64, high);
        }
    }
    canvas.finish()
}

/// One line of a comparison forest.
pub struct ForestRow<'a> {
    /// What was compared.
    pub name: &'a str,
    /// Ratio with its interval.
    pub ratio: (f64, f64, f64),
}

impl<'a> ForestRow<'a> {
    /// The line of a comparison that was judged.
    pub fn of(name: &'a str, evaluation: &Evaluation) -> Self {
        Self {
            name,
            ratio: (evaluation.ratio, evaluation.low, evaluation.high),
        }
    }
}

/// Ratios with intervals, one under the other, around 1 with its margin.
pub fn forest(title: &str, rows: &[ForestRow<'_>], margin: f64) -> String {
    let edges = rows.iter().flat_map(|row| [row.ratio.1, row.ratio.2]);
    let x = Axis::over(edges.chain([1.0 - 2.0 * margin, 1.0 + 2.0 * margin]), false);
    let y = Axis {
        low: 0.0,
        high: rows.len().max(1) as f64,
        logarithmic: false,
    };
    let mut canvas = Canvas::new(title, x, y, "time of B / time of A", "");
    canvas.vertical("mark", 1.0);
    canvas.vertical("grid", 1.0 + margin);
    canvas.vertical("grid", 1.0 / (1.0 + margin));
    for (index, row) in rows.iter().enumerate() {
        let height = rows.len() as f64 - index as f64 - 0.5;
        let (_, low, high) = row.ratio;
        canvas.line("line", [(low, height), (high, height)].into_iter());
        canvas.dot("dot", row.ratio.0, height);
        let (_, py) = canvas.point(1.0, height);
        let _ = write!(
            canvas.svg,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT + 4.0,
            py - 5.0,
            escape(row.name)
        );
    }
    canvas.finish()
}

/// Times over sizes with the chosen law, both axes logarithmic.
pub fn scaling(title: &str, scaling: &Scaling) -> String {
    let points = &scaling.points;
    let (factor, unit) = time_unit(points.first().map_or(0.0, |point| point.seconds));
    let x = Axis::over(points.iter().map(|point| point.size), true);
    let y = Axis::over(points.iter().map(|point| point.seconds * factor), true);
    let mut canvas = Canvas::new(title, x, y, "N", unit);
    let curve = (0..=100).map(|i| x.at(f64::from(i) / 100.0));
    canvas.line(
        "line",
        curve.map(|n| (n, scaling.chosen.seconds(n) * factor)),
    );
    for point in points {
        canvas.dot("dot", point.size, point.seconds * factor);
    }
    if let Some(size) = scaling.balance_size {
        canvas.vertical("mark", size);
    }
    canvas.finish()
}

/// One curve of several in a plot.
pub struct Curve<'a> {
    /// What it is.
    pub name: &'a str,
    /// Its points, by rising x.
    pub points: Vec<(f64, f64)>,
}

/// One or two curves over the same axes; both axes logarithmic where `logarithmic`.
pub fn curves(
    title: &str,
    curves: &[Curve<'_>],
    logarithmic: bool,
    x_unit: &str,
    y_unit: &str,
) -> String {
    let points = || curves.iter().flat_map(|curve| curve.points.iter());
    let x = Axis::over(points().map(|point| point.0), logarithmic);
    let y = Axis::over(points().map(|point| point.1), logarithmic);
    let mut canvas = Canvas::new(title, x, y, x_unit, y_unit);
    for (index, curve) in curves.iter().enumerate() {
        let (line, dot) = match index {
            0 => ("line", "dot"),
            _ => ("second", "second"),
        };
        let shown = |point: &&(f64, f64)| !logarithmic || (point.0 > 0.0 && point.1 > 0.0);
        let shown: Vec<(f64, f64)> = curve.points.iter().filter(shown).copied().collect();
        let stride = shown.len().div_ceil(MOST_POINTS).max(1);
        canvas.line(line, shown.iter().copied().step_by(stride));
        if shown.len() <= 40 {
            for (x, y) in &shown {
                canvas.dot(dot, *x, *y);
            }
        }
        if curves.len() > 1 {
            let down = TOP + 12.0 + 14.0 * index as f64;
            let _ = write!(
                canvas.svg,
                "<circle class=\"{dot}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{down:.1}\">{}</text>",
                LEFT + 12.0,
                down - 4.0,
                LEFT + 22.0,
                escape(curve.name)
            );
        }
    }
    canvas.finish()
}

/// A run under the roof.
pub struct RooflinePoint {
    /// What was run.
    pub name: String,
    /// Operations per byte.
    pub intensity: f64,
    /// Operations a second.
    pub flops_per_second: f64,
}

/// Rates over intensities under the two ceilings, both axes logarithmic.
pub fn roofline(
    title: &str,
    bytes_per_second: f64,
    flops_per_second: f64,
    points: &[RooflinePoint],
) -> String {
    let ridge = flops_per_second / bytes_per_second;
    let intensities = points.iter().map(|point| point.intensity);
    let x = Axis::over(intensities.chain([ridge / 100.0, ridge * 10.0]), true);
    let roof = |intensity: f64| (intensity * bytes_per_second).min(flops_per_second);
    let rates = points.iter().map(|point| point.flops_per_second);
    let y = Axis::over(rates.chain([roof(x.low), flops_per_second]), true);
    let mut canvas = Canvas::new(title, x, y, "flop/byte", "flop/s");
    canvas.line(
        "line",
        [x.low, ridge, x.high].into_iter().map(|i| (i, roof(i))),
    );
    for point in points {
        canvas.dot("dot", point.intensity, point.flops_per_second);
        let (px, py) = canvas.point(point.intensity, point.flops_per_second);
        let _ = write!(
            canvas.svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            px + 5.0,
            py + 3.0,
            escape(&point.name)
        );
    }
    canvas.finish()
}

/// Medians over commits, with suspects marked.
pub fn history(title: &str, seconds: &[f64], suspects: &[usize]) -> String {
    let (factor, unit) = time_unit(seconds.first().copied().unwrap_or(0.0));
    let x = Axis::over([0.0, seconds.len().max(2) as f64 - 1.0].into_iter(), false);
    let y = Axis::over(seconds.iter().map(|s| s * factor), false);
    let mut canvas = Canvas::new(title, x, y, "commit", unit);
    for suspect in suspects {
        canvas.vertical("mark", *suspect as f64);
    }
    let points = seconds.iter().enumerate();
    canvas.line("line", points.map(|(i, s)| (i as f64, s * factor)));
    for (index, value) in seconds.iter().enumerate() {
        canvas.dot("dot", index as f64, value * factor);
    }
    canvas.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::{SizePoint, fit};

    fn sound(svg: &str) {
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn plots_are_sound_for_ordinary_and_degenerate_data() {
        for samples in [
            vec![],
            vec![1e-6],
            vec![2e-3; 50],
            (1..5000).map(f64::from).collect(),
        ] {
            sound(&histogram("h", &samples));
            sound(&distribution("d", &samples));
            sound(&series("s", &samples, "step", "s"));
            sound(&history("y", &samples, &[0]));
            let points = || samples.iter().map(|value| (*value, 1.0 - value)).collect();
            let both =
                [("a", points()), ("b", points())].map(|(name, points)| Curve { name, points });
            sound(&curves("c", &both, false, "x", "y"));
            sound(&curves("c", &both, true, "x", "y"));
        }
        sound(&forest(
            "f",
            &[ForestRow {
                name: "a<b",
                ratio: (1.0, 0.99, 1.01),
            }],
            0.01,
        ));
        sound(&forest("f", &[], 0.01));
        let points: Vec<SizePoint> = (1..9)
            .map(|i| SizePoint {
                size: f64::from(1 << i),
                seconds: 1e-6 * f64::from(i),
            })
            .collect();
        sound(&scaling("n", &fit(&points).unwrap()));
    }

    #[test]
    fn text_is_escaped_and_long_series_are_thinned() {
        let svg = series("<b>&", &vec![1.0; 1_000_000], "x", "y");
        assert!(svg.contains("&lt;b&gt;&amp;") && svg.len() < 400_000);
    }
}
