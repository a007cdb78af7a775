//! Figures of the telemetry on the fake library: CPU of the schedule, the live view, scrapes,
//! recordings, the time from the last sample to the verdict. Each stands beside a floor or a peer of the same run.
//!
//! `cargo bench -p warpsmith-telemetry --bench figures -- scrapes` runs one part; peers (gpustat, nvitop) are skipped where not on the PATH.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write, stdout};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use support::answer::body;
use support::terminal::View;
use support::tree::Tree;
use support::{Fake, proc_folder};
use warpsmith_telemetry::baseline::{Collector, Expectation};
use warpsmith_telemetry::exporter::{Exporter, ProcessSeries, Serving, metrics_text};
use warpsmith_telemetry::fleet::{Reading, hosts, judge_fleet, read_fleet};
use warpsmith_telemetry::recording::{Recording, RecordingWriter};
use warpsmith_telemetry::{
    Board, Clock, Happening, LiveBoard, Machine, Micros, Sampler, Schedule, Settings,
};

const LOAD: &str = r#"{"gpus": [{"count": 1,
    "busy": {"points": [[0, 95]], "noise": 5}, "memory_busy": {"points": [[0, 40]], "noise": 9},
    "power_w": {"points": [[0, 690]], "noise": 9}, "temperature_c": {"points": [[0, 60], [60, 70]]},
    "sm_clock_mhz": {"points": [[0, 1500]], "noise": 40}, "memory_used_mb": 60000,
    "throttle": {"power_cap": 0.9}, "processes": [{"pid": 4711, "count": 4, "memory_mb": 15000}]}]}"#;

fn say(line: &str) {
    // A figure that cannot be printed cannot be read either.
    let _ = writeln!(stdout(), "{line}");
}

/// CPU time of all threads of this process, from the scheduler's nanosecond counters.
fn cpu_nanoseconds() -> u64 {
    cpu_nanoseconds_of(std::process::id())
}

