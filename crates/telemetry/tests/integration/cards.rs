//! GPUs that are read through the kernel's files: what an owner of a Radeon, an Instinct, an APU or an Arc
//! sees, and what a card can do wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::tree::{Tree, open_card, poke};
use crate::support::{Fake, proc_folder};
use warpsmith_telemetry::baseline::{Collector, Expectation, Fitness, baseline_text};
use warpsmith_telemetry::exporter::{ProcessSeries, metrics_text};
use warpsmith_telemetry::recording::{Recording, RecordingWriter};
use warpsmith_telemetry::screen::snapshot_text;
use warpsmith_telemetry::{
    Board, Event, Happening, Inventory, Machine, Micros, OpenError, Presence, ProcessUse, Schedule,
    Slow, State, Steady, Vendor, snapshot,
};

/// The tree sampled for some seconds with nobody on its GPUs.
fn sampled(name: &str, seconds: u64) -> (Inventory, Vec<Event>) {
    let (tree, proc_root) = (Tree::of(name), proc_folder(&[]));
    let settings = tree.settings(proc_root.path());
    tree.sample(&settings, Duration::from_secs(seconds), |_, _| {})
}

fn states(events: &[Event], gpu: u16) -> Vec<State> {
    let own = events.iter().filter(|event| event.gpu == gpu);
    own.filter_map(|event| match event.what {
        Happening::State(state) => Some(state),
        _ => None,
    })
    .collect()
}

fn last_steady(events: &[Event], gpu: u16) -> Steady {
    let own = events.iter().filter(|event| event.gpu == gpu);
    let mut all = own.filter_map(|event| match event.what {
        Happening::Steady(steady) => Some(steady),
        _ => None,
    });
    all.next_back().expect("a steady reading")
}

fn last_slow(events: &[Event], gpu: u16) -> Slow {
    let own = events.iter().filter(|event| event.gpu == gpu);
    let mut all = own.filter_map(|event| match event.what {
        Happening::Slow(slow) => Some(slow),
        _ => None,
    });
    all.next_back().expect("a slow reading")
}

fn last_processes(events: &[Event], gpu: u16) -> Vec<ProcessUse> {
    let own = events.iter().filter(|event| event.gpu == gpu);
    let mut all = own.filter_map(|event| match &event.what {
        Happening::Processes(list) => Some(list.clone()),
        _ => None,
    });
    all.next_back().expect("a list of processes")
}

#[test]
fn a_radeon_has_what_its_owner_expects() {
    let (inventory, events) = sampled("rx7900xtx", 3);
    let gpu = &inventory.gpus[0];
    assert_eq!((gpu.index, gpu.vendor), (0, Vendor::Amd));
    assert_eq!(gpu.name, "AMD Radeon RX 7900 XTX");
    assert_eq!(gpu.uuid, "amd-70e5d0b7d9f45a1e");
    assert_eq!(gpu.pci_bus_id.as_deref(), Some("0000:03:00.0"));
    assert_eq!(gpu.memory_total_bytes, Some(25_753_026_560));
    assert_eq!(gpu.sm_clock_max_mhz, Some(2526));
    assert_eq!(gpu.power_limit_default_mw, Some(355_000));
    // The slot's link is the one above the card's own switch.
    assert_eq!(
        (gpu.pcie_generation_max, gpu.pcie_width_max),
        (Some(4), Some(16))
    );
    assert_eq!(inventory.driver.as_deref(), Some("amdgpu"));
    assert_eq!(inventory.nvml_absent, None, "nobody misses NVML here");

    let states = states(&events, 0);
    assert_eq!(states.len(), 31);
    let expected = State {
        busy_percent: Some(97),
        memory_busy_percent: Some(41),
        power_mw: Some(303_000),
        temperature_c: Some(54),
        hotspot_temperature_c: Some(71),
        memory_temperature_c: Some(66),
        sm_clock_mhz: Some(2482),
        memory_clock_mhz: Some(1249),
        // The power cap's bit.
        event_reasons: Some(0x4),
        memory_used_bytes: Some(8 << 30),
        shared_memory_used_bytes: Some(100 << 20),
        asleep: Some(0),
        ..State::default()
    };
    assert_eq!(states[0], expected);
    let steady = last_steady(&events, 0);
    assert_eq!(steady.margin_c, Some(39), "junction: 110 less 71");
    assert_eq!((steady.fan_percent, steady.fan_rpm), (Some(40), Some(1450)));
    assert_eq!(steady.media_percent, Some(3));
    let slow = last_slow(&events, 0);
    assert_eq!((slow.pcie_generation, slow.pcie_width), (Some(3), Some(8)));
    assert_eq!(
        (slow.power_limit_mw, slow.pcie_replays),
        (Some(339_000), Some(2))
    );
    assert_eq!(slow.ecc_corrected, None, "no such counters");
}

