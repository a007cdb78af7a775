//! The optimisation matrix: what each technique was claimed to bring, and what it brings here.
//!
//! Invariants: both sides of a row render the same phrase to 16-bit samples in host memory, in
//! paired rounds; a row that this machine cannot measure says why; the sound of each side is compared
//! with double precision, and a technique that falls below its bound is not called a gain.

use serde::Serialize;
use warpsmith_core::{Finding, Severity};
use warpsmith_device::Device;
use warpsmith_measure::ablation::{AblationRow, Setting, compare_settings};
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_measure::statistics::quantile::type7;
use warpsmith_workload::{Output, Parameters, Workload, WorkloadError};

use crate::phrase::{Phrase, PhraseRenderer};
use crate::quality::{alias_db, largest_step_db, snr_db};
use crate::reference;
use crate::workload::phrase::settings;
use crate::workload::workloads;

/// Where a row can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// On the CPU alone.
    Cpu,
    /// On a GPU alone.
    Cuda,
    /// On either.
    Both,
    /// Nowhere: it belongs to another program, and a record stands for it.
    Recorded,
}

/// Parameters of one side.
type Side = &'static [(&'static str, &'static str)];

/// A technique of the matrix.
#[derive(Clone, Copy, Debug)]
pub struct Technique {
    /// What it is called.
    pub name: &'static str,
    /// What was claimed: a reduction of latency.
    pub claimed: &'static str,
    /// Where it can be measured.
    pub platform: Platform,
    /// What the row compares, or what is recorded.
    pub what: &'static str,
    workload: &'static str,
    without: Side,
    with: Side,
    /// Least signal-to-noise ratio in dB that the technique may leave.
    bound_db: f64,
}

/// Above this, 16 bits cannot show the noise.
const FINE: f64 = 96.0;
/// Through 16-bit samples that are cut towards zero, a phrase cannot be better than this.
const FINE_PCM16: f64 = 70.0;

macro_rules! rows {
    ($($name:literal, $claimed:literal, $platform:ident, $what:literal, $workload:literal,
        [$($without:expr),*] => [$($with:expr),*], $bound:expr;)*) => {
        &[$(Technique {
            name: $name, claimed: $claimed, platform: Platform::$platform, what: $what,
            workload: $workload, without: &[$($without),*], with: &[$($with),*], bound_db: $bound,
        }),*]
    };
}

