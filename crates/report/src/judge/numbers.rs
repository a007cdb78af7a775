//! The five numbers that describe a machine, each as a share of what it should be.
//!
//! Thresholds rest on five runs of one GPU model; a record of the model decides where there is one.

use warpsmith_telemetry::baseline::BaselineBody;

use super::record::{self, Record};
use super::trust::{Distrust, half_width, trusted};
use crate::digits::{self, Quantity, Shown};
use crate::document::{Headline, Reading, State};
use crate::facts::{Facts, Rate};

/// What a number is compared with.
struct Yardstick<'a> {
    value: f64,
    /// Behind the share: `of the datasheet, 4.81`.
    words: &'a str,
    /// Shares from which on it is good, and worth a look.
    good: f64,
    look: f64,
}

impl<'a> Yardstick<'a> {
    /// What data sheets or the clock say; nothing where they do not, which is 0.
    fn known(value: f64, words: &'a str, (good, look): (f64, f64)) -> Option<Self> {
        (value > 0.0).then_some(Self {
            value,
            words,
            good,
            look,
        })
    }
}

/// A record of the same model: the same machine should reach it.
const OF_RECORD: (f64, f64) = (0.95, 0.85);

/// The five numbers of a GPU, or their kin on a Vulkan device or the CPU.
pub fn headlines(facts: &Facts) -> Vec<Headline> {
    match (facts.machine.gpu(), &facts.machine.measured_vulkan) {
        (Some(gpu), _) => {
            let record = record::of_gpu(&gpu.name);
            vec![
                gpu_memory(facts, record.as_ref(), gpu.memory_bandwidth),
                gpu_arithmetic(
                    facts,
                    record.as_ref(),
                    f64::from(gpu.multiprocessors) * 128.0 * 2.0 * gpu.sm_clock_hz,
                ),
                launch(facts, record.as_ref(), "Launch and wait"),
                host_to_device(facts, record.as_ref()),
                power_at_rest(facts, record.as_ref()),
            ]
        }
        (None, Some(_)) => vec![
            gpu_memory(facts, None, 0.0),
            gpu_arithmetic(facts, None, 0.0),
            launch(facts, None, "Launch and wait"),
            load_at_rest(facts),
        ],
        (None, None) => {
            let cpu = &facts.machine.cpu;
            let record = record::of_cpu(&cpu.model, facts.machine.threads);
            vec![
                memory_rate(
                    facts,
                    by_record(record.as_ref().and_then(|record| record.memory_rate)),
                ),
                cpu_arithmetic(facts, record.as_ref()),
                launch(facts, record.as_ref(), "Start work and wait"),
                rate(
                    ("cached-rate", "Copy in cache"),
                    facts.numbers.cached.as_ref(),
                    Quantity::BytesPerSecond,
                    by_record(record.as_ref().and_then(|record| record.cached_rate)),
                ),
                load_at_rest(facts),
            ]
        }
    }
}

fn by_record(value: Option<f64>) -> Option<Yardstick<'static>> {
    value.map(|value| Yardstick {
        value,
        words: "of the record of this model,",
        good: OF_RECORD.0,
        look: OF_RECORD.1,
    })
}

fn blank(id: &str, name: &str, reading: &str, basis: String) -> Headline {
    Headline {
        id: id.to_owned(),
        name: name.to_owned(),
        reading: Reading::None(reading.to_owned()),
        state: State::NotMeasured,
        bar: None,
        share: (String::new(), String::new()),
        basis,
    }
}

fn not_measured(id: &str, name: &str) -> Headline {
    blank(id, name, "not measured", String::new())
}

fn distrusted(id: &str, name: &str, distrust: Distrust) -> Headline {
    let why = format!(
        "no figure is better than a wrong one: {}",
        distrust.clause()
    );
    blank(id, name, distrust.word(), why)
}

/// A rate over a yardstick; more is better.
fn rate(
    (id, name): (&str, &str),
    rate: Option<&Rate>,
    quantity: Quantity,
    over: Option<Yardstick<'_>>,
) -> Headline {
    let Some(rate) = rate else {
        return not_measured(id, name);
    };
    let figures = match trusted(&rate.measurement) {
        Ok(figures) => figures,
        Err(distrust) => return distrusted(id, name, distrust),
    };
    let half = half_width(&figures);
    let value = rate.amount / figures.interval.median;
    let shown = digits::quantity(value, quantity, Some(half));
    let mut parts = vec![digits::within(half, None)];
    if !rate.size.is_empty() {
        parts.push(rate.size.clone());
    }
    parts.push(format!(
        "n = {}",
        digits::count(figures.summary.count as u64)
    ));
    let judged = match over {
        Some(over) => {
            let share = value / over.value;
            let state = match share {
                share if share >= over.good => State::Good,
                share if share >= over.look => State::Look,
                _ => State::Act,
            };
            let yardstick = digits::quantity(over.value, quantity, None);
            (
                state,
                Some(share.clamp(0.0, 1.0)),
                (
                    digits::percent(share),
                    format!(" {} {yardstick}", over.words),
                ),
            )
        }
        None => without_record(),
    };
    number((id, name), value, shown, judged, parts.join(", "))
}

