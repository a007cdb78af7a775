//! The device layer on a real GPU. Without one every test is counted as ignored; with
//! `WARPSMITH_REQUIRE_GPU=1` a missing GPU is a failure. A program of its own: it runs one test at a time,
//! and `cargo xtask gpu` carries it to machines without a toolchain.

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_core::{Element, KernelImage, Parameter, ptx};
use warpsmith_device::{
    CudaDevice, DeviceBuffer, DeviceError, EmbeddedCubin, Event, LaunchShape, PinnedBuffer,
    cuda_devices, embed_cubins,
};

type Outcome = Result<(), Failed>;
type Test = fn(&CudaDevice) -> Outcome;

const TESTS: &[(&str, Test)] = &[
    ("facts_are_plausible", facts_are_plausible),
    (
        "an_index_out_of_range_is_refused",
        an_index_out_of_range_is_refused,
    ),
    ("contexts_are_opened_once", contexts_are_opened_once),
    ("what_goes_up_comes_down", what_goes_up_comes_down),
    ("pinned_copies_are_waited_for", pinned_copies_are_waited_for),
    (
        "a_kernel_writes_what_it_is_told",
        a_kernel_writes_what_it_is_told,
    ),
    (
        "packed_parameters_reach_the_kernel",
        packed_parameters_reach_the_kernel,
    ),
    (
        "arguments_that_do_not_fit_are_refused",
        arguments_that_do_not_fit_are_refused,
    ),
    (
        "a_graph_replays_and_keeps_its_buffers",
        a_graph_replays_and_keeps_its_buffers,
    ),
    (
        "a_graph_is_patched_or_rebuilt",
        a_graph_is_patched_or_rebuilt,
    ),
    (
        "a_failed_recording_leaves_the_stream_usable",
        a_failed_recording_leaves_the_stream_usable,
    ),
    (
        "a_pinned_buffer_in_a_graph_is_waited_for",
        a_pinned_buffer_in_a_graph_is_waited_for,
    ),
    (
        "a_warm_pool_makes_no_driver_call",
        a_warm_pool_makes_no_driver_call,
    ),
    (
        "a_pool_remembers_its_high_water_mark",
        a_pool_remembers_its_high_water_mark,
    ),
    (
        "the_ledger_names_what_is_held",
        the_ledger_names_what_is_held,
    ),
    ("events_measure_and_order", events_measure_and_order),
    (
        "too_much_memory_is_refused_with_sizes",
        too_much_memory_is_refused_with_sizes,
    ),
    ("corrupt_images_are_refused", corrupt_images_are_refused),
    (
        "ptx_of_a_newer_driver_is_refused_with_a_hint",
        ptx_of_a_newer_driver_is_refused_with_a_hint,
    ),
    ("threads_share_a_device", threads_share_a_device),
];

fn main() {
    let required = std::env::var_os("WARPSMITH_REQUIRE_GPU").is_some_and(|value| value == "1");
    let gpu_is_there = CudaDevice::open(0).is_ok();
    let trials = TESTS
        .iter()
        .map(|&(name, test)| {
            Trial::test(name, move || test(&CudaDevice::open(0)?))
                .with_ignored_flag(!gpu_is_there && !required)
        })
        .collect();
    let mut arguments = Arguments::from_args();
    // Memory accounting is per device, so that tests beside each other would see one another.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit();
}

const MARK: &[Parameter] = &[
    Parameter::Out(Element::U64),
    Parameter::Value(Element::U64),
    Parameter::Value(Element::U64),
];

// SAFETY: `mark.cu` takes the marks, an index and a value; its store is behind a bounds check.
static KERNEL: KernelImage =
    unsafe { KernelImage::trusted("machine/mark", "mark", MARK, KERNEL_PTX) };

const ONE: LaunchShape = LaunchShape {
    grid: [1, 1, 1],
    block: [32, 1, 1],
    shared_bytes: 0,
};

fn mark(gpu: &CudaDevice, marks: &mut DeviceBuffer<u64>, index: u64, value: u64) -> Outcome {
    let kernel = gpu.kernel(&KERNEL)?;
    gpu.stream()
        .launch(&kernel, ONE, &[marks.write(), index.into(), value.into()])?;
    Ok(())
}

fn ensure(holds: bool, message: impl std::fmt::Display) -> Outcome {
    if holds {
        Ok(())
    } else {
        Err(message.to_string().into())
    }
}

