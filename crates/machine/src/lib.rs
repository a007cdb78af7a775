//! The machine's own figures as workloads: how fast memory copies, how long a launch takes, and
//! `saxpy`, the smallest kernel that does something. Everything faster or slower is judged against
//! these.

mod copy;
mod launch;
mod saxpy;
mod vulkan;

use warpsmith_workload::Workload;

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(copy::Copy),
        Box::new(launch::Launch),
        Box::new(saxpy::Saxpy),
    ]
}
