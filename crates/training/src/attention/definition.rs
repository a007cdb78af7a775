//! `training/attention` by its formula: `softmax(q·kᵀ/√width)·v` for every head.

use warpsmith_workload::{ArguedTolerance, Definition, Parameters};

pub(super) fn definition(parameters: &Parameters) -> Definition {
    Definition {
        results,
        tolerance: match parameters.choice("type") {
            "f32" | "f32-sm70" => ArguedTolerance::within(
                1e-5,
                1.2e-7,
                "a score and its distance from the largest, both below 16, round by 4.8e-7 each, and shares \
                 err by as much of themselves; the result is a mean with such shares of numbers up to 5",
            ),
            _ => ArguedTolerance::within(
                1e-5,
                4e-3,
                "as over f32, and rounded to bf16 at the end, by up to 2⁻⁸ of the result",
            ),
        },
    }
}

fn results(parameters: &Parameters, inputs: &[Vec<f64>]) -> Vec<f64> {
    let (heads, tokens) = (parameters.size("heads"), parameters.size("tokens"));
    let width: usize = match parameters.choice("width") {
        "128" => 128,
        _ => 64,
    };
    let causal = parameters.choice("mask") == "causal";
    let [query, key, value] = [0, 1, 2].map(|n| inputs[n].chunks(width).collect::<Vec<_>>());
    let mut out = Vec::new();
    for head in 0..heads {
        for token in 0..tokens {
            let (mut sums, mut total) = (vec![0.0; width], 0.0);
            for other in 0..if causal { token + 1 } else { tokens } {
                let (query, key) = (query[head * tokens + token], key[head * tokens + other]);
                let product: f64 = query.iter().zip(key).map(|(q, k)| q * k).sum();
                let share = (product / (width as f64).sqrt()).exp();
                total += share;
                for (sum, value) in sums.iter_mut().zip(value[head * tokens + other]) {
                    *sum += share * value;
                }
            }
            out.extend(sums.iter().map(|sum| sum / total));
        }
    }
    out
}
