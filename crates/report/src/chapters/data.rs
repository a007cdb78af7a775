//! *Data from kernels*: the data set, and where a GPU begins to pay.

use warpsmith_core::Severity;

use super::{counted, empty};
use crate::digits;
use crate::document::{
    Block, Cell, Chapter, Column, Crossover, CrossoverLine, Figure, Fold, Row, State, Status, Table,
};
use crate::facts::{CorpusFacts, Facts, SizeTime, Sweep};
use crate::judge::trust::half_width;

/// The sweeps that tell most: bandwidth, irregular, stencil, many-body.
const TELLING: [&str; 4] = ["machine/saxpy", "lattice/bfs", "lattice/rd", "md/lj"];

pub(super) fn chapter(facts: &Facts) -> Chapter {
    let mut chapter = empty("data", "Data", "Data from kernels");
    let pays = pays(facts);
    match &facts.corpus {
        Some(corpus) => {
            chapter.findings.clone_from(&corpus.findings);
            let failed: u64 = levels(corpus).map(|(_, counts)| counts.failed).sum();
            let worst = corpus.findings.iter().map(|finding| finding.severity).max();
            chapter.light = match (failed, worst) {
                (0, None | Some(Severity::Info)) => State::Good,
                (0, Some(Severity::Warning)) => State::Look,
                _ => State::Act,
            };
            (chapter.note, chapter.answers) = words(corpus, failed, pays);
        }
        None => {
            let failed = facts.sections.iter().find_map(|run| match &run.status {
                Status::Failed(why) if run.id == "corpus" => Some(why.clone()),
                _ => None,
            });
            chapter.note = "no sample was made".to_owned();
            chapter.answers = [
                match failed {
                    Some(why) => format!("Not measured: {why}."),
                    None => "Not measured: no sample of the data set was made.".to_owned(),
                },
                "`warpsmith corpus generate --count 400` makes one.".to_owned(),
                pays,
            ];
        }
    }
    if facts.machine.is_gpu() {
        crossovers(facts, &mut chapter);
    }
    let mut left = Vec::new();
    if let Some(sweep) = facts
        .sweeps
        .iter()
        .find(|sweep| sweep.workload == TELLING[0])
    {
        left.extend(sizes(facts, sweep));
    }
    match &facts.corpus {
        Some(corpus) => {
            let right = proof(corpus);
            chapter.blocks.push(match left.is_empty() {
                true => Block::Columns(vec![(1, right), (1, categories(corpus))]),
                false => {
                    let mut right = right;
                    right.extend(categories(corpus));
                    Block::Columns(vec![(1, left), (1, right)])
                }
            });
            chapter.folds.extend(pair_sizes(corpus));
            chapter
                .folds
                .extend(corpus.example.as_ref().map(|(name, text)| Fold {
                    title: "A pair, as the model sees it".to_owned(),
                    note: name.clone(),
                    blocks: vec![Block::Lines(text.clone())],
                }));
        }
        None => chapter.blocks.extend(left),
    }
    chapter
}

fn levels(corpus: &CorpusFacts) -> impl Iterator<Item = (&String, &warpsmith_corpus::LevelCounts)> {
    corpus.statistics.levels.iter()
}

fn words(corpus: &CorpusFacts, failed: u64, pays: String) -> (String, [String; 3]) {
    let found = &corpus.statistics;
    let rate = found.pairs as f64 / corpus.seconds;
    let rate = digits::to_digits(rate, 2);
    let outcome = match failed {
        0 => "none failed".to_owned(),
        failed => format!("{failed} failed"),
    };
    let first = format!(
        "{rate} pairs a second with every pair run: {} in {}, {}, {} distinct shapes.",
        digits::count(found.pairs),
        digits::duration(corpus.seconds),
        match found.categories.len() {
            1 => "1 category".to_owned(),
            count => format!("{count} categories"),
        },
        digits::count(found.distinct_shapes)
    );
    let run: Vec<String> = levels(corpus)
        .map(|(level, counts)| {
            let total = counts.passed + counts.failed;
            format!(
                "{} of {} pass `{level}`",
                digits::count(counts.passed),
                digits::count(total)
            )
        })
        .collect();
    let second = match failed {
        0 => format!("None failed: {}.", run.join(", ")),
        failed => format!("{failed} failed: {}.", run.join(", ")),
    };
    (
        format!("{rate} proven pairs a second, {outcome}"),
        [first, second, pays],
    )
}

