//! A driver that does not come back, at every single call: the exporter answers and says which call
//! it is, the other GPU goes on, and nothing waits at the end.

use std::time::{Duration, Instant};

use crate::support::{Fake, proc_folder};
use warpsmith_telemetry::exporter::{
    Exporter, ProcessSeries, Serving, WebConfig, check_health, metrics_text,
};
use warpsmith_telemetry::{
    Clock, LiveMachine, Machine, Micros, OpenError, Opening, Presence, Settings, snapshot,
};

/// One GPU whole, one cut into instances: together they are asked everything that is ever asked.
const GPUS: &str = r#""gpus": [{"busy": 9, "processes": [{"pid": 4711, "memory_mb": 1000}]},
    {"mig": [{"name": "1g.18gb", "memory_total_mb": 16384, "memory_used_mb": 100}]}]"#;

/// A driver whose `call` hangs for longer than any test, about `gpu` where it is about one.
fn hanging(call: &str, gpu: u32) -> Fake {
    Fake::in_real_time(&format!(
        r#"{{{GPUS}, "faults": [{{"gpu": {gpu}, "call": "{call}", "hang_s": 36000}}]}}"#
    ))
}

fn settings(fake: &Fake) -> Settings {
    Settings {
        stale_after: Duration::from_millis(200),
        patience: Duration::from_millis(300),
        ..fake.settings(&proc_folder(&[]).keep())
    }
}

