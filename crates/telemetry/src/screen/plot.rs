//! The past of one reading as a plot with axes: its unit, its least and greatest value, its time.

use std::collections::VecDeque;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::cells::{Pen, bold, cells_of};
use crate::Micros;
use crate::board::HistoryPoint;

/// Spans of time that a plot may show, in seconds; the history has five minutes.
const SPANS: [u64; 4] = [30, 60, 120, 300];
/// Cells for the numbers beside the axis.
const SCALE: u16 = 5;
const LEVELS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// What a plot shows.
pub(super) struct Plot<'a> {
    pub(super) name: &'a str,
    pub(super) unit: &'a str,
    pub(super) history: &'a VecDeque<HistoryPoint>,
    /// The value in the plot's unit.
    pub(super) value: fn(&HistoryPoint) -> Option<f64>,
    /// The upper end of the scale; the greatest value where there is none or where it is exceeded.
    pub(super) most: Option<f64>,
    /// The right end: a GPU that does not answer any more moves away from it.
    pub(super) now: Micros,
    /// Whether the last point is what is so now.
    pub(super) live: bool,
    /// Seconds of the recording in a second of the view.
    pub(super) speed: f64,
    pub(super) style: Style,
}

impl Plot<'_> {
    /// Draws head, plot and time axis.
    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect) {
        if area.height < 3 || area.width < SCALE + 12 {
            return;
        }
        let known: Vec<f64> = self.history.iter().filter_map(self.value).collect();
        let least = known.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.draw_head(&mut Pen::at(buffer, area, 0), &known, least, greatest);
        let top = self.most.unwrap_or(0.0).max(greatest).max(1.0);
        let (columns, rows) = (area.width - SCALE - 1, area.height - 2);
        for row in 0..rows {
            let pen = &mut Pen::at(buffer, area, row + 1);
            // In an odd number of rows none begins in the middle.
            let middle = rows >= 4 && 2 * row == rows;
            let label = match row {
                0 => short(top),
                row if row == rows - 1 => "0".to_owned(),
                _ if middle => short(top / 2.0),
                _ => String::new(),
            };
            let axis = if label.is_empty() { "│" } else { "┤" };
            pen.right(SCALE, &label, Style::new());
            // The axis stands in the gap behind the label.
            let x = area.x + SCALE;
            buffer.set_stringn(x, area.y + row + 1, axis, 1, Style::new());
        }
        let span = self.span_seconds();
        let heights = self.columns(usize::from(columns), span);
        for (column, value) in (0..columns).zip(heights) {
            let Some(value) = value else { continue };
            let share = (value / top).clamp(0.0, 1.0);
            let mut eighths = (share * f64::from(rows) * 8.0).round() as usize;
            if value > 0.0 {
                eighths = eighths.max(1);
            }
            let x = area.x + SCALE + 1 + column;
            // What is known to be nothing differs from what is not known.
            if eighths == 0 {
                buffer.set_stringn(x, area.y + rows, "_", 1, self.style);
            }
            for row in 0..rows {
                let level = eighths.saturating_sub(usize::from(row) * 8).min(8);
                if level > 0 {
                    buffer.set_stringn(x, area.y + rows - row, LEVELS[level], 1, self.style);
                }
            }
        }
        self.draw_time(&mut Pen::at(buffer, area, area.height - 1), columns, span);
    }

    fn draw_head(&self, pen: &mut Pen<'_>, known: &[f64], least: f64, greatest: f64) {
        let latest = self.history.back().and_then(self.value);
        let now = match latest.filter(|_| self.live) {
            Some(value) => format!("{} {}", short(value), self.unit),
            None => format!("– {}", self.unit),
        };
        pen.text(self.name, bold());
        pen.skip(1);
        pen.text(&now, bold());
        if known.is_empty() {
            return;
        }
        let (least, greatest) = (short(least), short(greatest));
        let long = format!("  min {least} max {greatest}");
        if cells_of(&long) <= pen.room() {
            pen.rest(&long, Style::new());
        } else {
            pen.rest(&format!(", {least}–{greatest}"), Style::new());
        }
    }

    /// `└ -60 s ──────── -30 s ──────── now`.
    fn draw_time(&self, pen: &mut Pen<'_>, columns: u16, span: u64) {
        let label = |seconds: f64| match seconds {
            seconds if seconds >= 7_200.0 => format!("-{:.0} h", seconds / 3_600.0),
            seconds if seconds >= 120.0 => format!("-{:.0} min", seconds / 60.0),
            seconds if seconds >= 1.0 => format!("-{seconds:.0} s"),
            seconds => format!("-{seconds:.1} s"),
        };
        let whole = span as f64 * self.speed;
        let (left, right) = (label(whole), "now");
        let middle = label(whole / 2.0);
        pen.skip(SCALE);
        let mut line: Vec<char> = std::iter::once('└')
            .chain(std::iter::repeat_n('─', usize::from(columns)))
            .collect();
        let mut put = |at: usize, text: &str| {
            for (nth, letter) in text.chars().enumerate() {
                if let Some(cell) = line.get_mut(at + nth) {
                    *cell = letter;
                }
            }
        };
        put(1, &left);
        put(usize::from(columns) - 2, right);
        let centre = 1 + usize::from(columns) / 2;
        // Where there is no room for three, two are enough.
        if usize::from(columns) >= 3 * (left.len() + 4) {
            put(centre, &middle);
        }
        let line: String = line.into_iter().collect();
        pen.rest(&line, Style::new());
    }

    /// The shortest span that covers the history.
    fn span_seconds(&self) -> u64 {
        let first = self.history.front().map_or(self.now, |point| point.at);
        let covered = self.now.since(first).as_secs();
        SPANS
            .into_iter()
            .find(|span| *span >= covered)
            .unwrap_or(SPANS[SPANS.len() - 1])
    }

    /// How long a point stands for what follows it: a little longer than the distance to the next.
    fn hold_seconds(&self) -> f64 {
        let ends = self.history.front().zip(self.history.back());
        let steps = self.history.len().saturating_sub(1).max(1) as f64;
        let mean = ends.map_or(0.0, |(first, last)| {
            last.at.since(first.at).as_secs_f64() / steps
        });
        2.5 * mean.clamp(0.5, 60.0)
    }

    /// The greatest value in the time of each column, the oldest first.
    fn columns(&self, count: usize, span: u64) -> Vec<Option<f64>> {
        let mut columns: Vec<Option<f64>> = vec![None; count];
        let width = span as f64 / count as f64;
        let hold = self.hold_seconds();
        // Columns begin at whole multiples of their width, so that the picture moves by columns and a
        // point stays in its own.
        let place = |at: Micros| (at.as_seconds() / width).floor();
        let end = place(self.now);
        for point in self.history {
            let Some(value) = (self.value)(point) else {
                continue;
            };
            let ago = (end - place(point.at)).max(0.0) as usize;
            let Some(column) = (count - 1).checked_sub(ago) else {
                continue;
            };
            columns[column] = Some(columns[column].map_or(value, |other| other.max(value)));
        }
        let mut last: Option<(usize, f64)> = None;
        for (place, column) in columns.iter_mut().enumerate() {
            match (*column, last) {
                (Some(value), _) => last = Some((place, value)),
                (None, Some((at, value))) if (place - at) as f64 * width <= hold => {
                    *column = Some(value);
                }
                (None, _) => {}
            }
        }
        columns
    }
}