/// From which size on the GPU pays, in a sentence.
fn pays(facts: &Facts) -> String {
    if !facts.machine.is_gpu() {
        return "There is no GPU to compare with the CPU.".to_owned();
    }
    let both: Vec<&Sweep> = facts
        .sweeps
        .iter()
        .filter(|sweep| !sweep.gpu.is_empty())
        .collect();
    if both.is_empty() {
        return "Where the GPU begins to pay was not measured.".to_owned();
    }
    let always = both
        .iter()
        .filter(|sweep| matches!(crossing(sweep), Crossing::Always))
        .count();
    let exception = both.iter().find_map(|sweep| match crossing(sweep) {
        Crossing::Between(_, from) => Some(format!(
            "; {} needs {} {}",
            sweep.workload,
            digits::count(from as u64),
            plural(&sweep.unit)
        )),
        Crossing::Never => Some(format!("; {} at none", sweep.workload)),
        Crossing::Always => None,
    });
    format!(
        "The GPU pays at every size measured for {always} of {}{}.",
        counted(both.len(), "workload"),
        exception.unwrap_or_default()
    )
}

enum Crossing {
    Always,
    Never,
    Between(f64, f64),
}

/// Pairs of CPU and GPU times at the same size.
fn paired(sweep: &Sweep) -> Vec<(&SizeTime, &SizeTime)> {
    sweep
        .cpu
        .iter()
        .filter_map(|cpu| {
            let gpu = sweep.gpu.iter().find(|gpu| gpu.units == cpu.units)?;
            Some((cpu, gpu))
        })
        .collect()
}

fn crossing(sweep: &Sweep) -> Crossing {
    let pairs = paired(sweep);
    let wins = |(cpu, gpu): &(&SizeTime, &SizeTime)| {
        gpu.figures.interval.median < cpu.figures.interval.median
    };
    // The last change: noise around equal times must not look like an early crossing.
    match pairs.iter().rposition(|pair| !wins(pair)) {
        None => Crossing::Always,
        Some(last) if last + 1 == pairs.len() => Crossing::Never,
        Some(last) => Crossing::Between(pairs[last].0.units as f64, pairs[last + 1].0.units as f64),
    }
}

fn plural(unit: &str) -> String {
    format!("{unit}s")
}

fn crossover(sweep: &Sweep) -> Crossover {
    let points = |times: &[SizeTime]| {
        times
            .iter()
            .map(|time| (time.units as f64, time.figures.interval.median))
            .collect()
    };
    let pairs = paired(sweep);
    let at_largest = pairs.last().map(|(cpu, gpu)| {
        let ratio = cpu.figures.interval.median / gpu.figures.interval.median;
        format!("; {} at {}", digits::ratio(ratio), digits::count(cpu.units))
    });
    let (band, words) = match crossing(sweep) {
        Crossing::Always => (None, "GPU faster at every size measured".to_owned()),
        Crossing::Never => (None, "CPU faster at every size measured".to_owned()),
        Crossing::Between(from, to) => (
            Some((from, to)),
            format!(
                "GPU faster from between {} and {} on",
                digits::count(from as u64),
                digits::count(to as u64)
            ),
        ),
    };
    Crossover {
        name: sweep.workload.clone(),
        unit: plural(&sweep.unit),
        lines: vec![
            CrossoverLine {
                label: "CPU".to_owned(),
                gpu: false,
                points: points(&sweep.cpu),
            },
            CrossoverLine {
                label: "GPU".to_owned(),
                gpu: true,
                points: points(&sweep.gpu),
            },
        ],
        band,
        caption: format!("{words}{}", at_largest.unwrap_or_default()),
    }
}

fn crossovers(facts: &Facts, chapter: &mut Chapter) {
    let measured = |sweep: &&Sweep| sweep.gpu.len() > 1 && sweep.cpu.len() > 1;
    let (telling, others): (Vec<&Sweep>, Vec<&Sweep>) = facts
        .sweeps
        .iter()
        .filter(measured)
        .partition(|sweep| TELLING.contains(&sweep.workload.as_str()));
    if telling.is_empty() && others.is_empty() {
        return;
    }
    let cpu = facts.machine.cpu_words();
    chapter.blocks.push(Block::Heading {
        title: "Where the GPU begins to pay".to_owned(),
        note: format!("time over size, GPU end to end with launch and wait; CPU: {cpu}"),
    });
    let drawn = |sweeps: &[&Sweep]| sweeps.iter().map(|sweep| crossover(sweep)).collect();
    chapter
        .blocks
        .push(Block::Figure(Figure::Crossover(drawn(&telling))));
    if !others.is_empty() {
        chapter.folds.push(Fold {
            title: "Where the GPU begins to pay, the rest".to_owned(),
            note: counted(others.len(), "workload"),
            blocks: vec![Block::Figure(Figure::Crossover(drawn(&others)))],
        });
    }
}

