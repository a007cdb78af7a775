//! `warpsmith synth ablate`: the optimisation matrix, claimed against measured.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_device::Device;
use warpsmith_formats::write_output;
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot::{self, ForestRow};
use warpsmith_synth::matrix::{self, MatrixRow, TECHNIQUES};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::measured::Files;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Measure what each optimisation of the synthesiser brings, beside what was claimed for it.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith synth ablate --device cpu --markdown matrix.md
  warpsmith synth ablate --device cuda --html matrix.html --only graph --only pinned
Both sides of a row render the same 27.4 s to 16-bit stereo in host memory, taking turns.")]
pub(crate) struct Ablate {
    /// Only techniques whose name contains this; may be given several times.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Rounds of eight runs for each side; six is a first look.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u16).range(6..=1000))]
    rounds: u16,
    /// Also write the matrix as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    files: Files,
}

#[derive(Serialize)]
struct Body {
    device: String,
    rows: Vec<MatrixRow>,
}

impl Ablate {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let markdown = ("--markdown", self.markdown.as_deref());
        let global = &self.files.check(global, &[markdown])?;
        let wanted = |name: &str| {
            let name = name.to_lowercase();
            self.only.is_empty()
                || self
                    .only
                    .iter()
                    .any(|text| name.contains(&text.to_lowercase()))
        };
        if !TECHNIQUES.iter().any(|technique| wanted(technique.name)) {
            let names: Vec<_> = TECHNIQUES.iter().map(|technique| technique.name).collect();
            bail!(
                "no technique is called `{}`; there are {}",
                self.only.join("`, `"),
                names.join(", ")
            );
        }
        let device = Device::open(global.device)?;
        device.warm_up()?;
        let plan = ComparisonPlan {
            rounds: usize::from(self.rounds),
            maximum_rounds: usize::from(self.rounds),
            ..ComparisonPlan::default()
        };
        let count = global.host.allocations;
        let mut rows = Vec::new();
        let chosen = || TECHNIQUES.iter().filter(|technique| wanted(technique.name));
        let interruption = Interruption::listen()?;
        for technique in chosen() {
            // What was measured until now is shown and written.
            if interruption.came() {
                break;
            }
            output::progress(global, technique.name);
            rows.push(matrix::measure(
                technique,
                &device,
                &plan,
                count.as_ref().map(|count| count as &dyn Fn() -> u64),
            ));
        }
        output::progress(global, "");
        let (done, all) = (rows.len(), chosen().count());
        if done < all {
            let text = format!("interrupted: {done} of {all} techniques were measured");
            output::note(global, &text);
        }
        let mut report = output::report(
            "synth ablate",
            Body {
                device: device.name().to_owned(),
                rows,
            },
        );
        report.findings = matrix::findings(&report.body.rows);
        let body = &report.body;
        if let Some(path) = &self.markdown {
            let text = matrix::markdown(&body.rows, &body.device);
            write_output(path, text.as_bytes())?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        let measured: Vec<_> = body
            .rows
            .iter()
            .filter_map(|row| Some((row.technique, &row.outcome.as_ref().ok()?.row)))
            .collect();
        let samples: Vec<_> = measured
            .iter()
            .flat_map(|(_, row)| [&row.comparison.a, &row.comparison.b])
            .collect();
        let sections = || {
            let forest: Vec<ForestRow<'_>> = measured
                .iter()
                .map(|&(name, row)| ForestRow::of(name, &row.evaluation))
                .collect();
            vec![Section {
                heading: body.device.clone(),
                text: describe(body),
                plots: vec![plot::forest("with / without", &forest, plan.margin)],
            }]
        };
        self.files.write(
            global,
            "synth: optimisation matrix",
            &samples,
            sections,
            &report,
        )?;
        output::print(global, &report, describe)?;
        Ok(if done < all {
            Outcome::Interrupted
        } else {
            Outcome::Fine
        })
    }
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&[
        "technique",
        "what",
        "priority",
        "claimed",
        "impact",
        ">measured",
        ">interval %",
        "verdict",
        ">p50 ms",
        ">p95 ms",
        ">p99 ms",
        ">allocations",
        ">SNR dB",
        ">alias dB",
        ">step dB",
    ]);
    for row in &body.rows {
        table.row(matrix::cells(row));
    }
    format!(
        "{table}\non {}; negative is faster; `no effect` where the interval contains zero\n",
        body.device
    )
}
