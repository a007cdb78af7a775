//! `gpu_metrics` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpsmith_fuzz::run("gpu_metrics", data));
