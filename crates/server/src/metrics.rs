//! What the server counts, from real clocks, as Prometheus and the page read it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::histogram::Histogram;
use crate::process;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Everything that is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: Instant,
    pub(crate) requests: Counter,
    pub(crate) streams: Counter,
    pub(crate) resumed: Counter,
    pub(crate) frames: Counter,
    pub(crate) bytes: Counter,
    pub(crate) underruns: Counter,
    pub(crate) underrun_frames: Counter,
    pub(crate) announced_gaps: Counter,
    pub(crate) refused: Counter,
    pub(crate) violations: Counter,
    pub(crate) slow: Counter,
    pub(crate) wav_bytes: Counter,
    /// Rendering one frame for one listener.
    pub(crate) render: Histogram,
    /// From a credit's arrival to the last byte of what it allowed in the kernel's hands.
    pub(crate) answer: Histogram,
    /// From `hello` to the first audio byte in the kernel's hands.
    pub(crate) first_audio: Histogram,
    /// Blocks of the broadcast, after their due time.
    pub(crate) broadcast_lateness: Histogram,
}

/// Numbers that go up and down, as of now.
pub(crate) struct Gauges {
    pub(crate) connections: usize,
    pub(crate) listeners: usize,
    pub(crate) broadcast_listeners: usize,
    pub(crate) wav_listeners: usize,
    pub(crate) parked: usize,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            requests: Counter::default(),
            streams: Counter::default(),
            resumed: Counter::default(),
            frames: Counter::default(),
            bytes: Counter::default(),
            underruns: Counter::default(),
            underrun_frames: Counter::default(),
            announced_gaps: Counter::default(),
            refused: Counter::default(),
            violations: Counter::default(),
            slow: Counter::default(),
            wav_bytes: Counter::default(),
            render: Histogram::default(),
            answer: Histogram::default(),
            first_audio: Histogram::default(),
            broadcast_lateness: Histogram::default(),
        }
    }

    pub(crate) fn uptime_seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// `(name, help, value)` of what grows.
    fn counters(&self) -> [(&'static str, &'static str, u64); 12] {
        [
            ("requests", "HTTP requests", self.requests.get()),
            ("streams", "Listeners welcomed", self.streams.get()),
            (
                "resumed",
                "Streams that went on after a break",
                self.resumed.get(),
            ),
            ("frames", "Audio frames sent", self.frames.get()),
            ("sent_bytes", "Bytes of audio frames sent", self.bytes.get()),
            (
                "underruns",
                "Times that a listener had nothing to play, as listeners say",
                self.underruns.get(),
            ),
            (
                "underrun_samples",
                "Silence played in place of missing samples, as listeners say",
                self.underrun_frames.get(),
            ),
            (
                "gap_samples",
                "Samples of the broadcast left out for slow listeners",
                self.announced_gaps.get(),
            ),
            (
                "refused",
                "Requests refused by access or limits",
                self.refused.get(),
            ),
            (
                "violations",
                "Messages that broke the protocol",
                self.violations.get(),
            ),
            (
                "slow_clients",
                "Connections closed because they took nothing",
                self.slow.get(),
            ),
            ("wav_bytes", "Bytes of WAV files sent", self.wav_bytes.get()),
        ]
    }

    /// As Prometheus reads it.
    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let mut out = String::with_capacity(8 << 10);
        for (name, help, value) in self.counters() {
            let name = format!("warpsmith_serve_{name}_total");
            let _ = writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}"
            );
        }
        let gauges = [
            (
                "warpsmith_serve_connections",
                "Open connections",
                gauges.connections as f64,
            ),
            (
                "warpsmith_serve_listeners",
                "Listeners",
                gauges.listeners as f64,
            ),
            (
                "warpsmith_serve_broadcast_listeners",
                "Listeners of the broadcast",
                gauges.broadcast_listeners as f64,
            ),
            (
                "warpsmith_serve_wav_listeners",
                "Listeners of /stream.wav",
                gauges.wav_listeners as f64,
            ),
            (
                "warpsmith_serve_parked_streams",
                "Streams that wait for their listener",
                gauges.parked as f64,
            ),
            (
                "warpsmith_serve_uptime_seconds",
                "Time since the start",
                self.uptime_seconds(),
            ),
            (
                "process_resident_memory_bytes",
                "Resident memory",
                process::resident_bytes() as f64,
            ),
        ];
        for (name, help, value) in gauges {
            let _ = writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}"
            );
        }
        let cpu = process::cpu_time().as_secs_f64();
        let _ = writeln!(
            out,
            "# HELP process_cpu_seconds_total Processor time\n# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total {cpu}"
        );
        self.render.write(
            "warpsmith_serve_render_seconds",
            "Rendering a frame for a listener",
            &mut out,
        );
        self.answer.write(
            "warpsmith_serve_answer_seconds",
            "From a credit to the audio that it allowed",
            &mut out,
        );
        self.first_audio.write(
            "warpsmith_serve_first_audio_seconds",
            "From hello to the first audio byte",
            &mut out,
        );
        self.broadcast_lateness.write(
            "warpsmith_serve_broadcast_lateness_seconds",
            "Broadcast blocks after their due time",
            &mut out,
        );
        out
    }

    /// The same as JSON, with quantiles in place of buckets.
    pub(crate) fn json(&self, gauges: &Gauges) -> Value {
        let quantiles = |histogram: &Histogram| {
            json!({
                "count": histogram.count(),
                "p50_seconds_at_most": histogram.quantile(0.5),
                "p99_seconds_at_most": histogram.quantile(0.99),
            })
        };
        let counters = self.counters();
        let counters: serde_json::Map<String, Value> = counters
            .iter()
            .map(|(name, _, value)| ((*name).to_owned(), json!(value)))
            .collect();
        json!({
            "uptime_seconds": self.uptime_seconds(),
            "connections": gauges.connections,
            "listeners": gauges.listeners,
            "broadcast_listeners": gauges.broadcast_listeners,
            "wav_listeners": gauges.wav_listeners,
            "parked_streams": gauges.parked,
            "resident_bytes": process::resident_bytes(),
            "cpu_seconds": process::cpu_time().as_secs_f64(),
            "totals": counters,
            "render": quantiles(&self.render),
            "answer": quantiles(&self.answer),
            "first_audio": quantiles(&self.first_audio),
            "broadcast_lateness": quantiles(&self.broadcast_lateness),
        })
    }
}
