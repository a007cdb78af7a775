//! The device timer against kernels of known length, and what flushing does. Without a GPU every
//! trial is ignored, not passed; with `WARPSMITH_REQUIRE_GPU=1` a missing GPU is a failure.

#![allow(clippy::print_stdout)] // What was read is part of the trial's answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_core::{KernelImage, Tolerance, kernel};
use warpsmith_device::{
    ActivityTrace, Device, DeviceBuffer, DeviceChoice, DeviceError, Kernel, LaunchShape, Stream,
};
use warpsmith_measure::check_parity;
use warpsmith_measure::findings;
use warpsmith_measure::gpu::device_timer::{CacheState, DeviceTimer};
use warpsmith_measure::statistics::order::median_of;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Output, Parameters, Prepared, Workload, WorkloadError,
};

fn main() {
    let mut arguments = Arguments::from_args();
    // Trials that share a GPU would time each other.
    arguments.test_threads = Some(1);
    let required = std::env::var_os("WARPSMITH_REQUIRE_GPU").is_some_and(|value| value == "1");
    let ignored = device().is_err() && !required;
    let trial =
        |name, run: fn() -> Result<(), Failed>| Trial::test(name, run).with_ignored_flag(ignored);
    libtest_mimic::run(
        &arguments,
        vec![
            trial("a_spin_of_known_length_is_read_within_a_microsecond", spins),
            trial("a_hot_sample_costs_the_host_little", host_cost),
            trial("a_flushed_read_takes_longer_than_a_warm_one", flush),
            trial("work_that_waits_for_itself_is_timed_and_counted", waits),
            trial("work_beyond_the_queue_is_split_not_lost", deep_queue),
            trial("a_wrong_kernel_has_no_time_without_saying_so", wrong_kernel),
            trial(
                "recorded_activity_has_the_kernels_and_their_times",
                activity,
            )
            .with_ignored_flag(ignored || without_profiler()),
            trial("z_work_that_never_ends_is_given_up", never_ends),
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
    device.warm_up()?;
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    println!(
        "overhead taken off: {:.3} µs; samples are taken {} together",
        timer.overhead().0 * 1e6,
        timer.together()
    );
    let mut problems = Vec::new();
    for (how, together) in [("single", 1), ("ring", DeviceTimer::RING)] {
        for microseconds in [2.0, 10.0, 100.0] {
            let nanoseconds = (microseconds * 1000.0) as u64;
            let mut samples = Vec::new();
            while samples.len() < 2048 {
                samples.extend(timer.spins(gpu.stream(), nanoseconds, together)?);
            }
            let mut readings: Vec<f64> = samples.iter().map(|s| s.seconds * 1e6).collect();
            readings.sort_unstable_by(f64::total_cmp);
            let at = |share: f64| readings[(readings.len() as f64 * share) as usize];
            let mut clocks: Vec<f64> = samples
                .iter()
                .filter_map(|sample| sample.clock_mhz.map(f64::from))
                .collect();
            clocks.sort_unstable_by(f64::total_cmp);
            let read = clocks.len();
            println!(
                "{how:6} spin of {microseconds} µs reads {:.3} µs, P1 {:.3} P5 {:.3} P95 {:.3} P99 {:.3} max {:.3}; \
                 clock of {read} of {}: {:.0} MHz ({:.0} to {:.0})",
                at(0.5),
                at(0.01),
                at(0.05),
                at(0.95),
                at(0.99),
                readings[readings.len() - 1],
                samples.len(),
                clocks.get(read / 2).unwrap_or(&0.0),
                clocks.first().unwrap_or(&0.0),
                clocks.last().unwrap_or(&0.0),
            );
            if (at(0.5) - microseconds).abs() > 1.0 {
                problems.push(format!("{microseconds} µs read as {} µs", at(0.5)));
            }
            if at(0.95) - at(0.05) > 0.5 {
                let spread = at(0.95) - at(0.05);
                problems.push(format!("{how}: spread of {spread} µs at {microseconds} µs"));
            }
            if read * 10 < samples.len() * 9 {
                problems.push(format!("{how}: the clock of only {read} samples was read"));
            }
        }
    }
    println!("samples that were not held: {}", timer.unheld());
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("; ").into()),
    }
}

