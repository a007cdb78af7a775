//! `check`: one machine, from its files.

pub(crate) mod causes;
pub(crate) mod collect;
mod facts;
pub(crate) mod file_question;
mod report;
pub(crate) mod rules;
mod specification;

pub use causes::Cause;
pub use collect::collect_machine;
pub use facts::MachineFacts;
pub use file_question::{FileAnswer, FileQuestionError, will_it_run};
pub use report::{CheckBody, CheckOutcome, check_machine, machine_identity};
pub use specification::{GpuSpecification, MatrixRow};
