//! Pods on a node: a kubelet's socket, the exporter that asks it, and the names of dcgm-exporter.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::exporter::get;
use crate::support::{Fake, proc_folder};
use warpsmith_telemetry::exporter::{
    Exporter, Names, PEERS, PodWatch, ProcessSeries, Serving, dcgm_metrics,
};
use warpsmith_telemetry::fleet::{Reading, hosts, read_fleet};

/// A protobuf field with a text or a message in it.
fn field(number: u8, inside: &[u8]) -> Vec<u8> {
    assert!(
        inside.len() < 1 << 14,
        "two groups of seven bits are enough here"
    );
    let mut bytes = vec![number << 3 | 2];
    if inside.len() >= 0x80 {
        bytes.push((inside.len() & 0x7f) as u8 | 0x80);
        bytes.push((inside.len() >> 7) as u8);
    } else {
        bytes.push(inside.len() as u8);
    }
    bytes.extend_from_slice(inside);
    bytes
}

/// A pod of the namespace `ml` with one container that has these GPUs.
fn pod(name: &str, gpus: &[&str]) -> Vec<u8> {
    let ids: Vec<u8> = gpus.iter().flat_map(|id| field(2, id.as_bytes())).collect();
    let devices = [field(1, b"nvidia.com/gpu"), ids].concat();
    let container = [field(1, b"main"), field(2, &devices)].concat();
    field(
        1,
        &[
            field(1, name.as_bytes()),
            field(2, b"ml"),
            field(3, &container),
        ]
        .concat(),
    )
}

/// The frame of HTTP/2: length, kind, flags, stream.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [head, payload.to_vec()].concat()
}

/// Answers one call with a message, as far as HTTP/2 and gRPC need it: settings, a head, data, trailers.
fn answer(mut socket: UnixStream, message: &[u8]) -> std::io::Result<()> {
    let mut preface = [0; 24];
    socket.read_exact(&mut preface)?;
    assert!(preface.starts_with(b"PRI * HTTP/2.0"));
    socket.write_all(&frame(4, 0, 0, &[]))?;
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        socket.read_exact(&mut payload)?;
        match (head[3], head[4]) {
            // Settings are acknowledged.
            (4, 0) => socket.write_all(&frame(4, 1, 0, &[]))?,
            // The end of the request's data: an empty message.
            (0, 1) => {
                assert_eq!(payload, [0; 5]);
                break;
            }
            _ => {}
        }
    }
    // `:status 200` from the static table; names and values without compression.
    let kind = b"\x0f\x10\x10application/grpc";
    socket.write_all(&frame(1, 4, 1, &[b"\x88", &kind[..]].concat()))?;
    let framed = [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat();
    socket.write_all(&frame(0, 0, 1, &framed))?;
    socket.write_all(&frame(1, 5, 1, b"\x00\x0bgrpc-status\x010"))?;
    // Until the client leaves.
    let _ = socket.read_to_end(&mut Vec::new());
    Ok(())
}

/// A kubelet that gives out these pods.
fn kubelet(pods: &[Vec<u8>]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubelet.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let message = pods.concat();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            // Whoever leaves in the middle is answered the next time.
            let _ = answer(socket, &message);
        }
    });
    (folder, path)
}

const SCENARIO: &str = r#"{"gpus": [{"count": 3, "busy": 97, "xids": [[0.5, 31], [0.6, 48]],
    "sm_active": 25, "throttle": {"power_cap": 0.5},
    "processes": [{"pid": 4711, "memory_mb": 10}]}]}"#;
/// The first of them; the others end in their index.
const UUID: &str = "GPU-00000000-0000-0000-0000-00000000000";

fn serve(serving: Serving) -> Exporter {
    let fake = Fake::new(SCENARIO);
    let proc_root = proc_folder(&[(4711, "train")]);
    let uid = "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0";
    let id = "8d7ac2a3b1c94f0e".repeat(4);
    let cgroup = format!("0::/kubepods.slice/kubepods-pod{uid}.slice/cri-containerd-{id}.scope\n");
    std::fs::write(proc_root.path().join("4711/cgroup"), cgroup).expect("written");
    let settings = fake.settings(proc_root.path());
    let (board, _feed) = fake.sample_now(&settings, Duration::from_secs(2));
    let any = "127.0.0.1:0".parse().expect("an address");
    Exporter::start(any, board, serving).expect("a free port")
}

