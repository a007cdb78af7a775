//! *Is the GPU at rest and healthy?*

use std::collections::BTreeMap;

use warpsmith_core::{Finding, Severity};
use warpsmith_telemetry::baseline::{BaselineBody, GpuBaseline, Metric};

use super::findings_table::{groups, table};
use super::{counted, empty};
use crate::digits::{self, Quantity};
use crate::document::{
    AtRest, AtRestPanel, Block, Cell, Chapter, Column, Figure, Fold, Ladder, LadderRow, Place, Row,
    State, Table, Tag,
};
use crate::facts::{Facts, LadderFacts};

pub(super) fn chapter(facts: &Facts) -> Chapter {
    let mut chapter = empty("rest", "At rest", "Is the GPU at rest and healthy?");
    let Some(report) = &facts.rest else {
        chapter.note = "not measured".to_owned();
        chapter.answers = [
            "Not measured: the machine at rest was not sampled.".to_owned(),
            "`warpsmith baseline` samples it.".to_owned(),
            String::new(),
        ];
        chapter.blocks.extend(ladder(facts));
        return chapter;
    };
    let body = &report.body;
    chapter.findings.clone_from(&report.findings);
    // No GPU is a fact that the first screen states, not a fault.
    let faults: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| finding.code != "B043" && finding.severity >= Severity::Warning)
        .collect();
    let worst = faults.iter().map(|finding| finding.severity).max();
    chapter.light = match worst {
        _ if !facts.fitness.unfit.is_empty() => State::Act,
        Some(Severity::Error) => State::Act,
        Some(_) => State::Look,
        None if body.gpus.is_empty() => State::NotMeasured,
        None => State::Good,
    };
    chapter.answers = answers(facts, body, &faults);
    chapter.note = match (body.gpus.first(), faults.first()) {
        (_, Some(fault)) => fault.message.clone(),
        (Some(gpu), None) => idle_note(gpu),
        (None, None) => "no GPU; the host is at rest".to_owned(),
    };
    let many = body.gpus.len() > 1;
    if !many {
        chapter.blocks.push(Block::Figure(Figure::AtRest(AtRest {
            panels: panels(body),
        })));
    }
    chapter.blocks.push(Block::Table(readings(body)));
    let found = groups(&report.findings, Severity::Warning);
    if !found.is_empty() {
        let rows = table("at-rest-findings", "what was seen", &found);
        chapter.blocks.push(Block::Table(rows));
    }
    chapter.blocks.extend(ladder(facts));
    chapter.folds.extend(processes(body));
    chapter.folds.extend(unknown(body));
    chapter
}

fn median(metrics: &BTreeMap<String, Metric>, name: &str) -> Option<f64> {
    Some(metrics.get(name)?.summary.p50.value)
}

fn idle_note(gpu: &GpuBaseline) -> String {
    let mut words = vec!["idle".to_owned()];
    if let Some(celsius) = median(&gpu.metrics, "temperature_c") {
        words.push(format!("{celsius:.0} °C"));
    }
    if gpu.throttle.iter().all(|share| !share.counted) {
        words.push("no throttling".to_owned());
    }
    words.join(", ")
}

fn answers(facts: &Facts, body: &BaselineBody, faults: &[&Finding]) -> [String; 3] {
    let busy = median(&body.host.metrics, "cpu_busy_percent").unwrap_or(0.0);
    let seconds = digits::duration(body.seconds);
    let Some(gpu) = body.gpus.first() else {
        let first = match facts.fitness.unfit.is_empty() {
            true => format!("There is no GPU; the host was at rest for {seconds}."),
            false => "There is no GPU, and the host is not at rest.".to_owned(),
        };
        let second = format!("The CPU was {busy:.1} % busy with other programs (median).");
        return [first, second, action(faults)];
    };
    let mut well = vec![format!("idle for {seconds}")];
    if let Some(celsius) = median(&gpu.metrics, "temperature_c") {
        well.push(match gpu.margin_min_c {
            Some(margin) => format!("{celsius:.0} °C with a margin of {margin:.0} °C"),
            None => format!("{celsius:.0} °C"),
        });
    }
    if let Some(watts) = median(&gpu.metrics, "power_w") {
        well.push(format!("{watts:.0} W"));
    }
    let held = gpu.throttle.iter().filter(|share| share.counted).count();
    if held == 0 {
        well.push("nothing held the clocks back".to_owned());
    }
    let first = match (faults.first(), facts.fitness.unfit.first()) {
        (None, None) => format!("Yes, fit for a baseline: {}.", well.join(", ")),
        (_, Some(unfit)) => format!("No: {unfit}."),
        (Some(fault), None) => format!("With an exception: {}.", fault.message),
    };
    let others = others(gpu);
    let used = median(&gpu.metrics, "memory_used_mib");
    let second = match (others, used) {
        (0, Some(used)) => format!("Nobody else is on it; {:.0} MiB are in use.", used),
        (0, None) => "Nobody else is on it.".to_owned(),
        (others, _) => format!("{} on it.", processes_words(others, "other process")),
    };
    [first, second, action(faults)]
}

