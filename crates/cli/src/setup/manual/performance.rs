//! The performance page: the measured tables of a `report.json`.

use anyhow::{Context, Result};
use serde_json::Value;

use super::page::{Page, cell};

/// The sections that measure.
const SECTIONS: [&str; 3] = ["latency", "scaling", "techniques"];

pub(crate) fn performance(report: &Value) -> Result<Page> {
    let sections = report["body"]["sections"]
        .as_array()
        .context("the report has no sections")?;
    let machine = &report["machine"];
    let gpus: Vec<&str> = machine["gpus"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut text = format!(
        "# The report of one machine\n\nMeasured by `warpsmith report` {} on {} with {} cores{}{}. The same \
         command measures your machine.\n",
        report["version"].as_str().unwrap_or("?"),
        machine["cpu"].as_str().unwrap_or("?"),
        machine["cores"],
        if gpus.is_empty() {
            ", without a GPU"
        } else {
            " and "
        },
        gpus.join(", ")
    );
    for section in sections {
        let id = section["id"].as_str().unwrap_or_default();
        if SECTIONS.contains(&id) {
            text.push_str(&format!(
                "\n## {}\n",
                section["title"].as_str().unwrap_or(id)
            ));
            section["blocks"]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|block| text.push_str(&describe(block)));
        }
    }
    Ok(Page::generated("benchmarks/report.md", &text))
}

/// Paragraphs and tables; plots stay in the report.
fn describe(block: &Value) -> String {
    if let Some(words) = block["paragraph"].as_str() {
        return format!("\n{words}\n");
    }
    let table = &block["table"];
    let texts = |cells: &Value| -> Vec<String> {
        let cells = cells.as_array().into_iter().flatten();
        cells.filter_map(Value::as_str).map(cell).collect()
    };
    let headings = texts(&table["headings"]);
    if headings.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = headings
        .iter()
        .map(|heading| heading.trim_start_matches('>'))
        .collect();
    let rules: Vec<&str> = headings
        .iter()
        .map(|heading| {
            if heading.starts_with('>') {
                "--:"
            } else {
                "---"
            }
        })
        .collect();
    let mut text = format!("\n| {} |\n|{}|\n", names.join(" | "), rules.join("|"));
    for row in table["rows"].as_array().into_iter().flatten() {
        text.push_str(&format!("| {} |\n", texts(row).join(" | ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_sentences_of_the_measuring_sections_are_kept() {
        let report = serde_json::json!({
            "version": "1", "machine": { "cpu": "C", "cores": 2, "gpus": [] },
            "body": { "sections": [
                { "id": "check", "title": "Environment", "blocks": [{ "paragraph": "no" }] },
                { "id": "latency", "title": "Latency", "blocks": [
                    { "table": { "headings": ["name", ">median"], "rows": [["a|b", "1 s"]] } },
                    { "plot": "<svg/>" }, { "paragraph": "warm" }] },
            ] }
        });
        let text = String::from_utf8(performance(&report).unwrap().contents).unwrap();
        assert!(text.contains("| name | median |\n|---|--:|\n| a\\|b | 1 s |\n\nwarm"));
        assert!(!text.contains("svg") && !text.contains("Environment"));
    }
}
