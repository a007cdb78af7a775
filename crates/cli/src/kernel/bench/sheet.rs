//! What a bench looks like: tables for the terminal, sections for a page.

use serde::Serialize;
use warpsmith_core::{BytesPerSecond, Flops, Seconds};
use warpsmith_measure::Parity;
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot;
use warpsmith_measure::roofline::{Bound, Ceilings};
use warpsmith_measure::trajectory::MemorySeries;
use warpsmith_telemetry::GpuConditions;

use super::job::{Row, RowParameters};
use crate::kernel::leak::memory_table;
use warpsmith_console::measured;
use warpsmith_console::table::Table;

/// What a bench found.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Rows(pub(super) Vec<Row>);

/// What stands beside the rows in the human view.
#[derive(Default)]
pub(super) struct Beside {
    pub(super) ceilings: Option<Ceilings>,
    pub(super) meanwhile: Option<GpuConditions>,
}

impl Rows {
    pub(super) fn measurements(&self) -> Vec<&Measurement> {
        self.0.iter().map(|row| &row.measurement).collect()
    }

    /// One section for each row, and one for all under the roof.
    pub(super) fn sections(&self, beside: &Beside) -> Vec<Section> {
        let mut sections: Vec<Section> = self.0.iter().map(section).collect();
        sections.extend(self.over_sizes());
        if let Some(ceilings) = &beside.ceilings {
            let points: Vec<plot::RooflinePoint> = self
                .0
                .iter()
                .filter(|row| row.bytes > 0 && row.flops > 0)
                .map(|row| plot::RooflinePoint {
                    name: row.workload.clone(),
                    intensity: row.flops as f64 / row.bytes as f64,
                    flops_per_second: row.flops as f64 / row.figures.interval.median,
                })
                .collect();
            sections.push(Section {
                heading: "roofline".into(),
                text: format!(
                    "{}{}{}",
                    ceilings_line(ceilings),
                    self.roofline_table(),
                    self.refusals()
                ),
                plots: vec![plot::roofline(
                    "roofline",
                    ceilings.bytes_per_second,
                    ceilings.flops_per_second,
                    &points,
                )],
            });
        }
        sections
    }

    /// Data rates of a case over its sizes.
    fn over_sizes(&self) -> Option<Section> {
        let rates: Vec<f64> = self
            .0
            .iter()
            .filter(|row| matches!(row.parameters, RowParameters::Case { .. }))
            .map(|row| row.bytes as f64 / row.figures.interval.median / 1e9)
            .collect();
        (rates.len() > 1).then(|| Section {
            heading: "over sizes".into(),
            text: self.rates().to_string(),
            plots: vec![plot::series("data rate", &rates, "size, as listed", "GB/s")],
        })
    }

    fn roofline_table(&self) -> Table {
        let mut table = Table::new(&[
            "workload",
            ">flop/byte",
            "bound by",
            ">of copy rate",
            ">of flop rate",
            ">floor",
            ">reached",
        ]);
        for row in &self.0 {
            let Some(roofline) = row.roofline else {
                continue;
            };
            let percent = |share: f64| match roofline.refusal {
                Some(_) => "-".to_owned(),
                None => format!("{:.1} %", 100.0 * share),
            };
            table.row([
                row.workload.clone(),
                match row.bytes {
                    0 => "-".to_owned(),
                    _ => format!("{:.3}", roofline.intensity),
                },
                match roofline.bound {
                    Bound::Memory => "memory".to_owned(),
                    Bound::Arithmetic => "arithmetic".to_owned(),
                },
                percent(roofline.bytes_share),
                percent(roofline.flops_share),
                Seconds(roofline.floor_seconds).to_string(),
                roofline.reached_text(),
            ]);
        }
        table
    }

    /// Why runs are above the roof, where some are.
    fn refusals(&self) -> String {
        let refused = self.0.iter().filter_map(|row| {
            let refusal = row.roofline?.refusal?;
            Some(format!("{} is above the roof: {refusal}\n", row.workload))
        });
        refused.collect()
    }

