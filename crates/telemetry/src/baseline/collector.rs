//! From events to a baseline: gathers the samples of each GPU and of the host, then derives and
//! judges.

use std::collections::BTreeMap;
use std::time::Duration;

use warpsmith_core::{Finding, Report, Severity, Verdict as RuleVerdict, run_rules};

use super::document::{
    BaselineBody, EnergyUse, Fitness, GpuBaseline, HostBaseline, Metric, ProcessSeen,
};
use super::gpu_rules::{GpuFacts, LOAD_CODE, TOO_FEW_CODE, gpu_rules};
use super::host_rules::{HostFacts, host_rules};
use super::series::Series;
use super::statistics::{Summary, quantile};
use super::thermal::ThermalBand;
use super::throttle::{RisingCounter, ThrottleReason, ThrottleShare};
use crate::event::{
    Event, Happening, Inventory, MigInstance, Presence, ProcessIdentity, ProcessUse, RingSample,
    Slow, State, Steady,
};
use crate::host::machine_identity;
use crate::schedule::{Schedule, Tier};
use crate::{GpuIdentity, Micros};

/// PCIe byte counters wrap here on GPUs whose counters are 32 bits wide.
const PCIE_MODULUS: i64 = 1 << 32;
/// Starting NVML can wake a GPU: its first seconds are not those of the machine at rest.
const WARM_UP: Duration = Duration::from_secs(2);
/// The driver refreshes utilisation every 200 ms; a little less, for timers that are late.
const BUSY_MS: u32 = 150;
/// Shorter runs keep every sample: there are too few to give any away.
const WARM_UP_FROM: Duration = Duration::from_secs(20);

/// What is certain however few the samples are: memory errors, rows, a lost or hung GPU, Xids.
const CERTAIN_CODES: [&str; 6] = ["B008", "B010", "B012", "B013", "B020", TOO_FEW_CODE];

/// What the user said about the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// The machine should be at rest.
    Idle,
    /// The machine should be at work.
    Load,
}

/// Gathers a baseline.
pub struct Collector {
    inventory: Inventory,
    start: Micros,
    keep_from: Micros,
    end: Micros,
    expectation: Expectation,
    state_period: Duration,
    gpus: Vec<GpuCollection>,
    host: BTreeMap<&'static str, Series>,
    swap_used: Option<i64>,
}

/// What was gathered of one GPU.
#[derive(Default)]
struct GpuCollection {
    state: BTreeMap<&'static str, Series>,
    power_ring: Series,
    busy_ring: Series,
    memory_busy_ring: Series,
    states: usize,
    asleep: usize,
    hidden: Option<i64>,
    busy_at_ms: Option<u32>,
    reason_samples: usize,
    reason_seen: [usize; 6],
    locked_seen: usize,
    hardware_slowdown_seen: usize,
    counters: [RisingCounter; 6],
    margin_min: Option<i64>,
    temperature_max: Option<i64>,
    energy: Vec<(Micros, i64)>,
    memory_used: Option<i64>,
    reserved_known: bool,
    /// The process that measures, where it uses the GPU itself.
    measuring: Option<u32>,
    process_lists: usize,
    processes: BTreeMap<u32, (ProcessIdentity, Option<i64>, bool, usize)>,
    identities: BTreeMap<u32, ProcessIdentity>,
    ghosts: Vec<f64>,
    pcie: [RisingCounter; 2],
    pcie_span: Option<(Micros, Micros)>,
    replays: RisingCounter,
    slow_last: Slow,
    generation_min: Option<i64>,
    width_min: Option<i64>,
    ecc: [RisingCounter; 2],
    mig: Vec<MigInstance>,
    worst: Presence,
    xids: BTreeMap<i64, u64>,
}

