//! pytest-benchmark's JSON: `benchmarks[].stats.data` in seconds, where the data were saved.

use serde_json::Value;

use super::{Named, numbers};

pub(super) fn samples(json: &Value) -> Option<Vec<Named>> {
    let entries = json.get("benchmarks")?.as_array()?;
    let mut found = Vec::new();
    for entry in entries {
        let stats = entry.get("stats")?;
        let name = entry
            .get("fullname")
            .or_else(|| entry.get("name"))?
            .as_str()?;
        let data = stats.get("data").and_then(numbers).unwrap_or_default();
        found.push((name.to_owned(), data));
    }
    Some(found)
}
