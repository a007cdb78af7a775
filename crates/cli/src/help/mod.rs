//! What somebody reads who does not know the program yet: the help, what to try first, and what to
//! type instead.

mod first_steps;
mod groups;
#[cfg(test)]
mod options;
mod program;
mod refusal;

pub(crate) use first_steps::first_steps;
pub(crate) use groups::GROUPS;
pub(crate) use program::{color_of, program};
pub(crate) use refusal::refusal;
