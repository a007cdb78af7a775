//! The latency table: one row and one strip per workload.

use warpsmith_measure::measurement::SampleMode;
use warpsmith_measure::roofline::Ceilings;
use warpsmith_measure::statistics::order::median_of;
use warpsmith_measure::statistics::quantile::QuantileEstimate;
use warpsmith_workload::Cost;

use crate::digits::{self, Quantity};
use crate::document::{Cell, Column, Detail, Place, Row, Strip, StripScale, Table};
use crate::facts::Latency;
use crate::judge::trust::{FEWEST, half_width};

/// Device events resolve this much; narrower intervals are one tick.
const EVENT_TICK: f64 = 32e-9;

/// Below this share of either roof, work is too small to fill the device.
pub(super) const FILLS: f64 = 0.1;

/// The table, with shares of `ceilings` where they are known.
pub(super) fn table(rows: &[Latency], ceilings: Option<&Ceilings>, shown: usize) -> Table {
    let strips: Vec<Strip> = rows.iter().map(strip).collect();
    let columns = vec![
        Column::text("workload"),
        Column::number("P50"),
        Column::number("95 %"),
        Column::number("mean").from(Place::Wide),
        Column::number("P95").from(Place::Medium),
        Column::number("P99").from(Place::Medium),
        Column::text("spread")
            .on(scale(&strips))
            .from(Place::Medium),
        Column::number("rate").from(Place::Medium),
        Column::number("each").from(Place::Wide),
        Column::number("of roof"),
        Column::number("memory").from(Place::Wide),
        Column::number("n"),
    ];
    let rows = rows
        .iter()
        .zip(strips)
        .enumerate()
        .map(|(index, (row, strip))| line(index, row, strip, ceilings));
    Table {
        name: "latency".to_owned(),
        columns,
        rows: rows.collect(),
        shown,
        caption: "of roof: share of the measured memory or arithmetic ceiling; latency: too small \
                  to fill either; few: fewer than 8 samples, each one a ring"
            .to_owned(),
    }
}

fn few(row: &Latency) -> bool {
    row.figures.summary.count < FEWEST
}

fn point(row: &Latency, probability: f64) -> Option<f64> {
    row.figures.summary.quantile(probability)?.point
}

fn strip(row: &Latency) -> Strip {
    let (_, samples, _) = row.measurement.basis();
    let median = row.figures.interval.median;
    if few(row) {
        return Strip::Rings(samples.iter().map(|sample| sample / median).collect());
    }
    let edge = |probability: f64, or: f64| point(row, probability).unwrap_or(or) / median;
    Strip::Spread {
        low: edge(0.05, row.figures.summary.min),
        high: edge(0.95, row.figures.summary.max),
    }
}

/// The narrowest axis that holds four fifths of the strips.
fn scale(strips: &[Strip]) -> StripScale {
    let holds = |low: f64, high: f64| {
        let inside = strips
            .iter()
            .filter(|strip| match strip {
                Strip::Spread { low: l, high: h } => *l >= low && *h <= high,
                Strip::Rings(rings) => rings.iter().all(|ring| (low..=high).contains(ring)),
            })
            .count();
        inside * 5 >= strips.len() * 4
    };
    if holds(0.95, 1.05) {
        StripScale::Within(0.05)
    } else if holds(0.8, 1.2) {
        StripScale::Within(0.2)
    } else if holds(0.5, 2.0) {
        StripScale::Times(2.0)
    } else {
        StripScale::Times(4.0)
    }
}

fn seconds(value: f64, half: f64) -> Cell {
    let shown = digits::seconds(value, Some(half));
    Cell::number(value, shown.text, shown.unit)
}

fn quantile(found: Option<&QuantileEstimate>, half: f64) -> Cell {
    match found {
        Some(QuantileEstimate {
            point: Some(point), ..
        }) => seconds(*point, half),
        Some(QuantileEstimate { low: Some(low), .. }) => {
            let shown = digits::seconds(*low, Some(half));
            Cell::number(*low, digits::at_least(&shown.text), shown.unit)
        }
        _ => Cell::Empty,
    }
}

