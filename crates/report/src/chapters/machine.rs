//! *Is this machine set up, and how fast is it?*

use warpsmith_core::Severity;
use warpsmith_measure::Parity;
use warpsmith_measure::leak::detector::LeakVerdict;
use warpsmith_measure::roofline::Ceilings;

use super::environment_blocks::{rules, tags, tally};
use super::latency_table::{FILLS, reached, table as latency_table};
use super::{counted, empty};
use crate::digits::{self, Quantity};
use crate::document::{
    Block, Cell, Chapter, Column, Figure, Fold, LawPlot, Place, Roof, RoofPoint, Roofline, Row,
    State, Table, Tag,
};
use crate::facts::{Facts, Latency, Rate, SizeTime, Sweep};
use crate::judge::law::{self, Judged};
use crate::judge::trust::{FEWEST, half_width, trusted};

/// The workload whose sizes are atoms.
const ATOMS: &str = "md/lj";
/// Rows of the latency table that are open.
const SHOWN: usize = 16;

pub(super) fn chapter(facts: &Facts) -> Chapter {
    let title = "Is this machine set up, and how fast is it?";
    let mut chapter = empty("machine", "Machine", title);
    let ceilings = ceilings(facts);
    if let Some(environment) = &facts.environment {
        chapter.findings.extend(environment.findings.clone());
    }
    let wrong = facts.parity.iter().filter_map(|row| {
        let parity = row.parity.as_ref()?;
        (!parity.holds()).then(|| disagreement(&row.workload, parity))
    });
    chapter.findings.extend(wrong);
    chapter.light = light(facts, &chapter);
    (chapter.note, chapter.answers) = words(facts, ceilings.as_ref());
    if let Some(environment) = &facts.environment {
        let (passed, wanting) = tally(&environment.body);
        let note = match wanting {
            0 => format!("{} passed", counted(passed, "check")),
            wanting => format!("{} passed, {wanting} to look at", counted(passed, "check")),
        };
        chapter.blocks.push(Block::Heading {
            title: "Environment".to_owned(),
            note,
        });
        chapter.blocks.push(tags(&environment.body));
    }
    let mut right = Vec::new();
    if let Some(sweep) = facts.sweeps.iter().find(|sweep| sweep.workload == ATOMS) {
        right.extend(atoms(facts, sweep));
    }
    right.extend(leak(facts));
    chapter.blocks.push(Block::Columns(vec![
        (5, roofline(facts, ceilings.as_ref())),
        (4, right),
    ]));
    if !facts.latency.is_empty() {
        let clock = match facts.machine.on_cpu() {
            false => "device time, warm".to_owned(),
            true => format!("wall time, warm, {}", facts.machine.cpu_words()),
        };
        chapter.blocks.push(Block::Heading {
            title: "Latency".to_owned(),
            note: format!("{clock}; strip: P5 to P95 about the median; open a row for more"),
        });
        let shown = if facts.latency.len() > SHOWN {
            SHOWN
        } else {
            0
        };
        let rows = latency_table(&facts.latency, ceilings.as_ref(), shown);
        chapter.blocks.push(Block::Table(rows));
    }
    chapter.folds.extend(rules(facts));
    chapter.folds.extend(laws(facts));
    chapter.folds.extend(parity(facts));
    chapter.folds.extend(sounds(facts));
    chapter
}

/// The measured roofs, where both are trusted.
fn ceilings(facts: &Facts) -> Option<Ceilings> {
    let best = |rate: &Option<Rate>| {
        let rate = rate.as_ref()?;
        let figures = trusted(&rate.measurement).ok()?;
        Some(rate.amount / figures.summary.min)
    };
    Some(Ceilings {
        bytes_per_second: best(&facts.numbers.memory)?,
        flops_per_second: best(&facts.numbers.arithmetic)?,
    })
}

