//! Arguments of a kernel as they are written on a command line.
//!
//! `in:f32:1M` is a buffer that the kernel reads, `out:f32:1M` one that it writes, `inout:…` one
//! that it does both to; a fourth word fills it (`random`, `zeros`, `ones`, `iota`). `i32=100` is
//! a number.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use warpsmith_workload::random::Random;

/// An argument that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{text}` is no kernel argument: {problem}; write `in:f32:1M`, `out:f32:1M`, `inout:i32:4096:zeros` or `f32=2.5`"
)]
pub struct BadArgument {
    /// What was written.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

macro_rules! scalars {
    ($($variant:ident $name:literal $bytes:literal)*) => {
        /// What a buffer holds, or a number is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // The names are the field's own.
        pub enum Scalar {
            $($variant,)*
        }

        impl Scalar {
            /// As it is written.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Size in bytes.
            pub fn bytes(self) -> usize {
                match self { $(Self::$variant => $bytes,)* }
            }

            /// The type of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }
    };
}
scalars! {
    U8 "u8" 1
    I8 "i8" 1
    U16 "u16" 2
    I16 "i16" 2
    U32 "u32" 4
    I32 "i32" 4
    U64 "u64" 8
    I64 "i64" 8
    F16 "f16" 2
    Bf16 "bf16" 2
    F32 "f32" 4
    F64 "f64" 8
}

/// What the kernel does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Reads it.
    In,
    /// Writes it.
    Out,
    /// Both.
    InOut,
}

/// What a buffer holds before the first run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Floats from −1 to 1, whole numbers from 0 to 99; the same for the same seed.
    Random,
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// 0, 1, 2…
    Iota,
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelArgument {
    /// A buffer in device memory; the kernel gets its address.
    Buffer {
        /// What the kernel does with it.
        direction: Direction,
        /// What it holds.
        scalar: Scalar,
        /// How many.
        length: usize,
        /// What it holds at first.
        fill: Fill,
    },
    /// A number by value.
    Value {
        /// Its type.
        scalar: Scalar,
        /// Its bytes, as many as the type has.
        bytes: Vec<u8>,
        /// As it was written.
        text: String,
    },
}

impl fmt::Display for KernelArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer {
                direction,
                scalar,
                length,
                ..
            } => {
                let word = match direction {
                    Direction::In => "in",
                    Direction::Out => "out",
                    Direction::InOut => "inout",
                };
                write!(f, "{word}:{}:{length}", scalar.name())
            }
            Self::Value { scalar, text, .. } => write!(f, "{}={text}", scalar.name()),
        }
    }
}

impl FromStr for KernelArgument {
    type Err = BadArgument;

    fn from_str(text: &str) -> Result<Self, BadArgument> {
        let bad = |problem: String| BadArgument {
            text: text.to_owned(),
            problem,
        };
        let scalar = |name: &str| {
            Scalar::named(name).ok_or_else(|| bad(format!("there is no type `{name}`")))
        };
        if let Some((name, value)) = text.split_once('=') {
            let scalar = scalar(name)?;
            let bytes =
                number(scalar, value).ok_or_else(|| bad(format!("`{value}` is no {name}")))?;
            let text = value.to_owned();
            return Ok(Self::Value {
                scalar,
                bytes,
                text,
            });
        }
        let words: Vec<&str> = text.split(':').collect();
        let [direction, name, length, fill @ ..] = words.as_slice() else {
            return Err(bad("it has too few words".into()));
        };
        let direction = match *direction {
            "in" => Direction::In,
            "out" => Direction::Out,
            "inout" => Direction::InOut,
            other => return Err(bad(format!("`{other}` is neither in, out nor inout"))),
        };
        let fill = match (fill, direction) {
            ([], Direction::Out) | (["zeros"], _) => Fill::Zeros,
            ([], _) | (["random"], _) => Fill::Random,
            (["ones"], _) => Fill::Ones,
            (["iota"], _) => Fill::Iota,
            _ => return Err(bad("it is filled by random, zeros, ones or iota".into())),
        };
        let scalar = scalar(name)?;
        let length = count(length)
            .and_then(|length| usize::try_from(length).ok())
            .filter(|length| length.checked_mul(scalar.bytes()).is_some())
            .ok_or_else(|| bad(format!("`{length}` is no length")))?;
        Ok(Self::Buffer {
            direction,
            scalar,
            length,
            fill,
        })
    }
}

/// A whole number; `K`, `M` and `G` multiply by 1024, its square and its cube.
fn count(text: &str) -> Option<u64> {
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if text.ends_with('K') => (digits, 10),
        Some(digits) if text.ends_with('M') => (digits, 20),
        Some(digits) => (digits, 30),
        None => (text, 0),
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift)
}

