//! Two commands, measured in turns.

use std::time::Duration;

use anyhow::Result;
use warpsmith_measure::comparison::paired_rounds::{Comparison, ComparisonPlan, Side, run};
use warpsmith_measure::cpu::command::{CommandError, CommandTarget};
use warpsmith_measure::measurement::{Measurement, Sample};

use crate::global::Global;
use crate::output;

/// Runs two lines for `sh -c` in turns until it is clear which is slower, or the rounds are spent.
pub(crate) fn compare_commands(
    global: &Global,
    a: &str,
    b: &str,
    plan: &ComparisonPlan,
) -> Result<Comparison> {
    let target = |line: &str| CommandTarget {
        words: vec!["sh".into(), "-c".into(), line.into()],
        limit: Duration::from_secs(600),
        ignore_failure: false,
    };
    let (target_a, target_b) = (target(a), target(b));
    // Once untimed: caches fill, and a failure shows before an hour has passed.
    target_a.run(0)?;
    target_b.run(0)?;
    let mut runs = 0;
    // Commands are long: a round is two pairs, and every round still has both orders.
    let plan = ComparisonPlan { pairs: 2, ..*plan };
    Ok(run::<CommandError>(
        &plan,
        Measurement::of_command(a),
        Measurement::of_command(b),
        &mut |side| {
            runs += 1;
            output::progress(global, &format!("run {runs}"));
            let run = match side {
                Side::A => target_a.run(runs)?,
                Side::B => target_b.run(runs)?,
            };
            Ok(Sample {
                cpu_seconds: Some(run.cpu.as_secs_f64()),
                ..Sample::of_seconds(run.wall.as_secs_f64())
            })
        },
        &mut |_| {},
    )?)
}
