//! `training/softmax`: rows as shares of the sum of their exponentials.

mod cpu;
mod cuda;
mod definition;
mod workload;

pub use cpu::softmax_rows;
pub(crate) use workload::SOFTMAX;
