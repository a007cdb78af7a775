//! Native code compared with the interpreter: the same run on both.

use std::fmt;

use crate::argument::{Argument, ArgumentError};
use crate::binding::array_type;
use crate::launch::{Interpreter, Outcome};
use crate::layout::Layout;
use crate::memory::lane_bits;
use warpsmith_ir::types::{Scalar, Type, TypeId};

/// Where native code and the interpreter part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeDifference {
    /// The array, `the gradient of` one, or what else differs.
    pub what: String,
    /// The first element that differs, and how many do; nothing where it is no array.
    pub elements: Option<(usize, usize)>,
    /// What native code gave there.
    pub native: String,
    /// What the interpreter gave there.
    pub interpreter: String,
}

impl fmt::Display for NativeDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if let Some((first, count)) = self.elements {
            write!(f, ", element {first} ({count} in all)")?;
        }
        write!(
            f,
            ": {} natively, {} interpreted",
            self.native, self.interpreter
        )
    }
}

impl Interpreter<'_> {
    /// As [`Interpreter::run_native`], and then the interpreter on the same arguments: where their results,
    /// findings and printed lines differ first. Numbers that are none are equal, whatever their bits.
    ///
    /// # Errors
    /// Arguments or a grid that do not fit the kernel.
    pub fn run_both(
        &self,
        dim: &[usize],
        arguments: &mut [Argument],
    ) -> Result<(Outcome, Option<NativeDifference>), ArgumentError> {
        let mut expected = arguments.to_vec();
        let native = self.run_native(dim, arguments)?;
        // How far either comes in a limited time is not the same.
        if native.out_of_time {
            return Ok((native, None));
        }
        let interpreted = self.run(dim, &mut expected)?;
        if interpreted.out_of_time {
            return Ok((interpreted, None));
        }
        let differ = |what: &str, native: String, interpreter: String| NativeDifference {
            what: what.to_owned(),
            elements: None,
            native,
            interpreter,
        };
        let mut difference = None;
        if native.findings != interpreted.findings {
            let (ours, theirs) = (&native.findings, &interpreted.findings);
            difference = Some(differ(
                "findings",
                format!("{ours:?}"),
                format!("{theirs:?}"),
            ));
        } else if native.printed != interpreted.printed {
            let (ours, theirs) = (&native.printed, &interpreted.printed);
            difference = Some(differ(
                "printed lines",
                format!("{ours:?}"),
                format!("{theirs:?}"),
            ));
        }
        let pairs = arguments.iter().zip(&expected);
        for ((name, ty), (ours, theirs)) in self.parameters().zip(pairs) {
            difference = difference.or_else(|| self.difference(name, ty, ours, theirs));
        }
        Ok((native, difference))
    }

    fn difference(
        &self,
        name: &str,
        ty: TypeId,
        ours: &Argument,
        theirs: &Argument,
    ) -> Option<NativeDifference> {
        match (array_type(self.module, ty), ours, theirs) {
            (
                Type::MappedArray { element, .. },
                Argument::Struct(ours),
                Argument::Struct(theirs),
            ) => match (ours.first(), theirs.first()) {
                (Some(Argument::Array(ours)), Some(Argument::Array(theirs))) => {
                    let layout = Layout::of(self.module, element);
                    bytes_differ(&layout, format!("`{name}`"), &ours.data, &theirs.data)
                }
                _ => None,
            },
            (Type::Array { element, .. }, Argument::Array(ours), Argument::Array(theirs)) => {
                let layout = Layout::of(self.module, element);
                let gradients = ours.gradient.as_deref().zip(theirs.gradient.as_deref());
                bytes_differ(&layout, format!("`{name}`"), &ours.data, &theirs.data).or_else(|| {
                    let (ours, theirs) = gradients?;
                    bytes_differ(&layout, format!("the gradient of `{name}`"), ours, theirs)
                })
            }
            (Type::Struct(id), Argument::Struct(ours), Argument::Struct(theirs)) => {
                let fields = &self.module.types.struct_def(id).fields;
                fields
                    .iter()
                    .zip(ours.iter().zip(theirs))
                    .find_map(|(field, (ours, theirs))| {
                        let name = format!("{name}.{}", self.module.names.get(field.name));
                        self.difference(&name, field.ty, ours, theirs)
                    })
            }
            _ => None,
        }
    }
}

/// Whether two scalars are the same: their bits, or both no number.
fn same(scalar: Scalar, a: u64, b: u64) -> bool {
    let is_nan = |bits: u64| match scalar {
        Scalar::F64 => f64::from_bits(bits).is_nan(),
        _ => scalar.is_float() && f32::from_bits(bits as u32).is_nan(),
    };
    a == b || (is_nan(a) && is_nan(b))
}

fn bytes_differ(
    layout: &Layout,
    what: String,
    ours: &[u8],
    theirs: &[u8],
) -> Option<NativeDifference> {
    if ours == theirs {
        return None;
    }
    let width = layout.bytes.max(1);
    let elements = ours.chunks_exact(width).zip(theirs.chunks_exact(width));
    let mut found: Option<NativeDifference> = None;
    for (n, (ours, theirs)) in elements.enumerate() {
        let differing = layout.leaves.iter().find_map(|leaf| {
            let bits = |bytes: &[u8]| lane_bits(leaf.scalar, &bytes[leaf.byte..]);
            let (a, b) = (bits(ours), bits(theirs));
            (!same(leaf.scalar, a, b)).then_some((leaf.scalar, a, b))
        });
        let Some((scalar, a, b)) = differing else {
            continue;
        };
        match &mut found {
            Some(found) => found.elements = found.elements.map(|(at, count)| (at, count + 1)),
            None => {
                let show = |bits: u64| match scalar {
                    Scalar::F64 => format!("{:e}", f64::from_bits(bits)),
                    _ if scalar.is_float() => format!("{:e}", f32::from_bits(bits as u32)),
                    _ => bits.to_string(),
                };
                found = Some(NativeDifference {
                    what: what.clone(),
                    elements: Some((n, 1)),
                    native: show(a),
                    interpreter: show(b),
                });
            }
        }
    }
    found
}
