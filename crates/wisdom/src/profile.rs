//! What is known about one operation on one backend.

use serde::Serialize;
use warpsmith_device::GpuFacts;

use super::curve::Curve;
use super::observe::Correction;

/// Where the numbers of a prediction come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured on this machine, in seconds since 1970.
    Measured {
        /// When.
        unix: u64,
    },
    /// Bytes over a rate that follows from the device's facts.
    Modelled,
}

/// What it costs to bring data to a device and back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bus {
    /// Fixed seconds of one copy.
    pub latency: f64,
    /// Bytes per second.
    pub rate: f64,
}

impl Bus {
    /// A GPU's bus where nothing was measured: about what sixteen lanes of PCIe 3.0 give.
    pub const UNMEASURED: Self = Self {
        latency: 1.5e-5,
        rate: 1.2e10,
    };

    /// Seconds of one copy; nothing is copied for nothing.
    pub fn seconds(&self, bytes: f64) -> f64 {
        if bytes > 0.0 {
            self.latency + bytes / self.rate
        } else {
            0.0
        }
    }
}

/// What telemetry says about a device now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Clock now over the clock at calibration, at most 1: throttling.
    pub clock_share: f64,
    /// Share of the device that other processes use.
    pub others_share: f64,
}

impl Default for Condition {
    fn default() -> Self {
        Self {
            clock_share: 1.0,
            others_share: 0.0,
        }
    }
}

impl Condition {
    /// How much longer work takes. The device that is all but used up is still served now and then.
    pub fn slowdown(&self) -> f64 {
        let left = (1.0 - self.others_share).max(0.05);
        1.0 / (self.clock_share.clamp(0.05, 1.0) * left)
    }
}

/// The cost of an operation on a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Seconds of a run that are there whatever the number of passes: launch, wait, setting up.
    pub start: Curve,
    /// Seconds of a pass.
    pub pass: Curve,
    /// Measured over predicted, learned from runs.
    pub correction: Correction,
    /// Where the numbers come from.
    pub origin: Origin,
}

/// A prediction in its parts, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// Launching, waiting, setting up.
    pub fixed: f64,
    /// The passes themselves.
    pub compute: f64,
    /// Copies to and from the device.
    pub copies: f64,
}

impl Parts {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.fixed + self.compute + self.copies
    }
}

impl Profile {
    /// From measurements.
    pub fn measured(start: Curve, pass: Curve, unix: u64) -> Self {
        Self {
            start,
            pass,
            correction: Correction::default(),
            origin: Origin::Measured { unix },
        }
    }

    /// From facts: `fixed` seconds of a run, and `per_unit` seconds for each unit of a pass, at
    /// least `least` for the pass.
    pub fn modelled(fixed: f64, per_unit: f64, least: f64) -> Self {
        // Work that costs nothing still takes its place on the curve.
        let per_unit = per_unit.max(1e-15);
        // One point suffices: latency up to where bandwidth takes over, then in proportion.
        let knee = (least / per_unit).max(1.0);
        Self {
            start: Curve::constant(fixed),
            pass: Curve::rising_from(knee, least.max(per_unit * knee)),
            correction: Correction::default(),
            origin: Origin::Modelled,
        }
    }

    /// A guess for an operation that touches `bytes` and computes `flops` to a unit, on a CPU with
    /// this many threads: a core streams some 8 GB/s and computes some 8 Gflop/s; a pool is woken in
    /// some 5 µs.
    pub fn modelled_on_cpu(threads: usize, bytes: f64, flops: f64) -> Self {
        let rate = 8e9 * threads as f64;
        Self::modelled(5e-6, bytes.max(flops) / rate, 1e-7)
    }

    /// The same on a GPU: most of the datasheet's rate, some five operations to a byte of it; a
    /// launch and its wait take some 15 µs.
    pub fn modelled_on_gpu(gpu: &GpuFacts, bytes: f64, flops: f64) -> Self {
        let rate = 0.75 * gpu.memory_bandwidth.max(1e11);
        Self::modelled(1.5e-5, bytes.max(flops / 5.0) / rate, 3e-6)
    }

    /// Predicts a run of `passes` passes over `size`.
    pub fn predict(&self, size: f64, passes: f64, condition: &Condition) -> Parts {
        let ratio = self.correction.ratio(size);
        Parts {
            fixed: self.start.seconds(size),
            compute: passes * self.pass.seconds(size) * ratio * condition.slowdown(),
            copies: 0.0,
        }
    }
}