fn sizes(facts: &Facts, sweep: &Sweep) -> Vec<Block> {
    let pairs = paired(sweep);
    if pairs.is_empty() {
        return Vec::new();
    }
    let cell = |time: &SizeTime| {
        let (median, half) = (time.figures.interval.median, half_width(&time.figures));
        let shown = digits::seconds(median, Some(half));
        Cell::number(median, shown.text, shown.unit)
    };
    let rows = pairs.iter().map(|(cpu, gpu)| {
        let ratio = cpu.figures.interval.median / gpu.figures.interval.median;
        Row::new(vec![
            Cell::number(cpu.units as f64, digits::count(cpu.units), ""),
            cell(cpu),
            cell(gpu),
            Cell::number(ratio, digits::ratio(ratio), "").strong(),
        ])
    });
    vec![
        Block::Heading {
            title: "Size, CPU, GPU, speed-up".to_owned(),
            note: sweep.workload.clone(),
        },
        Block::Table(Table {
            name: "size-speed-up".to_owned(),
            columns: vec![
                Column::number(&plural(&sweep.unit)),
                Column::number(&format!("CPU, {}", facts.machine.cpu_words())),
                Column::number("GPU, end to end"),
                Column::number("over that CPU"),
            ],
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        }),
    ]
}

fn proof(corpus: &CorpusFacts) -> Vec<Block> {
    let rows = levels(corpus).map(|(level, counts)| {
        let total = counts.passed + counts.failed;
        let share = counts.passed as f64 / total.max(1) as f64;
        Row::new(vec![
            Cell::text(level.clone()),
            Cell::Bar {
                share,
                text: digits::count(counts.passed),
                state: Some(if counts.failed == 0 {
                    State::Good
                } else {
                    State::Act
                }),
            },
            Cell::number(counts.skipped as f64, digits::count(counts.skipped), ""),
            Cell::number(counts.failed as f64, digits::count(counts.failed), "").strong(),
        ])
    });
    vec![
        Block::Heading {
            title: "Proof".to_owned(),
            note: format!(
                "{}, seed {}",
                counted(corpus.statistics.pairs as usize, "pair"),
                corpus.seed
            ),
        },
        Block::Table(Table {
            name: "proof".to_owned(),
            columns: vec![
                Column::text("level"),
                Column::text("passed"),
                Column::number("left out"),
                Column::number("failed"),
            ],
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        }),
    ]
}

fn categories(corpus: &CorpusFacts) -> Vec<Block> {
    let found = &corpus.statistics;
    let mut kinds: Vec<(&String, &u64)> = found.categories.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let words: Vec<String> = kinds
        .iter()
        .map(|(name, count)| format!("{} {}", name.replace('_', " "), digits::count(**count)))
        .collect();
    vec![
        Block::Heading {
            title: "Categories".to_owned(),
            note: format!(
                "{}; {} of {} core builtins used",
                found.categories.len(),
                found.core_builtins - found.unused_builtins.len(),
                found.core_builtins
            ),
        },
        Block::Text(words.join(" · ")),
    ]
}

fn pair_sizes(corpus: &CorpusFacts) -> Option<Fold> {
    let rows: Vec<Row> = corpus
        .statistics
        .distributions
        .iter()
        .map(|(name, spread)| {
            let cell =
                |value: u32| Cell::number(f64::from(value), digits::count(u64::from(value)), "");
            Row::new(vec![
                Cell::text(name.replace('_', " ")),
                cell(spread.min),
                cell(spread.median),
                cell(spread.p90),
                cell(spread.max),
            ])
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    Some(Fold {
        title: "Size of a pair".to_owned(),
        note: "tokens, operations, nesting".to_owned(),
        blocks: vec![Block::Table(Table {
            name: "pair-sizes".to_owned(),
            columns: vec![
                Column::text("of a pair"),
                Column::number("least"),
                Column::number("median"),
                Column::number("P90"),
                Column::number("most"),
            ],
            rows,
            shown: 0,
            caption: String::new(),
        })],
    })
}
