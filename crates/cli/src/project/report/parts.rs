//! The parts of a report, in the order of the page.

use anyhow::Result;

use super::document::Section;
use super::job::Job;
use super::section::{
    baseline, check, corpus, latency, machine, method, music, parity, project, scaling, sound,
    techniques,
};

/// A part of the report: its anchor, its title, how long it takes, and what makes it.
pub(crate) struct Part {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Seconds that it plans to take in a quick and in a full report, for the progress bar.
    pub(crate) seconds: (f64, f64),
    pub(crate) make: fn(&Job) -> Result<Section>,
}

/// The parts, in the order of the page. The machine at rest comes before anything that heats it.
pub(crate) const PARTS: &[Part] = &[
    Part {
        id: "machine",
        title: "Machine",
        seconds: (0.5, 0.5),
        make: machine::section,
    },
    Part {
        id: "check",
        title: "Environment",
        seconds: (0.5, 0.5),
        make: check::section,
    },
    Part {
        id: "baseline",
        title: "The machine at rest",
        seconds: (5.5, 31.0),
        make: baseline::section,
    },
    Part {
        id: "latency",
        title: "Workloads: latency and rate",
        seconds: (18.0, 90.0),
        make: latency::section,
    },
    Part {
        id: "scaling",
        title: "Scaling and crossover",
        seconds: (10.0, 60.0),
        make: scaling::section,
    },
    Part {
        id: "techniques",
        title: "Optimisation matrix",
        seconds: (8.0, 60.0),
        make: techniques::section,
    },
    Part {
        id: "parity",
        title: "Workloads: what there is, and parity",
        seconds: (4.0, 10.0),
        make: parity::section,
    },
    Part {
        id: "sound",
        title: "Sound: analysis",
        seconds: (0.5, 0.5),
        make: sound::section,
    },
    Part {
        id: "music",
        title: "Sound: synthesis",
        seconds: (0.3, 0.3),
        make: music::section,
    },
    Part {
        id: "corpus",
        title: "Data set",
        seconds: (1.0, 4.0),
        make: corpus::section,
    },
    Part {
        id: "project",
        title: "This project",
        seconds: (0.5, 0.5),
        make: project::section,
    },
    Part {
        id: "method",
        title: "Method",
        seconds: (1.5, 1.5),
        make: method::section,
    },
];
