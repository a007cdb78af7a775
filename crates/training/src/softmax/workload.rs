//! `training/softmax` as a workload.

use rayon::prelude::*;
use warpsmith_workload::ArguedTolerance;

use super::cpu::softmax_rows;
use super::cuda::launch;
use super::definition::definition;
use crate::operation::Operation;
use crate::row_matrix::{ROWS, WIDTH, cost, elements, rows_of_a_task};

pub(crate) static SOFTMAX: Operation = Operation {
    id: "training/softmax",
    summary: "rows as shares of the sum of their exponentials",
    parameters: &[ROWS, WIDTH],
    cost: |parameters| cost(parameters, 6),
    tolerance: |_| {
        ArguedTolerance::within(
            1e-7,
            4e-6,
            "the GPU's exponential errs by 2 ULP and one more for each unit of its argument, \
                  which is above -10 for normal inputs; sums of positive numbers do not cancel",
        )
    },
    refuses: |_| None,
    inputs: |parameters| vec![elements(parameters)],
    output: elements,
    cpu: |parameters, inputs, out| {
        let (width, rows) = (parameters.size("width"), rows_of_a_task(parameters));
        out.par_chunks_mut(rows)
            .zip(inputs[0].par_chunks(rows))
            .try_for_each(|(out, x)| softmax_rows(x, width, out))
    },
    definition,
    launch,
};
