//! A kernel as a flat list of operations on scalars: what code for other devices is written from.

pub use crate::binding::BoundArguments;
pub use crate::factorisation::Factorisation;
pub use crate::findings::at_line;
pub use crate::instruction::{
    Binary, BufferAt, Class, Instruction, Location, Space, Unary, Update,
};
pub use crate::lanes::{Cell, is_wide};
pub use crate::layout::{ARRAY_LEAVES, ARRAY_SHAPE, ARRAY_STRIDES, Layout, Leaf};
pub use crate::machine::{DenseCall, DenseKind};
pub use crate::native::{Code, simplify};
pub use crate::noise::{Noise, NoiseKind, PRIMES, permuted};
pub use crate::object::Question;
pub use crate::plan::{OwnArray, Parameter, Program};
pub use crate::text::{Conversion, Piece};
pub use crate::tile::{Solve, Tile, TileArray, TileCall, TileKind};
