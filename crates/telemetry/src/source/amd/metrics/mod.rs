//! The `gpu_metrics` file of `amdgpu`: one binary table with nearly everything, in one system call.
//!
//! Invariants: only fields whose unit is published are read (what is left out is read from files that
//! the kernel has put into units); a field of all ones is absent, as the driver fills the table with
//! them; a version that is not known, or a table that is not as long as its version says, is refused
//! whole.

mod attributes;
mod layout;

use crate::source::sysfs::generation_of_tenths;
use layout::What;

/// Longest table that the kernel can show.
pub(super) const LIMIT: usize = 4096;
/// Format, content and size: two bytes of size, one of each revision.
const HEADER: usize = 4;

/// A table in our units; what it does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuMetrics {
    /// Format and content revision.
    pub version: (u8, u8),
    /// Temperature at the edge of the core.
    pub edge_c: Option<i64>,
    /// Temperature of its hottest spot.
    pub hotspot_c: Option<i64>,
    /// Temperature of its memory.
    pub memory_c: Option<i64>,
    /// Graphics and compute busy.
    pub busy_percent: Option<i64>,
    /// Memory controller busy.
    pub memory_busy_percent: Option<i64>,
    /// Video engines busy: the busiest.
    pub media_percent: Option<i64>,
    /// Power, averaged by the firmware.
    pub power_mw: Option<i64>,
    /// Power now.
    pub power_instant_mw: Option<i64>,
    /// Energy since the firmware began to count.
    pub energy_mj: Option<i64>,
    /// Graphics clock: of the fastest part.
    pub gfx_clock_mhz: Option<i64>,
    /// Memory clock.
    pub memory_clock_mhz: Option<i64>,
    /// Fan speed.
    pub fan_rpm: Option<i64>,
    /// PCIe generation now.
    pub pcie_generation: Option<i64>,
    /// PCIe lanes now.
    pub pcie_width: Option<i64>,
    /// PCIe packets sent again.
    pub pcie_replays: Option<i64>,
    /// Kilobytes read over XGMI, all links.
    pub xgmi_read_kb: Option<i64>,
    /// Kilobytes written over XGMI.
    pub xgmi_written_kb: Option<i64>,
    /// Parts whose clock is locked, a bit each.
    pub clocks_locked: Option<i64>,
    /// When the driver read the table, in nanoseconds of its own clock.
    pub time_ns: Option<i64>,
    /// What holds the clocks back.
    pub throttle: Throttle,
}

/// What holds the clocks back, in whichever way the table says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throttle {
    /// The table does not say.
    #[default]
    Unknown,
    /// Bits that mean the same on every GPU.
    Independent(u64),
    /// Bits of the Instinct series.
    Instinct(u64),
    /// Counters that rise while a reason holds.
    Residency(Residency),
}

/// Counters of the firmware that rise while a reason holds the clocks back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// Rounds of the firmware so far: what the others are shares of. Absent where they are not.
    pub rounds: Option<i64>,
    /// Rounds under a power limit.
    pub power: i64,
    /// Rounds under a limit of temperature.
    pub heat: i64,
    /// Rounds with a signal from outside of the core: voltage regulators, the board.
    pub signal: i64,
}

/// Why a table is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricsError {
    /// It ends before it says what it is.
    #[error("gpu_metrics has {0} bytes, which is less than its header")]
    NoHeader(usize),
    /// Its version is not known here.
    #[error("gpu_metrics version {0}.{1} is not known to this program")]
    UnknownVersion(u8, u8),
    /// Its version has another size.
    #[error(
        "gpu_metrics version {0}.{1} says that it has {2} bytes, which is no size of this version"
    )]
    WrongSize(u8, u8, usize),
    /// It ends before its end.
    #[error("gpu_metrics version {0}.{1} has {2} bytes and ends after {3}")]
    Truncated(u8, u8, usize, usize),
}

