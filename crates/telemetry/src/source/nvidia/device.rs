//! One GPU: its identity and its tiers of readings, only those that it can answer.
//!
//! Invariants: a call that was once "not supported" is not made again (an unsupported fan costs
//! 136 us each time on an H200); any call that says "lost" ends the tier at once.

use nvml_wrapper::FieldIdScheme;
use std::collections::BTreeMap;

use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlDevice_t, nvmlProcessInfo_t, nvmlProcessUtilizationSample_t, nvmlSample_t,
};

use super::activity::{Activity, ActivityMeter};
use super::calls::{self, ProcessKind};
use super::library::Library;
use super::xid_events::XidEvents;
use crate::Micros;
use crate::event::{Energy, GpuIdentity, MigInstance, ProcessUse, RingSample, Slow, State, Steady};
use crate::source::{Depth, Gpu, Reading, Refusal, Ring, SteadyWanted, Wanted};

/// NVML's field numbers, as in nvml.h.
mod field {
    pub(super) const POWER_POLICY_FIRST: u32 = 74;
    pub(super) const MEMORY_TEMPERATURE: u32 = 82;
    pub(super) const POWER_AVERAGE: u32 = 185;
    pub(super) const POWER_INSTANT: u32 = 186;
    pub(super) const PCIE_SENT_BYTES: u32 = 197;
    pub(super) const PCIE_RECEIVED_BYTES: u32 = 198;
    /// Until driver 580.82; from there on the numbers are 269 to 271.
    pub(super) const SOFTWARE_THERMAL: u32 = 251;
    pub(super) const SOFTWARE_THERMAL_FROM_580_82: u32 = 269;
}

/// What can be found unsupported, each remembered by a bit.
#[derive(Clone, Copy)]
enum Ask {
    Utilization,
    Fields,
    Throttle,
    DearThrottle,
    Power,
    Temperature,
    SmClock,
    MemoryClock,
    Reasons,
    Memory,
    Margin,
    PerformanceState,
    Fan,
    Encoder,
    Decoder,
    EccCorrected,
    EccUncorrected,
    EccLifetime,
    RemappedRows,
    PcieBytes,
    PcieReplays,
    PcieGeneration,
    PcieWidth,
    PowerLimit,
    Energy,
    PowerRing,
    BusyRing,
    MemoryBusyRing,
    ComputeProcesses,
    GraphicsProcesses,
    ProcessUse,
    Activity,
    Xids,
}

/// Readings that cost a driver call of their own, kept between two of them.
#[derive(Default)]
struct Known {
    /// Microseconds each.
    cheap_throttle_ns: [Option<i64>; 6],
    /// A millisecond each on an H200: these are asked of the GPU's own controller.
    dear_throttle_ns: [Option<i64>; 3],
    memory_used_bytes: Option<i64>,
    memory_reserved_bytes: Option<i64>,
    margin_c: Option<i64>,
    /// Utilisation of the GPU and of its memory.
    busy: Option<(i64, i64)>,
    temperature_c: Option<i64>,
    memory_clock_mhz: Option<i64>,
    seldom: Seldom,
    activity: Activity,
}

/// The part of the steady tier that changes least.
#[derive(Clone, Copy, Default)]
struct Seldom {
    performance_state: Option<i64>,
    fan_percent: Option<i64>,
    encoder_percent: Option<i64>,
    decoder_percent: Option<i64>,
}

/// An open GPU.
pub(crate) struct GpuHandle {
    library: Library,
    device: nvmlDevice_t,
    index: u32,
    unsupported: u64,
    /// The GPU was lost during the tier that is being read.
    lost: bool,
    /// What is read less often than the tier it is a part of, as it was read last.
    known: Known,
    samples: Vec<nvmlSample_t>,
    processes: Vec<nvmlProcessInfo_t>,
    process_samples: Vec<nvmlProcessUtilizationSample_t>,
    /// Opened with the first reading that needs it; absent where there are no such counters.
    activity: Option<ActivityMeter>,
    /// Opened likewise.
    xids: Option<XidEvents>,
}

// SAFETY: NVML documents its calls as thread safe, and the device handle is an opaque number to
// the library, which outlives this value because `library` keeps it loaded.
unsafe impl Send for GpuHandle {}

