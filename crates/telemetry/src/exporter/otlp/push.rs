//! Pushes the board at an interval.
//!
//! Invariants: one thread reads the board and one sends, so that a receiver that hangs keeps neither
//! readings nor scrapes waiting; batches that wait are bounded; an attempt has a deadline; after a
//! failure the pause doubles up to a minute; a stop sends what is there, for two seconds at most.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use warpsmith_http::Bytes;
use warpsmith_http::client::{ReadError, ReadLimits, Target, read_pages};

use super::conventions::conventional;
use super::document::Document;
use super::queue::Queue;
use super::settings::{OtlpError, OtlpSettings};
use super::verdict::{Verdict, verdict};
use crate::board::LiveBoard;
use crate::exporter::dcgm_text::hostname;
use crate::exporter::metrics_text::{ProcessSeries, pods_text, series};
use crate::exporter::pod_resources::PodWatch;
use crate::exporter::text_format::{Head, Series};
use crate::trust::trust;
use crate::{Clock, Micros};

/// Longest answer of a receiver.
const ANSWER_BYTES: usize = 64 << 10;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// What a stop may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

const BATCHES: Head = Head::new(
    "warpsmith_exporter_otlp_batches_total",
    "counter",
    "Batches that OTLP receivers took (`sent`) or refused, and that were dropped for lack of room (`--otlp`).",
    "result",
);
const FAILURES: Head = Head::new(
    "warpsmith_exporter_otlp_failures_total",
    "counter",
    "Attempts to push that are made again (`--otlp`).",
    "",
);
const WAITING: Head = Head::new(
    "warpsmith_exporter_otlp_waiting_batches",
    "gauge",
    "Batches that wait for the receiver (`--otlp`).",
    "",
);

/// Everything that [`OtlpPush::own_metrics`] has lines for, in its order.
pub(in crate::exporter) fn heads() -> impl Iterator<Item = &'static Head> {
    [&BATCHES, &FAILURES, &WAITING].into_iter()
}

/// What a batch is made of.
pub(in crate::exporter) struct Source {
    pub(in crate::exporter) board: Arc<LiveBoard>,
    pub(in crate::exporter) processes: ProcessSeries,
    pub(in crate::exporter) pods: Option<Arc<PodWatch>>,
}