fn disagreement(workload: &str, parity: &Parity) -> warpsmith_core::Finding {
    let seen = match parity {
        Parity::Agrees { worst, .. } => worst.to_string(),
        Parity::Disagrees { agreement, .. } => agreement.to_string(),
        Parity::Incomparable { reason } => reason.clone(),
    };
    let message = format!("`{workload}` on the GPU does not match its CPU reference");
    warpsmith_core::Finding::new("M050", Severity::Error, message)
        .because(workload, seen)
        .hint(format!("`warpsmith verify {workload}` shows where"))
}

fn few(facts: &Facts) -> usize {
    facts
        .latency
        .iter()
        .filter(|row| row.figures.summary.count < FEWEST)
        .count()
}

fn light(facts: &Facts, chapter: &Chapter) -> State {
    let worst = chapter
        .findings
        .iter()
        .map(|finding| finding.severity)
        .max();
    let leaks = facts
        .leak
        .iter()
        .flat_map(|leak| &leak.memory)
        .any(|series| series.report.verdict == LeakVerdict::Leak);
    if facts.environment.is_none() && facts.latency.is_empty() {
        State::NotMeasured
    } else if worst == Some(Severity::Error) || leaks || !facts.fitness.unfit.is_empty() {
        State::Act
    } else if worst == Some(Severity::Warning) || 2 * few(facts) > facts.latency.len() {
        State::Look
    } else {
        State::Good
    }
}

fn words(facts: &Facts, ceilings: Option<&Ceilings>) -> (String, [String; 3]) {
    let on_gpu = facts.machine.is_gpu();
    let set_up = match &facts.environment {
        None => "not checked".to_owned(),
        Some(report) => {
            let (passed, wanting) = tally(&report.body);
            let checks = counted(passed, "check");
            match (wanting, on_gpu) {
                (0, true) => format!("set up: {checks} pass"),
                (0, false) => format!("set up for work without a GPU: {checks} pass"),
                (wanting, _) => format!("{checks} pass, {wanting} to look at"),
            }
        }
    };
    let few = few(facts);
    let measured = facts.latency.len();
    let first = match &facts.fitness.unfit[..] {
        [] => format!("{}.", crate::judge::verdict::capitalised(&set_up)),
        _ => format!(
            "{}; too disturbed to say how fast it is.",
            crate::judge::verdict::capitalised(&set_up)
        ),
    };
    let full: Vec<f64> = facts
        .latency
        .iter()
        .filter(|row| row.figures.summary.count >= FEWEST)
        .filter_map(|row| reached(row, ceilings))
        .filter(|share| *share >= FILLS)
        .collect();
    let copy = facts.numbers.memory.as_ref().and_then(|rate| {
        let figures = trusted(&rate.measurement).ok()?;
        let value = rate.amount / figures.interval.median;
        Some(digits::quantity(
            value,
            Quantity::BytesPerSecond,
            Some(half_width(&figures)),
        ))
    });
    let second = match (copy, full.len()) {
        (Some(copy), count) if count > 0 => format!(
            "Copies reach {copy}; of {} large enough to fill this {}, {} reach 80 % of their roof.",
            counted(count, "workload"),
            if on_gpu { "GPU" } else { "CPU" },
            full.iter().filter(|share| **share >= 0.8).count()
        ),
        (Some(copy), _) => format!("Copies reach {copy}."),
        (None, _) => format!(
            "{} of {} got 8 samples or more; the others say so in grey.",
            measured - few,
            counted(measured, "workload")
        ),
    };
    let leak = facts.leak.as_ref().map(|leak| {
        let any = |wanted: LeakVerdict| {
            leak.memory
                .iter()
                .any(|series| series.report.verdict == wanted)
        };
        let worst = if any(LeakVerdict::Leak) {
            "memory leaks"
        } else if any(LeakVerdict::Inconclusive) {
            "too few steps to rule a leak out"
        } else {
            "no leak"
        };
        format!(
            "{worst} over {} of {}",
            counted(leak.steps, "step"),
            leak.workload
        )
    });
    let unsteady = unsteady(&facts.latency);
    let third = match (leak, unsteady) {
        (Some(leak), Some(mode)) => {
            format!("{}; {mode}.", crate::judge::verdict::capitalised(&leak))
        }
        (Some(leak), None) => format!("{}.", crate::judge::verdict::capitalised(&leak)),
        (None, Some(mode)) => format!("{}.", crate::judge::verdict::capitalised(&mode)),
        (None, None) => String::new(),
    };
    let note = match (&facts.fitness.unfit[..], few) {
        ([], 0) => set_up,
        ([], few) => format!("{set_up}; {few} of {measured} workloads have too few samples"),
        (_, few) => format!("disturbed: {few} of {measured} workloads have too few samples"),
    };
    (note, [first, second, third])
}

