//! Many exporters on the loopback, some of them sick, hung or no exporters at all.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::exporter::{served, tls_folder};
use warpsmith_telemetry::baseline::{Collector, Expectation};
use warpsmith_telemetry::exporter::{Exporter, ProcessSeries, WebConfig};
use warpsmith_telemetry::fleet::{
    FleetBody, FleetError, HostReading, Reading, Remark, beside_fleet, hosts, judge_fleet,
    prometheus_endpoint, read_fleet, read_prometheus,
};
use warpsmith_telemetry::recording::Recording;
use warpsmith_telemetry::{Endpoint, Schedule};

/// A listener that answers every request with a page of its own, as it is at that moment.
struct FakeExporter {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FakeExporter {
    fn start(act: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let serve = move || {
            for socket in listener.incoming() {
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                act(socket.expect("a client"));
            }
        };
        let thread = thread::Builder::new().stack_size(128 << 10).spawn(serve);
        Self {
            port,
            stop,
            thread: Some(thread.expect("a thread")),
        }
    }

    fn page(page: impl Fn() -> String + Send + 'static) -> Self {
        Self::start(move |mut socket| {
            let mut request = [0; 1024];
            let _ = socket.read(&mut request);
            let body = page();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            // Whoever has gone away does not want it.
            let _ = socket.write_all(head.as_bytes());
            let _ = socket.write_all(body.as_bytes());
        })
    }

