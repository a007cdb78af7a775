//! The whole path from `dlopen` to events, against the fake library: what a driver can do wrong.

use std::time::{Duration, Instant};

use crate::support::{Fake, proc_folder, sampled};
use warpsmith_telemetry::{
    Event, Happening, Machine, OpenError, Presence, Sampler, Settings, State,
};

fn states(events: &[Event], gpu: u16) -> Vec<State> {
    let of_gpu = events.iter().filter(|event| event.gpu == gpu);
    of_gpu
        .filter_map(|event| match event.what {
            Happening::State(state) => Some(state),
            _ => None,
        })
        .collect()
}

#[test]
fn an_idle_minute_has_every_tier_at_its_rate() {
    let (inventory, events) = sampled("{}", 60);
    assert_eq!(inventory.gpus[0].name, "NVIDIA H200");
    assert_eq!(inventory.driver.as_deref(), Some("580.159.04"));
    let states = states(&events, 0);
    assert_eq!(states.len(), 601, "both ends are read");
    assert_eq!(states[0].temperature_c, Some(34));
    assert_eq!(states[0].memory_used_bytes, Some(0));
    assert_eq!(states[0].memory_reserved_bytes, Some(619 << 20));
    let power: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            Happening::PowerRing(samples) => Some(samples),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(power.len(), 3000, "50 Hz of power without gaps or repeats");
    assert!(power.windows(2).all(|pair| pair[0].at < pair[1].at));
    let energy: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            Happening::Energy(energy) => energy.energy_mj,
            _ => None,
        })
        .collect();
    assert_eq!(energy.last().unwrap() - energy[0], 76 * 60 * 1000);
}

#[test]
fn what_is_not_supported_is_absent_and_not_asked_again() {
    let scenario = r#"{"gpus": [{"not_supported": [
        "nvmlDeviceGetUtilizationRates", "field:185", "field:82", "ring:0",
        "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetMemoryInfo_v2"]}]}"#;
    let (_, events) = sampled(scenario, 10);
    let states = states(&events, 0);
    assert_eq!(states.len(), 101);
    for state in states {
        assert_eq!(state.busy_percent, None);
        assert_eq!(state.memory_temperature_c, None);
        // The older calls stand in where there are any.
        assert!(state.power_mw.is_some());
        assert_eq!(state.memory_used_bytes, Some(619 << 20));
        assert_eq!(state.memory_reserved_bytes, None);
    }
    assert!(
        !events
            .iter()
            .any(|event| matches!(event.what, Happening::PowerRing(_) | Happening::Energy(_)))
    );
}

/// Calls in a minute of the full schedule, opening and closing included.
#[test]
fn a_minute_makes_no_more_calls_than_the_schedule_says() {
    let fake = Fake::new("{}");
    let proc_root = proc_folder(&[]);
    let settings = fake.settings(proc_root.path());
    fake.sample(&settings, Duration::from_secs(60))
        .expect("the machine opens");
    for (name, most) in [
        // Ten a second, each a few microseconds; what is refreshed less often, less often.
        ("nvmlDeviceGetCurrentClocksEventReasons", 601),
        ("nvmlDeviceGetClockInfo", 601 + 121),
        ("nvmlDeviceGetUtilizationRates", 301),
        ("nvmlDeviceGetTemperature", 121),
        // Once a second, and once for the inventory.
        ("nvmlDeviceGetMemoryInfo_v2", 61 + 1),
        // Ten a second for power and memory temperature, one a second for the cheap throttle
        // counters, one in sixty for the dear ones, one in thirty for PCIe.
        ("nvmlDeviceGetFieldValues", 601 + 61 + 3 + 4),
        // A call for each of 50 power samples a second would cost 250 times as much.
        ("nvmlDeviceGetPowerUsage", 0),
        ("nvmlDeviceGetSamples", 29),
        ("nvmlDeviceGetComputeRunningProcesses_v3", 31),
        // Milliseconds each.
        ("nvmlDeviceGetMarginTemperature", 3),
        // 200 us each: every other second.
        ("nvmlGpmSampleGet", 31),
        ("nvmlDeviceGetTotalEnergyConsumption", 2),
        // 20 ms inside of the call: never.
        ("nvmlDeviceGetPcieThroughput", 0),
    ] {
        let calls = fake.calls(name);
        assert!(calls <= most, "{name}: {calls} calls in a minute");
    }
    assert!(fake.calls("nvmlDeviceGetUtilizationRates") >= 300);
}

