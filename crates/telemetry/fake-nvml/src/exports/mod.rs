//! The functions that NVML exports, as far as this product, gpustat and nvitop call them.
#![allow(non_snake_case)]

mod activity;
mod call;
mod control;
mod error_events;
mod fields;
mod lists;
mod readings;
mod system;
