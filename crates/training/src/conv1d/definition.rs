//! `training/conv1d` by its formula: `bias + Σ weight·x` over channels and taps, zeros around the signal.

use warpsmith_workload::{ArguedTolerance, Definition, Parameters};

pub(super) fn definition(_: &Parameters) -> Definition {
    Definition {
        results,
        tolerance: ArguedTolerance::within(
            1e-10,
            1.2e-7,
            "the CPU sums in f64, whose roundings stay below 1e-10, and rounds the sum once",
        ),
    }
}

fn results(parameters: &Parameters, inputs: &[Vec<f64>]) -> Vec<f64> {
    let names = ["signals", "in", "length", "taps", "stride"];
    let [signals, ins, length, taps, stride] = names.map(|name| parameters.size(name));
    let [padding, dilation] = ["padding", "dilation"].map(|name| parameters.size(name));
    let (x, weight, bias) = (&inputs[0], &inputs[1], &inputs[2]);
    let mut out = Vec::new();
    for signal in 0..signals {
        for (o, bias) in bias.iter().enumerate() {
            // Every position whose last tap lies within the padded signal.
            let mut start = 0;
            while start + dilation * (taps - 1) < length + 2 * padding {
                let mut sum = *bias;
                for i in 0..ins {
                    for tap in 0..taps {
                        let at = start + tap * dilation;
                        if at >= padding && at - padding < length {
                            sum += weight[(o * ins + i) * taps + tap]
                                * x[(signal * ins + i) * length + at - padding];
                        }
                    }
                }
                out.push(sum);
                start += stride;
            }
        }
    }
    out
}
