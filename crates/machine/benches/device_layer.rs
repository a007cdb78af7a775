//! What the device layer costs on top of the driver, each figure as a ratio within one run.
//!
//! `cargo bench -p warpsmith-machine --bench device_layer` on a machine with a GPU; the program that
//! it builds also runs on its own. Without a GPU it says so and measures nothing.

#![allow(clippy::print_stdout)] // Printing figures is what it is for.

use std::hint::black_box;
use std::time::Instant;

use warpsmith_core::{KernelImage, Seconds, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Event, Kernel, LaunchShape};

const ROUNDS: usize = 2000;
const SERIES: u64 = 20;
const SHAPE: LaunchShape = LaunchShape {
    grid: [1, 1, 1],
    block: [32, 1, 1],
    shared_bytes: 0,
};

// SAFETY: `src/mark.cu` takes the marks, an index and a value; its store is behind a bounds check.
static MARK: KernelImage = unsafe { kernel!("machine/mark", mark(out u64, u64, u64)) };

fn main() -> Result<(), DeviceError> {
    let gpu = match CudaDevice::open(0) {
        Ok(gpu) => gpu,
        Err(error) if error.is_missing_hardware() => {
            println!("skipped: {error}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    gpu.warm_up()?;
    println!(
        "{}, driver {:?}",
        gpu.facts().name,
        gpu.facts().driver_version
    );
    launch_overhead(&gpu)?;
    graph_against_series(&gpu)?;
    warm_pool(&gpu)?;
    copy_rate(&gpu)
}

/// Launch + synchronise through this layer against the bare driver calls, alternating.
fn launch_overhead(gpu: &CudaDevice) -> Result<(), DeviceError> {
    let kernel = gpu.kernel(&MARK)?;
    let mut marks = gpu.alloc::<u64>(1)?;
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS as u64 {
        let start = Instant::now();
        launch(gpu, &kernel, &mut marks, 0, round)?;
        gpu.stream().synchronize()?;
        ours.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        raw_launch_and_wait(gpu, &kernel, marks.pointer(), round);
        raw.push(start.elapsed().as_secs_f64());
    }
    let (ours, raw) = (Spread::of(ours), Spread::of(raw));
    println!("launch + synchronise, this layer       {ours}");
    println!("launch + synchronise, driver calls     {raw}");
    println!(
        "  ratio of medians {:.3} (target ≤ 1.15)",
        ours.median / raw.median
    );
    Ok(())
}

fn launch(
    gpu: &CudaDevice,
    kernel: &Kernel,
    marks: &mut DeviceBuffer<u64>,
    index: u64,
    value: u64,
) -> Result<(), DeviceError> {
    gpu.stream()
        .launch(kernel, SHAPE, &[marks.write(), index.into(), value.into()])
}

fn raw_launch_and_wait(gpu: &CudaDevice, kernel: &Kernel, mut pointer: u64, mut value: u64) {
    let (mut length, mut index) = (1u64, 0u64);
    let mut parameters = [
        (&raw mut pointer).cast(),
        (&raw mut length).cast(),
        (&raw mut index).cast(),
        (&raw mut value).cast(),
    ];
    let driver = gpu.driver();
    // SAFETY: function and stream are alive, and the parameters are those of `mark.cu` with the
    // length of the buffer that `pointer` belongs to.
    unsafe {
        (driver.launch_kernel)(
            kernel.handle(),
            1,
            1,
            1,
            32,
            1,
            1,
            0,
            gpu.stream().handle(),
            parameters.as_mut_ptr(),
            std::ptr::null_mut(),
        );
        (driver.stream_synchronize)(gpu.stream().handle());
    }
}

/// Twenty launches recorded as a graph against twenty launches, alternating.
fn graph_against_series(gpu: &CudaDevice) -> Result<(), DeviceError> {
    let kernel = gpu.kernel(&MARK)?;
    let mut marks = gpu.alloc::<u64>(SERIES as usize)?;
    let mut queue = || -> Result<(), DeviceError> {
        (0..SERIES).try_for_each(|index| launch(gpu, &kernel, &mut marks, index, index))
    };
    let graph = gpu.stream().capture(|_| queue())?;
    let (mut series, mut graphs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        queue()?;
        gpu.stream().synchronize()?;
        series.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        graph.launch(gpu.stream())?;
        gpu.stream().synchronize()?;
        graphs.push(start.elapsed().as_secs_f64());
    }
    let (series, graphs) = (Spread::of(series), Spread::of(graphs));
    println!("20 launches + synchronise              {series}");
    println!("graph of 20 + synchronise              {graphs}");
    println!(
        "  ratio of medians {:.3} (target ≤ 0.35)",
        graphs.median / series.median
    );
    Ok(())
}

/// Taking a buffer from a warm pool and giving it back.
fn warm_pool(gpu: &CudaDevice) -> Result<(), DeviceError> {
    let pool = gpu.pool(gpu.stream());
    pool.reserve::<f32>(1 << 20, 1)?;
    let calls = pool.stats().driver_allocations;
    let mut each = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..100 {
            black_box(pool.take::<f32>(1 << 20)?);
        }
        each.push(start.elapsed().as_secs_f64() / 100.0);
    }
    println!(
        "warm pool, take and give back          {}",
        Spread::of(each)
    );
    println!(
        "  driver calls {} (target 0)",
        pool.stats().driver_allocations - calls
    );
    Ok(())
}

/// Device-to-device copy of 1 GiB, by events, bytes read and written counted.
fn copy_rate(gpu: &CudaDevice) -> Result<(), DeviceError> {
    let bytes = 1usize << 30;
    let source = gpu.alloc::<u8>(bytes)?;
    let mut target = gpu.alloc::<u8>(bytes)?;
    let (start, stop) = (Event::new(gpu)?, Event::new(gpu)?);
    let mut times = Vec::new();
    for _ in 0..100 {
        gpu.stream().record(&start)?;
        gpu.stream().copy(&source, &mut target)?;
        gpu.stream().record(&stop)?;
        stop.synchronize()?;
        times.push(stop.since(&start)?.0);
    }
    let times = Spread::of(times);
    println!("copy of 1 GiB on the device            {times}");
    println!(
        "  {:.3} TB/s read and written",
        2.0 * bytes as f64 / times.median / 1e12
    );
    Ok(())
}

struct Spread {
    median: f64,
    low: f64,
    high: f64,
    count: usize,
}

impl Spread {
    fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |q: f64| samples[(q * (samples.len() - 1) as f64).round() as usize];
        Self {
            median: at(0.5),
            low: at(0.05),
            high: at(0.95),
            count: samples.len(),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (median, low, high) = (Seconds(self.median), Seconds(self.low), Seconds(self.high));
        write!(f, "median {median}, p5 {low}, p95 {high}, n {}", self.count)
    }
}
