//! One candidate from its first line to its verdict: checks, then timed calls in turns with the reference.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use warpsmith_measure::kernel_file::Scalar;
use warpsmith_workload::random::Random;

use super::bank::{Limits, Round, RoundKind, Task, numpy_width};
use super::candidate::Candidate;
use super::channel::Lost;
use super::evidence::{Facts, Pair, Record, conclude};
use super::judgement::{Cheat, Judgement, Outcome};
use super::process::{CandidateProcess, Spawn, WarmPython};
use crate::element::{float_at, push_float};
use crate::verify::Judge;

/// Calls on contents that were there before, at the end.
const REPEATS: usize = 6;
/// How long a wrong result is given to become another.
const LATER: Duration = Duration::from_millis(15);
/// Timed calls end after this long, however many there were.
const TIMING: Duration = Duration::from_secs(120);

/// Judges the candidates of one task, one after the other.
pub struct Bench<'a> {
    task: &'a Task,
    limits: &'a Limits,
    /// One candidate of all benches is timed at a time.
    timing: &'a RwLock<()>,
    warm: BTreeMap<Vec<&'static str>, Warm>,
    nonces: Random,
}

struct Warm {
    python: WarmPython,
    rival: Option<CandidateProcess>,
}

/// Why a candidate's process gave no results, with what it had said until then.
struct Failed {
    outcome: Outcome,
    seen: Vec<String>,
}

impl<'a> Bench<'a> {
    /// A bench for a task; `timing` is shared by all benches of the machine.
    pub fn new(task: &'a Task, limits: &'a Limits, timing: &'a RwLock<()>) -> Self {
        Self {
            task,
            limits,
            timing,
            warm: BTreeMap::new(),
            nonces: Random::seeded(task.seed ^ 0x6a75_6467),
        }
    }

    /// Judges a candidate. An error is the judge's own: Python does not start, say.
    pub fn judge(&mut self, candidate: &Candidate) -> Result<Judgement, String> {
        let begun = Instant::now();
        let text = candidate.text()?;
        let modules = self.task.modules_for(&text, self.limits);
        if !self.warm.contains_key(&modules) {
            let python = WarmPython::start(&modules, self.limits.visible.as_deref())?;
            let rival = None;
            self.warm.insert(modules.clone(), Warm { python, rival });
        }
        let Some(mut warm) = self.warm.remove(&modules) else {
            return Err("the warm Python is gone".into());
        };
        let mut judgement = Judgement::not_run(&candidate.id, self.task.seed, String::new());
        let entry = candidate.entry.as_deref().unwrap_or(&self.task.entry);
        let done = self.examine(&mut warm, &text, entry, &mut judgement);
        match done {
            Ok(()) => {
                self.warm.insert(modules, warm);
            }
            // The warm process itself is lost: the next candidate gets a new one.
            Err(error) => return Err(error),
        }
        judgement.took = begun.elapsed().as_secs_f64();
        Ok(judgement)
    }

    fn examine(
        &mut self,
        warm: &mut Warm,
        text: &str,
        entry: &str,
        judgement: &mut Judgement,
    ) -> Result<(), String> {
        let mut process = match self.open(&mut warm.python, text, entry, judgement)? {
            Ok(process) => process,
            Err(failed) => {
                judgement.outcome = failed.outcome;
                judgement.evidence = failed.seen;
                return Ok(());
            }
        };
        let mut records = Vec::new();
        let mut pairs = Vec::new();
        let ran = self.calls(warm, &mut process, &mut records, &mut pairs)?;
        judgement.calls = records.len();
        let facts = match ran {
            Ok(()) => self.finish(&mut process),
            Err(lost) => Err(lost),
        };
        let printed = process.printed();
        let status = warm.python.end(process);
        let facts = match facts {
            Ok(facts) => facts,
            Err(Stopped::Outcome(outcome)) => {
                judgement.outcome = outcome;
                return Ok(());
            }
            Err(Stopped::Lost(lost)) => {
                judgement.outcome = ending(lost, &status, &printed, "a call");
                return Ok(());
            }
        };
        // A wrong result as the first of a new process tells what earlier calls have to do with it.
        let wrong = records.iter().position(|record| !record.right);
        let mut alone = None;
        if let Some(wrong) = wrong.filter(|wrong| *wrong > 0) {
            let mut ignored = judgement.clone();
            if let Ok(mut second) = self.open(&mut warm.python, text, entry, &mut ignored)? {
                let round = &self.task.rounds[records[wrong].round];
                let again = self.call(&mut second, round, "new", 0xFF, false);
                alone = again.ok().map(|record| record.right);
                warm.python.end(second);
            }
        }
        let (outcome, evidence) = conclude(self.task, self.limits, &records, &pairs, &facts, alone);
        judgement.outcome = outcome;
        judgement.evidence = evidence;
        Ok(())
    }

