//! Files of other tools, and the error rates that the statistics promise.

mod importers;
mod known_answers;
mod noise;
#[path = "../traces/mod.rs"]
mod traces;
