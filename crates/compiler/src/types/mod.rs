//! Types of values: scalars, compounds, arrays, structs, and how each is spelled in C++.

mod query;
mod scalar;
mod table;

pub use query::Query;
pub use scalar::Scalar;
pub use table::{FieldDef, StructDef, StructId, Type, TypeId, TypeTable};
