//! The exporter about itself: its process by the names that Prometheus' own clients use, and what
//! scrapes cost.
//!
//! Invariant: everything is read from `/proc/self`, which never waits for the driver; what cannot be
//! read has no line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::text_format::{Head, Series};
use crate::process_identity::{TICKS_PER_SECOND, boot_seconds, fields_after_name};

const PROCESS: [Head; 7] = [
    Head::new(
        "process_cpu_seconds_total",
        "counter",
        "User and system CPU time of the exporter.",
        "",
    ),
    Head::new(
        "process_resident_memory_bytes",
        "gauge",
        "Resident memory of the exporter.",
        "",
    ),
    Head::new(
        "process_virtual_memory_bytes",
        "gauge",
        "Address space of the exporter.",
        "",
    ),
    Head::new(
        "process_open_fds",
        "gauge",
        "Open file descriptors of the exporter.",
        "",
    ),
    Head::new(
        "process_max_fds",
        "gauge",
        "Most file descriptors that the exporter may open.",
        "",
    ),
    Head::new("process_threads", "gauge", "Threads of the exporter.", ""),
    Head::new(
        "process_start_time_seconds",
        "gauge",
        "When the exporter started, in seconds since 1970.",
        "",
    ),
];
const REQUESTS: Head = Head::new(
    "warpsmith_exporter_requests_total",
    "counter",
    "Requests answered, by status.",
    "code",
);
const RENDERING: Head = Head::new(
    "warpsmith_exporter_render_seconds",
    "summary",
    "Time to write the metrics page, without this part of it.",
    "",
);
const PAGE: Head = Head::new(
    "warpsmith_exporter_page_bytes",
    "gauge",
    "Size of the metrics page before this one.",
    "",
);

/// Everything that [`Cost::own_metrics`] can have a line for, in its order.
pub(super) fn heads() -> impl Iterator<Item = &'static Head> {
    PROCESS.iter().chain([&REQUESTS, &RENDERING, &PAGE])
}

/// What answering has cost so far.
#[derive(Default)]
pub(super) struct Cost {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// By status; those of the application, a dozen at most.
    requests: BTreeMap<u16, u64>,
    pages: u64,
    rendering: Duration,
    page_bytes: Option<usize>,
}

impl Cost {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an answer.
    pub(super) fn answered(&self, status: u16) {
        *self.counts().requests.entry(status).or_default() += 1;
    }

    /// Counts a page that was written.
    pub(super) fn rendered(&self, took: Duration, bytes: usize) {
        let mut counts = self.counts();
        counts.pages += 1;
        counts.rendering += took;
        counts.page_bytes = Some(bytes);
    }

    /// Appends the exporter's own metrics.
    pub(super) fn own_metrics(&self, out: &mut dyn Series) {
        for (family, value) in PROCESS.iter().zip(process(Path::new("/proc"))) {
            if let Some(value) = value {
                out.head(family);
                out.line(family.name, &[], value);
            }
        }
        let counts = self.counts();
        for (nth, (status, count)) in counts.requests.iter().enumerate() {
            if nth == 0 {
                out.head(&REQUESTS);
            }
            let labels = [("code", &*status.to_string())];
            out.line(REQUESTS.name, &labels, *count as f64);
        }
        let Some(bytes) = counts.page_bytes else {
            return;
        };
        out.head(&RENDERING);
        let seconds = counts.rendering.as_secs_f64();
        out.line(&format!("{}_sum", RENDERING.name), &[], seconds);
        let pages = counts.pages as f64;
        out.line(&format!("{}_count", RENDERING.name), &[], pages);
        out.head(&PAGE);
        out.line(PAGE.name, &[], bytes as f64);
    }
}

/// The values of [`PROCESS`], in its order.
fn process(proc_root: &Path) -> [Option<f64>; 7] {
    let own = proc_root.join("self");
    let read = |file: &str| fs::read_to_string(own.join(file)).unwrap_or_default();
    let (stat, status, limits) = (read("stat"), read("status"), read("limits"));
    let fields = fields_after_name(&stat);
    // Numbered as in proc_pid_stat(5), where the state behind the name is field 3.
    let seconds = |number: usize| {
        let ticks: u64 = fields.as_ref()?.get(number - 3)?.parse().ok()?;
        Some(ticks as f64 / TICKS_PER_SECOND as f64)
    };
    let value = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let kibibytes = |name: &str| value(&status, name).map(|value| value * 1024.0);
    let boot = fs::read_to_string(proc_root.join("stat")).unwrap_or_default();
    // One of them is the folder that is being read.
    let open = fs::read_dir(own.join("fd")).ok();
    let open = open.map(|entries| entries.count().saturating_sub(1) as f64);
    [
        seconds(14)
            .zip(seconds(15))
            .map(|(user, system)| user + system),
        kibibytes("VmRSS:"),
        kibibytes("VmSize:"),
        open,
        value(&limits, "Max open files"),
        value(&status, "Threads:"),
        boot_seconds(&boot)
            .zip(seconds(22))
            .map(|(boot, since)| boot as f64 + since),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_every_metric_and_its_values_are_its_own() {
        let [cpu, resident, address_space, open, most, threads, started] =
            process(Path::new("/proc")).map(|value| value.expect("Linux tells"));
        // Burn a little CPU: the counter has a resolution of a hundredth of a second.
        let mut burnt = 0_u64;
        while process(Path::new("/proc"))[0] == Some(cpu) {
            burnt = std::hint::black_box(burnt.wrapping_add(1));
        }
        assert!(resident > 100_000.0 && resident < address_space);
        assert!(threads >= 1.0 && open >= 3.0 && open < most);
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        // The tests run within an hour, and the clock of the boot may be a second off.
        assert!((-2.0..3600.0).contains(&(now.as_secs_f64() - started)));
        let files: Vec<_> = (0..10).map(|_| fs::File::open("/proc/self/stat")).collect();
        let more = process(Path::new("/proc"))[3].expect("Linux tells");
        // Other tests of this process open and close files meanwhile.
        assert!(more >= 10.0, "{more} with {} of them open", files.len());
    }

    #[test]
    fn what_cannot_be_read_has_no_line() {
        assert_eq!(process(Path::new("/nonexistent")), [None; 7]);
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("self")).unwrap();
        fs::write(folder.path().join("self/stat"), "7 (a").unwrap();
        fs::write(
            folder.path().join("self/limits"),
            "Max open files unlimited",
        )
        .unwrap();
        assert_eq!(process(folder.path()), [None; 7]);
    }

    #[test]
    fn costs_add_up() {
        let cost = Cost::default();
        for status in [200, 401, 200] {
            cost.answered(status);
        }
        cost.rendered(Duration::from_millis(500), 10_000);
        cost.rendered(Duration::from_millis(250), 12_000);
        let mut text = String::new();
        cost.own_metrics(&mut text);
        for line in [
            "warpsmith_exporter_requests_total{code=\"200\"} 2\n",
            "warpsmith_exporter_requests_total{code=\"401\"} 1\n",
            "# TYPE warpsmith_exporter_render_seconds summary\n",
            "warpsmith_exporter_render_seconds_sum 0.75\n",
            "warpsmith_exporter_render_seconds_count 2\n",
            "warpsmith_exporter_page_bytes 12000\n",
        ] {
            assert!(text.contains(line), "{line}\nis not in\n{text}");
        }
    }
}
