//! How often sampling and serving wake a core, counted by the kernel.
//!
//! A test program of its own: threads are told apart by their names. A loaded machine wakes them
//! later, never more often.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use support::{Fake, proc_folder};
use warpsmith_telemetry::exporter::{Exporter, Serving};
use warpsmith_telemetry::{LiveBoard, Machine, Sampler};

/// Times each thread of this process gave up its core to wait, by the thread's name.
fn waits() -> BTreeMap<String, u64> {
    let mut waits = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let count = read("status").lines().find_map(|line| {
            line.strip_prefix("voluntary_ctxt_switches:")?
                .trim()
                .parse()
                .ok()
        });
        *waits.entry(read("comm").trim().to_owned()).or_default() += count.unwrap_or(0);
    }
    waits
}

#[test]
fn a_gpu_wakes_a_core_ten_times_a_second_and_all_else_once() {
    let fake = Fake::in_real_time("{}");
    let proc_root = proc_folder(&[]);
    let settings = fake.settings(proc_root.path());
    let machine = Machine::open(&settings).expect("the machine opens");
    let inventory = machine.inventory().clone();
    let (sampler, events) = Sampler::start(machine, &settings);
    let board = Arc::new(LiveBoard::new(inventory, events));
    let any = "127.0.0.1:0".parse().expect("an address");
    let exporter = Exporter::start(any, board, Serving::default()).expect("it listens");
    std::thread::sleep(Duration::from_millis(500));
    let (before, start) = (waits(), Instant::now());
    std::thread::sleep(Duration::from_secs(4));
    let (after, seconds) = (waits(), start.elapsed().as_secs_f64());
    drop(exporter);
    sampler.stop();

    let of = |name: &str| after[name] - before[name];
    assert!(of("gpu 0") > 0, "the kernel counts: {after:?}");
    // One more for the turn that had begun, two for locks that were held.
    let most = |rate: f64| (rate * seconds).ceil() as u64 + 3;
    assert!(of("gpu 0") <= most(10.0), "{} for the GPU", of("gpu 0"));
    assert!(
        of("host") <= most(1.0),
        "{} for the host and the watchdog",
        of("host")
    );
    assert!(
        of("refresh") <= most(0.2),
        "{} to take events in",
        of("refresh")
    );
    assert_eq!(of("accept"), 0, "nobody connected");
    let threads = ["accept", "gpu 0", "host", "refresh"];
    let ours = |name: &&String| after[*name] > before.get(*name).copied().unwrap_or(0);
    let others: Vec<_> = after
        .keys()
        .filter(ours)
        .filter(|name| !threads.contains(&name.as_str()))
        // The test's own thread sleeps, and the one that waits for it is woken by its progress.
        .filter(|name| !name.starts_with("wake_ups") && !name.starts_with("a_gpu_wakes"))
        .collect();
    assert!(others.is_empty(), "{others:?} wake too");
}
