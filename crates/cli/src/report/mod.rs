//! The main job: everything that Warpsmith can say about this machine, as one document.
//!
//! A section is data (blocks of text, tables and raw numbers); the HTML page, the Markdown text and
//! the JSON file are views of the same blocks. A section that fails says why, and the rest goes on.

mod check;
mod document;
mod html;
mod latency;
mod machine;
mod markdown;
mod parity;

pub(crate) use document::{Block, Document, FinishedSection, Section, Status};
pub(crate) use html::page;
pub(crate) use markdown::text;

use anyhow::Result;
use warpsmith_device::Device;

/// What the sections are made from.
pub(crate) struct Job {
    /// Where the workloads run.
    pub(crate) device: Device,
    /// Short runs, so that everything is done within a minute.
    pub(crate) quick: bool,
}

/// A part of the report: its anchor, its title, and what makes it.
pub(crate) struct Part {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) make: fn(&Job) -> Result<Section>,
}

/// The parts, in the order of the page.
pub(crate) const PARTS: &[Part] = &[
    Part {
        id: "machine",
        title: "Machine",
        make: machine::section,
    },
    Part {
        id: "check",
        title: "Environment",
        make: check::section,
    },
    Part {
        id: "latency",
        title: "Workloads: latency and rate",
        make: latency::section,
    },
    Part {
        id: "parity",
        title: "Workloads: CPU and GPU agree",
        make: parity::section,
    },
];