fn line(index: usize, row: &Latency, strip: Strip, ceilings: Option<&Ceilings>) -> Row {
    let figures = &row.figures;
    let (median, half) = (figures.interval.median, half_width(figures));
    let is_few = few(row);
    let on_device = !matches!(
        row.measurement.conditions.mode,
        SampleMode::CpuClosure | SampleMode::EndToEnd
    );
    let tick = on_device.then_some(EVENT_TICK / median);
    let mut cells = vec![Cell::text(row.workload.clone())];
    if is_few {
        let shown = digits::seconds(median, Some(f64::INFINITY));
        cells.push(Cell::Muted(shown.to_string()));
        cells.push(Cell::Muted("few".to_owned()));
        cells.extend([Cell::Empty, Cell::Empty, Cell::Empty]);
    } else {
        cells.push(seconds(median, half).strong());
        cells.push(Cell::number(half, digits::within(half, tick), ""));
        cells.push(seconds(figures.summary.mean, half));
        cells.push(quantile(figures.summary.quantile(0.95), half));
        cells.push(quantile(figures.summary.quantile(0.99), half));
    }
    cells.push(Cell::Strip(strip));
    let rate = row.bytes as f64 / median;
    cells.push(match (row.bytes, is_few) {
        (0, _) | (_, true) => Cell::Empty,
        _ => {
            let shown = digits::quantity(rate, Quantity::BytesPerSecond, Some(half));
            Cell::number(rate, shown.text, shown.unit)
        }
    });
    cells.push(match (row.units, is_few) {
        (0, _) | (_, true) => Cell::Empty,
        (units, _) => {
            let each = median / units as f64;
            let shown = digits::seconds(each, Some(half));
            Cell::number(each, shown.text, format!("{} / {}", shown.unit, row.unit))
        }
    });
    cells.push(match reached(row, ceilings) {
        Some(share) if !is_few && share >= FILLS => Cell::Bar {
            share,
            text: digits::percent(share),
            state: None,
        },
        Some(_) if !is_few => Cell::Muted("latency".to_owned()),
        _ => Cell::Empty,
    });
    cells.push(row.memory.map_or(Cell::Empty, |bytes| {
        let shown = digits::quantity(bytes as f64, Quantity::Bytes, None);
        Cell::number(bytes as f64, shown.text, shown.unit)
    }));
    let count = figures.summary.count;
    cells.push(Cell::number(count as f64, digits::count(count as u64), ""));
    Row {
        cells,
        detail: Some(detail(index, row, is_few)),
    }
}

/// The share of the lower ceiling that a run reaches.
pub(super) fn reached(row: &Latency, ceilings: Option<&Ceilings>) -> Option<f64> {
    let cost = Cost {
        bytes: warpsmith_core::Bytes(row.bytes),
        flops: warpsmith_core::Flops(row.flops),
        ..Cost::default()
    };
    let roofline = ceilings?.judge(&cost, row.figures.interval.median)?;
    Some(roofline.reached)
}

fn detail(index: usize, row: &Latency, is_few: bool) -> Detail {
    let summary = &row.figures.summary;
    let mut facts = vec![("parameters".to_owned(), row.parameters.clone())];
    if !is_few {
        let deviation = digits::seconds(summary.standard_deviation, None).to_string();
        facts.push(("standard deviation".to_owned(), deviation));
        let rate = 1.0 / row.figures.interval.median;
        let calls = digits::quantity(rate, Quantity::Plain, None).to_string();
        facts.push(("runs a second".to_owned(), calls.trim().to_owned()));
        let independent = summary.effective_count.floor() as u64;
        facts.push(("independent samples".to_owned(), digits::count(independent)));
    }
    if summary.modes.len() > 1 {
        let modes: Vec<String> = summary
            .modes
            .iter()
            .map(|mode| {
                let share = digits::percent(mode.share);
                format!("{share} about {}", digits::seconds(mode.at, None))
            })
            .collect();
        facts.push(("modes".to_owned(), modes.join(", ")));
    }
    let clocks = &row.measurement.clock_mhz;
    if !clocks.is_empty() {
        let clocks: Vec<f64> = clocks.iter().map(|clock| f64::from(*clock)).collect();
        facts.push(("clock".to_owned(), format!("{:.0} MHz", median_of(&clocks))));
    }
    let disturbed = row.measurement.disturbed().len();
    if disturbed > 0 {
        let taken = format!("{disturbed} of {} samples", row.measurement.seconds.len());
        facts.push(("disturbed".to_owned(), taken));
    }
    Detail {
        facts,
        samples: Some(format!("/latency/{index}/measurement/seconds")),
        scale: 1.0,
    }
}