#[test]
fn a_ring_that_has_nothing_new_is_silent() {
    // The memory's ring is read where polls do not know its utilisation.
    let scenario = r#"{"gpus": [{"not_supported": ["nvmlDeviceGetUtilizationRates"]}],
        "faults": [{"call": "ring:1", "code": 6}]}"#;
    let (_, events) = sampled(scenario, 30);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event.what, Happening::BusyRing(_)))
    );
    assert!(
        events
            .iter()
            .any(|event| matches!(event.what, Happening::MemoryBusyRing(_)))
    );
}

#[test]
fn older_drivers_have_their_throttle_counters_under_other_numbers() {
    let throttled = |driver: &str| {
        let scenario = format!(
            r#"{{"driver": "{driver}", "gpus": [{{"throttle": {{"hardware_thermal": 0.5}}}}]}}"#
        );
        let (_, events) = sampled(&scenario, 10);
        let states = states(&events, 0);
        states.last().unwrap().hardware_thermal_ns.unwrap() - states[0].hardware_thermal_ns.unwrap()
    };
    assert_eq!(throttled("580.159.04"), 5_000_000_000);
    assert_eq!(throttled("550.54.15"), 5_000_000_000);
}

#[test]
fn a_lost_gpu_is_said_to_be_lost_once_and_found_again() {
    let scenario = r#"{"gpus": [{"count": 2}],
        "faults": [{"gpu": 1, "call": "*", "from_s": 5, "until_s": 21, "code": 15}]}"#;
    let (_, events) = sampled(scenario, 40);
    let presence: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            Happening::Presence(presence) => Some((event.gpu, presence)),
            _ => None,
        })
        .collect();
    assert_eq!(presence, [(1, Presence::Lost), (1, Presence::Live)]);
    assert_eq!(states(&events, 0).len(), 401, "the other GPU goes on");
    let back = states(&events, 1).len();
    assert!(
        (50 + 140..=50 + 200).contains(&back),
        "{back} states of the lost GPU"
    );
}

#[test]
fn process_lists_may_grow_beyond_the_room_offered() {
    let scenario = r#"{"gpus": [{"processes": [
        {"pid": 4711, "memory_mb": 1000},
        {"pid": 10000, "count": 500, "memory_mb": 1, "from_s": 3, "until_s": 6},
        {"pid": 4711, "memory_mb": 5, "graphics": true},
        {"pid": 4712, "memory_mb": null, "graphics": true}]}]}"#;
    let (_, events) = sampled(scenario, 10);
    let counts: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            Happening::Processes(list) => Some(list.len()),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [2, 2, 502, 2, 2, 2], "both ends are read");
    let identity = events
        .iter()
        .find_map(|event| match &event.what {
            Happening::Process(identity) if identity.pid == 4711 => Some(identity.clone()),
            _ => None,
        })
        .unwrap();
    assert_eq!(identity.name.as_deref(), Some("train.py"));
    assert_eq!(identity.container.as_deref(), Some("8d7ac2a3b1c9"));
    assert_eq!(
        identity.command_line, None,
        "command lines can hold secrets"
    );
    assert_eq!(identity.started_unix, Some(1_699_990_000 + 3600));
    let unknown = events.iter().any(|event| match &event.what {
        Happening::Process(identity) => identity.pid == 10_000 && identity.name.is_none(),
        _ => false,
    });
    assert!(
        unknown,
        "a process in another namespace is seen without a name"
    );
}