impl GpuHandle {
    pub(super) fn open(library: Library, index: u32) -> Reading<Self> {
        let device = calls::device_by_index(library.nvml().lib(), index)?;
        Ok(Self {
            library,
            device,
            index,
            unsupported: 0,
            lost: false,
            known: Known::default(),
            samples: Vec::new(),
            processes: Vec::new(),
            process_samples: Vec::new(),
            activity: None,
            xids: None,
        })
    }

    /// Keeps the SM clock at `mhz`, or at the GPU's highest; returns what was set.
    pub(crate) fn lock_clocks(&self, mhz: Option<u32>) -> Reading<u32> {
        let library = self.library.nvml().lib();
        let highest = calls::max_sm_clock(library, self.device);
        let highest = highest.and_then(|mhz| u32::try_from(mhz).map_err(|_| Refusal::OutOfRange));
        let mhz = match (mhz, highest) {
            (Some(mhz), Ok(highest)) if mhz > highest => return Err(Refusal::OutOfRange),
            (Some(mhz), _) => mhz,
            (None, highest) => highest?,
        };
        calls::lock_clocks(library, self.device, mhz, mhz)?;
        Ok(mhz)
    }

    /// Gives the SM clock back to the driver.
    pub(crate) fn unlock_clocks(&self) -> Reading<()> {
        calls::unlock_clocks(self.library.nvml().lib(), self.device)
    }

    fn ask<T>(
        &mut self,
        what: Ask,
        call: impl FnOnce(&NvmlLib, nvmlDevice_t) -> Reading<T>,
    ) -> Option<T> {
        let bit = 1u64 << what as u32;
        if self.lost || self.unsupported & bit != 0 {
            return None;
        }
        match call(self.library.nvml().lib(), self.device) {
            Ok(value) => Some(value),
            Err(Refusal::Lost) => {
                self.lost = true;
                None
            }
            Err(refusal) => {
                if refusal.is_final() {
                    self.unsupported |= bit;
                }
                None
            }
        }
    }

    /// The tier's result, unless the GPU was lost on the way.
    fn unless_lost<T>(&self, value: T) -> Reading<T> {
        if self.lost {
            Err(Refusal::Lost)
        } else {
            Ok(value)
        }
    }

    /// What stays the same about this GPU.
    pub(crate) fn identity(&self) -> Reading<GpuIdentity> {
        let (library, device) = (self.library.nvml().lib(), self.device);
        Ok(GpuIdentity {
            index: self.index,
            uuid: calls::uuid(library, device)?,
            name: calls::name(library, device)?,
            pci_bus_id: calls::pci_bus_id(library, device).ok(),
            memory_total_bytes: calls::memory(library, device)
                .ok()
                .map(|memory| memory.total),
            sm_clock_max_mhz: calls::max_sm_clock(library, device).ok(),
            pcie_generation_max: calls::pcie_generation_max(library, device).ok(),
            pcie_width_max: calls::pcie_width_max(library, device).ok(),
            power_limit_default_mw: calls::power_limit_default(library, device).ok(),
            slowdown_temperature_c: calls::slowdown_temperature(library, device).ok(),
            mig: calls::mig_enabled(library, device).unwrap_or(false),
            ..GpuIdentity::default()
        })
    }

    fn software_thermal(&self) -> u32 {
        match self.library.nvml().field_id_scheme() {
            FieldIdScheme::V13Update1 => field::SOFTWARE_THERMAL_FROM_580_82,
            FieldIdScheme::V12 => field::SOFTWARE_THERMAL,
        }
    }

    fn read_cheap_counters(&mut self) {
        let policy = field::POWER_POLICY_FIRST;
        let ids = [
            policy,
            policy + 2,
            policy + 3,
            policy + 4,
            policy + 5,
            self.software_thermal(),
        ];
        if let Some(values) = self.ask(Ask::Throttle, |library, device| {
            calls::fields(library, device, ids)
        }) {
            self.known.cheap_throttle_ns = values.map(counter);
        }
        if let Some(memory) = self.ask(Ask::Memory, calls::memory) {
            self.known.memory_used_bytes = Some(memory.used);
            self.known.memory_reserved_bytes = memory.reserved;
        }
    }

