//! The detectors tried on this machine: histories of the same work, measured again and again, of
//! which every second one steps.

use serde::Serialize;

use crate::detectors::{stands_out, suspects};

/// What the gate is worth on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HistorySelfTest {
    /// Histories without a step, and as many with one.
    pub histories: usize,
    /// Results in each.
    pub commits: usize,
    /// Histories without a step in which a slower suspect was named.
    pub false_alarms: usize,
    /// Steps that were named, within four commits.
    pub found: usize,
    /// Of these, at the very commit.
    pub right_commit: usize,
    /// Histories with a step in which a second slower suspect was named.
    pub second_suspects: usize,
}

/// Results in a history.
const COMMITS: usize = 30;
/// The first result on the new level.
const STEP_AT: usize = 20;

/// Makes `histories` of each kind. `measure` takes one result of work that is so many times as
/// long; `watch` is told after each history.
pub fn selftest(
    histories: usize,
    effect: f64,
    measure: &mut dyn FnMut(f64) -> f64,
    watch: &mut dyn FnMut(usize),
) -> HistorySelfTest {
    let mut result = HistorySelfTest {
        histories,
        commits: COMMITS,
        ..HistorySelfTest::default()
    };
    for history in 0..2 * histories {
        let steps = history % 2 == 1;
        let mut medians: Vec<f64> = Vec::new();
        for commit in 0..COMMITS {
            let work = match steps && commit >= STEP_AT {
                true => 1.0 + effect,
                false => 1.0,
            };
            medians.push(measure(work));
            // As `history check` asks for.
            if stands_out(&medians) {
                let mut three = [medians[commit], measure(work), measure(work)];
                three.sort_unstable_by(f64::total_cmp);
                medians[commit] = three[1];
            }
        }
        let named: Vec<usize> = suspects(&medians)
            .iter()
            .filter(|suspect| suspect.change > 0.0)
            .map(|suspect| suspect.index)
            .collect();
        if steps {
            let near = |index: &&usize| index.abs_diff(STEP_AT) <= 4;
            result.found += usize::from(named.iter().any(|index| near(&index)));
            result.right_commit += usize::from(named.contains(&STEP_AT));
            result.second_suspects += usize::from(named.len() > 1);
        } else {
            result.false_alarms += usize::from(!named.is_empty());
        }
        watch(history + 1);
    }
    result
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    #[test]
    fn clear_steps_are_found_and_none_is_invented() {
        let mut random = Random::seeded(5);
        let mut measure = |work: f64| work * (1.0 + 0.003 * random.normal());
        let result = selftest(10, 0.03, &mut measure, &mut |_| {});
        assert_eq!((result.false_alarms, result.found), (0, 10), "{result:?}");
        assert!(result.right_commit >= 9, "{result:?}");
    }
}
