//! One size of a case: a search, a race of the fastest, and the winner checked at every size.

use std::os::unix::process::CommandExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use warpsmith_case::{
    Attempt, BegunReference, Case, CompileAhead, Fault, Lane, Point, Scope, Search, Space,
    Workbench, race, size_words, target,
};
use warpsmith_core::Seconds;
use warpsmith_device::{CudaDevice, Device, Nvrtc};
use warpsmith_measure::run_sampler::RunMode;

use super::journal::{Journal, Tried};
use super::winners::{Phases, Winner, as_json};
use crate::kernel::verify::case::explain;
use warpsmith_console::global::Global;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::output;
use warpsmith_console::progress_line::ProgressLine;

/// Samples of each finalist before the first look, and at most.
const FIRST: usize = 5;
const MOST: usize = 320;
/// Candidates that race at the end.
const FINALISTS: usize = 6;
/// Finalists this close are equal.
const EQUAL: f64 = 0.005;

/// What is tuned, and with what.
pub(super) struct OneSize<'a> {
    pub(super) global: &'a Global,
    pub(super) case: &'a Case,
    pub(super) size: &'a Scope,
    pub(super) device: &'a Device,
    /// The GPU and its compiler, where candidates are compiled.
    pub(super) compiler: Option<&'a (&'a CudaDevice, Arc<Nvrtc>)>,
    pub(super) interruption: &'a Interruption,
    pub(super) mode: RunMode,
    pub(super) share: f64,
    pub(super) seed: u64,
    pub(super) limit: Duration,
}

/// How it ended.
pub(super) enum Found {
    Winner(Box<Winner>),
    /// Ctrl-C: what is known so far, in words.
    Interrupted(String),
}

/// What a search has seen.
#[derive(Default)]
struct Seen {
    /// Points and their medians.
    measured: Vec<(usize, f64)>,
    refused: usize,
    /// Where the time of the search went.
    phases: Phases,
}

