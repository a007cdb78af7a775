//! The numbers behind the page, inside the page: JSON, gzip, base 64.
//!
//! Samples are thinned evenly, with their true count beside them, and rounded to five digits; the
//! file `report.json` has them all.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Number, Value};
use warpsmith_core::Report;
use warpsmith_formats::base64;

use crate::document::Document;

/// Most samples of a measurement; fewer where the page would become too large.
const MOST_SAMPLES: [usize; 7] = [2000, 1000, 500, 250, 120, 60, 30];

/// The whole report as base 64, in at most `room` bytes: without its raw numbers where they cannot
/// fit.
pub(super) fn embedded(report: &Report<Document>, room: usize) -> String {
    let Ok(mut whole) = serde_json::to_value(report) else {
        return String::new();
    };
    for most in MOST_SAMPLES {
        whole["body"]["raw"] = compact(&report.body.raw, most);
        let text = packed(&whole);
        if text.len() <= room {
            return text;
        }
    }
    whole["body"]["raw"] = Value::Null;
    packed(&whole)
}

fn packed(value: &Value) -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let written = gzip.write_all(value.to_string().as_bytes());
    debug_assert!(written.is_ok());
    base64::encode(&gzip.finish().unwrap_or_default())
}

fn compact(value: &Value, most: usize) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (name, inner) in fields {
                if let Value::Array(items) = inner
                    && items.len() > most
                    && items.iter().all(is_sample)
                {
                    kept.insert(format!("{name}_count"), items.len().into());
                }
                kept.insert(name.clone(), compact(inner, most));
            }
            Value::Object(kept)
        }
        Value::Array(items) if items.len() > most && items.iter().all(is_sample) => {
            let at = |n: usize| n * (items.len() - 1) / (most - 1);
            Value::Array((0..most).map(|n| rounded(&items[at(n)])).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| compact(item, most)).collect()),
        other => rounded(other),
    }
}

/// A number, or a reading with its time.
fn is_sample(value: &Value) -> bool {
    match value {
        Value::Number(_) | Value::Null => true,
        Value::Array(pair) => pair.len() <= 3 && pair.iter().all(Value::is_number),
        _ => false,
    }
}

fn rounded(value: &Value) -> Value {
    match value {
        // Counts and ticks are whole and stay as they are.
        Value::Number(number) if number.is_f64() => number
            .as_f64()
            .and_then(|v| format!("{v:.4e}").parse().ok())
            .and_then(Number::from_f64)
            .map_or(Value::Null, Value::Number),
        Value::Array(items) => Value::Array(items.iter().map(rounded).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use serde_json::json;

    use super::*;

    fn unpacked(text: &str) -> Value {
        let bytes = base64::decode(text).expect("base 64");
        let mut json = String::new();
        GzDecoder::new(&bytes[..])
            .read_to_string(&mut json)
            .expect("gzip");
        serde_json::from_str(&json).expect("JSON")
    }

    #[test]
    fn samples_are_thinned_evenly_with_their_count_beside_them() {
        let samples: Vec<f64> = (0..10_001).map(f64::from).collect();
        let raw = compact(&json!({"a": {"samples": samples, "n": 7}}), 2000);
        let kept = raw["a"]["samples"].as_array().expect("samples");
        assert_eq!(kept.len(), 2000);
        assert_eq!(
            (kept[0].as_f64(), kept[1999].as_f64()),
            (Some(0.0), Some(10_000.0))
        );
        assert_eq!(raw["a"]["samples_count"], 10_001);
        assert_eq!(raw["a"]["n"], 7);
    }

    #[test]
    fn few_samples_words_and_counts_stay_as_they_are() {
        let raw = json!({"samples": [1, 2], "names": vec!["x"; 3000], "at": 1_794_823_456_789_u64});
        assert_eq!(compact(&raw, 2000), raw);
    }

    #[test]
    fn floats_have_five_digits() {
        assert_eq!(rounded(&json!(9.473_128e-6)), json!(9.4731e-6));
        assert_eq!(rounded(&json!([1.234_567, 2])), json!([1.2346, 2]));
    }

    #[test]
    fn what_is_packed_comes_back() {
        let value = json!({"text": "</script><script>alert(1)</script>", "µ": [1.5]});
        let text = packed(&value);
        assert!(!text.contains('<'));
        assert_eq!(unpacked(&text), value);
    }
}