/// The error that must come.
fn refusal<T: std::fmt::Debug>(result: Result<T, DeviceError>) -> Result<DeviceError, Failed> {
    match result {
        Err(error) => Ok(error),
        Ok(value) => Err(format!("accepted: {value:?}").into()),
    }
}

fn facts_are_plausible(gpu: &CudaDevice) -> Outcome {
    let facts = gpu.facts();
    ensure(
        facts.name.contains("NVIDIA") && facts.uuid.starts_with("GPU-"),
        format!("{facts:?}"),
    )?;
    ensure(
        facts.compute_capability.0 >= 7 && facts.multiprocessors > 0,
        format!("{facts:?}"),
    )?;
    ensure(
        facts.memory_bandwidth > 1e10 && facts.warp_size == 32,
        format!("{facts:?}"),
    )?;
    let memory = gpu.memory()?;
    ensure(
        memory.free <= memory.total && memory.total <= facts.memory_bytes * 2,
        "memory",
    )?;
    ensure(
        cuda_devices()?.iter().any(|other| other == facts),
        "not in the list",
    )
}

fn an_index_out_of_range_is_refused(_: &CudaDevice) -> Outcome {
    let error = refusal(CudaDevice::open(99))?;
    ensure(
        matches!(error, DeviceError::NoSuchDevice { asked: 99, .. }),
        &error,
    )?;
    ensure(error.hint().is_some(), "no hint")
}

fn contexts_are_opened_once(gpu: &CudaDevice) -> Outcome {
    let again = CudaDevice::open(gpu.facts().index)?;
    ensure(
        again.stream().handle() == gpu.stream().handle(),
        "another stream, another context",
    )
}

fn what_goes_up_comes_down(gpu: &CudaDevice) -> Outcome {
    for length in [0, 1, 3, 1000, 1 << 20] {
        let data: Vec<f32> = (0..length).map(|index| index as f32 * 0.5).collect();
        let buffer = gpu.upload(&data)?;
        ensure(
            buffer.download(gpu.stream())? == data,
            format!("{length} elements"),
        )?;
        let mut copy = gpu.alloc(length)?;
        copy.fill_bytes(gpu.stream(), 0xFF)?;
        if length > 0 {
            gpu.stream().copy(&buffer, &mut copy)?;
        }
        ensure(
            copy.download(gpu.stream())? == data,
            format!("{length} elements copied"),
        )?;
    }
    let mut buffer = gpu.alloc::<u8>(4)?;
    let error = refusal(buffer.upload(gpu.stream(), &[0; 5]))?;
    ensure(
        error.to_string().contains("4 elements, the slice 5"),
        &error,
    )
}

fn pinned_copies_are_waited_for(gpu: &CudaDevice) -> Outcome {
    let length = 8 << 20;
    let mut up = PinnedBuffer::<u32>::new(gpu, length)?;
    let mut down = PinnedBuffer::<u32>::new(gpu, length)?;
    let mut buffer = gpu.alloc::<u32>(length)?;
    let other = gpu.new_stream()?;
    for round in 0..4u32 {
        for (index, value) in up.as_mut_slice()?.iter_mut().enumerate() {
            *value = index as u32 ^ round;
        }
        gpu.stream().copy_to_device(&up, &mut buffer)?;
        let uploaded = Event::new(gpu)?;
        gpu.stream().record(&uploaded)?;
        other.wait_for(&uploaded)?;
        other.copy_to_host(&buffer, &mut down)?;
        let right = down
            .as_slice()?
            .iter()
            .enumerate()
            .all(|(i, &v)| v == i as u32 ^ round);
        ensure(right, format!("round {round}"))?;
    }
    let empty = PinnedBuffer::<u8>::new(gpu, 0)?;
    ensure(empty.as_slice()?.is_empty(), "empty")
}

fn a_kernel_writes_what_it_is_told(gpu: &CudaDevice) -> Outcome {
    let mut marks = gpu.upload(&[0u64; 4])?;
    mark(gpu, &mut marks, 2, 77)?;
    mark(gpu, &mut marks, 9, 88)?; // beyond the end: guarded by the length
    ensure(marks.download(gpu.stream())? == [0, 0, 77, 0], "marks")?;
    let loaded = gpu.loaded_kernels();
    ensure(
        loaded.iter().any(|kernel| kernel.entry() == "mark"),
        format!("{loaded:?}"),
    )
}

