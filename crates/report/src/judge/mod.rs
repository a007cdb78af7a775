//! Conclusions from facts: what is trusted, the five numbers, the verdict, what to do next.

pub mod actions;
pub mod fitness;
pub mod law;
pub mod numbers;
pub mod record;
pub mod trust;
pub mod verdict;