    /// Everything as text.
    pub(super) fn describe(&self, beside: &Beside) -> String {
        let Some(first) = self.0.first() else {
            return "nothing was measured\n".to_owned();
        };
        let pairs: Vec<_> = self
            .0
            .iter()
            .map(|row| (&row.measurement, &row.figures))
            .collect();
        let memory: Vec<MemorySeries> = self.0.iter().flat_map(|row| row.memory.clone()).collect();
        let memory = if memory.is_empty() {
            String::new()
        } else {
            format!("\n{}", memory_table(&memory))
        };
        let roofline = match &beside.ceilings {
            Some(ceilings) => format!(
                "\n{}{}{}",
                ceilings_line(ceilings),
                self.roofline_table(),
                self.refusals()
            ),
            None => String::new(),
        };
        let mut meanwhile = match &beside.meanwhile {
            Some(meanwhile) => format!("{meanwhile}"),
            None => String::new(),
        };
        for row in &self.0 {
            // A case's launch has its energy from the board's counter; power times time would be a second
            // figure for the same thing, and a worse one.
            let state = row.figures.device.as_ref().filter(|state| state.read > 0);
            if let (Some(state), None) = (state, &row.launch) {
                meanwhile += &format!("{}: {state}\n", row.workload);
            }
        }
        let mut devices: Vec<&str> = self.0.iter().map(|row| &*row.device).collect();
        devices.dedup();
        let mode = serde_json::to_value(first.measurement.conditions.mode).unwrap_or_default();
        format!(
            "{}\n{}{}{memory}{roofline}\non {}, mode {}\n{meanwhile}",
            measured::table(&pairs),
            self.rates(),
            self.launches(),
            devices.join(" and "),
            mode.as_str().unwrap_or_default()
        )
    }

    /// Energy and clocks of the kernels that ran back to back; nothing where none did.
    fn launches(&self) -> String {
        let mut table = Table::new(&[
            "back to back",
            ">energy per launch",
            ">SM clock",
            "held back by",
        ]);
        let mut any = false;
        for row in &self.0 {
            if let Some(launch) = &row.launch {
                any = true;
                table.row([
                    row.workload.clone(),
                    launch.energy(),
                    launch.clock(),
                    launch.limits(),
                ]);
            }
        }
        if any {
            format!(
                "\n{table}energy: the board's own counter over launches without pauses, caches warm, idle power \
                 included\n"
            )
        } else {
            String::new()
        }
    }

    fn rates(&self) -> Table {
        let mut rates = Table::new(&[
            "workload",
            "parameters",
            ">data rate",
            ">flop rate",
            "result",
        ]);
        for row in &self.0 {
            let seconds = row.figures.interval.median;
            let rate = |count: u64, text: String| if count == 0 { "-".to_owned() } else { text };
            let bytes = BytesPerSecond(row.bytes as f64 / seconds).to_string();
            let flops = format!("{}/s", Flops((row.flops as f64 / seconds) as u64));
            rates.row([
                row.workload.clone(),
                row.parameters.to_string(),
                rate(row.bytes, bytes),
                rate(row.flops, flops),
                match &row.parity {
                    None => "not compared".to_owned(),
                    Some(Parity::Agrees { .. }) => match row.parameters {
                        RowParameters::Case { .. } => "matches its reference".to_owned(),
                        _ => "agrees with the CPU".to_owned(),
                    },
                    Some(_) => "WRONG".to_owned(),
                },
            ]);
        }
        rates
    }
}

fn ceilings_line(ceilings: &Ceilings) -> String {
    format!(
        "ceilings measured here: copy {}, multiply-add {}/s\n",
        BytesPerSecond(ceilings.bytes_per_second),
        Flops(ceilings.flops_per_second as u64)
    )
}

fn section(row: &Row) -> Section {
    let mut section = measured::section(&row.measurement, &row.figures);
    section.text = format!("{}\n{}", section.text, memory_table(&row.memory));
    let memory = row.memory.iter();
    section.plots.extend(memory.map(|series| {
        plot::series(
            &format!("{} memory", series.kind),
            &series.bytes,
            "reading",
            "bytes",
        )
    }));
    section
}
