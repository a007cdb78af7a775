//! What NVML's own calls cost on this machine's driver, each alone, and what each tier of the
//! schedule adds. Calls are taken both in a row and 20 ms apart: a driver that has gone to rest in
//! between answers more dearly than one that is being asked all the time.
//!
//! `cargo bench -p warpsmith-telemetry --bench driver_costs`; without a driver it says so.

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlDevice_t, nvmlFieldValue_t, nvmlMarginTemperature_t, nvmlMemory_v2_t,
    nvmlProcessInfo_t, nvmlProcessUtilizationSample_t, nvmlReturn_t, nvmlSample_t,
    nvmlUtilization_t,
};
use warpsmith_telemetry::{Machine, Sampler, Schedule, Settings, Tier};

fn say(line: &str) {
    // A figure that cannot be printed cannot be read either.
    let _ = writeln!(stdout(), "{line}");
}

/// CPU nanoseconds of a task by the scheduler's counter.
fn cpu_of(task: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{task}/schedstat")).unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// CPU nanoseconds of every thread of this process.
fn cpu_of_all() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks
        .flatten()
        .map(|task| cpu_of(&format!("self/task/{}", task.file_name().to_string_lossy())))
        .sum()
}

type Call<'a> = Box<dyn FnMut() -> nvmlReturn_t + 'a>;