/// Every row, the ten of the published matrix first.
// Envelopes are compared without the steps of the first engine, which would hide those of a technique.
#[rustfmt::skip] // a row to two lines
pub const TECHNIQUES: &[Technique] = rows! {
    "memory pre-allocation", "variance only", Both, "buffers per render → once", "synth/phrase",
        [("alloc", "per-render")] => [("alloc", "pool")], FINE;
    "batch voice rendering", "-40..-60 %", Cuda, "a launch per voice → one", "synth/phrase",
        [("launch", "voice"), ("graph", "off")] => [("graph", "off")], FINE_PCM16;
    "no_grad", "-5..-10 %", Recorded, "PyTorch 2.11, H200: 53.0 → 65.9 ms; nothing records gradients", "", [] => [], 0.0;
    "torch.compile", "-20..-40 %", Recorded, "PyTorch 2.11, H200: batched 4.15 → 0.62 ms after 15.7 s of compiling", "", [] => [], 0.0;
    "kernel fusion", "-10..-20 %", Cuda, "a launch per operator → per voice", "synth/phrase",
        [("launch", "operator"), ("graph", "off")] => [("launch", "voice"), ("graph", "off")], FINE_PCM16;
    "CUDA streams", "-15..-25 %", Cuda, "copy after render → beside the next", "synth/streams",
        [("overlap", "off"), ("blocks", "8")] => [("overlap", "on"), ("blocks", "8")], 0.0;
    "profiling", "none", Recorded, "not a technique: every row here carries its samples", "", [] => [], 0.0;
    "half-precision amplitudes", "-10..-15 %, reject", Cpu, "f32 → f16 waves and amplitudes", "synth/phrase",
        [("arithmetic", "integer-phase")] => [("arithmetic", "half-amplitude")], FINE;
    "CUDA graphs, many launches", "-30..-50 %", Cuda, "57 launches one by one → a graph", "synth/phrase",
        [("launch", "voice"), ("graph", "off")] => [("launch", "voice")], FINE_PCM16;
    "CUDA graphs, one launch", "-30..-50 %", Cuda, "one launch and a copy → a graph", "synth/phrase",
        [("graph", "off")] => [], FINE_PCM16;
    "custom kernel", "-50..-100 %", Recorded, "PyTorch 2.11, H200: eager 53.0, its best 0.62 ms; ours is the row above", "", [] => [], 0.0;
    "half-precision everything", "reject", Cpu, "f32 → f16, phase included", "synth/phrase",
        [("arithmetic", "integer-phase")] => [("arithmetic", "half-everything")], FINE;
    "bfloat16 amplitudes", "reject", Cpu, "f32 → bf16 waves and amplitudes", "synth/phrase",
        [("arithmetic", "integer-phase")] => [("arithmetic", "brain-amplitude")], FINE;
    "integer phase", "-", Cpu, "f32 phase → 32-bit integer phase", "synth/phrase",
        [("arithmetic", "float-phase")] => [("arithmetic", "integer-phase")], FINE;
    "single precision", "-", Cpu, "f64 → f32 with integer phase", "synth/phrase",
        [("arithmetic", "double")] => [("arithmetic", "integer-phase")], FINE;
    "fast math", "-", Cpu, "library sine → polynomial", "synth/phrase",
        [("arithmetic", "library-sine")] => [("arithmetic", "integer-phase")], FINE;
    "cubic envelopes", "-", Cpu, "envelope per sample → a cubic over 64", "synth/phrase",
        [("formulas", "click-free"), ("envelope", "sample")] => [("formulas", "click-free"), ("envelope", "cubic")], FINE;
    "held envelopes", "-", Cpu, "envelope per sample → held for 64", "synth/phrase",
        [("formulas", "click-free"), ("envelope", "sample")] => [("formulas", "click-free"), ("envelope", "hold64")], FINE;
    "envelopes held for 16", "-", Cpu, "envelope per sample → held for 16", "synth/phrase",
        [("formulas", "click-free"), ("envelope", "sample")] => [("formulas", "click-free"), ("envelope", "hold16")], FINE;
    "SIMD", "-", Cpu, "the target's least instructions → the machine's best", "synth/phrase",
        [("simd", "portable")] => [("simd", "best")], FINE;
    "SIMD, eight lanes", "-", Cpu, "the target's least instructions → AVX2", "synth/phrase",
        [("simd", "portable")] => [("simd", "avx2")], FINE;
    "threads", "-", Cpu, "one core → all", "synth/phrase",
        [("threads", "one")] => [("threads", "all")], FINE;
    "anti-aliasing", "-", Both, "naive saw → B-spline", "synth/phrase",
        [("saw", "naive")] => [("saw", "spline")], FINE;
    "anti-aliasing, PolyBLEP", "-", Both, "naive saw → a parabola at its jump", "synth/phrase",
        [("saw", "naive")] => [("saw", "polyblep")], FINE;
    "running-sum swell", "-", Cpu, "100-tap convolution → running sum", "synth/phrase",
        [("swell", "convolution")] => [("swell", "running-sum")], FINE;
    "pinned memory", "-", Cuda, "pageable → page-locked host memory", "synth/phrase",
        [("host", "pageable"), ("graph", "off")] => [("graph", "off")], FINE_PCM16;
    "mapped memory", "-", Cuda, "copied to page-locked memory → written there by the kernel", "synth/phrase",
        [("graph", "off")] => [("host", "mapped"), ("graph", "off")], FINE_PCM16;
    "16-bit on the device", "-", Cuda, "floats, converted by the host → 16 bit", "synth/phrase",
        [("out", "f32"), ("graph", "off")] => [("graph", "off")], FINE_PCM16;
    "binary wire", "-", Cpu, "base64 in JSON → raw samples", "synth/wire",
        [("wire", "json-base64")] => [("wire", "pcm16")], 0.0;
    "16-bit wire", "-", Cpu, "floats → 16-bit samples", "synth/wire",
        [("wire", "f32")] => [("wire", "pcm16")], 0.0;
    "shared encoding", "-", Cpu, "a frame per listener → one for 16", "synth/wire",
        [("encode", "per-client")] => [("encode", "shared")], 0.0;
    "warm-up", "-", Recorded, "H200: first load of the kernels 15 to 86 ms from PTX → 0.2 ms from machine code", "", [] => [], 0.0;
    "garbage collector", "-", Recorded, "there is none to tune: the column of allocations shows what a render leaves behind", "", [] => [], 0.0;
};