/// The workload with the farthest second mode, in words.
fn unsteady(rows: &[Latency]) -> Option<String> {
    let trusted = rows.iter().filter(|row| row.figures.summary.count >= 30);
    let far = |row: &&Latency| {
        let modes = &row.figures.summary.modes;
        match (modes.first(), modes.last()) {
            (Some(first), Some(last)) if modes.len() > 1 => last.at / first.at,
            _ => 1.0,
        }
    };
    let row = trusted.max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let modes = &row.figures.summary.modes;
    let last = modes.last().filter(|_| modes.len() > 1)?;
    Some(format!(
        "{} has a second mode, {} of its runs about {}",
        row.workload,
        digits::percent(last.share),
        digits::seconds(last.at, None)
    ))
}

fn roofline(facts: &Facts, ceilings: Option<&Ceilings>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading {
        title: "Roofline".to_owned(),
        note: match facts.machine.on_cpu() {
            false => "every workload with arithmetic, device time".to_owned(),
            true => format!(
                "every workload with arithmetic, {}",
                facts.machine.cpu_words()
            ),
        },
    }];
    let Some(ceilings) = ceilings else {
        let word = match facts.numbers.memory.is_some() {
            true => "not drawn",
            false => "not measured",
        };
        blocks.push(Block::Remark {
            tag: Tag {
                state: None,
                text: word.to_owned(),
                strong: String::new(),
            },
            text: "A disturbed machine has no ceiling to draw.".to_owned(),
            command: Some("warpsmith bench machine/copy --roofline".to_owned()),
        });
        return blocks;
    };
    let points: Vec<RoofPoint> = facts
        .latency
        .iter()
        .filter(|row| row.flops > 0 && row.bytes > 0 && row.figures.summary.count >= FEWEST)
        .map(|row| RoofPoint {
            name: row.workload.clone(),
            intensity: row.flops as f64 / row.bytes as f64,
            rate: row.flops as f64 / row.figures.interval.median,
        })
        .collect();
    let above: Vec<&str> = points
        .iter()
        .filter(|point| point.rate > 1.05 * point.intensity * ceilings.bytes_per_second)
        .map(|point| point.name.as_str())
        .collect();
    let mut caption = "Solid: measured here. Dashed: datasheet.".to_owned();
    if !above.is_empty() {
        let lies = if above.len() == 1 { "lies" } else { "lie" };
        caption.push_str(&format!(
            " {} {lies} above the memory roof: a cache holds the data.",
            above.join(", ")
        ));
    }
    caption
        .push_str(" Workloads without arithmetic are in the table, by share of the memory roof.");
    let gpu = facts.machine.gpu();
    let roof = |measured: f64, quantity: Quantity, name: &str, datasheet: Option<f64>| Roof {
        measured,
        label: format!(
            "{name} {}, measured",
            digits::quantity(measured, quantity, None)
        ),
        datasheet: datasheet.filter(|value| *value > 0.0),
    };
    blocks.push(Block::Figure(Figure::Roofline(Roofline {
        memory: roof(
            ceilings.bytes_per_second,
            Quantity::BytesPerSecond,
            "copy",
            gpu.map(|gpu| gpu.memory_bandwidth),
        ),
        arithmetic: roof(
            ceilings.flops_per_second,
            Quantity::FlopPerSecond,
            "FP32",
            gpu.map(|gpu| f64::from(gpu.multiprocessors) * 256.0 * gpu.sm_clock_hz),
        ),
        points,
        caption,
    })));
    blocks
}

