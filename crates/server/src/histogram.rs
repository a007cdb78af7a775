//! Times in buckets: counted by many threads without waiting, read by whoever asks.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper ends of the buckets in microseconds: steps of about 1.8.
const ENDS: [u64; 20] = [
    5, 10, 20, 35, 60, 100, 180, 320, 560, 1_000, 1_800, 3_200, 5_000, 10_000, 18_000, 32_000,
    56_000, 100_000, 320_000, 1_000_000,
];

/// A histogram of times.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    counts: [AtomicU64; ENDS.len() + 1],
    sum_us: AtomicU64,
}

impl Histogram {
    pub(crate) fn note(&self, time: Duration) {
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = ENDS.partition_point(|end| *end < microseconds);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(microseconds, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        let counts = self.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// A bound that this share of the times is within, in seconds; absent without times, infinite
    /// beyond the last bucket.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let total = self.count();
        let wanted = (share * total as f64).ceil() as u64;
        let mut seen = 0;
        for (nth, count) in self.counts.iter().enumerate() {
            seen += count.load(Ordering::Relaxed);
            if total > 0 && seen >= wanted.max(1) {
                return Some(ENDS.get(nth).map_or(f64::INFINITY, |end| *end as f64 / 1e6));
            }
        }
        None
    }

    /// As Prometheus reads it.
    pub(crate) fn write(&self, name: &str, help: &str, out: &mut String) {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut seen = 0;
        for (nth, count) in self.counts.iter().enumerate() {
            seen += count.load(Ordering::Relaxed);
            let end = match ENDS.get(nth) {
                Some(end) => format!("{}", *end as f64 / 1e6),
                None => "+Inf".to_owned(),
            };
            let _ = writeln!(out, "{name}_bucket{{le=\"{end}\"}} {seen}");
        }
        let sum = self.sum_us.load(Ordering::Relaxed) as f64 * 1e-6;
        let _ = writeln!(out, "{name}_sum {sum}\n{name}_count {seen}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_bounds() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for microseconds in [1, 50, 50, 4_000, 9_000_000] {
            histogram.note(Duration::from_micros(microseconds));
        }
        assert_eq!(histogram.quantile(0.5), Some(60e-6));
        assert_eq!(histogram.quantile(0.8), Some(5e-3));
        assert_eq!(histogram.quantile(1.0), Some(f64::INFINITY));
        let mut text = String::new();
        histogram.write("t", "h", &mut text);
        assert!(
            text.contains("t_bucket{le=\"+Inf\"} 5\n") && text.contains("t_count 5\n"),
            "{text}"
        );
    }
}