/// A state, a bar, and the share with what it is of.
type Judged = (State, Option<f64>, (String, String));

fn without_record() -> Judged {
    let words = "no record of this model yet".to_owned();
    (State::NotMeasured, None, (String::new(), words))
}

fn number(
    (id, name): (&str, &str),
    value: f64,
    shown: Shown,
    (state, bar, share): Judged,
    basis: String,
) -> Headline {
    Headline {
        id: id.to_owned(),
        name: name.to_owned(),
        reading: Reading::Number {
            value,
            text: shown.text,
            unit: shown.unit,
        },
        state,
        bar,
        share,
        basis,
    }
}

/// Where there is a record it decides, and the datasheet is only shown.
fn decided_by_record(mut headline: Headline, record: Option<f64>) -> Headline {
    if let (Some(record), Reading::Number { value, .. }) = (record, &headline.reading) {
        headline.state = match value / record {
            share if share >= OF_RECORD.0 => State::Good,
            share if share >= OF_RECORD.1 => State::Look,
            _ => State::Act,
        };
    }
    headline
}

fn memory_rate(facts: &Facts, over: Option<Yardstick<'_>>) -> Headline {
    rate(
        ("memory-rate", "Memory rate"),
        facts.numbers.memory.as_ref(),
        Quantity::BytesPerSecond,
        over,
    )
}

fn arithmetic_rate(facts: &Facts, over: Option<Yardstick<'_>>) -> Headline {
    rate(
        ("arithmetic-rate", "Arithmetic rate, FP32"),
        facts.numbers.arithmetic.as_ref(),
        Quantity::FlopPerSecond,
        over,
    )
}

fn gpu_memory(facts: &Facts, record: Option<&Record>, datasheet: f64) -> Headline {
    let over = Yardstick::known(datasheet, "of the datasheet,", (0.85, 0.70));
    let headline = memory_rate(facts, over);
    decided_by_record(headline, record.and_then(|record| record.memory_rate))
}

fn gpu_arithmetic(facts: &Facts, record: Option<&Record>, peak: f64) -> Headline {
    let over = Yardstick::known(peak, "of cores × clock,", (0.93, 0.80));
    let headline = arithmetic_rate(facts, over);
    decided_by_record(headline, record.and_then(|record| record.arithmetic_rate))
}

fn cpu_arithmetic(facts: &Facts, record: Option<&Record>) -> Headline {
    let machine = &facts.machine;
    let lanes = match machine.instructions.as_str() {
        "AVX-512" => 16.0,
        "AVX2" => 8.0,
        _ => 4.0,
    };
    let recorded = record.and_then(|record| record.arithmetic_rate);
    // Two units, each a multiply and an add a cycle. Cores that share their units reach half.
    let peak = machine
        .cpu_clock_hz
        .map(|clock| clock * machine.threads as f64 * lanes * 4.0);
    let over = match (recorded, peak) {
        (Some(_), _) => by_record(recorded),
        (None, Some(value)) => Some(Yardstick {
            value,
            words: "of threads × width × clock,",
            good: 0.45,
            look: 0.25,
        }),
        (None, None) => None,
    };
    arithmetic_rate(facts, over)
}

/// Seconds; less is better.
fn launch(facts: &Facts, record: Option<&Record>, name: &str) -> Headline {
    let id = "launch";
    let Some(measurement) = &facts.numbers.launch else {
        return not_measured(id, name);
    };
    let figures = match trusted(measurement) {
        Ok(figures) => figures,
        Err(distrust) => return distrusted(id, name, distrust),
    };
    let half = half_width(&figures);
    let value = figures.interval.median;
    let shown = digits::seconds(value, Some(half));
    let judged = match record.and_then(|record| record.launch_seconds) {
        Some(record) => {
            let over = value / record;
            let state = match over {
                over if over <= 1.25 => State::Good,
                over if over <= 2.0 => State::Look,
                _ => State::Act,
            };
            let yardstick = digits::seconds(record, None);
            (
                state,
                Some((1.0 / over).clamp(0.0, 1.0)),
                (
                    digits::percent(over),
                    format!(" of the record of this model, {yardstick}"),
                ),
            )
        }
        None => without_record(),
    };
    let quantile = |p: f64| figures.summary.quantile(p).and_then(|found| found.point);
    let spread = match (quantile(0.05), quantile(0.95)) {
        (Some(low), Some(high)) => {
            format!("P5 to P95 {}", digits::span(low, high, Quantity::Seconds))
        }
        _ => digits::within(half, None),
    };
    let basis = format!(
        "{spread}, n = {}",
        digits::count(figures.summary.count as u64)
    );
    number((id, name), value, shown, judged, basis)
}

