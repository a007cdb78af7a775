//! What most rules ask first.

use warpsmith_core::Verdict;

use crate::conclude::not_applicable;
use crate::machine::facts::MachineFacts;

/// The verdict of a GPU rule on a machine without one; `None` where there is one.
pub(super) fn without_gpu(facts: &MachineFacts) -> Option<Verdict> {
    (!facts.has_gpu()).then(|| not_applicable("no NVIDIA GPU in this machine"))
}
