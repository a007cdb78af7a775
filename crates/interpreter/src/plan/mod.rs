//! Turns a module into a program for the lanes.
//!
//! Builtins are written out as scalar operations (`scalar`, `vector`, `matrix`, `quaternion`,
//! `transform`), and `derivative` walks the same operations backwards for their adjoints. `stated_adjoint`
//! has those in which Warp adds in another order; what touches memory, changes a variable in place or
//! draws random numbers has an adjoint of its own, too.

mod access;
mod array_call;
mod backward;
mod builder;
mod call;
mod dense_call;
mod derivative;
mod effect;
mod frame;
mod gradient_call;
mod initialised;
mod inplace;
mod inverse;
mod matrix;
mod mesh_call;
mod named;
mod noise_call;
mod object_call;
mod output;
mod program;
mod quaternion;
mod reference;
mod rotation_adjoint;
mod scalar;
mod stated_adjoint;
pub(super) mod statement;
mod straight;
mod text;
mod tile;
mod transform;
mod vector;
mod volume_call;
mod walk;

pub(super) use builder::number_bits;
pub(super) use program::plan;
pub use program::{OwnArray, Parameter, Program};