#[test]
fn eight_gpus_are_sampled_beside_each_other() {
    let (inventory, events) = sampled(r#"{"gpus": [{"count": 8}]}"#, 5);
    assert_eq!(inventory.gpus.len(), 8);
    for gpu in 0..8 {
        assert_eq!(states(&events, gpu).len(), 51);
    }
    let uuids: std::collections::HashSet<_> = inventory.gpus.iter().map(|gpu| &gpu.uuid).collect();
    assert_eq!(uuids.len(), 8);
}

#[test]
fn mig_instances_are_listed_and_the_whole_gpu_has_no_utilisation() {
    let scenario = r#"{"gpus": [{"mig": [
        {"name": "1g.18gb", "memory_total_mb": 16384, "memory_used_mb": 100},
        {"name": "3g.71gb", "memory_total_mb": 71000, "memory_used_mb": 5}]}]}"#;
    let (inventory, events) = sampled(scenario, 6);
    assert!(inventory.gpus[0].mig);
    assert!(
        states(&events, 0)
            .iter()
            .all(|state| state.busy_percent.is_none())
    );
    let instances = events
        .iter()
        .find_map(|event| match &event.what {
            Happening::Mig(instances) => Some(instances),
            _ => None,
        })
        .unwrap();
    assert_eq!(instances.len(), 2);
    assert_eq!(instances[0].memory_used_bytes, Some(100 << 20));
    assert_ne!(instances[0].uuid, instances[1].uuid);
}

#[test]
fn garbage_from_the_driver_is_absent() {
    let scenario = r#"{"gpus": [{"temperature_c": 255, "memory_temperature_c": 0}]}"#;
    let (_, events) = sampled(scenario, 2);
    assert!(
        states(&events, 0)
            .iter()
            .all(|state| { state.temperature_c.is_none() && state.memory_temperature_c.is_none() })
    );
}

#[test]
fn a_machine_without_nvml_still_has_a_host() {
    let proc_root = proc_folder(&[]);
    let settings = Settings {
        library: Some("/nonexistent/libnvidia-ml.so.1".into()),
        proc_root: proc_root.path().to_owned(),
        ..Settings::default()
    };
    let machine = Machine::open(&settings).unwrap();
    let reason = machine.inventory().nvml_absent.clone().unwrap();
    assert!(
        reason.contains("/nonexistent/libnvidia-ml.so.1"),
        "{reason}"
    );
    assert_eq!(machine.inventory().cpu, "Test CPU");
    let asked = Settings {
        gpus: vec![0],
        ..settings
    };
    assert!(matches!(
        Machine::open(&asked),
        Err(OpenError::NoNvml { asked: 0, .. })
    ));
}

