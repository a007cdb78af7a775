//! Programs that do the same work, by time on a logarithmic axis; our own rows are bold.

use std::fmt::Write;

use warpsmith_formats::html::escape;

use crate::digits;
use crate::document::{Ladder, LadderRow};

use super::axis::{self, Unit, rounded_out};
use super::plane::positive_range;
use super::text_width::{bold_width, shortened, text_width};

const FONT: f64 = 13.0;
const WIDTH: f64 = 470.0;
const ROW: f64 = 21.0;
/// Between a name and its line.
const NAME_GAP: f64 = 8.0;
/// Room behind the longest line for its time.
const VALUE: f64 = 66.0;

/// The picture; empty where there is nothing to draw.
pub(super) fn ladder(ladder: &Ladder) -> String {
    let Some((fastest, slowest)) = positive_range(ladder.rows.iter().map(|row| row.seconds)) else {
        return String::new();
    };
    let names = ladder.rows.iter().map(|row| bold_width(&row.name, FONT));
    // Half of the picture belongs to the lines.
    let left = names.fold(60.0, f64::max).ceil().min(WIDTH * 0.47) + NAME_GAP;
    let (low, high) = rounded_out(fastest / 1.5, slowest);
    let right = WIDTH - VALUE;
    let at = |seconds: f64| left + (seconds / low).ln() / (high / low).ln() * (right - left);
    let foot = ladder.rows.len() as f64 * ROW;
    let height = foot + FONT * 1.7;

    let mut out = String::new();
    let mut free_from = left - 20.0;
    for value in axis::logarithmic(low, high) {
        let x = at(value);
        let _ = write!(
            out,
            r#"<line class="gr" x1="{x:.1}" x2="{x:.1}" y1="0" y2="{foot:.1}"/>"#
        );
        let label = axis::label(value, Unit::Seconds);
        let half = text_width(&label, FONT) / 2.0;
        if x - half < free_from + 5.0 || x + half > WIDTH {
            continue;
        }
        free_from = x + half;
        let _ = write!(
            out,
            r#"<text x="{x:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
            height - FONT * 0.3
        );
    }
    for (at_row, row) in ladder.rows.iter().enumerate() {
        let y = at_row as f64 * ROW + ROW / 2.0;
        let usable = row.seconds.is_finite() && row.seconds > 0.0;
        draw(&mut out, row, (left, y), usable.then(|| at(row.seconds)));
    }
    let names: Vec<String> = ladder
        .rows
        .iter()
        .map(|row| format!("{} {}", row.name, digits::seconds(row.seconds, None)))
        .collect();
    format!(
        r#"<svg class="chart sm" viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="time by program: {}">{out}</svg>"#,
        escape(&names.join(", "))
    )
}

fn draw(out: &mut String, row: &LadderRow, (left, y): (f64, f64), end: Option<f64>) {
    // By its width in bold, as our own rows are.
    let name = shortened(&row.name, FONT * 1.13, left - NAME_GAP);
    let class = if row.own { "ink b" } else { "" };
    let baseline = y + FONT * 0.34;
    let _ = write!(
        out,
        r#"<text class="{class}" x="{:.1}" y="{baseline:.1}" text-anchor="end">{}</text>"#,
        left - NAME_GAP,
        escape(&name)
    );
    let Some(x) = end else { return };
    let line = if row.own { "own" } else { "peer" };
    let marker = match row.gpu {
        true => format!(r#"<circle class="{line}" cx="{x:.1}" cy="{y:.1}" r="3.8"/>"#),
        false => format!(
            r#"<rect class="{line}" x="{:.1}" y="{:.1}" width="7" height="7"/>"#,
            x - 3.5,
            y - 3.5
        ),
    };
    let _ = write!(
        out,
        r#"<line class="rung {line}" x1="{left:.1}" x2="{x:.1}" y1="{y:.1}" y2="{y:.1}"/>{marker}<text class="ink halo" x="{:.1}" y="{baseline:.1}">{}</text>"#,
        x + 7.0,
        digits::seconds(row.seconds, None)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, seconds: f64, own: bool) -> LadderRow {
        LadderRow {
            name: name.to_owned(),
            seconds,
            own,
            gpu: own,
        }
    }

    #[test]
    fn the_longest_name_is_whole_where_it_fits() {
        let names = ["Warpsmith, 4 cores AVX-512", "NumPy, 1 thread"];
        let drawn = ladder(&Ladder {
            rows: names.map(|name| row(name, 1e-3, true)).to_vec(),
            caption: String::new(),
        });
        assert!(
            !drawn.contains('…')
                && names
                    .iter()
                    .all(|name| drawn.contains(&format!(">{name}<")))
        );
    }

    #[test]
    fn every_row_has_its_name_and_its_time() {
        let drawn = ladder(&Ladder {
            rows: vec![
                row("NumPy <1 thread>", 0.132, false),
                row("Warpsmith, GPU", 38.7e-6, true),
            ],
            caption: String::new(),
        });
        assert!(drawn.contains("NumPy &lt;1 thread&gt;") && drawn.contains(">132 ms<"));
        assert!(drawn.contains(">38.7 µs<") && drawn.contains(r#"class="ink b""#));
        assert!(
            ladder(&Ladder {
                rows: vec![row("x", f64::NAN, false)],
                caption: String::new()
            })
            .is_empty()
        );
    }
}
