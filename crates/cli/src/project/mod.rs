//! Verbs about a project: audit it, follow its history, report on it.

pub(crate) mod audit;
pub(crate) mod explain;
pub(crate) mod history;
pub(crate) mod report;
mod since;
