//! What `scale` found, as data and as text.

use std::path::PathBuf;

use serde::Serialize;
use warpsmith_core::{Bytes, Seconds};
use warpsmith_measure::command::size_study::CommandSizeRow;
use warpsmith_measure::comparison::clock::{Clock, ClockChoice};
use warpsmith_measure::measurement::{Figures, Measurement};
use warpsmith_measure::memory_scaling::MemoryScaling;
use warpsmith_measure::scaling::{Law, Scaling, SizePoint};
use warpsmith_measure::size_study::SizeRow;
use warpsmith_measure::statistics::stop_rule::MedianInterval;

use warpsmith_console::table::Table;

/// One size, as it was measured or read.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Row {
    Workload(Box<SizeRow>),
    Command(Box<CommandSizeRow>),
    Read(SizePoint),
}

impl Row {
    /// Its samples with what they say, where it has samples.
    pub(super) fn measured(&self) -> Option<(&Measurement, &Figures)> {
        match self {
            Self::Workload(row) => Some((&row.measurement, &row.figures)),
            Self::Command(row) => Some((&row.measurement, &row.figures)),
            Self::Read(_) => None,
        }
    }

    fn point(&self, clock: Clock) -> SizePoint {
        match self {
            Self::Workload(row) => row.point(),
            Self::Command(row) => row.point(clock),
            Self::Read(point) => *point,
        }
    }

    /// Half of the interval of the median in percent; infinite where the samples give none.
    fn half_width(&self, clock: Clock) -> Option<f64> {
        let (measurement, figures) = self.measured()?;
        match clock {
            Clock::Wall => {
                let interval = &figures.interval;
                Some(50.0 * (interval.high - interval.low) / interval.median)
            }
            Clock::Cpu => {
                let interval = MedianInterval::of(&measurement.cpu_seconds, 0.05)?;
                Some(100.0 * interval.relative_half_width())
            }
        }
    }

    fn units(&self) -> f64 {
        match self {
            Self::Workload(row) => row.units as f64,
            Self::Command(row) => row.size as f64,
            Self::Read(point) => point.size,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workload: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<PathBuf>,
    pub(super) unit: &'static str,
    pub(super) rows: Vec<Row>,
    /// Whose times the law is of, for commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) clock: Option<ClockChoice>,
    /// The law of the time; absent where a failure left too few sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scaling: Option<Scaling>,
    /// The law of the peak memory, where it was read at every size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<MemoryScaling>,
    /// What ended the study early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
}

impl Body {
    /// What it is about.
    pub(super) fn name(&self) -> String {
        match (self.workload, &self.command, &self.from) {
            (Some(id), ..) => id.to_owned(),
            (None, Some(line), _) => line.clone(),
            (None, None, from) => from
                .as_ref()
                .map_or_else(String::new, |path| path.display().to_string()),
        }
    }

    pub(super) fn describe(&self) -> String {
        let clock = self.clock.as_ref();
        let mut text = self.table(clock.map_or(Clock::Wall, |choice| choice.clock));
        text.push('\n');
        if let Some(choice) = clock {
            text += &format!("by {}: {}\n", choice.clock, choice.reason);
        }
        if let Some(scaling) = &self.scaling {
            text += &time_law(scaling);
        }
        if let Some(memory) = &self.memory {
            text += &memory_law(memory);
        }
        text
    }

    fn table(&self, clock: Clock) -> String {
        let per_unit = format!(">per {}", self.unit);
        let mut heading = vec![">N", ">median", ">95 % interval", &per_unit, ">fit"];
        if self.memory.is_some() {
            heading.push(">peak memory");
        }
        heading.push(">samples");
        let mut table = Table::new(&heading);
        for (index, row) in self.rows.iter().enumerate() {
            let point = row.point(clock);
            let half = row.half_width(clock);
            let mut cells = vec![
                format!("{:.0}", point.size),
                Seconds(point.seconds).to_string(),
                match half {
                    Some(half) if half.is_finite() => format!("±{half:.2} %"),
                    Some(_) => "too few".to_owned(),
                    None => "-".to_owned(),
                },
                Seconds(point.seconds / row.units().max(1.0)).to_string(),
                match &self.scaling {
                    Some(scaling) => Seconds(scaling.chosen.seconds(point.size)).to_string(),
                    None => "-".to_owned(),
                },
            ];
            if let Some(memory) = &self.memory {
                // Rows are in the order given, the law's points by size.
                let found = memory
                    .points
                    .iter()
                    .find(|seen| seen.size as f64 == point.size);
                cells.push(found.map_or("-".to_owned(), |seen| Bytes(seen.bytes).to_string()));
            }
            let count = self.rows[index].measured();
            cells.push(count.map_or("-".to_owned(), |(_, figures)| {
                figures.summary.count.to_string()
            }));
            table.row(cells);
        }
        table.to_string()
    }
}

/// "grows as N", or which laws cannot be told apart.
fn verdict(what: &str, certain: bool, law: Law, rivals: &[Law]) -> String {
    if certain {
        return match law {
            Law::Constant => format!("{what} does not grow"),
            law => format!("{what} grows as {}", law.name()),
        };
    }
    let rivals: Vec<_> = rivals.iter().map(|law| law.name()).collect();
    let others = match rivals.is_empty() {
        true => String::new(),
        false => format!(", and so do {}", rivals.join(", ")),
    };
    format!("{what}: cannot tell the law: {} fits{others}", law.name())
}

fn time_law(scaling: &Scaling) -> String {
    let chosen = &scaling.chosen;
    let (exponent, low, high) = scaling.exponent;
    let balance = match scaling.balance_size {
        Some(size) => format!("; overhead and work are equal at N = {size:.0}"),
        None => String::new(),
    };
    let formula = match chosen.law {
        Law::Constant => Seconds(chosen.coefficient).to_string(),
        law => format!(
            "{} + {:.3e} s · {}",
            Seconds(chosen.overhead),
            chosen.coefficient,
            law.name()
        ),
    };
    format!(
        "{}: {formula} (fit error {:.1} %){balance}\n\
         exponent over the upper half {exponent:.2} ({low:.2} to {high:.2})\n",
        verdict("time", scaling.is_certain(), chosen.law, &scaling.rivals),
        100.0 * chosen.relative_error,
    )
}

fn memory_law(memory: &MemoryScaling) -> String {
    let formula = match memory.law {
        Law::Constant => Bytes(memory.coefficient as u64).to_string(),
        law => format!(
            "{} + {:.3} B · {}",
            Bytes(memory.base_bytes as u64),
            memory.coefficient,
            law.name()
        ),
    };
    format!(
        "{}: {formula} (fit error {:.1} %)\n",
        verdict(
            "peak memory",
            memory.is_certain(),
            memory.law,
            &memory.rivals
        ),
        100.0 * memory.relative_error,
    )
}
