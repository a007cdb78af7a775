//! The types of generated values and how Python spells them.

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Scalar {
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Warp's name, without the module.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// The letters after `vec3`; `None` where there is no such name.
    fn vector_suffix(self) -> Option<&'static str> {
        Some(match self {
            Self::I8 => "b",
            Self::U8 => "ub",
            Self::I16 => "s",
            Self::U16 => "us",
            Self::I32 => "i",
            Self::U32 => "ui",
            Self::I64 => "l",
            Self::U64 => "ul",
            Self::F16 => "h",
            Self::F32 => "",
            Self::F64 => "d",
            Self::Bool => return None,
        })
    }

    /// What a value may grow to before an expression starts over with something small: half floats
    /// overflow at 65504, and signed integers must not overflow at all.
    pub(crate) fn most(self) -> f32 {
        match self {
            Self::F16 => 200.0,
            Self::F32 | Self::F64 => 1e6,
            Self::I32 => 1e9,
            Self::I64 => 1e18,
            // Narrow and unsigned integers wrap around, which is defined.
            _ => f32::MAX,
        }
    }
}

/// A type of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Scalar(Scalar),
    Vector(u8, Scalar),
    Matrix(u8, Scalar),
    Quat(Scalar),
    Transform(Scalar),
}

impl Kind {
    pub(crate) fn scalar(self) -> Scalar {
        match self {
            Self::Scalar(s)
            | Self::Vector(_, s)
            | Self::Matrix(_, s)
            | Self::Quat(s)
            | Self::Transform(s) => s,
        }
    }

    /// Appends the type as Python spells it; `plain` prefers `float` and `int` to Warp's names.
    pub(crate) fn spell(self, plain: bool, out: &mut String) {
        match (self, plain) {
            (Self::Scalar(Scalar::F32), true) => out.push_str("float"),
            (Self::Scalar(Scalar::I32), true) => out.push_str("int"),
            (Self::Scalar(Scalar::Bool), true) => out.push_str("bool"),
            (Self::Scalar(scalar), _) => {
                out.push_str("wp.");
                out.push_str(scalar.name());
            }
            _ => {
                out.push_str("wp.");
                self.constructor(out);
            }
        }
    }

    /// Appends a compound type's name without the module.
    fn constructor(self, out: &mut String) {
        let suffix = self.scalar().vector_suffix().unwrap_or("");
        match self {
            Self::Vector(6, _) => out.push_str("spatial_vector"),
            Self::Vector(length, _) => {
                out.push_str("vec");
                out.push(char::from(b'0' + length));
            }
            Self::Matrix(6, _) => out.push_str("spatial_matrix"),
            Self::Matrix(n, _) => {
                out.push_str("mat");
                out.push(char::from(b'0' + n));
                out.push(char::from(b'0' + n));
            }
            Self::Quat(_) => out.push_str("quat"),
            Self::Transform(_) => out.push_str("transform"),
            Self::Scalar(_) => {}
        }
        out.push_str(suffix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_as_warp_names_them() {
        let spelled = |kind: Kind, plain| {
            let mut text = String::new();
            kind.spell(plain, &mut text);
            text
        };
        assert_eq!(spelled(Kind::Scalar(Scalar::F32), true), "float");
        assert_eq!(spelled(Kind::Scalar(Scalar::F32), false), "wp.float32");
        assert_eq!(spelled(Kind::Vector(3, Scalar::U8), true), "wp.vec3ub");
        assert_eq!(
            spelled(Kind::Vector(6, Scalar::F64), true),
            "wp.spatial_vectord"
        );
        assert_eq!(spelled(Kind::Matrix(2, Scalar::F16), true), "wp.mat22h");
        assert_eq!(spelled(Kind::Transform(Scalar::F32), true), "wp.transform");
    }
}
