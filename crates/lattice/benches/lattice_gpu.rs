//! The lattice on a GPU: `cargo bench -p warpsmith-lattice --bench lattice_gpu [-- parity|figures]`.
//!
//! First parity: every form against the CPU on fresh random inputs, with the outputs poisoned
//! before. Then figures, by the device's own clock, beside the copy rate of the same run.

#![allow(clippy::print_stdout)] // A bench prints its figures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use warpsmith_device::{CpuDevice, CudaDevice, Device, DeviceChoice, DeviceError, Event, Stream};
use warpsmith_lattice::bfs::{CudaSearch, Maze, TileSearch};
use warpsmith_lattice::catalytic::{CpuBorrow, CudaBorrow, Obstacles, Walks};
use warpsmith_lattice::rd::{
    CpuForm, CpuRun, CudaForm, CudaRun, Field, Rule, VulkanForm, VulkanRun,
};
use warpsmith_lattice::xor::{CudaXor, Key};
use warpsmith_lattice::{Cell, InstructionSet, Shape};
use warpsmith_workload::Prepared;
use warpsmith_workload::random::Random;

static TINY: AtomicBool = AtomicBool::new(false);

/// `usual` trials, or a few.
fn trials(usual: usize) -> usize {
    if TINY.load(Ordering::Relaxed) {
        usual.min(6)
    } else {
        usual
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;
type Part = fn(&CudaDevice) -> Outcome;

fn main() {
    let gpu = match CudaDevice::open(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    println!(
        "{}, driver {:?}",
        gpu.facts().name,
        gpu.facts().driver_version
    );
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    // Few and small, for a checker that makes everything slow.
    TINY.store(asked.iter().any(|word| word == "tiny"), Ordering::Relaxed);
    let asked: Vec<String> = asked.into_iter().filter(|word| word != "tiny").collect();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|word| word == part);
    let parts: [(&str, Part); 10] = [
        ("parity-rd", parity_rd),
        ("parity-catalytic", parity_catalytic),
        ("parity-xor", parity_xor),
        ("parity-bfs", parity_bfs),
        ("rd", figures_rd),
        ("small", figures_small),
        ("catalytic", figures_catalytic),
        ("vulkan", figures_vulkan),
        ("xor", figures_xor),
        ("bfs", figures_bfs),
    ];
    for (name, part) in parts {
        if wanted(name) {
            let begun = Instant::now();
            println!("\n== {name}");
            if let Err(error) = part(&gpu) {
                println!("FAILED {name}: {error}");
            }
            println!("   ({:.1} s)", begun.elapsed().as_secs_f64());
        }
    }
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(1, |since| since.as_nanos() as u64)
}

/// Median device seconds of what `queue` queues, over `samples` samples after two more.
fn device_time(
    gpu: &CudaDevice,
    stream: &Stream,
    samples: usize,
    mut queue: impl FnMut() -> Result<(), DeviceError>,
) -> Result<f64, DeviceError> {
    let (start, stop) = (Event::new(gpu)?, Event::new(gpu)?);
    let mut times = Vec::new();
    for sample in 0..samples + 2 {
        stream.record(&start)?;
        queue()?;
        stream.record(&stop)?;
        stop.synchronize()?;
        if sample >= 2 {
            times.push(stop.since(&start)?.0);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Median wall seconds from the call to the end of the wait.
fn wall_time(
    stream: &Stream,
    samples: usize,
    mut queue: impl FnMut() -> Result<(), DeviceError>,
) -> Result<f64, DeviceError> {
    let mut times = Vec::new();
    for sample in 0..samples + 3 {
        let begun = Instant::now();
        queue()?;
        stream.synchronize()?;
        if sample >= 3 {
            times.push(begun.elapsed().as_secs_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn parity_rd(gpu: &CudaDevice) -> Outcome {
    let cpu = CpuDevice::open()?;
    let mut random = Random::seeded(fresh_seed());
    let shapes: [&[usize]; 14] = [
        &[1],
        &[129],
        &[7, 5],
        &[33, 64],
        &[1, 1, 4],
        &[3, 3, 3],
        &[5, 6, 8],
        &[16, 16, 16],
        &[31, 33, 36],
        &[40, 70, 124],
        &[65, 57, 132],
        &[9, 31, 260],
        &[100, 100, 100],
        &[130, 61, 68],
    ];
    let (mut compared, mut wrong) = (0, 0);
    for extents in shapes.into_iter().take(trials(14) + 2) {
        let shape = Shape::new(extents)?;
        let mut field = Field::noise(shape, random.bits())?;
        field
            .e
            .iter_mut()
            .for_each(|value| *value = random.unit() as f32);
        if random.below(2) == 1 {
            // Numbers so small that products underflow: rounding to zero must agree as well.
            field
                .u
                .iter_mut()
                .step_by(2)
                .for_each(|value| *value *= 1e-42);
        }
        for steps in [1, 2, 3, 7, 10] {
            let set = InstructionSet::widest();
            let mut run = CpuRun::new(
                &cpu,
                Rule::usual(shape),
                CpuForm::Threads { set },
                field.clone(),
            )?;
            run.advance(steps);
            let expected = run.into_field().digest();
            let mut forms = vec![
                CudaForm::Steps { planes: 0 },
                CudaForm::Steps { planes: 3 },
                CudaForm::Resident,
            ];
            for depth in [2, 3] {
                forms.push(CudaForm::Blocked { depth, planes: 0 });
                forms.push(CudaForm::Blocked { depth, planes: 5 });
            }
            for form in forms {
                let mut run = CudaRun::new(gpu, Rule::usual(shape), form, &field)?;
                for graph in [false, true] {
                    run.poison()?;
                    run.restart();
                    if graph && form != CudaForm::Resident {
                        let graph = run.record(steps)?;
                        graph.launch(run.stream())?;
                        gpu.synchronize()?;
                    } else {
                        run.advance(steps)?;
                    }
                    compared += 1;
                    if run.field()?.digest() != expected {
                        wrong += 1;
                        println!("WRONG {shape} x{steps} {form:?} graph {graph}");
                    }
                }
            }
        }
    }
    println!("rd: {compared} runs compared bit for bit with the CPU, {wrong} wrong");
    Ok(())
}

fn parity_catalytic(gpu: &CudaDevice) -> Outcome {
    let cpu = CpuDevice::open()?;
    let mut random = Random::seeded(fresh_seed());
    let (mut compared, mut wrong) = (0, 0);
    for trial in 0..trials(300) {
        let mut extent = |most: usize| 1 + random.below(most);
        let shape = Shape::new(&[
            extent(12),
            extent(20),
            extent(if trial % 2 == 0 { 160 } else { 40 }),
        ])?;
        let shape = if trial % 2 == 0 {
            let [z, y, x] = shape.extents();
            Shape::new(&[z, y, x.next_multiple_of(4)])?
        } else {
            shape
        };
        let cells = shape.cells();
        let (source, tap) = (
            shape.cell(random.below(cells)),
            shape.cell(random.below(cells)),
        );
        let obstacles = match trial % 3 {
            0 => None,
            _ => Some(Obstacles::random(
                shape,
                25.0,
                random.bits(),
                &[source, tap],
            )?),
        };
        let walks = Walks {
            shape,
            steps: random.below(9) as u32,
            source,
            tap,
            obstacles,
        };
        let mut words = || -> Vec<u32> { (0..cells).map(|_| random.bits() as u32).collect() };
        let (mut a, mut b) = (words(), words());
        let mut on_gpu = CudaBorrow::new(gpu, walks.clone(), &a, &b)?;
        on_gpu.poison()?;
        on_gpu.queue()?;
        let (count, memory) = (on_gpu.count()?, on_gpu.memory()?);
        let expected = CpuBorrow::new(&cpu, InstructionSet::widest(), false, shape)
            .count(&walks, &mut a, &mut b)?;
        compared += 1;
        if count != expected || memory != (a, b) {
            wrong += 1;
            println!("WRONG {shape} {walks:?}: {count} for {expected}");
        }
    }
    println!(
        "catalytic: {compared} programmes compared, count and every borrowed bit, {wrong} wrong"
    );
    Ok(())
}

fn parity_xor(gpu: &CudaDevice) -> Outcome {
    let mut random = Random::seeded(fresh_seed());
    let (mut compared, mut wrong) = (0, 0);
    for _ in 0..trials(200) {
        let key: Vec<u8> = (0..1 + random.below(300))
            .map(|_| random.bits() as u8)
            .collect();
        let data: Vec<u8> = (0..1 + random.below(200_000))
            .map(|_| random.bits() as u8)
            .collect();
        let key = Key::new(&key)?;
        let mut on_gpu = CudaXor::new(gpu, &key, &data)?;
        on_gpu.queue()?;
        let mut expected = data.clone();
        key.apply(InstructionSet::widest(), &mut expected);
        compared += 1;
        wrong += u32::from(on_gpu.data()? != expected);
    }
    println!("xor: {compared} compared, {wrong} wrong");
    Ok(())
}

fn parity_bfs(gpu: &CudaDevice) -> Outcome {
    let mut random = Random::seeded(fresh_seed());
    let (mut compared, mut wrong) = (0, 0);
    for trial in 0..trials(120) {
        let mut extent = || 1 + random.below(if trial % 10 == 0 { 90 } else { 30 });
        let shape = Shape::new(&[extent(), extent(), extent()])?;
        let maze = Maze::random(shape, 55.0 * random.unit(), random.bits())?;
        let target = (trial % 2 == 1).then(|| shape.cell(random.below(shape.cells())));
        let target = target.filter(|&cell| maze.is_free(cell));
        let mut on_cpu = TileSearch::new(maze.clone())?;
        let expected = on_cpu.run(Cell([0, 0, 0]), target)?;
        for blocks in [1, 4] {
            let mut on_gpu = CudaSearch::new(gpu, maze.clone(), blocks)?;
            on_gpu.poison()?;
            on_gpu.queue(Cell([0, 0, 0]), target)?;
            compared += 1;
            if on_gpu.reach()? != expected || on_gpu.labels()? != on_cpu.labels() {
                wrong += 1;
                println!(
                    "WRONG {shape} {target:?}: {:?} for {expected:?}",
                    on_gpu.reach()?
                );
            }
        }
    }
    println!("bfs: {compared} searches compared, reach and every label, {wrong} wrong");
    Ok(())
}

fn copy_rate(gpu: &CudaDevice) -> Result<f64, DeviceError> {
    let from = gpu.alloc::<u8>(2 << 30)?;
    let mut to = gpu.alloc::<u8>(2 << 30)?;
    let stream = gpu.stream().clone();
    let seconds = device_time(gpu, &stream, 10, || stream.copy(&from, &mut to))?;
    Ok(2.0 * (2u64 << 30) as f64 / seconds)
}

fn figures_rd(gpu: &CudaDevice) -> Outcome {
    gpu.warm_up()?;
    let copy = copy_rate(gpu)?;
    println!("copy of 2 GiB: {:.3} TB/s", copy / 1e12);
    for n in [256, 512, 1024] {
        let shape = Shape::cube(n)?;
        let field = Field::noise(shape, 5)?;
        let steps = if n == 1024 { 6 } else { 12 };
        let mut forms = Vec::new();
        for planes in [0, 1, 2, 4, 8] {
            forms.push(CudaForm::Steps { planes });
        }
        for depth in [2, 3] {
            for planes in [0, 64, 128] {
                forms.push(CudaForm::Blocked { depth, planes });
            }
        }
        let mut single = f64::INFINITY;
        let mut run = CudaRun::new(gpu, Rule::usual(shape), forms[0], &field)?;
        let stream = run.stream().clone();
        for form in forms {
            run.set_form(form);
            let seconds = device_time(gpu, &stream, if n == 1024 { 5 } else { 9 }, || {
                run.restart();
                run.advance(steps)
            })?;
            let rate = 16.0 * (shape.cells() * steps) as f64 / seconds;
            if let CudaForm::Steps { .. } = form {
                single = single.min(seconds);
            }
            println!(
                "{n}^3 x{steps} {form:?}: {:.1} us a step, {:.3} TB/s at 16 B a cell-step, {:.1} % of copy, {:.2} x the best single step",
                seconds / steps as f64 * 1e6,
                rate / 1e12,
                100.0 * rate / copy,
                single / seconds
            );
        }
    }
    Ok(())
}

fn figures_small(gpu: &CudaDevice) -> Outcome {
    for (n, steps) in [(100, 10), (64, 50), (128, 30), (32, 100)] {
        let shape = Shape::cube(n)?;
        let field = Field::noise(shape, 5)?;
        let mut forms = vec![CudaForm::Resident];
        for planes in [0, 1, 2, 4] {
            forms.push(CudaForm::Steps { planes });
        }
        for planes in [0, 2] {
            forms.push(CudaForm::Blocked { depth: 2, planes });
        }
        for form in forms {
            let mut run = CudaRun::new(gpu, Rule::usual(shape), form, &field)?;
            let stream = run.stream().clone();
            let (device, wall) = if form == CudaForm::Resident {
                let device = device_time(gpu, &stream, 31, || {
                    run.restart();
                    run.advance(steps)
                })?;
                let wall = wall_time(&stream, 31, || {
                    run.restart();
                    run.advance(steps)
                })?;
                (device, wall)
            } else {
                let graph = run.record(steps)?;
                let device = device_time(gpu, &stream, 31, || graph.launch(&stream))?;
                (device, wall_time(&stream, 31, || graph.launch(&stream))?)
            };
            println!(
                "{n}^3 x{steps} {form:?}: {:.1} us on the device, {:.1} us to the end of the wait",
                device * 1e6,
                wall * 1e6
            );
        }
    }
    Ok(())
}

/// Reaction-diffusion through Vulkan in each of its forms, beside CUDA.
fn figures_vulkan(gpu: &CudaDevice) -> Outcome {
    const STEPS: usize = 10;
    let shape = Shape::cube(512)?;
    let (rule, field) = (Rule::usual(shape), Field::noise(shape, fresh_seed())?);
    let form = CudaForm::Blocked {
        depth: 3,
        planes: 0,
    };
    let mut run = CudaRun::new(gpu, rule, form, &field)?;
    let stream = run.stream().clone();
    let graph = run.record(STEPS)?;
    let cuda = device_time(gpu, &stream, 20, || graph.launch(&stream))?;
    println!("CUDA, {form:?}: {:.3} ms", cuda * 1e3);
    drop((graph, run));
    let device = Device::open(DeviceChoice::Vulkan(0))?;
    let device = device.vulkan().ok_or("no Vulkan device")?;
    for (steps, subgroups, noted) in [
        (3, true, true),
        (3, false, true),
        (3, true, false),
        (3, false, false),
        (2, true, true),
    ] {
        let form = VulkanForm::Marches {
            steps,
            lines: 16,
            subgroups,
            noted,
        };
        let mut run = match VulkanRun::with_form(device, rule, &field, STEPS, form) {
            Ok(run) => run,
            Err(error) => {
                println!("{form:?}: {error}");
                continue;
            }
        };
        let mut times = Vec::new();
        for sample in 0..22 {
            run.run_once()?;
            if sample >= 2 {
                times.extend(run.device_seconds());
            }
        }
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
        let share = cuda / median;
        println!(
            "{form:?}: {:.3} ms, {share:.2} of CUDA's rate",
            median * 1e3
        );
    }
    Ok(())
}

fn figures_catalytic(gpu: &CudaDevice) -> Outcome {
    let copy = copy_rate(gpu)?;
    for n in [256, 512, 1024] {
        let shape = Shape::cube(n)?;
        let mut random = Random::seeded(3);
        let words: Vec<u32> = (0..shape.cells()).map(|_| random.bits() as u32).collect();
        let walks = Walks {
            shape,
            steps: 4,
            source: Cell([1, 1, 1]),
            tap: Cell([1, 1, 1]),
            obstacles: None,
        };
        let mut borrow = CudaBorrow::new(gpu, walks, &words, &words)?;
        let stream = borrow.stream().clone();
        let seconds = device_time(gpu, &stream, 9, || {
            for step in 0..10 {
                borrow.queue_pass(step)?;
            }
            for step in (0..10).rev() {
                borrow.queue_undo(step)?;
            }
            Ok(())
        })? / 20.0;
        let rate = 12.0 * shape.cells() as f64 / seconds;
        let restored = borrow.memory()? == (words.clone(), words);
        println!(
            "{n}^3: {:.1} us a pass, {:.3} TB/s at 12 B a cell-pass, {:.1} % of copy, restored {restored}",
            seconds * 1e6,
            rate / 1e12,
            100.0 * rate / copy
        );
    }
    Ok(())
}

fn figures_xor(gpu: &CudaDevice) -> Outcome {
    let copy = copy_rate(gpu)?;
    let data = vec![0x5au8; 1 << 30];
    for bytes in [16, 255, 4096] {
        let key: Vec<u8> = (0..bytes).map(|index| index as u8).collect();
        let mut xor = CudaXor::new(gpu, &Key::new(&key)?, &data)?;
        let stream = xor.stream().clone();
        let seconds = device_time(gpu, &stream, 11, || xor.queue())?;
        let rate = 2.0 * data.len() as f64 / seconds;
        println!(
            "1 GiB, key of {bytes} bytes: {:.3} TB/s, {:.1} % of copy",
            rate / 1e12,
            100.0 * rate / copy
        );
    }
    Ok(())
}

fn figures_bfs(gpu: &CudaDevice) -> Outcome {
    for n in [128, 256, 512] {
        let shape = Shape::cube(n)?;
        let maze = Maze::random(shape, 30.0, 7)?;
        for blocks in [1, 2] {
            let mut search = CudaSearch::new(gpu, maze.clone(), blocks)?;
            let stream = search.stream().clone();
            let seconds = device_time(gpu, &stream, 9, || {
                search
                    .queue(Cell([0, 0, 0]), None)
                    .map_err(|error| match error {
                        warpsmith_lattice::LatticeError::Device(error) => error,
                        other => DeviceError::BadSize {
                            attempted: "search",
                            problem: other.to_string(),
                        },
                    })
            })?;
            let reach = search.reach()?;
            println!(
                "{n}^3, 30 % blocked, {blocks} blocks to a multiprocessor: {:.3} ms, {:.2} us a level, {reach:?}, {:.2} bits per cell",
                seconds * 1e3,
                seconds * 1e6 / f64::from(reach.eccentricity.max(1)),
                8.0 * search.state_bytes() as f64 / shape.cells() as f64
            );
        }
        if n == 512 {
            let mut on_cpu = TileSearch::new(maze)?;
            let begun = Instant::now();
            let reach = on_cpu.run(Cell([0, 0, 0]), None)?;
            println!(
                "CPU, one thread: {:.1} ms, {reach:?}",
                begun.elapsed().as_secs_f64() * 1e3
            );
        }
    }
    Ok(())
}
