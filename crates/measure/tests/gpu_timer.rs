//! The device timer against kernels of known length, and what flushing does. Needs a GPU; without
//! one the trials are ignored, not passed.

#![allow(clippy::print_stdout)] // What was read is part of the trial's answer.

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_device::{Device, DeviceBuffer, DeviceChoice, DeviceError};
use warpsmith_measure::gpu::device_timer::{CacheState, DeviceTimer};
use warpsmith_measure::statistics::order::median_of;

fn main() {
    let arguments = Arguments::from_args();
    let missing = Device::open(DeviceChoice::Cuda(0)).is_err();
    let trial =
        |name, run: fn() -> Result<(), Failed>| Trial::test(name, run).with_ignored_flag(missing);
    libtest_mimic::run(
        &arguments,
        vec![
            trial("a_spin_of_known_length_is_read_within_a_microsecond", spins),
            trial("a_flushed_read_takes_longer_than_a_warm_one", flush),
        ],
    )
    .exit();
}

fn device() -> Result<Device, DeviceError> {
    Device::open(DeviceChoice::Cuda(0))
}

fn spins() -> Result<(), Failed> {
    let device = device()?;
    let gpu = device.cuda().ok_or("not a GPU")?;
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    for microseconds in [2.0, 10.0, 100.0] {
        let mut readings = Vec::new();
        for _ in 0..300 {
            let nanoseconds = (microseconds * 1000.0) as u64;
            readings.push(timer.spin(gpu.stream(), nanoseconds)?.0 * 1e6);
        }
        readings.sort_unstable_by(f64::total_cmp);
        let (p5, median, p95) = (readings[15], median_of(&readings), readings[285]);
        println!("spin of {microseconds} µs reads {median:.3} µs, P5 {p5:.3}, P95 {p95:.3}");
        if (median - microseconds).abs() > 1.0 {
            return Err(format!("{microseconds} µs read as {median} µs").into());
        }
        if p95 - p5 > 0.5 {
            return Err(format!("spread of {} µs at {microseconds} µs", p95 - p5).into());
        }
    }
    println!("overhead taken off: {:.3} µs", timer.overhead().0 * 1e6);
    Ok(())
}

/// Copies half of L2 onto another quarter: warm it stays in the cache, flushed it does not.
fn flush() -> Result<(), Failed> {
    let device = device()?;
    let gpu = device.cuda().ok_or("not a GPU")?;
    let quarter = usize::try_from(gpu.facts().l2_bytes / 4)?;
    let source: DeviceBuffer<u8> = gpu.alloc(quarter)?;
    let mut target: DeviceBuffer<u8> = gpu.alloc(quarter)?;
    let stream = gpu.stream().clone();
    let mut medians = Vec::new();
    for caches in [CacheState::Warm, CacheState::Cold] {
        let mut timer = DeviceTimer::new(gpu, caches)?;
        let mut times = Vec::new();
        for _ in 0..100 {
            let mut work = || stream.copy(&source, &mut target);
            times.push(timer.time::<DeviceError>(&stream, &mut work)?.0 * 1e6);
        }
        medians.push(median_of(&times));
    }
    println!(
        "copy inside L2: warm {:.2} µs, flushed {:.2} µs",
        medians[0], medians[1]
    );
    if medians[1] < 1.1 * medians[0] {
        return Err("the flush does not empty the cache".into());
    }
    Ok(())
}
