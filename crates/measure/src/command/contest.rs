//! Commands against each other: prepared, warmed up, run in turns within a budget, cleaned up.
//!
//! Invariant: once the set-up of a command ran, its clean-up runs, whatever happened between.

use std::time::{Duration, Instant};

use super::precedence::Precedence;
use super::target::{CommandError, CommandTarget};
use crate::comparison::turns::{self, Turns, TurnsPlan, TurnsProgress};
use crate::measurement::Measurement;

/// One command of a contest, with what has to run around it; only its own runs are timed.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// What results call it.
    pub name: String,
    /// The command.
    pub target: CommandTarget,
    /// Runs once, before the first run of any.
    pub setup: Option<CommandTarget>,
    /// Runs before every run, also before those of the warm-up.
    pub prepare: Option<CommandTarget>,
    /// Runs once, after the last run of all.
    pub cleanup: Option<CommandTarget>,
}

impl Contestant {
    /// A command with nothing around it.
    pub fn new(name: impl Into<String>, target: CommandTarget) -> Self {
        Self {
            name: name.into(),
            target,
            setup: None,
            prepare: None,
            cleanup: None,
        }
    }
}

/// What a watcher is told.
#[derive(Clone, Copy, Debug)]
pub enum ContestProgress<'a> {
    /// An untimed run of this one begins.
    WarmUp(&'a str),
    /// A timed round ended.
    Rounds(&'a TurnsProgress<'a>),
}

/// Runs the contestants in turns, the first as the base, after `warm_up` untimed runs of each.
/// `Err` where not even the warm-up succeeded; a later failure is in the answer, beside every
/// sample that was taken before it.
pub fn contest(
    contestants: &[Contestant],
    warm_up: usize,
    plan: &TurnsPlan,
    watch: &mut dyn FnMut(ContestProgress<'_>),
) -> Result<Turns<CommandError>, CommandError> {
    let mut set_up = 0;
    let outcome = contestants
        .iter()
        .try_for_each(|contestant| {
            set_up += 1;
            run_beside(contestant.setup.as_ref())
        })
        .and_then(|()| warmed_up(contestants, warm_up, plan, watch));
    // Every one of them, also after one that failed.
    let mut cleaned = Ok(());
    for contestant in &contestants[..set_up] {
        let done = run_beside(contestant.cleanup.as_ref());
        cleaned = cleaned.and(done);
    }
    let mut turns = outcome?;
    if turns.failure.is_none() {
        turns.failure = cleaned.err();
    }
    Ok(turns)
}

fn warmed_up(
    contestants: &[Contestant],
    warm_up: usize,
    plan: &TurnsPlan,
    watch: &mut dyn FnMut(ContestProgress<'_>),
) -> Result<Turns<CommandError>, CommandError> {
    let begun = Instant::now();
    // Also between the runs, or most of the budget of short ones is spent in the queue.
    let precede = contestants.iter().all(|each| each.target.precedes);
    let precedence = precede.then(Precedence::take).flatten();
    let prepare = |contestant: &Contestant| match (&precedence, &contestant.prepare) {
        (Some(precedence), Some(_)) => precedence.pause(|| run_beside(contestant.prepare.as_ref())),
        (_, line) => run_beside(line.as_ref()),
    };
    for contestant in contestants {
        for _ in 0..warm_up {
            watch(ContestProgress::WarmUp(&contestant.name));
            prepare(contestant)?;
            contestant.target.run(0)?;
        }
    }
    let plan = TurnsPlan {
        budget: left(plan.budget, begun.elapsed()),
        ..*plan
    };
    let sides = contestants
        .iter()
        .map(|contestant| Measurement::of_command(&contestant.name))
        .collect();
    let mut runs = vec![0; contestants.len()];
    Ok(turns::run(
        &plan,
        sides,
        &mut |side| {
            let contestant = &contestants[side];
            prepare(contestant)?;
            runs[side] += 1;
            Ok(contestant.target.run(runs[side])?.sample())
        },
        &mut |progress| watch(ContestProgress::Rounds(progress)),
    ))
}

/// What the warm-up leaves of the budget; never less than half, or a slow first run (a cache that
/// fills) would leave nothing to decide with.
fn left(budget: Duration, spent: Duration) -> Duration {
    budget.saturating_sub(spent).max(budget / 2)
}

fn run_beside(target: Option<&CommandTarget>) -> Result<(), CommandError> {
    target.map_or(Ok(()), |target| target.run(1).map(|_| ()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appending(word: &str, file: &std::path::Path) -> CommandTarget {
        CommandTarget::shell(&format!("echo {word} >> {}", file.display()))
    }

    fn contestant(name: &str, file: &std::path::Path) -> Contestant {
        Contestant {
            name: name.to_owned(),
            target: appending(name, file),
            setup: Some(appending("setup", file)),
            prepare: Some(appending("prepare", file)),
            cleanup: Some(appending("cleanup", file)),
        }
    }

    #[test]
    fn what_runs_around_commands_runs_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let plan = TurnsPlan {
            budget: Duration::from_secs(60),
            maximum_rounds: 1,
            ..TurnsPlan::default()
        };
        let both = [contestant("a", &file), contestant("b", &file)];
        let turns = contest(&both, 1, &plan, &mut |_| {}).unwrap();
        assert!(turns.failure.is_none());
        let log = std::fs::read_to_string(&file).unwrap();
        let words: Vec<&str> = log.lines().collect();
        assert_eq!(words[..2], ["setup", "setup"]);
        assert_eq!(words[words.len() - 2..], ["cleanup", "cleanup"]);
        let middle = &words[2..words.len() - 2];
        // Two warm-ups and two runs of each in the one round.
        assert_eq!(middle.len(), 2 * (2 + 4));
        assert!(
            middle
                .chunks(2)
                .all(|pair| pair[0] == "prepare" && pair[1] != "prepare")
        );
    }

    #[test]
    fn the_clean_up_runs_after_a_failure_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let mut failing = contestant("a", &file);
        failing.target = CommandTarget::shell("exit 3");
        let both = [failing, contestant("b", &file)];
        let error = contest(&both, 1, &TurnsPlan::default(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, CommandError::Failed { .. }), "{error}");
        let log = std::fs::read_to_string(&file).unwrap();
        assert_eq!(log.lines().filter(|line| *line == "cleanup").count(), 2);
    }

    #[test]
    fn a_command_that_dies_half_way_loses_no_sample() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("count");
        // The tenth run fails.
        let line = format!("echo >> {0}; test $(wc -l < {0}) -lt 10", file.display());
        let both = [
            Contestant::new("dies", CommandTarget::shell(&line)),
            Contestant::new("lives", CommandTarget::shell("true")),
        ];
        let plan = TurnsPlan {
            budget: Duration::from_secs(60),
            maximum_rounds: 100,
            ..TurnsPlan::default()
        };
        let turns = contest(&both, 1, &plan, &mut |_| {}).unwrap();
        assert_eq!(turns.sides[0].seconds.len(), 8);
        let failure = turns.failure.unwrap().to_string();
        assert!(failure.contains("on run 9"), "{failure}");
    }
}
