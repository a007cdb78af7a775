//! `training/gelu` as a workload.

use rayon::prelude::*;
use warpsmith_workload::{ArguedTolerance, ParameterSpec, Parameters};

use super::cpu::{Gelu, gelu_in_place};
use super::cuda::launch;
use super::definition::definition;
use crate::operation::Operation;
use crate::row_matrix::{CHUNK, ROWS, WIDTH, cost, elements};

const KIND: ParameterSpec = ParameterSpec::choice(
    "kind",
    "the error function or its approximation by the hyperbolic tangent",
    &["exact", "tanh"],
);

pub(crate) static GELU: Operation = Operation {
    id: "training/gelu",
    summary: "the Gaussian error linear unit",
    parameters: &[ROWS, WIDTH, KIND],
    cost: |parameters| cost(parameters, 25),
    tolerance: |_| {
        ArguedTolerance::within(
            1e-6,
            1e-6,
            "the error function and the tangent are within 2 ULP on both sides, their sum \
                  with 1 rounds to 6e-8, and inputs beyond 5 are rare",
        )
    },
    refuses: |_| None,
    inputs: |parameters| vec![elements(parameters)],
    output: elements,
    cpu: |parameters, inputs, out| {
        let kind = kind(parameters);
        out.par_chunks_mut(CHUNK)
            .zip(inputs[0].par_chunks(CHUNK))
            .for_each(|(out, x)| {
                out.copy_from_slice(x);
                gelu_in_place(out, kind);
            });
        Ok(())
    },
    definition,
    launch,
};

pub(super) fn kind(parameters: &Parameters) -> Gelu {
    if parameters.choice("kind") == "tanh" {
        Gelu::Tanh
    } else {
        Gelu::Exact
    }
}