#[test]
fn a_driver_that_does_not_start_says_why() {
    let fake = Fake::new(r#"{"init_code": 18}"#);
    let machine = Machine::open(&fake.settings(proc_folder(&[]).path())).unwrap();
    let reason = machine.inventory().nvml_absent.clone().unwrap();
    assert!(reason.contains("does not start"), "{reason}");
}

#[test]
fn a_gpu_that_does_not_exist_is_refused_and_one_that_does_not_open_is_named() {
    let fake =
        Fake::new(r#"{"gpus": [{"count": 2}], "faults": [{"gpu": 1, "call": "*", "code": 15}]}"#);
    let proc_root = proc_folder(&[]);
    let settings = fake.settings(proc_root.path());
    let machine = Machine::open(&settings).unwrap();
    assert_eq!(machine.inventory().gpus.len(), 1);
    let unreachable = &machine.inventory().unreachable;
    assert_eq!(unreachable.len(), 1);
    assert_eq!(unreachable[0].to_string(), "GPU 1: the GPU is lost");
    let open = |gpus| {
        Machine::open(&Settings {
            gpus,
            ..settings.clone()
        })
    };
    assert!(matches!(
        open(vec![7]),
        Err(OpenError::NoSuchGpu { asked: 7, count: 2 })
    ));
    assert!(matches!(
        open(vec![1]),
        Err(OpenError::Unreachable { asked: 1, .. })
    ));
}

/// In real time, since a call that hangs is about threads: GPU 0 hangs for ten seconds from the
/// first second on; GPU 1 must not notice, and GPU 0 must be said to be stale.
#[test]
fn a_hung_call_makes_its_own_gpu_stale_and_no_other() {
    let fake = Fake::in_real_time(
        r#"{"gpus": [{"count": 2}],
            "faults": [{"gpu": 0, "call": "nvmlDeviceGetUtilizationRates", "from_s": 0.5, "hang_s": 10}]}"#,
    );
    let proc_root = proc_folder(&[]);
    let settings = fake.settings(proc_root.path());
    let machine = Machine::open(&settings).unwrap();
    let started = Instant::now();
    let (sampler, events) = Sampler::start(machine, &settings);
    let stale_at = loop {
        let event = events
            .recv_timeout(Duration::from_secs(30))
            .expect("events keep coming");
        if event.what == Happening::Presence(Presence::Stale) {
            assert_eq!(event.gpu, 0);
            break started.elapsed();
        }
    };
    let live_after = events
        .iter()
        .take(40)
        .filter(|event| event.gpu == 1 && matches!(event.what, Happening::State(_)))
        .count();
    assert!(
        live_after > 10,
        "{live_after} states of the other GPU after the hang"
    );
    assert!(
        stale_at < Duration::from_secs(9),
        "stale only after the call came back"
    );
    sampler.stop();
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "stopping does not wait for the call"
    );
}

#[test]
fn activity_counts_are_read_where_there_are_some_and_absent_elsewhere() {
    let steady = |scenario: &str| -> Vec<_> {
        let (_, events) = sampled(scenario, 10);
        let picked = events.iter().filter_map(|event| match event.what {
            Happening::Steady(steady) => Some(steady),
            _ => None,
        });
        picked.collect()
    };
    let counted = steady(
        r#"{"gpus": [{"sm_active": 62.5, "dram_active": 12.5, "tensor_active": 50,
            "pcie_bytes_per_s": 3e9}]}"#,
    );
    assert_eq!(counted[0].sm_active_permille, None, "one sample is no rate");
    let second = counted[2];
    assert_eq!(second.sm_active_permille, Some(625));
    assert_eq!(second.dram_active_permille, Some(125));
    assert_eq!(second.tensor_active_permille, Some(500));
    assert_eq!(
        second.nvlink_sent_bytes_s, None,
        "not every metric is there"
    );
    let sent = second.pcie_sent_bytes_s.expect("PCIe is counted");
    assert!((sent - 3_000_000_000).abs() < 2, "{sent}");
    let without = steady(r#"{"gpus": [{"sm_active": null}]}"#);
    assert!(without.len() >= 10);
    assert!(without.iter().all(|one| one.sm_active_permille.is_none()));
}

#[test]
fn errors_are_reported_once_and_the_last_one_tells_why_a_gpu_was_lost() {
    let xids = |scenario: &str| -> Vec<_> {
        let (_, events) = sampled(scenario, 20);
        let picked = events.iter().filter_map(|event| match &event.what {
            Happening::Xid(xid) => Some(xid.code.expect("a number")),
            Happening::Presence(Presence::Lost) => Some(-1),
            _ => None,
        });
        picked.collect()
    };
    let two = r#"{"gpus": [{"xids": [[3, 31], [3, 31], [7.5, 94]]}]}"#;
    assert_eq!(xids(two), [31, 31, 94]);
    let lost = r#"{"gpus": [{"xids": [[5.02, 79]]}],
        "faults": [{"call": "*", "from_s": 5.03, "code": 15}]}"#;
    assert_eq!(xids(lost), [79, -1], "the reason comes before the loss");
    let deaf = r#"{"gpus": [{"xids": [[3, 31]],
        "not_supported": ["nvmlDeviceRegisterEvents"]}]}"#;
    assert!(xids(deaf).is_empty());
}