/// Sizes, times and memory of molecular dynamics, with the law through them.
fn atoms(facts: &Facts, sweep: &Sweep) -> Vec<Block> {
    let on_gpu = !sweep.gpu.is_empty();
    let times = if on_gpu { &sweep.gpu } else { &sweep.cpu };
    let points: Vec<_> = times.iter().map(SizeTime::point).collect();
    let judged = law::judge(&points);
    let cpu = facts.machine.cpu_words();
    let mut columns = vec![
        Column::number("atoms"),
        Column::number("per step"),
        Column::number("per atom"),
        Column::number("memory").from(Place::Medium),
    ];
    if matches!(judged, Judged::Law { .. }) {
        columns.push(Column::number("off law").from(Place::Medium));
    }
    if on_gpu {
        columns.push(Column::number(&format!("over {cpu}")));
    } else {
        columns.push(Column::number("n").from(Place::Medium));
    }
    let rows = times.iter().map(|time| {
        let (median, half) = (time.figures.interval.median, half_width(&time.figures));
        let units = time.units as f64;
        let cell = |value: f64| {
            let shown = digits::seconds(value, Some(half));
            Cell::number(value, shown.text, shown.unit)
        };
        let mut cells = vec![
            Cell::number(units, digits::count(time.units), ""),
            cell(median),
            cell(median / units),
            time.memory.map_or(Cell::Empty, |bytes| {
                let shown = digits::quantity(bytes as f64, Quantity::Bytes, None);
                Cell::number(bytes as f64, shown.text, shown.unit)
            }),
        ];
        if let Judged::Law { fit, .. } = &judged {
            let off = median / fit.seconds(units) - 1.0;
            cells.push(Cell::number(off, digits::change(off), ""));
        }
        if on_gpu {
            let on_cpu = sweep.cpu.iter().find(|other| other.units == time.units);
            cells.push(on_cpu.map_or(Cell::Empty, |other| {
                let ratio = other.figures.interval.median / median;
                Cell::number(ratio, digits::ratio(ratio), "")
            }));
        } else {
            let count = time.figures.summary.count;
            cells.push(Cell::number(count as f64, digits::count(count as u64), ""));
        }
        Row::new(cells)
    });
    let place = if on_gpu {
        "GPU, end to end".to_owned()
    } else {
        cpu
    };
    let mut blocks = vec![
        Block::Heading {
            title: "Atoms".to_owned(),
            note: format!("Lennard-Jones, one step, {place}"),
        },
        Block::Table(Table {
            name: "atoms".to_owned(),
            columns,
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        }),
    ];
    match judged {
        Judged::NotRequested { sizes, factor } => blocks.push(Block::Remark {
            tag: plain("no law"),
            text: format!(
                "{sizes} sizes over a factor of {factor:.0}: a law needs 8 over a factor of 100."
            ),
            command: Some(format!("warpsmith scale {ATOMS}")),
        }),
        Judged::Scattered(far) => blocks.push(Block::Remark {
            tag: plain("no law"),
            text: format!("The times lie {} from every law.", digits::percent(far)),
            command: Some(format!("warpsmith scale {ATOMS}")),
        }),
        Judged::CannotTell(laws) => {
            let names: Vec<&str> = laws.iter().map(|law| law.name()).collect();
            blocks.push(Block::Remark {
                tag: plain("cannot tell"),
                text: format!("{} fit equally.", names.join(" and ")),
                command: Some(format!("warpsmith scale {ATOMS}")),
            });
        }
        Judged::Law {
            fit,
            others,
            balance,
        } => {
            let sizes: Vec<f64> = points.iter().map(|point| point.size).collect();
            blocks.push(Block::Figure(Figure::Law(LawPlot {
                unit: "atoms".to_owned(),
                points: points.iter().map(|p| (p.size, p.seconds)).collect(),
                curve: curve(&sizes, |n| fit.seconds(n)),
                formula: formula(&fit),
                caption: law_caption(sizes.len(), &sizes, &others, balance, "atoms"),
            })));
        }
    }
    blocks
}

fn plain(text: &str) -> Tag {
    Tag {
        state: None,
        text: text.to_owned(),
        strong: String::new(),
    }
}

