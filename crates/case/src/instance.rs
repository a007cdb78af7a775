//! A case at one size: every expression a number, every array a length.

use serde_json::{Map, Value, json};
use warpsmith_device::LaunchShape;
use warpsmith_measure::kernel_file::{Direction, Scalar};

use crate::description::{Argument, ArgumentKind, Case, Fill, Launch, TunableValue};
use crate::document::{CaseError, Place};
use crate::element::{holds_whole, json_number, push_float, push_whole};
use crate::expression::{Expression, Scope};

/// Bytes that all arrays of one launch may have: more than any GPU has today.
const MOST_BYTES: u64 = 1 << 39;

/// A case at one size.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The dimensions.
    pub size: Scope,
    /// The choice of tunables.
    pub choice: Vec<(String, TunableValue)>,
    /// How many threads run.
    pub launch: LaunchNumbers,
    /// The arguments, in the kernel's order.
    pub arguments: Vec<BoundArgument>,
}

impl Instance {
    /// The dimensions and the arguments that are numbers, by name.
    pub(crate) fn numbers(&self) -> Map<String, Value> {
        let mut numbers = Map::new();
        for (name, value) in &self.size {
            numbers.insert(name.clone(), json!(value));
        }
        for argument in &self.arguments {
            let number = |value: &f64| json_number(argument.scalar, *value);
            let value = match &argument.value {
                BoundValue::Number { value, .. } => number(value),
                BoundValue::Components { values, .. } => values.iter().map(number).collect(),
                BoundValue::Array { .. } => continue,
            };
            numbers.insert(argument.name.clone(), value);
        }
        numbers
    }
}

/// A launch in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchNumbers {
    /// Blocks, threads and shared memory.
    Grid(LaunchShape),
    /// Threads along each dimension.
    Threads(Vec<usize>),
    /// A Python callable launches by itself.
    Itself,
    /// There is nothing to do at this size: a launch of no blocks is refused by the driver.
    Nothing,
}

/// An argument at one size.
#[derive(Clone, Debug)]
pub struct BoundArgument {
    /// Its name.
    pub name: String,
    /// Its type, or that of its elements.
    pub scalar: Scalar,
    /// An array or a number.
    pub value: BoundValue,
}

/// What an argument is at one size.
#[derive(Clone, Debug)]
pub enum BoundValue {
    /// An array of this shape.
    Array {
        /// What the kernel does with it.
        direction: Direction,
        /// Elements along each dimension.
        shape: Vec<usize>,
        /// The names of its dimensions, where the case gives names.
        axes: Vec<String>,
        /// What it holds at first.
        fill: Fill,
    },
    /// A number, as bytes and as it reads.
    Number {
        /// As many bytes as the type has.
        bytes: Vec<u8>,
        /// Its value.
        value: f64,
    },
    /// The components of a vector or matrix by value, as bytes one behind the other and as they read.
    Components {
        /// As many bytes as the components have.
        bytes: Vec<u8>,
        /// Their values.
        values: Vec<f64>,
    },
}

impl BoundArgument {
    /// Elements of an array; 0 for what is given by value.
    pub fn elements(&self) -> usize {
        match &self.value {
            BoundValue::Array { shape, .. } => shape.iter().product(),
            BoundValue::Number { .. } | BoundValue::Components { .. } => 0,
        }
    }

    /// What the kernel does with an array.
    pub fn direction(&self) -> Option<Direction> {
        match self.value {
            BoundValue::Array { direction, .. } => Some(direction),
            BoundValue::Number { .. } | BoundValue::Components { .. } => None,
        }
    }

    /// Whether the kernel writes it.
    pub fn is_output(&self) -> bool {
        matches!(self.direction(), Some(Direction::Out | Direction::InOut))
    }
}

/// What every array holds before a run; `None` for numbers and for what the kernel only writes.
pub type Contents = Vec<Option<Vec<u8>>>;

impl Case {
    /// The case at one size.
    pub fn instance(
        &self,
        size: &Scope,
        choice: &[(String, TunableValue)],
    ) -> Result<Instance, CaseError> {
        let scope = self.scope(size, choice);
        let mut arguments = Vec::new();
        let mut bytes = 0u64;
        for argument in &self.arguments {
            let bound = self.bind(argument, &scope)?;
            let own = (bound.elements() as u64).saturating_mul(bound.scalar.bytes() as u64);
            bytes = bytes.saturating_add(own);
            if bytes > MOST_BYTES {
                return Err(self.error(
                    &argument.place,
                    format!("the arrays have more than {MOST_BYTES} bytes at {size:?}"),
                ));
            }
            arguments.push(bound);
        }
        Ok(Instance {
            size: size.clone(),
            choice: choice.to_vec(),
            launch: self.numbers(&self.launch, &scope)?,
            arguments,
        })
    }

