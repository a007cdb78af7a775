//! Where right answers come from: a Python function, stored arrays, another kernel, the interpreter, a
//! built-in workload.

mod answer;
mod built_in;
mod look_ahead;
mod python_function;
mod python_template;
mod python_worker;
mod stored;

pub(crate) use answer::{Answer, Truth};
pub(crate) use built_in::{BuiltIn, find as find_workload};
pub use built_in::{offer_workloads, timed_contents};
pub(crate) use look_ahead::{Answered, LookAhead, Wanted};
pub(crate) use python_function::{Bound, Detail, PythonFunction};
pub use python_worker::WorkerError;
pub(crate) use python_worker::{Start, keep_the_end, python_program, resident_bytes};
pub(crate) use stored::stored_answers;