fn cpu_nanoseconds_of(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

fn eight() -> String {
    LOAD.replace("\"count\": 1", "\"count\": 8")
        .replace("\"count\": 4", "\"count\": 32")
}

/// How much of a core the full schedule takes over some seconds, after others that do not count; and the
/// states that it saw in all of them.
fn core_percent(settings: &Settings, first: u64, then: u64) -> (f64, usize) {
    let machine = Machine::open(settings).expect("the machine opens");
    let (sampler, events) = Sampler::start(machine, settings);
    std::thread::sleep(Duration::from_secs(first));
    let (before, start) = (cpu_nanoseconds(), Instant::now());
    std::thread::sleep(Duration::from_secs(then));
    let share = (cpu_nanoseconds() - before) as f64 / start.elapsed().as_nanos() as f64;
    sampler.stop();
    let is_state = |happening: &Happening| matches!(happening, Happening::State(_));
    let states = events.try_iter().filter(|e| is_state(&e.what)).count();
    (100.0 * share, states)
}

fn schedule_cpu() {
    for (name, scenario) in [("1 GPU", LOAD.to_owned()), ("8 GPUs", eight())] {
        let fake = Fake::in_real_time(&scenario);
        let settings = fake.settings(std::path::Path::new("/proc"));
        // The first second introduces processes and fills the rings.
        let (percent, states) = core_percent(&settings, 2, 20);
        say(&format!(
            "full schedule, {name}, fake library: {percent:.3} % of a core ({states} states in 22 s)"
        ));
    }
}

/// The full schedule of a card that is read through the kernel's files, on a tree in a temporary folder
/// and this machine's own processes.
fn cards_cpu() {
    for (name, tree) in [
        ("a Radeon", "rx7900xtx"),
        ("two Instincts", "mi300x"),
        ("an Arc", "arc_xe"),
    ] {
        let tree = Tree::of(tree);
        let settings = tree.settings(std::path::Path::new("/proc"));
        // The first looks at all processes are the dear ones: they are not those of every day.
        let (percent, states) = core_percent(&settings, 10, 30);
        say(&format!(
            "full schedule, {name}, files in a folder: {percent:.3} % of a core ({states} states in 40 s)"
        ));
    }
}

/// The live view as `warpsmith watch` runs it, on this terminal.
fn show_watch() {
    use warpsmith_telemetry::screen::{ScreenOptions, Source, run};
    use warpsmith_telemetry::{LiveMachine, Settings, Tier};
    let frame = Duration::from_millis(500);
    let settings = Settings {
        library: std::env::var_os("WARPSMITH_NVML_LIBRARY").map(Into::into),
        schedule: Schedule::default().with(Tier::State, frame),
        process_use: true,
        ..Settings::default()
    };
    let options = ScreenOptions {
        ended: Default::default(),
        colour: true,
        title: String::new(),
        frame,
        proc_root: settings.proc_root.clone(),
    };
    let machine = LiveMachine::start(&settings);
    run(Source::Live(machine.board()), &options).expect("drawn");
    machine.stop();
}

/// `watch` on a terminal with eight GPUs: this program's view, and the program where it is on the PATH.
fn watch() {
    let fake = Fake::in_real_time(&eight());
    let folder = fake.path().parent().expect("a folder").to_owned();
    let scenario = folder.join("eight.json");
    std::fs::write(&scenario, eight()).expect("written");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path)
        .map(|folder| folder.join("warpsmith"))
        .find(|program| program.is_file());
    let own = std::env::current_exe().expect("a program has a path");
    let shown = [
        Some((own, "show-watch")),
        installed.map(|path| (path, "watch")),
    ];
    for (program, verb) in shown.into_iter().flatten() {
        for size in [(80, 24), (200, 50)] {
            let open = || {
                let mut command = Command::new(&program);
                command
                    .arg(verb)
                    .env("WARPSMITH_NVML_LIBRARY", fake.path())
                    .env("FAKE_NVML_SCENARIO", &scenario);
                View::open(command, size)
            };
            // The row of the last GPU has readings.
            let whole = |text: &str| {
                let mut rows = text.lines().skip(10).take(1);
                rows.any(|row| row.trim_start().starts_with('7') && row.contains("/700 W"))
            };
            let mut times: Vec<(f64, f64)> = (0..20)
                .map(|_| {
                    let view = open();
                    view.until("eight GPUs", whole);
                    let title = view.first(|text| text.contains("warpsmith"));
                    let all = view.first(whole);
                    view.quit();
                    let seconds = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64();
                    (seconds(title) * 1e3, seconds(all) * 1e3)
                })
                .collect();
            times.sort_by(|a, b| a.1.total_cmp(&b.1));
            let view = open();
            view.until("eight GPUs", whole);
            std::thread::sleep(Duration::from_secs(3));
            let (cpu, bytes, start) = (
                cpu_nanoseconds_of(view.pid()),
                view.written(),
                Instant::now(),
            );
            std::thread::sleep(Duration::from_secs(20));
            let spent = cpu_nanoseconds_of(view.pid()) - cpu;
            let elapsed = start.elapsed();
            say(&format!(
                "{verb}, 8 GPUs with 32 processes each, {}×{}: first frame {:.1} ms, with all readings P50 \
                 {:.1} ms, worst of 20 {:.1} ms; {:.3} % of a core and {:.0} bytes a frame at 2 Hz",
                size.0,
                size.1,
                times[10].0,
                times[10].1,
                times[19].1,
                spent as f64 / elapsed.as_nanos() as f64 * 100.0,
                (view.written() - bytes) as f64 / (elapsed.as_secs_f64() * 2.0),
            ));
            view.quit();
        }
    }
}

/// One scrape on an open connection; returns the size of the body.
fn scrape(stream: &mut BufReader<TcpStream>) -> usize {
    stream
        .get_mut()
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("sent");
    body(stream).len()
}

fn latencies(
    address: SocketAddr,
    scrapers: usize,
    each: usize,
    pause: Duration,
) -> (Vec<Duration>, usize) {
    let threads: Vec<_> = (0..scrapers)
        .map(|_| {
            std::thread::spawn(move || {
                let stream = TcpStream::connect(address).expect("connected");
                stream.set_nodelay(true).expect("an option");
                let mut stream = BufReader::new(stream);
                let mut size = 0;
                let times: Vec<Duration> = (0..each)
                    .map(|_| {
                        std::thread::sleep(pause);
                        let start = Instant::now();
                        size = scrape(&mut stream);
                        start.elapsed()
                    })
                    .collect();
                (times, size)
            })
        })
        .collect();
    let mut all = Vec::new();
    let mut size = 0;
    for thread in threads {
        let (times, bytes) = thread.join().expect("no panic");
        all.extend(times);
        size = bytes;
    }
    all.sort();
    (all, size)
}