/// A running push.
pub(in crate::exporter) struct OtlpPush {
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl OtlpPush {
    pub(in crate::exporter) fn start(
        settings: OtlpSettings,
        source: Source,
    ) -> Result<Self, OtlpError> {
        let tls = match (&settings.authorities, settings.endpoint.tls) {
            (_, false) => None,
            (Some(path), true) => Some(trust(path)?),
            (None, true) => return Err(OtlpError::NoAuthorities(settings.endpoint)),
        };
        let target = Target {
            host: settings.endpoint.host.clone(),
            port: settings.endpoint.port,
            path: settings.endpoint.path.clone(),
            headers: settings.headers.clone(),
            post: None,
            tls,
        };
        let queue = Arc::new(Queue::default());
        let (reading, interval) = (Arc::clone(&queue), settings.interval);
        let resource = resource(&settings.attributes);
        let sending = Arc::clone(&queue);
        let sender = spawn("otlp send", move || send(&target, &settings, &sending))?;
        let reader = spawn("otlp read", move || {
            read(&source, &resource, interval, &reading);
        });
        // Without a reader there is nothing to wait for.
        let reader = reader.inspect_err(|_| queue.complete())?;
        Ok(Self {
            queue,
            threads: Mutex::new(vec![reader, sender]),
        })
    }

    /// Sends what is there, and stops.
    pub(in crate::exporter) fn stop(&self) {
        self.queue.stop();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }

    /// What became of batches so far.
    pub(in crate::exporter) fn own_metrics(&self, out: &mut dyn Series) {
        let (waiting, counts) = self.queue.now();
        out.head(&BATCHES);
        for (result, count) in [
            ("sent", counts.sent),
            ("refused", counts.refused),
            ("dropped", counts.dropped),
        ] {
            out.line(BATCHES.name, &[("result", result)], count as f64);
        }
        out.head(&FAILURES);
        out.line(FAILURES.name, &[], counts.failures as f64);
        out.head(&WAITING);
        out.line(WAITING.name, &[], waiting as f64);
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Reads the board at every interval, and once more at the end.
fn read(source: &Source, resource: &[(String, String)], interval: Duration, queue: &Queue) {
    let mut start = None;
    let mut due = Instant::now();
    loop {
        due += interval;
        let stopping = queue.pause(due.saturating_duration_since(Instant::now()));
        let now = Clock::System.now();
        // Since when counters run is not known: the first reading begins the sums.
        let batch = batch(source, resource, *start.get_or_insert(now), now);
        queue.add(batch);
        if stopping {
            queue.complete();
            return;
        }
        // A machine that slept owes nothing.
        due = due.max(Instant::now() - interval);
    }
}

fn batch(source: &Source, resource: &[(String, String)], start: Micros, now: Micros) -> Bytes {
    let mut document = Document::new(start, now);
    let pods = source.pods.as_ref().map(|pods| pods.now());
    {
        let board = source.board.now();
        series(&board, now, source.processes, &mut document);
        if let Some(pods) = &pods {
            pods_text(&board, pods, &mut document);
        }
        conventional(&board, &mut document);
    }
    document.finish(resource).into()
}

/// Sends batch after batch, and each until it is settled.
fn send(target: &Target, settings: &OtlpSettings, queue: &Queue) {
    let place = format!(
        "OTLP receiver {}{}",
        settings.endpoint, settings.endpoint.path
    );
    let mut trouble: Option<String> = None;
    let mut pause = FIRST_PAUSE;
    let mut ends: Option<Instant> = None;
    while let Some(batch) = queue.oldest() {
        if queue.is_stopping() {
            ends.get_or_insert_with(|| Instant::now() + LAST_WORDS);
        }
        let left = ends.map(|ends| ends.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return;
        }
        let deadline = settings.timeout.min(left.unwrap_or(settings.timeout));
        let complaint = match verdict(exchange(target, &batch, deadline)) {
            Verdict::Taken(remark) => {
                queue.settle(&batch, |counts| counts.sent += 1);
                pause = FIRST_PAUSE;
                remark
            }
            Verdict::Refused(why) => {
                queue.settle(&batch, |counts| counts.refused += 1);
                Some(format!("refuses: {why}"))
            }
            Verdict::Later(why, requested) => {
                queue.count(|counts| counts.failures += 1);
                tell(&*settings.say, &place, &mut trouble, Some(why));
                // A stop has no time for another attempt.
                if ends.is_some() {
                    return;
                }
                queue.pause(requested.unwrap_or_else(|| uneven(pause)));
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
        };
        tell(&*settings.say, &place, &mut trouble, complaint);
    }
}

/// Says what has changed, and nothing while it stays.
fn tell(say: &dyn Fn(&str), place: &str, known: &mut Option<String>, now: Option<String>) {
    if *known != now {
        match &now {
            Some(why) => say(&format!("{place}: {why}")),
            None => say(&format!("{place}: takes metrics again")),
        }
        *known = now;
    }
}

fn exchange(
    target: &Target,
    batch: &Bytes,
    deadline: Duration,
) -> Result<warpsmith_http::client::Page, ReadError> {
    let target = Target {
        post: Some(("application/x-protobuf", batch.clone())),
        ..target.clone()
    };
    let limits = ReadLimits {
        deadline,
        body_bytes: ANSWER_BYTES,
        at_once: 1,
        pages_at_once: 1,
    };
    let mut answer = None;
    let read = read_pages(&[target], limits, |_, page| answer = Some(page));
    match (read, answer) {
        (Ok(()), Some(answer)) => answer,
        (Err(error), _) => Err(ReadError::Connect(error.to_string())),
        (Ok(()), None) => Err(ReadError::Connect("no attempt was made".to_owned())),
    }
}

/// A pause that differs by up to a fifth, so that a fleet does not come back all at once.
fn uneven(pause: Duration) -> Duration {
    let share = f64::from(Clock::System.now().0 as u32 % 1000) / 1000.0;
    pause.mul_f64(0.8 + 0.4 * share)
}

/// Who we are, with the user's attributes before ours.
fn resource(own: &[(String, String)]) -> Vec<(String, String)> {
    let host = hostname();
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let ours = [
        ("service.name", "warpsmith"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", &host),
        ("host.name", &host),
        ("host.arch", arch),
        ("os.type", std::env::consts::OS),
    ];
    let mut all = own.to_vec();
    for (name, value) in ours {
        if !value.is_empty() && !own.iter().any(|(known, _)| known == name) {
            all.push((name.to_owned(), value.to_owned()));
        }
    }
    all
}