impl Collector {
    /// Begins at `start`, for a run of `planned` length sampled by `schedule`.
    pub fn new(
        inventory: Inventory,
        start: Micros,
        planned: Duration,
        expectation: Expectation,
        schedule: &Schedule,
    ) -> Self {
        let warm_up = if planned >= WARM_UP_FROM {
            WARM_UP
        } else {
            Duration::ZERO
        };
        Self {
            gpus: inventory
                .gpus
                .iter()
                .map(|_| GpuCollection::default())
                .collect(),
            inventory,
            start,
            keep_from: start.plus(warm_up),
            end: start,
            expectation,
            state_period: schedule.period(Tier::State),
            host: BTreeMap::new(),
            swap_used: None,
        }
    }

    /// Says which process measures: what it holds is no load that somebody has to explain.
    #[must_use]
    pub fn measured_by(mut self, pid: u32) -> Self {
        for gpu in &mut self.gpus {
            gpu.measuring = Some(pid);
        }
        self
    }

    fn offset_ms(&self, at: Micros) -> u32 {
        u32::try_from(at.since(self.start).as_millis()).unwrap_or(u32::MAX)
    }

    /// Takes an event in.
    pub fn push(&mut self, event: &Event) {
        self.end = self.end.max(event.at);
        let kept = event.at >= self.keep_from;
        let at_ms = self.offset_ms(event.at);
        if let Happening::Host(host) = event.what {
            let permille = [
                ("cpu_busy_percent", host.cpu_busy_permille),
                ("cpu_io_wait_percent", host.cpu_io_wait_permille),
                ("load_per_core_percent", host.load_per_core_permille),
            ];
            for (name, value) in permille {
                if let Some(value) = value {
                    self.host
                        .entry(name)
                        .or_default()
                        .push(at_ms, value as f64 / 10.0);
                }
            }
            if let (Some(free), Some(total @ 1..)) =
                (host.memory_available_bytes, host.memory_total_bytes)
            {
                let used = (total - free) as f64 * 100.0 / total as f64;
                self.host
                    .entry("memory_used_percent")
                    .or_default()
                    .push(at_ms, used);
            }
            self.swap_used = self.swap_used.max(host.swap_used_bytes);
            return;
        }
        let (start, keep_from) = (self.start, self.keep_from);
        let Some(gpu) = self.gpus.get_mut(usize::from(event.gpu)) else {
            return;
        };
        match &event.what {
            Happening::State(state) => gpu.take_state(state, at_ms, kept),
            Happening::Steady(steady) => gpu.take_steady(steady, at_ms, kept),
            Happening::Xid(xid) => {
                if let Some(code) = xid.code {
                    *gpu.xids.entry(code).or_default() += 1;
                }
            }
            Happening::Slow(slow) => gpu.take_slow(slow, event.at),
            Happening::Energy(energy) => {
                gpu.energy.extend(energy.energy_mj.map(|mj| (event.at, mj)));
            }
            Happening::PowerRing(samples) => {
                take_ring(&mut gpu.power_ring, samples, start, keep_from, 1e-3);
            }
            Happening::BusyRing(samples) => {
                take_ring(&mut gpu.busy_ring, samples, start, keep_from, 1.0);
            }
            Happening::MemoryBusyRing(samples) => {
                take_ring(&mut gpu.memory_busy_ring, samples, start, keep_from, 1.0);
            }
            Happening::Processes(uses) => gpu.take_processes(uses),
            Happening::Process(identity) => {
                gpu.identities.insert(identity.pid, identity.clone());
                if let Some(seen) = gpu.processes.get_mut(&identity.pid) {
                    seen.0 = identity.clone();
                }
            }
            Happening::Mig(instances) => gpu.mig.clone_from(instances),
            Happening::Presence(presence) => {
                if *presence == Presence::Lost || gpu.worst == Presence::Live {
                    gpu.worst = *presence;
                }
            }
            Happening::Host(_) => {}
        }
    }

    /// Seconds covered so far.
    pub fn seconds(&self) -> f64 {
        self.end.since(self.start).as_secs_f64()
    }

