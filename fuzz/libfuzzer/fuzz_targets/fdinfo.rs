//! `fdinfo` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| warpsmith_fuzz::run("fdinfo", data));
