//! The crate's workloads: trajectories and the small network.

use warpsmith_lanes::InstructionSet;
use warpsmith_workload::{ParameterSpec, Parameters, Workload, WorkloadError};

use crate::error::MdError;
use crate::{network, simulation};

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(simulation::LennardJonesStep),
        Box::new(network::NetworkCall),
    ]
}

/// Bytes that a prepared workload of this crate holds on the CPU; zero for an id of none.
pub fn held_bytes(id: &str, parameters: &Parameters) -> Result<u64, WorkloadError> {
    match id {
        simulation::ID => simulation::held_bytes(parameters),
        network::ID => network::held_bytes(parameters),
        _ => Ok(0),
    }
}

/// The parameter that both workloads share.
pub(crate) const SIMD: ParameterSpec = ParameterSpec::choice(
    "simd",
    "instructions of the CPU",
    &["best", "avx2", "scalar"],
);

pub(crate) fn instructions(parameters: &Parameters) -> InstructionSet {
    match parameters.choice(SIMD.name) {
        "scalar" => InstructionSet::Portable,
        "avx2" => InstructionSet::up_to_avx2(),
        _ => InstructionSet::widest(),
    }
}

/// Device errors stay what they are, so that missing hardware is told from a failure.
pub(crate) fn failed(workload: &'static str) -> impl Fn(MdError) -> WorkloadError {
    move |error| match error {
        MdError::Device(error) => error.into(),
        other => WorkloadError::failed(workload, other),
    }
}