    fn host(&self) -> Endpoint {
        host_at(self.port)
    }
}

impl Drop for FakeExporter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes it up.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

fn host_at(port: u16) -> Endpoint {
    let mut list = hosts(&[format!("127.0.0.1:{port}")], None).expect("an address");
    list.remove(0)
}

/// What is special about a GPU of a page.
#[derive(Clone, Default)]
struct Special {
    gpu: usize,
    power: Option<f64>,
    temperature: Option<f64>,
    clock: Option<f64>,
    lanes: Option<u32>,
    /// Share of time held back by heat.
    thermal: f64,
    limit: Option<f64>,
    extra: &'static str,
}

/// The page of a host with `gpus` busy H200: each a little different from the others, as real ones are.
fn page(node: usize, gpus: usize, driver: &str, special: &Special, since: Instant) -> String {
    let mut text = format!(
        "# HELP warpsmith_build_info The exporter's version.\n# TYPE warpsmith_build_info gauge\n\
         warpsmith_build_info{{version=\"0.2.0\"}} 1\n\
         warpsmith_driver_info{{driver=\"{driver}\",nvml=\"13\"}} 1\n"
    );
    for gpu in 0..gpus {
        let special = if special.gpu == gpu {
            special.clone()
        } else {
            Special::default()
        };
        let labels = format!("gpu=\"{gpu}\",uuid=\"GPU-{node}-{gpu}\"");
        // Spread over a dozen watts, six degrees and three steps of the clock.
        let mixed = (node * 8 + gpu) * 2_654_435_761 % 1013;
        let share = mixed as f64 / 1013.0;
        let power = special.power.unwrap_or(684.0 + 12.0 * share);
        let temperature = special.temperature.unwrap_or((57.0 + 6.0 * share).round());
        let clock = special.clock.unwrap_or(1455.0 + 15.0 * (mixed % 3) as f64) * 1e6;
        let lanes = special.lanes.unwrap_or(16);
        let limit = special.limit.unwrap_or(700.0);
        let thermal = 3.0 + special.thermal * since.elapsed().as_secs_f64();
        let capped = 100.0 + 0.9 * since.elapsed().as_secs_f64();
        text.push_str(&format!(
            "warpsmith_gpu_info{{{labels},name=\"NVIDIA H200\"}} 1\n\
             warpsmith_gpu_up{{{labels}}} 1\nwarpsmith_gpu_busy_ratio{{{labels}}} 0.98\n\
             warpsmith_gpu_power_watts{{{labels}}} {power}\n\
             warpsmith_gpu_power_limit_watts{{{labels}}} {limit}\n\
             warpsmith_gpu_temperature_celsius{{{labels}}} {temperature}\n\
             warpsmith_gpu_sm_clock_hertz{{{labels}}} {clock}\n\
             warpsmith_gpu_memory_clock_hertz{{{labels}}} 3201000000\n\
             warpsmith_gpu_pcie_width{{{labels}}} {lanes}\n\
             warpsmith_gpu_pcie_width_max{{{labels}}} 16\n\
             warpsmith_gpu_pcie_generation{{{labels}}} 5\n\
             warpsmith_gpu_pcie_generation_max{{{labels}}} 5\n\
             warpsmith_gpu_ecc_uncorrected_errors_total{{{labels}}} 0\n\
             warpsmith_gpu_throttle_seconds_total{{{labels},reason=\"power_cap\"}} {capped}\n\
             warpsmith_gpu_throttle_seconds_total{{{labels},reason=\"hardware_thermal\"}} {thermal}\n"
        ));
    }
    text.push_str(special.extra);
    text
}

const HOW: Reading = Reading {
    // A loaded machine may take a while; the one that hangs is what makes this test wait.
    deadline: Duration::from_secs(4),
    over: Duration::from_millis(300),
    authorization: None,
    authorities: None,
};

fn fleet(exporters: &[FakeExporter]) -> Vec<Endpoint> {
    exporters.iter().map(FakeExporter::host).collect()
}

/// Code, position of the host and GPU of each remark.
fn places(remarks: &[Remark], hosts: &[Endpoint]) -> BTreeSet<(String, usize, String)> {
    let position = |remark: &Remark| {
        let found = hosts
            .iter()
            .position(|host| host.to_string() == remark.host);
        found.expect("a host of the list")
    };
    let place = |remark: &Remark| {
        let gpu = remark.gpu.clone().unwrap_or_default();
        (remark.code.clone(), position(remark), gpu)
    };
    remarks.iter().map(place).collect()
}

fn healthy(node: usize) -> FakeExporter {
    let since = Instant::now();
    FakeExporter::page(move || page(node, 8, "580.1", &Special::default(), since))
}

fn with(node: usize, special: Special) -> FakeExporter {
    let since = Instant::now();
    FakeExporter::page(move || page(node, 8, "580.1", &special, since))
}

#[test]
fn of_two_hundred_exporters_the_sick_ones_are_named_and_nobody_else() {
    let mut exporters: Vec<FakeExporter> = (0..200).map(healthy).collect();
    let since = Instant::now();
    exporters[3] = with(
        3,
        Special {
            gpu: 5,
            power: Some(412.0),
            ..Special::default()
        },
    );
    exporters[4] = FakeExporter::page(move || page(4, 8, "570.7", &Special::default(), since));
    exporters[8] = with(
        8,
        Special {
            gpu: 2,
            thermal: 0.5,
            ..Special::default()
        },
    );
    exporters[9] = FakeExporter::page(move || page(9, 7, "580.1", &Special::default(), since));
    exporters[11] = with(
        11,
        Special {
            gpu: 0,
            lanes: Some(8),
            ..Special::default()
        },
    );
    exporters[12] = with(
        12,
        Special {
            gpu: 4,
            temperature: Some(83.0),
            ..Special::default()
        },
    );
    exporters[13] = with(
        13,
        Special {
            gpu: 1,
            clock: Some(1200.0),
            ..Special::default()
        },
    );
    exporters[14] = with(
        14,
        Special {
            gpu: 6,
            limit: Some(500.0),
            ..Special::default()
        },
    );
    let lost = "warpsmith_gpu_up{gpu=\"7\",uuid=\"GPU-40-7\"} 0\n\
                warpsmith_gpu_down_info{gpu=\"7\",uuid=\"GPU-40-7\",reason=\"the driver lost the GPU\"} 1\n";
    exporters[40] = with(
        40,
        Special {
            gpu: 9,
            extra: lost,
            ..Special::default()
        },
    );
    let broken = "warpsmith_gpu_ecc_uncorrected_errors_total{gpu=\"3\",uuid=\"GPU-41-3\"} 2\n\
                  warpsmith_gpu_xid_errors_total{gpu=\"3\",uuid=\"GPU-41-3\",xid=\"48\"} 1\n";
    exporters[41] = with(
        41,
        Special {
            gpu: 9,
            extra: broken,
            ..Special::default()
        },
    );
    exporters[30] = FakeExporter::page(|| "<html>".to_owned());
    exporters[31] = FakeExporter::page(|| "node_load1 0.5\n".to_owned());
    exporters[32] = FakeExporter::start(|mut socket| {
        let _ = socket.read(&mut [0; 1024]);
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while socket.write_all(&[b'#'; 4096]).is_ok() {}
    });
    let mut list = fleet(&exporters);
    let refused = exporters.swap_remove(17).port;
    list[17] = host_at(refused);
    // Takes connections and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    list[21] = host_at(silent.local_addr().expect("an address").port());

    let read = read_fleet(&list, &HOW).expect("read");
    assert_eq!(read.len(), 200);
    let (body, findings) = judge_fleet(read, None);
    let expected = [
        ("F001", 17, ""),
        ("F001", 21, ""),
        ("F001", 30, ""),
        ("F001", 31, ""),
        ("F001", 32, ""),
        ("F002", 40, "7"),
        ("F003", 3, "5"),
        ("F003", 12, "4"),
        ("F003", 13, "1"),
        ("F004", 8, "2"),
        ("F005", 11, "0"),
        ("F006", 4, ""),
        ("F006", 9, ""),
        ("F006", 14, "6"),
        ("F008", 41, "3"),
    ];
    let expected = expected.map(|(code, host, gpu)| (code.to_owned(), host, gpu.to_owned()));
    assert_eq!(places(&body.remarks, &list), BTreeSet::from(expected));
    let reason = |position: usize| body.hosts[position].down.clone().unwrap_or_default();
    assert_eq!(reason(17), "cannot connect: connection refused");
    assert_eq!(reason(21), "no answer in time: waiting for the answer");
    assert!(reason(30).contains("line 1 is no metric: `<html>`"));
    assert!(reason(31).contains("no metrics of GPUs"));
    assert!(reason(32).contains("longer than"));
    let share = body.hosts[8].gpus[2].held_back["hardware_thermal"];
    assert!((0.2..0.8).contains(&share), "{share}");
    let codes: Vec<&str> = findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    assert_eq!(
        codes,
        ["F001", "F002", "F003", "F004", "F005", "F006", "F008"]
    );
    assert!(findings[0].message.starts_with("5 hosts do not answer"));

    // What is written is what is read.
    let json = serde_json::to_string(&body).expect("JSON");
    let again: FleetBody = serde_json::from_str(&json).expect("the same");
    assert_eq!(again.remarks, body.remarks);
    assert_eq!(again.kinds, body.kinds);
}

#[test]
fn a_healthy_fleet_has_nothing_to_say_and_small_ones_are_not_compared() {
    let exporters: Vec<FakeExporter> = (0..20).map(healthy).collect();
    let read = read_fleet(&fleet(&exporters), &HOW).expect("read");
    let (body, findings) = judge_fleet(read, None);
    assert_eq!((body.remarks, findings.len()), (Vec::new(), 0));
    let [kind] = &body.kinds[..] else {
        panic!("{:?}", body.kinds)
    };
    assert!(kind.compared && kind.gpus == 160 && kind.name == "NVIDIA H200");

    let since = Instant::now();
    let odd = Special {
        gpu: 2,
        power: Some(100.0),
        ..Special::default()
    };
    let few = FakeExporter::page(move || page(0, 4, "580.1", &odd, since));
    let read = read_fleet(&[few.host()], &HOW).expect("read");
    let (body, _) = judge_fleet(read, None);
    assert!(!body.kinds[0].compared && body.remarks.is_empty());
}

#[test]
fn who_moved_is_found_and_a_warmer_room_is_not() {
    let read = |temperatures: fn(usize, usize) -> f64| -> Vec<HostReading> {
        let exporters: Vec<FakeExporter> = (0..5)
            .map(|node| {
                let since = Instant::now();
                FakeExporter::page(move || {
                    let pages: Vec<String> = (0..4)
                        .map(|gpu| {
                            let temperature = Some(temperatures(node, gpu));
                            let special = Special {
                                gpu,
                                temperature,
                                ..Special::default()
                            };
                            let page = page(node, 4, "580.1", &special, since);
                            let of_gpu = format!("gpu=\"{gpu}\"");
                            let lines = page.lines().filter(|line| line.contains(&of_gpu));
                            lines.map(|line| format!("{line}\n")).collect()
                        })
                        .collect();
                    pages.concat()
                })
            })
            .collect();
        let once = Reading {
            over: Duration::ZERO,
            ..HOW
        };
        read_fleet(&fleet(&exporters), &once).expect("read")
    };
    let usual = |node: usize, gpu: usize| 60.0 + ((node * 3 + gpu) % 4) as f64;
    let (before, _) = judge_fleet(read(usual), None);
    assert!(before.remarks.is_empty(), "{:?}", before.remarks);
    // Everything is four degrees warmer, and one GPU eleven: still inside of what its kind has now.
    let later = |node: usize, gpu: usize| {
        let usual = 60.0 + ((node * 3 + gpu) % 4) as f64;
        usual + if (node, gpu) == (2, 2) { 11.0 } else { 4.0 }
    };
    let (after, findings) = judge_fleet(read(later), Some(&before));
    let drifted: Vec<&Remark> = after
        .remarks
        .iter()
        .filter(|one| one.code == "F007")
        .collect();
    let [one] = &drifted[..] else {
        panic!("{:?}", after.remarks)
    };
    assert_eq!(one.gpu.as_deref(), Some("2"));
    assert!(
        one.seen.contains("60 → 71 °C, others of its kind +4 °C"),
        "{}",
        one.seen
    );
    assert!(findings.iter().any(|finding| finding.code == "F007"));
}

#[test]
fn a_baseline_is_compared_with_a_fleet_of_its_kind() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let recording = Recording::open(&folder.join("h200-matmul.wsrec")).expect("a recording");
    let (first, last) = recording.span().expect("samples");
    let mut collector = Collector::new(
        recording.inventory().clone(),
        first,
        last.since(first),
        Expectation::Load,
        &Schedule::default(),
    );
    for event in recording.events() {
        collector.push(&event.expect("whole"));
    }
    let baseline = collector.finish().body;
    let fleet_at = |watts: f64, nodes: usize| {
        let exporters: Vec<FakeExporter> = (0..nodes)
            .map(|node| {
                let since = Instant::now();
                FakeExporter::page(move || {
                    let power = Some(watts + node as f64);
                    let special = Special {
                        power,
                        ..Special::default()
                    };
                    page(node, 1, "580.1", &special, since)
                })
            })
            .collect();
        let once = Reading {
            over: Duration::ZERO,
            ..HOW
        };
        judge_fleet(read_fleet(&fleet(&exporters), &once).expect("read"), None).0
    };
    // The recording's H200 draws 690 W at 1470 MHz and 59 °C.
    let alike = beside_fleet(&baseline, &fleet_at(685.0, 9));
    assert_eq!((alike.compared, &alike.findings[..]), (1, &[][..]));
    let other = beside_fleet(&baseline, &fleet_at(500.0, 9));
    assert_eq!(other.findings[0].code, "F003");
    let seen = &other.findings[0].evidence[0].seen;
    assert!(
        seen.starts_with("690 W, others of its kind 504 ±"),
        "{seen}"
    );
    let few = beside_fleet(&baseline, &fleet_at(500.0, 7));
    assert_eq!((few.compared, few.findings.len()), (0, 0));
    assert!(
        few.not_compared[0].contains("fewer than 8 NVIDIA H200"),
        "{few:?}"
    );
}

