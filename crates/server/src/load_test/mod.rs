//! A load test: many listeners on this machine, each with a sound card that is only a clock, each
//! holding what arrives against what should have.

mod client;
mod figures;
mod whole;

pub use client::{Plan, run};
pub use figures::{Figures, Spread};
pub use whole::{LoadReport, ServerFigures, listen_as_told, run_whole};