    /// Forks and loads.
    fn open(
        &mut self,
        python: &mut WarmPython,
        text: &str,
        entry: &str,
        judgement: &mut Judgement,
    ) -> Result<Result<CandidateProcess, Failed>, String> {
        let mut process = python.fork(&Spawn {
            source: text,
            entry,
            form: self.task.form,
            device: self.limits.device.as_deref(),
            memory: self.limits.memory,
            processes: self.limits.processes,
            trusted: false,
            hidden: &self.task.hidden,
            forbid: &self.limits.forbid,
            beside: None,
        })?;
        match self.load(&mut process, judgement) {
            Ok(()) => Ok(Ok(process)),
            Err(failed) => {
                let printed = process.printed();
                let status = python.end(process);
                Ok(Err(match failed {
                    Stopped::Outcome(outcome) => Failed {
                        seen: std::mem::take(&mut judgement.evidence),
                        outcome,
                    },
                    Stopped::Lost(lost) => Failed {
                        outcome: ending(lost, &status, &printed, "loading"),
                        seen: Vec::new(),
                    },
                }))
            }
        }
    }

    fn load(
        &self,
        process: &mut CandidateProcess,
        judgement: &mut Judgement,
    ) -> Result<(), Stopped> {
        let limit = self.limits.load;
        let (ready, _) = process.receive(0, limit)?;
        if let Some(protection) = ready["protection"].as_object() {
            let pairs = protection.iter();
            judgement.protection = pairs
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect();
        }
        if let Some((header, bytes)) = &self.task.construct {
            process.send(header, &[bytes], limit)?;
        }
        let (loaded, _) = process.receive(0, limit)?;
        if loaded["loaded"] == true {
            judgement.load_seconds = loaded["seconds"].as_f64();
            return Ok(());
        }
        let seen = Facts::of(&loaded);
        if let Some((kind, detail)) = seen.hard(self.limits) {
            judgement.evidence = seen.words();
            return Err(Stopped::Outcome(Outcome::cheating(kind, detail)));
        }
        let line = loaded["line"].as_u64();
        if loaded["memory"] == true {
            return Err(Stopped::Outcome(self.out_of_memory()));
        }
        let detail = loaded["misfit"].as_str().or(loaded["raised"].as_str());
        Err(Stopped::Outcome(match detail {
            Some(detail) => Outcome::CompileFailure {
                line,
                detail: detail.to_owned(),
            },
            None => forged("it answers before it was asked"),
        }))
    }

    fn out_of_memory(&self) -> Outcome {
        Outcome::OutOfMemory {
            detail: format!("it took more than {} MiB", self.limits.memory >> 20),
        }
    }

    /// Every call: checks, timed calls in turns with the reference, one element changed, repeats.
    fn calls(
        &mut self,
        warm: &mut Warm,
        process: &mut CandidateProcess,
        records: &mut Vec<Record>,
        pairs: &mut Vec<Pair>,
    ) -> Result<Result<(), Stopped>, String> {
        let task = self.task;
        let of = |kind: RoundKind| {
            let rounds = task.rounds.iter().enumerate();
            rounds
                .filter(move |(_, round)| round.kind == kind)
                .map(|(at, _)| at)
        };
        // On a GPU the checks of another candidate would disturb whoever is timed.
        let on_gpu = self.limits.device.is_some();
        let alone = on_gpu.then(|| self.timing.write().unwrap_or_else(PoisonError::into_inner));
        let mut poison = 0xFFu8;
        for (index, at) in of(RoundKind::Check).enumerate() {
            match self.record(process, at, "new", poison, index == 1) {
                Ok(record) => records.push(record),
                Err(stopped) => return Ok(Err(stopped)),
            }
            poison = if poison == 0xFF { 0x7B } else { 0xFF };
        }
        let right = records.iter().all(|record| record.right);
        let timed: Vec<usize> = of(RoundKind::Timed).collect();
        let changed: Vec<usize> = of(RoundKind::Changed).collect();
        let with_rival = right && task.rival.is_some();
        if with_rival && warm.rival.is_none() {
            warm.rival = self.rival(&mut warm.python)?;
        }
        let _alone =
            alone.unwrap_or_else(|| self.timing.write().unwrap_or_else(PoisonError::into_inner));
        let begun = Instant::now();
        for (turn, at) in timed.iter().enumerate() {
            let place = if turn % 2 == 0 { "new" } else { "same" };
            let mut rival_record = None;
            // Whoever runs after whom must not matter.
            let rival_first = turn % 2 == 0;
            for side in 0..2 {
                let is_rival = (side == 0) == rival_first;
                if is_rival {
                    if let (true, Some(rival)) = (with_rival, &mut warm.rival) {
                        rival_record = self.record(rival, *at, place, poison, false).ok();
                        if rival_record.is_none()
                            && let Some(lost) = warm.rival.take()
                        {
                            // A reference that fails once is not asked again for this candidate.
                            warm.python.end(lost);
                        }
                    }
                } else {
                    match self.record(process, *at, place, poison, false) {
                        Ok(record) => records.push(record),
                        Err(stopped) => return Ok(Err(stopped)),
                    }
                }
            }
            if let (Some(rival), Some(own)) = (rival_record, records.last()) {
                pairs.push(Pair::of(&rival, own));
            }
            if turn == 0 {
                for at in &changed {
                    match self.record(process, *at, "same", poison, false) {
                        Ok(record) => records.push(record),
                        Err(stopped) => return Ok(Err(stopped)),
                    }
                }
            }
            if turn >= 5 && begun.elapsed() > TIMING {
                break;
            }
        }
        for turn in 0..REPEATS {
            let Some(at) = timed.get(turn % 2) else {
                break;
            };
            match self.record(process, *at, "same", poison, false) {
                Ok(mut record) => {
                    record.repeat = true;
                    records.push(record);
                }
                Err(stopped) => return Ok(Err(stopped)),
            }
        }
        Ok(Ok(()))
    }