#[test]
fn an_instinct_server_counts_energy_errors_and_time_held_back() {
    let (tree, proc_root) = (Tree::of("mi300x"), proc_folder(&[(4711, "python3")]));
    let settings = tree.settings(proc_root.path());
    let span = Duration::from_secs(10);
    let (inventory, events) = tree.sample(&settings, span, |tree, at| {
        // 742 W; a quarter of the time under the power cap; 1 GB/s over XGMI.
        let path = tree.device("card0").join("gpu_metrics");
        let micros = at.as_micros() as u64;
        poke(
            &path,
            24,
            &(65_536_000 + micros * 742 * 65_536 / 1_000_000).to_le_bytes(),
        );
        poke(&path, 32, &(1_000_000_000 + micros * 1000).to_le_bytes());
        poke(&path, 40, &(1000 + (micros / 1000) as u32).to_le_bytes());
        poke(&path, 48, &(250 + (micros / 4000) as u32).to_le_bytes());
        poke(&path, 136, &(1000 + micros).to_le_bytes());
    });
    assert_eq!(inventory.gpus.len(), 2);
    assert_eq!(inventory.gpus[1].index, 1);
    assert_eq!(inventory.gpus[0].name, "AMD Instinct MI300X OAM");
    assert_eq!(inventory.driver.as_deref(), Some("amdgpu 6.12.12"));
    let last = *states(&events, 0).last().unwrap();
    assert_eq!(last.temperature_c, Some(61), "there is no other sensor");
    assert_eq!(last.hotspot_temperature_c, Some(61));
    assert_eq!(
        (last.power_mw, last.power_instant_mw),
        (Some(742_000), Some(742_000))
    );
    assert_eq!(last.sm_clock_mhz, Some(2100));
    assert_eq!(last.event_reasons, Some(0x4));
    let held = last.power_cap_ns.unwrap();
    assert!((held - 2_500_000_000).abs() < 30_000_000, "{held}");
    assert_eq!(last.software_thermal_ns, Some(0));
    let slow = last_slow(&events, 0);
    assert_eq!(
        (slow.ecc_corrected, slow.ecc_uncorrected),
        (Some(4), Some(0))
    );
    assert_eq!((slow.pcie_generation, slow.pcie_width), (Some(5), Some(16)));
    let steady = last_steady(&events, 0);
    let rate = steady.xgmi_read_bytes_s.unwrap();
    assert!((rate - 1_000_000_000).abs() < 10_000_000, "{rate}");
    // ROCm's process is on both, and computes.
    for gpu in [0, 1] {
        let list = last_processes(&events, gpu);
        assert_eq!(list.len(), 1, "{list:?}");
        assert_eq!((list[0].pid, list[0].compute), (4711, true));
        assert_eq!(list[0].memory_bytes, Some(149_250_113_536));
        assert_eq!(list[0].busy_percent, None, "ROCm's queues are not counted");
    }
    // The counter and the samples of power agree.
    let mut collector = Collector::new(
        inventory,
        events[0].at,
        span,
        Expectation::Load,
        &Schedule::default(),
    );
    events.iter().for_each(|event| collector.push(event));
    let report = collector.finish();
    let gpu = &report.body.gpus[0];
    let energy = gpu.energy.as_ref().unwrap();
    assert!((energy.mean_watts - 742.0).abs() < 8.0, "{energy:?}");
    assert!((energy.sampled_joules.unwrap() / energy.counter_joules - 1.0).abs() < 0.02);
    assert_eq!(gpu.fitness, Fitness::Fit, "{:?}", report.findings);
    let text = baseline_text(&report.body);
    assert!(text.contains("gfx clock MHz"), "{text}");
    assert!(text.contains("held back: power cap 25.0 %"), "{text}");
}