/// Bytes a second of a PCIe lane, by generation, after its line code.
fn lane_rate(generation: i64) -> Option<f64> {
    Some(match generation {
        1 => 0.25e9,
        2 => 0.5e9,
        3 => 0.985e9,
        4 => 1.969e9,
        5 => 3.938e9,
        6 => 7.563e9,
        _ => return None,
    })
}

fn host_to_device(facts: &Facts, record: Option<&Record>) -> Headline {
    let gpu = facts.rest.as_ref().and_then(|rest| rest.body.gpus.first());
    let link = gpu.and_then(|gpu| {
        let (generation, width) = (gpu.gpu.pcie_generation_max?, gpu.gpu.pcie_width_max?);
        Some((generation, width, lane_rate(generation)? * width as f64))
    });
    let words = link.map_or(String::new(), |(generation, width, _)| {
        format!("of PCIe {generation}.0 × {width},")
    });
    let over = link.map(|(_, _, value)| Yardstick {
        value,
        words: &words,
        good: 0.80,
        look: 0.60,
    });
    let headline = rate(
        ("host-to-device", "Host to device, pinned"),
        facts.numbers.pinned.as_ref(),
        Quantity::BytesPerSecond,
        over,
    );
    let recorded = record.and_then(|record| record.host_to_device_rate);
    let mut headline = decided_by_record(headline, recorded);
    // A link that is narrower than the card is a fault whatever the rate is.
    let narrow = gpu.is_some_and(|gpu| {
        gpu.pcie_width
            .zip(gpu.gpu.pcie_width_max)
            .is_some_and(|(now, most)| now < most)
    });
    if narrow && headline.state != State::NotMeasured {
        headline.state = State::Act;
    }
    if let Some(pageable) = &facts.numbers.pageable
        && let Ok(figures) = trusted(&pageable.measurement)
        && matches!(headline.reading, Reading::Number { .. })
    {
        let rate = pageable.amount / figures.interval.median;
        let shown = digits::quantity(rate, Quantity::BytesPerSecond, Some(half_width(&figures)));
        headline.basis = format!("{}; pageable {shown}", headline.basis);
    }
    headline
}

fn power_at_rest(facts: &Facts, record: Option<&Record>) -> Headline {
    let (id, name) = ("power-at-rest", "Power at rest");
    let gpu = facts.rest.as_ref().and_then(|rest| rest.body.gpus.first());
    let metric = gpu.and_then(|gpu| gpu.metrics.get("power_w"));
    let Some((gpu, metric)) = gpu.zip(metric) else {
        return not_measured(id, name);
    };
    let median = metric.summary.p50;
    let recorded = record.and_then(|record| record.power_at_rest_w);
    let state = match recorded.map(|record| median.value / record) {
        Some(over) if over <= 1.25 => State::Good,
        Some(over) if over <= 1.6 => State::Look,
        Some(_) => State::Act,
        None => State::NotMeasured,
    };
    let limit = gpu.power_limit_w.filter(|limit| *limit > 0.0);
    let share = match (limit, recorded) {
        (Some(limit), Some(record)) => (
            digits::percent(median.value / limit),
            format!(" of {limit:.0} W; record {record:.0} W"),
        ),
        (Some(limit), None) => (
            digits::percent(median.value / limit),
            format!(" of {limit:.0} W; no record of this model yet"),
        ),
        (None, _) => (String::new(), "no power limit is known".to_owned()),
    };
    Headline {
        id: id.to_owned(),
        name: name.to_owned(),
        reading: Reading::Number {
            value: median.value,
            text: format!("{:.1}", median.value),
            unit: "W".to_owned(),
        },
        state,
        bar: limit.map(|limit| (median.value / limit).clamp(0.0, 1.0)),
        share,
        basis: format!(
            "{:.1} to {:.1}, n = {}",
            median.low,
            median.high,
            digits::count(metric.summary.n as u64)
        ),
    }
}

fn load_at_rest(facts: &Facts) -> Headline {
    let (id, name) = ("load-at-rest", "CPU busy at rest");
    let body: Option<&BaselineBody> = facts.rest.as_ref().map(|rest| &rest.body);
    let metric = body.and_then(|body| body.host.metrics.get("cpu_busy_percent"));
    let Some(metric) = metric else {
        return not_measured(id, name);
    };
    let mean = metric.summary.mean;
    Headline {
        id: id.to_owned(),
        name: name.to_owned(),
        reading: Reading::Number {
            value: mean.value / 100.0,
            text: format!("{:.1}", mean.value),
            unit: "%".to_owned(),
        },
        state: match mean.value {
            busy if busy <= 10.0 => State::Good,
            busy if busy <= 25.0 => State::Look,
            _ => State::Act,
        },
        bar: Some((mean.value / 100.0).clamp(0.0, 1.0)),
        share: ("should be below 10 %".to_owned(), String::new()),
        basis: format!(
            "{:.1} to {:.1}, n = {}",
            mean.low,
            mean.high,
            digits::count(metric.summary.n as u64)
        ),
    }
}
