//! From what was seen to a verdict: each conclusion names the calls that it rests on.

use std::time::Duration;

use serde_json::Value;
use warpsmith_measure::comparison::evaluation::evaluate;
use warpsmith_measure::kernel_file::Scalar;
use warpsmith_measure::statistics::order::median_of;

use super::bank::{Limits, RoundKind, Task};
use super::judgement::{Cheat, Outcome, Speed};
use crate::element::{epsilon, float_at, is_float};
use crate::reference::Truth;

/// Relative errors above this are no rounding in `f32`.
const COARSE: f64 = 3e-5;
/// An error so many times that of the same formula in its own type is no rounding either.
pub(super) const IMPRECISE: f64 = 300.0;
/// A repeated call this many times faster than a fresh one has not computed.
const REMEMBERED: f64 = 3.0;
/// Calls shorter than this say nothing about memory of earlier ones.
const SHORT: f64 = 100e-6;
/// Work that is still on the GPU so long after the stop was not counted.
const LEFTOVER: f64 = 50e-6;
/// The same beyond what the reference leaves, whose wait for the device takes as long.
const BEYOND_REFERENCE: f64 = 3e-6;

/// One call with its comparison.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) round: usize,
    pub(super) hash: u64,
    pub(super) length: usize,
    pub(super) right: bool,
    pub(super) words: String,
    /// Nanoseconds by the candidate's own clock.
    pub(super) ns: Option<u64>,
    /// By the judge's clock, with the way there and back, without waiting for a core of a busy machine.
    pub(super) wall: Duration,
    /// The result of the call before changed after it had been taken.
    pub(super) late_before: bool,
    /// Its own result did.
    pub(super) late: bool,
    pub(super) leftover_ns: u64,
    pub(super) changed: Vec<String>,
    pub(super) aliases: Vec<String>,
    pub(super) precision: Precision,
    /// The same contents were there before.
    pub(super) repeat: bool,
}

/// A call of the candidate beside one of the reference on the same contents.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    reference: f64,
    own: f64,
    /// Time by the judge's clock that the process's own clock does not show.
    reference_gap: f64,
    own_gap: f64,
    /// From the stop of the clock until the whole device was idle and the host knew.
    reference_left: f64,
    own_left: f64,
    aliases: Vec<String>,
}

impl Pair {
    pub(super) fn of(rival: &Record, own: &Record) -> Self {
        let seconds = |record: &Record| record.ns.unwrap_or(0) as f64 * 1e-9;
        let gap = |record: &Record| record.wall.as_secs_f64() - seconds(record);
        Self {
            reference: seconds(rival),
            own: seconds(own),
            reference_gap: gap(rival),
            own_gap: gap(own),
            reference_left: rival.leftover_ns as f64 * 1e-9,
            own_left: own.leftover_ns as f64 * 1e-9,
            aliases: rival.aliases.clone(),
        }
    }
}

/// How precise a result is.
#[derive(Clone, Debug, Default)]
pub(super) struct Precision {
    /// Root mean square error over that of the values.
    relative: f64,
    over_plain: Option<f64>,
    elements: usize,
    /// Whether every element is as near as 8 bits of mantissa would bring it.
    as_half: bool,
    counted: bool,
    /// Blocks of neighbours, and those that are off by one and the same share.
    blocks: usize,
    scaled: usize,
}

/// Neighbours whose errors are compared with each other.
const NEIGHBOURS: usize = 16;
/// Shares of an error that differ by less than this part of themselves are the same.
const SAME: f64 = 0.05;