/// Prints what a sample costs on the host; the figure is a target, not a promise.
fn host_cost() -> Result<(), Failed> {
    let device = device()?;
    let gpu = device.cuda().ok_or("not a GPU")?;
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    for (how, together) in [("single", 1), ("ring", DeviceTimer::RING)] {
        let begun = Instant::now();
        let mut taken = 0;
        while taken < 4096 {
            taken += timer.spins(gpu.stream(), 0, together)?.len();
        }
        let each = begun.elapsed().as_secs_f64() / f64::from(taken as u32) * 1e6;
        println!("{how}: {each:.2} µs of wall time per sample of an empty kernel");
    }
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
            times.push(timer.time::<DeviceError>(&stream, &mut work)?.seconds * 1e6);
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

/// Work that waits in the middle cannot be held; it must not hang, and the count must say so.
fn waits() -> Result<(), Failed> {
    let device = device()?;
    let gpu = device.cuda().ok_or("not a GPU")?;
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    let mut scratch: DeviceBuffer<u8> = gpu.alloc(1 << 20)?;
    let stream = gpu.stream().clone();
    for _ in 0..10 {
        timer.time::<DeviceError>(&stream, &mut || {
            scratch.fill_bytes(&stream, 1)?;
            stream.synchronize()
        })?;
    }
    match timer.unheld() {
        8.. => Ok(()),
        unheld => Err(format!("{unheld} of 10 samples counted as not held").into()),
    }
}

/// Sixty-four times a hundred launches are more than the driver queues at once.
fn deep_queue() -> Result<(), Failed> {
    let device = device()?;
    let gpu = device.cuda().ok_or("not a GPU")?;
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    let mut scratch: DeviceBuffer<u8> = gpu.alloc(1 << 10)?;
    let stream = gpu.stream().clone();
    let mut samples = Vec::new();
    while samples.len() < 64 {
        timer.time_many::<DeviceError>(&stream, 64, &mut samples, &mut || {
            (0..100).try_for_each(|byte| scratch.fill_bytes(&stream, byte))
        })?;
    }
    println!("{} samples, {} not held", samples.len(), timer.unheld());
    match timer.unheld() {
        0 => Ok(()),
        unheld => Err(format!("{unheld} samples were not held").into()),
    }
}

/// CUPTI is a part of the toolkit, not of the driver.
fn without_profiler() -> bool {
    matches!(ActivityTrace::start(), Err(DeviceError::NoProfiler { .. }))
}

fn activity() -> Result<(), Failed> {
    let device = device()?;
    let gpu = device.cuda().ok_or("not a GPU")?;
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    let mut scratch: DeviceBuffer<u8> = gpu.alloc(3 << 20)?;
    let recording = ActivityTrace::start()?;
    timer.spins(gpu.stream(), 100_000, 5)?;
    scratch.fill_bytes(gpu.stream(), 7)?;
    gpu.synchronize()?;
    let recorded = recording.finish()?;
    let spins: Vec<f64> = recorded
        .iter()
        .filter(|activity| activity.name == "spin")
        .map(|activity| (activity.end_ns - activity.start_ns) as f64 / 1e3)
        .collect();
    let filled = recorded.iter().any(|activity| activity.bytes == 3 << 20);
    println!("{} activities, spins of {spins:?} µs", recorded.len());
    let right = spins
        .iter()
        .all(|microseconds| (99.0..105.0).contains(microseconds));
    match spins.len() == 5 && right && filled {
        true => Ok(()),
        false => Err(format!("recorded {recorded:?}").into()),
    }
}

// SAFETY: `src/fma_peak.cu` takes a buffer of f32 with its length and a u32; its one store is
// behind the length.
static SUMS: KernelImage = unsafe { kernel!("measure/fma_peak", fma_peak(out f32, u32)) };

/// The sums of `fma_peak.cu` after one round on the CPU, and after `rounds` on a GPU: anything but
/// one round is a wrong kernel.
struct Sums {
    rounds: u32,
}

enum Ready {
    Cpu(Vec<f32>),
    Cuda(Arc<Kernel>, DeviceBuffer<f32>, Stream, u32),
}

impl Workload for Sums {
    fn about(&self) -> About {
        About::new("test/sums", "multiply-adds", &[])
    }

    fn cost(&self, _: &Parameters) -> Cost {
        Cost::default()
    }
    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance {
            tolerance: Tolerance::EXACT,
            because: "the same fused operations in the same order",
        }
    }
    fn prepare(
        &self,
        device: &Device,
        _: &Parameters,
        _: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        Ok(Box::new(match device.cuda() {
            None => Ready::Cpu(vec![0.0; 1000]),
            Some(gpu) => Ready::Cuda(
                gpu.kernel(&SUMS)?,
                gpu.alloc(1000)?,
                gpu.stream().clone(),
                self.rounds,
            ),
        }))
    }
}

