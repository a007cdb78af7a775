//! Our own reports: every measurement in them, wherever it stands.

use serde_json::Value;

use crate::measurement::Measurement;

/// Measurements anywhere in `json`, in the order in which they stand.
pub(super) fn measurements(json: &Value) -> Vec<Measurement> {
    let mut found = Vec::new();
    collect(json, &mut found);
    found
}

fn collect(json: &Value, found: &mut Vec<Measurement>) {
    match json {
        Value::Object(fields)
            if fields.contains_key("conditions") && fields.contains_key("seconds") =>
        {
            if let Ok(measurement) = serde_json::from_value(json.clone()) {
                found.push(measurement);
            }
        }
        Value::Object(fields) => fields.values().for_each(|value| collect(value, found)),
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
