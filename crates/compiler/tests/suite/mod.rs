//! What the tests of the runtime header share; each test program uses its part.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "compiled into several programs, none of which uses all"
)]

pub mod conformance;
pub mod nvrtc;
