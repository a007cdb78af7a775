//! hyperfine's `--export-json`: `results[].{command, times}` in seconds.

use serde_json::Value;

use super::{Named, numbers};

pub(super) fn samples(json: &Value) -> Option<Vec<Named>> {
    let results = json.get("results")?.as_array()?;
    let mut found = Vec::new();
    for result in results {
        let command = result.get("command")?.as_str()?;
        let times = result.get("times").and_then(numbers).unwrap_or_default();
        found.push((command.to_owned(), times));
    }
    Some(found)
}
