//! The synthesiser as workloads: the reference phrase in every way that the matrix compares, blocks
//! of many streams, and what it costs to put samples on the wire.

pub(crate) mod cuda_phrase;
pub(crate) mod phrase;
pub(crate) mod streams;
pub(crate) mod wire;

use warpsmith_workload::Workload;

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(phrase::PhraseWorkload),
        Box::new(streams::Streams),
        Box::new(wire::Wire),
    ]
}