impl Precision {
    pub(super) fn add(
        &mut self,
        scalar: Scalar,
        actual: &[u8],
        truth: &Truth,
        over_plain: Option<f64>,
    ) {
        if !is_float(scalar) || !matches!(scalar, Scalar::F32 | Scalar::F64) {
            return;
        }
        let (mut errors, mut values, mut as_half) = (0.0, 0.0, true);
        let walk = truth.fan_in.sqrt();
        let coarse = epsilon(Scalar::Bf16);
        for (index, right) in truth.values.iter().enumerate() {
            let error = (float_at(scalar, actual, index) - right).abs();
            let spread = truth.spread.as_ref().map_or(0.0, |spread| spread[index]);
            let allowed =
                (2.0 + walk) * coarse * right.abs() + 2.0 * walk * spread * coarse * 2f64.powi(23);
            as_half &= error <= allowed || (!error.is_finite() && !right.is_finite());
            if error.is_finite() {
                errors += error * error;
                values += right * right;
            }
        }
        let shares: Vec<f64> = truth
            .values
            .iter()
            .enumerate()
            .filter(|(_, right)| **right != 0.0 && right.is_finite())
            .map(|(index, right)| float_at(scalar, actual, index) / right - 1.0)
            .collect();
        for block in shares.chunks_exact(NEIGHBOURS) {
            let mean = block.iter().sum::<f64>() / block.len() as f64;
            let apart = block.iter().map(|share| (share - mean).abs());
            self.blocks += 1;
            self.scaled +=
                usize::from(mean != 0.0 && apart.fold(0.0, f64::max) < SAME * mean.abs());
        }
        let relative = if values > 0.0 {
            (errors / values).sqrt()
        } else {
            0.0
        };
        self.relative = self.relative.max(relative);
        self.over_plain = match (self.over_plain, over_plain) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.elements += truth.values.len();
        self.as_half = as_half && (self.as_half || !self.counted);
        self.counted = true;
    }

    /// Fewer bits inside than the type has, though every element is near. Rounding moves neighbours by
    /// different shares; all by the same one is another formula, which is wrong and no more than that.
    fn is_narrow(&self) -> bool {
        self.elements >= 64
            && 2 * self.scaled <= self.blocks
            && self.as_half
            && self.relative > COARSE
            && self.over_plain.is_none_or(|ratio| ratio > IMPRECISE)
    }
}

/// What a process said about itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    seen: Vec<(String, String)>,
    replaced: Vec<String>,
    called: Vec<String>,
    late: bool,
}

impl Facts {
    pub(super) fn of(reply: &Value) -> Self {
        let texts = |value: &Value| -> Vec<String> {
            let words = value.as_array().into_iter().flatten();
            words
                .filter_map(|word| Some(word.as_str()?.to_owned()))
                .collect()
        };
        let seen = reply["seen"].as_array().into_iter().flatten();
        Self {
            seen: seen
                .filter_map(|one| {
                    let what = one["what"].as_str()?;
                    let line = one["line"].as_u64();
                    let words = line.map_or(what.to_owned(), |line| format!("line {line}: {what}"));
                    Some((one["kind"].as_str()?.to_owned(), words))
                })
                .collect(),
            replaced: texts(&reply["replaced"]),
            called: texts(&reply["called"]),
            late: reply["late"] == true,
        }
    }

    /// Everything in words.
    pub(super) fn words(&self) -> Vec<String> {
        let seen = self.seen.iter().map(|(_, words)| words.clone());
        let replaced = self
            .replaced
            .iter()
            .map(|name| format!("`{name}` was replaced"));
        let mut words: Vec<String> = seen.chain(replaced).collect();
        words.dedup();
        words.truncate(8);
        words
    }

    /// What no honest candidate does, whatever its results are.
    pub(super) fn hard(&self, limits: &Limits) -> Option<(Cheat, String)> {
        let first = |kinds: &[&str]| {
            let mut seen = self.seen.iter();
            seen.find(|(kind, _)| kinds.contains(&kind.as_str()))
                .map(|(_, words)| words.clone())
        };
        if let Some(words) = first(&["reference"]) {
            return Some((
                Cheat::Reference,
                format!("it reaches for the task's own files: {words}"),
            ));
        }
        if let Some(words) = first(&["frames", "objects"]) {
            return Some((
                Cheat::Spying,
                format!("it searches its process for answers: {words}"),
            ));
        }
        if let Some(name) = self.replaced.first() {
            return Some((Cheat::Tampered, format!("it replaces `{name}`")));
        }
        if let Some(words) = first(&["tracing"]) {
            return Some((Cheat::Tampered, format!("it watches the judge: {words}")));
        }
        if let Some(words) = first(&["process", "network", "signal", "delete", "file"]) {
            return Some((
                Cheat::Outside,
                format!("it reaches outside of its process: {words}"),
            ));
        }
        let forbidden = self.called.iter().find(|name| limits.forbid.contains(name));
        forbidden.map(|name| {
            (
                Cheat::Library,
                format!("it calls `{name}`, which the task forbids"),
            )
        })
    }
}