fn packed_parameters_reach_the_kernel(gpu: &CudaDevice) -> Outcome {
    let kernel = gpu.kernel(&KERNEL)?;
    let marks = gpu.upload(&[0u64; 4])?;
    let mut parameters = [marks.pointer(), 4, 3, 99].map(u64::to_ne_bytes).concat();
    // SAFETY: `mark.cu` takes a pointer, its length, an index and a value, 8 bytes each; the buffer
    // outlives the download below.
    unsafe { gpu.stream().launch_packed(&kernel, ONE, &mut parameters)? };
    ensure(marks.download(gpu.stream())? == [0, 0, 0, 99], "marks")
}

fn arguments_that_do_not_fit_are_refused(gpu: &CudaDevice) -> Outcome {
    let kernel = gpu.kernel(&KERNEL)?;
    let mut marks = gpu.upload(&[0u64; 4])?;
    let mut floats = gpu.upload(&[0f32; 4])?;
    let stream = gpu.stream();
    let short = refusal(stream.launch(&kernel, ONE, &[marks.write()]))?;
    ensure(
        short
            .to_string()
            .contains("1 arguments, the kernel takes 3"),
        &short,
    )?;
    let read_only = [marks.read(), 0u64.into(), 0u64.into()];
    let error = refusal(stream.launch(&kernel, ONE, &read_only))?;
    ensure(
        error.to_string().contains("a read-only buffer of U64"),
        &error,
    )?;
    let wrong_type = [floats.write(), 0u64.into(), 0u64.into()];
    let error = refusal(stream.launch(&kernel, ONE, &wrong_type))?;
    ensure(error.to_string().contains("buffer of F32"), &error)?;
    let wrong_value = [marks.write(), 0u32.into(), 0u64.into()];
    refusal(stream.launch(&kernel, ONE, &wrong_value))?;
    let empty = LaunchShape {
        grid: [0, 1, 1],
        ..ONE
    };
    refusal(stream.launch(&kernel, empty, &[marks.write(), 0u64.into(), 0u64.into()]))?;
    let too_wide = LaunchShape {
        block: [4096, 1, 1],
        ..ONE
    };
    let error = refusal(stream.launch(
        &kernel,
        too_wide,
        &[marks.write(), 0u64.into(), 0u64.into()],
    ))?;
    ensure(error.to_string().contains("launch `mark`"), &error)
}

fn a_graph_replays_and_keeps_its_buffers(gpu: &CudaDevice) -> Outcome {
    let kernel = gpu.kernel(&KERNEL)?;
    let mut result = gpu.upload(&[0u64; 3])?;
    let graph = {
        let mut source = gpu.upload(&[0u64; 3])?;
        gpu.stream().capture(|stream| {
            for index in 0..3u64 {
                let arguments = [source.write(), index.into(), (index + 1).into()];
                stream.launch(&kernel, ONE, &arguments)?;
            }
            stream.copy(&source, &mut result)
        })?
        // `source` ends here; the graph keeps its memory.
    };
    ensure(graph.len()? == 4, "four operations")?;
    ensure(
        result.download(gpu.stream())? == [0, 0, 0],
        "recording must not run",
    )?;
    for _ in 0..3 {
        result.fill_bytes(gpu.stream(), 0xFF)?;
        graph.launch(gpu.stream())?;
        ensure(result.download(gpu.stream())? == [1, 2, 3], "replayed")?;
    }
    Ok(())
}

fn a_graph_is_patched_or_rebuilt(gpu: &CudaDevice) -> Outcome {
    gpu.kernel(&KERNEL)?; // loading is not allowed while a stream records
    let mut marks = gpu.upload(&[0u64; 2])?;
    let stream = gpu.stream();
    let mut graph = stream.capture(|_| lift(mark(gpu, &mut marks, 0, 1)))?;
    let patched = graph.update(stream, |_| lift(mark(gpu, &mut marks, 1, 2)))?;
    ensure(patched, "same operations, other arguments")?;
    graph.launch(stream)?;
    ensure(marks.download(stream)? == [0, 2], "patched")?;
    let patched = graph.update(stream, |_| {
        lift(mark(gpu, &mut marks, 0, 5))?;
        lift(mark(gpu, &mut marks, 1, 6))
    })?;
    ensure(!patched, "another shape must be rebuilt")?;
    graph.launch(stream)?;
    ensure(marks.download(stream)? == [5, 6], "rebuilt")
}

