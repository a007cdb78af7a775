//! A command at one size after another: times and peak memory for the laws of both.
//!
//! Invariants: sizes take turns in passes, so that a slow minute of the machine meets all of them;
//! one clock stands for all sizes; a run that fails loses nothing that was measured before it.

use std::time::Duration;

use serde::Serialize;

use super::peak_memory;
use super::samples::CommandSamples;
use super::target::{CommandError, CommandTarget};
use crate::comparison::clock::{Bound, Clock, ClockChoice, taken_away};
use crate::cpu::closure::Progress;
use crate::measurement::{Figures, Measurement};
use crate::memory_scaling::MemoryPoint;
use crate::scaling::SizePoint;
use crate::statistics::order::median_of;
use crate::statistics::stop_rule::StopPlan;

/// A command with the size that is in it.
pub struct SizedCommand {
    /// N.
    pub size: u64,
    /// The command at this size.
    pub target: CommandTarget,
}

/// A command measured at one size.
#[derive(Clone, Debug, Serialize)]
pub struct CommandSizeRow {
    /// N.
    pub size: u64,
    /// Every sample.
    pub measurement: Measurement,
    /// What they say.
    pub figures: Figures,
    /// Median of the CPU time of a run.
    pub cpu_median_seconds: f64,
    /// Largest resident set; absent where it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

impl CommandSizeRow {
    /// Size and time by `clock`, for fitting.
    pub fn point(&self, clock: Clock) -> SizePoint {
        SizePoint {
            size: self.size as f64,
            seconds: match clock {
                Clock::Wall => self.figures.interval.median,
                Clock::Cpu => self.cpu_median_seconds,
            },
        }
    }
}

/// The sizes that were measured.
pub struct CommandSizes {
    /// One row for every size with a sample, in the order given.
    pub rows: Vec<CommandSizeRow>,
    /// The clock whose times stand for all sizes.
    pub clock: ClockChoice,
    /// What ended the study early.
    pub failure: Option<CommandError>,
}

impl CommandSizes {
    /// Sizes with their times by the clock that was chosen.
    pub fn points(&self) -> Vec<SizePoint> {
        let rows = self.rows.iter();
        rows.map(|row| row.point(self.clock.clock)).collect()
    }

    /// Sizes with their peak memory, where every size has one.
    pub fn memory_points(&self) -> Option<Vec<MemoryPoint>> {
        let point = |row: &CommandSizeRow| {
            Some(MemoryPoint {
                size: row.size,
                bytes: row.peak_bytes?,
            })
        };
        self.rows.iter().map(point).collect()
    }
}

/// Visits of each size.
const PASSES: u32 = 3;

/// Measures every size within `each` (a single run may take longer), after one untimed run.
/// `Err` where not even the first size has a sample.
pub fn measure_sizes(
    sized: &[SizedCommand],
    each: Duration,
    watch: &mut dyn FnMut(u64, &Progress<'_>),
) -> Result<CommandSizes, CommandError> {
    let mut sampled: Vec<(CommandSamples, Option<u64>)> = Vec::new();
    let plan = StopPlan {
        target: 0.01,
        minimum_count: 5,
        minimum_time: Duration::ZERO,
        timeout: each / PASSES,
        ..StopPlan::default()
    };
    let mut failure = None;
    'passes: for pass in 0..PASSES {
        for (index, SizedCommand { size, target }) in sized.iter().enumerate() {
            if pass == 0 {
                let warmed = target.run(0).map(|run| match run.peak_bytes {
                    Some(_) => None,
                    None => peak_memory::probe(target),
                });
                match warmed {
                    Ok(probed) => sampled.push((CommandSamples::new(&target.line()), probed)),
                    Err(error) => {
                        failure = Some(error);
                        break 'passes;
                    }
                }
            }
            let (samples, _) = &mut sampled[index];
            // One run took all the time of its size.
            let spent: f64 = samples.measurement.seconds.iter().sum();
            if spent >= each.as_secs_f64() {
                continue;
            }
            let extended = samples.extend(target, &plan, None, &mut |seen| watch(*size, seen));
            if let Err(error) = extended {
                failure = Some(error);
                break 'passes;
            }
        }
    }
    let rows: Vec<CommandSizeRow> = sampled
        .into_iter()
        .zip(sized)
        .filter_map(|((samples, probed), sized)| {
            Some(CommandSizeRow {
                size: sized.size,
                figures: samples.measurement.figures()?,
                cpu_median_seconds: median_of(&samples.measurement.cpu_seconds),
                peak_bytes: samples.peak_bytes().or(probed),
                measurement: samples.measurement,
            })
        })
        .collect();
    match failure {
        Some(error) if rows.is_empty() => Err(error),
        failure => Ok(CommandSizes {
            clock: clock_of(&rows),
            rows,
            failure,
        }),
    }
}

/// One clock for all sizes: a law over a mixture would be a law of nothing.
fn clock_of(rows: &[CommandSizeRow]) -> ClockChoice {
    let wall = |reason: String| ClockChoice {
        clock: Clock::Wall,
        reason,
    };
    let Some(seen) = rows.iter().find_map(|row| taken_away(&row.measurement)) else {
        return wall("enough runs of every size had their core".to_owned());
    };
    let computes = |row: &&CommandSizeRow| {
        Bound::of(&row.measurement) == Bound::OneCore && row.cpu_median_seconds > 0.0
    };
    match rows.iter().find(|row| !computes(row)) {
        None => ClockChoice {
            clock: Clock::Cpu,
            reason: format!("{seen}, and every size computes on one core"),
        },
        Some(row) => wall(format!(
            "{seen}, but CPU time does not stand for `{}`, which waits, uses several cores or is \
             more than one program",
            row.measurement.name
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(line: &str, sizes: &[u64]) -> Vec<SizedCommand> {
        let at = |size: &u64| SizedCommand {
            size: *size,
            target: CommandTarget::shell(&line.replace("{n}", &size.to_string())),
        };
        sizes.iter().map(at).collect()
    }

    #[test]
    fn every_size_has_times_and_memory() {
        let line = "exec dd if=/dev/zero of=/dev/null bs={n}M count=1";
        let done = measure_sizes(
            &sized(line, &[64, 128, 256]),
            Duration::from_millis(30),
            &mut |_, _| {},
        )
        .unwrap();
        assert!(done.failure.is_none());
        let memory = done.memory_points().unwrap();
        for point in memory {
            let expected = point.size << 20;
            assert!(
                (expected..expected + (32 << 20)).contains(&point.bytes),
                "{point:?}"
            );
        }
        assert_eq!(done.points().len(), 3);
    }

    #[test]
    fn a_size_that_fails_keeps_the_smaller_ones() {
        let done = measure_sizes(
            &sized("test {n} -lt 3", &[1, 2, 3, 4]),
            Duration::from_millis(10),
            &mut |_, _| {},
        )
        .unwrap();
        assert_eq!(done.rows.len(), 2);
        assert!(done.failure.unwrap().to_string().contains("test 3 -lt 3"));
        let none = measure_sizes(&sized("exit {n}", &[1, 2]), Duration::ZERO, &mut |_, _| {});
        assert!(matches!(none, Err(CommandError::Failed { .. })));
    }
}