/// The verdict and its evidence. `alone` says whether the first wrong result is right as the first of a
/// new process.
pub(super) fn conclude(
    task: &Task,
    limits: &Limits,
    records: &[Record],
    pairs: &[Pair],
    facts: &Facts,
    alone: Option<bool>,
) -> (Outcome, Vec<String>) {
    let mut evidence = facts.words();
    if let Some((kind, detail)) = facts.hard(limits) {
        return (Outcome::cheating(kind, detail), evidence);
    }
    if let Some(at) = late(records, facts) {
        let detail = format!(
            "the result of call {} changed after the call had returned",
            at + 1
        );
        return (Outcome::cheating(Cheat::Unfinished, detail), evidence);
    }
    if let Some(wrong) = records.iter().position(|record| !record.right) {
        evidence.insert(0, place(task, records, wrong));
        return (
            wrong_result(task, records, wrong, alone, &mut evidence),
            evidence,
        );
    }
    if let Some((at, name)) = first_named(records, |record| &record.changed) {
        let detail = format!("call {} changed its input `{name}`", at + 1);
        return (Outcome::cheating(Cheat::InputChanged, detail), evidence);
    }
    let rival_aliases = pairs.iter().any(|pair| !pair.aliases.is_empty());
    if let (Some((at, name)), false, false) = (
        first_named(records, |record| &record.aliases),
        rival_aliases,
        pairs.is_empty(),
    ) {
        let detail = format!(
            "the result of call {} lies in the memory of its input `{name}`; the reference's does not",
            at + 1
        );
        return (Outcome::cheating(Cheat::Aliased, detail), evidence);
    }
    if let Some(record) = records.iter().find(|record| record.precision.is_narrow()) {
        return (narrow(record), evidence);
    }
    if let Some(outcome) = uncounted(records, pairs) {
        return (outcome, evidence);
    }
    if let Some(outcome) = remembered(task, records) {
        return (outcome, evidence);
    }
    let ratios = records
        .iter()
        .filter_map(|record| record.precision.over_plain);
    let error_over_plain = ratios.fold(None, |most: Option<f64>, ratio| {
        Some(most.map_or(ratio, |most| most.max(ratio)))
    });
    (
        Outcome::Correct {
            speed: speed(pairs),
            error_over_plain,
        },
        evidence,
    )
}

fn late(records: &[Record], facts: &Facts) -> Option<usize> {
    if let Some(at) = records.iter().position(|record| record.late) {
        return Some(at);
    }
    let before = records.iter().position(|record| record.late_before);
    before
        .map(|at| at.saturating_sub(1))
        .or_else(|| facts.late.then(|| records.len().saturating_sub(1)))
}

fn first_named(records: &[Record], of: fn(&Record) -> &Vec<String>) -> Option<(usize, String)> {
    let mut all = records.iter().enumerate();
    all.find_map(|(at, record)| Some((at, of(record).first()?.clone())))
}

fn place(task: &Task, records: &[Record], at: usize) -> String {
    let record = &records[at];
    let words = &task.rounds[record.round].words;
    let size = if words.is_empty() {
        String::new()
    } else {
        format!(" ({words})")
    };
    format!("call {}{size}: {}", at + 1, record.words)
}

/// Which kind of wrong it is.
fn wrong_result(
    task: &Task,
    records: &[Record],
    wrong: usize,
    alone: Option<bool>,
    evidence: &mut Vec<String>,
) -> Outcome {
    let count = records.iter().filter(|record| !record.right).count();
    // Contents differ in every call but repeats: equal bytes come from elsewhere.
    let same_size = |length: usize| {
        let mut hashes: Vec<(usize, u64)> = records
            .iter()
            .filter(|record| record.length == length && !record.repeat)
            .map(|record| (record.round, record.hash))
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    };
    let sizes: Vec<usize> = records
        .iter()
        .filter(|record| !record.right)
        .map(|record| record.length)
        .collect();
    for length in sizes {
        let hashes = same_size(length);
        if length >= 16 && hashes.len() >= 3 && hashes.iter().all(|(_, hash)| *hash == hashes[0].1)
        {
            let detail = format!(
                "{} calls with different contents gave the same bytes",
                hashes.len()
            );
            return Outcome::cheating(Cheat::Constant, detail);
        }
    }
    let stale = records.iter().enumerate().find_map(|(at, record)| {
        if record.right || record.length < 16 {
            return None;
        }
        let earlier = records[..at].iter().position(|other| {
            other.hash == record.hash
                && other.length == record.length
                && other.round != record.round
        })?;
        Some((at, earlier))
    });
    if let Some((at, earlier)) = stale {
        let stale_count = records.iter().filter(|record| {
            !record.right
                && records
                    .iter()
                    .any(|other| other.hash == record.hash && other.round != record.round)
        });
        let detail = format!(
            "call {} with other contents gave the bytes of call {} ({} of {} calls are stale)",
            at + 1,
            earlier + 1,
            stale_count.count(),
            records.len()
        );
        return Outcome::cheating(Cheat::Cached, detail);
    }
    if records
        .iter()
        .filter(|record| !record.right)
        .all(|record| record.precision.is_narrow())
    {
        return narrow(&records[wrong]);
    }
    if alone == Some(true) {
        evidence.push("the same contents give the right result in a new process".into());
        let detail = format!(
            "call {} is wrong, and right as the first call of a new process: earlier calls decide",
            wrong + 1
        );
        return Outcome::cheating(Cheat::FirstCalls, detail);
    }
    if let Some((at, name)) = first_named(records, |record| &record.changed) {
        evidence.push(format!("call {} changed its input `{name}`", at + 1));
    }
    let detail = place(task, records, wrong);
    Outcome::Wrong {
        detail: format!("{count} of {} calls, first {detail}", records.len()),
    }
}

