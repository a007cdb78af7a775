//! Server here, listeners in a process of their own: so that processor time and memory of the one
//! are not counted for the other.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use super::{Figures, Plan, run};
use crate::access::Limits;
use crate::error::ServeError;
use crate::process;
use crate::server::{Server, Settings};

/// What the server used.
#[derive(Clone, Debug, Serialize)]
pub struct ServerFigures {
    /// What rendered.
    pub device: String,
    /// Processor time while there were listeners.
    pub cpu_seconds: f64,
    /// Percent of one core for one listener.
    pub cpu_percent_per_listener: f64,
    /// Memory without listeners.
    pub resident_bytes_before: u64,
    /// Memory with all of them.
    pub resident_bytes_at_most: u64,
    /// The difference, for each.
    pub resident_bytes_per_listener: f64,
    /// What it counted.
    pub metrics: Value,
}

/// Both sides.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// What was requested.
    pub plan: Plan,
    /// What the listeners saw.
    pub listeners: Figures,
    /// What the server used.
    pub server: ServerFigures,
}

fn failed(why: impl ToString) -> ServeError {
    ServeError::LoadTest {
        why: why.to_string(),
    }
}

/// The listeners' process: the plan on standard input, the figures on standard output.
pub fn listen_as_told() -> Result<(), ServeError> {
    let plan: Plan = serde_json::from_reader(std::io::stdin().lock()).map_err(failed)?;
    let figures = run(&plan)?;
    serde_json::to_writer(std::io::stdout().lock(), &figures).map_err(failed)
}

/// Runs a server, and `listeners`, a program that calls [`listen_as_told`]; `progress` hears how
/// many seconds have passed.
pub fn run_whole(
    settings: Settings,
    mut plan: Plan,
    mut listeners: Command,
    mut progress: impl FnMut(f64),
) -> Result<LoadReport, ServeError> {
    let count = plan.clients;
    let files = process::allow_many_files();
    if files < count as u64 + 64 {
        return Err(failed(format!(
            "{count} listeners need as many open files, and this system allows {files}"
        )));
    }
    let server = Server::start(Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        limits: Limits {
            connections: count + 64,
            listeners: count,
            messages_per_second: 1_000_000,
            ..settings.limits
        },
        ..settings
    })?;
    plan.address = server.address();
    let (memory, cpu) = (process::resident_bytes(), process::cpu_time());
    let watch = MemoryWatch::start();
    let mut child = listeners
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let told = serde_json::to_vec(&plan).map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&told).map_err(failed)?;
    }
    let (begun, whole) = (Instant::now(), plan.ramp_seconds + plan.seconds);
    while child.try_wait().map_err(failed)?.is_none() {
        let passed = begun.elapsed().as_secs_f64();
        if passed > 2.0 * whole + 60.0 {
            child.kill().map_err(failed)?;
            return Err(failed("the listeners did not end in time"));
        }
        progress(passed);
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut text).map_err(failed)?;
    }
    let figures: Figures = serde_json::from_str(&text)
        .map_err(|error| failed(format!("the listeners ended without figures: {error}")))?;
    let cpu_seconds = (process::cpu_time() - cpu).as_secs_f64();
    let most = watch.most();
    let server_figures = ServerFigures {
        device: server.device().to_owned(),
        cpu_seconds,
        // Listeners come and go one after another: each is there for its time.
        cpu_percent_per_listener: 100.0 * cpu_seconds / (count as f64 * plan.seconds),
        resident_bytes_before: memory,
        resident_bytes_at_most: most,
        resident_bytes_per_listener: most.saturating_sub(memory) as f64 / count as f64,
        metrics: server.metrics(),
    };
    server.stop();
    Ok(LoadReport {
        plan,
        listeners: figures,
        server: server_figures,
    })
}

/// Looks at this process's memory every so often.
struct MemoryWatch {
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl MemoryWatch {
    fn start() -> Self {
        let watch = Self {
            most: Arc::default(),
            over: Arc::default(),
        };
        let (most, over) = (Arc::clone(&watch.most), Arc::clone(&watch.over));
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(process::resident_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        watch
    }

    fn most(&self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.most.load(Ordering::Relaxed)
    }
}

impl std::fmt::Display for LoadReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            plan,
            listeners,
            server,
        } = self;
        writeln!(
            f,
            "{} listeners of different {} streams at {} Hz, frames of {} ms, {} ms ahead, {} s each{}",
            listeners.played_to_the_end,
            plan.hello.codecs.join(", "),
            plan.hello.rate,
            plan.hello.frame_ms,
            plan.hello.prebuffer_ms,
            plan.seconds,
            match plan.speed {
                1.0 => String::new(),
                speed => format!(" at {speed} times the speed"),
            }
        )?;
        writeln!(f, "rendered on {}\n", server.device)?;
        writeln!(
            f,
            "{:<18}{:>10}{:>10}{:>10}{:>10}",
            "ms", "p50", "p99", "p99.9", "most"
        )?;
        for (name, spread) in [
            ("jitter", &listeners.jitter_ms),
            ("lateness", &listeners.lateness_ms),
            ("hello to audio", &listeners.first_byte_ms),
            ("connect to audio", &listeners.connect_to_audio_ms),
        ] {
            writeln!(
                f,
                "{name:<18}{:>10.2}{:>10.2}{:>10.2}{:>10.2}",
                spread.p50, spread.p99, spread.p999, spread.max
            )?;
        }
        writeln!(
            f,
            "\nunderruns {}, gaps {}, breaks {}, wrong samples {} of {} ({} streams rendered again and compared)",
            listeners.underruns,
            listeners.sequence_gaps,
            listeners.breaks,
            listeners.wrong_tags + listeners.wrong_samples,
            listeners.samples,
            listeners.compared_streams,
        )?;
        writeln!(
            f,
            "processor time: server {:.2} s, {:.3} % of a core for each listener; listeners {:.2} s",
            server.cpu_seconds, server.cpu_percent_per_listener, listeners.client_cpu_seconds,
        )?;
        writeln!(
            f,
            "memory: {:.1} MB before, {:.1} MB at most, {:.0} kB for each listener",
            server.resident_bytes_before as f64 / 1e6,
            server.resident_bytes_at_most as f64 / 1e6,
            server.resident_bytes_per_listener / 1e3,
        )
    }
}