fn action(faults: &[&Finding]) -> String {
    let hint = faults.iter().find_map(|fault| fault.hint.as_deref());
    match (faults.len(), hint) {
        (0, _) => "Action: none, measure now.".to_owned(),
        (_, Some(hint)) => format!("Action: {}.", hint.trim_end_matches('.')),
        (_, None) => "Action: look at the readings below.".to_owned(),
    }
}

/// Processes on the GPU that are not this program.
fn others(gpu: &GpuBaseline) -> usize {
    let own = std::process::id();
    gpu.processes
        .iter()
        .flatten()
        .filter(|process| process.identity.pid != own)
        .count()
}

fn panels(body: &BaselineBody) -> Vec<AtRestPanel> {
    let mut panels = Vec::new();
    let points = |metric: &Metric| {
        let seconds = metric.series.at_ms.iter().map(|ms| f64::from(*ms) / 1000.0);
        seconds.zip(metric.series.values.iter().copied()).collect()
    };
    if let Some(gpu) = body.gpus.first() {
        if let Some(power) = gpu.metrics.get("power_w") {
            let middle = power.summary.p50;
            let limit = gpu.power_limit_w.unwrap_or(power.summary.max * 1.5);
            panels.push(AtRestPanel {
                title: "Power, W".to_owned(),
                note: format!(
                    "{:.1} [{:.1}, {:.1}]; limit {limit:.0}",
                    middle.value, middle.low, middle.high
                ),
                range: (0.0, limit),
                good: None,
                points: points(power),
            });
        }
        if let Some(heat) = gpu.metrics.get("temperature_c") {
            let slows = gpu.gpu.slowdown_temperature_c;
            panels.push(AtRestPanel {
                title: "Temperature, °C".to_owned(),
                note: match (slows, gpu.margin_min_c) {
                    (Some(slows), _) => format!("{:.0}; slows at {slows}", heat.summary.p50.value),
                    (None, Some(margin)) => {
                        format!("{:.0}; margin {margin:.0}", heat.summary.p50.value)
                    }
                    (None, None) => format!("{:.0}", heat.summary.p50.value),
                },
                range: (20.0, 90.0),
                good: Some((20.0, 65.0)),
                points: points(heat),
            });
        }
    }
    if let Some(busy) = body.host.metrics.get("cpu_busy_percent") {
        panels.push(AtRestPanel {
            title: "Host CPU busy, %".to_owned(),
            note: format!("{:.1} mean; green: quiet", busy.summary.mean.value),
            range: (0.0, 100.0),
            good: Some((0.0, 10.0)),
            points: points(busy),
        });
    }
    if let Some(load) = body.host.metrics.get("load_per_core_percent")
        && body.gpus.is_empty()
    {
        let most = load.summary.max.max(100.0);
        panels.push(AtRestPanel {
            title: "Load a core, %".to_owned(),
            note: format!("{:.0} median", load.summary.p50.value),
            range: (0.0, most),
            good: Some((0.0, 10.0)),
            points: points(load),
        });
    }
    panels
}