    fn read_dear_counters(&mut self) {
        let thermal = self.software_thermal();
        let ids = [field::POWER_POLICY_FIRST + 1, thermal + 1, thermal + 2];
        if let Some(values) = self.ask(Ask::DearThrottle, |library, device| {
            calls::fields(library, device, ids)
        }) {
            self.known.dear_throttle_ns = values.map(counter);
        }
    }

    /// What the GPU did since the last time; nothing where it has no such counters.
    fn activity(&mut self) -> Activity {
        let library = self.library.clone();
        let mut meter = self.activity.take();
        let read = self.ask(Ask::Activity, |_, device| {
            if meter.is_none() {
                meter = Some(ActivityMeter::open(library, device)?);
            }
            meter
                .as_mut()
                .map_or(Err(Refusal::NotSupported), |meter| meter.read(device))
        });
        self.activity = meter;
        read.unwrap_or_default()
    }
}

impl Gpu for GpuHandle {
    /// Opens the same GPU again: after it was lost, the old handle stays dead.
    fn reopen(&mut self) -> Reading<()> {
        self.device = calls::device_by_index(self.library.nvml().lib(), self.index)?;
        calls::uuid(self.library.nvml().lib(), self.device)?;
        self.lost = false;
        // Both belong to the old handle.
        (self.activity, self.xids) = (None, None);
        Ok(())
    }

    /// The fast tier. Memory costs 80 µs and some throttle counters a millisecond.
    fn state(&mut self, _at: Micros, wanted: Wanted) -> Reading<State> {
        let Wanted {
            depth,
            busy,
            temperature,
        } = wanted;
        if busy {
            self.known.busy = self.ask(Ask::Utilization, calls::utilization);
        }
        if temperature {
            self.known.temperature_c = self
                .ask(Ask::Temperature, calls::temperature)
                .filter(|degrees| (0..200).contains(degrees));
            self.known.memory_clock_mhz = self.ask(Ask::MemoryClock, calls::memory_clock);
        }
        let mut state = State {
            busy_percent: self.known.busy.map(|(busy, _)| busy),
            memory_busy_percent: self.known.busy.map(|(_, memory_busy)| memory_busy),
            temperature_c: self.known.temperature_c,
            memory_clock_mhz: self.known.memory_clock_mhz,
            ..State::default()
        };
        let ids = [
            field::POWER_AVERAGE,
            field::POWER_INSTANT,
            field::MEMORY_TEMPERATURE,
        ];
        if let Some(values) = self.ask(Ask::Fields, |library, device| {
            calls::fields(library, device, ids)
        }) {
            let [average, instant, memory_temperature] =
                values.map(|value| value.ok().filter(|value| *value >= 0));
            state.power_mw = average;
            state.power_instant_mw = instant;
            // Zero is how a GPU without the sensor answers.
            state.memory_temperature_c = memory_temperature.filter(|degrees| *degrees > 0);
        }
        if depth >= Depth::Counters {
            self.read_cheap_counters();
        }
        if depth == Depth::All {
            self.read_dear_counters();
        }
        [
            state.power_cap_ns,
            state.sync_boost_ns,
            state.board_limit_ns,
            state.low_utilization_ns,
            state.reliability_ns,
            state.software_thermal_ns,
        ] = self.known.cheap_throttle_ns;
        [
            state.thermal_policy_ns,
            state.hardware_thermal_ns,
            state.power_brake_ns,
        ] = self.known.dear_throttle_ns;
        state.memory_used_bytes = self.known.memory_used_bytes;
        state.memory_reserved_bytes = self.known.memory_reserved_bytes;
        if state.power_mw.is_none() {
            state.power_mw = self.ask(Ask::Power, calls::power_usage);
        }
        state.sm_clock_mhz = self.ask(Ask::SmClock, calls::sm_clock);
        state.event_reasons = self.ask(Ask::Reasons, calls::event_reasons);
        self.unless_lost(state)
    }