#[test]
fn an_apu_whose_table_has_no_units_is_read_from_files() {
    let (inventory, events) = sampled("apu", 1);
    let gpu = &inventory.gpus[0];
    assert_eq!(gpu.uuid, "pci-0000:04:00.0", "it has no number of its own");
    assert_eq!(gpu.memory_total_bytes, Some(1 << 30));
    assert_eq!(gpu.shared_memory_total_bytes, Some(8_263_823_360));
    let last = *states(&events, 0).last().unwrap();
    assert_eq!(last.busy_percent, Some(37));
    assert_eq!(last.power_mw, Some(9144));
    assert_eq!(last.temperature_c, Some(61));
    assert_eq!(last.sm_clock_mhz, Some(1100));
    assert_eq!(last.memory_clock_mhz, Some(800));
    assert_eq!(last.event_reasons, Some(0x2), "clocks are set by hand");
    assert_eq!(last.memory_busy_percent, None);

    let (_, events) = sampled("strix", 1);
    let last = *states(&events, 0).last().unwrap();
    assert_eq!((last.busy_percent, last.power_mw), (Some(63), Some(28_400)));
    assert_eq!(
        (last.sm_clock_mhz, last.temperature_c),
        (Some(1980), Some(58))
    );
    assert_eq!(last.event_reasons, Some(0));
}

#[test]
fn a_card_without_a_table_has_its_sensors() {
    let (inventory, events) = sampled("old_radeon", 1);
    assert!(inventory.gpus[0].unread.is_empty());
    let last = *states(&events, 0).last().unwrap();
    assert_eq!(last.busy_percent, Some(12));
    assert_eq!(last.power_mw, Some(33_190));
    assert_eq!(last.sm_clock_mhz, Some(608), "the level with the star");
    assert_eq!(last.memory_clock_mhz, Some(300));
    assert_eq!(last.event_reasons, None, "nobody says what holds it back");
    assert_eq!(last.asleep, None);
    let slow = last_slow(&events, 0);
    assert_eq!((slow.pcie_generation, slow.pcie_width), (Some(3), Some(16)));
}

#[test]
fn a_table_of_another_version_is_named_and_the_rest_is_read() {
    let (inventory, events) = sampled("future", 1);
    let said = "gpu_metrics version 1.77 is not known to this program";
    assert_eq!(inventory.gpus[0].unread, [said]);
    let last = *states(&events, 0).last().unwrap();
    assert_eq!(last.busy_percent, Some(96), "the file's, not the table's");
    assert_eq!(last.power_mw, Some(303_000));
    assert_eq!(last.hotspot_temperature_c, Some(71));
    assert_eq!(last.sm_clock_mhz, Some(2482));
    let tree = Tree::of("future");
    let proc_root = proc_folder(&[]);
    let settings = tree.settings(proc_root.path());
    let machine = Machine::open(&settings).unwrap();
    let text = snapshot_text(&snapshot(machine, &settings, Duration::from_secs(5)));
    assert!(text.contains(&format!("not read: {said}")), "{text}");
}