/// What a metric's value means, in a word and a clause.
fn meaning(name: &str, gpu: Option<&GpuBaseline>, value: f64) -> (Option<State>, String, String) {
    let limits = gpu.and_then(|gpu| gpu.power_limit_w);
    let word = |state: State, word: &str, means: String| (Some(state), word.to_owned(), means);
    match name {
        "busy_percent" | "sm_active_percent" if value < 1.0 => {
            word(State::Good, "idle", "nothing runs".to_owned())
        }
        "busy_percent" | "sm_active_percent" => {
            word(State::Act, "busy", "something runs".to_owned())
        }
        "power_w" => match limits {
            Some(limit) => {
                let share = value / limit;
                let state = if share < 0.35 {
                    State::Good
                } else {
                    State::Look
                };
                word(
                    state,
                    "steady",
                    format!("{} of the limit", digits::percent(share)),
                )
            }
            None => (None, String::new(), String::new()),
        },
        "temperature_c" => match gpu.and_then(|gpu| gpu.thermal) {
            Some(band) => {
                let state = match band.to_string().as_str() {
                    "excellent" | "good" => State::Good,
                    "warm" => State::Look,
                    _ => State::Act,
                };
                let margin = gpu.and_then(|gpu| gpu.margin_min_c);
                let means = margin.map(|margin| format!("{margin:.0} °C below where it slows"));
                word(state, &band.to_string(), means.unwrap_or_default())
            }
            None => (None, String::new(), String::new()),
        },
        "sm_clock_mhz" => {
            let most = gpu.and_then(|gpu| gpu.gpu.sm_clock_max_mhz);
            match most {
                Some(most) if value >= 0.98 * most as f64 => word(
                    State::Good,
                    "highest",
                    "held by the open context".to_owned(),
                ),
                Some(most) => (
                    None,
                    "below its highest".to_owned(),
                    format!("highest is {most}"),
                ),
                None => (None, String::new(), String::new()),
            }
        }
        "memory_used_mib" => match gpu.map(others) {
            Some(0) => word(State::Good, "own", "this program's own".to_owned()),
            Some(count) => word(State::Look, "shared", format!("{count} other processes")),
            None => (None, String::new(), String::new()),
        },
        "cpu_busy_percent" if value <= 10.0 => {
            word(State::Good, "quiet", "room to measure".to_owned())
        }
        "cpu_busy_percent" => word(State::Act, "busy", "other programs run".to_owned()),
        "load_per_core_percent" if value > 100.0 => {
            word(State::Act, "waiting", "more work than cores".to_owned())
        }
        _ => (None, String::new(), String::new()),
    }
}

/// The metrics that people read, in their order, with their names.
const READ: [(&str, &str, usize); 10] = [
    ("busy_percent", "GPU busy, %", 1),
    ("memory_used_mib", "Memory used, MiB", 0),
    ("power_w", "Power, W", 1),
    ("sm_clock_mhz", "SM clock, MHz", 0),
    ("temperature_c", "Temperature, °C", 1),
    ("memory_temperature_c", "Memory temperature, °C", 1),
    ("cpu_busy_percent", "Host CPU busy, %", 1),
    ("cpu_io_wait_percent", "Host I/O wait, %", 1),
    ("load_per_core_percent", "Host load a core, %", 1),
    ("memory_used_percent", "Host memory used, %", 1),
];

fn readings(body: &BaselineBody) -> Table {
    let mut rows = Vec::new();
    let many = body.gpus.len() > 1;
    for gpu in &body.gpus {
        let whose = match many {
            true => format!("GPU {}: ", gpu.gpu.index),
            false => String::new(),
        };
        rows.extend(lines(&whose, &gpu.metrics, Some(gpu)));
    }
    rows.extend(lines("", &body.host.metrics, None));
    Table {
        name: "at-rest".to_owned(),
        columns: vec![
            Column::text("reading"),
            Column::number("P50"),
            Column::number("95 %").from(Place::Medium),
            Column::number("P95").from(Place::Medium),
            Column::number("P99").from(Place::Wide),
            Column::number("max"),
            Column::number("n").from(Place::Wide),
            Column::text("verdict"),
            Column::text("what it means").from(Place::Medium),
        ],
        rows,
        shown: if many { 12 } else { 0 },
        caption: String::new(),
    }
}

fn lines(whose: &str, metrics: &BTreeMap<String, Metric>, gpu: Option<&GpuBaseline>) -> Vec<Row> {
    let of_gpu = gpu.is_some();
    READ.iter()
        .filter(|(name, label, _)| label.starts_with("Host") != of_gpu || name.is_empty())
        .filter_map(|(name, label, decimals)| {
            let summary = &metrics.get(*name)?.summary;
            let number = |value: f64| {
                let digits = *decimals;
                Cell::number(value, digits::decimals(value, digits), "")
            };
            let middle = summary.p50;
            let (state, word, means) = meaning(name, gpu, middle.value);
            Some(Row::new(vec![
                Cell::text(format!("{whose}{label}")),
                number(middle.value).strong(),
                Cell::Muted(format!(
                    "[{}, {}]",
                    digits::decimals(middle.low, *decimals),
                    digits::decimals(middle.high, *decimals)
                )),
                number(summary.p95.value),
                summary.p99.map_or(Cell::Empty, |p99| number(p99.value)),
                number(summary.max),
                Cell::number(summary.n as f64, digits::count(summary.n as u64), ""),
                match word.is_empty() {
                    true => Cell::Empty,
                    false => Cell::Tag { state, text: word },
                },
                Cell::Muted(means),
            ]))
        })
        .collect()
}

