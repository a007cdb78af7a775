//! What a device did and when, by CUPTI's activity records, where CUPTI is installed.

mod activity;
mod binding;

pub use activity::{Activity, ActivityKind, ActivityTrace};