    /// The tier of a second. The margin costs a millisecond, activity 200 µs.
    fn steady(&mut self, _at: Micros, wanted: SteadyWanted) -> Reading<Steady> {
        let SteadyWanted {
            margin,
            seldom,
            activity,
        } = wanted;
        if margin {
            self.known.margin_c = self.ask(Ask::Margin, calls::margin);
        }
        let percent = |value: &i64| (0..=100).contains(value);
        if seldom {
            self.known.seldom = Seldom {
                performance_state: self.ask(Ask::PerformanceState, calls::performance_state),
                // Fans can be driven above what is nominal.
                fan_percent: self
                    .ask(Ask::Fan, calls::fan_speed)
                    .filter(|value| (0..=200).contains(value)),
                encoder_percent: self.ask(Ask::Encoder, calls::encoder).filter(percent),
                decoder_percent: self.ask(Ask::Decoder, calls::decoder).filter(percent),
            };
        }
        if activity {
            self.known.activity = self.activity();
        }
        let Activity {
            permille: [sm, occupancy, tensor, dram, fp64, fp32, fp16],
            bytes_per_second: [pcie_sent, pcie_received, nvlink_received, nvlink_sent],
        } = self.known.activity;
        let known = self.known.seldom;
        let steady = Steady {
            margin_c: self.known.margin_c,
            performance_state: known.performance_state,
            fan_percent: known.fan_percent,
            encoder_percent: known.encoder_percent,
            decoder_percent: known.decoder_percent,
            sm_active_permille: sm,
            sm_occupancy_permille: occupancy,
            tensor_active_permille: tensor,
            dram_active_permille: dram,
            fp64_active_permille: fp64,
            fp32_active_permille: fp32,
            fp16_active_permille: fp16,
            pcie_sent_bytes_s: pcie_sent,
            pcie_received_bytes_s: pcie_received,
            nvlink_received_bytes_s: nvlink_received,
            nvlink_sent_bytes_s: nvlink_sent,
            ..Steady::default()
        };
        self.unless_lost(steady)
    }

    /// The driver's critical errors since the last time, at most as many as a burst may hold. Also
    /// asked of a GPU that was just lost: the error says why.
    fn xids(&mut self) -> Vec<i64> {
        const BURST: usize = 64;
        if self.xids.is_none() {
            let library = self.library.clone();
            self.xids = self.ask(Ask::Xids, |_, device| XidEvents::open(library, device));
        }
        let events = self.xids.as_ref();
        std::iter::from_fn(|| events?.next()).take(BURST).collect()
    }

    /// The slow tier.
    fn slow(&mut self) -> Reading<Slow> {
        let mut slow = Slow {
            ecc_corrected: self.ask(Ask::EccCorrected, |library, device| {
                calls::ecc_errors(library, device, 0, 0)
            }),
            ecc_uncorrected: self.ask(Ask::EccUncorrected, |library, device| {
                calls::ecc_errors(library, device, 1, 0)
            }),
            ecc_uncorrected_lifetime: self.ask(Ask::EccLifetime, |library, device| {
                calls::ecc_errors(library, device, 1, 1)
            }),
            pcie_replays: self.ask(Ask::PcieReplays, calls::pcie_replays),
            pcie_generation: self.ask(Ask::PcieGeneration, calls::pcie_generation),
            pcie_width: self.ask(Ask::PcieWidth, calls::pcie_width),
            power_limit_mw: self.ask(Ask::PowerLimit, calls::power_limit),
            ..Slow::default()
        };
        if let Some((corrected, uncorrected, pending, failed)) =
            self.ask(Ask::RemappedRows, calls::remapped_rows)
        {
            slow.remapped_corrected_rows = Some(corrected);
            slow.remapped_uncorrected_rows = Some(uncorrected);
            slow.remap_pending = Some(pending);
            slow.remap_failed = Some(failed);
        }
        let ids = [field::PCIE_SENT_BYTES, field::PCIE_RECEIVED_BYTES];
        if let Some([sent, received]) = self.ask(Ask::PcieBytes, |library, device| {
            calls::fields(library, device, ids)
        }) {
            slow.pcie_sent_bytes = sent.ok();
            slow.pcie_received_bytes = received.ok();
        }
        self.unless_lost(slow)
    }

