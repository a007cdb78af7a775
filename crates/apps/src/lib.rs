//! Verbs of the applications that Warpsmith measures itself with.

pub mod corpus;
pub mod lattice;
pub mod md;
pub mod serve;
pub mod synth;
pub mod voice;