/// How much a technique brings, in the classes of the published matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Impact {
    /// More than 30 % faster.
    High,
    /// 10 to 30 % faster.
    Medium,
    /// Up to 10 % faster.
    Low,
    /// Not faster, or not usable.
    None,
}

impl Impact {
    /// The class of a change in percent with its verdict.
    fn of(change_percent: f64, verdict: &str) -> Self {
        match -change_percent {
            _ if verdict != FASTER => Self::None,
            faster if faster > 30.0 => Self::High,
            faster if faster >= 10.0 => Self::Medium,
            _ => Self::Low,
        }
    }
}

impl std::fmt::Display for Impact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::None => "none",
        })
    }
}

/// The verdict of a technique that is worth it.
const FASTER: &str = "faster";

/// The ten techniques of the published matrix with the class and the priority that it gave them, P0 the
/// most urgent; graphs have two rows here.
const PUBLISHED: [(&str, Impact, &str); 11] = [
    ("memory pre-allocation", Impact::High, "P0"),
    ("batch voice rendering", Impact::High, "P0"),
    ("no_grad", Impact::Medium, "P0"),
    ("torch.compile", Impact::Medium, "P1"),
    ("kernel fusion", Impact::Medium, "P1"),
    ("CUDA streams", Impact::Medium, "P2"),
    ("profiling", Impact::Medium, "P1"),
    ("half-precision amplitudes", Impact::Low, "avoid"),
    ("CUDA graphs, many launches", Impact::High, "P3"),
    ("CUDA graphs, one launch", Impact::High, "P3"),
    ("custom kernel", Impact::High, "P4"),
];

impl Technique {
    /// The class and the priority that the published matrix gave it, if it is one of its ten.
    pub fn published(&self) -> Option<(Impact, &'static str)> {
        let found = PUBLISHED.iter().find(|(name, ..)| *name == self.name);
        found.map(|(_, impact, priority)| (*impact, *priority))
    }
}

/// Quantiles in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Median.
    pub p50: f64,
    /// 95 of 100 are shorter.
    pub p95: f64,
    /// 99 of 100 are shorter.
    pub p99: f64,
}

impl Times {
    fn of(measurement: &Measurement) -> Self {
        let mut sorted = measurement.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        Self {
            p50: type7(&sorted, 0.5),
            p95: type7(&sorted, 0.95),
            p99: type7(&sorted, 0.99),
        }
    }
}

/// How one side sounds; absent where the workload makes no phrase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sound {
    /// Against the same formulas in double precision.
    pub snr_db: f64,
    /// Aliases of its saw at 440 Hz.
    pub alias_db: f64,
    /// Largest step of an envelope.
    pub step_db: f64,
}

/// What was measured of a row.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Change of the median in percent; negative is faster.
    pub change_percent: f64,
    /// Interval of the change.
    pub interval_percent: (f64, f64),
    /// Whether the interval excludes no effect, and the sound stays above its bound.
    pub verdict: &'static str,
    /// How much that is.
    pub impact: Impact,
    /// Times without the technique.
    pub without: Times,
    /// Times with it.
    pub with: Times,
    /// Device memory with it less without.
    pub memory_bytes: Option<i64>,
    /// Allocations of one render without and with it, where they are counted.
    pub allocations: Option<(u64, u64)>,
    /// How both sides sound.
    pub sound: Option<(Sound, Sound)>,
    /// The samples.
    pub row: AblationRow,
}

