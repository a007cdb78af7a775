//! Answers that lie in `.npy` files.

use std::path::{Path, PathBuf};

use warpsmith_formats::npy::NpyArray;

use super::answer::{Answer, Truth};
use crate::instance::{BoundValue, Instance};

/// The answers of a size; `Ok(None)` where the files are of another size.
pub(crate) fn stored_answers(
    files: &[(String, PathBuf)],
    instance: &Instance,
) -> Result<Option<Answer>, String> {
    let mut outputs = Vec::new();
    for argument in instance
        .arguments
        .iter()
        .filter(|argument| argument.is_output())
    {
        let Some((_, path)) = files.iter().find(|(name, _)| *name == argument.name) else {
            return Err(format!("there is no stored answer for `{}`", argument.name));
        };
        let BoundValue::Array { shape, .. } = &argument.value else {
            continue;
        };
        let array = NpyArray::read(path).map_err(|error| error.to_string())?;
        if array.shape != *shape {
            return Ok(None);
        }
        outputs.push(truth(&array, path)?);
    }
    Ok(Some(Answer {
        outputs,
        wide: false,
        note: None,
    }))
}

/// An array of a file as values.
pub(crate) fn truth(array: &NpyArray, path: &Path) -> Result<Truth, String> {
    let values: Vec<f64> = match array.descr.as_str() {
        "<f8" => words(&array.data).map(f64::from_le_bytes).collect(),
        "<f4" => words(&array.data)
            .map(|word| f64::from(f32::from_le_bytes(word)))
            .collect(),
        "<i8" => words(&array.data)
            .map(|word| i64::from_le_bytes(word) as f64)
            .collect(),
        "<u8" => words(&array.data)
            .map(|word| u64::from_le_bytes(word) as f64)
            .collect(),
        "<i4" => words(&array.data)
            .map(|word| f64::from(i32::from_le_bytes(word)))
            .collect(),
        "<u4" => words(&array.data)
            .map(|word| f64::from(u32::from_le_bytes(word)))
            .collect(),
        "<i2" => words(&array.data)
            .map(|word| f64::from(i16::from_le_bytes(word)))
            .collect(),
        "<u2" => words(&array.data)
            .map(|word| f64::from(u16::from_le_bytes(word)))
            .collect(),
        "|i1" => array
            .data
            .iter()
            .map(|byte| f64::from(byte.cast_signed()))
            .collect(),
        "|u1" | "|b1" => array.data.iter().map(|byte| f64::from(*byte)).collect(),
        other => {
            return Err(format!(
                "`{}` holds {other}, which cannot be compared",
                path.display()
            ));
        }
    };
    let whole = match array.descr.as_str() {
        "<i8" => Some(words(&array.data).map(i64::from_le_bytes).collect()),
        "<u8" => Some(
            words(&array.data)
                .map(|word| u64::from_le_bytes(word).cast_signed())
                .collect(),
        ),
        "<f8" | "<f4" => None,
        _ => Some(values.iter().map(|value| *value as i64).collect()),
    };
    Ok(Truth {
        values,
        whole,
        plain: None,
        spread: None,
        in_turn: None,
        fan_in: 1.0,
    })
}

fn words<const N: usize>(data: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    data.as_chunks::<N>().0.iter().copied()
}