    /// The reference in a process like a candidate's, but not shut in.
    fn rival(&mut self, python: &mut WarmPython) -> Result<Option<CandidateProcess>, String> {
        let Some(callable) = &self.task.rival else {
            return Ok(None);
        };
        let source = std::fs::read_to_string(&callable.file)
            .map_err(|error| format!("cannot read `{}`: {error}", callable.file.display()))?;
        let file = std::path::absolute(&callable.file).unwrap_or_else(|_| callable.file.clone());
        let mut process = python.fork(&Spawn {
            source: &source,
            entry: &callable.function,
            form: self.task.form,
            device: self.limits.device.as_deref(),
            memory: self.limits.memory.saturating_mul(4),
            processes: true,
            trusted: true,
            hidden: &[],
            forbid: &[],
            beside: file.parent(),
        })?;
        let mut ignored = Judgement::not_run("", 0, String::new());
        match self.load(&mut process, &mut ignored) {
            Ok(()) => Ok(Some(process)),
            Err(_) => {
                let status = python.end(process);
                Err(format!(
                    "the reference `{}` of `{}` does not load a second time ({status})",
                    callable.function,
                    callable.file.display()
                ))
            }
        }
    }

    fn record(
        &mut self,
        process: &mut CandidateProcess,
        at: usize,
        place: &str,
        poison: u8,
        watched: bool,
    ) -> Result<Record, Stopped> {
        let task = self.task;
        let mut record = self.call(process, &task.rounds[at], place, poison, watched)?;
        record.round = at;
        if !record.right {
            // Work that is still under way needs a moment to show itself.
            std::thread::sleep(LATER);
            let nonce = self.nonces.bits() >> 12;
            let look = json!({ "op": "look", "nonce": nonce });
            process.send(&look, &[], self.limits.call)?;
            let (reply, _) = process.receive(0, self.limits.call)?;
            record.late = reply["nonce"].as_u64() == Some(nonce) && reply["late"] == true;
        }
        Ok(record)
    }

    /// One call, compared.
    fn call(
        &mut self,
        process: &mut CandidateProcess,
        round: &Round,
        place: &str,
        poison: u8,
        watched: bool,
    ) -> Result<Record, Stopped> {
        let nonce = self.nonces.bits() >> 12;
        let (header, parts) = round.request(place, poison, nonce, watched);
        let (start, waited) = (Instant::now(), process.waited());
        process.send(&header, &parts, self.limits.call)?;
        let (reply, bytes) = process.receive(round.output_bytes(), self.limits.call)?;
        let waited = process.waited().saturating_sub(waited);
        let wall = start.elapsed().saturating_sub(waited);
        if reply["nonce"].as_u64() != Some(nonce) {
            return Err(Stopped::Outcome(forged(
                "an answer came that no call was waiting for",
            )));
        }
        if reply["memory"] == true {
            return Err(Stopped::Outcome(self.out_of_memory()));
        }
        if let Some(kind) = reply["lazy"].as_str() {
            let detail = format!(
                "the result is a `{kind}`, which may compute when it is looked at; a plain array is expected"
            );
            return Err(Stopped::Outcome(Outcome::cheating(Cheat::Lazy, detail)));
        }
        if let Some(detail) = reply["narrow"].as_str() {
            return Err(Stopped::Outcome(Outcome::cheating(Cheat::Narrow, detail)));
        }
        if let Some(detail) = reply["misfit"].as_str() {
            return Err(Stopped::Outcome(Outcome::Wrong {
                detail: format!("{}: {detail}", round.words),
            }));
        }
        if let Some(detail) = reply["raised"].as_str() {
            if let Some((kind, words)) = Facts::of(&reply).hard(self.limits) {
                return Err(Stopped::Outcome(Outcome::cheating(kind, words)));
            }
            return Err(Stopped::Outcome(Outcome::Crashed {
                line: reply["line"].as_u64(),
                detail: match round.words.is_empty() {
                    true => detail.to_owned(),
                    false => format!("{detail} (at {})", round.words),
                },
            }));
        }
        if bytes.len() != round.output_bytes() {
            return Err(Stopped::Outcome(forged(
                "an answer has another number of bytes than its outputs",
            )));
        }
        Ok(self.compared(round, &reply, &bytes, wall, poison))
    }