/// The bytes of a number of this type; `None` where it is none, or does not fit.
fn number(scalar: Scalar, text: &str) -> Option<Vec<u8>> {
    if matches!(
        scalar,
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64
    ) {
        return text.parse().ok().map(|value| from_float(scalar, value));
    }
    let value = match count(text) {
        Some(value) => i128::from(value),
        None => text.parse::<i128>().ok()?,
    };
    let bits = scalar.bytes() as u32 * 8;
    let signed = matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64);
    let (least, most) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    (least..=most)
        .contains(&value)
        .then(|| value.to_le_bytes()[..scalar.bytes()].to_vec())
}

/// The nearest of this type, or for whole numbers the one below.
fn from_float(scalar: Scalar, value: f64) -> Vec<u8> {
    match scalar {
        Scalar::F64 => value.to_le_bytes().to_vec(),
        Scalar::F32 => (value as f32).to_le_bytes().to_vec(),
        // Rounded to the upper half of an f32, ties away from zero.
        Scalar::Bf16 => {
            (((value as f32).to_bits().saturating_add(0x8000)) >> 16).to_le_bytes()[..2].to_vec()
        }
        Scalar::F16 => half(value as f32).to_le_bytes().to_vec(),
        _ => (value as i64).to_le_bytes()[..scalar.bytes()].to_vec(),
    }
}

/// Half precision, ties away from zero; what is too small is zero, what is too large infinite.
fn half(value: f32) -> u16 {
    let bits = value.to_bits().saturating_add(0x1000);
    let sign = (value.to_bits() >> 16 & 0x8000) as u16;
    match (bits >> 23 & 0xff) as i32 - 112 {
        ..=0 => sign,
        31.. => sign | 0x7c00,
        exponent => sign | (exponent as u16) << 10 | (bits >> 13 & 0x3ff) as u16,
    }
}

/// The bytes that a buffer holds at first.
pub(super) fn fill(scalar: Scalar, length: usize, fill: Fill, random: &mut Random) -> Vec<u8> {
    let floats = matches!(
        scalar,
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64
    );
    let mut bytes = Vec::with_capacity(length * scalar.bytes());
    for index in 0..length {
        let value = match fill {
            Fill::Zeros => 0.0,
            Fill::Ones => 1.0,
            Fill::Iota => index as f64,
            Fill::Random if floats => 2.0 * random.unit() - 1.0,
            Fill::Random => (100.0 * random.unit()).floor(),
        };
        bytes.extend(from_float(scalar, value));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> KernelArgument {
        text.parse().unwrap()
    }

    #[test]
    fn buffers_and_numbers_are_read() {
        assert_eq!(
            parsed("in:f32:1M"),
            KernelArgument::Buffer {
                direction: Direction::In,
                scalar: Scalar::F32,
                length: 1 << 20,
                fill: Fill::Random,
            }
        );
        assert_eq!(parsed("inout:i32:7:iota").to_string(), "inout:i32:7");
        let bytes = |text: &str| match parsed(text) {
            KernelArgument::Value { bytes, .. } => bytes,
            KernelArgument::Buffer { .. } => unreachable!(),
        };
        assert_eq!(bytes("i32=-2"), (-2i32).to_le_bytes());
        assert_eq!(bytes("u64=4K"), 4096u64.to_le_bytes());
        assert_eq!(bytes("f32=2.5"), 2.5f32.to_le_bytes());
        assert_eq!(bytes("f16=1"), 0x3c00u16.to_le_bytes());
        assert_eq!(bytes("f16=-0.5"), 0xb800u16.to_le_bytes());
        assert_eq!(bytes("bf16=1"), 0x3f80u16.to_le_bytes());
    }

    #[test]
    fn what_is_no_argument_says_why() {
        for (text, problem) in [
            ("f32", "too few words"),
            ("in:f31:4", "no type `f31`"),
            ("to:f32:4", "neither in"),
            ("in:f32:many", "no length"),
            ("in:f64:9999999999999999999", "no length"),
            ("out:f32:4:twos", "filled by"),
            ("u8=256", "no u8"),
            ("u8=-1", "no u8"),
            ("f32=x", "no f32"),
        ] {
            let error = text.parse::<KernelArgument>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn fills_are_what_they_say_and_repeat() {
        let mut random = Random::seeded(7);
        let bytes = fill(Scalar::I32, 3, Fill::Iota, &mut random);
        assert_eq!(bytes, [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        let first = fill(Scalar::F32, 100, Fill::Random, &mut Random::seeded(1));
        assert_eq!(
            first,
            fill(Scalar::F32, 100, Fill::Random, &mut Random::seeded(1))
        );
        let whole = fill(Scalar::U8, 1000, Fill::Random, &mut random);
        assert!(whole.iter().all(|value| *value < 100) && whole.iter().any(|value| *value > 50));
    }
}
