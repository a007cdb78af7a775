//! What the report is about: a machine at a time, with the sources it was run from.

use serde::{Deserialize, Serialize};

/// Which machine, when, and from which sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The first GPU's name, or the CPU with its cores.
    pub title: String,
    /// Lines of facts below the title, each joined by ` · `.
    pub facts: Vec<String>,
    /// Host name; empty where the system has none.
    pub host: String,
    /// Seconds since 1970-01-01 UTC when the run began.
    pub started_unix: u64,
    /// The same as `2026-11-16 10:00 UTC`.
    pub started: String,
    /// Commit of the folder that the report was made in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// Quick or full.
    pub kind: RunKind,
    /// How long the run took.
    pub seconds: f64,
    /// How long it was allowed to take.
    pub allowed_seconds: f64,
}

/// A commit of the user's project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Abbreviated hash.
    pub hash: String,
    /// Tracked files differ from it.
    pub changed: bool,
}

/// How thorough a run was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Within a minute.
    Quick,
    /// All workloads with narrow intervals.
    Full,
}

/// How quiet the machine was while it was measured; what is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fitness {
    /// Share of the host's CPU time that other programs used, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_busy: Option<f64>,
    /// Share of CPU time that the hypervisor took, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Load average over a minute, per core, at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_per_core: Option<f64>,
    /// The GPU's median multiprocessor clock, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_clock_mhz: Option<f64>,
    /// Why the GPU held its clocks back, in words; empty where nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<String>,
    /// Why the machine is not fit to be measured, one clause each; empty where it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfit: Vec<String>,
}
