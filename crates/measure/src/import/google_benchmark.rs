//! Google Benchmark's JSON: one entry per repetition, aggregates among them, each with its unit.

use serde_json::Value;

use super::Named;

pub(super) fn samples(json: &Value) -> Option<Vec<Named>> {
    // The context is what tells it from pytest-benchmark, which has `benchmarks` too.
    json.get("context")?.as_object()?;
    let entries = json.get("benchmarks")?.as_array()?;
    let mut found: Vec<Named> = Vec::new();
    for entry in entries {
        if entry.get("run_type").and_then(Value::as_str) == Some("aggregate") {
            continue;
        }
        let name = entry
            .get("run_name")
            .or_else(|| entry.get("name"))?
            .as_str()?;
        let factor = match entry.get("time_unit").and_then(Value::as_str) {
            Some("s") => 1.0,
            Some("ms") => 1e-3,
            Some("us") => 1e-6,
            _ => 1e-9,
        };
        let Some(time) = entry.get("real_time").and_then(Value::as_f64) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| known == name) {
            Some((_, times)) => times.push(time * factor),
            None => found.push((name.to_owned(), vec![time * factor])),
        }
    }
    Some(found)
}