#[test]
fn pods_of_the_kubelet_and_of_control_groups_are_on_the_page() {
    let (first, shared) = (format!("{UUID}0"), format!("{UUID}1"));
    let (_folder, path) = kubelet(&[
        pod("train-0", &[&first]),
        pod("a", &[&format!("{shared}::0"), &format!("{shared}::2")]),
        pod("b", &[&format!("{shared}::1")]),
    ]);
    let exporter = serve(Serving {
        processes: ProcessSeries::On,
        pods: Some(PodWatch::start(&path).expect("a thread")),
        ..Serving::default()
    });
    let page = get(&exporter, "/metrics").1;
    let pods: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("warpsmith_gpu_pod_info{"))
        .collect();
    let line = |gpu: u8, pod: &str| {
        format!(
            "warpsmith_gpu_pod_info{{gpu=\"{gpu}\",uuid=\"{UUID}{gpu}\",namespace=\"ml\",pod=\"{pod}\",container=\"main\"}} 1"
        )
    };
    assert_eq!(pods, [line(0, "train-0"), line(1, "a"), line(1, "b")]);
    assert!(page.contains("warpsmith_kubelet_up 1\n"));
    let process = page
        .lines()
        .find(|line| line.contains("pid=\"4711\""))
        .expect("a process");
    assert!(
        process.contains(
            "container=\"8d7ac2a3b1c9\",pod_uid=\"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\""
        ),
        "{process}"
    );
}

#[test]
fn without_a_kubelet_the_page_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let watch = PodWatch::start(&folder.path().join("nobody.sock")).expect("a thread");
    let failure = watch.now().failure.expect("nobody listens");
    assert!(failure.contains("nobody.sock: cannot connect"), "{failure}");
    let exporter = serve(Serving {
        pods: Some(watch),
        ..Serving::default()
    });
    let page = get(&exporter, "/metrics").1;
    assert!(page.contains("warpsmith_kubelet_up 0\n") && !page.contains("pod_info"));
}