/// A number in at most five cells.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 10_000.0 => format!("{:.0}k", value / 1_000.0),
        size if size >= 99.95 || value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(history: &VecDeque<HistoryPoint>, now: u64) -> Plot<'_> {
        Plot {
            name: "power",
            unit: "W",
            history,
            value: |point| point.power_mw.map(|power| power as f64 / 1e3),
            most: Some(700.0),
            now: Micros(now),
            live: true,
            speed: 1.0,
            style: Style::new(),
        }
    }

    fn point(second: u64, watts: i64) -> HistoryPoint {
        HistoryPoint {
            at: Micros(second * 1_000_000),
            power_mw: Some(watts * 1000),
            ..HistoryPoint::default()
        }
    }

    #[test]
    fn columns_are_moments_and_what_is_not_known_stays_empty() {
        let mut history: VecDeque<_> = (0..10).map(|second| point(100 + second, 70)).collect();
        history.extend((20..=30).map(|second| point(100 + second, 700)));
        let columns = plot(&history, 130_000_000).columns(30, 30);
        assert_eq!(columns[29], Some(700.0));
        assert_eq!(columns[2], Some(70.0));
        // The gap of ten seconds, after what the last point still stands for.
        assert!(columns[14..19].iter().all(Option::is_none), "{columns:?}");
        // Two minutes later it is history.
        assert_eq!(plot(&history, 250_000_000).span_seconds(), 300);
    }

    #[test]
    fn a_peak_is_not_lost_between_columns() {
        let history: VecDeque<_> = (0..300)
            .map(|second| point(second, if second == 150 { 699 } else { 70 }))
            .collect();
        let columns = plot(&history, 299_000_000).columns(20, 300);
        assert!(columns.contains(&Some(699.0)));
    }
}