#[test]
fn real_exporters_are_read_with_password_and_certificate() {
    let scenario = r#"{"gpus": [{"count": 8, "busy": 97, "pcie": [5, 5, 8, 16]}]}"#;
    let at = |exporter: &Exporter| host_at(exporter.address().port());
    let (plain, _feed) = served(scenario, ProcessSeries::On, WebConfig::default());
    let read = read_fleet(&[at(&plain)], &HOW).expect("read");
    assert_eq!((read[0].down.as_deref(), read[0].gpus.len()), (None, 8));
    let gpu = &read[0].gpus[7];
    assert!(
        gpu.name.contains("H200") && gpu.uuid.starts_with("GPU-"),
        "{gpu:?}"
    );
    assert!(gpu.power_watts.is_some() && gpu.sm_clock_mhz.is_some() && gpu.busy_ratio.is_some());
    assert!(gpu.pcie_width.is_some() && gpu.pcie_width_max.is_some());
    assert!(read[0].driver.is_some() && read[0].exporter.is_some());

    let hash = bcrypt::hash("secret", 4).expect("a hash");
    let (folder, path, _authority) = tls_folder("");
    let text = std::fs::read_to_string(&path).expect("the file");
    std::fs::write(&path, format!("{text}basic_auth_users:\n  alice: {hash}\n")).expect("written");
    let config = WebConfig::read(&path).expect("understood");
    let (exporter, _feed) = served(scenario, ProcessSeries::Off, config);
    let mut secure = at(&exporter);
    let reason = |host: &Endpoint, how: &Reading| -> String {
        let read = read_fleet(std::slice::from_ref(host), how).expect("read");
        read[0].down.clone().unwrap_or_default()
    };
    assert!(
        reason(&secure, &HOW).contains("not an HTTP answer"),
        "plain against TLS"
    );
    secure.tls = true;
    let unknown = read_fleet(std::slice::from_ref(&secure), &HOW);
    assert!(matches!(unknown, Err(FleetError::NoAuthorities(_))));
    let trusting = Reading {
        authorities: Some(folder.path().join("ca.crt")),
        ..HOW
    };
    assert!(reason(&secure, &trusting).contains("--password-file"));
    let known = Reading {
        authorization: Some("Basic YWxpY2U6c2VjcmV0".into()),
        ..trusting
    };
    assert_eq!(reason(&secure, &known), "");
    let stranger = tls_folder("");
    let wrong = Reading {
        authorities: Some(stranger.0.path().join("ca.crt")),
        ..known
    };
    assert!(reason(&secure, &wrong).contains("TLS handshake failed"));
    let empty = Reading {
        authorities: Some(path),
        ..wrong
    };
    assert!(matches!(
        read_fleet(&[secure], &empty),
        Err(FleetError::Authorities(_))
    ));
}

