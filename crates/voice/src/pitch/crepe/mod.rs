//! Pitch by CREPE, a network that was trained on sounds of known pitch: the most likely path through its
//! probabilities, and between its 20-cent steps their mean around that path.

mod cpu;
mod cuda;
mod kernels;
mod network;
mod path_cuda;
mod path_workload;
mod windows;
mod workload;

pub use cpu::{CrepeNetwork, CrepePitch, CrepeTrack};
pub use cuda::crepe_on_cuda;
pub(crate) use path_workload::CrepePath;
pub(crate) use workload::CrepeProbabilities;
