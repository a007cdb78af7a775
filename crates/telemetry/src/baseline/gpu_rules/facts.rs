//! What the rules look at, and what several of them ask.

use warpsmith_core::{Finding, Severity, Verdict};

use crate::baseline::document::{GpuBaseline, Metric, ProcessSeen};
use crate::baseline::throttle::{ThrottleReason, ThrottleShare};
use crate::event::{Presence, Vendor};

/// What the rules look at.
pub(in crate::baseline) struct GpuFacts<'baseline> {
    pub(in crate::baseline) baseline: &'baseline GpuBaseline,
    pub(in crate::baseline) expect_load: bool,
    pub(in crate::baseline) host_pids: Option<bool>,
}

/// Below this P95 a GPU counts as idle.
pub(super) const IDLE_BUSY_PERCENT: f64 = 5.0;

pub(super) fn found(finding: Finding) -> Verdict {
    Verdict::Found(vec![finding])
}

pub(super) fn unknown(what: &str) -> Verdict {
    Verdict::Unknown(what.to_owned())
}

impl GpuFacts<'_> {
    pub(super) fn metric(&self, name: &str) -> Option<&Metric> {
        self.baseline.metrics.get(name)
    }

    pub(super) fn busy_p95(&self) -> Option<f64> {
        self.metric("busy_percent")
            .map(|busy| busy.summary.p95.value)
    }

    pub(super) fn computing(&self) -> Option<Vec<&ProcessSeen>> {
        let processes = self.baseline.processes.as_ref()?;
        Some(processes.iter().filter(|process| process.compute).collect())
    }

    /// Idle, as far as can be told: both facts must agree, and in MIG mode, where there is no
    /// utilisation, the process list decides alone.
    pub(super) fn is_idle(&self) -> Option<bool> {
        let seen_busy = self
            .busy_p95()
            .is_some_and(|busy| busy >= IDLE_BUSY_PERCENT);
        // A GPU that slept throughout did nothing.
        if self.baseline.asleep_share == Some(1.0) {
            return Some(true);
        }
        // Its use is that of the visible processes, and something else may have kept it awake.
        let awake = self.metric("awake_percent");
        let awake = awake.is_some_and(|awake| awake.summary.p95.value >= IDLE_BUSY_PERCENT);
        if self.baseline.hidden_processes.is_some() && awake && !seen_busy {
            return None;
        }
        // Nobody knows what a GPU did while it did not answer.
        if self.baseline.worst_presence != Presence::Live && !seen_busy {
            return None;
        }
        match (self.busy_p95(), self.computing()) {
            (Some(busy), _) if busy >= IDLE_BUSY_PERCENT => Some(false),
            (_, Some(list)) if !list.is_empty() => Some(false),
            (Some(_), Some(_)) => Some(true),
            (None, Some(_)) if self.baseline.gpu.mig => Some(true),
            // Busy is known to be low, but a context without work would not show.
            (Some(_), None) => Some(true),
            (None, _) => None,
        }
    }

    pub(super) fn throttled(&self, reason: ThrottleReason) -> Option<&ThrottleShare> {
        self.baseline
            .throttle
            .iter()
            .find(|held| held.reason == reason)
    }

    pub(super) fn vendor(&self) -> Vendor {
        self.baseline.gpu.vendor
    }

    pub(super) fn say(&self, code: &str, severity: Severity, message: String) -> Finding {
        Finding::new(
            code,
            severity,
            format!("GPU {}: {message}", self.baseline.gpu.index),
        )
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