    /// Derives the figures, judges them, and wraps them up.
    pub fn finish(self) -> Report<BaselineBody> {
        let span = self.end.since(self.start);
        let expect_load = self.expectation == Expectation::Load;
        let mut findings = Vec::new();
        let mut gpus = Vec::new();
        for (identity, collection) in self.inventory.gpus.iter().zip(self.gpus) {
            let mut baseline =
                collection.derive(identity.clone(), self.start, span, self.state_period);
            let facts = GpuFacts {
                baseline: &baseline,
                expect_load,
                host_pids: self.inventory.host_pids,
            };
            let (found, unknown) = judged(run_rules(&gpu_rules(), &facts));
            let too_few = found.iter().any(|finding| finding.code == TOO_FEW_CODE);
            let lost = baseline.worst_presence != Presence::Live;
            let (found, unknown) = match too_few {
                // What rests on no samples is not said: only what is wrong with the GPU itself.
                true => {
                    let certain =
                        |finding: &Finding| CERTAIN_CODES.contains(&finding.code.as_str());
                    (found.into_iter().filter(certain).collect(), Vec::new())
                }
                false => (found, unknown),
            };
            let load_unknown = unknown.iter().any(|(code, _)| code == LOAD_CODE);
            baseline.fitness = if too_few && !lost {
                Fitness::NotMeasured
            } else if is_error(&found) {
                Fitness::NotFit
            } else if load_unknown {
                Fitness::CannotTell
            } else {
                Fitness::Fit
            };
            baseline.unknown = unknown;
            findings.extend(found);
            gpus.push(baseline);
        }
        let host = HostBaseline {
            metrics: metrics(self.host),
            swap_used_bytes: self.swap_used,
        };
        let facts = HostFacts {
            host: &host,
            inventory: &self.inventory,
            expect_load,
        };
        let (host_findings, _) = judged(run_rules(&host_rules(), &facts));
        let host_fitness = if is_error(&host_findings) {
            Fitness::NotFit
        } else if host.metrics.is_empty() && self.inventory.gpus.is_empty() {
            Fitness::NotMeasured
        } else {
            Fitness::Fit
        };
        findings.extend(host_findings);
        let all = || gpus.iter().map(|gpu| gpu.fitness).chain([host_fitness]);
        let fitness = if all().any(|fitness| fitness == Fitness::NotFit) {
            Fitness::NotFit
        } else if all().any(|fitness| fitness == Fitness::NotMeasured) {
            Fitness::NotMeasured
        } else if all().any(|fitness| fitness == Fitness::CannotTell) {
            Fitness::CannotTell
        } else {
            Fitness::Fit
        };
        let body = BaselineBody {
            seconds: span.as_secs_f64(),
            expect_load,
            fitness,
            gpus,
            host,
        };
        let mut report = Report::new("baseline", machine_identity(&self.inventory), body);
        report.started_unix = Some(self.start.0 / 1_000_000);
        report.findings = findings;
        report
    }
}