/// A Prometheus that answers every query with this.
fn prometheus(answer: impl Fn(&str) -> String + Send + 'static) -> (FakeExporter, Endpoint) {
    let fake = FakeExporter::start(move |mut socket| {
        let mut request = vec![0; 16 << 10];
        let mut length = 0;
        // The body of a question may come behind its head.
        while !String::from_utf8_lossy(&request[..length]).contains("query=") {
            match socket.read(&mut request[length..]) {
                Ok(read @ 1..) => length += read,
                _ => return,
            }
        }
        let body = answer(&String::from_utf8_lossy(&request[..length]));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let _ = socket.write_all(head.as_bytes());
        let _ = socket.write_all(body.as_bytes());
    });
    let address = format!("http://127.0.0.1:{}/prefix/", fake.port);
    let endpoint = prometheus_endpoint(&address).expect("an address");
    (fake, endpoint)
}

/// What a Prometheus would have of a page of [`page`].
fn scraped(instance: usize, page: &str) -> String {
    let mut series = Vec::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once('{').expect("labels");
        let (labels, value) = rest.split_once("} ").expect("a value");
        let labels: Vec<String> = labels
            .split(',')
            .map(|label| format!("\"{}", label.replacen('=', "\":", 1)))
            .collect();
        series.push(format!(
            "{{\"metric\":{{\"__name__\":\"{name}\",\"job\":\"gpu\",\"instance\":\"n{instance}\",{}}},\"value\":[1.5,\"{value}\"]}}",
            labels.join(",")
        ));
    }
    series.join(",")
}