/// A line of the matrix.
#[derive(Clone, Debug, Serialize)]
pub struct MatrixRow {
    /// The technique.
    pub technique: &'static str,
    /// What was claimed.
    pub claimed: &'static str,
    /// The class and the priority of the published matrix, for its ten techniques.
    pub published: Option<(Impact, &'static str)>,
    /// What is compared, or recorded.
    pub what: &'static str,
    /// Where it can be measured.
    pub platform: Platform,
    /// The figures, or why there are none.
    pub outcome: Result<Measured, String>,
}

fn workload(id: &str) -> Option<Box<dyn Workload>> {
    workloads().into_iter().find(|workload| workload.id() == id)
}

fn resolve(workload: &dyn Workload, side: Side) -> Result<Parameters, WorkloadError> {
    let given: Vec<(String, String)> = side
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Ok(Parameters::resolve(workload.parameters(), &given)?)
}

/// How the phrase sounds with these parameters on this device.
fn sound(
    workload: &dyn Workload,
    device: &Device,
    parameters: &Parameters,
) -> Result<Sound, WorkloadError> {
    let settings = settings(parameters);
    let mut phrase = Phrase::reference();
    for note in &mut phrase.notes {
        note.seed = 1;
    }
    let expected = reference::phrase(&phrase, settings.formulas, settings.saw, None);
    let snr_db = if device.cuda().is_some() {
        let mut prepared = workload.prepare(device, parameters, 1)?;
        prepared.poison()?;
        prepared.run_once()?;
        match prepared.output()? {
            Output::I16(samples) => snr_db(
                expected.as_flattened(),
                samples.iter().map(|sample| f64::from(*sample) / 32_767.0),
            ),
            _ => f64::NAN,
        }
    } else {
        let mut frames = vec![[f32::NAN; 2]; phrase.frames];
        let failed = |error: crate::ParamError| WorkloadError::Failed {
            workload: "synth/phrase",
            reason: error.to_string(),
        };
        PhraseRenderer::new(phrase.clone(), settings, None)
            .map_err(failed)?
            .render_f32(&mut frames);
        snr_db(
            expected.as_flattened(),
            frames
                .as_flattened()
                .iter()
                .map(|sample| f64::from(*sample)),
        )
    };
    Ok(Sound {
        snr_db,
        alias_db: alias_db(settings.saw, 440, phrase.sample_rate),
        step_db: largest_step_db(&phrase, settings.formulas, settings.techniques.envelope),
    })
}

/// Measures one technique on `device`. `count` counts the allocations of this thread, where the
/// program can.
pub fn measure(
    technique: &Technique,
    device: &Device,
    plan: &ComparisonPlan,
    count: Option<&dyn Fn() -> u64>,
) -> MatrixRow {
    let on_gpu = device.cuda().is_some();
    let outcome = match (technique.platform, on_gpu) {
        (Platform::Recorded, _) => Err("no counterpart in this program".to_owned()),
        (Platform::Cuda, false) => Err("needs a GPU".to_owned()),
        (Platform::Cpu, true) => Err("measured with `--device cpu`".to_owned()),
        _ => compare(technique, device, plan, count).map_err(|error| error.to_string()),
    };
    MatrixRow {
        technique: technique.name,
        claimed: technique.claimed,
        published: technique.published(),
        what: technique.what,
        platform: technique.platform,
        outcome,
    }
}

fn compare(
    technique: &Technique,
    device: &Device,
    plan: &ComparisonPlan,
    count: Option<&dyn Fn() -> u64>,
) -> Result<Measured, WorkloadError> {
    let missing = || WorkloadError::Failed {
        workload: "synth",
        reason: format!("there is no workload `{}`", technique.workload),
    };
    let workload = workload(technique.workload).ok_or_else(missing)?;
    let workload = workload.as_ref();
    let without = resolve(workload, technique.without)?;
    let with = resolve(workload, technique.with)?;
    let allocations = |parameters: &Parameters| -> Result<Option<u64>, WorkloadError> {
        let Some(count) = count else { return Ok(None) };
        let mut prepared = workload.prepare(device, parameters, 1)?;
        prepared.run_once()?;
        let before = count();
        prepared.run_once()?;
        Ok(Some(count() - before))
    };
    let allocations = allocations(&without)?.zip(allocations(&with)?);
    let sound = match technique.workload {
        "synth/phrase" => Some((
            sound(workload, device, &without)?,
            sound(workload, device, &with)?,
        )),
        _ => None,
    };
    let row = compare_settings(
        workload,
        device,
        technique.name,
        Setting::AloneOnBase,
        &without,
        &with,
        RunMode::EndToEnd,
        plan,
    )?;
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let interval = (percent(row.evaluation.low), percent(row.evaluation.high));
    // What comes from a GPU are 16-bit samples, whatever the row is about.
    let bound_db = match device.cuda() {
        Some(_) => technique.bound_db.min(FINE_PCM16),
        None => technique.bound_db,
    };
    let spoiled = sound.is_some_and(|(_, with)| with.snr_db < bound_db);
    let verdict = if spoiled {
        "spoils the sound"
    } else if interval.0 <= 0.0 && interval.1 >= 0.0 {
        "no effect"
    } else if interval.1 < 0.0 {
        FASTER
    } else {
        "slower"
    };
    let change_percent = percent(row.evaluation.ratio);
    Ok(Measured {
        change_percent,
        interval_percent: interval,
        verdict,
        impact: Impact::of(change_percent, verdict),
        without: Times::of(&row.comparison.a),
        with: Times::of(&row.comparison.b),
        memory_bytes: row.memory_bytes,
        allocations,
        sound,
        row,
    })
}

/// Findings about techniques that may not be used for sound.
pub fn findings(rows: &[MatrixRow]) -> Vec<Finding> {
    let measured = rows
        .iter()
        .filter_map(|row| Some((row, row.outcome.as_ref().ok()?)));
    measured
        .filter(|(_, measured)| measured.verdict == "spoils the sound")
        .map(|(row, measured)| {
            let snr = measured.sound.map_or(f64::NAN, |(_, with)| with.snr_db);
            Finding::new(
                "Y006",
                Severity::Info,
                format!("`{}` changes the sound by more than it may", row.technique),
            )
            .because(
                "signal-to-noise ratio against double precision",
                format!("{snr:.1} dB"),
            )
        })
        .collect()
}

/// The matrix as Markdown.
pub fn markdown(rows: &[MatrixRow], device: &str) -> String {
    let mut text = format!(
        "# Optimisation matrix, measured on {device}\n\n\
         | technique | what | priority | claimed | impact | measured | interval | verdict | p50 ms | p95 | p99 | allocations | SNR dB | alias dB | step dB |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let cells = cells(row).join(" | ");
        text.push_str(&format!("| {cells} |\n"));
    }
    text
}

/// Cells of a row.
pub const CELLS: usize = 15;

/// The cells of a row, as the views show them; the impact is the published class and the measured one.
pub fn cells(row: &MatrixRow) -> [String; CELLS] {
    let mut cells: [String; CELLS] = std::array::from_fn(|_| "-".to_owned());
    let (claimed, priority) = row
        .published
        .map_or(("-".to_owned(), "-"), |(impact, p)| (impact.to_string(), p));
    let head = [row.technique, row.what, priority, row.claimed];
    cells[..4].clone_from_slice(&head.map(str::to_owned));
    let measured = match &row.outcome {
        Ok(measured) => measured,
        Err(reason) => {
            cells[4] = claimed;
            cells[7].clone_from(reason);
            return cells;
        }
    };
    let pair = |(a, b): (f64, f64)| format!("{a:.1} → {b:.1}");
    let times = |pick: fn(&Times) -> f64| {
        let (a, b) = (pick(&measured.without) * 1e3, pick(&measured.with) * 1e3);
        format!("{a:.3} → {b:.3}")
    };
    cells[4] = format!("{claimed} → {}", measured.impact);
    cells[5] = format!("{:+.1} %", measured.change_percent);
    let (low, high) = measured.interval_percent;
    cells[6] = format!("{low:+.1} to {high:+.1}");
    cells[7] = measured.verdict.to_owned();
    cells[8] = times(|times| times.p50);
    cells[9] = times(|times| times.p95);
    cells[10] = times(|times| times.p99);
    if let Some((a, b)) = measured.allocations {
        cells[11] = format!("{a} → {b}");
    }
    if let Some((a, b)) = measured.sound {
        cells[12] = pair((a.snr_db, b.snr_db));
        cells[13] = pair((a.alias_db, b.alias_db));
        cells[14] = pair((a.step_db, b.step_db));
    }
    cells
}

#[cfg(test)]
mod tests {
    use warpsmith_device::pool_waits;