impl Seen {
    fn best(&self) -> Option<(usize, f64)> {
        let measured = self.measured.iter().copied();
        measured.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl OneSize<'_> {
    pub(super) fn tune(&self, reference: BegunReference, journal: &mut Journal) -> Result<Found> {
        let begun = Instant::now();
        let words = size_words(self.size, &self.case.sizes.names);
        let space = Space::of(self.case, self.size)?;
        if space.is_empty() {
            bail!(
                "{}: no choice of tunables satisfies the constraints at {words}",
                self.case.file.display()
            );
        }
        let mut bench = Workbench::new(self.case, self.device, reference, self.mode, self.limit)
            .map_err(explain)?;
        let mut seen = self.search(&space, &words, &mut bench, journal)?;
        let searched = begun.elapsed().as_secs_f64();
        if self.interruption.came() {
            return Ok(Found::Interrupted(match seen.best() {
                Some((at, seconds)) => format!(
                    "{words}: {} tried of {}, the fastest so far is {} with {}, not yet checked at every size",
                    seen.measured.len() + seen.refused,
                    space.len(),
                    Seconds(seconds),
                    point_words(space.point(at))
                ),
                None => format!("{words}: no candidate was measured yet"),
            }));
        }
        let first = self.case.first_choice();
        let first_time = seen
            .measured
            .iter()
            .find(|(at, _)| *space.point(*at) == first);
        let first_choice_seconds = first_time.map(|(_, seconds)| *seconds);
        let importance = space.importance(&seen.measured);
        let mut phases = Phases {
            search: searched,
            ..seen.phases
        };
        loop {
            if seen.measured.is_empty() {
                bail!(
                    "{}: none of {} candidates at {words} is right; `-v` says why",
                    self.case.file.display(),
                    seen.refused
                );
            }
            seen.measured.sort_by(|a, b| a.1.total_cmp(&b.1));
            let racing = Instant::now();
            let order = self.race(&space, &seen.measured, &mut bench)?;
            phases.race += racing.elapsed().as_secs_f64();
            let [(winner, seconds), rest @ ..] = &order[..] else {
                bail!("the race at {words} has no winner");
            };
            let checking = Instant::now();
            let refused = self.check_winner(space.point(*winner), &words, &mut bench)?;
            phases.verification += checking.elapsed().as_secs_f64();
            if let Some(attempt) = refused {
                let name = point_words(space.point(*winner));
                self.refuse(journal, &words, &name, attempt)?;
                seen.measured.retain(|(at, _)| at != winner);
                seen.refused += 1;
                continue;
            }
            return Ok(Found::Winner(Box::new(Winner {
                size: self.size.clone(),
                choice: as_json(space.point(*winner)),
                seconds: *seconds,
                first_choice_seconds,
                second: rest
                    .first()
                    .map(|(at, other)| (as_json(space.point(*at)), other / seconds - 1.0)),
                measured: seen.measured.len(),
                points: space.len(),
                refused: seen.refused,
                took: begun.elapsed().as_secs_f64(),
                phases,
                importance,
            })));
        }
    }

    fn search(
        &self,
        space: &Space,
        words: &str,
        bench: &mut Workbench<'_>,
        journal: &mut Journal,
    ) -> Result<Seen> {
        let names: Vec<String> = (0..space.len())
            .map(|at| point_words(space.point(at)))
            .collect();
        let ahead = self.compiler.map(|(gpu, nvrtc)| {
            let points = (0..space.len()).map(|at| space.point(at).clone()).collect();
            let to = target(self.case, gpu.facts().sm());
            CompileAhead::begin(self.case, Arc::clone(nvrtc), to, points)
        });
        let mut search = Search::new(space, self.share, self.seed);
        let mut seen = Seen::default();
        let mut line = ProgressLine::new(self.global);
        // The first that is compiled is tried, and another takes its place, so that nothing waits for the slowest
        // of a batch.
        let width = ahead.as_ref().map_or(1, CompileAhead::width);
        let mut open: Vec<usize> = Vec::new();
        loop {
            let choosing = Instant::now();
            let waits = seen.phases.compiling > seen.phases.trying;
            let room = search.room(space, width, open.len(), waits);
            let fresh = search.propose(space, room);
            seen.phases.choosing += choosing.elapsed().as_secs_f64();
            let is_known = |at: &usize| journal.get(words, &names[*at]).is_some();
            if let Some(ahead) = &ahead {
                let unknown: Vec<usize> =
                    fresh.iter().copied().filter(|at| !is_known(at)).collect();
                ahead.want(&unknown);
            }
            open.extend(fresh);
            let compiling = Instant::now();
            let next = match (open.iter().copied().find(is_known), &ahead) {
                (Some(at), _) => Some((at, None)),
                (None, Some(ahead)) => ahead.wait_any(&open),
                (None, None) => open.first().map(|at| (*at, None)),
            };
            seen.phases.compiling += compiling.elapsed().as_secs_f64();
            let Some((at, refused)) = next else {
                break;
            };
            let trying = Instant::now();
            open.retain(|one| *one != at);
            if self.interruption.came() {
                return Ok(seen);
            }
            let name = &names[at];
            let tried = match journal.get(words, name).cloned() {
                Some(Tried::Begun) => Tried::Refused("it took its process with it".into()),
                Some(tried) => tried,
                None => {
                    let best = seen.best().map(|(_, seconds)| seconds);
                    let attempt = match refused {
                        Some(error) => Attempt::Refused(error),
                        None => {
                            journal.note(words, name, Tried::Begun)?;
                            bench.attempt(space.point(at), best).map_err(explain)?
                        }
                    };
                    match attempt {
                        Attempt::Measured(samples) => {
                            let tried = Tried::Measured(samples);
                            journal.note(words, name, tried.clone())?;
                            tried
                        }
                        refused => self.refuse(journal, words, name, refused)?,
                    }
                }
            };
            match tried {
                Tried::Measured(samples) => {
                    let median = median(&samples);
                    search.tell(at, Some(median));
                    seen.measured.push((at, median));
                }
                Tried::Refused(_) | Tried::Begun => {
                    search.tell(at, None);
                    seen.refused += 1;
                }
            }
            seen.phases.trying += trying.elapsed().as_secs_f64();
            let elapsed = line.elapsed();
            line.update(|| {
                let done = seen.measured.len() + seen.refused;
                let left = search.budget().saturating_sub(done);
                let best = match seen.best() {
                    Some((at, seconds)) => format!("{} ({})", Seconds(seconds), names[at]),
                    None => "none".into(),
                };
                format!(
                    "{words}: {done} of {} tried, {} compiled, {} refused, best {best}, {:.0} s left",
                    search.budget(),
                    ahead.as_ref().map_or(done, CompileAhead::compiled),
                    seen.refused,
                    elapsed.as_secs_f64() / done as f64 * left as f64
                )
            });
        }
        line.clear();
        Ok(seen)
    }

    /// Notes that a candidate is refused. One that ended the context ends this process too, which goes on
    /// behind it in a new one.
    fn refuse(
        &self,
        journal: &mut Journal,
        words: &str,
        name: &str,
        attempt: Attempt,
    ) -> Result<Tried> {
        let (reason, fatal) = match attempt {
            Attempt::Refused(reason) => (reason, false),
            Attempt::Fatal(reason) => (reason, true),
            Attempt::Measured(_) => bail!("a candidate that was measured is not refused"),
        };
        if self.global.verbose {
            output::note(self.global, &format!("{name}: {reason}"));
        }
        let tried = Tried::Refused(reason);
        journal.note(words, name, tried.clone())?;
        if fatal {
            restart(self.global)?;
        }
        Ok(tried)
    }

    /// The fastest in turns; the order of the result is by fresh samples taken after the race.
    fn race(
        &self,
        space: &Space,
        measured: &[(usize, f64)],
        bench: &mut Workbench<'_>,
    ) -> Result<Vec<(usize, f64)>> {
        let finalists: Vec<usize> = measured.iter().take(FINALISTS).map(|(at, _)| *at).collect();
        let mut targets = Vec::new();
        for at in &finalists {
            targets.push(bench.contender(space.point(*at)).map_err(explain)?);
        }
        let mut line = ProgressLine::new(self.global);
        let mut taken = 0;
        let lanes = race(finalists.len(), FIRST, MOST, EQUAL, self.seed, &mut |at| {
            taken += 1;
            line.update(|| format!("race of {}: {taken} samples", finalists.len()));
            bench.sample(&mut targets[at])
        })
        .map_err(explain)?;
        let mut order: Vec<usize> = (0..finalists.len()).collect();
        order.sort_by(|a, b| lanes[*a].median().total_cmp(&lanes[*b].median()));
        let mut result = Vec::new();
        for at in order.into_iter().take(2) {
            // The smallest of many noisy medians is biased: fresh samples are not.
            let fresh = (0..4 * FIRST).map(|_| bench.sample(&mut targets[at]));
            let fresh = fresh
                .collect::<Result<Vec<f64>, Fault>>()
                .map_err(explain)?;
            result.push((finalists[at], median(&fresh)));
        }
        line.clear();
        Ok(result)
    }

    fn check_winner(
        &self,
        point: &Point,
        words: &str,
        bench: &mut Workbench<'_>,
    ) -> Result<Option<Attempt>> {
        let mut line = ProgressLine::new(self.global);
        let refused = bench.right_everywhere(point, &mut |done, all| {
            line.update(|| format!("{words}: the winner is checked, {done} of {all} sizes"));
        });
        line.clear();
        refused.map_err(explain)
    }
}

/// Set in a process that goes on after a candidate that took its context with it.
const RESTARTED: &str = "WARPSMITH_TUNE_RESTARTED";

pub(super) fn is_restart() -> bool {
    std::env::var_os(RESTARTED).is_some()
}

/// Replaces this process by the same command line in a new context; the journal says what was begun.
fn restart(global: &Global) -> Result<()> {
    let mut command = global.host.command()?;
    command.args(&global.words).env(RESTARTED, "1");
    // Returns only where it fails.
    Err(command.exec()).context("cannot restart after a candidate that faulted")
}

fn point_words(point: &Point) -> String {
    let words = point.iter().map(|(name, value)| format!("{name}={value}"));
    words.collect::<Vec<_>>().join(" ")
}

fn median(samples: &[f64]) -> f64 {
    Lane {
        seconds: samples.to_vec(),
        out: false,
    }
    .median()
}
