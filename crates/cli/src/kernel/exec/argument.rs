//! Arguments of a kernel as they are written on the command line.

use anyhow::{Result, bail};
use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::{Scalar, Type, TypeId};
use warpsmith_formats::npy::NpyArray;
use warpsmith_interpreter::{Argument, ArrayArgument};

use super::numpy_type::dtype;

/// What an array parameter holds.
pub(crate) struct ArrayKind {
    pub(crate) scalar: Scalar,
    /// The shape of one element: empty for scalars, `[3]` for vectors, `[3, 3]` for matrices.
    pub(crate) components: Vec<usize>,
    rank: usize,
}

/// A parameter of a kernel.
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The type in words.
    pub(crate) described: String,
    pub(crate) array: Option<ArrayKind>,
}

/// The scalar and the shape of a value.
fn value_shape(module: &Module, ty: TypeId) -> Option<(Scalar, Vec<usize>)> {
    Some(match module.types.get(ty) {
        Type::Scalar(scalar) => (scalar, vec![]),
        Type::Vector { length, scalar } => (scalar, vec![length as usize]),
        Type::Matrix { rows, cols, scalar } => (scalar, vec![rows as usize, cols as usize]),
        Type::Quat(scalar) => (scalar, vec![4]),
        Type::Transform(scalar) => (scalar, vec![7]),
        _ => return None,
    })
}

impl Parameter {
    pub(crate) fn new(module: &Module, name: &str, ty: TypeId) -> Result<Self> {
        let described = module.types.describe(ty, &module.names);
        let array = match module.types.get(ty) {
            Type::Array { element, rank } => {
                let Some((scalar, components)) = value_shape(module, element) else {
                    bail!("cannot take `{name}` from the command line: it is {described}");
                };
                Some(ArrayKind {
                    scalar,
                    components,
                    rank: usize::from(rank),
                })
            }
            _ if value_shape(module, ty).is_some() => None,
            _ => bail!("cannot take `{name}` from the command line: it is {described}"),
        };
        Ok(Self {
            name: name.to_owned(),
            described,
            array,
        })
    }
}

/// `NAME=VALUE`.
pub(crate) fn parse_assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE")),
    }
}

/// Gives every parameter its argument.
pub(crate) fn bind(parameters: &[Parameter], given: &[(String, String)]) -> Result<Vec<Argument>> {
    for (name, _) in given {
        if !parameters.iter().any(|parameter| parameter.name == *name) {
            let known: Vec<&str> = parameters
                .iter()
                .map(|parameter| parameter.name.as_str())
                .collect();
            bail!(
                "the kernel has no parameter `{name}`; it has {}",
                known.join(", ")
            );
        }
    }
    parameters
        .iter()
        .map(|parameter| {
            let value = given.iter().rev().find(|(name, _)| *name == parameter.name);
            let Some((_, value)) = value else {
                bail!(
                    "`{0}` ({1}) has no argument: give one with `--arg {0}=…`",
                    parameter.name,
                    parameter.described
                );
            };
            match &parameter.array {
                Some(kind) => Ok(Argument::Array(array(&parameter.name, kind, value)?)),
                None => numbers(&parameter.name, value),
            }
        })
        .collect()
}

/// Gives every array its gradient: zeros, where none is named.
pub(crate) fn bind_gradients(
    parameters: &[Parameter],
    arguments: &mut [Argument],
    given: &[(String, String)],
) -> Result<()> {
    for (parameter, argument) in parameters.iter().zip(arguments) {
        let (Some(kind), Argument::Array(values)) = (&parameter.array, argument) else {
            continue;
        };
        let named = given.iter().rev().find(|(name, _)| *name == parameter.name);
        let shape: Vec<String> = values.shape.iter().map(usize::to_string).collect();
        let text = match named.map(|(_, value)| value.as_str()) {
            None => format!("zeros:{}", shape.join("x")),
            Some(word @ ("ones" | "zeros")) => format!("{word}:{}", shape.join("x")),
            Some(file) => file.to_owned(),
        };
        let gradient = array(&parameter.name, kind, &text)?;
        if gradient.shape != values.shape {
            bail!(
                "the gradient of `{}` has shape {:?}, the array {:?}",
                parameter.name,
                gradient.shape,
                values.shape
            );
        }
        values.gradient = Some(gradient.data);
    }
    Ok(())
}

fn numbers(name: &str, text: &str) -> Result<Argument> {
    let number = |part: &str| -> Result<Number> {
        match (part.parse::<i128>(), part.parse::<f64>(), part) {
            (Ok(integer), ..) => Ok(Number::Int(integer)),
            (_, Ok(float), _) => Ok(Number::Float(float)),
            (_, _, "true" | "True") => Ok(Number::Int(1)),
            (_, _, "false" | "False") => Ok(Number::Int(0)),
            _ => bail!("`{part}` is not a number, and `{name}` takes one"),
        }
    };
    Ok(Argument::Value(
        text.split(',')
            .map(|part| number(part.trim()))
            .collect::<Result<_>>()?,
    ))
}

/// A scalar type by its short name or Python's.
fn scalar_named(text: &str) -> Option<Scalar> {
    let long = match text.split_at_checked(1)? {
        ("f", bits) => format!("float{bits}"),
        ("i", bits) if bits.parse::<u8>().is_ok() => format!("int{bits}"),
        ("u", bits) if bits.parse::<u8>().is_ok() => format!("uint{bits}"),
        _ => text.to_owned(),
    };
    Scalar::from_name(&long).or_else(|| Scalar::from_name(text))
}