    pub(crate) fn bind(
        &self,
        argument: &Argument,
        scope: &Scope,
    ) -> Result<BoundArgument, CaseError> {
        let fail = |problem: String| self.error(&argument.place, problem);
        let value = match &argument.kind {
            ArgumentKind::Real(value) => {
                let mut bytes = Vec::new();
                push_float(argument.scalar, *value, &mut bytes);
                BoundValue::Number {
                    bytes,
                    value: *value,
                }
            }
            ArgumentKind::Components(values) => {
                let mut bytes = Vec::new();
                for value in values {
                    push_float(argument.scalar, *value, &mut bytes);
                }
                BoundValue::Components {
                    bytes,
                    values: values.clone(),
                }
            }
            ArgumentKind::Whole(expression) => {
                let value = expression
                    .value(scope)
                    .map_err(|error| fail(error.to_string()))?;
                if !holds_whole(argument.scalar, value) {
                    return Err(fail(format!(
                        "{value} does not fit {}",
                        argument.scalar.name()
                    )));
                }
                let mut bytes = Vec::new();
                push_whole(argument.scalar, value, &mut bytes);
                BoundValue::Number {
                    bytes,
                    value: value as f64,
                }
            }
            ArgumentKind::Array {
                direction,
                shape,
                fill,
            } => {
                let mut extents = Vec::new();
                let mut count = argument.scalar.bytes() as u64;
                for extent in shape {
                    let value = extent
                        .value(scope)
                        .map_err(|error| fail(error.to_string()))?;
                    let value = usize::try_from(value)
                        .map_err(|_| fail(format!("`{extent}` is {value}, which is no size")))?;
                    count = count
                        .checked_mul(value as u64)
                        .filter(|count| *count <= MOST_BYTES)
                        .ok_or_else(|| {
                            fail(format!("the array has more than {MOST_BYTES} bytes"))
                        })?;
                    extents.push(value);
                }
                BoundValue::Array {
                    direction: *direction,
                    shape: extents,
                    axes: shape.iter().map(ToString::to_string).collect(),
                    fill: fill.clone(),
                }
            }
        };
        Ok(BoundArgument {
            name: argument.name.clone(),
            scalar: argument.scalar,
            value,
        })
    }

    /// A launch at a size.
    pub(crate) fn numbers(
        &self,
        launch: &Launch,
        scope: &Scope,
    ) -> Result<LaunchNumbers, CaseError> {
        let place = Place {
            line: 1,
            key: "launch".into(),
        };
        match launch {
            Launch::Itself => Ok(LaunchNumbers::Itself),
            Launch::Threads(dims) => {
                let mut threads = Vec::new();
                for dim in dims {
                    let value = dim
                        .value(scope)
                        .map_err(|error| self.error(&place, error))?;
                    threads.push(usize::try_from(value).map_err(|_| {
                        self.error(
                            &place,
                            format!("`{dim}` is {value}, which is no number of threads"),
                        )
                    })?);
                }
                Ok(match threads.contains(&0) {
                    true => LaunchNumbers::Nothing,
                    false => LaunchNumbers::Threads(threads),
                })
            }
            Launch::Grid {
                grid,
                block,
                shared,
            } => {
                let block = self.extents(&place, block, scope, "block")?;
                let mut with_block = scope.clone();
                for (name, extent) in ["block_x", "block_y", "block_z"].iter().zip(block) {
                    with_block.insert((*name).to_owned(), extent.into());
                }
                let threads = block
                    .iter()
                    .map(|extent| u64::from(*extent))
                    .product::<u64>();
                if threads == 0 || threads > 1024 {
                    return Err(self.error(
                        &place,
                        format!("a block of {threads} threads ({block:?}): 1 to 1024 are possible"),
                    ));
                }
                let grid = self.extents(&place, grid, &with_block, "grid")?;
                if grid.contains(&0) {
                    return Ok(LaunchNumbers::Nothing);
                }
                let bytes = shared
                    .value(&with_block)
                    .map_err(|error| self.error(&place, error))?;
                let shared_bytes = u32::try_from(bytes)
                    .map_err(|_| self.error(&place, format!("{bytes} bytes of shared memory")))?;
                Ok(LaunchNumbers::Grid(LaunchShape {
                    grid,
                    block,
                    shared_bytes,
                }))
            }
        }
    }

    fn extents(
        &self,
        place: &Place,
        expressions: &[Expression; 3],
        scope: &Scope,
        what: &str,
    ) -> Result<[u32; 3], CaseError> {
        let mut extents = [0; 3];
        for (slot, expression) in extents.iter_mut().zip(expressions) {
            let value = expression
                .value(scope)
                .map_err(|error| self.error(place, error))?;
            *slot = u32::try_from(value).map_err(|_| {
                self.error(
                    place,
                    format!("`{expression}` is {value}, which is no extent of a {what}"),
                )
            })?;
        }
        Ok(extents)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn case(extra: &str) -> Case {
        let text = format!(
            "source = \"a.cu\"\n[sizes]\nn = [10]\n[[arguments]]\nname = \"x\"\ndirection = \"in\"\n\
             type = \"f32\"\nshape = [\"n\", 3]\n{extra}\n[launch]\ngrid = \"n / 4\"\nblock = \"n\"\nshared = \"block_x * 4\"\n"
        );
        Case::parse(Path::new("a.toml"), &text).unwrap()
    }

    #[test]
    fn an_instance_has_numbers_for_everything() {
        let case = case("");
        let instance = case.instance(&case.sizes.listed[0], &[]).unwrap();
        let LaunchNumbers::Grid(shape) = instance.launch else {
            panic!()
        };
        assert_eq!(
            (shape.grid, shape.block, shape.shared_bytes),
            ([2, 1, 1], [10, 1, 1], 40)
        );
        assert_eq!(instance.arguments[0].elements(), 30);
        let contents = instance.contents(7, 0, false).unwrap();
        assert_eq!(contents, instance.contents(7, 0, false).unwrap());
        assert_ne!(contents, instance.contents(8, 0, false).unwrap());
        let small = Scope::from([("n".to_owned(), 3)]);
        assert_eq!(
            case.instance(&small, &[]).unwrap().launch,
            LaunchNumbers::Nothing
        );
        let wide = Scope::from([("n".to_owned(), 2000)]);
        let error = case.instance(&wide, &[]).unwrap_err().to_string();
        assert!(error.contains("a block of 2000 threads"), "{error}");
        let endless = Scope::from([("n".to_owned(), i64::MAX / 4)]);
        assert!(
            case.instance(&endless, &[])
                .unwrap_err()
                .to_string()
                .contains("more than")
        );
    }
}