/// Looks every few milliseconds until `seen` says yes.
fn until(what: &str, mut seen: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !seen() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every function that a minute of sampling calls, opening and closing included.
fn every_call() -> Vec<String> {
    let fake = Fake::new(&format!("{{{GPUS}}}"));
    let proc_root = proc_folder(&[]);
    fake.sample(&fake.settings(proc_root.path()), Duration::from_secs(60))
        .expect("the machine opens");
    let mut names = fake.called();
    names.retain(|name| name.starts_with("nvml"));
    assert!(names.len() > 35, "{names:?}");
    for part in [
        "nvmlInit",
        "nvmlShutdown",
        "nvmlGpmMetricsGet",
        "nvmlEventSetFree",
    ] {
        assert!(names.iter().any(|name| name.starts_with(part)), "{part}");
    }
    names
}

#[test]
fn the_exporter_answers_whichever_call_hangs() {
    let names = every_call();
    // Each hangs in a library of its own; a few at a time, because each is a copy of the file.
    for wave in names.chunks(10) {
        std::thread::scope(|scope| {
            for name in wave {
                let builder = std::thread::Builder::new().name(name.clone());
                builder
                    .spawn_scoped(scope, || answers_while(name))
                    .expect("a thread");
            }
        });
    }
}

fn answers_while(call: &str) {
    // Instances are asked of the second GPU alone.
    let of_instances = ["MigDevice", "GpuInstance"];
    let sick = u32::from(of_instances.iter().any(|part| call.contains(part)));
    let fake = hanging(call, sick);
    let machine = LiveMachine::start(&settings(&fake));
    let any = "127.0.0.1:0".parse().expect("an address");
    let board = machine.board().clone();
    let exporter = Exporter::start(any, board, Serving::default())
        .expect("it listens before the driver answers");
    let page = || {
        let (mut text, board) = (String::new(), machine.board().now());
        metrics_text(&board, Clock::System.now(), ProcessSeries::Off, &mut text);
        text
    };
    let answers = || {
        let limit = Duration::from_secs(30);
        let health = check_health(exporter.address(), "/healthz", limit, &WebConfig::default());
        let said = health.unwrap_or_else(|said| said);
        assert!(!said.contains("no exporter answers"), "{call}: {said}");
    };
    answers();
    // What is called at the very end only cannot hang before.
    let last = ["nvmlShutdown", "nvmlEventSetFree", "nvmlGpmSampleFree"].contains(&call);
    if last {
        until(call, || page().contains("warpsmith_gpu_samples_total"));
    } else {
        // A hang while NVML starts is the start's, whatever it called on the way.
        let said = [call, "nvmlInit_v2"].map(|call| format!("reason=\"{call} does not return\""));
        until(call, || said.iter().any(|said| page().contains(said)));
        let text = page();
        let up = text
            .lines()
            .filter(|line| line.starts_with("warpsmith_gpu_up"));
        assert!(
            up.clone().any(|line| line.ends_with(" 0")),
            "{call}: {text}"
        );
        if call.starts_with("nvmlDevice") && call != "nvmlDeviceGetCount_v2" {
            let healthy = format!("gpu=\"{}\"", 1 - sick);
            until(call, || {
                let text = page();
                let mut up = text
                    .lines()
                    .filter(|line| line.starts_with("warpsmith_gpu_up"));
                up.any(|line| line.contains(&healthy) && line.ends_with(" 1"))
            });
        }
    }
    answers();
    drop(exporter);
    machine.stop();
    fake.abandon();
}

#[test]
fn a_machine_opens_with_what_answers_and_names_what_does_not() {
    let fake = hanging("nvmlDeviceGetUUID", 0);
    let settings = settings(&fake);
    let machine = Machine::open(&settings).expect("the other GPU answers");
    assert_eq!(machine.inventory().gpus.len(), 1);
    assert_eq!(machine.inventory().gpus[0].index, 1);
    let down = &machine.inventory().unreachable;
    assert_eq!(
        down[0].to_string(),
        "GPU 0: nvmlDeviceGetUUID does not return"
    );
    let requested = Settings {
        gpus: vec![0],
        ..settings.clone()
    };
    assert!(matches!(
        Machine::open(&requested),
        Err(OpenError::Silent { asked: 0, .. })
    ));
    fake.abandon();

    let fake = hanging("nvmlInit_v2", 0);
    let settings = Settings {
        library: Some(fake.path()),
        ..settings
    };
    let mut opening = Opening::begin(&settings);
    assert!(!opening.wait(Duration::from_millis(50)));
    assert_eq!(
        opening.waits_for()[0].to_string(),
        "NVML: nvmlInit_v2 does not return"
    );
    let machine = opening.finish().expect("the host is still there");
    let reason = machine.inventory().nvml_absent.clone();
    let reason = reason.expect("a reason");
    assert!(reason.contains("nvmlInit_v2 does not return"), "{reason}");
    fake.abandon();
}

#[test]
fn a_snapshot_has_what_answers_and_says_what_hangs() {
    let fake = hanging("nvmlDeviceGetClockInfo", 0);
    let settings = settings(&fake);
    let machine = Machine::open(&settings).expect("it opens");
    let board = snapshot(machine, &settings, Duration::from_millis(500));
    assert_eq!(board.gpus[0].presence, Presence::Stale);
    assert_eq!(board.gpus[0].hangs_in, Some("nvmlDeviceGetClockInfo"));
    assert_eq!(board.gpus[1].presence, Presence::Live);
    assert!(board.gpus[1].state_at > Some(Micros(0)));
    assert!(board.host.memory_total_bytes.is_some());
    fake.abandon();
}

#[test]
fn a_gpu_that_answers_late_joins() {
    let fake = Fake::in_real_time(&format!(
        r#"{{{GPUS}, "faults": [{{"gpu": 0, "call": "nvmlDeviceGetName", "until_s": 2, "hang_s": 3}}]}}"#
    ));
    let machine = LiveMachine::start(&settings(&fake));
    until("the slow GPU is named", || {
        let board = machine.board().now();
        board
            .inventory
            .unreachable
            .iter()
            .any(|one| one.gpu == Some(0))
    });
    until("it joins", || {
        let board = machine.board().now();
        let of = |index| {
            board
                .inventory
                .gpus
                .iter()
                .position(|gpu| gpu.index == index)
        };
        of(0).is_some_and(|position| board.gpus[position].state_at.is_some())
    });
    assert!(machine.board().now().inventory.unreachable.is_empty());
    machine.stop();
}

#[test]
fn a_requested_gpu_that_is_not_there_is_said() {
    let fake = Fake::in_real_time(&format!("{{{GPUS}}}"));
    let requested = Settings {
        gpus: vec![7],
        ..settings(&fake)
    };
    let machine = LiveMachine::start(&requested);
    assert!(matches!(
        machine.check_requested(),
        Err(OpenError::NoSuchGpu { asked: 7, count: 2 })
    ));
    machine.stop();
}