fn array(name: &str, kind: &ArrayKind, text: &str) -> Result<ArrayArgument> {
    let Some((descr, width)) = dtype(kind.scalar) else {
        bail!(
            "cannot take `{name}` from the command line: NumPy has no type `{}`",
            kind.scalar.name()
        );
    };
    if let Some(path) = text.strip_prefix('@') {
        let file = NpyArray::read(path.as_ref())?;
        let fits = file.shape.len() == kind.rank + kind.components.len()
            && file.shape.ends_with(&kind.components);
        if file.descr != descr || !fits {
            bail!(
                "`{name}` is an array of {} dimensions of `{descr}` elements of shape {:?}; `{path}` holds `{}` of shape {:?}",
                kind.rank,
                kind.components,
                file.descr,
                file.shape
            );
        }
        return Ok(ArrayArgument {
            shape: file.shape[..kind.rank].to_vec(),
            data: file.data,
            gradient: None,
        });
    }
    let parts: Vec<&str> = text.split(':').collect();
    let [word @ ("zeros" | "ones" | "random"), shape, rest @ ..] = parts.as_slice() else {
        bail!(
            "`{name}` is an array: give `@FILE.npy`, `zeros:SHAPE:TYPE`, `ones:SHAPE:TYPE` or `random:SHAPE:TYPE:SEED`, not `{text}`"
        );
    };
    let shape: Option<Vec<usize>> = shape.split('x').map(|size| size.parse().ok()).collect();
    let Some(shape) = shape.filter(|shape| shape.len() == kind.rank) else {
        let example = vec!["100"; kind.rank].join("x");
        let elements = match kind.components.as_slice() {
            [] => String::new(),
            components => format!(
                "; its elements have {} numbers each by themselves",
                components.iter().product::<usize>()
            ),
        };
        bail!(
            "`{name}` has {}: write `{word}:{example}:{}`, not `{}`{elements}",
            match kind.rank {
                1 => "1 dimension".to_owned(),
                rank => format!("{rank} dimensions"),
            },
            kind.scalar.name(),
            parts[1]
        );
    };
    if let Some(ty) = rest.first()
        && scalar_named(ty) != Some(kind.scalar)
    {
        bail!("`{name}` holds `{}`, not `{ty}`", kind.scalar.name());
    }
    let seed = match rest.get(1) {
        Some(seed) => seed
            .parse()
            .map_err(|_| anyhow::anyhow!("`{seed}` is not a seed"))?,
        None => 0,
    };
    let count = shape
        .iter()
        .chain(&kind.components)
        .try_fold(1_usize, |size, n| size.checked_mul(*n));
    let Some(count) = count.filter(|count| *count <= 1 << 31) else {
        bail!("`{name}` would have more than 2^31 numbers");
    };
    let mut state = seed;
    let mut data = Vec::with_capacity(count * width);
    for _ in 0..count {
        let value = match *word {
            "zeros" => 0.0,
            "ones" => 1.0,
            _ => uniform(&mut state),
        };
        write_number(kind.scalar, value, &mut data);
    }
    Ok(ArrayArgument {
        shape,
        data,
        gradient: None,
    })
}

/// Steele, Lea and Flood's SplitMix64; 53 bits, uniform in [0, 1).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Floats keep the number, integers take ten times it, so that random ones are 0 to 9.
fn write_number(scalar: Scalar, value: f64, data: &mut Vec<u8>) {
    let integer = if value < 1.0 {
        (value * 10.0) as u64
    } else {
        value as u64
    };
    match scalar {
        Scalar::F32 => data.extend((value as f32).to_le_bytes()),
        Scalar::F64 => data.extend(value.to_le_bytes()),
        Scalar::F16 => data.extend(half_bits(value).to_le_bytes()),
        Scalar::Bool => data.push(u8::from(value >= 0.5)),
        _ => {
            let width = dtype(scalar).map_or(0, |(_, width)| width);
            data.extend(&integer.to_le_bytes()[..width]);
        }
    }
}

/// A half from a number in [0, 1], cut off rather than rounded: only random and constant fills use it.
fn half_bits(value: f64) -> u16 {
    let bits = (value as f32).to_bits();
    let exponent = (bits >> 23) as i32 - 112;
    if exponent <= 0 {
        0
    } else {
        (exponent as u16) << 10 | (bits >> 13 & 0x3ff) as u16
    }
}

/// The first numbers of an array, as text.
pub(crate) fn first_numbers(scalar: Scalar, data: &[u8]) -> Vec<String> {
    const SHOWN: usize = 8;
    let Some((_, width)) = dtype(scalar) else {
        return Vec::new();
    };
    let spell = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..width].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        match scalar {
            Scalar::F32 => f32::from_bits(bits as u32).to_string(),
            Scalar::F64 => f64::from_bits(bits).to_string(),
            Scalar::F16 => format!("{:#06x}", bits),
            Scalar::I8 => (bits as i8).to_string(),
            Scalar::I16 => (bits as i16).to_string(),
            Scalar::I32 => (bits as i32).to_string(),
            Scalar::I64 => (bits as i64).to_string(),
            Scalar::Bool => (bits != 0).to_string(),
            _ => bits.to_string(),
        }
    };
    let mut numbers: Vec<String> = data.chunks_exact(width).take(SHOWN).map(spell).collect();
    if data.len() > SHOWN * width {
        numbers.push("…".to_owned());
    }
    numbers
}
