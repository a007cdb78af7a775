//! Ceilings of a Vulkan device: a copy, and chains of products and sums, as Python kernels.
//!
//! Products and sums are rounded one by one, as in every Python kernel there: a unit that rounds both at once
//! counts for half.

use std::time::{Duration, Instant};

use warpsmith_device::{DeviceError, VulkanDevice, VulkanKind};
use warpsmith_execution::{VulkanError, VulkanFunction, VulkanWork, WorkArgument, WorkLaunch};

use crate::roofline::CeilingSamples;

const COPY: &str = "
import warp as wp


@wp.kernel
def copy(source: wp.array(dtype=wp.vec4ui), target: wp.array(dtype=wp.vec4ui)):
    i = wp.tid()
    target[i] = source[i]
";

/// Chains of a thread, which do not wait for each other, and steps of each in a round.
const CHAINS: usize = 8;
const STEPS: usize = 16;
/// Runs that wake the device and touch its memory.
const WARM_UP: usize = 2;
/// Runs that are made whatever the time; more than these while little time has gone by. A driver for the CPU takes
/// seconds for a run on a busy machine.
const LEAST_RUNS: usize = 3;
const ENOUGH: Duration = Duration::from_secs(2);
/// Clocks are looked at in stretches, for some time in all.
const STRETCH: Duration = Duration::from_millis(250);
const LEAST_SPENT: Duration = Duration::from_secs(1);
const MOST_SPENT: Duration = Duration::from_secs(4);

/// What is copied, how many threads compute, and how many rounds each makes: a millisecond or more.
struct Amounts {
    bytes: usize,
    threads: usize,
    rounds: usize,
}

impl Amounts {
    fn of(device: &VulkanDevice) -> Self {
        let facts = device.facts();
        let fitting = (facts.memory / 8) as usize;
        let (bytes, threads, rounds): (usize, usize, usize) = match facts.kind {
            // A few times any cache of a CPU.
            VulkanKind::Software => (128 << 20, 1 << 14, 64),
            // A few times any L2; eight workgroups fill a multiprocessor of today.
            _ => (
                512 << 20,
                2048 * facts.multiprocessors.max(64) as usize,
                512,
            ),
        };
        Self {
            bytes: bytes.min(fitting).next_multiple_of(16),
            threads,
            rounds,
        }
    }
}

pub(crate) fn take(device: &VulkanDevice, runs: usize) -> Result<CeilingSamples, DeviceError> {
    measured(device, runs).map_err(|error| match error {
        VulkanError::Device(error) => error,
        other => DeviceError::VulkanLacks {
            device: device.facts().name.clone(),
            feature: format!("what a roofline is measured with: {other}"),
        },
    })
}

fn measured(device: &VulkanDevice, runs: usize) -> Result<CeilingSamples, VulkanError> {
    let amounts = Amounts::of(device);
    let bias = device.timer_bias()?;
    let sums = VulkanFunction::compile(device, &multiply_adds(), "multiply_adds")?;
    let buffers = vec![device.buffer(4 * amounts.threads)?];
    let launch = WorkLaunch {
        function: &sums,
        dim: vec![amounts.threads],
        arguments: vec![
            WorkArgument::Array(0, vec![amounts.threads]),
            WorkArgument::Float(0.999),
            WorkArgument::Int(amounts.rounds as i64),
        ],
    };
    let mut computing = VulkanWork::new(device, buffers, &[launch], &[0])?;
    if device.facts().kind != VulkanKind::Software {
        raise_clocks(&mut computing, bias)?;
    }
    let sums = timed(&mut computing, runs, bias)?;
    computing.check()?;
    drop(computing);
    let vectors = amounts.bytes / 16;
    let copy = VulkanFunction::compile(device, COPY, "copy")?;
    let buffers = vec![device.buffer(amounts.bytes)?, device.buffer(amounts.bytes)?];
    let array = |at| WorkArgument::Array(at, vec![vectors]);
    let launch = WorkLaunch {
        function: &copy,
        dim: vec![vectors],
        arguments: vec![array(0), array(1)],
    };
    let mut copying = VulkanWork::new(device, buffers, &[launch], &[0])?;
    let copies = timed(&mut copying, runs, bias)?;
    let each = 2 * CHAINS * STEPS * amounts.rounds;
    Ok(CeilingSamples {
        bytes: 2.0 * amounts.bytes as f64,
        copies,
        operations: amounts.threads as f64 * each as f64,
        sums,
    })
}

/// Computes until the device no longer becomes faster: an H200 keeps its idle clock, a sixth of the highest, through
/// the first quarter of a second of such work.
fn raise_clocks(work: &mut VulkanWork, bias: f64) -> Result<(), VulkanError> {
    let begun = Instant::now();
    let mut before = f64::INFINITY;
    loop {
        let stretch = Instant::now();
        let mut best = f64::INFINITY;
        while stretch.elapsed() < STRETCH {
            best = timed(work, 1, bias)?.into_iter().fold(best, f64::min);
        }
        let steady = best > 0.98 * before;
        let spent = begun.elapsed();
        if steady && spent >= LEAST_SPENT || spent >= MOST_SPENT {
            return Ok(());
        }
        before = best;
    }
}

/// The kernel that computes: its chains are written out, so that a loop costs little beside them.
fn multiply_adds() -> String {
    let chains = 0..CHAINS;
    let begin: String = (chains.clone())
        .map(|n| format!("    x{n} = float(i + {n})\n"))
        .collect();
    let round: String = (chains.clone())
        .map(|n| format!("        x{n} = x{n} * scale + 1.0\n"))
        .collect();
    let sum: Vec<String> = chains.map(|n| format!("x{n}")).collect();
    format!(
        "import warp as wp\n\n\n@wp.kernel\n\
         def multiply_adds(out: wp.array(dtype=float), scale: float, rounds: int):\n    \
         i = wp.tid()\n{begin}    for _ in range(rounds):\n{}    out[i] = {}\n",
        round.repeat(STEPS),
        sum.join(" + "),
    )
}

/// Seconds of each run, by the device's timer where it has one: fewer runs where each takes long.
fn timed(work: &mut VulkanWork, runs: usize, bias: f64) -> Result<Vec<f64>, VulkanError> {
    let mut seconds = Vec::with_capacity(runs);
    let first = Instant::now();
    for run in 0..runs + WARM_UP {
        if seconds.len() >= LEAST_RUNS && first.elapsed() > ENOUGH {
            break;
        }
        let begun = Instant::now();
        work.run()?;
        let host = begun.elapsed().as_secs_f64();
        let timed = work.seconds().map(|device| device - bias);
        if run >= WARM_UP {
            // A timer that reads nothing for work that took milliseconds is none.
            seconds.push(timed.filter(|device| *device > 0.0).unwrap_or(host));
        }
    }
    Ok(seconds)
}