#[test]
fn an_arc_under_i915_says_power_by_its_energy() {
    let (tree, proc_root) = (Tree::of("arc_i915"), proc_folder(&[(900, "blender")]));
    let settings = tree.settings(proc_root.path());
    let span = Duration::from_secs(10);
    let (inventory, events) = tree.sample(&settings, span, |tree, at| {
        let micros = at.as_micros();
        let energy = format!("{}\n", 1_000_000_000 + micros * 150);
        tree.set("card0", "hwmon/hwmon3/energy1_input", &energy);
        // At rest for a fifth of the time.
        let idle = format!("{}\n", 500_000 + micros / 5000);
        tree.set("card0", "drm/card0/gt/gt0/rc6_residency_ms", &idle);
        let text = format!(
            "drm-driver: i915\ndrm-client-id: 7\ndrm-pdev: 0000:03:00.0\n\
             drm-total-local0: 4 GiB\ndrm-resident-local0: 3072 MiB\ndrm-resident-system0: 10 MiB\n\
             drm-engine-render: {} ns\ndrm-engine-video: {} ns\ndrm-engine-capacity-video: 2\n",
            micros * 750,
            micros * 500
        );
        open_card(proc_root.path(), 900, 12, &text);
    });
    let gpu = &inventory.gpus[0];
    assert_eq!(gpu.vendor, Vendor::Intel);
    assert_eq!(gpu.memory_total_bytes, Some(17_079_205_888));
    assert_eq!(gpu.sm_clock_max_mhz, Some(2400));
    assert_eq!(gpu.power_limit_default_mw, Some(225_000));
    assert_eq!(
        (gpu.pcie_generation_max, gpu.pcie_width_max),
        (Some(4), Some(16))
    );
    let states = states(&events, 0);
    assert_eq!(
        states[0].power_mw, None,
        "one reading of a counter is no power"
    );
    let last = *states.last().unwrap();
    assert_eq!(last.power_mw, Some(150_000));
    assert_eq!(
        (last.temperature_c, last.sm_clock_mhz),
        (Some(67), Some(2400))
    );
    assert_eq!(last.event_reasons, Some(0x4));
    assert_eq!(last.busy_percent, Some(75));
    assert_eq!(last.memory_used_bytes, Some(3 << 30));
    let steady = last_steady(&events, 0);
    assert_eq!(
        (steady.awake_percent, steady.fan_rpm),
        (Some(80), Some(1710))
    );
    assert_eq!(steady.media_percent, Some(25), "half of one of two engines");
    let slow = last_slow(&events, 0);
    assert_eq!(
        (slow.power_limit_mw, slow.pcie_width),
        (Some(190_000), Some(16))
    );
    let list = last_processes(&events, 0);
    assert_eq!((list[0].pid, list[0].busy_percent), (900, Some(75)));
    assert_eq!(list[0].memory_bytes, Some(3 << 30));
    assert!(
        !list[0].compute,
        "OpenCL on the render engine looks like drawing"
    );
    let name = events.iter().find_map(|event| match &event.what {
        Happening::Process(who) if who.pid == 900 => who.name.clone(),
        _ => None,
    });
    assert_eq!(name.as_deref(), Some("blender"));
    let energy: Vec<i64> = events
        .iter()
        .filter_map(|event| match event.what {
            Happening::Energy(energy) => energy.energy_mj,
            _ => None,
        })
        .collect();
    assert_eq!(energy.last().unwrap() - energy[0], 1_500_000);
}

#[test]
fn an_arc_under_xe_says_cycles_and_its_reasons() {
    let (tree, proc_root) = (Tree::of("arc_xe"), proc_folder(&[(901, "llama-server")]));
    let settings = tree.settings(proc_root.path());
    let (inventory, events) = tree.sample(&settings, Duration::from_secs(6), |tree, at| {
        let micros = at.as_micros();
        let energy = format!("{}\n", 500_000_000 + micros * 120);
        tree.set("card0", "hwmon/hwmon5/energy1_input", &energy);
        let text = format!(
            "drm-driver: xe\ndrm-client-id: 3\ndrm-pdev: 0000:03:00.0\n\
             drm-total-vram0: 9000000 KiB\ndrm-resident-vram0: 9000000 KiB\n\
             drm-cycles-ccs: {}\ndrm-total-cycles-ccs: {}\n",
            micros * 18,
            micros * 20
        );
        open_card(proc_root.path(), 901, 5, &text);
    });
    assert_eq!(inventory.gpus[0].memory_total_bytes, Some(12 << 30));
    assert_eq!(
        inventory.gpus[0].sm_clock_max_mhz,
        Some(2850),
        "not the video GT's"
    );
    let last = *states(&events, 0).last().unwrap();
    assert_eq!(last.power_mw, Some(120_000), "the card's counter");
    assert_eq!(
        (last.temperature_c, last.memory_temperature_c),
        (Some(62), Some(70))
    );
    // Heat and a limit of current; what only caps the frequency is no throttling.
    assert_eq!(last.event_reasons, Some(0x20 | (1 << 16)));
    assert_eq!(last.busy_percent, Some(90));
    assert_eq!(last.memory_used_bytes, Some(9_000_000 << 10));
    let steady = last_steady(&events, 0);
    assert_eq!((steady.margin_c, steady.fan_rpm), (Some(38), Some(1010)));
    assert_eq!(last_slow(&events, 0).power_limit_mw, Some(190_000));
    let list = last_processes(&events, 0);
    assert_eq!((list[0].pid, list[0].compute), (901, true));
}