impl Prepared for Ready {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        match self {
            Self::Cpu(out) => {
                for (index, sum) in out.iter_mut().enumerate() {
                    let b = 1e-6f32 * (index & 1023) as f32;
                    let mut x: [f32; 8] = std::array::from_fn(|nth| b + nth as f32);
                    for _ in 0..16 {
                        x = x.map(|x| x.mul_add(0.999, b));
                    }
                    *sum = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
                }
            }
            Self::Cuda(kernel, out, stream, rounds) => {
                let shape = LaunchShape::linear(1000, 256);
                stream.launch(kernel, shape, &[out.write(), (*rounds).into()])?;
            }
        }
        Ok(())
    }
    fn stream(&self) -> Option<&Stream> {
        match self {
            Self::Cpu(_) => None,
            Self::Cuda(_, _, stream, _) => Some(stream),
        }
    }
    fn poison(&mut self) -> Result<(), WorkloadError> {
        match self {
            Self::Cpu(out) => out.fill(f32::NAN),
            Self::Cuda(_, out, stream, _) => out.fill_bytes(stream, 0xFF)?,
        }
        Ok(())
    }
    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(match self {
            Self::Cpu(out) => out.clone(),
            Self::Cuda(_, out, stream, _) => out.download(stream)?,
        }))
    }
}

fn wrong_kernel() -> Result<(), Failed> {
    let gpu = device()?;
    let cpu = Device::open(DeviceChoice::Cpu)?;
    let finding = |rounds: u32| -> Result<_, Failed> {
        let parity = check_parity(&Sums { rounds }, &gpu, &cpu, &Parameters::default(), &[1])?;
        Ok(findings::of_parity("test/sums", "test/sums", &parity))
    };
    if let Some(found) = finding(1)? {
        return Err(format!("the right kernel: {found:?}").into());
    }
    match finding(2)? {
        Some(found) if found.code == "M050" => Ok(()),
        other => Err(format!("the wrong kernel: {other:?}").into()),
    }
}

/// Runs last: the context is gone afterwards.
fn never_ends() -> Result<(), Failed> {
    let device = device()?;
    let gpu = device.cuda().ok_or("not a GPU")?;
    let mut timer = DeviceTimer::new(gpu, CacheState::Warm)?;
    timer.set_limit(Duration::from_millis(200));
    // Three seconds are for ever, to somebody who waits a fifth of one.
    let ended = timer.spins(gpu.stream(), 3_000_000_000, 1);
    let given_up = matches!(ended, Err(DeviceError::NeverEnded { .. }));
    let later = gpu.alloc::<u8>(16);
    match (given_up, later) {
        (true, Err(DeviceError::GivenUp { .. })) => Ok(()),
        (given_up, later) => Err(format!("given up {given_up}, then {later:?}").into()),
    }
}
