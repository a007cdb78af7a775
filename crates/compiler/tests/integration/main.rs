//! The front end on arbitrary input and on files as people have them, the interpreter on kernels worked out by hand.

mod arbitrary;
mod compiled;
mod files;
mod interpreter;
mod nested;
mod variants;
mod written;