#[test]
fn the_names_labels_and_units_of_dcgm_exporter() {
    let (_folder, path) = kubelet(&[
        pod("train-0", &[&format!("{UUID}0")]),
        pod("x", &["1::0"]),
        pod("y", &["1::1"]),
    ]);
    let exporter = serve(Serving {
        names: Names::Dcgm,
        pods: Some(PodWatch::start(&path).expect("a thread")),
        ..Serving::default()
    });
    let page = get(&exporter, "/metrics").1;
    let lines = |start: &str| -> Vec<&str> {
        page.lines()
            .filter(|line| line.starts_with(start))
            .collect()
    };
    let first = lines("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"");
    let [first] = first[..] else {
        panic!("{first:?}")
    };
    for part in [
        format!("UUID=\"{UUID}0\",pci_bus_id=\""),
        "device=\"nvidia0\",modelName=\"NVIDIA H200".to_owned(),
        "DCGM_FI_DRIVER_VERSION=\"".to_owned(),
        "container=\"main\",namespace=\"ml\",pod=\"train-0\"} 97".to_owned(),
    ] {
        assert!(first.contains(&part), "{part} is not in {first}");
    }
    let shared = lines("DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"");
    assert!(
        shared.len() == 2 && shared[0].contains("pod=\"x\"") && shared[1].contains("pod=\"y\"")
    );
    let free = lines("DCGM_FI_DEV_GPU_UTIL{gpu=\"2\"");
    assert!(
        free[0].contains("container=\"\",namespace=\"\",pod=\"\"}"),
        "{free:?}"
    );
    let value = |name: &str| -> f64 {
        let line = lines(&format!("{name}{{gpu=\"0\""));
        let value = line[0].rsplit(' ').next().expect("a value");
        value.parse().expect("a number")
    };
    assert_eq!(value("DCGM_FI_DEV_SM_CLOCK"), 345.0, "MHz");
    assert_eq!(value("DCGM_FI_DEV_FB_TOTAL"), 143_771.0, "MiB");
    assert_eq!(value("DCGM_FI_DEV_XID_ERRORS"), 48.0, "the last one");
    assert_eq!(value("DCGM_FI_PROF_SM_ACTIVE"), 0.25, "a ratio");
    assert!(value("DCGM_FI_DEV_POWER_VIOLATION") > 1e9, "ns");
    let sum = value("DCGM_FI_DEV_FB_FREE")
        + value("DCGM_FI_DEV_FB_USED")
        + value("DCGM_FI_DEV_FB_RESERVED");
    assert!((sum - value("DCGM_FI_DEV_FB_TOTAL")).abs() <= 2.0, "{sum}");
    assert!(!page.contains("warpsmith_gpu_") && page.contains("process_cpu_seconds_total"));

    // `fleet` reads it as it reads dcgm-exporter.
    let host = hosts(&[exporter.address().to_string()], None).expect("an address");
    let how = Reading {
        deadline: Duration::from_secs(10),
        over: Duration::ZERO,
        authorization: None,
        authorities: None,
    };
    let read = read_fleet(&host, &how).expect("read");
    assert_eq!((read[0].down.as_deref(), read[0].gpus.len()), (None, 3));
    assert_eq!(read[0].gpus[2].busy_ratio, Some(0.97));
    assert!(read[0].driver.is_some());
}

#[test]
fn mig_instances_have_the_labels_of_dcgm_exporter() {
    let mig = "MIG-00000000-0000-0000-0002-000000000000";
    let (_folder, path) = kubelet(&[pod("infer", &[mig])]);
    let fake = Fake::new(
        r#"{"gpus": [{"mig": [
            {"name": "NVIDIA H200 MIG 1g.18gb", "memory_total_mb": 16384, "memory_used_mb": 100},
            {"name": "NVIDIA H200 MIG 3g.71gb", "memory_total_mb": 71000, "memory_used_mb": 5}]}]}"#,
    );
    let proc_root = proc_folder(&[]);
    let settings = fake.settings(proc_root.path());
    let (board, _feed) = fake.sample_now(&settings, Duration::from_secs(6));
    let serving = Serving {
        names: Names::Dcgm,
        pods: Some(PodWatch::start(&path).expect("a thread")),
        ..Serving::default()
    };
    let any = "127.0.0.1:0".parse().expect("an address");
    let exporter = Exporter::start(any, board, serving).expect("a free port");
    let page = get(&exporter, "/metrics").1;
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("DCGM_FI_DEV_FB_USED{"))
        .collect();
    let [gpu, first, second] = lines[..] else {
        panic!("{lines:?}")
    };
    assert!(!gpu.contains("GPU_I_"), "{gpu}");
    let labels = |line: &str, own: &str, pod: &str, value: &str| {
        // The GPU's own uuid: its instances are told apart by profile and number.
        line.contains(&format!("UUID=\"{UUID}0\""))
            && line.contains(&format!("modelName=\"NVIDIA H200\",{own},Hostname="))
            && line.ends_with(&format!("pod=\"{pod}\"}} {value}"))
    };
    let own = "GPU_I_PROFILE=\"1g.18gb\",GPU_I_ID=\"7\"";
    assert!(labels(first, own, "", "100"), "{first}");
    let own = "GPU_I_PROFILE=\"3g.71gb\",GPU_I_ID=\"8\"";
    assert!(labels(second, own, "infer", "5"), "{second}");
    let free = "DCGM_FI_DEV_FB_FREE{gpu=\"0\"";
    let free: Vec<&str> = page.lines().filter(|line| line.starts_with(free)).collect();
    assert!(free[1].ends_with(" 16284"), "{free:?}");
    let power = "DCGM_FI_DEV_POWER_USAGE{";
    assert_eq!(
        page.lines().filter(|line| line.starts_with(power)).count(),
        1
    );
}

#[test]
fn every_dcgm_name_of_the_table_is_served() {
    let served: Vec<&str> = dcgm_metrics().map(|metric| metric.name).collect();
    for peers in PEERS {
        let name = peers.dcgm.split(' ').next().unwrap_or_default();
        // Not served: a count over a window that dcgm-exporter makes itself, and what is a label.
        if name.starts_with("DCGM_FI_") {
            assert!(served.contains(&name), "{name}");
        }
    }
}
