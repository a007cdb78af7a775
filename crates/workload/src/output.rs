//! What a run computed, as plain numbers that can be compared.

use warpsmith_core::{Agreement, Real, Tolerance};

/// A run's result.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The names are Rust's own.
pub enum Output {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    U8(Vec<u8>),
    I16(Vec<i16>),
}

impl Output {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::U8(values) => values.len(),
            Self::I16(values) => values.len(),
        }
    }

    /// Whether there is nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers in double precision, where those beyond 2⁵³ lose their last bits.
    pub fn numbers(&self) -> Vec<f64> {
        fn wide<T: Real>(values: &[T]) -> Vec<f64> {
            values.iter().map(|value| value.to_f64()).collect()
        }
        match self {
            Self::F32(values) => wide(values),
            Self::F64(values) => values.clone(),
            Self::I32(values) => wide(values),
            Self::U32(values) => wide(values),
            Self::U64(values) => wide(values),
            Self::U8(values) => wide(values),
            Self::I16(values) => wide(values),
        }
    }

    /// Compares this with exact results, rounded to `f32` where this is of that type.
    pub fn compare_with_exact(&self, expected: &[f64], tolerance: Tolerance) -> Agreement {
        if let Self::F32(values) = self {
            let rounded: Vec<f32> = expected.iter().map(|value| *value as f32).collect();
            return tolerance.compare(values, &rounded);
        }
        tolerance.compare(&self.numbers(), expected)
    }

    /// Compares this with what the reference says; `None` where the element types differ.
    pub fn compare(&self, expected: &Self, tolerance: Tolerance) -> Option<Agreement> {
        Some(match (self, expected) {
            (Self::F32(a), Self::F32(b)) => tolerance.compare(a, b),
            (Self::F64(a), Self::F64(b)) => tolerance.compare(a, b),
            (Self::I32(a), Self::I32(b)) => tolerance.compare(a, b),
            (Self::U32(a), Self::U32(b)) => tolerance.compare(a, b),
            (Self::U64(a), Self::U64(b)) => tolerance.compare(a, b),
            (Self::U8(a), Self::U8(b)) => tolerance.compare(a, b),
            (Self::I16(a), Self::I16(b)) => tolerance.compare(a, b),
            _ => return None,
        })
    }
}
