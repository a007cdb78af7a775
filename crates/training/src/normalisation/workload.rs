//! `training/layer-norm` and `training/layer-norm-gelu` as workloads.

use rayon::prelude::*;
use warpsmith_workload::{ArguedTolerance, Parameters};

use super::cpu::LayerNorm;
use super::cuda::launch;
use super::definition;
use crate::error::Result;
use crate::gelu::Gelu;
use crate::operation::Operation;
use crate::row_matrix::{ROWS, WIDTH, cost, elements, rows_of_a_task};

pub(super) const EPSILON: f32 = 1e-5;

pub(crate) static LAYER_NORM: Operation = Operation {
    id: "training/layer-norm",
    summary: "rows to mean 0 and variance 1, scaled and shifted",
    parameters: &[ROWS, WIDTH],
    cost: |parameters| cost(parameters, 8),
    tolerance: |_| LAYER_NORM_TOLERANCE,
    refuses: |_| None,
    inputs,
    output: elements,
    cpu: |parameters, inputs, out| layer_norm(parameters, inputs, out, None),
    definition: definition::plain,
    launch: |parameters, gpu| launch(parameters, gpu, false),
};

pub(crate) static LAYER_NORM_GELU: Operation = Operation {
    id: "training/layer-norm-gelu",
    summary: "layer norm and exact GELU in one pass",
    parameters: &[ROWS, WIDTH],
    cost: |parameters| cost(parameters, 30),
    tolerance: |_| LAYER_NORM_TOLERANCE,
    refuses: |_| None,
    inputs,
    output: elements,
    cpu: |parameters, inputs, out| layer_norm(parameters, inputs, out, Some(Gelu::Exact)),
    definition: definition::activated,
    launch: |parameters, gpu| launch(parameters, gpu, true),
};

const LAYER_NORM_TOLERANCE: ArguedTolerance = ArguedTolerance::within(
    5e-6,
    5e-6,
    "mean and variance of a row are sums of some thousand f32 numbers in a tree: 1e-6 of \
              the deviation; scale and shift add one rounding, and scales are up to 5",
);

fn inputs(parameters: &Parameters) -> Vec<usize> {
    let width = parameters.size("width");
    vec![elements(parameters), width, width]
}

fn layer_norm(
    parameters: &Parameters,
    inputs: &[Vec<f32>],
    out: &mut [f32],
    activation: Option<Gelu>,
) -> Result<()> {
    let norm = LayerNorm {
        scale: inputs[1].clone(),
        shift: inputs[2].clone(),
        epsilon: EPSILON,
        activation,
    };
    let rows = rows_of_a_task(parameters);
    out.par_chunks_mut(rows)
        .zip(inputs[0].par_chunks(rows))
        .try_for_each(|(out, x)| norm.rows_into(x, out))
}