    /// The energy counter.
    fn energy(&mut self) -> Reading<Energy> {
        let energy_mj = self.ask(Ask::Energy, calls::energy);
        self.unless_lost(Energy { energy_mj })
    }

    /// What a ring holds after `after`; empty where there is nothing new or no such ring.
    fn ring(&mut self, ring: Ring, after: Micros) -> Reading<Vec<RingSample>> {
        let mut samples = std::mem::take(&mut self.samples);
        let what = match ring {
            Ring::Power => Ask::PowerRing,
            Ring::Busy => Ask::BusyRing,
            Ring::MemoryBusy => Ask::MemoryBusyRing,
        };
        let values = self.ask(what, |library, device| {
            calls::ring(library, device, ring as u32, after, &mut samples)
        });
        self.samples = samples;
        self.unless_lost(values.unwrap_or_default())
    }

    /// The processes on the GPU, by pid; a process with both contexts counts as compute. `None`
    /// where the driver does not list them.
    fn processes(&mut self, _at: Micros) -> Reading<Option<Vec<ProcessUse>>> {
        let mut buffer = std::mem::take(&mut self.processes);
        let compute = self.ask(Ask::ComputeProcesses, |library, device| {
            calls::processes(library, device, ProcessKind::Compute, &mut buffer)
        });
        let graphics = self.ask(Ask::GraphicsProcesses, |library, device| {
            calls::processes(library, device, ProcessKind::Graphics, &mut buffer)
        });
        self.processes = buffer;
        let listed = compute.is_some() || graphics.is_some();
        let mut uses: Vec<ProcessUse> = Vec::new();
        for (list, compute) in [(compute, true), (graphics, false)] {
            for listed in list.unwrap_or_default() {
                if !uses.iter().any(|seen| seen.pid == listed.pid) {
                    uses.push(ProcessUse {
                        pid: listed.pid,
                        memory_bytes: listed.memory_bytes,
                        compute,
                        busy_percent: None,
                        gpu_instance: listed.gpu_instance,
                    });
                }
            }
        }
        uses.sort_by_key(|process| process.pid);
        self.unless_lost(listed.then_some(uses))
    }

    /// How busy each process kept the GPU since `after`, by pid, and when that was read; processes that
    /// did nothing are left out. `None` where the driver does not say, or has nothing new to say.
    fn process_use(&mut self, after: Micros) -> Reading<Option<(BTreeMap<u32, i64>, Micros)>> {
        let mut buffer = std::mem::take(&mut self.process_samples);
        let samples = self.ask(Ask::ProcessUse, |library, device| {
            calls::process_utilization(library, device, after, &mut buffer)
        });
        self.process_samples = buffer;
        let newest = samples.map(|mut samples| {
            samples.sort_by_key(|(_, at, _)| *at);
            let seen = samples.last().map_or(after, |(_, at, _)| *at);
            let shares = samples.into_iter().map(|(pid, _, share)| (pid, share));
            (shares.collect(), seen)
        });
        self.unless_lost(newest)
    }

    /// The MIG instances; empty outside of MIG mode.
    fn mig_instances(&mut self) -> Vec<MigInstance> {
        let library = self.library.nvml().lib();
        let most = calls::mig_instances_max(library, self.device).unwrap_or(0);
        (0..u32::try_from(most).unwrap_or(0))
            .filter_map(|index| {
                let device = calls::mig_device(library, self.device, index).ok()?;
                let memory = calls::memory(library, device).ok();
                let gpu_instance = calls::gpu_instance(library, device).ok();
                Some(MigInstance {
                    index,
                    gpu_instance: gpu_instance.and_then(|number| u32::try_from(number).ok()),
                    uuid: calls::uuid(library, device).ok()?,
                    name: calls::name(library, device).unwrap_or_default(),
                    memory_used_bytes: memory.as_ref().map(|memory| memory.used),
                    memory_total_bytes: memory.as_ref().map(|memory| memory.total),
                })
            })
            .collect()
    }
}

/// A counter that the driver gave; what is negative is no count.
fn counter(value: Reading<i64>) -> Option<i64> {
    value.ok().filter(|value| *value >= 0)
}