    fn compared(
        &self,
        round: &Round,
        reply: &Value,
        bytes: &[u8],
        wall: Duration,
        poison: u8,
    ) -> Record {
        let judge = Judge {
            stated: self.task.stated.as_ref(),
            wide: round.answer.wide,
            fast_math: false,
        };
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let mut record = Record {
            hash: hasher.finish(),
            length: bytes.len(),
            right: true,
            ns: reply["ns"].as_u64(),
            wall,
            late_before: reply["late"] == true,
            leftover_ns: reply["leftover_ns"].as_u64().unwrap_or(0),
            changed: names(&reply["changed"]),
            aliases: names(&reply["aliases"]),
            ..Record::default()
        };
        let mut at = 0;
        for (output, truth) in round.outputs.iter().zip(&round.answer.outputs) {
            let count = output.elements() * numpy_width(output.scalar);
            let own = as_elements(output.scalar, &bytes[at..at + count]);
            at += count;
            let comparison = judge.compare(output, &own, truth, Some(poison));
            if comparison.wrong > 0 {
                record.right = false;
                let axes = match &output.value {
                    crate::instance::BoundValue::Array { axes, .. } => axes.clone(),
                    _ => Vec::new(),
                };
                if record.words.is_empty() {
                    record.words = comparison.words(&axes);
                }
            }
            record
                .precision
                .add(output.scalar, &own, truth, comparison.error_over_plain);
        }
        record
    }

    /// What the process says about the whole, once there is nothing more to call.
    fn finish(&mut self, process: &mut CandidateProcess) -> Result<Facts, Stopped> {
        let nonce = self.nonces.bits() >> 12;
        process.send(
            &json!({ "op": "finish", "nonce": nonce }),
            &[],
            self.limits.call,
        )?;
        let (reply, _) = process.receive(0, self.limits.call)?;
        match reply["nonce"].as_u64() == Some(nonce) {
            true => Ok(Facts::of(&reply)),
            false => Err(Stopped::Outcome(forged(
                "an answer came that no call was waiting for",
            ))),
        }
    }
}

/// Why calls ended early.
enum Stopped {
    Outcome(Outcome),
    Lost(Lost),
}

impl From<Lost> for Stopped {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

fn forged(detail: &str) -> Outcome {
    Outcome::cheating(Cheat::Forged, detail)
}

fn names(value: &Value) -> Vec<String> {
    let words = value.as_array().into_iter().flatten();
    words
        .filter_map(|word| Some(word.as_str()?.to_owned()))
        .collect()
}

/// Bytes as they travelled, as elements of the type.
fn as_elements(scalar: Scalar, bytes: &[u8]) -> Vec<u8> {
    match scalar {
        Scalar::Bf16 => {
            let mut own = Vec::with_capacity(bytes.len() / 2);
            for index in 0..bytes.len() / 4 {
                push_float(scalar, float_at(Scalar::F32, bytes, index), &mut own);
            }
            own
        }
        _ => bytes.to_vec(),
    }
}

/// How a process ended, as a verdict.
fn ending(lost: Lost, status: &str, printed: &str, during: &str) -> Outcome {
    let last = printed.lines().rev().find(|line| !line.trim().is_empty());
    let said = last.map_or(String::new(), |line| {
        let line: String = line.chars().take(200).collect();
        format!("; the last line it printed: {line}")
    });
    match lost {
        Lost::TooLong(seconds) => Outcome::TimedOut {
            detail: format!("{during} took more than {seconds} s"),
        },
        Lost::TooLarge(bytes) => Outcome::OutOfMemory {
            detail: format!("it took more than {} MiB", bytes >> 20),
        },
        Lost::TooMany(count) => Outcome::cheating(
            Cheat::Outside,
            format!("it started more than {count} processes during {during}"),
        ),
        Lost::Garbled(seen) => forged(&format!("what it sends is no answer: {seen}")),
        Lost::Ended => Outcome::Crashed {
            line: None,
            detail: format!("its process ended during {during}: {status}{said}"),
        },
    }
}