fn ladder(facts: &Facts) -> Vec<Block> {
    let heading = |note: &str| Block::Heading {
        title: "From NumPy to a GPU".to_owned(),
        note: note.to_owned(),
    };
    let Some(LadderFacts {
        problem,
        python,
        times,
    }) = &facts.ladder
    else {
        return vec![
            heading("the same problem by other programs"),
            Block::Remark {
                tag: Tag {
                    state: None,
                    text: "not measured".to_owned(),
                    strong: String::new(),
                },
                text: "`--full` times NumPy, SciPy, Numba and PyTorch where a Python has them."
                    .to_owned(),
                command: Some("warpsmith lattice speeds --python python3".to_owned()),
            },
        ];
    };
    let mut rows: Vec<LadderRow> = times
        .iter()
        .map(|time| LadderRow {
            name: time.name.clone(),
            seconds: time.seconds,
            own: time.own,
            gpu: time.gpu,
        })
        .collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let fair: String = [false, true]
        .iter()
        .filter_map(|gpu| {
            // The fastest of each kind of device: the last row of its kind.
            let fastest = |own: bool| rows.iter().rfind(|row| row.own == own && row.gpu == *gpu);
            let (own, peer) = (fastest(true)?, fastest(false)?);
            let ratio = digits::ratio(peer.seconds / own.seconds);
            Some(format!(
                " {} takes {ratio} the time of {}.",
                peer.name, own.name
            ))
        })
        .collect();
    let from = match python {
        Some(python) => format!("wall time, log axis; peers of {python}"),
        None => "wall time, log axis; no Python with peers was found".to_owned(),
    };
    vec![
        heading(&from),
        Block::Figure(Figure::Ladder(Ladder {
            rows,
            caption: format!("{problem}.{fair}"),
        })),
    ]
}

fn processes(body: &BaselineBody) -> Option<Fold> {
    if body.gpus.is_empty() {
        return None;
    }
    let own = std::process::id();
    let mut rows = Vec::new();
    for gpu in &body.gpus {
        for process in gpu.processes.iter().flatten() {
            let memory = process.memory_bytes.map_or(Cell::Empty, |bytes| {
                let shown = digits::quantity(bytes as f64, Quantity::Bytes, None);
                Cell::number(bytes as f64, shown.text, shown.unit)
            });
            let whose = match process.identity.pid == own {
                true => "this program".to_owned(),
                false => {
                    (process.identity.name.clone()).unwrap_or_else(|| "not visible".to_owned())
                }
            };
            rows.push(Row::new(vec![
                Cell::number(f64::from(gpu.gpu.index), gpu.gpu.index.to_string(), ""),
                Cell::text(whose),
                Cell::number(
                    f64::from(process.identity.pid),
                    process.identity.pid.to_string(),
                    "",
                ),
                memory,
                Cell::number(process.presence, digits::percent(process.presence), ""),
            ]));
        }
    }
    let known = body.gpus.iter().any(|gpu| gpu.processes.is_some());
    let note = match (known, rows.len()) {
        (false, _) => "the driver does not show processes here".to_owned(),
        (true, count) => processes_words(count, "process"),
    };
    Some(Fold {
        title: "Who was on the GPU".to_owned(),
        note,
        blocks: vec![Block::Table(Table {
            name: "processes".to_owned(),
            columns: vec![
                Column::number("GPU"),
                Column::text("process"),
                Column::number("pid"),
                Column::number("memory"),
                Column::number("seen"),
            ],
            rows,
            shown: 0,
            caption: String::new(),
        })],
    })
}

fn unknown(body: &BaselineBody) -> Option<Fold> {
    let rows: Vec<Row> = body
        .gpus
        .iter()
        .flat_map(|gpu| &gpu.unknown)
        .map(|(what, why)| Row::new(vec![Cell::text(what.clone()), Cell::Muted(why.clone())]))
        .collect();
    if rows.is_empty() {
        return None;
    }
    Some(Fold {
        title: "What the driver does not tell".to_owned(),
        note: counted(rows.len(), "reading"),
        blocks: vec![Block::Table(Table {
            name: "unknown".to_owned(),
            columns: vec![Column::text("reading"), Column::text("why")],
            rows,
            shown: 0,
            caption: String::new(),
        })],
    })
}

/// `1 process`, `3 processes`.
fn processes_words(count: usize, one: &str) -> String {
    let plural = if count == 1 { "" } else { "es" };
    format!("{count} {one}{plural}")
}
