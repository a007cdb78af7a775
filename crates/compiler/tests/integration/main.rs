//! The front end on arbitrary input, the interpreter on kernels worked out by hand.

mod arbitrary;
mod interpreter;
