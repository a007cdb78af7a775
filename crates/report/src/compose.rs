//! The document, from the facts: everything is judged here and nowhere else.

use serde_json::{Value, json};

use crate::chapters;
use crate::document::{DOCUMENT_SCHEMA, Document};
use crate::facts::Facts;
use crate::judge::{actions, fitness, numbers, verdict};

/// Judges the facts and composes the document.
pub fn compose(mut facts: Facts) -> serde_json::Result<Document> {
    facts.fitness = fitness::judge(facts.fitness, facts.rest.as_ref());
    let numbers = numbers::headlines(&facts);
    let chapters = chapters::all(&facts);
    let (actions, more_actions) = actions::rank(&facts, &facts.fitness, &chapters);
    let verdict = verdict::judge(&verdict::Grounds {
        fitness: &facts.fitness,
        numbers: &numbers,
        chapters: &chapters,
        sections: &facts.sections,
        on_gpu: facts.machine.is_gpu(),
    });
    let raw = raw(&facts)?;
    let method = method(&facts);
    Ok(Document {
        document: DOCUMENT_SCHEMA,
        verdict,
        numbers,
        actions,
        more_actions,
        chapters,
        method,
        raw,
        subject: facts.subject,
        fitness: facts.fitness,
        left_out: facts.left_out,
        sections: facts.sections,
    })
}

/// The raw numbers by section, with the digits that clocks have.
fn raw(facts: &Facts) -> serde_json::Result<Value> {
    let mut raw = json!({
        "machine": facts.machine,
        "environment": facts.environment.as_ref().map(|report| &report.body),
        "rest": facts.rest.as_ref().map(|report| &report.body),
        "project": facts.project.as_ref().map(|report| &report.body),
        "numbers": facts.numbers,
        "latency": facts.latency,
        "sweeps": facts.sweeps,
        "leak": facts.leak,
        "parity": facts.parity,
        "matrix": facts.matrix,
        "corpus": facts.corpus.as_ref().map(|corpus| json!({
            "statistics": corpus.statistics, "seconds": corpus.seconds, "seed": corpus.seed,
        })),
        "ladder": facts.ladder,
        "noise": facts.noise,
    });
    round(&mut raw);
    Ok(raw)
}

/// Six significant digits: no clock here has more, and the file is half as long.
fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let rounded = number
                .as_f64()
                .and_then(|x| format!("{x:.5e}").parse().ok());
            if let Some(rounded) = rounded.and_then(serde_json::Number::from_f64) {
                *number = rounded;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(map) => map.values_mut().for_each(round),
        _ => {}
    }
}

fn method(facts: &Facts) -> Vec<String> {
    let clock = match (facts.machine.gpu(), &facts.machine.measured_vulkan) {
        (Some(_), _) => {
            "GPU work is timed by device events behind a kernel that holds the stream until \
             everything is queued; end to end includes the launch and the wait."
        }
        (None, Some(_)) => {
            "Work on the Vulkan device is timed by its timestamps, from which their reading of nothing \
             is taken; end to end includes the launch and the wait."
        }
        (None, None) => "Work on the CPU is timed by the monotonic clock.",
    };
    let mut paragraphs = vec![format!(
        "{clock} Intervals are 95 % of the median; sampling stops when they are narrow enough or \
         the time is up; correlated samples count as their effective number. A quantile that the \
         samples do not support is a bound. Comparisons take turns between both sides and call a \
         difference beyond 1 %."
    )];
    if let Some(figures) = facts.noise.as_ref().and_then(|noise| noise.figures()) {
        let summary = &figures.summary;
        let noise = summary.standard_deviation / summary.mean;
        paragraphs.push(format!(
            "Noise of this machine: {} standard deviation over {} runs of a chain of \
             multiplications.",
            crate::digits::percent(noise),
            crate::digits::count(summary.count as u64)
        ));
    }
    if !facts.left_out.is_empty() {
        paragraphs.push(format!("Left out: {}.", facts.left_out.join("; ")));
    }
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_numbers_keep_six_digits_and_integers_all() {
        let mut value = json!({"a": [1.234567891e-9, 123_456_789], "b": 0.0});
        round(&mut value);
        assert_eq!(value, json!({"a": [1.23457e-9, 123_456_789], "b": 0.0}));
    }
}
