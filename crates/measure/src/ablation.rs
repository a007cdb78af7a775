//! Ablation: each technique of a workload off against the full set and on against the bare base,
//! in paired rounds, with memory.
//!
//! Two rows per technique, because techniques interact: what one adds to nothing and what it adds
//! to everything else are different numbers.

use serde::{Deserialize, Serialize};
use warpsmith_device::Device;
use warpsmith_workload::{Parameters, Technique, Workload, WorkloadError};

use crate::comparison::candidates::correct_for_several;
use crate::comparison::evaluation::Evaluation;
use crate::comparison::paired_rounds::{self, Comparison, ComparisonPlan, Side};
use crate::parity::output_of_first_run;
use crate::run_sampler::{RunMode, RunSampler};

/// What a technique was added to, or taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// On, with every other one off, against all off.
    AloneOnBase,
    /// Off, with every other one on, against all on.
    MissingFromFull,
    /// All on against all off.
    FullOnBase,
}

/// One line of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblationRow {
    /// The technique; `all` for the full set.
    pub technique: String,
    /// What it was compared with.
    pub setting: Setting,
    /// Time with the change over time without it.
    pub evaluation: Evaluation,
    /// Device memory held with the change less without it, where the device keeps count.
    pub memory_bytes: Option<i64>,
    /// Largest absolute difference of the outputs; the quality that the change costs.
    pub output_difference: Option<f64>,
    /// The outputs agree within the workload's tolerance.
    pub output_agrees: Option<bool>,
    /// The samples.
    pub comparison: Comparison,
}

/// Measures the matrix of `workload`; `watch` is told each row's name before it runs.
pub fn ablate(
    workload: &dyn Workload,
    device: &Device,
    given: &[(String, String)],
    mode: RunMode,
    plan: &ComparisonPlan,
    watch: &mut dyn FnMut(&str),
) -> Result<Vec<AblationRow>, WorkloadError> {
    let techniques: Vec<&Technique> = workload
        .techniques()
        .iter()
        .filter(|technique| technique.acts_on.includes(device))
        .collect();
    let with = |on: &dyn Fn(usize) -> bool| -> Result<Parameters, WorkloadError> {
        let mut settings = given.to_vec();
        for (index, technique) in techniques.iter().enumerate() {
            let value = if on(index) {
                technique.on
            } else {
                technique.off
            };
            settings.push((technique.parameter.to_owned(), value.to_owned()));
        }
        Ok(Parameters::resolve(workload.parameters(), &settings)?)
    };
    let (base, full) = (with(&|_| false)?, with(&|_| true)?);
    let mut rows = Vec::new();
    let mut add = |name: &str, setting, without: &Parameters, changed: &Parameters| {
        watch(name);
        rows.push(compare_settings(
            workload, device, name, setting, without, changed, mode, plan,
        )?);
        Ok::<(), WorkloadError>(())
    };
    for (index, technique) in techniques.iter().enumerate() {
        add(
            technique.name,
            Setting::AloneOnBase,
            &base,
            &with(&|i| i == index)?,
        )?;
        if techniques.len() > 1 {
            let without = with(&|i| i != index)?;
            add(technique.name, Setting::MissingFromFull, &full, &without)?;
        }
    }
    if techniques.len() > 1 {
        add("all", Setting::FullOnBase, &base, &full)?;
    }
    let mut evaluations: Vec<Evaluation> = rows.iter().map(|row| row.evaluation).collect();
    correct_for_several(&mut evaluations);
    for (row, evaluation) in rows.iter_mut().zip(evaluations) {
        row.evaluation = evaluation;
    }
    Ok(rows)
}

/// Rounds that the two sides keep their memory for. Then both are made again in the other order:
/// who came first, and so lies elsewhere in memory, moved ratios by up to 1.6 %.
const SAME_PLACES: usize = 6;