impl GpuMetrics {
    /// Reads a table.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, MetricsError> {
        let [low, high, format, content, ..] = *bytes else {
            return Err(MetricsError::NoHeader(bytes.len()));
        };
        let size = usize::from(u16::from_le_bytes([low, high]));
        let mut metrics = Self {
            version: (format, content),
            ..Self::default()
        };
        if bytes.len() < size || size < HEADER {
            return Err(MetricsError::Truncated(format, content, size, bytes.len()));
        }
        let table = &bytes[..size];
        let mut raw = Raw::default();
        if (format, content) == (1, 9) {
            attributes::read(table, &mut raw)?;
        } else {
            let layouts = layout::of_version(format, content);
            if layouts.is_empty() {
                return Err(MetricsError::UnknownVersion(format, content));
            }
            // Two layouts went by the name of 1.6: their sizes tell them apart.
            let layout = layouts.iter().find(|layout| layout::size(layout) == size);
            let layout = layout.ok_or(MetricsError::WrongSize(format, content, size))?;
            layout::read(layout, table, &mut raw);
        }
        metrics.take(&raw);
        Ok(metrics)
    }

    fn take(&mut self, raw: &Raw) {
        use What::*;
        let of = |what| raw.get(what);
        let degrees = |what| of(what).filter(|degrees| (0..200).contains(degrees));
        let percent = |what| of(what).filter(|percent| (0..=100).contains(percent));
        let centi = |what| of(what).map(|value| (value + 50) / 100);
        self.edge_c = degrees(Edge).or(centi(EdgeCenti).filter(|edge| (0..200).contains(edge)));
        self.hotspot_c = degrees(Hotspot);
        self.memory_c = degrees(Memory);
        self.busy_percent = percent(Gfx).or(centi(GfxCenti).filter(|busy| *busy <= 100));
        self.memory_busy_percent = percent(Umc);
        self.media_percent = percent(Media).or(centi(MediaCenti).filter(|busy| *busy <= 100));
        // More than a power station is no reading.
        let watts = |what| {
            of(what)
                .filter(|watts| *watts < 100_000)
                .map(|watts| watts * 1000)
        };
        self.power_mw = watts(Watts).or(of(Milliwatts));
        self.power_instant_mw = watts(WattsNow);
        // Units of 2^-16 J.
        self.energy_mj = of(Energy).map(|units| ((i128::from(units) * 1000) >> 16) as i64);
        // No chip runs at zero: it is how a resting one answers for its average.
        let clock = |what| of(what).filter(|mhz| (1..20_000).contains(mhz));
        self.gfx_clock_mhz = of(GfxClock)
            .filter(|mhz| *mhz < 20_000)
            .or(clock(GfxClockMean));
        self.memory_clock_mhz = of(MemClock)
            .filter(|mhz| *mhz < 20_000)
            .or(clock(MemClockMean));
        self.fan_rpm = of(Fan).filter(|rpm| *rpm < 50_000);
        self.pcie_generation = of(LinkSpeed).and_then(generation_of_tenths);
        self.pcie_width = of(LinkWidth).filter(|lanes| (1..=64).contains(lanes));
        self.pcie_replays = of(Replays);
        self.xgmi_read_kb = of(XgmiRead);
        self.xgmi_written_kb = of(XgmiWritten);
        self.clocks_locked = of(ClockLock);
        self.time_ns = of(Time);
        self.throttle = throttle(raw);
    }
}

fn throttle(raw: &Raw) -> Throttle {
    use What::*;
    if let Some(bits) = raw.get(Throttled) {
        return Throttle::Independent(bits.unsigned_abs());
    }
    let residencies =
        [Ppt, SocketHeat, MemoryHeat, RegulatorHeat, Prochot].map(|what| raw.get(what));
    if residencies.iter().any(Option::is_some) {
        let [power, socket, memory, regulator, prochot] =
            residencies.map(|rounds| rounds.unwrap_or(0));
        return Throttle::Residency(Residency {
            rounds: raw.get(Rounds),
            power,
            heat: socket.saturating_add(memory),
            signal: regulator.saturating_add(prochot),
        });
    }
    match raw.get(ThrottledInstinct) {
        Some(bits) => Throttle::Instinct(bits.unsigned_abs()),
        None => Throttle::Unknown,
    }
}

/// Values as they stand in a table, by what they are; several of a kind are added up, or the highest
/// counts.
struct Raw([Option<i64>; What::COUNT]);

impl Default for Raw {
    fn default() -> Self {
        Self([None; What::COUNT])
    }
}

impl Raw {
    fn get(&self, what: What) -> Option<i64> {
        self.0[what as usize]
    }

    /// Takes a value in, unless it is all ones; beyond `i64` there is no quantity here.
    fn put(&mut self, what: What, value: u64, all_ones: u64) {
        let Some(value) = i64::try_from(value).ok().filter(|_| value != all_ones) else {
            return;
        };
        let slot = &mut self.0[what as usize];
        *slot = Some(match (*slot, what.adds_up()) {
            (None, _) => value,
            (Some(sum), true) => sum.saturating_add(value),
            (Some(most), false) => most.max(value),
        });
    }
}

#[cfg(test)]
pub(crate) mod tests;
