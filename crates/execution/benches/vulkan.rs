//! Python kernels on the first Vulkan device: what a launch takes, the rates of a copy and of saxpy, and what a
//! call takes on the host's arrays, where they lie and by copies.
//! `cargo bench -p warpsmith-execution --bench vulkan [-- ELEMENTS]`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use warpsmith_compiler::ir::Number;
use warpsmith_compiler::{Options, compile};
use warpsmith_device::VulkanDevice;
use warpsmith_execution::VulkanProgram;
use warpsmith_interpreter::{Argument, ArrayArgument, Borrowed, Interpreter, Plan};
use warpsmith_spirv::{Spirv, SpirvTarget};

const LIMIT: Duration = Duration::from_secs(60);

const COPY: &str = "
import warp as wp

@wp.kernel
def copy(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]
";

const SAXPY: &str = "
import warp as wp

@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
";

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let elements: usize = std::env::args()
        .skip(1)
        .find_map(|word| word.parse().ok())
        .unwrap_or(1 << 22);
    emission()?;
    let device = match VulkanDevice::open(0) {
        Ok(device) => device,
        Err(error) => {
            println!("no Vulkan device: {error}");
            return Ok(());
        }
    };
    let facts = device.facts();
    println!("{} (Vulkan {}, {})", facts.name, facts.api, facts.driver);
    let array = |n: usize| Argument::Array(ArrayArgument::from_f32(&vec![1.5; n]));
    for (source, arrays_touched, scalars) in [(COPY, 2.0, 0), (SAXPY, 3.0, 1)] {
        let module = compile(source, &Options::default()).map_err(|found| found[0].to_string())?;
        let interpreter = Interpreter::forward(&module).map_err(|found| found[0].to_string())?;
        let program = VulkanProgram::build(&device, &module, interpreter)?;
        let name = module.names.get(module.kernel.native).to_owned();
        for (n, times) in [(1, 2000), (elements, 30)] {
            let mut arguments = vec![array(n), array(n)];
            arguments.extend((0..scalars).map(|_| Argument::float(0.5)));
            // The device's timer costs time itself, so that launch and wait are timed without it.
            let runs = program.time(&[n], &arguments, times, false, LIMIT)?;
            let host = median(runs.iter().map(|run| run.host).collect());
            let runs = program.time(&[n], &arguments, times, true, LIMIT)?;
            let timer = median(runs.iter().filter_map(|run| run.device).collect());
            let rate = 4.0 * arrays_touched * n as f64 / timer / 1e9;
            println!(
                "{name:>12} {n:>10} threads: launch + wait {:>8.1} µs, device {:>10.2} µs, {rate:>8.1} GB/s, median of {times}",
                host * 1e6,
                timer * 1e6,
            );
        }
    }
    calls(&device, elements)
}

/// Calls of saxpy on arrays of the host, from call to return, in turns: where they lie, if the device can, and
/// by copies.
fn calls(device: &VulkanDevice, elements: usize) -> Result<(), Box<dyn std::error::Error>> {
    let staged = VulkanDevice::open_staged(0)?;
    let module = compile(SAXPY, &Options::default()).map_err(|found| found[0].to_string())?;
    let plan = Arc::new(Plan::new(&module, false).map_err(|found| found[0].to_string())?);
    let devices = match device.shares_host_memory() {
        true => vec![("where they lie", device), ("by copies", &staged)],
        false => vec![("by copies", device)],
    };
    let programs = (devices.iter())
        .map(|(_, device)| {
            VulkanProgram::build(device, &module, Interpreter::of(&module, Arc::clone(&plan)))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let (mut x, mut y) = (vec![1.5_f32; elements], vec![0.5_f32; elements]);
    let borrowed = |values: &mut Vec<f32>| {
        Argument::Array(ArrayArgument {
            shape: vec![values.len()],
            data: Borrowed {
                address: values.as_mut_ptr().cast(),
                bytes: 4 * values.len(),
            },
            gradient: None,
        })
    };
    let there = [
        borrowed(&mut x),
        borrowed(&mut y),
        Argument::Value(vec![Number::Float(0.5)]),
    ];
    let mut seconds = vec![Vec::new(); programs.len()];
    for _ in 0..30 {
        for (program, seconds) in programs.iter().zip(&mut seconds) {
            let begun = Instant::now();
            // SAFETY: the arrays live until the end of the function, which uses them nowhere else.
            unsafe { program.run_in_place(&[elements], &there, LIMIT) }?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
    }
    for ((how, _), seconds) in devices.iter().zip(seconds) {
        let call = median(seconds) * 1e3;
        println!(
            "saxpy of {elements} host floats, call to return: {call:.2} ms {how}, median of 30"
        );
    }
    Ok(())
}

/// How many kernels become SPIR-V in a second of one core, of those that the compiler is tested with: planned
/// and written, and written from plans that were made before.
fn emission() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler/tests/kernels");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    let mut modules = Vec::new();
    for entry in entries {
        let source = std::fs::read_to_string(entry?.path())?;
        modules.extend(compile(&source, &Options::default()));
    }
    let written = |interpreter: &Interpreter<'_>| {
        let spirv = Spirv::of(interpreter, SpirvTarget::default());
        spirv.ok().map(|spirv| spirv.words.len())
    };
    let plans: Vec<Interpreter<'_>> = modules
        .iter()
        .filter_map(|module| Interpreter::forward(module).ok())
        .collect();
    rate("planned and written as SPIR-V", || {
        let interpreters = modules.iter().filter_map(|m| Interpreter::forward(m).ok());
        interpreters.filter_map(|i| written(&i)).collect()
    });
    rate("written as SPIR-V", || {
        plans.iter().filter_map(written).collect()
    });
    Ok(())
}

/// Prints how often `kernels` gives a length in a second of this thread's time, and the mean of them.
fn rate(what: &str, kernels: impl Fn() -> Vec<usize>) {
    // Once without the clock, for pages and caches.
    let lengths = kernels();
    let begun = thread_seconds();
    let mut count = 0;
    while thread_seconds() - begun < 2.0 {
        count += kernels().len();
    }
    println!(
        "{:.0} kernels {what} in a CPU-second, {} words each",
        count as f64 / (thread_seconds() - begun),
        lengths.iter().sum::<usize>() / lengths.len().max(1)
    );
}

/// Seconds that this thread was on a core, so that a busy machine does not count; where the system does not
/// say, since the first call.
fn thread_seconds() -> f64 {
    static BEGUN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let file = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = file
        .split(' ')
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanoseconds.map_or_else(|| BEGUN.elapsed().as_secs_f64(), |n| n * 1e-9)
}
