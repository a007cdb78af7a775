//! What a kernel costs and why: from its code without a GPU, from counters with one.

mod access;
mod code_lines;
mod counters;
mod linear;
mod static_cost;

pub use access::{Access, MemorySpace};
pub use code_lines::{CodeLine, Mix, mix_of_ptx, mix_of_sass};
pub use counters::{COUNTERS, Counters};
pub use static_cost::StaticCost;
