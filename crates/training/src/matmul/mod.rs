//! `training/matmul`: the product of two matrices.

mod bf16;
mod cpu;
mod cuda;
mod definition;
mod product;
mod sm90;
mod tiled_operands;
mod workload;

pub use bf16::Bf16;
pub(crate) use cpu::Rows;
pub use cpu::{Matmul, Number};
pub(crate) use definition::one_rounded_sum;
pub(crate) use product::{Matrix, add_product};
pub(crate) use workload::{MatrixProduct, sum_of_products};
