//! Ways in which a kernel goes over its data; families of one skeleton differ in what they compute there.

pub(crate) mod plain;
pub(crate) mod pointwise;
pub(crate) mod product;
pub(crate) mod recurrence;
pub(crate) mod rows;
pub(crate) mod stencil;
mod steps;
