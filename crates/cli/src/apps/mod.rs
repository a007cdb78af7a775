//! Verbs of the applications that Warpsmith measures itself with.

pub(crate) mod corpus;
pub(crate) mod lattice;
pub(crate) mod md;
pub(crate) mod serve;
pub(crate) mod synth;
pub(crate) mod voice;
