//! Pictures as data; the page draws them.

use serde::{Deserialize, Serialize};

/// A picture with a caption that says what to see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Workloads below the machine's two ceilings.
    Roofline(Roofline),
    /// CPU against GPU over the size, small charts side by side.
    Crossover(Vec<Crossover>),
    /// A law through its points.
    Law(LawPlot),
    /// Readings of a machine at rest, side by side.
    AtRest(AtRest),
    /// Peers by time, the slowest first.
    Ladder(Ladder),
}

/// Workloads below the machine's ceilings, both axes logarithmic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// Measured ceiling of memory, bytes per second.
    pub memory: Roof,
    /// Measured ceiling of arithmetic, flop per second.
    pub arithmetic: Roof,
    /// The workloads.
    pub points: Vec<RoofPoint>,
    /// What to see.
    pub caption: String,
}

/// A ceiling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roof {
    /// Measured.
    pub measured: f64,
    /// As printed on it: `copy 4.29 TB/s, measured`.
    pub label: String,
    /// By the datasheet; drawn dashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datasheet: Option<f64>,
}

/// A workload on a roofline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoofPoint {
    /// Id of the workload; the part before `/` is its family.
    pub name: String,
    /// Operations per byte of memory.
    pub intensity: f64,
    /// Operations per second.
    pub rate: f64,
}

/// Times over the size on two devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// Id of the workload.
    pub name: String,
    /// What the size counts, at the axis.
    pub unit: String,
    /// One line per device.
    pub lines: Vec<CrossoverLine>,
    /// The sizes between which the faster device changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<(f64, f64)>,
    /// The same in words, with the ratio at the largest size.
    pub caption: String,
}

/// One device's times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossoverLine {
    /// `CPU` or `GPU`.
    pub label: String,
    /// Drawn solid with circles, as a GPU's; a CPU's is dashed with squares.
    pub gpu: bool,
    /// Size and seconds.
    pub points: Vec<(f64, f64)>,
}

/// A fitted law through its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LawPlot {
    /// What the size counts.
    pub unit: String,
    /// Size and seconds.
    pub points: Vec<(f64, f64)>,
    /// Size and seconds of the curve; empty where no law was requested.
    pub curve: Vec<(f64, f64)>,
    /// `15.7 µs + 0.42 ns · N`; may be empty.
    pub formula: String,
    /// What to see.
    pub caption: String,
}

/// Readings of a machine at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtRest {
    /// Side by side.
    pub panels: Vec<AtRestPanel>,
}

/// One reading over time on its full scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtRestPanel {
    /// `Power, W`.
    pub title: String,
    /// `135.4 W [135.4, 135.7]; limit 700`.
    pub note: String,
    /// The whole scale.
    pub range: (f64, f64),
    /// What is good, as a band; may be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<(f64, f64)>,
    /// Seconds and values.
    pub points: Vec<(f64, f64)>,
}

/// Programs that do the same work, by time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// The slowest first.
    pub rows: Vec<LadderRow>,
    /// What was measured, and the fair comparisons.
    pub caption: String,
}

/// A program on a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LadderRow {
    /// `Numba, 4 threads`.
    pub name: String,
    /// Its time.
    pub seconds: f64,
    /// Ours.
    pub own: bool,
    /// On a GPU.
    pub gpu: bool,
}
