//! `warpsmith bench`: the workloads and kernels of files, and how long they take.

mod case_job;
mod command;
mod fresh_context;
mod job;
mod kernel_options;
mod launch_conditions;
mod list;
mod sampled;
mod sheet;

pub(crate) use case_job::{CaseJob, Checked};
pub(crate) use command::{Bench, Mode};
