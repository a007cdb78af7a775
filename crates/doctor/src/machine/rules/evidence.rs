//! What several rules must know before they can judge.

use crate::conclude::{Judgement, known, unknown};
use crate::machine::facts::{GpuDevice, MachineFacts, Sourced};
use warpsmith_compatibility::Capability;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

/// The GPUs with their compute capabilities, one at least.
pub(super) fn capabilities(facts: &MachineFacts) -> Judgement<Vec<(&GpuDevice, Capability)>> {
    let gpus = facts.capabilities();
    known(
        !gpus.is_empty(),
        "the GPU's compute capability is not known",
    )?;
    Ok(gpus)
}

/// The version of the driver.
pub(super) fn driver(facts: &MachineFacts) -> Judgement<&Sourced<Version>> {
    facts
        .driver_version()
        .map_or_else(|| unknown("the driver version is not known"), Ok)
}

/// The version of the driver, and the newest CUDA that it knows.
pub(super) fn driver_and_newest_cuda(
    facts: &MachineFacts,
) -> Judgement<(&Sourced<Version>, Version)> {
    let driver = driver(facts)?;
    match database().newest_cuda_of(&driver.value) {
        Some(newest) => Ok((driver, newest)),
        None => unknown("the driver's branch is not in the database"),
    }
}