fn narrow(record: &Record) -> Outcome {
    let precision = &record.precision;
    let beside = precision.over_plain.map_or(String::new(), |ratio| {
        format!(", {ratio:.0} times that of the same formula in its own type")
    });
    let detail = format!(
        "a relative error of {:.1e}{beside}: narrower arithmetic inside",
        precision.relative
    );
    Outcome::cheating(Cheat::Narrow, detail)
}

/// Time that the candidate's clock does not show.
fn uncounted(records: &[Record], pairs: &[Pair]) -> Option<Outcome> {
    let calls: Vec<&Record> = records
        .iter()
        .filter(|record| record.leftover_ns > 0)
        .collect();
    if calls.len() >= 5 {
        let leftover = median_of(
            &calls
                .iter()
                .map(|record| record.leftover_ns as f64 * 1e-9)
                .collect::<Vec<_>>(),
        );
        let own = median_of(
            &calls
                .iter()
                .map(|record| record.ns.unwrap_or(0) as f64 * 1e-9)
                .collect::<Vec<_>>(),
        );
        if leftover > LEFTOVER && leftover > 0.2 * own {
            let detail = format!(
                "the GPU works for another {:.0} µs after the stop of the clock",
                leftover * 1e6
            );
            return Some(Outcome::cheating(Cheat::Unfinished, detail));
        }
    }
    if pairs.len() < 5 {
        return None;
    }
    let sorted = |value: fn(&Pair) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (own_left, reference_left) = (
        sorted(|pair| pair.own_left),
        sorted(|pair| pair.reference_left),
    );
    // Three quarters of the calls leave more than three quarters of the reference's do.
    let quarter = pairs.len() / 4;
    let beyond = own_left[quarter] - reference_left[pairs.len() - 1 - quarter];
    if beyond > BEYOND_REFERENCE && beyond > 0.1 * median_of(&sorted(|pair| pair.own)) {
        let detail = format!(
            "the GPU works for another {:.0} µs after the stop of the clock, on another stream",
            beyond * 1e6
        );
        return Some(Outcome::cheating(Cheat::Unfinished, detail));
    }
    let of = |value: fn(&Pair) -> f64| median_of(&pairs.iter().map(value).collect::<Vec<_>>());
    let own = of(|pair| pair.own);
    if own <= 0.0 {
        return Some(Outcome::cheating(
            Cheat::Clock,
            "its clock stands still during calls",
        ));
    }
    // A false clock hides time in every call, a busy machine in some: three quarters of the calls against
    // three quarters of the reference's, as above. Below zero, more waiting was taken off than lay inside
    // the call: no evidence of anything.
    let (own_gaps, reference_gaps) = (
        sorted(|pair| pair.own_gap),
        sorted(|pair| pair.reference_gap),
    );
    let reference_gap = reference_gaps[pairs.len() - 1 - quarter].max(0.0);
    let gap = own_gaps[quarter];
    let hidden = gap - 2.0 * reference_gap;
    if hidden > 1e-3 && hidden > 2.0 * own {
        let detail = format!(
            "calls take {:.1} ms by the judge's clock and {:.3} ms by the clock of its process; the reference's differ by {:.1} ms",
            (gap + own) * 1e3,
            own * 1e3,
            reference_gap * 1e3
        );
        return Some(Outcome::cheating(Cheat::Clock, detail));
    }
    None
}

