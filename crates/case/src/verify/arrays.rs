//! A result against the truth, for callers that have both as arrays: Python's `warpsmith.verify`.

use warpsmith_core::Tolerance;
use warpsmith_measure::kernel_file::{Direction, Scalar};

use super::comparison::{Judge, OutputComparison};
use crate::description::{Fill, StatedTolerance};
use crate::instance::{BoundArgument, BoundValue};
use crate::reference::Truth;

/// What is right about one output.
#[derive(Clone, Debug)]
pub struct ArrayTruth {
    /// The values.
    pub values: Vec<f64>,
    /// What the same formula gives in the type of the inputs.
    pub plain: Option<Vec<f64>>,
    /// How far a value moves when every input moves by one part in 2²³.
    pub spread: Option<Vec<f64>>,
    /// How many input elements decide an element.
    pub fan_in: f64,
    /// Whether the values come from float64.
    pub wide: bool,
}

/// Compares bytes of elements with the truth; an error says what does not fit.
pub fn compare_arrays(
    name: &str,
    scalar: &str,
    shape: &[usize],
    actual: &[u8],
    truth: ArrayTruth,
    tolerance: Option<Tolerance>,
) -> Result<OutputComparison, String> {
    let kind = Scalar::named(scalar).ok_or_else(|| format!("there is no type `{scalar}`"))?;
    let count: usize = shape.iter().product();
    let lengths = [
        Some(truth.values.len()),
        truth.plain.as_ref().map(Vec::len),
        truth.spread.as_ref().map(Vec::len),
    ];
    if actual.len() != count * kind.bytes()
        || lengths.iter().flatten().any(|length| *length != count)
    {
        return Err(format!(
            "`{name}` has another number of elements than its shape {shape:?}"
        ));
    }
    let stated = tolerance.map(|bounds| StatedTolerance {
        bounds,
        because: "given by the caller".into(),
    });
    let judge = Judge {
        stated: stated.as_ref(),
        wide: truth.wide,
        fast_math: false,
    };
    let argument = BoundArgument {
        name: name.to_owned(),
        scalar: kind,
        value: BoundValue::Array {
            direction: Direction::Out,
            shape: shape.to_vec(),
            axes: (0..shape.len()).map(|axis| format!("axis{axis}")).collect(),
            fill: Fill::Zeros,
        },
    };
    let whole = (!crate::element::is_float(kind)).then(|| {
        let values = truth.values.iter();
        values.map(|value| *value as i64).collect()
    });
    let truth = Truth {
        values: truth.values,
        whole,
        plain: truth.plain,
        spread: truth.spread,
        in_turn: None,
        fan_in: truth.fan_in.max(1.0),
    };
    Ok(judge.compare(&argument, actual, &truth, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_compared_and_lengths_that_do_not_fit_are_refused() {
        let truth = || ArrayTruth {
            values: vec![1.0, 2.0],
            plain: None,
            spread: None,
            fan_in: 1.0,
            wide: true,
        };
        let bytes: Vec<u8> = [1.0f32, 2.5]
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let compared = compare_arrays("y", "f32", &[2], &bytes, truth(), None).unwrap();
        assert_eq!(compared.wrong, 1);
        let loose = Tolerance {
            abs: 1.0,
            rel: 0.0,
            ulp: 0,
        };
        let compared = compare_arrays("y", "f32", &[2], &bytes, truth(), Some(loose)).unwrap();
        assert_eq!(compared.wrong, 0);
        assert!(compare_arrays("y", "f32", &[3], &bytes, truth(), None).is_err());
        assert!(compare_arrays("y", "f99", &[2], &bytes, truth(), None).is_err());
    }
}