/// A law at forty sizes, evenly on a logarithmic axis.
fn curve(sizes: &[f64], seconds: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else {
        return Vec::new();
    };
    (0..=40)
        .map(|step| first * (last / first).powf(f64::from(step) / 40.0))
        .map(|size| (size, seconds(size)))
        .collect()
}

fn formula(fit: &warpsmith_measure::scaling::LawFit) -> String {
    use warpsmith_measure::scaling::Law;
    let work = digits::seconds(fit.coefficient, None);
    let grows = match fit.law {
        Law::Constant => return work.to_string(),
        law => format!("{work} · {}", law.name()),
    };
    match fit.overhead > 0.0 {
        true => format!("{} + {grows}", digits::seconds(fit.overhead, None)),
        false => grows,
    }
}

fn law_caption(
    count: usize,
    sizes: &[f64],
    others: &[warpsmith_measure::scaling::Law],
    balance: Option<f64>,
    unit: &str,
) -> String {
    let factor = sizes.last().unwrap_or(&1.0) / sizes.first().unwrap_or(&1.0);
    let mut caption = format!("The law through its {count} sizes (a factor of {factor:.0})");
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|law| law.name()).collect();
        caption.push_str(&format!("; {} fits as well", names.join(" or ")));
    }
    let last = sizes.last().copied().unwrap_or(0.0);
    if let Some(balance) = balance.filter(|balance| *balance > 1.0 && *balance < 10.0 * last) {
        let at = digits::to_digits(balance, 2);
        caption.push_str(&format!("; overhead and work are equal at {at} {unit}"));
    }
    caption.push('.');
    caption
}

fn leak(facts: &Facts) -> Vec<Block> {
    let mut blocks = vec![Block::Heading {
        title: "Leak over a trajectory".to_owned(),
        note: String::new(),
    }];
    let Some(leak) = &facts.leak else {
        blocks.push(Block::Remark {
            tag: plain("not measured"),
            text: String::new(),
            command: Some(format!("warpsmith leak {ATOMS} --steps 20000")),
        });
        return blocks;
    };
    for series in &leak.memory {
        let report = &series.report;
        let (state, word) = match report.verdict {
            LeakVerdict::Ok => (State::Good, "no leak"),
            LeakVerdict::Leak => (State::Act, "leak"),
            LeakVerdict::Inconclusive => (State::NotMeasured, "too few steps"),
        };
        let in_use = series.bytes.last().copied().unwrap_or(0.0).max(0.0);
        blocks.push(Block::Remark {
            tag: Tag {
                state: Some(state),
                text: word.to_owned(),
                strong: String::new(),
            },
            text: format!(
                "{} memory: {} bytes a step [{}, {}] over {}, {} in use",
                series.kind,
                one_decimal(report.bytes_per_step),
                one_decimal(report.low),
                one_decimal(report.high),
                counted(report.steps, "step"),
                digits::quantity(in_use, Quantity::Bytes, None)
            ),
            command: (report.verdict != LeakVerdict::Ok)
                .then(|| format!("warpsmith leak {} --steps 20000", leak.workload)),
        });
    }
    blocks
}

/// One decimal, with a real minus sign and no negative zero.
fn one_decimal(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    let text = format!("{:.1}", rounded.abs());
    match rounded < 0.0 {
        true => format!("−{text}"),
        false => text,
    }
}

