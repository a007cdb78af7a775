//! Where right answers come from: a Python function, stored arrays, another kernel, the interpreter.

mod answer;
mod look_ahead;
mod python_function;
mod python_worker;
mod stored;

pub(crate) use answer::{Answer, Truth};
pub(crate) use look_ahead::{LookAhead, Wanted};
pub(crate) use python_function::{Detail, PythonFunction};
pub use python_worker::WorkerError;
pub(crate) use python_worker::{keep_the_end, python_program, resident_bytes};
pub(crate) use stored::stored_answers;