#[test]
fn a_card_that_sleeps_is_left_asleep() {
    let (inventory, events) = sampled("laptop", 12);
    let [intel, radeon] = &inventory.gpus[..] else {
        panic!("{inventory:?}");
    };
    assert_eq!((intel.vendor, radeon.vendor), (Vendor::Intel, Vendor::Amd));
    assert_eq!(inventory.driver.as_deref(), Some("i915; amdgpu"));
    assert_eq!(intel.pcie_width_max, None, "it is inside of the processor");
    assert_eq!(intel.memory_total_bytes, None);
    let asleep = State {
        asleep: Some(1),
        ..State::default()
    };
    assert!(states(&events, 1).iter().all(|state| *state == asleep));
    let mut board = Board::new(inventory.clone());
    events.iter().for_each(|event| board.apply(event.clone()));
    let text = snapshot_text(&board);
    assert!(text.contains("asleep: to read it would wake it"), "{text}");
    let mut page = String::new();
    metrics_text(&board, events[0].at, ProcessSeries::Off, &mut page);
    let uuid = &radeon.uuid;
    assert!(page.contains(&format!(
        "warpsmith_gpu_asleep{{gpu=\"1\",uuid=\"{uuid}\"}} 1"
    )));
    assert!(!page.contains("warpsmith_gpu_power_watts{gpu=\"1\""));
    // Who sleeps is at rest.
    let start = events[0].at;
    let mut collector = Collector::new(
        inventory,
        start,
        Duration::from_secs(12),
        Expectation::Idle,
        &Schedule::default(),
    );
    events.iter().for_each(|event| collector.push(event));
    let report = collector.finish();
    assert_eq!(
        report.body.gpus[1].fitness,
        Fitness::Fit,
        "{:?}",
        report.findings
    );
    assert_eq!(report.body.gpus[1].asleep_share, Some(1.0));
    assert!(baseline_text(&report.body).contains("asleep 100 % of the time"));
}

#[test]
fn a_gpu_that_somebody_unseen_may_keep_awake_is_not_called_idle() {
    let (inventory, events) = sampled("laptop", 12);
    let judged = |hidden: i64, awake: i64| {
        let mut collector = Collector::new(
            inventory.clone(),
            events[0].at,
            Duration::from_secs(12),
            Expectation::Idle,
            &Schedule::default(),
        );
        for event in &events {
            let mut event = event.clone();
            if let Happening::Steady(steady) = &mut event.what {
                steady.hidden_processes = Some(hidden);
                steady.awake_percent = Some(awake);
            }
            collector.push(&event);
        }
        collector.finish().body.gpus.swap_remove(0)
    };
    assert_eq!(judged(0, 60).fitness, Fitness::Fit, "everybody is visible");
    assert_eq!(judged(3, 1).fitness, Fitness::Fit, "it rested");
    let unknown = judged(3, 60);
    assert_eq!(unknown.fitness, Fitness::CannotTell);
    assert_eq!(unknown.hidden_processes, Some(3));
    let (_, why) = &unknown.unknown[0];
    assert!(why.contains("run as root"), "{why}");
}