/// Every law that was fitted.
fn laws(facts: &Facts) -> Option<Fold> {
    let mut rows = Vec::new();
    let (mut told, mut asked) = (0, 0);
    for sweep in &facts.sweeps {
        for (device, times) in [("CPU", &sweep.cpu), ("GPU", &sweep.gpu)] {
            if times.is_empty() {
                continue;
            }
            let points: Vec<_> = times.iter().map(SizeTime::point).collect();
            let (law, note) = match law::judge(&points) {
                Judged::NotRequested { sizes, factor } => (
                    Cell::Muted("not requested".to_owned()),
                    format!("{sizes} sizes over a factor of {factor:.0}"),
                ),
                Judged::Scattered(far) => {
                    asked += 1;
                    (
                        Cell::Muted("none".to_owned()),
                        format!("the times lie {} from every law", digits::percent(far)),
                    )
                }
                Judged::CannotTell(laws) => {
                    asked += 1;
                    let names: Vec<&str> = laws.iter().map(|law| law.name()).collect();
                    (
                        Cell::Muted("cannot tell".to_owned()),
                        format!("{} fit equally", names.join(", ")),
                    )
                }
                Judged::Law { fit, others, .. } => {
                    asked += 1;
                    told += 1;
                    let names: Vec<&str> = others.iter().map(|law| law.name()).collect();
                    let also = match names.is_empty() {
                        true => String::new(),
                        false => format!("; {} fits as well", names.join(" or ")),
                    };
                    (
                        Cell::Strong(fit.law.name().to_owned()),
                        format!("{}{also}", formula(&fit)),
                    )
                }
            };
            let spark = times.iter().map(|time| time.figures.interval.median.ln());
            rows.push(Row::new(vec![
                Cell::text(sweep.workload.clone()),
                Cell::text(device),
                law,
                Cell::text(note),
                Cell::Sparkline(spark.collect()),
            ]));
        }
    }
    if rows.is_empty() {
        return None;
    }
    Some(Fold {
        title: "Laws".to_owned(),
        note: match asked {
            0 => "too few sizes for a law".to_owned(),
            asked => format!("{told} of {asked} sweeps told a law"),
        },
        blocks: vec![Block::Table(Table {
            name: "laws".to_owned(),
            columns: vec![
                Column::text("workload"),
                Column::text("device"),
                Column::text("grows as"),
                Column::text("seconds"),
                Column::text("times").from(Place::Medium),
            ],
            rows,
            shown: 0,
            caption: format!(
                "N counts the workload's own units. CPU: {}, warm; GPU: end to end. Times on \
                 logarithmic axes.",
                facts.machine.cpu_words()
            ),
        })],
    })
}

fn parity(facts: &Facts) -> Option<Fold> {
    if facts.parity.is_empty() {
        return None;
    }
    let compared: Vec<bool> = facts
        .parity
        .iter()
        .filter_map(|row| Some(row.parity.as_ref()?.holds()))
        .collect();
    let agree = compared.iter().filter(|holds| **holds).count();
    let rows = facts.parity.iter().map(|row| {
        let (tag, seen) = match &row.parity {
            Some(parity @ Parity::Agrees { worst, .. }) => {
                debug_assert!(parity.holds());
                (tagged(State::Good, "agrees"), worst.to_string())
            }
            Some(Parity::Disagrees { agreement, .. }) => {
                (tagged(State::Act, "differs"), agreement.to_string())
            }
            Some(Parity::Incomparable { reason }) => {
                (tagged(State::Act, "not comparable"), reason.clone())
            }
            None => (Cell::Muted("CPU only".to_owned()), String::new()),
        };
        Row::new(vec![
            Cell::text(row.workload.clone()),
            tag,
            Cell::text(seen),
            Cell::Muted(row.because.clone()),
        ])
    });
    Some(Fold {
        title: match &facts.machine.measured_vulkan {
            Some(device) => format!("{} compared with the CPU", device.name),
            None => "GPU compared with CPU".to_owned(),
        },
        note: format!("{agree} of {} agree", counted(compared.len(), "workload")),
        blocks: vec![Block::Table(Table {
            name: "parity".to_owned(),
            columns: vec![
                Column::text("workload"),
                Column::text("parity"),
                Column::text("seen").from(Place::Medium),
                Column::text("tolerance because").from(Place::Wide),
            ],
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        })],
    })
}

fn tagged(state: State, text: &str) -> Cell {
    Cell::Tag {
        state: Some(state),
        text: text.to_owned(),
    }
}

fn sounds(facts: &Facts) -> Option<Fold> {
    if facts.sounds.is_empty() {
        return None;
    }
    Some(Fold {
        title: "Sound".to_owned(),
        note: "pitch and music, with players".to_owned(),
        blocks: facts.sounds.iter().cloned().map(Block::Sound).collect(),
    })
}