/// Compares two settings of one workload in paired rounds.
#[allow(clippy::too_many_arguments)] // One row's description; a struct would be read once.
pub fn compare_settings(
    workload: &dyn Workload,
    device: &Device,
    name: &str,
    setting: Setting,
    without: &Parameters,
    changed: &Parameters,
    mode: RunMode,
    plan: &ComparisonPlan,
) -> Result<AblationRow, WorkloadError> {
    let held = || device.cuda().map(|gpu| gpu.ledger().stats().live);
    let mut sampler = RunSampler::new(device, mode)?;
    sampler.set_settle(plan.settle);
    let start = held();
    let first = |parameters| -> Result<_, WorkloadError> {
        let mut prepared = workload.prepare(device, parameters, 1)?;
        let output = output_of_first_run(prepared.as_mut())?;
        Ok((sampler.target(prepared)?, output))
    };
    let (a, expected) = first(without)?;
    let after_a = held();
    let (b, actual) = first(changed)?;
    let after_b = held();
    let memory = |from: Option<u64>, to: Option<u64>| {
        from.zip(to)
            .map(|(from, to)| to.cast_signed().wrapping_sub(from.cast_signed()))
    };
    let agreement = actual
        .compare(&expected, workload.tolerance(changed).tolerance)
        .filter(|agreement| agreement.compared > 0);
    let begin = |target| sampler.begin(name, target);
    let (empty_a, empty_b) = (begin(&a), begin(&b));
    let mut both = Some((a, b));
    let mut taken = 0;
    let comparison = paired_rounds::run(
        plan,
        empty_a,
        empty_b,
        &mut |side| {
            let round = taken / (2 * plan.pairs);
            if round > 0 && taken % (2 * plan.pairs * SAME_PLACES) == 0 {
                // Freed first, so that the pages of one can become those of the other.
                drop(both.take());
                let prepared =
                    |parameters| sampler.target(workload.prepare(device, parameters, 1)?);
                both = Some(match round / SAME_PLACES % 2 {
                    0 => (prepared(without)?, prepared(changed)?),
                    _ => {
                        let b = prepared(changed)?;
                        (prepared(without)?, b)
                    }
                });
            }
            taken += 1;
            match (&mut both, side) {
                (Some((a, _)), Side::A) => sampler.sample(a),
                (Some((_, b)), Side::B) => sampler.sample(b),
                (None, _) => unreachable!("made again where they are dropped"),
            }
        },
        &mut |_| {},
    )?;
    Ok(AblationRow {
        technique: name.to_owned(),
        setting,
        evaluation: comparison.evaluation,
        memory_bytes: memory(after_a, after_b)
            .zip(memory(start, after_a))
            .map(|(with, without)| with - without),
        output_difference: agreement.as_ref().map(|agreement| agreement.max_abs),
        output_agrees: agreement.as_ref().map(|agreement| agreement.holds()),
        comparison,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use warpsmith_device::DeviceChoice;
    use warpsmith_workload::{About, ArguedTolerance, Cost, Prepared, result_in_memory};

    use super::*;

    /// Goes on from run to run, as a trajectory does.
    struct Counter;

    impl Workload for Counter {
        fn about(&self) -> About {
            About::new("test/counter", "", &[])
        }
        fn cost(&self, _: &Parameters) -> Cost {
            Cost::default()
        }
        fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
            ArguedTolerance::exact("integers")
        }
        fn prepare(
            &self,
            _: &Device,
            _: &Parameters,
            _: u64,
        ) -> Result<Box<dyn Prepared>, WorkloadError> {
            Ok(Box::new(Trajectory {
                state: 0.0,
                output: vec![0.0],
            }))
        }
    }

    struct Trajectory {
        state: f32,
        output: Vec<f32>,
    }

    impl Prepared for Trajectory {
        fn run_once(&mut self) -> Result<(), WorkloadError> {
            self.state += 1.0;
            self.output[0] = self.state;
            Ok(())
        }
        result_in_memory!(output: F32, f32::NAN);
    }

    #[test]
    fn sides_that_ran_unequally_often_are_compared_by_their_first_runs() {
        let cpu = Device::open(DeviceChoice::Cpu).unwrap();
        let plan = ComparisonPlan {
            settle: Duration::from_millis(3),
            maximum_rounds: 24,
            ..ComparisonPlan::default()
        };
        let same = Parameters::default();
        let row = compare_settings(
            &Counter,
            &cpu,
            "nothing",
            Setting::AloneOnBase,
            &same,
            &same,
            RunMode::EndToEnd,
            &plan,
        );
        assert_eq!(row.unwrap().output_agrees, Some(true));
    }
}