#[test]
fn a_card_that_is_pulled_out_is_lost_and_found_again_under_another_number() {
    let (tree, proc_root) = (Tree::of("rx7900xtx"), proc_folder(&[]));
    let settings = tree.settings(proc_root.path());
    let away = tree.root().join("away");
    let device = tree.device("card1");
    let link = tree.root().join("class/drm/card1");
    let (_, events) = tree.sample(&settings, Duration::from_secs(20), |tree, at| {
        if (5..9).contains(&at.as_secs()) && device.exists() {
            fs::rename(&device, &away).unwrap();
        }
        if at.as_secs() >= 9 && away.exists() {
            fs::rename(&away, &device).unwrap();
            fs::rename(&link, tree.root().join("class/drm/card7")).unwrap();
            fs::rename(device.join("drm/card1"), device.join("drm/card7")).unwrap();
            fs::remove_file(tree.root().join("class/drm/card7")).unwrap();
            let place = device.join("drm/card7");
            std::os::unix::fs::symlink(place, tree.root().join("class/drm/card7")).unwrap();
        }
    });
    let presences: Vec<Presence> = events
        .iter()
        .filter_map(|event| match event.what {
            Happening::Presence(presence) => Some(presence),
            _ => None,
        })
        .collect();
    assert_eq!(presences, [Presence::Lost, Presence::Live]);
    let last = *states(&events, 0).last().unwrap();
    assert_eq!(last.busy_percent, Some(97), "it is read again");
}

