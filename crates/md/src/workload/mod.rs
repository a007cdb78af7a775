//! The crate's workloads: trajectories and the small network.

mod lennard_jones;
mod network;

use warpsmith_lanes::InstructionSet;
use warpsmith_workload::{ParameterKind, ParameterSpec, Parameters, Workload, WorkloadError};

use crate::error::MdError;

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(lennard_jones::LennardJonesStep),
        Box::new(network::NetworkCall),
    ]
}

/// Bytes that a prepared workload of this crate holds on the CPU; zero for an id of none.
pub fn held_bytes(id: &str, parameters: &Parameters) -> Result<u64, WorkloadError> {
    match id {
        lennard_jones::ID => lennard_jones::held_bytes(parameters),
        network::ID => network::held_bytes(parameters),
        _ => Ok(0),
    }
}

/// The parameter that both workloads share.
const SIMD: ParameterSpec = ParameterSpec {
    name: "simd",
    meaning: "instructions of the CPU",
    kind: ParameterKind::Choice(&["best", "avx2", "scalar"]),
};

fn instructions(parameters: &Parameters) -> InstructionSet {
    match parameters.choice(SIMD.name) {
        "scalar" => InstructionSet::Portable,
        "avx2" => InstructionSet::up_to_avx2(),
        _ => InstructionSet::widest(),
    }
}

/// Device errors stay what they are, so that missing hardware is told from a failure.
fn failed(workload: &'static str) -> impl Fn(MdError) -> WorkloadError {
    move |error| match error {
        MdError::Device(error) => error.into(),
        other => WorkloadError::Failed {
            workload,
            reason: other.to_string(),
        },
    }
}