    use super::*;

    #[test]
    fn every_side_of_every_row_is_understood_by_its_workload() {
        for technique in TECHNIQUES {
            if technique.platform == Platform::Recorded {
                continue;
            }
            let workload = workload(technique.workload).unwrap();
            let without = resolve(workload.as_ref(), technique.without).unwrap();
            let with = resolve(workload.as_ref(), technique.with).unwrap();
            assert_ne!(without, with, "{}", technique.name);
        }
    }

    #[test]
    fn all_ten_published_techniques_have_a_row_with_class_and_priority() {
        for (name, ..) in PUBLISHED {
            let count = TECHNIQUES.iter().filter(|row| row.name == name).count();
            assert_eq!(count, 1, "{name}");
        }
        // Graphs stand for one of them with two rows; what is ours was never published.
        let rated = TECHNIQUES.iter().filter(|row| row.published().is_some());
        assert_eq!(rated.count(), 11);
        assert!(TECHNIQUES[..11].iter().all(|row| row.published().is_some()));
    }

    #[test]
    fn an_impact_is_what_was_measured_and_usable() {
        assert_eq!(Impact::of(-45.0, FASTER), Impact::High);
        assert_eq!(Impact::of(-30.0, FASTER), Impact::Medium);
        assert_eq!(Impact::of(-2.0, FASTER), Impact::Low);
        assert_eq!(Impact::of(-45.0, "spoils the sound"), Impact::None);
        assert_eq!(Impact::of(-2.0, "no effect"), Impact::None);
        assert_eq!(Impact::of(12.0, "slower"), Impact::None);
    }