#[test]
fn a_prometheus_gives_the_table_of_its_exporters() {
    let begun = Instant::now();
    let hot = Special {
        gpu: 2,
        temperature: Some(88.0),
        ..Special::default()
    };
    let (server, endpoint) = prometheus(move |question| {
        assert!(question.starts_with("POST /prefix/api/v1/query HTTP/1.1"));
        assert!(
            question.contains("uthorization: Basic YWxpY2U6c2VjcmV0"),
            "{question}"
        );
        let earlier = question.contains("offset%20300000ms");
        let hosts: Vec<String> = (0..4)
            .map(|node| {
                let special = if node == 1 {
                    hot.clone()
                } else {
                    Special::default()
                };
                let page = page(node, 8, "580.1", &special, begun);
                // Held back by heat for a tenth of the five minutes.
                match (node, earlier) {
                    (3, true) => scraped(node, &page.replace("_thermal\"} 3", "_thermal\"} 1")),
                    (3, false) => scraped(node, &page.replace("_thermal\"} 3", "_thermal\"} 31")),
                    _ => scraped(node, &page),
                }
            })
            .collect();
        let up = "{\"metric\":{\"__name__\":\"up\",\"job\":\"gpu\",\"instance\":\"n9\"},\"value\":[1,\"0\"]}";
        format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"vector\",\"result\":[{},{up}]}}}}",
            hosts.join(",")
        )
    });
    let how = Reading {
        over: Duration::from_secs(300),
        authorization: Some("Basic YWxpY2U6c2VjcmV0".into()),
        ..HOW
    };
    let hosts = read_prometheus(&endpoint, &how).expect("read");
    let (body, _) = judge_fleet(hosts, None);
    assert_eq!(body.hosts.len(), 5);
    assert_eq!(
        body.hosts.iter().map(|host| host.gpus.len()).sum::<usize>(),
        32
    );
    let seen: BTreeSet<(&str, Option<&str>, &str)> = body
        .remarks
        .iter()
        .map(|remark| (&*remark.host, remark.gpu.as_deref(), &*remark.code))
        .collect();
    assert!(seen.contains(&("n1", Some("2"), "F003")), "{seen:?}");
    assert!(seen.contains(&("n9", None, "F001")), "{seen:?}");
    assert!(seen.iter().any(|(host, ..)| *host == "n3"), "{seen:?}");
    assert!(
        !seen.iter().any(|(host, ..)| *host == "n0" || *host == "n2"),
        "{seen:?}"
    );
    drop(server);
}