/// The files of a device and of the folders below it, in a fixed order.
fn files(device: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![device.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

#[test]
fn files_that_go_missing_or_hold_garbage_leave_the_others_alone() {
    const GARBAGE: [&[u8]; 4] = [
        b"",
        b"\xff\xfe\x00",
        b"-99999999999999999999",
        b"nonsense\n",
    ];
    let proc_root = proc_folder(&[]);
    let trees = [
        ("rx7900xtx", "card1"),
        ("mi300x", "card0"),
        ("old_radeon", "card0"),
        ("arc_xe", "card0"),
    ];
    for (name, card) in trees {
        let whole = Tree::of(name);
        let count = files(&whole.device(card)).len();
        for nth in 0..count {
            for contents in [Some(GARBAGE[nth % GARBAGE.len()]), None] {
                let tree = Tree::of(name);
                let path = files(&tree.device(card)).swap_remove(nth);
                // Without its ids a card is none.
                if ["vendor", "device"].iter().any(|id| path.ends_with(id)) {
                    continue;
                }
                match contents {
                    Some(contents) => fs::write(&path, contents).unwrap(),
                    None => fs::remove_file(&path).unwrap(),
                }
                let settings = tree.settings(proc_root.path());
                let span = Duration::from_millis(150);
                let (inventory, events) = tree.sample(&settings, span, |_, _| {});
                let file = path.display();
                assert!(!inventory.gpus.is_empty(), "{file}");
                let lost = |event: &Event| matches!(event.what, Happening::Presence(_));
                assert!(!events.iter().any(lost), "{file}");
                for state in states(&events, 0) {
                    let busy = state.busy_percent.unwrap_or(0);
                    assert!((0..=100).contains(&busy), "{file}: {state:?}");
                    assert!(state.power_mw.unwrap_or(0) >= 0, "{file}: {state:?}");
                    let some = name != "rx7900xtx" || state.temperature_c.is_some();
                    assert!(some, "{file}: one sensor of many");
                }
            }
        }
    }
}

#[test]
fn cards_come_behind_nvmls_gpus_and_are_chosen_by_number() {
    let fake = Fake::new(r#"{"gpus": [{"count": 2}]}"#);
    let (tree, proc_root) = (Tree::of("rx7900xtx"), proc_folder(&[]));
    let mut settings = tree.settings(proc_root.path());
    settings.library = Some(fake.path());
    let numbers = |settings: &_| -> Vec<(u32, Vendor)> {
        let machine = Machine::open(settings).unwrap();
        let gpus = machine.inventory().gpus.iter();
        gpus.map(|gpu| (gpu.index, gpu.vendor)).collect()
    };
    assert_eq!(
        numbers(&settings),
        [(0, Vendor::Nvidia), (1, Vendor::Nvidia), (2, Vendor::Amd)]
    );
    settings.gpus = vec![2];
    assert_eq!(numbers(&settings), [(2, Vendor::Amd)]);
    settings.gpus = vec![3];
    let refused = Machine::open(&settings).map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, OpenError::NoSuchGpu { asked: 3, count: 3 }),
        "{refused}"
    );
    // Without NVML the same card is the first.
    let mut alone = tree.settings(proc_root.path());
    alone.gpus = vec![0];
    assert_eq!(numbers(&alone), [(0, Vendor::Amd)]);
}

#[test]
fn an_nvml_that_hangs_keeps_no_card_from_being_read() {
    let fake =
        Fake::in_real_time(r#"{"faults": [{"gpu": 0, "call": "nvmlInit_v2", "hang_s": 36000}]}"#);
    let (tree, proc_root) = (Tree::of("rx7900xtx"), proc_folder(&[]));
    let mut settings = tree.settings(proc_root.path());
    settings.library = Some(fake.path());
    settings.patience = Duration::from_millis(300);
    let machine = Machine::open(&settings);
    let gpus = machine.map(|machine| machine.inventory().gpus.len());
    fake.abandon();
    assert_eq!(gpus.unwrap(), 1);
}

#[test]
fn a_snapshot_has_rates_too_and_a_recording_keeps_every_field() {
    let (tree, proc_root) = (Tree::of("rx7900xtx"), proc_folder(&[(77, "game")]));
    let text = "drm-driver: amdgpu\ndrm-client-id: 5\ndrm-pdev: 0000:03:00.0\n\
                drm-memory-vram: 1048576 KiB\ndrm-engine-gfx: 5000 ns\n";
    open_card(proc_root.path(), 77, 3, text);
    let settings = tree.settings(proc_root.path());
    let machine = Machine::open(&settings).unwrap();
    let board = snapshot(machine, &settings, Duration::from_secs(5));
    let processes = board.gpus[0].processes.as_ref().unwrap();
    assert_eq!(processes[0].busy_percent, Some(0), "two looks");
    assert_eq!(processes[0].memory_bytes, Some(1 << 30));
    let text = snapshot_text(&board);
    for part in [
        "driver amdgpu, 1 GPUs",
        "GPU 0  AMD Radeon RX 7900 XTX  amd-70e5d0b7d9f45a1e",
        "busy 97 %, memory busy 41 %, power 303 W of 339 W, 54 °C (39 left)",
        "gfx 2482 MHz, clocks: power cap",
        "hotspot 71 °C, memory 66 °C, shared memory 0.1/31 GiB, video 3 %, fan 40 % (1450/min)",
        "process 77",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }

    let (inventory, events) = tree.sample(&settings, Duration::from_secs(4), |_, _| {});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("radeon.wsrec");
    let mut writer = RecordingWriter::create(&path, &inventory).unwrap();
    events
        .iter()
        .for_each(|event| writer.push(event.clone()).unwrap());
    writer.finish().unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.inventory(), &inventory);
    let read: Vec<Event> = recording.events().map(Result::unwrap).collect();
    assert_eq!(read, events);
}

#[test]
fn the_exporter_has_one_name_for_a_quantity_whoever_made_the_gpu() {
    let page = |name: &str| {
        let (inventory, events) = sampled(name, 3);
        let mut board = Board::new(inventory);
        events.iter().for_each(|event| board.apply(event.clone()));
        let mut page = String::new();
        metrics_text(&board, Micros(0), ProcessSeries::On, &mut page);
        page
    };
    for (name, vendor) in [("rx7900xtx", "AMD"), ("arc_xe", "Intel")] {
        let page = page(name);
        for metric in [
            "warpsmith_gpu_temperature_celsius",
            "warpsmith_gpu_memory_temperature_celsius",
            "warpsmith_gpu_sm_clock_hertz",
            "warpsmith_gpu_power_limit_watts",
            "warpsmith_gpu_thermal_margin_celsius",
            "warpsmith_gpu_fan_rpm",
            "warpsmith_gpu_pcie_width",
            "warpsmith_gpu_memory_total_bytes",
        ] {
            assert!(
                page.contains(&format!("\n{metric}{{gpu=\"0\"")),
                "{metric}: {page}"
            );
        }
        assert!(page.contains(&format!("vendor=\"{vendor}\"")), "{page}");
        // What is not known has no line.
        assert!(!page.contains("warpsmith_gpu_ecc"), "{page}");
        assert!(!page.contains("warpsmith_gpu_performance_state"), "{page}");
    }
}