fn is_error(findings: &[Finding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
}

/// Findings, and the rules that could not be applied.
fn judged(results: Vec<warpsmith_core::RuleResult>) -> (Vec<Finding>, Vec<(String, String)>) {
    let (mut findings, mut unknown) = (Vec::new(), Vec::new());
    for result in results {
        match result.verdict {
            RuleVerdict::Found(found) => findings.extend(found),
            RuleVerdict::Unknown(why) => unknown.push((result.code, why)),
            RuleVerdict::Pass | RuleVerdict::NotApplicable(_) => {}
        }
    }
    (findings, unknown)
}

fn metrics(series: BTreeMap<&'static str, Series>) -> BTreeMap<String, Metric> {
    series
        .into_iter()
        .filter_map(|(name, series)| {
            let summary = Summary::of(&series)?;
            Some((name.to_owned(), Metric { summary, series }))
        })
        .collect()
}

fn take_ring(
    series: &mut Series,
    samples: &[RingSample],
    start: Micros,
    keep_from: Micros,
    scale: f64,
) {
    for sample in samples.iter().filter(|sample| sample.at >= keep_from) {
        let at_ms = u32::try_from(sample.at.since(start).as_millis()).unwrap_or(u32::MAX);
        series.push(at_ms, sample.value as f64 * scale);
    }
}

impl GpuCollection {
    fn take_state(&mut self, state: &State, at_ms: u32, kept: bool) {
        self.states += 1;
        self.asleep += usize::from(state.asleep == Some(1));
        for (counter, reason) in self.counters.iter_mut().zip(ThrottleReason::ALL) {
            if let Some(value) = reason.counter_ns(state) {
                counter.take(value, None);
            }
        }
        if let Some(bits) = state.event_reasons {
            self.reason_samples += 1;
            for (seen, reason) in self.reason_seen.iter_mut().zip(ThrottleReason::ALL) {
                *seen += usize::from(reason.bit().is_some_and(|bit| bits & bit != 0));
            }
            self.locked_seen += usize::from(bits & 0x2 != 0);
            self.hardware_slowdown_seen += usize::from(bits & 0x8 != 0);
        }
        self.memory_used = state.memory_used_bytes;
        self.reserved_known = state.memory_reserved_bytes.is_some();
        self.temperature_max = self.temperature_max.max(state.temperature_c);
        if !kept {
            return;
        }
        let values = [
            ("busy_percent", state.busy_percent, 1.0),
            ("memory_busy_percent", state.memory_busy_percent, 1.0),
            ("power_w", state.power_mw, 1e-3),
            ("temperature_c", state.temperature_c, 1.0),
            ("hotspot_temperature_c", state.hotspot_temperature_c, 1.0),
            ("memory_temperature_c", state.memory_temperature_c, 1.0),
            ("sm_clock_mhz", state.sm_clock_mhz, 1.0),
            ("memory_clock_mhz", state.memory_clock_mhz, 1.0),
            (
                "memory_used_mib",
                state.memory_used_bytes,
                1.0 / (1 << 20) as f64,
            ),
            (
                "shared_memory_used_mib",
                state.shared_memory_used_bytes,
                1.0 / (1 << 20) as f64,
            ),
        ];
        // What is requested less often than the state is said again until it is: once is enough.
        let busy_again = self
            .busy_at_ms
            .is_some_and(|last| at_ms < last.saturating_add(BUSY_MS));
        if !busy_again {
            self.busy_at_ms = Some(at_ms);
        }
        for (name, value, scale) in values {
            if busy_again && name.ends_with("busy_percent") {
                continue;
            }
            if let Some(value) = value {
                let series = self.state.entry(name).or_default();
                series.push(at_ms, value as f64 * scale);
            }
        }
    }

    fn take_steady(&mut self, steady: &Steady, at_ms: u32, kept: bool) {
        self.margin_min = steady.margin_c.map_or(self.margin_min, |margin| {
            Some(self.margin_min.map_or(margin, |least| least.min(margin)))
        });
        self.hidden = self.hidden.max(steady.hidden_processes);
        let percents = [
            ("media_percent", steady.media_percent),
            ("awake_percent", steady.awake_percent),
        ];
        for (name, value) in percents {
            if let Some(value) = value.filter(|_| kept) {
                let series = self.state.entry(name).or_default();
                series.push(at_ms, value as f64);
            }
        }
        let shares = [
            ("sm_active_percent", steady.sm_active_permille),
            ("sm_occupancy_percent", steady.sm_occupancy_permille),
            ("tensor_active_percent", steady.tensor_active_permille),
            ("dram_active_percent", steady.dram_active_permille),
        ];
        for (name, value) in shares {
            if let Some(value) = value.filter(|_| kept) {
                let series = self.state.entry(name).or_default();
                series.push(at_ms, value as f64 / 10.0);
            }
        }
    }

    fn take_slow(&mut self, slow: &Slow, at: Micros) {
        let bytes = [slow.pcie_sent_bytes, slow.pcie_received_bytes];
        for (counter, value) in self.pcie.iter_mut().zip(bytes) {
            if let Some(value) = value {
                counter.take(value, Some(PCIE_MODULUS));
                let first = self.pcie_span.map_or(at, |(first, _)| first);
                self.pcie_span = Some((first, at));
            }
        }
        if let Some(value) = slow.pcie_replays {
            self.replays.take(value, None);
        }
        for (counter, value) in self
            .ecc
            .iter_mut()
            .zip([slow.ecc_corrected, slow.ecc_uncorrected])
        {
            if let Some(value) = value {
                counter.take(value, None);
            }
        }
        let least = |known: Option<i64>, value: Option<i64>| match (known, value) {
            (Some(known), Some(value)) => Some(known.min(value)),
            (known, value) => known.or(value),
        };
        self.generation_min = least(self.generation_min, slow.pcie_generation);
        self.width_min = least(self.width_min, slow.pcie_width);
        self.slow_last = *slow;
    }

    fn take_processes(&mut self, uses: &[ProcessUse]) {
        self.process_lists += 1;
        for process in uses {
            let compute = process.compute && self.measuring != Some(process.pid);
            let identity = self.identities.get(&process.pid).cloned();
            let seen = self.processes.entry(process.pid).or_insert_with(|| {
                let unknown = ProcessIdentity {
                    pid: process.pid,
                    ..ProcessIdentity::default()
                };
                (identity.unwrap_or(unknown), None, compute, 0)
            });
            seen.1 = seen.1.max(process.memory_bytes);
            seen.2 |= compute;
            seen.3 += 1;
        }
        // Memory that somebody holds is only a ghost where everybody's is known.
        let held: Option<i64> = uses.iter().map(|process| process.memory_bytes).sum();
        if let (Some(used), Some(held), true) = (self.memory_used, held, self.reserved_known) {
            self.ghosts.push((used - held) as f64);
        }
    }

    fn derive(
        mut self,
        identity: GpuIdentity,
        start: Micros,
        span: Duration,
        state_period: Duration,
    ) -> GpuBaseline {
        let seconds = span.as_secs_f64();
        // The driver's own samples are closer together and carry their own time; a ring that
        // covers only part of the run (it was lost, or came late) does not replace the polls.
        for (name, ring, expected_ms) in [
            ("power_w", std::mem::take(&mut self.power_ring), 20.0),
            ("busy_percent", std::mem::take(&mut self.busy_ring), 200.0),
            (
                "memory_busy_percent",
                std::mem::take(&mut self.memory_busy_ring),
                200.0,
            ),
        ] {
            let polled = self.state.get(name).map_or(0, Series::len);
            let covers = ring.len() as f64 > 0.5 * seconds * 1e3 / expected_ms;
            if !ring.is_empty() && (covers || polled == 0) {
                self.state.insert(name, ring);
            }
        }
        let states_due = (seconds / state_period.as_secs_f64()).max(1.0);
        let share = |seen: usize, of: usize| (of > 0).then(|| seen as f64 / of as f64);
        let throttle: Vec<ThrottleShare> = ThrottleReason::ALL
            .into_iter()
            .enumerate()
            .filter_map(|(nth, reason)| {
                let counter = self.counters[nth];
                if counter.is_read() && seconds > 0.0 {
                    let held = counter.total as f64 / 1e9;
                    return Some(ThrottleShare {
                        reason,
                        seconds: held,
                        share: (held / seconds).min(1.0),
                        counted: true,
                    });
                }
                reason.bit()?;
                let share = share(self.reason_seen[nth], self.reason_samples)?;
                Some(ThrottleShare {
                    reason,
                    seconds: share * seconds,
                    share,
                    counted: false,
                })
            })
            .collect();
        let heat = throttle.iter().any(|held| {
            matches!(
                held.reason,
                ThrottleReason::SoftwareThermal | ThrottleReason::HardwareThermal
            ) && held.seconds > 1e-3
        });
        let thermal = match (self.margin_min, self.temperature_max) {
            _ if heat => Some(ThermalBand::Critical),
            (Some(margin), _) => Some(ThermalBand::from_margin(margin as f64)),
            (None, Some(degrees)) => Some(ThermalBand::from_temperature(degrees as f64)),
            (None, None) => None,
        };
        let metrics = metrics(self.state);
        let energy = energy(&self.energy, metrics.get("power_w"), start);
        self.ghosts.sort_by(f64::total_cmp);
        let mut processes: Vec<ProcessSeen> = self
            .processes
            .into_values()
            .map(|(identity, memory_bytes, compute, seen)| ProcessSeen {
                identity,
                memory_bytes,
                compute,
                presence: seen as f64 / self.process_lists.max(1) as f64,
            })
            .collect();
        processes.sort_by_key(|process| {
            (
                std::cmp::Reverse(process.memory_bytes),
                process.identity.pid,
            )
        });
        GpuBaseline {
            margin_min_c: self.margin_min.map(|margin| margin as f64),
            thermal,
            throttle,
            clocks_locked_share: share(self.locked_seen, self.reason_samples),
            hardware_slowdown_share: share(self.hardware_slowdown_seen, self.reason_samples),
            processes: (self.process_lists > 0).then_some(processes),
            ghost_memory_bytes: quantile(&self.ghosts, 0.5).map(|bytes| bytes as i64),
            pcie_generation: self.generation_min,
            pcie_width: self.width_min,
            pcie_bytes_per_second: self.pcie_span.and_then(|(first, last)| {
                let seconds = last.since(first).as_secs_f64();
                let [sent, received] = self.pcie.map(|counter| counter.total as f64 / seconds);
                (seconds > 0.0).then_some((sent, received))
            }),
            pcie_replays: self.replays.is_read().then_some(self.replays.total),
            power_limit_w: self.slow_last.power_limit_mw.map(|mw| mw as f64 / 1e3),
            ecc_corrected_during: self.ecc[0].is_read().then_some(self.ecc[0].total),
            ecc_uncorrected: self
                .slow_last
                .ecc_uncorrected
                .map(|in_all| (self.ecc[1].total, in_all)),
            remap_pending_failed: self
                .slow_last
                .remap_pending
                .zip(self.slow_last.remap_failed),
            mig: self.mig,
            worst_presence: self.worst,
            xids: self.xids,
            states: self.states,
            asleep_share: share(self.asleep, self.states).filter(|share| *share > 0.0),
            hidden_processes: self.hidden.filter(|hidden| *hidden > 0),
            coverage: (self.states as f64 / states_due).min(1.0),
            fitness: Fitness::CannotTell,
            unknown: Vec::new(),
            gpu: identity,
            metrics,
            energy,
        }
    }
}

fn energy(readings: &[(Micros, i64)], power: Option<&Metric>, start: Micros) -> Option<EnergyUse> {
    let (first, last) = (readings.first()?, readings.last()?);
    let seconds = last.0.since(first.0).as_secs_f64();
    // A counter that has not moved yet has measured nothing.
    if seconds <= 0.0 || last.1 <= first.1 {
        return None;
    }
    let offset = |at: Micros| u32::try_from(at.since(start).as_millis()).unwrap_or(u32::MAX);
    let joules = (last.1 - first.1) as f64 / 1e3;
    Some(EnergyUse {
        counter_joules: joules,
        seconds,
        mean_watts: joules / seconds,
        sampled_joules: power
            .and_then(|power| power.series.integral(offset(first.0), offset(last.0))),
    })
}
