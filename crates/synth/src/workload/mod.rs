//! The synthesiser as workloads: the reference phrase in every way that the matrix compares, blocks
//! of many streams, and what it costs to put samples on the wire.

pub(crate) mod cuda_phrase;
pub(crate) mod phrase;
pub(crate) mod streams;
pub(crate) mod wire;

use warpsmith_workload::{ArguedTolerance, Workload};

/// Of rendered samples, whose scale is 16-bit integers.
const ONE_STEP: ArguedTolerance = ArguedTolerance::within(
    1.0,
    0.0,
    "sums differ by rounding, which moves a sample over at most one 16-bit step",
);

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(phrase::PhraseWorkload),
        Box::new(streams::Streams),
        Box::new(wire::Wire),
    ]
}