fn show(name: &str, (times, size): (Vec<Duration>, usize)) {
    let at = |p: f64| times[((times.len() - 1) as f64 * p) as usize].as_secs_f64() * 1e3;
    say(&format!(
        "{name}: P50 {:.3} ms, P99 {:.3} ms, {} scrapes of {size} bytes",
        at(0.5),
        at(0.99),
        times.len()
    ));
}

/// The least that any server does: the same number of bytes, from a thread per connection.
fn floor_server(body: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let body = Arc::new(body);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = Arc::clone(&body);
            std::thread::spawn(move || {
                stream.set_nodelay(true).expect("an option");
                let mut reader = BufReader::new(stream);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|n| n > 0) {
                    if line.trim().is_empty() {
                        let head =
                            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                        let mut bytes = head.into_bytes();
                        bytes.extend_from_slice(&body);
                        if reader.get_mut().write_all(&bytes).is_err() {
                            return;
                        }
                    }
                    line.clear();
                }
            });
        }
    });
    address
}

fn scrapes() {
    let fake = Fake::in_real_time(&eight());
    let settings = fake.settings(std::path::Path::new("/proc"));
    let machine = Machine::open(&settings).expect("the fake machine opens");
    let inventory = machine.inventory().clone();
    let (sampler, events) = Sampler::start(machine, &settings);
    let board = Arc::new(LiveBoard::new(inventory, events));
    let any = "127.0.0.1:0".parse().expect("an address");
    let serving = Serving {
        processes: ProcessSeries::On,
        ..Serving::default()
    };
    let exporter = Exporter::start(any, Arc::clone(&board), serving).expect("a port");
    std::thread::sleep(Duration::from_secs(2));
    let mut page = String::new();
    let start = Instant::now();
    for _ in 0..100 {
        page.clear();
        metrics_text(
            &board.now(),
            Clock::System.now(),
            ProcessSeries::On,
            &mut page,
        );
    }
    say(&format!(
        "rendering 8 GPUs and 32 processes each: {:.3} ms",
        start.elapsed().as_secs_f64() * 10.0
    ));
    let floor = floor_server(page.into_bytes());
    // Longer apart than a page lives: every scrape renders.
    let pause = Duration::from_millis(60);
    show(
        "scrape, one scraper",
        latencies(exporter.address(), 1, 100, pause),
    );
    show("floor, one scraper", latencies(floor, 1, 100, pause));
    show(
        "scrape, 100 scrapers at 1 Hz",
        latencies(exporter.address(), 100, 5, Duration::from_secs(1)),
    );
    show(
        "floor, 100 scrapers at 1 Hz",
        latencies(floor, 100, 5, Duration::from_secs(1)),
    );
    show(
        "scrape, 100 scrapers without pause",
        latencies(exporter.address(), 100, 20, Duration::ZERO),
    );
    show(
        "floor, 100 scrapers without pause",
        latencies(floor, 100, 20, Duration::ZERO),
    );
    let ended = Arc::new(AtomicBool::new(false));
    let crowd = crowd(exporter.address(), Arc::clone(&ended));
    std::thread::sleep(Duration::from_secs(2));
    let (mut times, mut lost, mut bytes) = (Vec::new(), 0, 0);
    for _ in 0..300 {
        std::thread::sleep(pause);
        let start = Instant::now();
        match scrape_once(exporter.address()) {
            Some(page) => {
                times.push(start.elapsed());
                bytes = page;
            }
            None => lost += 1,
        }
    }
    times.sort_unstable();
    show(
        "scrape, 1,000 silent and 200 slow clients beside it",
        (times, bytes),
    );
    say(&format!("of 300 such scrapes without an answer: {lost}"));
    ended.store(true, Ordering::Relaxed);
    crowd.join().expect("the crowd went");
    sampler.stop();
}

/// One scrape over a connection of its own: the size of the page, where it came.
fn scrape_once(address: SocketAddr) -> Option<usize> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).ok()?;
    let mut page = Vec::new();
    stream.read_to_end(&mut page).ok()?;
    page.starts_with(b"HTTP/1.1 200").then_some(page.len())
}

/// A thousand connections that say nothing and two hundred that say a letter every half second; all of
/// them come back when they are sent away.
fn crowd(address: SocketAddr, ended: Arc<AtomicBool>) -> JoinHandle<()> {
    let connect = move || {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(stream)
    };
    std::thread::spawn(move || {
        let mut clients: Vec<Option<TcpStream>> = (0..1_200).map(|_| connect()).collect();
        while !ended.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(500));
            for (at, client) in clients.iter_mut().enumerate() {
                let here = client.as_mut().is_some_and(|stream| {
                    let silent = at < 1_000 || stream.write_all(b"G").is_ok();
                    let waits = stream.read(&mut [0]);
                    silent && waits.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
                });
                if !here {
                    *client = connect();
                }
            }
        }
    })
}

