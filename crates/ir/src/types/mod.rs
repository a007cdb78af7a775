//! Types of values: scalars, compounds, arrays, structs, and how each is spelled in C++.

mod mapping;
mod query;
mod scalar;
mod table;
mod tile;

pub use mapping::Mapping;
pub use query::Query;
pub use scalar::Scalar;
pub use table::{CPU_BLOCK, GPU_BLOCK};
pub use table::{FieldDef, StructDef, StructId, Type, TypeId, TypeTable};
pub use tile::dense_strides;
pub use tile::{Extent, Tile};
