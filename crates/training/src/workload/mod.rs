//! The training operations as workloads.

mod adamw;
mod attention;
mod clip;
mod conv2d;
mod convolution;
mod matmul;
mod matmul_cuda;
mod matmul_sm90;
mod operation;
mod rows;
mod tiled_operands;

use warpsmith_workload::Workload;

/// All of them.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    let mut all: Vec<Box<dyn Workload>> = Vec::new();
    for operation in [
        &rows::LAYER_NORM,
        &rows::LAYER_NORM_GELU,
        &rows::GELU,
        &rows::SOFTMAX,
        &attention::ATTENTION,
        &convolution::CONV1D,
        &conv2d::CONV2D,
    ] {
        all.push(Box::new(operation));
    }
    all.push(Box::new(matmul::MatrixProduct));
    all.push(Box::new(clip::Clip));
    all.push(Box::new(adamw::AdamWStep));
    all
}