#[test]
fn a_prometheus_that_is_none_is_named() {
    let refused = |endpoint: &Endpoint| -> String {
        let how = Reading {
            deadline: Duration::from_secs(5),
            ..HOW
        };
        let error = read_prometheus(endpoint, &how).expect_err("refused");
        error.to_string()
    };
    let (server, endpoint) = prometheus(|_| "<html>Grafana</html>".to_owned());
    let said = refused(&endpoint);
    assert!(said.starts_with("Prometheus at 127.0.0.1:"), "{said}");
    assert!(said.contains("not an answer of Prometheus"), "{said}");
    drop(server);
    let (server, endpoint) = prometheus(|_| {
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}".to_owned()
    });
    assert!(refused(&endpoint).contains("no metrics of GPUs"));
    drop(server);
    // A length that is said is refused before anything is kept.
    let flood = FakeExporter::start(|mut socket| {
        let _ = socket.read(&mut [0; 4096]);
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n[");
    });
    let endpoint = prometheus_endpoint(&format!("127.0.0.1:{}", flood.port)).expect("an address");
    assert!(refused(&endpoint).contains("longer than 67108864 bytes"));
    let closed = prometheus_endpoint("127.0.0.1:1").expect("an address");
    assert!(refused(&closed).contains("cannot connect"));
    let secure = prometheus_endpoint("https://127.0.0.1:1").expect("an address");
    assert!(refused(&secure).contains("--ca"));
}