    #[test]
    fn what_the_pool_renders_is_not_timed_by_the_thread_that_waits() {
        let device = Device::open(warpsmith_device::DeviceChoice::Cpu).unwrap();
        for (id, side, elsewhere) in [
            ("synth/phrase", &[("threads", "one")][..], false),
            ("synth/streams", &[("streams", "2")][..], true),
        ] {
            let workload = workload(id).unwrap();
            let parameters = resolve(workload.as_ref(), side).unwrap();
            let mut prepared = workload.prepare(&device, &parameters, 1).unwrap();
            let waits = pool_waits();
            prepared.run_once().unwrap();
            assert_eq!(pool_waits() != waits, elsewhere, "{id}");
        }
    }

    #[test]
    fn a_row_without_its_device_says_so() {
        let device = Device::open(warpsmith_device::DeviceChoice::Cpu).unwrap();
        let fusion = TECHNIQUES
            .iter()
            .find(|row| row.name == "kernel fusion")
            .unwrap();
        let row = measure(fusion, &device, &ComparisonPlan::default(), None);
        assert_eq!(row.outcome.as_ref().unwrap_err(), "needs a GPU");
        let text = markdown(&[row], "x");
        assert!(
            text.contains("| P1 | -10..-20 % | medium |") && text.contains("needs a GPU"),
            "{text}"
        );
    }
}
