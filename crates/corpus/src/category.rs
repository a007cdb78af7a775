//! What kinds of kernels there are.

use serde::{Deserialize, Serialize};

use crate::by_name::{display_by_name, parse_by_name};

/// What a kernel is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Category {
    Arithmetic,
    Math,
    Vector,
    Matrix,
    ControlFlow,
    Atomic,
    NestedLoop,
    MultiConditional,
    Combined,
    ScalarParam,
    Reduction,
    Stencil,
    Functions,
    Structs,
    IntegerBits,
    Quaternion,
    Random,
    MultiDim,
}

impl Category {
    /// Every category.
    pub const ALL: [Self; 18] = [
        Self::Arithmetic,
        Self::Math,
        Self::Vector,
        Self::Matrix,
        Self::ControlFlow,
        Self::Atomic,
        Self::NestedLoop,
        Self::MultiConditional,
        Self::Combined,
        Self::ScalarParam,
        Self::Reduction,
        Self::Stencil,
        Self::Functions,
        Self::Structs,
        Self::IntegerBits,
        Self::Quaternion,
        Self::Random,
        Self::MultiDim,
    ];

    /// The name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arithmetic => "arithmetic",
            Self::Math => "math",
            Self::Vector => "vector",
            Self::Matrix => "matrix",
            Self::ControlFlow => "control_flow",
            Self::Atomic => "atomic",
            Self::NestedLoop => "nested_loop",
            Self::MultiConditional => "multi_conditional",
            Self::Combined => "combined",
            Self::ScalarParam => "scalar_param",
            Self::Reduction => "reduction",
            Self::Stencil => "stencil",
            Self::Functions => "functions",
            Self::Structs => "structs",
            Self::IntegerBits => "integer_bits",
            Self::Quaternion => "quaternion",
            Self::Random => "random",
            Self::MultiDim => "multi_dim",
        }
    }
}

display_by_name!(Category);

/// A category that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no category `{0}`; known are {known}", known = Category::ALL.map(Category::name).join(", "))]
pub struct UnknownCategory(pub String);

parse_by_name!(Category, UnknownCategory);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for category in Category::ALL {
            assert_eq!(category.name().parse(), Ok(category));
        }
        let error = "tensor".parse::<Category>().unwrap_err().to_string();
        assert!(error.starts_with("there is no category `tensor`; known are arithmetic, math"));
    }
}