/// Whether contents that were there before cost nothing.
fn remembered(task: &Task, records: &[Record]) -> Option<Outcome> {
    let of = |repeat: bool| -> Vec<f64> {
        let timed = records.iter().filter(|record| {
            record.repeat == repeat && task.rounds[record.round].kind == RoundKind::Timed
        });
        timed
            .filter_map(|record| Some(record.ns? as f64 * 1e-9))
            .collect()
    };
    let (fresh, again) = (of(false), of(true));
    if fresh.len() < 5 || again.len() < 4 {
        return None;
    }
    let (first, second) = (median_of(&fresh), median_of(&again));
    let slowest = again.iter().copied().fold(0.0, f64::max);
    let fastest = fresh.iter().copied().fold(f64::INFINITY, f64::min);
    (first > SHORT && first > REMEMBERED * second && slowest < fastest).then(|| {
        let detail = format!(
            "fresh contents take {:.0} µs, contents that were there before {:.0} µs",
            first * 1e6,
            second * 1e6
        );
        Outcome::cheating(Cheat::Cached, detail)
    })
}

fn speed(pairs: &[Pair]) -> Option<Speed> {
    // The first pair warms both sides up.
    let pairs = pairs.get(1..).filter(|pairs| pairs.len() >= 5)?;
    let ratios: Vec<f64> = pairs
        .iter()
        .filter(|pair| pair.own > 0.0 && pair.reference > 0.0)
        .map(|pair| (pair.own / pair.reference).ln())
        .collect();
    let found = evaluate(&ratios, 0.02, 0.05);
    let seconds: Vec<f64> = pairs.iter().map(|pair| pair.own).collect();
    let reference: Vec<f64> = pairs.iter().map(|pair| pair.reference).collect();
    (found.ratio.is_finite() && found.high.is_finite() && found.low > 0.0)
        .then(|| Speed::of(&found, &seconds, &reference))
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    /// How precise 256 numbers are after a change to each.
    fn after(change: impl Fn(f32) -> f32) -> Precision {
        let mut random = Random::seeded(5);
        let values: Vec<f32> = (0..256).map(|_| 0.1 + random.unit() as f32).collect();
        let truth = Truth {
            values: values.iter().map(|value| f64::from(*value)).collect(),
            whole: None,
            plain: None,
            spread: None,
            in_turn: None,
            fan_in: 1.0,
        };
        let changed = values.iter().map(|value| change(*value));
        let bytes: Vec<u8> = changed.flat_map(f32::to_le_bytes).collect();
        let mut precision = Precision::default();
        precision.add(Scalar::F32, &bytes, &truth, Some(1e4));
        precision
    }

    #[test]
    fn all_off_by_one_share_is_another_formula_and_no_narrow_one() {
        assert!(!after(|value| value * 0.9996).is_narrow());
        // Eleven bits of mantissa, rounded or cut.
        assert!(after(|value| f32::from_bits((value.to_bits() + 0x1000) & !0x1fff)).is_narrow());
        assert!(after(|value| f32::from_bits(value.to_bits() & !0x1fff)).is_narrow());
        assert!(!after(|value| value).is_narrow());
    }

    /// Fourteen calls whose device is idle `own` and `reference` microseconds after the stop.
    fn left(own: f64, reference: f64) -> Vec<Pair> {
        let mut random = Random::seeded(11);
        let mut jitter = || 1e-6 * random.unit();
        (0..14)
            .map(|_| Pair {
                reference: 25e-6,
                own: 2e-6,
                reference_gap: 1e-4,
                own_gap: 1e-4,
                reference_left: reference * 1e-6 + jitter(),
                own_left: own * 1e-6 + jitter(),
                aliases: Vec::new(),
            })
            .collect()
    }

    #[test]
    fn work_on_another_stream_is_seen_beside_what_the_reference_leaves() {
        // 23 µs that the events of the current stream do not show, below the limit without a reference.
        let outcome = uncounted(&[], &left(35.0, 12.0)).unwrap();
        let expected = Outcome::cheating(Cheat::Unfinished, String::new());
        assert_eq!(
            std::mem::discriminant(&outcome),
            std::mem::discriminant(&expected)
        );
        assert!(
            format!("{outcome:?}").contains("another stream"),
            "{outcome:?}"
        );
        assert!(uncounted(&[], &left(12.0, 12.0)).is_none());
        assert!(uncounted(&[], &left(12.0, 35.0)).is_none());
    }
}
