//! What was measured and read, before anything is concluded from it.
//!
//! Whoever runs things fills these in; [`crate::compose`] turns them into a document. What could
//! not be measured is absent, and [`Facts::left_out`] says why.

mod corpus;
mod latency;
mod machine;
mod matrix;
mod numbers;
mod parity;
mod peers;
mod sweep;

use serde::Serialize;
use warpsmith_core::Report;
use warpsmith_doctor::{AuditBody, CheckBody};
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::trajectory::MemorySeries;
use warpsmith_telemetry::baseline::BaselineBody;

pub use corpus::CorpusFacts;
pub use latency::Latency;
pub use machine::MachineFacts;
pub use matrix::{Default, TechniqueFacts};
pub use numbers::{Numbers, Rate};
pub use parity::ParityFacts;
pub use peers::{LadderFacts, PeerTime};
pub use sweep::{SizeTime, Sweep};

use crate::document::{Fitness, SectionRun, Sound, Subject};

/// Everything that a report is made from.
pub struct Facts {
    /// Which machine, when, from which sources.
    pub subject: Subject,
    /// The devices.
    pub machine: MachineFacts,
    /// How quiet the machine was.
    pub fitness: Fitness,
    /// What ran.
    pub sections: Vec<SectionRun>,
    /// What was not measured, and why.
    pub left_out: Vec<String>,
    /// The CUDA environment.
    pub environment: Option<Report<CheckBody>>,
    /// The machine at rest.
    pub rest: Option<Report<BaselineBody>>,
    /// The project in whose folder the report is made.
    pub project: Option<Report<AuditBody>>,
    /// What describes the machine.
    pub numbers: Numbers,
    /// The workloads.
    pub latency: Vec<Latency>,
    /// Times over sizes.
    pub sweeps: Vec<Sweep>,
    /// Memory over the steps of a trajectory.
    pub leak: Option<LeakFacts>,
    /// Whether the GPU computes what the CPU says.
    pub parity: Vec<ParityFacts>,
    /// Techniques on and off.
    pub matrix: Vec<TechniqueFacts>,
    /// A sample of the data set.
    pub corpus: Option<CorpusFacts>,
    /// Other programs on the same problem.
    pub ladder: Option<LadderFacts>,
    /// A chain of multiplications: the noise of this machine.
    pub noise: Option<Measurement>,
    /// What can be heard.
    pub sounds: Vec<Sound>,
}

impl Facts {
    /// Facts about a machine of which nothing has been measured yet.
    pub fn new(subject: Subject, machine: MachineFacts) -> Self {
        Self {
            subject,
            machine,
            fitness: Fitness::default(),
            sections: Vec::new(),
            left_out: Vec::new(),
            environment: None,
            rest: None,
            project: None,
            numbers: Numbers::default(),
            latency: Vec::new(),
            sweeps: Vec::new(),
            leak: None,
            parity: Vec::new(),
            matrix: Vec::new(),
            corpus: None,
            ladder: None,
            noise: None,
            sounds: Vec::new(),
        }
    }
}

/// Memory over the steps of a trajectory.
#[derive(Clone, Debug, Serialize)]
pub struct LeakFacts {
    /// What ran.
    pub workload: String,
    /// Steps.
    pub steps: usize,
    /// One series per kind of memory.
    pub memory: Vec<MemorySeries>,
}
