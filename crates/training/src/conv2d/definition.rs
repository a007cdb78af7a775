//! `training/conv2d` by its formula: `bias + Σ weight·x` over the channels of a group and taps, zeros around
//! the picture.

use warpsmith_workload::{Definition, Parameters};

use crate::matmul::one_rounded_sum;

pub(super) fn definition(parameters: &Parameters) -> Definition {
    let names = ["in", "taps_y", "taps_x"];
    let [ins, taps_y, taps_x] = names.map(|name| parameters.size(name));
    Definition {
        results,
        // The bias is one more product.
        tolerance: one_rounded_sum(ins / parameters.size("groups") * taps_y * taps_x + 1),
    }
}

fn results(parameters: &Parameters, inputs: &[Vec<f64>]) -> Vec<f64> {
    let pair = |y, x| [parameters.size(y), parameters.size(x)];
    let [pictures, ins] = pair("pictures", "in");
    let [outs, groups] = pair("out", "groups");
    let [height, width] = pair("height", "width");
    let [taps_y, taps_x] = pair("taps_y", "taps_x");
    let [stride_y, stride_x] = pair("stride_y", "stride_x");
    let [padding_y, padding_x] = pair("padding_y", "padding_x");
    let [dilation_y, dilation_x] = pair("dilation_y", "dilation_x");
    let (x, weight, bias) = (&inputs[0], &inputs[1], &inputs[2]);
    // Every start whose last tap lies within the padded picture.
    let starts = |size: usize, padding: usize, taps: usize, dilation: usize, stride: usize| {
        let end = size + 2 * padding;
        (0..end)
            .step_by(stride)
            .filter(move |start| start + dilation * (taps - 1) < end)
    };
    let shared = ins / groups;
    let mut out = Vec::new();
    for picture in 0..pictures {
        for (o, bias) in bias.iter().enumerate() {
            let first = o / (outs / groups) * shared;
            for top in starts(height, padding_y, taps_y, dilation_y, stride_y) {
                for left in starts(width, padding_x, taps_x, dilation_x, stride_x) {
                    let mut sum = *bias;
                    for i in 0..shared {
                        for ty in 0..taps_y {
                            for tx in 0..taps_x {
                                let (row, column) = (top + ty * dilation_y, left + tx * dilation_x);
                                let rows = padding_y..padding_y + height;
                                let columns = padding_x..padding_x + width;
                                if rows.contains(&row) && columns.contains(&column) {
                                    let channel = picture * ins + first + i;
                                    let at = (channel * height + row - padding_y) * width + column
                                        - padding_x;
                                    let tap = ((o * shared + i) * taps_y + ty) * taps_x + tx;
                                    sum += weight[tap] * x[at];
                                }
                            }
                        }
                    }
                    out.push(sum);
                }
            }
        }
    }
    out
}