fn lift(outcome: Outcome) -> Result<(), DeviceError> {
    outcome.map_err(|failed| DeviceError::BadSize {
        attempted: "test",
        problem: failed.message().unwrap_or_default().to_owned(),
    })
}

fn a_failed_recording_leaves_the_stream_usable(gpu: &CudaDevice) -> Outcome {
    let error = refusal(gpu.stream().capture(|_| Err(DeviceError::NoGpu)))?;
    ensure(matches!(error, DeviceError::NoGpu), &error)?;
    let mut marks = gpu.upload(&[0u64; 1])?;
    mark(gpu, &mut marks, 0, 3)?;
    ensure(marks.download(gpu.stream())? == [3], "usable")
}

fn a_pinned_buffer_in_a_graph_is_waited_for(gpu: &CudaDevice) -> Outcome {
    let buffer = gpu.upload(&vec![7u32; 4 << 20])?;
    let mut down = PinnedBuffer::<u32>::new(gpu, 4 << 20)?;
    let graph = gpu
        .stream()
        .capture(|stream| stream.copy_to_host(&buffer, &mut down))?;
    graph.launch(gpu.stream())?;
    ensure(down.as_slice()?.iter().all(|&value| value == 7), "contents")?;
    drop(down); // the graph keeps the pinned memory
    graph.launch(gpu.stream())?;
    Ok(gpu.synchronize()?)
}

fn a_warm_pool_makes_no_driver_call(gpu: &CudaDevice) -> Outcome {
    let pool = gpu.pool(gpu.stream());
    pool.reserve::<f32>(1000, 2)?;
    let before = pool.stats().driver_allocations;
    for _ in 0..100 {
        let (a, b) = (pool.take::<f32>(1000)?, pool.take::<f32>(900)?);
        ensure(a.pointer() != b.pointer(), "given out twice")?;
    }
    let stats = pool.stats();
    ensure(stats.driver_allocations == before, format!("{stats:?}"))?;
    ensure(
        stats.taken == 200 && stats.in_use == 0,
        format!("{stats:?}"),
    )
}

fn a_pool_remembers_its_high_water_mark(gpu: &CudaDevice) -> Outcome {
    let pool = gpu.pool(gpu.stream());
    let held = gpu.ledger().stats().live;
    {
        let _a = pool.take::<u8>(1 << 20)?;
        let _b = pool.take::<u8>(1 << 20)?;
    }
    let _c = pool.take::<u8>(1 << 20)?;
    let stats = pool.stats();
    ensure(
        stats.high_water == 2 << 20 && stats.in_use == 1 << 20,
        format!("{stats:?}"),
    )?;
    ensure(stats.reserved == 2 << 20, format!("{stats:?}"))?;
    pool.trim();
    ensure(
        pool.stats().reserved == 1 << 20,
        format!("{:?}", pool.stats()),
    )?;
    drop((_c, pool));
    ensure(
        gpu.ledger().stats().live == held,
        "all went back to the driver",
    )
}

fn the_ledger_names_what_is_held(gpu: &CudaDevice) -> Outcome {
    let scope = gpu.ledger().scope();
    let kept = gpu.alloc::<u8>(12345)?;
    drop(gpu.alloc::<u8>(1_000_000)?);
    let stats = scope.stop();
    ensure(
        stats.growth == 12345 && stats.allocations == 2,
        format!("{stats:?}"),
    )?;
    ensure(stats.peak == 1_012_345, format!("{stats:?}"))?;
    if let Some(held) = gpu.ledger().held() {
        let here = held
            .iter()
            .any(|site| site.live == 12345 && site.place.contains("gpu.rs:"));
        ensure(here, format!("{held:?}"))?;
    }
    drop(kept);
    Ok(())
}

fn events_measure_and_order(gpu: &CudaDevice) -> Outcome {
    let (start, stop) = (Event::new(gpu)?, Event::new(gpu)?);
    let mut big = gpu.alloc::<u8>(256 << 20)?;
    let stream = gpu.stream();
    stream.record(&start)?;
    big.fill_bytes(stream, 1)?;
    stream.record(&stop)?;
    stop.synchronize()?;
    let elapsed = stop.since(&start)?.0;
    // 256 MiB at between 10 GB/s and 20 TB/s.
    ensure((1e-5..3e-2).contains(&elapsed), format!("{elapsed} s"))?;
    ensure(stop.has_happened()? && stream.is_idle()?, "done")
}

