//! Scalar types, with the placeholders that stand for a family of them in generic signatures.

/// A scalar type, or (from [`Scalar::Any`] on) a placeholder in a generic signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Scalar {
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
    BF16,
    F32,
    F64,
    /// Anything at all.
    Any,
    /// Any number: every scalar but `bool`.
    AnyScalar,
    /// Any floating-point scalar.
    AnyFloat,
    /// Any integer scalar, signed or unsigned.
    AnyInt,
}

impl Scalar {
    /// The concrete scalars, in the order of the enumeration.
    pub const CONCRETE: [Self; 13] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
    ];

    /// The name in Python (`float32`) and, for placeholders, what they stand for.
    pub fn name(self) -> &'static str {
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
            Self::BF16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::Any => "Any",
            Self::AnyScalar => "Scalar",
            Self::AnyFloat => "Float",
            Self::AnyInt => "Int",
        }
    }

    /// The scalar of that Python name.
    pub fn from_name(name: &str) -> Option<Self> {
        // Every name that is not a scalar's comes here too; few begin like one.
        if !matches!(name.as_bytes(), [b'b' | b'f' | b'i' | b'u', ..]) {
            return None;
        }
        Self::CONCRETE
            .into_iter()
            .find(|scalar| scalar.name() == name)
    }

    /// The spelling in C++: `wp::float32`; `bool` stands bare.
    pub fn spelling(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "wp::int8",
            Self::I16 => "wp::int16",
            Self::I32 => "wp::int32",
            Self::I64 => "wp::int64",
            Self::U8 => "wp::uint8",
            Self::U16 => "wp::uint16",
            Self::U32 => "wp::uint32",
            Self::U64 => "wp::uint64",
            Self::F16 => "wp::float16",
            Self::BF16 => "wp::bfloat16",
            Self::F32 => "wp::float32",
            Self::F64 => "wp::float64",
            Self::Any | Self::AnyScalar | Self::AnyFloat | Self::AnyInt => "?",
        }
    }

    /// The short code that signatures and hashes are made of.
    pub fn code(self) -> &'static str {
        match self {
            Self::Bool => "b",
            Self::I8 => "i1",
            Self::I16 => "i2",
            Self::I32 => "i4",
            Self::I64 => "i8",
            Self::U8 => "u1",
            Self::U16 => "u2",
            Self::U32 => "u4",
            Self::U64 => "u8",
            Self::F16 => "f2",
            Self::BF16 => "bf2",
            Self::F32 => "f4",
            Self::F64 => "f8",
            Self::Any => "?",
            Self::AnyScalar => "s?",
            Self::AnyFloat => "f?",
            Self::AnyInt => "i?",
        }
    }

    /// Whether this is a concrete floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// Whether this is a concrete integer type; `bool` is not.
    pub fn is_int(self) -> bool {
        matches!(
            self,
            Self::I8
                | Self::I16
                | Self::I32
                | Self::I64
                | Self::U8
                | Self::U16
                | Self::U32
                | Self::U64
        )
    }

    /// Whether this stands for a family of scalars.
    pub fn is_placeholder(self) -> bool {
        matches!(
            self,
            Self::Any | Self::AnyScalar | Self::AnyFloat | Self::AnyInt
        )
    }

    /// Whether a concrete scalar belongs to what `self` stands for.
    pub fn accepts(self, concrete: Self) -> bool {
        match self {
            Self::Any => true,
            Self::AnyScalar => concrete.is_int() || concrete.is_float(),
            Self::AnyFloat => concrete.is_float(),
            Self::AnyInt => concrete.is_int(),
            exact => exact == concrete,
        }
    }

    /// Whether hardware updates of one memory cell exist for the additive operations.
    pub fn adds_atomically(self) -> bool {
        !matches!(
            self,
            Self::Bool | Self::I8 | Self::I16 | Self::U8 | Self::U16
        ) && !self.is_placeholder()
    }

    /// Whether hardware updates of one memory cell exist for the bitwise operations.
    pub fn has_bitwise_atomics(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::U32 | Self::U64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_concrete_scalar_is_found_by_its_name() {
        for scalar in Scalar::CONCRETE {
            assert_eq!(Scalar::from_name(scalar.name()), Some(scalar));
        }
        assert_eq!(Scalar::from_name("vec3"), None);
        assert_eq!(Scalar::from_name("ind"), None);
    }
}
