//! Reads the arguments of a kernel and what they hold at first.

use std::path::Path;

use warpsmith_measure::kernel_file::{Direction, Scalar};

use super::{MOST_VALUES, Reader};
use crate::description::{Argument, ArgumentKind, Fill};
use crate::document::{CaseError, Item, Place, Value};
use crate::element::{holds_whole, is_float};

impl Reader<'_> {
    pub(super) fn arguments(&self, item: Item) -> Result<Vec<Argument>, CaseError> {
        let place = item.place.clone();
        let Value::List(items) = item.value else {
            return Err(place.error(
                self.file,
                "write every argument under its own `[[arguments]]`",
            ));
        };
        if items.len() > MOST_VALUES {
            return Err(place.error(self.file, "too many arguments"));
        }
        items.into_iter().map(|item| self.argument(item)).collect()
    }

    pub(super) fn argument(&self, item: Item) -> Result<Argument, CaseError> {
        let file = self.file;
        let (place, mut table) = item.table(file)?;
        let missing = |key: &str, what: &str| {
            let place = Place {
                line: place.line,
                key: format!("{}.{key}", place.key),
            };
            place.error(file, format!("missing: {what}"))
        };
        let name = match table.take("name") {
            Some(item) => {
                let name = item.text(file)?;
                self.name(&item.place, &name)?;
                name
            }
            None => return Err(missing("name", "the name that references know it by")),
        };
        let Some(ty) = table.take("type") else {
            return Err(missing("type", "f32, i32, f16 and so on"));
        };
        let scalar = Scalar::named(&ty.text(file)?).ok_or_else(|| {
            ty.error(
                file,
                "there is no such type; there are u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64",
            )
        })?;
        let float = matches!(
            scalar,
            Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64
        );
        let kind = if let Some(value) = table.take("value") {
            for other in ["direction", "shape", "fill"] {
                if let Some(item) = table.take(other) {
                    return Err(item.error(file, "what is given by `value` has no such key"));
                }
            }
            match value.value {
                Value::Float(number) if float => ArgumentKind::Real(number),
                Value::Integer(number) if float => ArgumentKind::Real(number as f64),
                Value::List(parts) if parts.is_empty() => {
                    return Err(value.place.error(file, "a vector has at least one number"));
                }
                Value::List(parts) => {
                    let parts = parts.iter().map(|part| component(file, scalar, part));
                    ArgumentKind::Components(parts.collect::<Result<_, _>>()?)
                }
                _ => ArgumentKind::Whole(value.expression(file)?),
            }
        } else {
            let Some(direction) = table.take("direction") else {
                return Err(missing(
                    "direction",
                    "`in`, `out` or `inout` for an array, or `value` for a number or a vector",
                ));
            };
            let direction = match direction.text(file)?.as_str() {
                "in" => Direction::In,
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                other => {
                    return Err(
                        direction.error(file, format!("`{other}` is neither in, out nor inout"))
                    );
                }
            };
            let Some(shape) = table.take("shape") else {
                return Err(missing(
                    "shape",
                    "the dimensions, e.g. `[\"rows\", \"cols\"]`",
                ));
            };
            let shape = shape
                .list()
                .iter()
                .map(|item| item.expression(file))
                .collect::<Result<Vec<_>, _>>()?;
            let fill = match table.take("fill") {
                Some(item) if direction == Direction::Out => {
                    return Err(
                        item.error(file, "what the kernel only writes is poisoned, not filled")
                    );
                }
                Some(item) => self.fill(item)?,
                None if float => Fill::Natural,
                None => Fill::Integers(0, 99),
            };
            ArgumentKind::Array {
                direction,
                shape,
                fill,
            }
        };
        table.finish(
            file,
            &["name", "type", "direction", "shape", "fill", "value"],
        )?;
        Ok(Argument {
            name,
            scalar,
            kind,
            place,
        })
    }

    pub(super) fn fill(&self, item: Item) -> Result<Fill, CaseError> {
        let file = self.file;
        const WORDS: &str = "normal, uniform, integers, sorted, special, zeros, ones, iota, \
                             `{ normal = [mean, deviation] }`, `{ uniform = [low, high] }`, \
                             `{ integers = [low, high] }` or `{ npy = \"file.npy\" }`";
        let place = item.place.clone();
        match item.value {
            Value::Text(word) => Ok(match word.as_str() {
                "normal" => Fill::Normal(0.0, 1.0),
                "uniform" => Fill::Uniform(0.0, 1.0),
                "integers" => Fill::Integers(0, 99),
                "sorted" => Fill::Sorted,
                "special" => Fill::Special,
                "zeros" => Fill::Zeros,
                "ones" => Fill::Ones,
                "iota" => Fill::Iota,
                other => {
                    return Err(place.error(file, format!("`{other}` is no fill: write {WORDS}")));
                }
            }),
            Value::Table(mut table) => {
                let mut given = table.take_all();
                let (Some((word, item)), true) = (given.pop(), given.is_empty()) else {
                    return Err(place.error(file, format!("one fill expected: {WORDS}")));
                };
                let place = item.place.clone();
                if word == "npy" {
                    return Ok(Fill::Npy(self.beside(&item.text(file)?)));
                }
                let numbers = item.list();
                let [low, high] = &numbers[..] else {
                    return Err(place.error(file, "two numbers expected, e.g. `[-1, 1]`"));
                };
                match word.as_str() {
                    "normal" => Ok(Fill::Normal(low.float(file)?, high.float(file)?)),
                    "uniform" => Ok(Fill::Uniform(low.float(file)?, high.float(file)?)),
                    "integers" => match (low.integer(file)?, high.integer(file)?) {
                        (low, high) if low <= high => Ok(Fill::Integers(low, high)),
                        _ => Err(place.error(file, "the first number is the lower one")),
                    },
                    other => Err(place.error(file, format!("`{other}` is no fill: write {WORDS}"))),
                }
            }
            other => Err(place.error(file, format!("this is {}: write {WORDS}", other.kind()))),
        }
    }
}

/// One number of a vector, which its type must hold.
fn component(file: &Path, scalar: Scalar, part: &Item) -> Result<f64, CaseError> {
    let number = part.float(file)?;
    let whole = match part.value {
        Value::Integer(whole) => holds_whole(scalar, whole) && number as i64 == whole,
        _ => false,
    };
    match is_float(scalar) || whole {
        true => Ok(number),
        false => Err(part.error(file, format!("{number} does not fit {}", scalar.name()))),
    }
}