/// Every call of the schedule, and every field alone.
fn calls(library: &NvmlLib, device: nvmlDevice_t) -> Vec<(String, Call<'_>)> {
    let mut list: Vec<(String, Call<'_>)> = Vec::new();
    macro_rules! add {
        ($name:expr, $function:ident, |$f:ident| $call:expr) => {
            if let Ok($f) = &library.$function {
                // SAFETY: the signature is NVML's own; out parameters are live locals or buffers
                // whose length is passed beside them.
                list.push(($name.to_owned(), Box::new(move || unsafe { $call })));
            }
        };
    }
    macro_rules! number {
        ($name:expr, $function:ident $(, $argument:expr)*) => {
            add!($name, $function, |f| {
                let mut value = 0;
                f(device, $($argument,)* &mut value)
            });
        };
    }
    add!("utilization", nvmlDeviceGetUtilizationRates, |f| {
        let mut value = nvmlUtilization_t { gpu: 0, memory: 0 };
        f(device, &mut value)
    });
    number!("power", nvmlDeviceGetPowerUsage);
    number!("temperature", nvmlDeviceGetTemperature, 0);
    number!("SM clock", nvmlDeviceGetClockInfo, 1);
    number!("memory clock", nvmlDeviceGetClockInfo, 2);
    number!("reasons", nvmlDeviceGetCurrentClocksEventReasons);
    add!("memory v2", nvmlDeviceGetMemoryInfo_v2, |f| {
        let mut value: nvmlMemory_v2_t = std::mem::zeroed();
        value.version = size_of::<nvmlMemory_v2_t>() as u32 | (2 << 24);
        f(device, &mut value)
    });
    add!("margin", nvmlDeviceGetMarginTemperature, |f| {
        let mut value: nvmlMarginTemperature_t = std::mem::zeroed();
        value.version = size_of::<nvmlMarginTemperature_t>() as u32 | (1 << 24);
        f(device, &mut value)
    });
    number!("performance state", nvmlDeviceGetPerformanceState);
    number!("fan", nvmlDeviceGetFanSpeed);
    add!("encoder", nvmlDeviceGetEncoderUtilization, |f| {
        let (mut value, mut period) = (0, 0);
        f(device, &mut value, &mut period)
    });
    add!("decoder", nvmlDeviceGetDecoderUtilization, |f| {
        let (mut value, mut period) = (0, 0);
        f(device, &mut value, &mut period)
    });
    add!("ECC total", nvmlDeviceGetTotalEccErrors, |f| {
        let mut value = 0;
        f(device, 0, 0, &mut value)
    });
    add!("remapped rows", nvmlDeviceGetRemappedRows, |f| {
        let (mut a, mut b, mut c, mut d) = (0, 0, 0, 0);
        f(device, &mut a, &mut b, &mut c, &mut d)
    });
    number!("PCIe generation", nvmlDeviceGetCurrPcieLinkGeneration);
    number!("PCIe width", nvmlDeviceGetCurrPcieLinkWidth);
    number!("PCIe replays", nvmlDeviceGetPcieReplayCounter);
    number!("power limit", nvmlDeviceGetEnforcedPowerLimit);
    add!("energy", nvmlDeviceGetTotalEnergyConsumption, |f| {
        let mut value = 0;
        f(device, &mut value)
    });
    for (name, kind) in [("power ring", 0), ("busy ring", 1), ("memory ring", 2)] {
        add!(name, nvmlDeviceGetSamples, |f| {
            let (mut value_type, mut count) = (0, 256u32);
            let mut samples: Vec<nvmlSample_t> = vec![std::mem::zeroed(); 256];
            let out = samples.as_mut_ptr();
            f(device, kind, 0, &mut value_type, &mut count, out)
        });
    }
    add!(
        "compute processes",
        nvmlDeviceGetComputeRunningProcesses_v3,
        |f| {
            let mut count = 64u32;
            let mut list: Vec<nvmlProcessInfo_t> = vec![std::mem::zeroed(); 64];
            f(device, &mut count, list.as_mut_ptr())
        }
    );
    add!(
        "graphics processes",
        nvmlDeviceGetGraphicsRunningProcesses_v3,
        |f| {
            let mut count = 64u32;
            let mut list: Vec<nvmlProcessInfo_t> = vec![std::mem::zeroed(); 64];
            f(device, &mut count, list.as_mut_ptr())
        }
    );
    add!("process use", nvmlDeviceGetProcessUtilization, |f| {
        let mut count = 128u32;
        let mut list: Vec<nvmlProcessUtilizationSample_t> = vec![std::mem::zeroed(); 128];
        f(device, list.as_mut_ptr(), &mut count, 0)
    });
    // Leaked on purpose: the program ends with its measurements.
    add!("GPM sample", nvmlGpmSampleGet, |f| {
        thread_local!(static SAMPLE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
        let mut sample = SAMPLE.get() as *mut nvml_wrapper_sys::bindings::nvmlGpmSample_st;
        if sample.is_null() {
            library.nvmlGpmSampleAlloc(&mut sample);
            SAMPLE.set(sample as usize);
        }
        f(device, sample)
    });
    add!("event wait", nvmlEventSetWait_v2, |f| {
        thread_local!(static SET: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
        let mut set = SET.get() as *mut nvml_wrapper_sys::bindings::nvmlEventSet_st;
        if set.is_null() {
            library.nvmlEventSetCreate(&mut set);
            library.nvmlDeviceRegisterEvents(device, 8, set);
            SET.set(set as usize);
        }
        let mut data: nvml_wrapper_sys::bindings::nvmlEventData_t = std::mem::zeroed();
        f(set, &mut data, 0)
    });
    let state = vec![185, 186, 82, 74, 75, 76, 77, 78, 79, 269, 270, 271];
    let mut sets: Vec<Vec<u32>> = [
        185, 186, 82, 74, 75, 76, 77, 78, 79, 251, 252, 253, 269, 270, 271, 197, 198, 193, 195,
    ]
    .map(|id| vec![id])
    .to_vec();
    sets.extend([
        vec![185, 186],
        vec![185, 186, 82],
        state[3..].to_vec(),
        state,
    ]);
    for ids in sets {
        let name = format!("fields {ids:?}");
        add!(name, nvmlDeviceGetFieldValues, |f| {
            let mut values: Vec<nvmlFieldValue_t> = ids
                .iter()
                .map(|id| nvmlFieldValue_t {
                    fieldId: *id,
                    ..std::mem::zeroed()
                })
                .collect();
            f(device, values.len() as i32, values.as_mut_ptr())
        });
    }
    list
}

/// Median wall time in microseconds and mean CPU time in microseconds of `count` calls.
fn cost(call: &mut Call<'_>, count: u32, apart: Duration) -> (f64, f64, nvmlReturn_t) {
    let mut times = Vec::new();
    let mut status = 0;
    let before = cpu_of("thread-self");
    for _ in 0..count {
        std::thread::sleep(apart);
        let start = Instant::now();
        status = call();
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let cpu = (cpu_of("thread-self") - before) as f64 / 1e3 / f64::from(count);
    times.sort_unstable_by(f64::total_cmp);
    (times[times.len() / 2], cpu, status)
}

fn each_call() {
    // SAFETY: loading the driver's library runs its initialisers, as every monitor does.
    let Ok(library) = (unsafe { NvmlLib::new("libnvidia-ml.so.1") }) else {
        return say("skipped: there is no libnvidia-ml.so.1 here");
    };
    let mut device = std::ptr::null_mut();
    // SAFETY: NVML's own signatures; the handle is a live local.
    let opened = unsafe {
        library.nvmlInit_v2() == 0 && library.nvmlDeviceGetHandleByIndex_v2(0, &mut device) == 0
    };
    if !opened {
        return say("skipped: NVML does not start here");
    }
    let mut nothing: Call<'_> = Box::new(|| 0);
    let spaced = Duration::from_millis(20);
    let (_, idle, _) = cost(&mut nothing, 30, spaced);
    say(&format!(
        "waking up and reading the clock costs {idle:.1} µs of CPU, taken off below"
    ));
    say(
        "call                                     in a row: wall, CPU   20 ms apart: wall, CPU (µs)  status",
    );
    for (name, mut call) in calls(&library, device) {
        call();
        let (wall, cpu, _) = cost(&mut call, 30, Duration::ZERO);
        let (late_wall, late_cpu, status) = cost(&mut call, 15, spaced);
        say(&format!(
            "{name:40} {wall:9.1} {cpu:9.1}   {late_wall:9.1} {:9.1}   {status}",
            late_cpu - idle
        ));
    }
}

/// CPU share of sampling with this schedule.
fn share(schedule: Schedule, seconds: u64) -> Option<(f64, usize)> {
    let settings = Settings {
        schedule,
        ..Settings::default()
    };
    let machine = Machine::open(&settings).ok()?;
    if machine.inventory().gpus.is_empty() {
        return None;
    }
    let (sampler, events) = Sampler::start(machine, &settings);
    std::thread::sleep(Duration::from_secs(1));
    let (before, start) = (cpu_of_all(), Instant::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let share = (cpu_of_all() - before) as f64 / start.elapsed().as_nanos() as f64;
    if seconds > 5 {
        each_thread(1.0 + start.elapsed().as_secs_f64());
    }
    sampler.stop();
    Some((100.0 * share, events.try_iter().count()))
}

/// What each thread has taken so far, by its name.
fn each_thread(seconds: f64) {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    for task in tasks.flatten() {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        let id = format!("self/task/{}", task.file_name().to_string_lossy());
        let percent = cpu_of(&id) as f64 / 1e7 / seconds;
        say(&format!("  thread {}: {percent:.3} %", name.trim()));
    }
}

fn full_schedule() {
    match share(Schedule::default(), 15) {
        Some((all, events)) => say(&format!(
            "full schedule: {all:.3} % of a core, {events} events in 16 s"
        )),
        None => say("skipped: there is no GPU here"),
    }
}

fn each_tier() {
    let never = Duration::from_secs(3600);
    let mut none = Schedule::default().with_host(never);
    for tier in Tier::ALL {
        none = none.with(tier, never);
    }
    if let Some((share, _)) = share(none.clone(), 2) {
        say(&format!("  nothing but the watchdog: {share:.3} %"));
    }
    for tier in Tier::ALL {
        let only = none.clone().with(tier, Schedule::default().period(tier));
        if let Some((share, _)) = share(only, 3) {
            say(&format!("  {tier:?} alone: {share:.3} %"));
        }
    }
}

fn main() {
    // `-- schedule` leaves everything out but the full schedule.
    let whole_only = std::env::args().any(|argument| argument == "schedule");
    if !whole_only {
        each_call();
    }
    full_schedule();
    if !whole_only {
        each_tier();
    }
}
