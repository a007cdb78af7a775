//! Typed random programs, correct by construction.
//!
//! [`draft`] writes the program of one pair: a function of seed, index and attempt alone. Everything it
//! writes is accepted by the compiler, stays inside its arrays, has no races, and stays finite.

mod builder;
mod construct;
mod definition;
mod expression;
mod form;
mod form_table;
mod growth;
mod kind;
mod plan;
mod program;
mod skeleton;
mod statement;
mod text;
mod vocabulary;

pub use plan::Wanted;
pub use program::{Draft, draft};