fn recordings() {
    let fake = Fake::new(LOAD);
    let proc_root = proc_folder(&[(4711, "train.py")]);
    let settings = fake.settings(proc_root.path());
    let (inventory, minute) = fake
        .sample(&settings, Duration::from_secs(60))
        .expect("it opens");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("day.wsrec");
    let mut writer = RecordingWriter::create(&path, &inventory).expect("created");
    let start = Instant::now();
    for nth in 0..24 * 60u64 {
        for event in &minute {
            let mut event = event.clone();
            event.at = Micros(event.at.0 + nth * 60_000_000);
            writer.push(event).expect("written");
        }
    }
    let bytes = writer.finish().expect("finished");
    let written = start.elapsed().as_secs_f64();
    let rate = bytes as f64 / 86_400.0;
    say(&format!(
        "recording, loaded GPU: {rate:.0} B/s; a day in {written:.1} s, {:.1} MB",
        bytes as f64 / 1e6
    ));
    let json: usize = minute
        .iter()
        .map(|event| serde_json::to_string(event).map_or(0, |text| text.len()))
        .sum();
    say(&format!(
        "  the same events as lines of JSON: {:.0} B/s, {:.0} times as much",
        json as f64 / 60.0,
        json as f64 / 60.0 / rate
    ));
    let start = Instant::now();
    let recording = Recording::open(&path).expect("opened");
    let opened = start.elapsed();
    let (first, _) = recording.span().expect("a span");
    let noon = recording.events_from(first.plus(Duration::from_secs(12 * 3600)));
    noon.take(1).for_each(drop);
    say(&format!(
        "  a day opens in {:.1} ms, noon is found after {:.1} ms",
        opened.as_secs_f64() * 1e3,
        start.elapsed().as_secs_f64() * 1e3
    ));

    let begin = minute[0].at;
    let mut collector = Collector::new(
        inventory.clone(),
        begin,
        Duration::from_secs(60),
        Expectation::Load,
        &Schedule::default(),
    );
    minute.iter().for_each(|event| collector.push(event));
    let start = Instant::now();
    let report = collector.finish();
    let samples: usize = report.body.gpus[0]
        .metrics
        .values()
        .map(|metric| metric.series.len())
        .sum();
    say(&format!(
        "verdict after the last sample of a minute: {:.1} ms for {samples} values",
        start.elapsed().as_secs_f64() * 1e3
    ));
    let mut board = Board::new(inventory);
    minute.into_iter().for_each(|event| board.apply(event));
    frames(&board);
}

fn frames(board: &Board) {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use warpsmith_telemetry::screen::{ViewState, draw};
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
    let view = ViewState::default();
    let before = cpu_nanoseconds();
    for _ in 0..200 {
        terminal
            .draw(|frame| draw(frame, board, &view))
            .expect("drawn");
    }
    let each = (cpu_nanoseconds() - before) as f64 / 200e9;
    say(&format!(
        "a frame of 80 by 24: {:.3} ms of CPU, {:.2} % of a core at 10 a second",
        each * 1e3,
        each * 1e3
    ));
}

fn peers() {
    let fake = Fake::in_real_time(LOAD);
    let folder = fake.path().parent().expect("a folder").to_owned();
    // CPU of children that have ended, in hundredths of a second.
    let children_cpu = || -> u64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let ticks = |nth: usize| fields.get(nth).and_then(|field| field.parse::<u64>().ok());
        ticks(13).unwrap_or(0) + ticks(14).unwrap_or(0)
    };
    for (name, arguments) in [
        ("gpustat", ["--json"]),
        ("nvitop", ["-1"]),
        ("warpsmith", ["watch"]),
    ] {
        let (start, before) = (Instant::now(), children_cpu());
        match Command::new(name)
            .args(arguments)
            .env("LD_LIBRARY_PATH", &folder)
            .env("WARPSMITH_NVML_LIBRARY", fake.path())
            .output()
        {
            Ok(output) if output.status.success() => {
                say(&format!(
                    "{name} {}: {:.0} ms a shot on the same library, {} ms of CPU",
                    arguments[0],
                    start.elapsed().as_secs_f64() * 1e3,
                    10 * (children_cpu() - before)
                ));
            }
            Ok(output) => say(&format!(
                "peer {name}: skipped, {}",
                String::from_utf8_lossy(&output.stderr)
                    .lines()
                    .last()
                    .unwrap_or("it failed")
            )),
            Err(_) => say(&format!("peer {name}: skipped, not installed")),
        }
    }
}