fn too_much_memory_is_refused_with_sizes(gpu: &CudaDevice) -> Outcome {
    let error = refusal(gpu.alloc::<u8>(1 << 50))?;
    ensure(matches!(error, DeviceError::OutOfMemory { .. }), &error)?;
    ensure(error.to_string().contains("1024 TiB"), &error)?;
    ensure(error.hint().is_some(), "no hint")?;
    drop(gpu.alloc::<u8>(1 << 20)?);
    refusal(gpu.alloc::<u64>(usize::MAX / 4)).map(drop)
}

fn corrupt_images_are_refused(gpu: &CudaDevice) -> Outcome {
    let of_text = |module: &str, ptx: &str| {
        let (module, ptx) = (module.to_owned(), ptx.to_owned());
        // SAFETY: these never load.
        unsafe { KernelImage::compiled(module, "mark".to_owned(), MARK.to_vec(), ptx) }
    };
    let junk = of_text("test/junk", ".version 8.0\n.target sm_70\nnonsense;");
    let stale = of_text("test/corrupt-cubin", "ptx of a corrupt cubin");
    // SAFETY: it never loads.
    let missing =
        unsafe { KernelImage::trusted("machine/mark", "no_such_function", MARK, KERNEL_PTX) };
    let error = refusal(gpu.kernel(&junk))?;
    ensure(
        matches!(&error, DeviceError::BadImage { log, .. } if !log.is_empty()),
        &error,
    )?;
    ensure(error.hint().is_some(), "no hint")?;
    embed_cubins(&[EmbeddedCubin {
        module: "test/corrupt-cubin",
        ptx_sha256: PTX_OF_A_CORRUPT_CUBIN_SHA256,
        sm: gpu.facts().sm(),
        bytes: b"\x7fELF and then nothing of the kind: 0123456789012345678901234567890123456789",
    }]);
    let error = refusal(gpu.kernel(&stale))?;
    ensure(matches!(error, DeviceError::BadImage { .. }), &error)?;
    let error = refusal(gpu.kernel(&missing))?;
    ensure(matches!(error, DeviceError::NoSuchFunction { .. }), &error)
}

const KERNEL_PTX: &[u8] = ptx!("machine/mark");

/// SHA-256 of "ptx of a corrupt cubin".
const PTX_OF_A_CORRUPT_CUBIN_SHA256: [u8; 32] = [
    0x7a, 0xee, 0x7a, 0x25, 0x00, 0x11, 0x86, 0xf3, 0x23, 0x84, 0x96, 0x00, 0xe6, 0x53, 0x4d, 0x25,
    0x94, 0x5f, 0xdf, 0x69, 0x22, 0x02, 0x9f, 0x2a, 0x85, 0xe6, 0x3f, 0xe5, 0x84, 0x62, 0xed, 0x4f,
];

fn ptx_of_a_newer_driver_is_refused_with_a_hint(gpu: &CudaDevice) -> Outcome {
    let ptx = KERNEL.ptx().replace(".version 8.0", ".version 99.0");
    // SAFETY: this never loads.
    let image =
        unsafe { KernelImage::compiled("test/newer".into(), "mark".into(), MARK.to_vec(), ptx) };
    let error = refusal(gpu.kernel(&image))?;
    ensure(matches!(error, DeviceError::BadImage { .. }), &error)?;
    ensure(
        error
            .hint()
            .is_some_and(|hint| hint.contains("driver is older")),
        &error,
    )
}

fn threads_share_a_device(gpu: &CudaDevice) -> Outcome {
    let results: Vec<Result<bool, DeviceError>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8u64)
            .map(|worker| {
                scope.spawn(move || {
                    let stream = gpu.new_stream()?;
                    let kernel = gpu.kernel(&KERNEL)?;
                    let mut marks = gpu.alloc::<u64>(100)?;
                    for index in 0..100u64 {
                        let arguments = [marks.write(), index.into(), (worker + index).into()];
                        stream.launch(&kernel, ONE, &arguments)?;
                    }
                    let marks = marks.download(&stream)?;
                    Ok(marks
                        .iter()
                        .enumerate()
                        .all(|(i, &mark)| mark == worker + i as u64))
                })
            })
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().ok())
            .collect()
    });
    ensure(results.len() == 8, "a thread panicked")?;
    for right in results {
        ensure(right?, "a thread saw another's marks")?;
    }
    Ok(())
}
