//! The parity page: what `warpsmith verify --all --format json` found on a GPU.

use anyhow::{Context, Result};
use serde_json::Value;

use super::page::{Page, cell};

pub(crate) fn parity(report: &Value) -> Result<Page> {
    let body = &report["body"];
    let rows = body["rows"].as_array().context("the report has no rows")?;
    let gpu = body["verified_on"].as_str().unwrap_or_default();
    anyhow::ensure!(!gpu.is_empty(), "the report was made without a GPU");
    let mut text = format!(
        "# Parity: does the GPU compute what the CPU says?\n\nOn {gpu}, with Warpsmith {}, seed {}: \
         every workload on fresh random inputs, with outputs poisoned before each run. \
         `warpsmith verify --all` makes the same table on your GPU.\n\n",
        report["version"].as_str().unwrap_or("?"),
        body["seed"]
    );
    text.push_str(
        "| workload | parameters | verdict | largest difference | values |\n|---|---|---|--:|--:|\n",
    );
    for row in rows {
        text.push_str(&line(row));
    }
    text.push_str(&reasons(rows));
    Ok(Page::generated("benchmarks/parity.md", &text))
}

fn line(row: &Value) -> String {
    let parameters: Vec<String> = row["parameters"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.to_string().trim_matches('"')))
        .collect();
    let parity = &row["parity"];
    let agreement = match parity["agrees"]["worst"].is_object() {
        true => &parity["agrees"]["worst"],
        false => &parity["disagrees"]["agreement"],
    };
    let verdict = if let Some(reason) = row["host_only"].as_str() {
        format!("CPU only: {reason}")
    } else if let Some(problem) = row["problem"].as_str() {
        format!("**failed**: {problem}")
    } else if parity["agrees"].is_object() {
        "agrees".to_owned()
    } else {
        "**disagrees**".to_owned()
    };
    let difference = agreement["max_abs"]
        .as_f64()
        .map_or("–".to_owned(), |most| format!("{most:.1e}"));
    let values = agreement["compared"]
        .as_u64()
        .map_or("–".to_owned(), |count| count.to_string());
    format!(
        "| `{}` | {} | {} | {difference} | {values} |\n",
        row["workload"].as_str().unwrap_or("?"),
        cell(&parameters.join(" ")),
        cell(&verdict)
    )
}

/// Why each tolerance is what it is, once to a workload.
fn reasons(rows: &[Value]) -> String {
    let mut text = String::from("\n## Why these tolerances\n\n");
    let mut last = "";
    for row in rows {
        let id = row["workload"].as_str().unwrap_or("?");
        if id != last {
            last = id;
            let because = row["tolerance_because"].as_str().unwrap_or("–");
            text.push_str(&format!("- `{id}`: {because}.\n"));
        }
    }
    text
}