/// Exporters of the fleet that is read.
const FLEET: usize = 200;

/// Serves the page of eight busy GPUs on many ports, names them on standard output, and ends with its
/// standard input.
fn serve_fleet() {
    let fake = Fake::new(&eight());
    let processes = proc_folder(&[]);
    let settings = fake.settings(processes.path());
    let (inventory, events) = fake
        .sample(&settings, Duration::from_secs(2))
        .expect("the fake machine opens");
    let mut board = Board::new(inventory);
    events.into_iter().for_each(|event| board.apply(event));
    let mut page = String::new();
    metrics_text(&board, Clock::System.now(), ProcessSeries::On, &mut page);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
    let answer = Arc::new(head + &page);
    for _ in 0..FLEET {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        say(&listener.local_addr().expect("an address").to_string());
        let answer = Arc::clone(&answer);
        std::thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                // Whoever has gone away does not want it.
                let _ = socket.read(&mut [0; 1024]);
                let _ = socket.write_all(answer.as_bytes());
            }
        });
    }
    say(&format!("page {}", page.len()));
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Reads the fleet whose addresses come on standard input: in a process of its own, whose peak of
/// memory is that of reading.
fn read_served_fleet() {
    let named: Vec<String> = std::io::stdin().lines().map_while(Result::ok).collect();
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.unwrap_or("?").trim().to_owned()
    };
    let before = resident();
    for over in [Duration::ZERO, Duration::from_millis(500)] {
        let how = Reading {
            deadline: Duration::from_secs(5),
            over,
            authorization: None,
            authorities: None,
        };
        let (started, cpu) = (Instant::now(), cpu_nanoseconds());
        let hosts = hosts(&named, None).expect("addresses");
        let (body, _) = judge_fleet(read_fleet(&hosts, &how).expect("read"), None);
        let down = body.hosts.iter().filter(|host| host.down.is_some()).count();
        let gpus: usize = body.hosts.iter().map(|host| host.gpus.len()).sum();
        say(&format!(
            "fleet of {} exporters, {gpus} GPUs, {down} down, readings {} ms apart: {:.0} ms, {:.0} ms of CPU, peak {} (before: {before})",
            hosts.len(),
            over.as_millis(),
            started.elapsed().as_secs_f64() * 1e3,
            (cpu_nanoseconds() - cpu) as f64 / 1e6,
            resident()
        ));
    }
}

fn fleet() {
    let program = std::env::current_exe().expect("a program has a path");
    let start = |part: &str| {
        let mut command = Command::new(&program);
        command.arg(part).stdin(std::process::Stdio::piped());
        command
    };
    let mut servers = start("serve-fleet")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let said = BufReader::new(servers.stdout.take().expect("a pipe"));
    let mut reader = start("read-fleet").spawn().expect("it starts");
    let mut addresses = reader.stdin.take().expect("a pipe");
    for line in said.lines().map_while(Result::ok) {
        if let Some(bytes) = line.strip_prefix("page ") {
            say(&format!("a page of the fleet has {bytes} bytes"));
            break;
        }
        writeln!(addresses, "{line}").expect("it reads");
    }
    drop(addresses);
    reader.wait().expect("it ends");
    // Ends with its standard input.
    drop(servers.stdin.take());
    servers.wait().expect("it ends");
}

fn main() {
    // What `fleet` and `watch` start of this program.
    match std::env::args().nth(1).as_deref() {
        Some("serve-fleet") => return serve_fleet(),
        Some("read-fleet") => return read_served_fleet(),
        Some("show-watch") => return show_watch(),
        _ => {}
    }
    // `-- scrapes recordings` leaves the others out.
    let parts: [(&str, fn()); 7] = [
        ("schedule", schedule_cpu),
        ("cards", cards_cpu),
        ("watch", watch),
        ("scrapes", scrapes),
        ("recordings", recordings),
        ("fleet", fleet),
        ("peers", peers),
    ];
    let named: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| named.iter().any(|argument| argument == name);
    let all = !parts.iter().any(|(name, _)| wanted(name));
    for (name, run) in parts {
        if all || wanted(name) {
            run();
        }
    }
}
