//! What is said about a candidate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpsmith_core::Family;
use warpsmith_measure::comparison::evaluation::Evaluation;
use warpsmith_measure::statistics::order::median_of;

use crate::inspect::Counters;

/// What each code about a candidate means.
pub static FAMILY: Family = Family::new(include_str!("../stories/J.md"));

/// What keeps a candidate in: files, network, processes and memory, each with what enforces it.
pub type Protection = BTreeMap<String, String>;

/// A candidate's verdict with its evidence: one line of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The candidate.
    pub id: String,
    /// What was found.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What it rests on, the strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Calls whose results were compared.
    pub calls: usize,
    /// Seconds that importing and constructing took; they are not part of the speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_seconds: Option<f64>,
    /// What limits a kernel, where its launch was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Explanation>,
    /// What kept it in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub protection: Protection,
    /// Decides the inputs: `--seed` repeats them.
    #[serde(default)]
    pub seed: u64,
    /// Seconds that judging took.
    pub took: f64,
}

impl Judgement {
    /// A verdict without any call.
    pub fn new(id: &str, seed: u64, outcome: Outcome) -> Self {
        Self {
            id: id.to_owned(),
            outcome,
            evidence: Vec::new(),
            calls: 0,
            load_seconds: None,
            limits: None,
            protection: Protection::new(),
            seed,
            took: 0.0,
        }
    }

    /// A candidate that has not been run.
    pub fn not_run(id: &str, seed: u64, detail: String) -> Self {
        Self::new(id, seed, Outcome::NotRun { detail })
    }
}

/// Why a kernel takes as long as it does, by the counters of one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What follows from the counters, the largest possible gain first.
    pub sentences: Vec<String>,
    /// The counters.
    pub counters: Counters,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Outcome {
    /// Every result was right, and nothing else was found.
    Correct {
        /// How fast, where there is something to compare with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        speed: Option<Speed>,
        /// Its error beside that of the same formula in the inputs' own type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_over_plain: Option<f64>,
    },
    /// A result is not right.
    Wrong {
        /// How far, where, and the pattern.
        detail: String,
    },
    /// It does something else than the task.
    Cheating {
        /// What.
        kind: Cheat,
        /// The code that `warpsmith explain` knows.
        code: String,
        /// In words.
        detail: String,
    },
    /// It could not be loaded.
    CompileFailure {
        /// The line, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// The error.
        detail: String,
    },
    /// It raised an error or ended its process.
    Crashed {
        /// The line, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// The error.
        detail: String,
    },
    /// It took too long.
    TimedOut {
        /// What took how long.
        detail: String,
    },
    /// It took too much memory.
    OutOfMemory {
        /// How much is allowed.
        detail: String,
    },
    /// This machine cannot run it.
    NotRun {
        /// Why.
        detail: String,
    },
}

/// Speed beside the reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Time of the reference over time of the candidate: above 1 the candidate is faster.
    pub speedup: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Median seconds of a call of the candidate.
    pub seconds: f64,
    /// Median seconds of a call of the reference.
    pub reference_seconds: f64,
    /// Pairs of calls, each on contents that neither had seen.
    pub rounds: usize,
}

impl Speed {
    /// From the ratios of the candidate's time to the reference's, and the seconds of either's calls.
    pub(super) fn of(ratio: &Evaluation, seconds: &[f64], reference: &[f64]) -> Self {
        Self {
            speedup: 1.0 / ratio.ratio,
            low: 1.0 / ratio.high,
            high: 1.0 / ratio.low,
            seconds: median_of(seconds),
            reference_seconds: median_of(reference),
            rounds: ratio.rounds,
        }
    }
}

/// What a candidate does instead of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cheat {
    /// Results of earlier calls are given again.
    Cached,
    /// The result does not depend on the inputs.
    Constant,
    /// Work goes on after the call returned.
    Unfinished,
    /// The result computes when it is looked at.
    Lazy,
    /// Calls before decide whether a result is right.
    FirstCalls,
    /// An input holds something else after the call.
    InputChanged,
    /// The result lies in the memory of an input.
    Aliased,
    /// Fewer bits inside than the task gives.
    Narrow,
    /// It searches the judge's frames or objects.
    Spying,
    /// It takes the reference instead of computing.
    Reference,
    /// It calls what the task forbids.
    Library,
    /// It replaces what a judge would rest on.
    Tampered,
    /// Its clock and the judge's disagree.
    Clock,
    /// It writes answers that nobody asked it for.
    Forged,
    /// It starts processes, opens sockets, sends signals, or reaches for files outside.
    Outside,
}

impl Cheat {
    /// The code that `warpsmith explain` knows.
    pub fn code(self) -> &'static str {
        match self {
            Self::Cached => "J001",
            Self::Constant => "J002",
            Self::Unfinished | Self::Lazy => "J003",
            Self::FirstCalls => "J004",
            Self::InputChanged | Self::Aliased => "J005",
            Self::Narrow => "J006",
            Self::Spying | Self::Reference => "J007",
            Self::Library => "J008",
            Self::Tampered | Self::Clock | Self::Forged => "J009",
            Self::Outside => "J010",
        }
    }
}

impl Outcome {
    /// Cheating of a kind.
    pub(super) fn cheating(kind: Cheat, detail: impl Into<String>) -> Self {
        Self::Cheating {
            kind,
            code: kind.code().to_owned(),
            detail: detail.into(),
        }
    }

    /// The verdict in a word, as it stands in the result.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Correct { .. } => "correct",
            Self::Wrong { .. } => "wrong",
            Self::Cheating { .. } => "cheating",
            Self::CompileFailure { .. } => "compile_failure",
            Self::Crashed { .. } => "crashed",
            Self::TimedOut { .. } => "timed_out",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::NotRun { .. } => "not_run",
        }
    }

    /// The rest in a line.
    pub fn detail(&self) -> String {
        let at = |line: &Option<u64>, detail: &String| match line {
            Some(line) => format!("line {line}: {detail}"),
            None => detail.clone(),
        };
        match self {
            Self::Correct { speed, .. } => match speed {
                Some(speed) => format!(
                    "{:.2} × as fast as the reference ({:.2} to {:.2})",
                    speed.speedup, speed.low, speed.high
                ),
                None => "not timed".into(),
            },
            Self::CompileFailure { line, detail } | Self::Crashed { line, detail } => {
                at(line, detail)
            }
            Self::Wrong { detail }
            | Self::Cheating { detail, .. }
            | Self::TimedOut { detail }
            | Self::OutOfMemory { detail }
            | Self::NotRun { detail } => detail.clone(),
        }
    }
}
